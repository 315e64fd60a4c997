package book

import (
	"context"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
)

// What happens if one node is about to commit and another begins.

// whileCommitting runs other when a store is about to commit for the first time. If nothing blocks other, it finishes first.
// finish waits for its end.
func whileCommitting(t testing.TB, s *Book, other func()) (finish func()) {
	t.Helper()
	spy, done := spyOn(t, s), make(chan struct{})
	spy.committing = func() error {
		spy.committing = nil
		go func() {
			defer close(done)
			other()
		}()
		select {
		case <-done:
		case <-time.After(700 * time.Millisecond): // it waits for us
		}
		return nil
	}
	return func() { <-done }
}

func TestConcurrentSecondFirstUserWaitsForTheFirst(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		token := setupToken(t, a)
		var late error
		finish := whileCommitting(t, a, func() {
			_, _, late = b.Setup(context.Background(), token, founder("bob"))
		})
		_, _, err := a.Setup(t.Context(), token, founder("ada"))
		finish()
		if err != nil {
			t.Error(err)
		}
		wantError(t, "the second", late, crm.ErrNotFound)
		if users, err := a.Users(t.Context()); err != nil || len(users) != 1 {
			t.Errorf("%v: the users are %+v", err, users)
		}
	})
}

func TestConcurrentSecondChangeOfAPasswordWaitsForTheFirst(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
		session, err := a.Session(t.Context(), signIn(t, a, ada.Email, goodPassword))
		if err != nil {
			t.Fatal(err)
		}
		var late error
		finish := whileCommitting(t, a, func() {
			late = b.ChangePassword(context.Background(), session, goodPassword, "the second password")
		})
		err = a.ChangePassword(t.Context(), session, goodPassword, "the first password")
		finish()
		if err != nil {
			t.Error(err)
		}
		wantRefused(t, "the second", late, "current_password")
		signIn(t, b, ada.Email, "the first password")
	})
}

// An attacker with a stolen password signs in at the moment when it is changed.
func TestConcurrentPasswordThatIsBeingChangedElsewhereStartsNoSession(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
		var late error
		finish := whileCommitting(t, a, func() {
			_, _, late = b.SignIn(context.Background(), ada.Email, goodPassword, access.Device{})
		})
		err := a.ResetPassword(t.Context(), ada.Email, "another password")
		finish()
		if err != nil {
			t.Error(err)
		}
		wantError(t, "the old password", late, crm.ErrUnauthenticated)
		if sessions, err := a.Sessions(t.Context(), ada.ID); err != nil || len(sessions) != 0 {
			t.Errorf("%v: the sessions are %+v", err, sessions)
		}
	})
}

func TestConcurrentSecondUserOfALinkWaitsForTheFirst(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a)
		ada := newUser(t, a, account, access.Owner, "ada")
		_, token := invite(t, a, account, ada, access.Editor)
		var late error
		finish := whileCommitting(t, a, func() {
			_, _, late = b.JoinByInvitation(context.Background(), token, joiner("eve"))
		})
		_, _, err := a.JoinByInvitation(t.Context(), token, joiner("bob"))
		finish()
		if err != nil {
			t.Error(err)
		}
		wantError(t, "the second", late, crm.ErrNotFound)
		wantRoles(t, a, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
	})
}

func TestConcurrentSecondOwnerWhoLeavesWaitsForTheFirst(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a)
		ada, bob := newUser(t, a, account, access.Owner, "ada"), newUser(t, a, account, access.Owner, "bob")
		var late error
		finish := whileCommitting(t, a, func() { late = b.RemoveMember(context.Background(), account.Number, bob.ID) })
		err := a.SetRole(t.Context(), account.Number, ada.ID, access.Viewer)
		finish()
		if err != nil {
			t.Error(err)
		}
		wantRefused(t, "the second", late, "role")
	})
}
