package access

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func newSecret(t testing.TB, account, seq int64) (Key, string) {
	t.Helper()
	key, secret := assert.Must2(NewKey(account, seq, KeyInput{Name: "Test", Permissions: AllPermissions}, noon))(t)
	return key, secret
}

func TestASecretLeadsToItsKey(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		account := rapid.Int64Range(1, maxAccountNumber).Draw(rt, "account")
		seq := rapid.Int64Range(1, maxKeySeq).Draw(rt, "seq")
		key, secret := newSecret(t, account, seq)
		id, ok := ParseSecret(secret)
		if !ok || id != doc.MakeID(account, seq) || id != key.ID || key.Account != account {
			rt.Fatalf("%s of key %d leads to %d, %v", secret, key.ID, id, ok)
		}
		assert.Equal(rt, doc.IDAccount(id), account, "%d is of account", id)
		assert.Equal(rt, doc.IDSeq(id), seq, "%d is of account", id)
	})
}

func TestSecretsHaveOneForm(t *testing.T) {
	key, secret := newSecret(t, 1, 1)
	if len(secret) != 61 || !strings.HasPrefix(secret, "dbk_") || strings.Trim(secret[4:], text.Base62) != "" {
		t.Errorf("%q is not dbk_ and 57 letters and digits", secret)
	}
	if _, other := newSecret(t, 1, 1); other[12:55] == secret[12:55] {
		t.Error("two secrets have the same random part")
	}
	// The hint shows which key it is, with only four characters of the checksum.
	assert.Equal(t, key.Hint, secret[:12]+"..."+secret[57:], "the hint")
	if strings.Contains(key.Hint, secret[12:16]) || strings.Contains(key.Hint, secret[51:55]) {
		t.Errorf("the hint %q shows something of the random part", key.Hint)
	}
	assert.Equal(t, strings.Contains(string(assert.Must(json.Marshal(key))(t)), secret[12:]), false, "the key shows its secret")
}

// A number or a sequence of 0 belongs to no key, even if the checksum is correct.
func TestASecretOfNoKeyIsRefused(t *testing.T) {
	for _, payload := range []string{"00000001", "00010000", "00000000"} {
		payload += strings.Repeat("a", randomLength)
		if id, ok := ParseSecret(secretPrefix + payload + checksum(payload)); ok || id != 0 {
			t.Errorf("%s leads to key %d", payload, id)
		}
	}
}

func TestAnySingleChangeOfASecretIsRefused(t *testing.T) {
	_, secret := newSecret(t, 7_654_321, 1234)
	for i := range len(secret) {
		for _, c := range []byte(text.Base62 + "_-+ \x00\xff") {
			if c == secret[i] {
				continue
			}
			changed := secret[:i] + string([]byte{c}) + secret[i+1:]
			if id, ok := ParseSecret(changed); ok {
				t.Errorf("%q was taken for key %d", changed, id)
			}
		}
		if _, ok := ParseSecret(secret[:i] + secret[i+1:]); ok {
			t.Errorf("without character %d it was accepted", i)
		}
		if i > 0 && secret[i] != secret[i-1] {
			swapped := secret[:i-1] + secret[i:i+1] + secret[i-1:i] + secret[i+1:]
			if _, ok := ParseSecret(swapped); ok {
				t.Errorf("%q, two characters exchanged, was accepted", swapped)
			}
		}
	}
	for _, text := range []string{"", "dbk_", secret + "0", " " + secret, secret + "\n", strings.ToUpper(secret), strings.ToLower(secret)} {
		if _, ok := ParseSecret(text); ok {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestHashesCompare(t *testing.T) {
	_, secret := newSecret(t, 1, 1)
	a, b, c := HashSecret(secret), HashSecret(secret), HashSecret(secret+"0")
	if !SameHash(a[:], b[:]) || SameHash(a[:], c[:]) || SameHash(a[:], nil) || SameHash(nil, a[:]) || SameHash(a[:], a[:31]) {
		t.Error("equal hashes must be the same, and others not")
	}
}

func TestNewKeyRefuses(t *testing.T) {
	for _, test := range []struct {
		seq   int64
		in    KeyInput
		field string
	}{
		{1, KeyInput{Name: ""}, "name"},
		{1, KeyInput{Name: " \t"}, "name"},
		{1, KeyInput{Name: "a\x00"}, "name"},
		{1, KeyInput{Name: "\xff"}, "name"},
		{1, KeyInput{Name: strings.Repeat("é", 256)}, "name"},
		{1, KeyInput{Name: "x", ExpiresAt: noon}, "expires"},
		{1, KeyInput{Name: "x", ExpiresAt: noon.Add(-time.Hour)}, "expires"},
		{maxKeySeq + 1, KeyInput{Name: "x"}, "account"},
	} {
		_, secret, err := NewKey(1, test.seq, test.in, noon)
		if faults := crmtest.FaultsOf(t, err); secret != "" || len(faults) != 1 || faults[0].Field() != test.field {
			t.Errorf("%+v: got %v, want a fault of %s", test.in, err, test.field)
		}
	}
	key, _, err := NewKey(1, maxKeySeq, KeyInput{Name: "  " + strings.Repeat("é", 255), ExpiresAt: noon.Add(time.Second), Permissions: ContactsRead}, noon)
	if err != nil || key.Name != strings.Repeat("é", 255) || !key.ExpiresAt.Equal(noon.Add(time.Second)) || key.Permissions != ContactsRead {
		t.Errorf("%+v, %v", key, err)
	}
}

func TestPermissions(t *testing.T) {
	for _, test := range []struct {
		Strings []string
		want    Permission
		shown   []string
	}{
		{nil, 0, nil},
		{[]string{"all"}, AllPermissions, rows.All(`
			contacts:read  contacts:write  campaigns:read  transactions:read  transactions:write
			campaigns:write
		`)},
		{[]string{"contacts:read"}, ContactsRead, []string{"contacts:read"}},
		{[]string{"campaigns:read", "contacts:write"}, ContactsWrite | CampaignsRead, []string{"contacts:write", "campaigns:read"}},
		{[]string{"transactions:write", "transactions:read"}, TransactionsRead | TransactionsWrite, []string{"transactions:read", "transactions:write"}},
		{[]string{"contacts:write", "contacts:write"}, ContactsWrite, []string{"contacts:write"}},
	} {
		got, err := ParsePermissions(test.Strings)
		if diff := cmp.Diff(test.shown, got.Names()); err != nil || got != test.want || diff != "" {
			t.Errorf("%q: got %v, %v\n%s", test.Strings, got, err, diff)
		}
	}
	for _, name := range rows.All(`""  All  contacts  Contacts:read  campaigns:delete`) {
		p, err := ParsePermissions([]string{"contacts:read", name})
		if faults := crmtest.FaultsOf(t, err); p != 0 || len(faults) != 1 || faults[0].Field() != "permission" ||
			!strings.Contains(faults[0].Message(), "contacts:read, contacts:write, campaigns:read, transactions:read, transactions:write, campaigns:write, or all.") {
			t.Errorf("%q: got %v, %v", name, p, err)
		}
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
	now := noon.Add(500 * time.Millisecond)
	for text, want := range map[string]time.Time{
		"":                          {},
		"2026-01-31":                time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		"2027-12-31":                time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC),
		"2026-02-01T00:00:00Z":      time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		"2026-02-01T00:00:00+02:00": time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC),
		"1d":                        noon.AddDate(0, 0, 1),
		"90d":                       noon.AddDate(0, 0, 90),
		"36500d":                    noon.AddDate(0, 0, 36500),
		"12h":                       noon.Add(12 * time.Hour),
		"1h30m":                     noon.Add(90 * time.Minute),
	} {
		got, err := ParseExpiry(text, now)
		if err != nil || !got.Equal(want) || !want.IsZero() && got.Location() != time.UTC {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range rows.Pairs(`
		2026-01-30            must be in the future
		2026-01-31T12:00:00Z  must be in the future
		-1h                   must be in the future
		0s                    must be in the future
		1ms                   must be in the future  // times are kept to the second
		0d                    is not understood
		-1d                   is not understood
		36501d                is not understood
		1.5d                  is not understood
		d                     is not understood
		90                    is not understood
		tomorrow              is not understood
		2026-02-30            is not understood
		12/31/2027            is not understood
		" 90d"                is not understood
		99999999999999999d    is not understood
	`) {
		_, err := ParseExpiry(text, now)
		if faults := crmtest.FaultsOf(t, err); len(faults) != 1 || faults[0].Field() != "expires" || !strings.Contains(faults[0].Message(), want) {
			t.Errorf("%q: got %v, want it to say: %s", text, err, want)
		}
	}
}

func TestHoldsSecret(t *testing.T) {
	_, secret := newSecret(t, 1, 1)
	if !HoldsSecret("key="+secret+"&x") || HoldsSecret("https://example.org/?page=2") {
		t.Error("a secret inside a text must be seen, and only that")
	}
}

func FuzzParseSecret(f *testing.F) {
	_, secret := newSecret(f, 7_654_321, 42)
	for _, text := range []string{secret, "", "dbk_", secret[:60], strings.Repeat("0", 61), "dbk_+000" + strings.Repeat("0", 53)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, ok := ParseSecret(text)
		if !ok {
			assert.Equal(t, id, 0, "%q is refused and has the id", text)
			return
		}
		if !HoldsSecret(text) || len(text) != secretLength || id <= 0 || doc.IDSeq(id) > maxKeySeq || doc.IDAccount(id) > maxKeySeq {
			t.Fatalf("%q is taken for key %d", text, id)
		}
	})
}
