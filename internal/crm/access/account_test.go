package access

import (
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func TestNewAccountHasAnIDOfItsOwn(t *testing.T) {
	parent := Account{Number: 1_234_567, ID: "parent"}
	ids := map[string]bool{}
	for range 200 {
		a := assert.Must(NewAccount("  Red Cross ", parent, noon))(t)
		assert.Equal(t, a, Account{ID: a.ID, Name: "Red Cross", Parent: 1_234_567, ParentID: "parent", CreatedAt: noon})
		assert.Equal(t, len(a.ID) == 16 && strings.Trim(a.ID, text.Base62) == "" && IsAccountID(a.ID), true,
			"the id is %s", a.ID)
		ids[a.ID] = true
	}
	assert.Equal(t, len(ids), 200, "of 200 accounts")
	const id = "A1b2C3d4E5f6G7h8"
	assert.Tells(t, IsAccountID, []string{id}, []string{"", "short", id + "x", id[:15] + "\x00", id[:7] + "-" + id[:8]})
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
	assert.Equal(t, doc.MaxSeq, 999_999_999)
	for _, test := range rows.Of[struct{ Account, Seq, ID int64 }](`
		1        1          1
		1        42         42
		1        999999999  999999999
		2        1          1000000001
		3        7          2000000007
		999999   999999999  999998999999999
		1000000  1          1000000000000001  // random numbers, as before
		7654321  42         7654321000000042
		9007198  999999999  9007198999999999
	`) {
		id := doc.MakeID(test.Account, test.Seq)
		assert.Equal(t, id, test.ID, "%+v", test)
		assert.Equal(t, doc.IDAccount(id), test.Account, "%+v", test)
		assert.Equal(t, doc.IDSeq(id), test.Seq, "%+v", test)
	}
	assert.Equal(t, doc.MakeID(maxAccountNumber, doc.MaxSeq) <= 1<<53-1 && doc.MakeID(1, doc.MaxSeq) <= 1<<31-1, true,
		"ids fit")
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
	for name, want := range rows.Pairs(`
		""        The name field is required.
		" \n"     The name field is required.
		"a\x00b"  The name field must not contain NUL characters.
		"a\xff"   The name field must be valid UTF-8.
		MOSTé     The name field must not be longer than 255 characters.
		MOST      ""
	`) {
		_, err := NewAccount(strings.Replace(name, "MOST", strings.Repeat("é", 255), 1), Account{}, noon)
		assert.Says(t, err, want, "%q", name)
	}
}
