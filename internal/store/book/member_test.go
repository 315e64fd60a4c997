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
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		account, other := newAccount(t, s), newAccount(t, s)
		var want []access.Member
		for _, name := range []string{"ada", "Bob", "Émile"} {
			now.move(time.Hour)
			want = append(want, access.Member{User: newUser(t, s, account, access.Editor, name), Role: access.Editor, Since: now.time()})
		}
		newUser(t, s, other, access.Owner, "Stranger")
		got, err := s.Members(t.Context(), account.Number)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

func TestManyMembersAreAllListed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		err := s.Update(t.Context(), account.Number, store.Needs{}, func(x *store.Tx) error {
			for i := range int64(41) {
				login := "u" + string(rune('a'+i)) + "@x.org"
				x.Insert(store.UserTable, i+1, login, login, "User", "", int64(0), int64(0))
				if err := people.AddMember(x, account.Number, access.User{ID: i + 1, Email: login}, access.Viewer, s.Now()); err != nil {
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
			if m.User.Name != "User" {
				t.Errorf("the member is %+v", m)
			}
		}
	})
}

func TestAnAccountIsFoundByItsMembersOnly(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		root := newAccount(t, s)
		chapter := must(s.CreateAccount(t.Context(), "Chapter", root.ID))(t)
		ada, bob := newUser(t, s, root, access.Owner, "ada"), newUser(t, s, chapter, access.Viewer, "bob")
		if m, err := s.Membership(t.Context(), ada.ID, root.ID); err != nil || m != (access.Membership{Account: root, Role: access.Owner, Timezone: "UTC", Currency: "USD"}) {
			t.Errorf("%v: %+v", err, m)
		}
		if m, err := s.Membership(t.Context(), bob.ID, chapter.ID); err != nil || m != (access.Membership{Account: chapter, Role: access.Viewer, Timezone: "UTC", Currency: "USD"}) {
			t.Errorf("%v: %+v", err, m)
		}
		for _, wrong := range []struct {
			user int64
			id   string
		}{{ada.ID, chapter.ID}, {bob.ID, root.ID}, {0, root.ID}, {ada.ID, ""}, {ada.ID, "x"}, {ada.ID, root.ID[:15] + "\x00"}, {ada.ID, "\xff"}} {
			m, err := s.Membership(t.Context(), wrong.user, wrong.id)
			wantError(t, wrong.id, err, crm.ErrNotFound)
			if m != (access.Membership{}) {
				t.Errorf("%+v was found", m)
			}
		}
	})
}

func TestRolesChangeAndMembersLeave(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s), newAccount(t, s)
		ada, bob := newUser(t, s, account, access.Owner, "ada"), newUser(t, s, account, access.Viewer, "bob")
		stranger := newUser(t, s, other, access.Viewer, "stranger")
		if err := s.SetRole(t.Context(), account.Number, bob.ID, access.Owner); err != nil {
			t.Error(err)
		}
		if err := s.SetRole(t.Context(), account.Number, ada.ID, access.Editor); err != nil {
			t.Error(err)
		}
		wantRoles(t, s, account, map[string]access.Role{"ada": access.Editor, "bob": access.Owner})
		wantRefused(t, "no role", s.SetRole(t.Context(), account.Number, ada.ID, 0), "role")
		for _, user := range []int64{stranger.ID, 0, -1} {
			wantError(t, "a role for a stranger", s.SetRole(t.Context(), account.Number, user, access.Owner), crm.ErrNotFound)
			wantError(t, "a stranger who leaves", s.RemoveMember(t.Context(), account.Number, user), crm.ErrNotFound)
		}
		if err := s.RemoveMember(t.Context(), account.Number, ada.ID); err != nil {
			t.Error(err)
		}
		wantError(t, "again", s.RemoveMember(t.Context(), account.Number, ada.ID), crm.ErrNotFound)
		wantRoles(t, s, account, map[string]access.Role{"bob": access.Owner})
		wantRoles(t, s, other, map[string]access.Role{"stranger": access.Viewer})
		_, err := s.Membership(t.Context(), ada.ID, account.ID)
		wantError(t, "who has left", err, crm.ErrNotFound)
		signIn(t, s, ada.Email, goodPassword) // still a user
	})
}

func TestAnOwnerCannotLeaveAnOrganizationWithoutOne(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		ada := newUser(t, s, account, access.Owner, "ada")
		newUser(t, s, account, access.Editor, "bob")
		wantRefused(t, "to become an editor", s.SetRole(t.Context(), account.Number, ada.ID, access.Editor), "role")
		wantRefused(t, "to leave", s.RemoveMember(t.Context(), account.Number, ada.ID), "role")
		if err := s.SetRole(t.Context(), account.Number, ada.ID, access.Owner); err != nil {
			t.Errorf("to stay an owner: %v", err)
		}
		wantRoles(t, s, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
	})
}

func TestConcurrentTwoOwnersWhoLeaveAtOnceDoNotBothLeave(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		stores := []*Book{a, b}
		account := newAccount(t, a)
		owners := []access.User{newUser(t, a, account, access.Owner, "ada"), newUser(t, a, account, access.Owner, "bob")}
		for round := range 10 {
			var mu sync.Mutex
			refused := 0
			atOnce(2, func(i int) {
				var err error
				if round%2 == 0 {
					err = stores[i].SetRole(t.Context(), account.Number, owners[i].ID, access.Viewer)
				} else {
					err = stores[i].RemoveMember(t.Context(), account.Number, owners[i].ID)
				}
				var invalid *doc.Invalid
				mu.Lock()
				defer mu.Unlock()
				if errors.As(err, &invalid) {
					refused++
				} else if err != nil {
					t.Error(err)
				}
			})
			if n := count(t, a, `SELECT COUNT(*) FROM member WHERE role = 3`); n != 1 || refused != 1 {
				t.Fatalf("round %d: %d owners are left, %d were refused", round, n, refused)
			}
			for _, owner := range owners {
				must(a.AddMember(t.Context(), account, access.Owner, owner.Email))(t)
			}
		}
	})
}
