package access

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/rows"
)

func TestAPasswordIsKnownByItsHashAlone(t *testing.T) {
	t.Parallel()
	hash, again := HashPassword("Höhere Gewalt"), HashPassword("Höhere Gewalt")
	if !regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`).MatchString(hash) {
		t.Errorf("the hash is %s", hash)
	}
	if hash == again {
		t.Error("two hashes of one password are the same")
	}
	for password, want := range rows.Each[bool](`
		Höhere Gewalt           true
		Höhere Gewalt          true  // as some keyboards compose it
		höhere Gewalt           false
		"Höhere Gewalt "        false
		Höhere Gewal            false
		""                      false
		"Höhere Gewalt\x00 ab"  false
	`) {
		if VerifyPassword(hash, password) != want {
			t.Errorf("%q is the password: %v", password, !want)
		}
	}
}

// The hash says how it was made, so that old hashes stay valid when new ones become more expensive.
func TestAHashOfAnotherCostIsStillVerified(t *testing.T) {
	t.Parallel()
	cheap := passwordCost{memory: 64, time: 1, threads: 2}
	salt := []byte("somesaltsomesalt")
	hash := cheap.text(salt, cheap.hash("correct password", salt, 24))
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=2$") || !VerifyPassword(hash, "correct password") || VerifyPassword(hash, "wrong password") {
		t.Errorf("%s does not tell the right password from a wrong one", hash)
	}
	if VerifyPassword(strings.Replace(hash, "t=1", "t=2", 1), "correct password") {
		t.Error("the cost of the hash is not looked at")
	}
}

func TestWhatIsNoHashVerifiesNothing(t *testing.T) {
	t.Parallel()
	good := passwordCost{memory: 64, time: 1, threads: 1}
	salt := make([]byte, 16)
	hash := good.text(salt, good.hash("", salt, 32))
	if !VerifyPassword(hash, "") {
		t.Fatal("the hash to be broken is not good")
	}
	for _, broken := range []string{
		"", "$", "$$$$$", "password", hash[1:], hash + "$", strings.Replace(hash, "argon2id", "argon2i", 1), strings.Replace(hash, "v=19", "v=16", 1),
		strings.Replace(hash, "t=1", "t=0", 1), strings.Replace(hash, "p=1", "p=0", 1), strings.Replace(hash, "m=64", "m=-1", 1),
		hash[:len(hash)-43], hash[:len(hash)-43] + "AAAA", hash + "!",
	} {
		if VerifyPassword(broken, "") {
			t.Errorf("%q verifies a password", broken)
		}
	}
	if VerifyPassword(NobodysPassword, "") || VerifyPassword(NobodysPassword, strings.Repeat("\x00", 32)) {
		t.Error("nobody's password is known")
	}
}

func TestNobodysPasswordCostsAsMuchAsAnybodys(t *testing.T) {
	t.Parallel()
	cost, salt, hash, ok := parsePasswordHash(NobodysPassword)
	if !ok || cost != thisCost || len(salt) != passwordSalt || len(hash) != passwordHash {
		t.Errorf("%+v, %d, %d, %v", cost, len(salt), len(hash), ok)
	}
}

func TestWeakPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]string{
		"":                         "The password field is required.",
		"short pw!":                "The password field must have at least 10 characters.",
		"ümläutß!!":                "The password field must have at least 10 characters.",
		strings.Repeat("ab", 501):  "The password field must not be longer than 1000 characters.",
		"broken \xff text":         "The password field must be text.",
		"Ada@Example.org":          "The password field must not be the email address.",
		" ada lovelace":            "The password field must not be the name.",
		"aaaaaaaaaaaa":             "The password field must not repeat one character.",
		"AaAaAaAaAaAa":             "The password field must not repeat one character.",
		"ßßßßßßßßßßßß":             "The password field must not repeat one character.",
		"          ":               "The password field must not repeat one character.",
		"1234567890":               "The password field is too common: choose another one.",
		"Password123":              "The password field is too common: choose another one.",
		"ümläutß!!!":               "",
		"ten chars!":               "",
		strings.Repeat("ab", 500):  "",
		"ada@example.org is a dog": "",
	} {
		v := new(doc.Invalid)
		ValidatePassword(v, password, "ada@example.org", "Ada Lovelace")
		err := v.Err()
		var faults *doc.Invalid
		switch {
		case want == "" && err != nil, want != "" && (err == nil || err.Error() != want):
			t.Errorf("%.30q: %v, want %q", password, err, want)
		case errors.As(err, &faults) && faults.Faults[0].Field != "password":
			t.Errorf("%.30q: the field is %s", password, faults.Faults[0].Field)
		}
	}
}

func TestEveryCommonPasswordIsLongEnoughToBeListed(t *testing.T) {
	t.Parallel()
	for _, password := range commonPasswords {
		if len(password) < minPassword || password != text.FoldCase(password) {
			t.Errorf("%q would never be compared", password)
		}
	}
}

func TestARandomPasswordIsGoodAndEasyToRead(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		password := RandomPassword()
		v := new(doc.Invalid)
		if ValidatePassword(v, password, "a@b.org", "A"); v.Err() != nil {
			t.Errorf("%s: %v", password, v.Err())
		}
		if !regexp.MustCompile(`^([a-km-np-z2-9]{5}-){3}[a-km-np-z2-9]{5}$`).MatchString(password) || seen[password] {
			t.Errorf("the password is %s", password)
		}
		seen[password] = true
	}
}
