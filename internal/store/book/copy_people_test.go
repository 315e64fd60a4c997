package book

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

// staff are the users of a source.
type staff struct {
	user       access.User
	session    string // tokens
	invitation string
}

// newPeople creates a user who owns one account, is a viewer of another, is signed in and has invited another person.
func newPeople(t *testing.T, s *Book, root, chapter access.Account) (p staff) {
	t.Helper()
	p.user = newUser(t, s, root, access.Owner, "Zoë Ünal")
	must(s.AddMember(t.Context(), chapter, access.Viewer, p.user.Email))(t)
	p.session = signIn(t, s, p.user.Email, goodPassword)
	session, err := s.Session(t.Context(), p.session)
	if err == nil {
		err = s.OpenAccount(t.Context(), session, root.Number)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, p.invitation = invite(t, s, root, p.user, access.Editor)
	return p
}

// samePeople checks that all users and links work in a copy as in its source.
func samePeople(t *testing.T, a, b *Book, w world) {
	t.Helper()
	users, err := a.Users(t.Context())
	others, err2 := b.Users(t.Context())
	if diff := cmp.Diff(users, others); diff != "" || err != nil || err2 != nil || len(users) != 1 {
		t.Errorf("%v, %v: the users differ:\n%s", err, err2, diff)
	}
	session, err := a.Session(t.Context(), w.session)
	other, err2 := b.Session(t.Context(), w.session)
	if session != other || err != nil || err2 != nil || session.Account != w.root.Number {
		t.Errorf("the session is %+v, %v, and %+v, %v", session, err, other, err2)
	}
	if m, err := b.Membership(t.Context(), w.user.ID, w.root.ID); err != nil || m.Role != access.Owner {
		t.Errorf("%v: the membership is %+v", err, m)
	}
	signIn(t, b, w.user.Email, goodPassword)
	if _, account, err := b.JoinByInvitation(t.Context(), w.invitation, joiner("colleague")); err != nil || account.ID != w.root.ID {
		t.Errorf("%v: somebody joined %+v", err, account)
	}
}

// A server that was started only to look at it has printed a setup link, and nothing else. The link ends with the copy: the
// copied data has its own users.
func TestACopyTakesATargetThatWasOnlyLookedAt(t *testing.T) {
	eachWay(t, func(t *testing.T, from, to store.Options) {
		a := open(t, from)
		copied := setupToken(t, a)
		newAccount(t, a)
		b := open(t, to)
		link := setupToken(t, b)
		mustCopy(t, from, to, move.CopyOptions{})
		_, err := b.SetupOffer(t.Context(), link)
		wantError(t, "the target's link", err, crm.ErrNotFound)
		if offer, err := b.SetupOffer(t.Context(), copied); err != nil || len(offer.Accounts) != 1 {
			t.Errorf("the source's link: %+v, %v", offer, err)
		}
	})
}

func TestACopyRefusesATargetWithAnInvitation(t *testing.T) {
	eachDatabase(t, func(t *testing.T, to store.Options) {
		from := store.Options{Data: t.TempDir()}
		newAccount(t, open(t, from))
		b := open(t, to)
		invite(t, b, newAccount(t, b), access.User{}, access.Owner)
		tamper(t, to, `DELETE FROM change`)
		tamper(t, to, `DELETE FROM account_tally`)
		tamper(t, to, `DELETE FROM account`)
		_, err := move.Copy(t.Context(), from, to, move.CopyOptions{})
		wantError(t, "the copy", err, move.ErrNotEmpty)
		tamper(t, to, `DELETE FROM invitation`) // which was never sent
	})
}
