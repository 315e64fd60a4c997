package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
)

func TestAccountsAreListedOldestFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		if accounts, err := s.Accounts(t.Context()); err != nil || len(accounts) != 0 {
			t.Errorf("%v: a new database has %+v", err, accounts)
		}
		var made []crm.Account
		parent := ""
		for i := range 4 {
			a, err := s.CreateAccount(t.Context(), fmt.Sprintf(" Chapter %d ", i), parent)
			if err != nil {
				t.Fatal(err)
			}
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
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s)
		for _, id := range []string{"", "x", account.ID + "x", fmt.Sprint(account.Number)} {
			_, err := s.Account(t.Context(), id)
			wantError(t, id, err, crm.ErrNotFound)
			if id != "" {
				_, err = s.CreateAccount(t.Context(), "Chapter", id)
				wantError(t, "a chapter of "+id, err, crm.ErrNotFound)
			}
		}
		var invalid *crm.Invalid
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

func TestAccountsMadeAtOnceAreAllThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
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
