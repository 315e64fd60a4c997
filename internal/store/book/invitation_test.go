package book

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

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
	expect(t, "the invitation", "Bob@Example.org ada viewer", first.Email, first.By, first.Role)
	equal(t, first.Account, account)
	now.move(24 * time.Hour)
	second, _ := invite(t, s, account, ada, access.Owner)
	invite(t, s, other, ada, access.Owner)
	equal(t, must(s.Invitations(ctx, account.Number))(t), []access.Invitation{second, first})
	now.move(6*24*time.Hour - time.Second)
	equal(t, must(s.Invitation(ctx, token))(t), first, "the link leads")
	now.move(time.Second)
	wantGone(t, s, token)
	equal(t, must(s.Invitations(ctx, account.Number))(t), []access.Invitation{second})
	invite(t, s, account, ada, access.Viewer)
	equal(t, count(t, s, `SELECT COUNT(*) FROM invitation`), 3, "rows are kept")
	wantRefused(t, "no role", errOf2(s.Invite(ctx, account, ada, 0, "")), "role")
	wantRefused(t, "no email", errOf2(s.Invite(ctx, account, ada, access.Viewer, "bob")), "email")
	notFound(t)(s.Invite(ctx, access.Account{Number: 77}, ada, access.Viewer, ""))
}

// wantGone fails if a link can still be used.
func wantGone(t testing.TB, s *Book, token string) {
	t.Helper()
	notFound(t)(s.Invitation(t.Context(), token))
	notFound(t)(s.AcceptInvitation(t.Context(), token, 1))
	notFound(t)(s.JoinByInvitation(t.Context(), token, joiner("late")))
}

func TestConcurrentColleagueJoinsByLinkOnce(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	account := newAccount(t, a)
	_, token := invite(t, a, account, newUser(t, a, account, access.Owner, "ada"), access.Editor)
	wantRefused(t, "nothing at all", errOf2(b.JoinByInvitation(ctx, token, access.UserInput{})), "name", "email",
		"password")
	says(t, "somebody who is there", "Sign in first")(b.JoinByInvitation(ctx, token, joiner("ada")))
	user, joined := must2(b.JoinByInvitation(ctx, token, joiner("bob")))(t)
	equal(t, joined.ID+user.Name, account.ID+"bob")
	wantRoles(t, a, account, "map[ada:owner bob:editor]")
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
		wantRoles(t, s, account, fmt.Sprintf("map[ada:owner bob:%s]", test.want))
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
	notFound(t)(s.RevokeInvitation(ctx, other.Number, invitation.ID))
	for _, id := range []string{"", "x", token, setup.ID, "a\x00\xff"} {
		wantError(t, id, s.RevokeInvitation(ctx, account.Number, id), crm.ErrNotFound)
	}
	must(s.Invitation(ctx, token))(t)
	succeed(t, s.RevokeInvitation(ctx, account.Number, invitation.ID))
	wantGone(t, s, token)
	notFound(t)(s.RevokeInvitation(ctx, account.Number, invitation.ID))
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
	notFound(t)(s.SetupOffer(ctx, invitation))
	notFound(t)(s.Setup(ctx, invitation, founder("ada")))
	must2(s.Setup(ctx, token, founder("ada")))(t)
	must(s.Invitation(ctx, invitation))(t)
}

func TestConcurrentOfManyWhoUseOneLinkAtOnceOneJoins(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	account, elsewhere := newAccount(t, a), newAccount(t, a)
	_, token := invite(t, a, account, newUser(t, a, account, access.Owner, "ada"), access.Editor)
	users := []access.User{newUser(t, a, elsewhere, access.Owner, "bob"), newUser(t, a, elsewhere, access.Owner, "eve")}
	var joined atomic.Int64
	atOnce(6, func(i int) {
		s, err := []*Book{a, b}[i%2], error(nil)
		if i < 2 {
			err = errOf(s.AcceptInvitation(ctx, token, users[i].ID))
		} else {
			err = errOf2(s.JoinByInvitation(ctx, token, joiner("new "+string(rune('a'+i)))))
		}
		if err == nil {
			joined.Add(1)
		} else {
			notFound(t)(err)
		}
	})
	expect(t, "who joined, and the members", "1 2", joined.Load(), len(must(b.Members(ctx, account.Number))(t)))
	equal(t, count(t, a, `SELECT COUNT(*) FROM app_user`) <= 4, true, "there are more users")
}

// wantRoles compares the roles of the members of an account by their names, as they are printed.
func wantRoles(t testing.TB, s *Book, account access.Account, want any) {
	t.Helper()
	got := map[string]access.Role{}
	for _, m := range must(s.Members(t.Context(), account.Number))(t) {
		got[m.User.Name] = m.Role
	}
	expect(t, "the members", fmt.Sprint(want), got)
}

func TestAnAccountIsFoundByItsMembersOnly(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	root := newAccount(t, s)
	chapter := must(s.CreateAccount(ctx, "Chapter", root.ID))(t)
	ada, bob := newUser(t, s, root, access.Owner, "ada"), newUser(t, s, chapter, access.Viewer, "bob")
	equal(t, must(s.Membership(ctx, ada.ID, root.ID))(t),
		access.Membership{Account: root, Role: access.Owner, Timezone: "UTC", Currency: "USD"})
	equal(t, must(s.Membership(ctx, bob.ID, chapter.ID))(t),
		access.Membership{Account: chapter, Role: access.Viewer, Timezone: "UTC", Currency: "USD"})
	notFound(t)(s.Membership(ctx, bob.ID, root.ID))
	notFound(t)(s.Membership(ctx, 0, root.ID))
	for _, wrong := range []string{chapter.ID, "", "x", root.ID[:15] + "\x00", "\xff"} {
		notFound(t)(s.Membership(ctx, ada.ID, wrong))
	}
}

func TestRolesChangeAndMembersLeave(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, other := newAccount(t, s), newAccount(t, s)
	ada, bob := newUser(t, s, account, access.Owner, "ada"), newUser(t, s, account, access.Viewer, "bob")
	stranger := newUser(t, s, other, access.Viewer, "stranger")
	succeed(t, s.SetRole(ctx, account.Number, ada.ID, access.Owner))
	wantRefused(t, "the last owner", s.SetRole(ctx, account.Number, ada.ID, access.Editor), "role")
	wantRefused(t, "the last owner added", errOf(s.AddMember(ctx, account, access.Viewer, ada.Email)), "role")
	wantRefused(t, "the last owner leaves", s.RemoveMember(ctx, account.Number, ada.ID), "role")
	wantRoles(t, s, account, "map[ada:owner bob:viewer]")
	must(s.AddMember(ctx, account, access.Editor, bob.Email))(t)
	wantRoles(t, s, account, "map[ada:owner bob:editor]")
	succeed(t, s.SetRole(ctx, account.Number, bob.ID, access.Owner))
	succeed(t, s.SetRole(ctx, account.Number, ada.ID, access.Editor))
	wantRoles(t, s, account, "map[ada:editor bob:owner]")
	wantRefused(t, "no role", s.SetRole(ctx, account.Number, ada.ID, 0), "role")
	for _, user := range []int64{stranger.ID, 0, -1} {
		notFound(t)(s.SetRole(ctx, account.Number, user, access.Owner))
		notFound(t)(s.RemoveMember(ctx, account.Number, user))
	}
	succeed(t, s.RemoveMember(ctx, account.Number, ada.ID))
	notFound(t)(s.RemoveMember(ctx, account.Number, ada.ID))
	wantRoles(t, s, account, "map[bob:owner]")
	wantRoles(t, s, other, "map[stranger:viewer]")
	notFound(t)(s.Membership(ctx, ada.ID, account.ID))
	signIn(t, s, ada.Email, goodPassword) // still a user
}

func TestConcurrentTwoOwnersWhoLeaveAtOnceDoNotBothLeave(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	account := newAccount(t, a)
	owners := []access.User{newUser(t, a, account, access.Owner, "ada"), newUser(t, a, account, access.Owner, "bob")}
	for round := range 10 {
		var refused atomic.Int64
		atOnce(2, func(i int) {
			s, err := []*Book{a, b}[i], error(nil)
			if round%2 == 0 {
				err = s.SetRole(ctx, account.Number, owners[i].ID, access.Viewer)
			} else {
				err = s.RemoveMember(ctx, account.Number, owners[i].ID)
			}
			if errors.As(err, new(*doc.Invalid)) {
				refused.Add(1)
			} else {
				succeed(t, err)
			}
		})
		equal(t, count(t, a, `SELECT COUNT(*) FROM member WHERE role = 3`), 1, "round %d", round)
		equal(t, refused.Load(), 1, "round %d", round)
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
	p.user = newUser(t, s, root, access.Owner, "Zoë Ünal")
	must(s.AddMember(t.Context(), chapter, access.Viewer, p.user.Email))(t)
	p.session = signIn(t, s, p.user.Email, goodPassword)
	succeed(t, s.OpenAccount(t.Context(), must(s.Session(t.Context(), p.session))(t), root.Number))
	_, p.invitation = invite(t, s, root, p.user, access.Editor)
	return p
}

// samePeople checks that all users and links work in a copy as in its source.
func samePeople(t *testing.T, a, b *Book, w world) {
	t.Helper()
	ctx := t.Context()
	users, session := must(b.Users(ctx))(t), must(b.Session(ctx, w.session))(t)
	equal(t, users, must(a.Users(ctx))(t), "the users")
	equal(t, session, must(a.Session(ctx, w.session))(t), "the session")
	expect(t, "the users, and the account of the session", fmt.Sprint(1, w.root.Number), len(users), session.Account)
	equal(t, must(b.Membership(ctx, w.user.ID, w.root.ID))(t).Role, access.Owner, "the membership")
	signIn(t, b, w.user.Email, goodPassword)
	_, account := must2(b.JoinByInvitation(ctx, w.invitation, joiner("colleague")))(t)
	equal(t, account.ID, w.root.ID)
}

// More than are read at once.
func TestManyMembersAreAllListedByName(t *testing.T) {
	s := newBook(t)
	now := stopClock(s)
	account := newAccount(t, s)
	var want []access.Member
	for _, name := range []string{"ada", "Bob", "Émile"} {
		now.move(time.Hour)
		want = append(want, access.Member{User: newUser(t, s, account, access.Editor, name), Role: access.Editor,
			Since: now.time()})
	}
	newUser(t, s, newAccount(t, s), access.Owner, "Stranger")
	equal(t, must(s.Members(t.Context(), account.Number))(t), want)
	succeed(t, s.Update(t.Context(), account.Number, store.Needs{}, func(x *store.Tx) error {
		for i := range int64(41) {
			user := access.User{ID: 100 + i, Email: "u" + string(rune('a'+i)) + "@x.org", Name: "Zoe"}
			x.Insert(store.UserTable, user.ID, user.Email, user.Email, user.Name, "", int64(0), int64(0))
			if err := people.AddMember(x, account.Number, user, access.Viewer, s.Now()); err != nil {
				return err
			}
			want = append(want, access.Member{User: user})
		}
		return nil
	}))
	names := func(members []access.Member) []string {
		return store.Collect(members, func(m access.Member) string { return m.User.Name + m.User.Email })
	}
	equal(t, names(must(s.Members(t.Context(), account.Number))(t)), names(want))
}
