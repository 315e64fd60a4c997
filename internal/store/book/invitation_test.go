package book

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
)

func invite(t testing.TB, s *Book, account access.Account, by access.User, role access.Role) (access.Invitation, string) {
	t.Helper()
	invitation, token := must2(s.Invite(t.Context(), account, by, role, ""))(t)
	return invitation, token
}

func TestInvitationsAreListedNewestFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		account, other := newAccount(t, s), newAccount(t, s)
		ada := newUser(t, s, account, access.Owner, "ada")
		first, token, err := s.Invite(t.Context(), account, ada, access.Viewer, " Bob@Example.org ")
		if err != nil || first.Email != "Bob@Example.org" || first.By != "ada" || first.Role != access.Viewer || first.Account != account {
			t.Errorf("%v: %+v", err, first)
		}
		now.move(24 * time.Hour)
		second, _ := invite(t, s, account, ada, access.Owner)
		invite(t, s, other, ada, access.Owner)
		got, err := s.Invitations(t.Context(), account.Number)
		if diff := cmp.Diff([]access.Invitation{second, first}, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if got, err := s.Invitation(t.Context(), token); err != nil || got != first {
			t.Errorf("%v: the link leads to %+v", err, got)
		}
		now.move(6*24*time.Hour - time.Second)
		if _, err := s.Invitation(t.Context(), token); err != nil {
			t.Errorf("a second before its end: %v", err)
		}
		now.move(time.Second)
		wantGone(t, s, token)
		if got, err := s.Invitations(t.Context(), account.Number); err != nil || len(got) != 1 || got[0] != second {
			t.Errorf("%v: the invitations are %+v", err, got)
		}
		invite(t, s, account, ada, access.Viewer)
		if n := count(t, s, `SELECT COUNT(*) FROM invitation`); n != 3 {
			t.Errorf("%d rows are kept", n)
		}
		_, _, err = s.Invite(t.Context(), account, ada, 0, "")
		wantRefused(t, "no role", err, "role")
		_, _, err = s.Invite(t.Context(), account, ada, access.Viewer, "bob")
		wantRefused(t, "no email", err, "email")
		_, _, err = s.Invite(t.Context(), access.Account{Number: 77}, ada, access.Viewer, "")
		wantError(t, "no account", err, crm.ErrNotFound)
	})
}

// wantGone fails if a link can still be used.
func wantGone(t testing.TB, s *Book, token string) {
	t.Helper()
	invitation, err := s.Invitation(t.Context(), token)
	wantError(t, "a look", err, crm.ErrNotFound)
	if invitation != (access.Invitation{}) {
		t.Errorf("the link leads to %+v", invitation)
	}
	_, err = s.AcceptInvitation(t.Context(), token, 1)
	wantError(t, "to accept", err, crm.ErrNotFound)
	_, _, err = s.JoinByInvitation(t.Context(), token, joiner("late"))
	wantError(t, "to join", err, crm.ErrNotFound)
}

func TestConcurrentColleagueJoinsByLinkOnce(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a)
		ada := newUser(t, a, account, access.Owner, "ada")
		_, token := invite(t, a, account, ada, access.Editor)
		_, _, err := b.JoinByInvitation(t.Context(), token, access.UserInput{})
		wantRefused(t, "nothing at all", err, "name", "email", "password")
		_, _, err = b.JoinByInvitation(t.Context(), token, joiner("ada"))
		wantRefused(t, "somebody who is there", err, "email")
		if !strings.Contains(err.Error(), "Sign in first") {
			t.Errorf("it says %q", err)
		}
		user, joined, err := b.JoinByInvitation(t.Context(), token, joiner("bob"))
		if err != nil || joined.ID != account.ID || user.Name != "bob" {
			t.Fatalf("%v: %+v, %+v", err, user, joined)
		}
		wantRoles(t, a, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
		signIn(t, a, user.Email, goodPassword)
		wantGone(t, a, token)
		if got, err := a.Invitations(t.Context(), account.Number); err != nil || len(got) != 0 {
			t.Errorf("%v: the invitations are %+v", err, got)
		}
	})
}

func TestAUserAcceptsAnInvitationAndKeepsTheHigherRole(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		ada := newUser(t, s, account, access.Owner, "ada")
		bob := newUser(t, s, newAccount(t, s), access.Owner, "bob")
		for _, test := range []struct{ role, want access.Role }{{access.Viewer, access.Viewer}, {access.Editor, access.Editor}, {access.Viewer, access.Editor}, {access.Owner, access.Owner}} {
			_, token := invite(t, s, account, ada, test.role)
			if joined, err := s.AcceptInvitation(t.Context(), token, bob.ID); err != nil || joined.ID != account.ID {
				t.Errorf("%v: %+v", err, joined)
			}
			wantRoles(t, s, account, map[string]access.Role{"ada": access.Owner, "bob": test.want})
			wantGone(t, s, token)
		}
	})
}

func TestAnInvitationIsTakenBackByItsOrganizationOnly(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s), newAccount(t, s)
		ada := newUser(t, s, account, access.Owner, "ada")
		setup, _ := access.NewSetup(s.Now())
		invitation, token := invite(t, s, account, ada, access.Editor)
		wantError(t, "another account", s.RevokeInvitation(t.Context(), other.Number, invitation.ID), crm.ErrNotFound)
		for _, id := range []string{"", "x", token, setup.ID, "a\x00\xff"} {
			wantError(t, id, s.RevokeInvitation(t.Context(), account.Number, id), crm.ErrNotFound)
		}
		if _, err := s.Invitation(t.Context(), token); err != nil {
			t.Error(err)
		}
		if err := s.RevokeInvitation(t.Context(), account.Number, invitation.ID); err != nil {
			t.Error(err)
		}
		wantGone(t, s, token)
		wantError(t, "again", s.RevokeInvitation(t.Context(), account.Number, invitation.ID), crm.ErrNotFound)
	})
}

// A user who was removed must not come back through an invitation link that they kept.
func TestTheInvitationsOfWhoeverMayInviteNoLongerEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		ada, bob := newUser(t, s, account, access.Owner, "ada"), newUser(t, s, account, access.Owner, "bob")
		_, adas := invite(t, s, account, ada, access.Owner)
		_, bobs := invite(t, s, account, bob, access.Owner)
		succeed(t, s.SetRole(t.Context(), account.Number, bob.ID, access.Editor))
		wantGone(t, s, bobs)
		succeed(t, s.SetRole(t.Context(), account.Number, bob.ID, access.Owner))
		_, bobs = invite(t, s, account, bob, access.Owner)
		succeed(t, s.RemoveMember(t.Context(), account.Number, bob.ID))
		wantGone(t, s, bobs)
		if _, err := s.Invitation(t.Context(), adas); err != nil {
			t.Errorf("the invitation of somebody else: %v", err)
		}
	})
}

func TestASetupLinkIsNoInvitationAndAnInvitationNoSetupLink(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		token := setupToken(t, s)
		wantGone(t, s, token)
		account := newAccount(t, s)
		_, invitation := invite(t, s, account, access.User{}, access.Owner) // while there is no user
		_, err := s.SetupOffer(t.Context(), invitation)
		wantError(t, "a look", err, crm.ErrNotFound)
		_, _, err = s.Setup(t.Context(), invitation, founder("ada"))
		wantError(t, "to set up", err, crm.ErrNotFound)
		if _, _, err := s.Setup(t.Context(), token, founder("ada")); err != nil {
			t.Error(err)
		}
		if _, err := s.Invitation(t.Context(), invitation); err != nil {
			t.Errorf("the invitation was taken for a setup link: %v", err)
		}
	})
}

func TestConcurrentOfManyWhoUseOneLinkAtOnceOneJoins(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		stores := []*Book{a, b}
		account := newAccount(t, a)
		ada := newUser(t, a, account, access.Owner, "ada")
		elsewhere := newAccount(t, a)
		users := []access.User{newUser(t, a, elsewhere, access.Owner, "bob"), newUser(t, a, elsewhere, access.Owner, "eve")}
		_, token := invite(t, a, account, ada, access.Editor)
		var mu sync.Mutex
		joined := 0
		atOnce(6, func(i int) {
			var err error
			if i < 2 {
				_, err = stores[i%2].AcceptInvitation(t.Context(), token, users[i].ID)
			} else {
				_, _, err = stores[i%2].JoinByInvitation(t.Context(), token, joiner("new "+string(rune('a'+i))))
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				joined++
				return
			}
			wantError(t, "too late", err, crm.ErrNotFound)
		})
		members, err := b.Members(t.Context(), account.Number)
		if n := count(t, a, `SELECT COUNT(*) FROM app_user`); err != nil || joined != 1 || len(members) != 2 || n > 4 {
			t.Errorf("%v: %d joined, there are %d members and %d users", err, joined, len(members), n)
		}
	})
}
