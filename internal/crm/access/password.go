package access

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

const (
	minPassword = 10
	maxPassword = 1000
)

// ValidatePassword notes what is wrong with a new password of a person with this email and name.
func ValidatePassword(v *doc.Invalid, password, email, name string) {
	folded := text.FoldCase(strings.TrimSpace(password))
	same := func(value string) bool { return folded == text.FoldCase(strings.TrimSpace(value)) }
	switch n := utf8.RuneCountInString(password); {
	case password == "":
		v.Add("password", doc.Required)
	case !utf8.ValidString(password):
		v.Add("password", "must be text")
	case n < minPassword:
		v.Add("password", "must have at least %v characters", minPassword)
	case n > maxPassword:
		v.Add("password", doc.TooLong, maxPassword)
	case same(email):
		v.Add("password", "must not be the email address")
	case same(name):
		v.Add("password", "must not be the name")
	case strings.Trim(folded, firstRune(folded)) == "":
		v.Add("password", "must not repeat one character")
	case slices.Contains(commonPasswords, folded):
		v.Add("password", "is too common: choose another one")
	}
}

func firstRune(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return text[:size]
}

// commonPasswords are the well-known ones that are long enough.
var commonPasswords = []string{
	"0123456789", "0987654321", "1029384756", "1111122222", "111222333444", "1122334455", "112233445566",
	"121212121212",
	"123123123123", "1234512345", "1234554321", "123456123456", "1234567890", "12345678900", "1234567891",
	"12345678910",
	"123456789a", "123456789q", "1234qwerasdf", "12qwaszx34", "147258369a", "1a2b3c4d5e", "1q2w3e4r5t", "1q2w3e4r5t6y",
	"1qaz2wsx3edc", "1qazxsw23edc", "1qazxsw23edcvfr4", "9876543210", "a123456789", "a1b2c3d4e5", "abc123abc123",
	"abcd123456",
	"abcd1234abcd", "abcdefghij", "abcdefghijk", "abcdefghijkl", "admin12345", "admin123456", "administrator",
	"adminadmin",
	"asdfghjkl123", "asdfghjkl1", "baseball123", "basketball", "changeit123", "changeme123", "changemenow",
	"charlie123",
	"computer123", "correct horse battery staple", "correcthorsebatterystaple", "donorbook1", "donorbook123",
	"dragon12345",
	"football123", "fundraising", "hello12345", "helloworld", "iloveyou12", "iloveyou123", "jennifer123", "letmein123",
	"letmein1234", "letmeinplease", "liverpool123", "manchester", "michael123", "monkey12345", "mypassword",
	"newpassword",
	"p@ssw0rd123", "p@ssword123", "passpasspass", "passw0rd123", "password00", "password01", "password10", "password11",
	"password12", "password123", "password1234", "password12345", "password123!", "password2024", "password2025",
	"password2026",
	"passwordpassword", "princess123", "q1w2e3r4t5", "q1w2e3r4t5y6", "qazwsxedc123", "qazwsxedcrfv", "qwer1234qwer",
	"qwerty12345",
	"qwerty123456", "qwertyqwerty", "qwertyuiop", "qwertyuiop123", "qwertyuiop[]", "secret12345", "starwars123",
	"sunshine123",
	"superman123", "testtesttest", "thisisapassword", "trustno1trustno1", "welcome123", "welcome1234", "welcome12345",
	"zaq12wsxcde3",
	"zxcvbnm123", "zxcvbnmasdfghjkl",
}

// passwordCost is how dear it is to try a password with argon2id. It is written beside every hash, so that it can
// become dearer without making old hashes useless.
type passwordCost struct {
	memory  uint32 // KiB
	time    uint32
	threads uint8
}

var thisCost = passwordCost{memory: 19 * 1024, time: 2, threads: 1}

const (
	passwordSalt = 16
	passwordHash = 32
)

// HashPassword is what is kept of a password: a text in the PHC form.
func HashPassword(password string) string {
	salt := make([]byte, passwordSalt)
	rand.Read(salt) //nolint:errcheck // never fails
	return thisCost.text(salt, thisCost.hash(password, salt, passwordHash))
}

// NobodysPassword is a hash that no password has. It is tried for an unknown email, so that the answer takes as long as
// for a known one.
var NobodysPassword = thisCost.text(make([]byte, passwordSalt), make([]byte, passwordHash))

// VerifyPassword tells whether a password is the one that was hashed.
func VerifyPassword(hash, password string) bool {
	cost, salt, want, ok := parsePasswordHash(hash)
	return ok && subtle.ConstantTimeCompare(cost.hash(password, salt, len(want)), want) == 1
}

// hash takes one password for the same however a keyboard composes its letters.
func (c passwordCost) hash(password string, salt []byte, length int) []byte {
	//nolint:gosec // short
	return argon2.IDKey([]byte(norm.NFKC.String(password)), salt, c.time, c.memory, c.threads, uint32(length))
}

const phcForm = "$argon2id$v=%d$m=%d,t=%d,p=%d$"

func (c passwordCost) text(salt, hash []byte) string {
	return fmt.Sprintf(phcForm, argon2.Version, c.memory, c.time, c.threads) +
		base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(hash)
}

func parsePasswordHash(text string) (c passwordCost, salt, hash []byte, ok bool) {
	parts := strings.Split(text, "$") // the first is empty
	if len(parts) != 6 {
		return c, nil, nil, false
	}
	var version int
	_, err := fmt.Sscanf(strings.Join(parts[:4], "$")+"$", phcForm, &version, &c.memory, &c.time, &c.threads)
	if err != nil || version != argon2.Version || c.time == 0 || c.threads == 0 {
		return c, nil, nil, false
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	hash, hashErr := base64.RawStdEncoding.DecodeString(parts[5])
	return c, salt, hash, saltErr == nil && hashErr == nil && len(hash) >= 16
}

// readable has no letters or digits that are mistaken for each other.
const readable = "abcdefghijkmnpqrstuvwxyz23456789"

// RandomPassword is a password for an operator to hand on: 100 random bits in four groups.
func RandomPassword() string {
	var b strings.Builder
	for i := range 20 {
		if i > 0 && i%5 == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(readable[text.RandomBelow(int64(len(readable)))])
	}
	return b.String()
}
