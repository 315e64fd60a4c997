package book

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
)

func TestAccountsAreListedOldestFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		if accounts, err := s.Accounts(t.Context()); err != nil || len(accounts) != 0 {
			t.Errorf("%v: a new database has %+v", err, accounts)
		}
		var made []access.Account
		parent := ""
		for i := range 4 {
			a := must(s.CreateAccount(t.Context(), fmt.Sprintf(" Chapter %d ", i), parent))(t)
			if i == 0 && (a.Parent != 0 || a.ParentID != "") || i > 0 && (a.Parent != made[i-1].Number || a.ParentID != made[i-1].ID) {
				t.Errorf("account %d has the parent %d %s", i, a.Parent, a.ParentID)
			}
			made = append(made, a)
			parent = a.ID
		}
		got, err := s.Accounts(t.Context())
		if diff := cmp.Diff(made, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		for _, want := range made {
			if got, err := s.Account(t.Context(), want.ID); err != nil || got != want {
				t.Errorf("%v: got %+v, want %+v", err, got, want)
			}
		}
	})
}

func TestUnknownAccountsAreNotFound(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		for _, id := range []string{"", "x", account.ID + "x", fmt.Sprint(account.Number)} {
			_, err := s.Account(t.Context(), id)
			wantError(t, id, err, crm.ErrNotFound)
			if id != "" {
				_, err = s.CreateAccount(t.Context(), "Chapter", id)
				wantError(t, "a chapter of "+id, err, crm.ErrNotFound)
			}
		}
		var invalid *doc.Invalid
		if _, err := s.CreateAccount(t.Context(), "  ", ""); !errors.As(err, &invalid) {
			t.Errorf("an account without a name: %v", err)
		}
		if accounts, err := s.Accounts(t.Context()); err != nil || len(accounts) != 1 {
			t.Errorf("%v: the accounts are %+v", err, accounts)
		}
		_, _, err := s.Contacts(t.Context(), account.Number+1, crm.Active, crm.PageRequest{Page: 1, PerPage: 20}, nil, nil)
		wantError(t, "the contacts of no account", err, crm.ErrNotFound)
	})
}

func TestConcurrentAccountsMadeAtOnceAreAllThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		atOnce(32, func(int) { newAccount(t, s) })
		accounts, err := s.Accounts(t.Context())
		numbers := map[int64]bool{}
		for _, a := range accounts {
			numbers[a.Number] = true
		}
		if err != nil || len(accounts) != 32 || len(numbers) != 32 {
			t.Errorf("%v: %d accounts, %d numbers", err, len(accounts), len(numbers))
		}
	})
}

// The first account's ids are 1, 2, 3, and those of the next account begin after a billion.
func TestAccountsAreNumberedFromOne(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		for i, want := range []int64{1, 1_000_000_001, 2_000_000_001} {
			account := newAccount(t, s)
			if id := create(t, s, account.Number, `{"first_name":"Ana"}`).ID; account.Number != int64(i)+1 || id != want {
				t.Errorf("account %d has the number %d, and its first contact the id %d", i+1, account.Number, id)
			}
		}
		if _, err := s.CreateAccount(t.Context(), "", ""); err == nil {
			t.Error("an account without a name")
		}
		if number := newAccount(t, s).Number; number != 4 {
			t.Errorf("after an account that was refused comes number %d", number)
		}
	})
}

// Older accounts have random numbers, which do not count. A number whose account was lost is not used again, since some of its
// rows may still exist. When all numbers are in use, new ones are random again.
func TestANewAccountHasTheNextNumber(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		closeAfter(t, s)
		made := func(number int64) {
			t.Helper()
			succeed(t, s.UpdateShared(t.Context(), 0, func(x *store.Tx) error {
				x.Insert(store.AccountTable, number, fmt.Sprintf("%016d", number), "Older", int64(0), int64(0))
				return nil
			}))
		}
		made(1_000_000)
		made(4_711_000)
		first, second := newAccount(t, s).Number, newAccount(t, s).Number
		if first != 1 || second != 2 {
			t.Errorf("beside accounts with random numbers the new ones are %d and %d", first, second)
		}
		damage(t, s, `DELETE FROM account WHERE account_id = $1`, second)
		if number := newAccount(t, s).Number; number != 3 {
			t.Errorf("after an account that was lost comes %d", number)
		}
		made(999_999)
		for range 3 {
			if number := newAccount(t, s).Number; number < 1_000_000 {
				t.Errorf("after the last number comes %d", number)
			}
		}
	})
}

// Two nodes number organizations and chapters at once, and none of them fails or leaves a gap.
func TestConcurrentTwoNodesNumberAccountsAtOnce(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		top := newAccount(t, a)
		made := make([]int64, 20)
		atOnce(len(made), func(i int) {
			parent := map[bool]string{true: top.ID}[i%5 == 0]
			account, err := []*Book{a, b}[i%2].CreateAccount(t.Context(), fmt.Sprintf("Account %d", i), parent)
			if err != nil {
				t.Error(err)
			}
			made[i] = account.Number
		})
		slices.Sort(made)
		for i, number := range made {
			if number != int64(i)+2 {
				t.Fatalf("the numbers are %d", made)
			}
		}
	})
}
