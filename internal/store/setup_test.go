package store

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
)

func setupToken(t testing.TB, s *Store) string {
	t.Helper()
	token, err := s.SetupToken(t.Context())
	if err != nil || token == "" {
		t.Fatalf("the token is %q, %v", token, err)
	}
	return token
}

func founder(name string) crm.SetupInput {
	return crm.SetupInput{UserInput: joiner(name), Organisation: " Harbor Light "}
}

func TestTheFirstUserSetsUpAnOrganisation(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Store) {
		now := stopClock(a)
		b.now = now.time
		token, other := setupToken(t, a), setupToken(t, b)
		if accounts, err := b.SetupAccounts(t.Context(), token); err != nil || len(accounts) != 0 {
			t.Errorf("%v: the accounts are %+v", err, accounts)
		}
		user, account, err := b.Setup(t.Context(), token, founder("ada"))
		if err != nil || user.Name != "ada" || user.Email != "ada@Example.org" || account.Name != "Harbor Light" || account.Parent != 0 {
			t.Fatalf("%v: %+v, %+v", err, user, account)
		}
		want := []UserRecord{{User: user, Memberships: []crm.Membership{{Account: account, Role: crm.Owner}}}}
		got, err := a.Users(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		signIn(t, a, "ada@example.org", goodPassword)
		create(t, a, account.Number, `{"first_name":"First"}`)
		for _, used := range []string{token, other} {
			_, err := a.SetupAccounts(t.Context(), used)
			wantError(t, "a second look", err, crm.ErrNotFound)
			_, _, err = b.Setup(t.Context(), used, founder("bob"))
			wantError(t, "a second user", err, crm.ErrNotFound)
		}
		if token, err := a.SetupToken(t.Context()); err != nil || token != "" {
			t.Errorf("%v: with a user there is still the token %q", err, token)
		}
		if n := count(t, a, `SELECT COUNT(*) FROM invitation`); n != 0 {
			t.Errorf("%d set-up tokens are left", n)
		}
	})
}

func TestTheFirstUserMayTakeAnOrganisationThatExists(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		var made []crm.Account
		for _, name := range []string{"zebra", "Apple"} {
			account, err := s.CreateAccount(t.Context(), name, "")
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, account)
		}
		chapter, err := s.CreateAccount(t.Context(), "Chapter", made[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		token := setupToken(t, s)
		got, err := s.SetupAccounts(t.Context(), token)
		if diff := cmp.Diff([]crm.Account{made[1], made[0]}, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		in := founder("ada")
		for _, wrong := range []string{chapter.ID, "x"} {
			in.Account = wrong
			_, _, err = s.Setup(t.Context(), token, in)
			wantRefused(t, "no root account", err, "organisation")
		}
		in.Account = made[0].ID
		user, account, err := s.Setup(t.Context(), token, in)
		if err != nil || account != made[0] {
			t.Fatalf("%v: %+v", err, account)
		}
		if m, err := s.Membership(t.Context(), user.ID, account.ID); err != nil || m.Role != crm.Owner {
			t.Errorf("%v: %+v", err, m)
		}
		if accounts, err := s.Accounts(t.Context()); err != nil || len(accounts) != 3 {
			t.Errorf("%v: there are %d accounts", err, len(accounts))
		}
	})
}

func TestAWrongSetupIsToldEverythingAndMayBeTriedAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		token := setupToken(t, s)
		_, _, err := s.Setup(t.Context(), token, crm.SetupInput{})
		wantRefused(t, "nothing at all", err, "name", "email", "password", "organisation")
		if users, err := s.Users(t.Context()); err != nil || len(users) != 0 {
			t.Errorf("%v: the users are %+v", err, users)
		}
		if _, _, err := s.Setup(t.Context(), token, founder("ada")); err != nil {
			t.Error(err)
		}
	})
}

func TestASetupTokenLastsADay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		now := stopClock(s)
		old := setupToken(t, s)
		now.move(24*time.Hour - time.Second)
		later := setupToken(t, s) // of another node; the first stays good
		if _, err := s.SetupAccounts(t.Context(), old); err != nil {
			t.Error(err)
		}
		now.move(time.Second)
		_, err := s.SetupAccounts(t.Context(), old)
		wantError(t, "after a day", err, crm.ErrNotFound)
		_, _, err = s.Setup(t.Context(), old, founder("ada"))
		wantError(t, "after a day", err, crm.ErrNotFound)
		setupToken(t, s)
		if n := count(t, s, `SELECT COUNT(*) FROM invitation`); n != 2 {
			t.Errorf("%d tokens are kept", n)
		}
		for _, wrong := range []string{"", "x", later + "x", crm.HashToken(later)} {
			_, err := s.SetupAccounts(t.Context(), wrong)
			wantError(t, wrong, err, crm.ErrNotFound)
		}
		if _, _, err := s.Setup(t.Context(), later, founder("ada")); err != nil {
			t.Error(err)
		}
	})
}

func TestASetupTokenEndsWhenAnOperatorMakesTheFirstUser(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		token := setupToken(t, s)
		newUser(t, s, newAccount(t, s), crm.Owner, "ada")
		_, err := s.SetupAccounts(t.Context(), token)
		wantError(t, "a look", err, crm.ErrNotFound)
		_, _, err = s.Setup(t.Context(), token, founder("bob"))
		wantError(t, "a second user", err, crm.ErrNotFound)
	})
}

func TestOfManyFirstUsersAtOnceOneIsFirst(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Store) {
		stores := []*Store{a, b}
		tokens := []string{setupToken(t, a), setupToken(t, b)}
		var mu sync.Mutex
		won := 0
		atOnce(8, func(i int) {
			_, _, err := stores[i%2].Setup(t.Context(), tokens[i%2], founder("user "+string(rune('a'+i))))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
				return
			}
			wantError(t, "too late", err, crm.ErrNotFound)
		})
		users, err := a.Users(t.Context())
		accounts, err2 := b.Accounts(t.Context())
		if err != nil || err2 != nil || won != 1 || len(users) != 1 || len(accounts) != 1 {
			t.Errorf("%v, %v: %d succeeded, there are %d users and %d accounts", err, err2, won, len(users), len(accounts))
		}
	})
}
