package access

import (
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func TestNewAccountHasAnIDOfItsOwn(t *testing.T) {
	parent := Account{Number: 1_234_567, ID: "parent"}
	ids := map[string]bool{}
	for range 200 {
		a := assert.Must(NewAccount("  Red Cross ", parent, noon))(t)
		if a.Name != "Red Cross" || a.Parent != 1_234_567 || a.ParentID != "parent" || !a.CreatedAt.Equal(noon) {
			t.Fatalf("%+v", a)
		}
		if len(a.ID) != 16 || strings.Trim(a.ID, text.Base62) != "" {
			t.Fatalf("the id %q is not 16 letters and digits", a.ID)
		}
		ids[a.ID] = true
	}
	assert.Equal(t, len(ids), 200, "of 200 accounts")
}

func TestAccountsAreCountedAndThenRandom(t *testing.T) {
	for last, want := range map[int64]int64{0: 1, 1: 2, 41: 42, 999_998: 999_999} {
		assert.Equal(t, NextAccount(last), want, "the number after %d", last)
	}
	numbers := map[int64]bool{}
	for range 200 {
		number := NextAccount(999_999)
		if number < 1_000_000 || doc.MakeID(number, doc.MaxSeq) > 1<<53-1 {
			t.Fatalf("the ids of account %d do not fit", number)
		}
		numbers[number] = true
	}
	if len(numbers) < 190 {
		t.Errorf("of 200 random numbers %d differ", len(numbers))
	}
}

func TestIDsAreSmallAndTakeApart(t *testing.T) {
	for _, test := range []struct{ account, seq, id int64 }{
		{1, 1, 1}, {1, 42, 42}, {1, doc.MaxSeq, 999_999_999},
		{2, 1, 1_000_000_001}, {3, 7, 2_000_000_007},
		{999_999, doc.MaxSeq, 999_998_999_999_999},
		{1_000_000, 1, 1_000_000_000_000_001}, // random numbers, as before
		{7_654_321, 42, 7_654_321_000_000_042},
		{maxAccountNumber, doc.MaxSeq, 9_007_198_999_999_999},
	} {
		if id := doc.MakeID(test.account, test.seq); id != test.id || doc.IDAccount(id) != test.account || doc.IDSeq(id) != test.seq || id > 1<<53-1 {
			t.Errorf("%d of account %d is %d, taken apart %d and %d", test.seq, test.account, id, doc.IDAccount(id), doc.IDSeq(id))
		}
	}
	if doc.MakeID(1, doc.MaxSeq) > 1<<31-1 {
		t.Error("an id of the first account does not fit in 32 bits")
	}
	for account := int64(1); account < maxAccountNumber; account += 997 {
		if doc.MakeID(account, doc.MaxSeq) >= doc.MakeID(account+1, 1) {
			t.Errorf("the ids of accounts %d and %d overlap", account, account+1)
		}
	}
	for _, id := range []int64{0, -1, -1_000_000_001, 999_999_000_000_001, 999_999_999_999_999, -1 << 63} {
		assert.Equal(t, doc.IDAccount(id), 0, "%d is an id of account", id)
	}
}

func TestAccountsNeedAName(t *testing.T) {
	for name, want := range map[string]string{
		"":                       "The name field is required.",
		" \n":                    "The name field is required.",
		"a\x00b":                 "The name field must not contain NUL characters.",
		"a\xff":                  "The name field must be valid UTF-8.",
		strings.Repeat("é", 256): "The name field must not be longer than 255 characters.",
	} {
		if _, err := NewAccount(name, Account{}, noon); err == nil || err.Error() != want {
			t.Errorf("%.10q: got %v, want %s", name, err, want)
		}
	}
	assert.Equal(t, assert.Must(NewAccount(strings.Repeat("é", 255), Account{}, noon))(t).Parent, 0)
}
