package access

import (
	"regexp"
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestAPasswordIsKnownByItsHashAlone(t *testing.T) {
	t.Parallel()
	hash, again := HashPassword("Höhere Gewalt"), HashPassword("Höhere Gewalt")
	form := regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`)
	assert.Equal(t, form.MatchString(hash), true, "the hash is %s", hash)
	assert.Equal(t, hash == again, false, "two hashes of one password are the same")
	assert.Tells(t, func(password string) bool { return VerifyPassword(hash, password) },
		[]string{"Höhere Gewalt", "Ho\u0308here Gewalt"}, // as some keyboards compose it
		rows.All(`höhere Gewalt  "Höhere Gewalt "  Höhere Gewal  ""  "Höhere Gewalt\x00 ab"`))
}

// The hash says how it was made, so that old hashes stay valid when new ones become more expensive. What is no hash
// verifies nothing.
func TestAHashOfAnotherCostIsStillVerified(t *testing.T) {
	t.Parallel()
	cheap, salt := passwordCost{memory: 64, time: 1, threads: 2}, []byte("somesaltsomesalt")
	hash := cheap.text(salt, cheap.hash("correct password", salt, 24))
	assert.Equal(t, strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=2$"), true, "%s", hash)
	broken := []string{"", "$", "$$$$$", "password", hash[1:], hash + "$", hash[:len(hash)-32],
		hash[:len(hash)-32] + "AAAA", hash + "!"}
	for was, is := range rows.Pairs(`
		argon2id  argon2i
		v=19      v=16
		t=1       t=0
		t=1       t=2
		p=2       p=0
		m=64      m=-1
	`) {
		broken = append(broken, strings.Replace(hash, was, is, 1))
	}
	assert.Tells(t, func(hash string) bool { return VerifyPassword(hash, "correct password") }, []string{hash}, broken)
	assert.Equal(t, VerifyPassword(hash, "wrong password"), false)
	assert.Tells(t, func(password string) bool { return VerifyPassword(NobodysPassword, password) }, nil,
		[]string{"", strings.Repeat("\x00", 32)})
}

func TestNobodysPasswordCostsAsMuchAsAnybodys(t *testing.T) {
	t.Parallel()
	cost, salt, hash, _ := parsePasswordHash(NobodysPassword)
	assert.Equal(t, cost, thisCost)
	assert.Equal(t, []int{len(salt), len(hash)}, []int{passwordSalt, passwordHash})
}

func TestWeakPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	for password, want := range rows.Pairs(`
		""                        The password field is required.
		short pw!                 The password field must have at least 10 characters.
		ümläutß!!                 The password field must have at least 10 characters.
		1000b                     The password field must not be longer than 1000 characters.
		"broken \xff text"        The password field must be text.
		Ada@Example.org           The password field must not be the email address.
		" ada lovelace"           The password field must not be the name.
		aaaaaaaaaaaa              The password field must not repeat one character.
		AaAaAaAaAaAa              The password field must not repeat one character.
		ßßßßßßßßßßßß              The password field must not repeat one character.
		" \x20 \x20 \x20 \x20 \x20"  The password field must not repeat one character.
		1234567890                The password field is too common: choose another one.
		Password123               The password field is too common: choose another one.
		ümläutß!!!                ""
		ten chars!                ""
		1000                      ""
		ada@example.org is a dog  ""
	`) {
		v := new(doc.Invalid)
		if strings.HasPrefix(password, "1000") {
			password = strings.Repeat("ab", 500) + password[4:]
		}
		ValidatePassword(v, password, "ada@example.org", "Ada Lovelace")
		crmtest.WantFaults(t, password, v.Err(), want)
	}
}

func TestEveryCommonPasswordIsLongEnoughToBeListed(t *testing.T) {
	t.Parallel()
	for _, password := range commonPasswords {
		assert.Equal(t, len(password) >= minPassword && password == text.FoldCase(password), true, "%q is compared",
			password)
	}
}

func TestARandomPasswordIsGoodAndEasyToRead(t *testing.T) {
	t.Parallel()
	seen, form := map[string]bool{}, regexp.MustCompile(`^([a-km-np-z2-9]{5}-){3}[a-km-np-z2-9]{5}$`)
	for range 100 {
		password := RandomPassword()
		v := new(doc.Invalid)
		ValidatePassword(v, password, "a@b.org", "A")
		assert.Succeed(t, v.Err())
		assert.Equal(t, form.MatchString(password) && !seen[password], true, "the password %s", password)
		seen[password] = true
	}
}
