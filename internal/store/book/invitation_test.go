package book

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/people"
)

func invite(t testing.TB, s *Book, account access.Account, by access.User, role access.Role) (access.Invitation,
	string) {
	t.Helper()
	invitation, token := must2(s.Invite(t.Context(), account, by, role, ""))(t)
	return invitation, token
}

func TestInvitationsAreListedNewestFirst(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	account, other := newAccount(t, s), newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "ada")
	first, token := must2(s.Invite(ctx, account, ada, access.Viewer, " Bob@Example.org "))(t)
	if first.Email != "Bob@Example.org" || first.By != "ada" || first.Role != access.Viewer ||
		first.Account != account {
		t.Errorf("%+v", first)
	}
	now.move(24 * time.Hour)
	second, _ := invite(t, s, account, ada, access.Owner)
	invite(t, s, other, ada, access.Owner)
	got, err := s.Invitations(ctx, account.Number)
	if diff := cmp.Diff([]access.Invitation{second, first}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	equal(t, must(s.Invitation(ctx, token))(t), first, "the link leads")
	now.move(6*24*time.Hour - time.Second)
	must(s.Invitation(ctx, token))(t)
	now.move(time.Second)
	wantGone(t, s, token)
	if got := must(s.Invitations(ctx, account.Number))(t); len(got) != 1 || got[0] != second {
		t.Errorf("the invitations are %+v", got)
	}
	invite(t, s, account, ada, access.Viewer)
	equal(t, count(t, s, `SELECT COUNT(*) FROM invitation`), 3, "rows are kept")
	wantRefused(t, "no role", errOf2(s.Invite(ctx, account, ada, 0, "")), "role")
	wantRefused(t, "no email", errOf2(s.Invite(ctx, account, ada, access.Viewer, "bob")), "email")
	wantError(t, "no account", errOf2(s.Invite(ctx, access.Account{Number: 77}, ada, access.Viewer, "")),
		crm.ErrNotFound)
}

// wantGone fails if a link can still be used.
func wantGone(t testing.TB, s *Book, token string) {
	t.Helper()
	ctx := t.Context()
	invitation, err := s.Invitation(ctx, token)
	wantError(t, "a look", err, crm.ErrNotFound)
	equal(t, invitation, (access.Invitation{}), "the link leads")
	wantError(t, "to accept", errOf(s.AcceptInvitation(ctx, token, 1)), crm.ErrNotFound)
	wantError(t, "to join", errOf2(s.JoinByInvitation(ctx, token, joiner("late"))), crm.ErrNotFound)
}

func TestConcurrentColleagueJoinsByLinkOnce(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	account := newAccount(t, a)
	ada := newUser(t, a, account, access.Owner, "ada")
	_, token := invite(t, a, account, ada, access.Editor)
	wantRefused(t, "nothing at all", errOf2(b.JoinByInvitation(ctx, token, access.UserInput{})), "name",
		"email", "password")
	_, _, err := b.JoinByInvitation(ctx, token, joiner("ada"))
	wantRefused(t, "somebody who is there", err, "email")
	contains(t, err.Error(), "Sign in first", "it says")
	user, joined := must2(b.JoinByInvitation(ctx, token, joiner("bob")))(t)
	if joined.ID != account.ID || user.Name != "bob" {
		t.Fatalf("%+v, %+v", user, joined)
	}
	wantRoles(t, a, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
	signIn(t, a, user.Email, goodPassword)
	wantGone(t, a, token)
	equal(t, len(must(a.Invitations(ctx, account.Number))(t)), 0, "the invitations")
}

func TestAUserAcceptsAnInvitationAndKeepsTheHigherRole(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "ada")
	bob := newUser(t, s, newAccount(t, s), access.Owner, "bob")
	for _, test := range []struct{ role, want access.Role }{{access.Viewer, access.Viewer},
		{access.Editor, access.Editor}, {access.Viewer, access.Editor}, {access.Owner, access.Owner}} {
		_, token := invite(t, s, account, ada, test.role)
		equal(t, must(s.AcceptInvitation(t.Context(), token, bob.ID))(t).ID, account.ID)
		wantRoles(t, s, account, map[string]access.Role{"ada": access.Owner, "bob": test.want})
		wantGone(t, s, token)
	}
}

func TestAnInvitationIsTakenBackByItsOrganizationOnly(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, other := newAccount(t, s), newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "ada")
	setup, _ := access.NewSetup(s.Now())
	invitation, token := invite(t, s, account, ada, access.Editor)
	wantError(t, "another account", s.RevokeInvitation(ctx, other.Number, invitation.ID), crm.ErrNotFound)
	for _, id := range []string{"", "x", token, setup.ID, "a\x00\xff"} {
		wantError(t, id, s.RevokeInvitation(ctx, account.Number, id), crm.ErrNotFound)
	}
	must(s.Invitation(ctx, token))(t)
	succeed(t, s.RevokeInvitation(ctx, account.Number, invitation.ID))
	wantGone(t, s, token)
	wantError(t, "again", s.RevokeInvitation(ctx, account.Number, invitation.ID), crm.ErrNotFound)
}

// A user who was removed must not come back through an invitation link that they kept.
func TestTheInvitationsOfWhoeverMayInviteNoLongerEnd(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	ada, bob := newUser(t, s, account, access.Owner, "ada"), newUser(t, s, account, access.Owner, "bob")
	_, adas := invite(t, s, account, ada, access.Owner)
	_, bobs := invite(t, s, account, bob, access.Owner)
	succeed(t, s.SetRole(ctx, account.Number, bob.ID, access.Editor))
	wantGone(t, s, bobs)
	succeed(t, s.SetRole(ctx, account.Number, bob.ID, access.Owner))
	_, bobs = invite(t, s, account, bob, access.Owner)
	succeed(t, s.RemoveMember(ctx, account.Number, bob.ID))
	wantGone(t, s, bobs)
	must(s.Invitation(ctx, adas))(t)
}

func TestASetupLinkIsNoInvitationAndAnInvitationNoSetupLink(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	token := setupToken(t, s)
	wantGone(t, s, token)
	account := newAccount(t, s)
	_, invitation := invite(t, s, account, access.User{}, access.Owner) // while there is no user
	wantError(t, "a look", errOf(s.SetupOffer(ctx, invitation)), crm.ErrNotFound)
	wantError(t, "to set up", errOf2(s.Setup(ctx, invitation, founder("ada"))), crm.ErrNotFound)
	must2(s.Setup(ctx, token, founder("ada")))(t)
	must(s.Invitation(ctx, invitation))(t)
}

func TestConcurrentOfManyWhoUseOneLinkAtOnceOneJoins(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
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
			_, err = stores[i%2].AcceptInvitation(ctx, token, users[i].ID)
		} else {
			_, _, err = stores[i%2].JoinByInvitation(ctx, token, joiner("new "+string(rune('a'+i))))
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			joined++
			return
		}
		wantError(t, "too late", err, crm.ErrNotFound)
	})
	members, err := b.Members(ctx, account.Number)
	if n := count(t, a, `SELECT COUNT(*) FROM app_user`); err != nil || joined != 1 || len(members) != 2 || n > 4 {
		t.Errorf("%v: %d joined, there are %d members and %d users", err, joined, len(members), n)
	}
}

// wantRoles compares the members of an account by name.
func wantRoles(t testing.TB, s *Book, account access.Account, want map[string]access.Role) {
	t.Helper()
	members, err := s.Members(t.Context(), account.Number)
	got := map[string]access.Role{}
	for _, m := range members {
		got[m.User.Name] = m.Role
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: the members are not as they should be:\n%s", err, diff)
	}
}

func TestMembersAreListedByName(t *testing.T) {
	s := newBook(t)
	now := stopClock(s)
	account, other := newAccount(t, s), newAccount(t, s)
	var want []access.Member
	for _, name := range []string{"ada", "Bob", "Émile"} {
		now.move(time.Hour)
		want = append(want, access.Member{User: newUser(t, s, account, access.Editor, name), Role: access.Editor,
			Since: now.time()})
	}
	newUser(t, s, other, access.Owner, "Stranger")
	got, err := s.Members(t.Context(), account.Number)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestManyMembersAreAllListed(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	err := s.Update(t.Context(), account.Number, store.Needs{}, func(x *store.Tx) error {
		for i := range int64(41) {
			login := "u" + string(rune('a'+i)) + "@x.org"
			x.Insert(store.UserTable, i+1, login, login, "User", "", int64(0), int64(0))
			if err := people.AddMember(x, account.Number, access.User{ID: i + 1, Email: login}, access.Viewer,
				s.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	members, err2 := s.Members(t.Context(), account.Number)
	if err != nil || err2 != nil || len(members) != 41 {
		t.Fatalf("%v, %v: %d members", err, err2, len(members))
	}
	for _, m := range members {
		equal(t, m.User.Name, "User", "the member is %+v", m)
	}
}

func TestAnAccountIsFoundByItsMembersOnly(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	root := newAccount(t, s)
	chapter := must(s.CreateAccount(ctx, "Chapter", root.ID))(t)
	ada, bob := newUser(t, s, root, access.Owner, "ada"), newUser(t, s, chapter, access.Viewer, "bob")
	equal(t, must(s.Membership(ctx, ada.ID, root.ID))(t),
		(access.Membership{Account: root, Role: access.Owner, Timezone: "UTC", Currency: "USD"}))
	equal(t, must(s.Membership(ctx, bob.ID, chapter.ID))(t),
		(access.Membership{Account: chapter, Role: access.Viewer, Timezone: "UTC", Currency: "USD"}))
	for _, wrong := range []struct {
		user int64
		id   string
	}{{ada.ID, chapter.ID}, {bob.ID, root.ID}, {0, root.ID}, {ada.ID, ""}, {ada.ID, "x"},
		{ada.ID, root.ID[:15] + "\x00"}, {ada.ID, "\xff"}} {
		m, err := s.Membership(ctx, wrong.user, wrong.id)
		wantError(t, wrong.id, err, crm.ErrNotFound)
		equal(t, m, (access.Membership{}), "was found")
	}
}

func TestRolesChangeAndMembersLeave(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, other := newAccount(t, s), newAccount(t, s)
	ada, bob := newUser(t, s, account, access.Owner, "ada"), newUser(t, s, account, access.Viewer, "bob")
	stranger := newUser(t, s, other, access.Viewer, "stranger")
	succeed(t, s.SetRole(ctx, account.Number, bob.ID, access.Owner))
	succeed(t, s.SetRole(ctx, account.Number, ada.ID, access.Editor))
	wantRoles(t, s, account, map[string]access.Role{"ada": access.Editor, "bob": access.Owner})
	wantRefused(t, "no role", s.SetRole(ctx, account.Number, ada.ID, 0), "role")
	for _, user := range []int64{stranger.ID, 0, -1} {
		wantError(t, "a role for a stranger", s.SetRole(ctx, account.Number, user, access.Owner),
			crm.ErrNotFound)
		wantError(t, "a stranger who leaves", s.RemoveMember(ctx, account.Number, user), crm.ErrNotFound)
	}
	succeed(t, s.RemoveMember(ctx, account.Number, ada.ID))
	wantError(t, "again", s.RemoveMember(ctx, account.Number, ada.ID), crm.ErrNotFound)
	wantRoles(t, s, account, map[string]access.Role{"bob": access.Owner})
	wantRoles(t, s, other, map[string]access.Role{"stranger": access.Viewer})
	wantError(t, "who has left", errOf(s.Membership(ctx, ada.ID, account.ID)), crm.ErrNotFound)
	signIn(t, s, ada.Email, goodPassword) // still a user
}

func TestAnOwnerCannotLeaveAnOrganizationWithoutOne(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "ada")
	newUser(t, s, account, access.Editor, "bob")
	wantRefused(t, "to become an editor", s.SetRole(ctx, account.Number, ada.ID, access.Editor), "role")
	wantRefused(t, "to leave", s.RemoveMember(ctx, account.Number, ada.ID), "role")
	succeed(t, s.SetRole(ctx, account.Number, ada.ID, access.Owner))
	wantRoles(t, s, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
}

func TestConcurrentTwoOwnersWhoLeaveAtOnceDoNotBothLeave(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	stores := []*Book{a, b}
	account := newAccount(t, a)
	owners := []access.User{newUser(t, a, account, access.Owner, "ada"), newUser(t, a, account, access.Owner, "bob")}
	for round := range 10 {
		var mu sync.Mutex
		refused := 0
		atOnce(2, func(i int) {
			var err error
			if round%2 == 0 {
				err = stores[i].SetRole(ctx, account.Number, owners[i].ID, access.Viewer)
			} else {
				err = stores[i].RemoveMember(ctx, account.Number, owners[i].ID)
			}
			var invalid *doc.Invalid
			mu.Lock()
			defer mu.Unlock()
			if errors.As(err, &invalid) {
				refused++
			} else {
				succeed(t, err)
			}
		})
		equal(t, count(t, a, `SELECT COUNT(*) FROM member WHERE role = 3`), 1, "round %d", round)
		equal(t, refused, 1, "round %d", round)
		for _, owner := range owners {
			must(a.AddMember(ctx, account, access.Owner, owner.Email))(t)
		}
	}
}

// staff are the users of a source.
type staff struct {
	user       access.User
	session    string // tokens
	invitation string
}

// newPeople creates a user who owns one account, is a viewer of another, is signed in and has invited another person.
func newPeople(t *testing.T, s *Book, root, chapter access.Account) (p staff) {
	t.Helper()
	ctx := t.Context()
	p.user = newUser(t, s, root, access.Owner, "Zoë Ünal")
	must(s.AddMember(ctx, chapter, access.Viewer, p.user.Email))(t)
	p.session = signIn(t, s, p.user.Email, goodPassword)
	session, err := s.Session(ctx, p.session)
	if err == nil {
		err = s.OpenAccount(ctx, session, root.Number)
	}
	succeed(t, err)
	_, p.invitation = invite(t, s, root, p.user, access.Editor)
	return p
}

// samePeople checks that all users and links work in a copy as in its source.
func samePeople(t *testing.T, a, b *Book, w world) {
	t.Helper()
	ctx := t.Context()
	users, err := a.Users(ctx)
	others, err2 := b.Users(ctx)
	if diff := cmp.Diff(users, others); diff != "" || err != nil || err2 != nil || len(users) != 1 {
		t.Errorf("%v, %v: the users differ:\n%s", err, err2, diff)
	}
	session, err := a.Session(ctx, w.session)
	other, err2 := b.Session(ctx, w.session)
	if session != other || err != nil || err2 != nil || session.Account != w.root.Number {
		t.Errorf("the session is %+v, %v, and %+v, %v", session, err, other, err2)
	}
	equal(t, must(b.Membership(ctx, w.user.ID, w.root.ID))(t).Role, access.Owner, "the membership")
	signIn(t, b, w.user.Email, goodPassword)
	if _, account := must2(b.JoinByInvitation(ctx, w.invitation,
		joiner("colleague")))(t); account.ID != w.root.ID {
		t.Errorf("somebody joined %+v", account)
	}
}
