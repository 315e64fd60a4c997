package store

import (
	"context"
	"testing"
	"time"

	"donorbook/internal/crm"
)

// openTest opens a store in a directory of its own.
func openTest(t testing.TB) *Store {
	t.Helper()
	s, err := Open(context.Background(), Options{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newAccount(t testing.TB, s *Store) crm.Account {
	t.Helper()
	a, err := s.CreateAccount(context.Background(), "Test", "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// input is a valid input from a JSON body.
func input(t testing.TB, body string) crm.ContactInput {
	t.Helper()
	in, faults, err := crm.DecodeContact([]byte(body))
	if err == nil {
		err = in.Validate(faults, false, "US", time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}
