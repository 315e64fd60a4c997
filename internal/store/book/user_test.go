package book

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/people"
)

const goodPassword = "a good password"

// newUser makes a user of an account, with goodPassword.
func newUser(t testing.TB, s *Book, account access.Account, role access.Role, name string) access.User {
	t.Helper()
	user := must(s.CreateUser(t.Context(), account, role, joiner(name)))(t)
	return user
}

func joiner(name string) access.UserInput {
	return access.UserInput{Name: name, Email: strings.ReplaceAll(name, " ", ".") + "@Example.org", Password: goodPassword}
}

func signIn(t testing.TB, s *Book, email, password string) (token string) {
	t.Helper()
	token, _, err := s.SignIn(t.Context(), email, password, access.Device{Address: "192.0.2.1", Agent: "Browser"})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// wantRefused fails if an error is not a refusal of exactly these fields.
func wantRefused(t testing.TB, what string, err error, fields ...string) {
	t.Helper()
	var invalid *doc.Invalid
	if !errors.As(err, &invalid) {
		t.Errorf("%s: %v, want faults of %q", what, err, fields)
		return
	}
	var got []string
	for _, fault := range invalid.Faults {
		got = append(got, fault.Field)
	}
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("%s: %v\n%s", what, err, diff)
	}
}

func TestUsersAreListedByEmailWithWhereTheyBelong(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		if users, err := s.Users(t.Context()); err != nil || len(users) != 0 {
			t.Errorf("%v: a new database has %+v", err, users)
		}
		root := newAccount(t, s)
		chapter := must(s.CreateAccount(t.Context(), "A chapter", root.ID))(t)
		zoe := newUser(t, s, root, access.Owner, "Zoë")
		ada := newUser(t, s, root, access.Viewer, "ada")
		if got, err := s.AddMember(t.Context(), chapter, access.Editor, " ADA@example.ORG "); err != nil || got != ada {
			t.Errorf("%v: %+v was added", err, got)
		}
		now.move(time.Hour)
		signIn(t, s, ada.Email, goodPassword)
		want := []people.UserRecord{
			{User: ada, Memberships: []access.Membership{{Account: chapter, Role: access.Editor}, {Account: root, Role: access.Viewer}}, SeenAt: now.time()},
			{User: zoe, Memberships: []access.Membership{{Account: root, Role: access.Owner}}},
		}
		got, err := s.Users(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		for _, u := range want {
			got, err := s.Memberships(t.Context(), u.User.ID)
			if diff := cmp.Diff(u.Memberships, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		}
	})
}

func TestConcurrentEmailBelongsToOneUser(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a)
		newUser(t, a, account, access.Owner, "ada")
		in := joiner("Another")
		in.Email = " ADA@EXAMPLE.ORG"
		_, err := b.CreateUser(t.Context(), account, access.Viewer, in)
		wantRefused(t, "the same email in other letters", err, "email")

		var mu sync.Mutex
		made, stores := 0, []*Book{a, b}
		accounts := []access.Account{newAccount(t, a), newAccount(t, a), newAccount(t, a), newAccount(t, a)}
		atOnce(8, func(i int) { // into different accounts, so that nothing else keeps them apart
			_, err := stores[i%2].CreateUser(t.Context(), accounts[i%4], access.Viewer, joiner("bob"))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
				return
			}
			wantRefused(t, "bob again", err, "email")
		})
		if users, err := a.Users(t.Context()); err != nil || len(users) != 2 || made != 1 {
			t.Errorf("%v: bob was made %d times, and there are %d users", err, made, len(users))
		}
	})
}

func TestARefusedUserLeavesNothingBehind(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		_, err := s.CreateUser(t.Context(), account, access.Owner, access.UserInput{Name: " ", Email: "x", Password: "short"})
		wantRefused(t, "a wrong user", err, "name", "email", "password")
		_, err = s.CreateUser(t.Context(), account, 9, joiner("ada"))
		wantRefused(t, "a wrong role", err, "role")
		_, err = s.CreateUser(t.Context(), access.Account{Number: account.Number + 1}, access.Owner, joiner("ada"))
		wantError(t, "no account", err, crm.ErrNotFound)
		_, err = s.AddMember(t.Context(), account, access.Owner, "ada@example.org")
		wantError(t, "a member who is no user", err, crm.ErrNotFound)
		_, err = s.AddMember(t.Context(), account, access.Owner, "a\x00\xff")
		wantError(t, "a member without an email", err, crm.ErrNotFound)
		if users, err := s.Users(t.Context()); err != nil || len(users) != 0 {
			t.Errorf("%v: the users are %+v", err, users)
		}
	})
}

func TestAddingAMemberAgainSetsTheRole(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		ada, bob := newUser(t, s, account, access.Owner, "ada"), newUser(t, s, account, access.Viewer, "bob")
		if _, err := s.AddMember(t.Context(), account, access.Editor, bob.Email); err != nil {
			t.Error(err)
		}
		wantRoles(t, s, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
		_, err := s.AddMember(t.Context(), account, access.Viewer, ada.Email)
		wantRefused(t, "the last owner", err, "role")
		wantRoles(t, s, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
	})
}

func TestAUserIsRenamed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		user := newUser(t, s, account, access.Owner, "ada")
		if err := s.RenameUser(t.Context(), user.ID, " Ada Lovelace "); err != nil {
			t.Error(err)
		}
		wantRefused(t, "no name", s.RenameUser(t.Context(), user.ID, " "), "name")
		wantError(t, "nobody", s.RenameUser(t.Context(), user.ID+1, "X"), crm.ErrNotFound)
		wantRoles(t, s, account, map[string]access.Role{"Ada Lovelace": access.Owner})
	})
}

func TestConcurrentChangedPasswordEndsAllOtherSessions(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a)
		ada, bob := newUser(t, a, account, access.Owner, "ada"), newUser(t, a, account, access.Viewer, "bob")
		here, there, bobs := signIn(t, a, ada.Email, goodPassword), signIn(t, b, ada.Email, goodPassword), signIn(t, b, bob.Email, goodPassword)
		session, err := a.Session(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		wantRefused(t, "a wrong and a weak one", a.ChangePassword(t.Context(), session, "not this one", "ADA@example.org"), "current_password", "password")
		wantRefused(t, "a wrong one", a.ChangePassword(t.Context(), session, "not this one", "another password"), "current_password")
		wantRefused(t, "a weak one", a.ChangePassword(t.Context(), session, goodPassword, "short"), "password")
		if _, err := b.Session(t.Context(), there); err != nil {
			t.Errorf("what was refused has ended a session: %v", err)
		}
		if err := a.ChangePassword(t.Context(), session, goodPassword, "another password"); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Book{a, b} {
			_, err = s.Session(t.Context(), there)
			wantError(t, "another session", err, crm.ErrUnauthenticated)
			for _, token := range []string{here, bobs} {
				if _, err := s.Session(t.Context(), token); err != nil {
					t.Errorf("a session that should go on: %v", err)
				}
			}
			_, _, err := s.SignIn(t.Context(), ada.Email, goodPassword, access.Device{})
			wantError(t, "the old password", err, crm.ErrUnauthenticated)
			signIn(t, s, ada.Email, "another password")
		}
	})
}

func TestConcurrentResetPasswordEndsAllSessions(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
		token := signIn(t, b, ada.Email, goodPassword)
		wantError(t, "nobody", a.ResetPassword(t.Context(), "nobody@example.org", "another password"), crm.ErrNotFound)
		wantRefused(t, "a weak one", a.ResetPassword(t.Context(), ada.Email, "ada@example.ORG"), "password")
		succeed(t, a.ResetPassword(t.Context(), "ADA@example.org", "another password"))
		_, err := b.Session(t.Context(), token)
		wantError(t, "a session of before", err, crm.ErrUnauthenticated)
		signIn(t, b, ada.Email, "another password")
	})
}

// An attacker who signs in with a stolen password while it is being changed must not stay signed in.
func TestConcurrentPasswordThatIsBeingChangedStartsNoSession(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
		spy := spyOn(t, b)
		spy.read = func(sql string) {
			if sql != people.SQLUserByLogin {
				return
			}
			spy.read = nil
			if err := a.ResetPassword(context.Background(), ada.Email, "another password"); err != nil {
				t.Error(err)
			}
		}
		_, _, err := b.SignIn(t.Context(), ada.Email, goodPassword, access.Device{})
		wantError(t, "the password of a moment ago", err, crm.ErrUnauthenticated)
		if sessions, err := a.Sessions(t.Context(), ada.ID); err != nil || len(sessions) != 0 {
			t.Errorf("%v: the sessions are %+v", err, sessions)
		}
	})
}

func TestConcurrentTwoChangesOfOnePasswordAreNotBothMade(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
		session := must(a.Session(t.Context(), signIn(t, a, ada.Email, goodPassword)))(t)
		stores, errs := []*Book{a, b}, make([]error, 2)
		passwords := []string{"the first password", "the second password"}
		atOnce(2, func(i int) { errs[i] = stores[i].ChangePassword(t.Context(), session, goodPassword, passwords[i]) })
		won := 0
		if errs[0] != nil {
			won = 1
		}
		wantRefused(t, "the one who came too late", errs[1-won], "current_password")
		signIn(t, a, ada.Email, passwords[won])
	})
}

// Only a limited number of hashes is computed at once: each takes much memory. A client that disconnects does not wait.
func TestConcurrentHashesWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	busy, free := make(chan struct{}), make(chan struct{})
	for range 2 {
		go s.Passwords.Do(context.Background(), func() { busy <- struct{}{}; <-free }) //nolint:errcheck // no client leaves
	}
	<-busy
	<-busy
	ctx, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer leave()
	_, _, err := s.SignIn(ctx, "ada@example.org", goodPassword, access.Device{})
	wantError(t, "while two are busy", err, context.DeadlineExceeded)
	close(free)
	_, _, err = s.SignIn(t.Context(), "ada@example.org", goodPassword, access.Device{})
	wantError(t, "afterwards", err, crm.ErrUnauthenticated)
}

// No matter how many people sign in at once, each gets their turn.
func TestConcurrentAllHashesGetTheirTurn(t *testing.T) {
	t.Parallel()
	h := people.NewHasher()
	var group sync.WaitGroup
	var mu sync.Mutex
	done, most, working := 0, 0, 0
	for range 500 {
		group.Go(func() {
			err := h.Do(t.Context(), func() {
				mu.Lock()
				working++
				most = max(most, working)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				working--
				done++
				mu.Unlock()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if done != 500 || most > 2 {
		t.Errorf("%d were worked out, up to %d at once", done, most)
	}
}
