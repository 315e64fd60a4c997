package access

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func newSecret(t testing.TB, account, seq int64) (Key, string) {
	t.Helper()
	return assert.Must2(NewKey(account, seq, KeyInput{Name: "Test", Permissions: AllPermissions}, noon))(t)
}

func TestASecretLeadsToItsKey(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		account := rapid.Int64Range(1, maxAccountNumber).Draw(rt, "account")
		seq := rapid.Int64Range(1, maxKeySeq).Draw(rt, "seq")
		key, secret := newSecret(t, account, seq)
		id, ok := ParseSecret(secret)
		assert.Equal(rt, ok, true, "%s is a secret", secret)
		assert.Equal(rt, id, doc.MakeID(account, seq))
		assert.Equal(rt, key.ID, id)
		assert.Equal(rt, key.Account, account)
	})
}

func TestSecretsHaveOneForm(t *testing.T) {
	key, secret := newSecret(t, 1, 1)
	assert.Equal(t, regexp.MustCompile(`^dbk_[0-9A-Za-z]{57}$`).MatchString(secret), true, "the secret %q", secret)
	_, other := newSecret(t, 1, 1)
	assert.Equal(t, other[12:55] == secret[12:55], false, "two secrets have the same random part")
	// The hint shows which key it is, with only four characters of the checksum.
	assert.Equal(t, key.Hint, secret[:12]+"..."+secret[57:], "the hint")
	assert.Equal(t, strings.Contains(string(assert.Must(json.Marshal(key))(t)), secret[12:]), false,
		"the key shows its secret")
	assert.Tells(t, HoldsSecret, []string{"key=" + secret + "&x"}, []string{"https://example.org/?page=2"})
	hash := HashSecret(secret)
	assert.Tells(t, func(of string) bool {
		h := HashSecret(of)
		return SameHash(hash[:], h[:])
	}, []string{secret}, []string{secret + "0", ""})
	assert.Equal(t, SameHash(hash[:], nil) || SameHash(nil, hash[:]) || SameHash(hash[:], hash[:31]), false,
		"half a hash is the same")
}

func TestAnySingleChangeOfASecretIsRefused(t *testing.T) {
	_, secret := newSecret(t, 7_654_321, 1234)
	wrong := []string{"", "dbk_", secret + "0", " " + secret, secret + "\n", strings.ToUpper(secret),
		strings.ToLower(secret)}
	for i := range len(secret) {
		for _, c := range []byte(text.Base62 + "_-+ \x00\xff") {
			wrong = append(wrong, secret[:i]+string([]byte{c})+secret[i+1:])
		}
		wrong = append(wrong, secret[:i]+secret[i+1:])
		if i > 0 { // two characters exchanged
			wrong = append(wrong, secret[:i-1]+secret[i:i+1]+secret[i-1:i]+secret[i+1:])
		}
	}
	for _, payload := range []string{"00000001", "00010000", "00000000"} { // of no key, even if the checksum is correct
		payload += strings.Repeat("a", randomLength)
		wrong = append(wrong, secretPrefix+payload+checksum(payload))
	}
	for _, text := range wrong {
		if id, ok := ParseSecret(text); (ok || id != 0) && text != secret {
			t.Errorf("%q was taken for key %d", text, id)
		}
	}
}

func TestNewKeyRefuses(t *testing.T) {
	name := strings.NewReplacer("LONG", strings.Repeat("é", 255))
	for _, test := range rows.Of[struct {
		Beyond  int64 // the last key
		Name    string
		Expires time.Duration // from now, 1 for never
		Field   string
	}](`
		-9  ""       1   name
		-9  " \t"    1   name
		-9  "a\x00"  1   name
		-9  "\xff"   1   name
		-9  LONGé    1   name
		-9  x        0   expires
		-9  x        -9  expires
		1   x        1   account
		0   " LONG"  9   ""
	`) {
		in := KeyInput{Name: name.Replace(test.Name), Permissions: ContactsRead}
		if test.Expires != 1 {
			in.ExpiresAt = noon.Add(test.Expires * time.Second)
		}
		key, secret, err := NewKey(1, maxKeySeq+test.Beyond, in, noon)
		assert.Equal(t, strings.Join(crmtest.Fields(err), " "), test.Field, "%+v", test)
		assert.Equal(t, secret == "", err != nil, "%+v", test)
		if in.Name = strings.TrimSpace(in.Name); err == nil {
			assert.Equal(t, KeyInput{Name: key.Name, ExpiresAt: key.ExpiresAt, Permissions: key.Permissions}, in)
		}
	}
}

func TestPermissions(t *testing.T) {
	for _, test := range rows.Of[struct {
		Sent  []string
		Want  Permission
		Shown []string
	}](`
		""                                    0   ""
		all                                   63  contacts:read contacts:write campaigns:read transactions:read transactions:write campaigns:write
		contacts:read                         1   contacts:read
		campaigns:read contacts:write         6   contacts:write campaigns:read
		transactions:write transactions:read  24  transactions:read transactions:write
		contacts:write contacts:write         2   contacts:write
	`) {
		got := assert.Must(ParsePermissions(test.Sent))(t)
		assert.Equal(t, got, test.Want, "%q", test.Sent)
		assert.Equal(t, got.Names(), test.Shown, "%q", test.Sent)
	}
	for _, name := range rows.All(`""  All  contacts  Contacts:read  campaigns:delete`) {
		p, err := ParsePermissions([]string{"contacts:read", name})
		assert.Equal(t, p, 0, "%q", name)
		assert.Equal(t, crmtest.Fields(err), []string{"permission"}, "%q", name)
		assert.Contains(t, fmt.Sprint(err),
			"contacts:read, contacts:write, campaigns:read, transactions:read, transactions:write, campaigns:write, or all.")
	}
}

func TestAKeyIsValidUntilItExpiresOrIsRevoked(t *testing.T) {
	for _, test := range []struct {
		key   Key
		valid bool
		state string
	}{
		{Key{}, true, "active"},
		{Key{ExpiresAt: noon.Add(time.Nanosecond)}, true, "active"},
		{Key{ExpiresAt: noon}, false, "expired"},
		{Key{ExpiresAt: noon.Add(-time.Second)}, false, "expired"},
		{Key{RevokedAt: noon.Add(-time.Second)}, false, "revoked"},
		{Key{RevokedAt: noon.Add(time.Hour)}, false, "revoked"}, // the clocks of two machines differ
		{Key{RevokedAt: noon, ExpiresAt: noon.Add(-time.Hour)}, false, "revoked"},
	} {
		assert.Equal(t, test.key.Valid(noon), test.valid, "%+v: valid", test.key)
		assert.Equal(t, test.key.State(noon), test.state, "%+v: valid", test.key)
	}
}

func TestParseExpiry(t *testing.T) {
	for text, want := range rows.Pairs(`
		""                         0001-01-01 00:00:00
		2026-01-31                 2026-02-01 00:00:00
		2027-12-31                 2028-01-01 00:00:00
		2026-02-01T00:00:00Z       2026-02-01 00:00:00
		2026-02-01T00:00:00+02:00  2026-01-31 22:00:00
		1d                         2026-02-01 12:00:00
		90d                        2026-05-01 12:00:00
		36500d                     2126-01-07 12:00:00
		12h                        2026-02-01 00:00:00
		1h30m                      2026-01-31 13:30:00
		2026-01-30                 must be in the future
		2026-01-31T12:00:00Z       must be in the future
		-1h                        must be in the future
		0s                         must be in the future
		1ms                        must be in the future  // times are kept to the second
		0d                         is not understood
		-1d                        is not understood
		36501d                     is not understood
		1.5d                       is not understood
		d                          is not understood
		90                         is not understood
		tomorrow                   is not understood
		2026-02-30                 is not understood
		12/31/2027                 is not understood
		" 90d"                     is not understood
		99999999999999999d         is not understood
	`) {
		got, err := ParseExpiry(text, noon.Add(500*time.Millisecond))
		if err == nil {
			assert.Equal(t, got.Location(), time.UTC, "%q", text)
			assert.Equal(t, got.Format(time.DateTime), want, "%q", text)
			continue
		}
		assert.Equal(t, crmtest.Fields(err), []string{"expires"}, "%q", text)
		assert.Contains(t, err.Error(), want, "%q", text)
	}
}

func FuzzParseSecret(f *testing.F) {
	_, secret := newSecret(f, 7_654_321, 42)
	for _, text := range []string{secret, "", "dbk_", secret[:60], strings.Repeat("0", 61),
		"dbk_+000" + strings.Repeat("0", 53)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, ok := ParseSecret(text)
		if !ok {
			assert.Equal(t, id, 0, "%q is refused and has the id", text)
			return
		}
		if !HoldsSecret(text) || len(text) != secretLength || id <= 0 || doc.IDSeq(id) > maxKeySeq ||
			doc.IDAccount(id) > maxKeySeq {
			t.Fatalf("%q is taken for key %d", text, id)
		}
	})
}
