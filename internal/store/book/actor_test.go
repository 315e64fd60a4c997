package book

import (
	"errors"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store"
)

// What a page allowed a moment ago is no longer allowed once the role is removed, whichever node removed it.
func TestConcurrentChangeNeedsTheRoleAtTheMomentItIsMade(t *testing.T) {
	eachPair(t, func(t *testing.T, s, other *Book) {
		account := newAccount(t, s)
		owner, second := newUser(t, s, account, access.Owner, "Ana"), newUser(t, s, account, access.Owner, "Bo")
		ctx := store.Acting(t.Context(), second.ID, account.Number, access.Owner)
		succeed(t, s.SetRole(ctx, account.Number, second.ID, access.Owner))
		succeed(t, other.SetRole(t.Context(), account.Number, second.ID, access.Editor))
		changes := map[string]func() error{
			"a role":   func() error { return s.SetRole(ctx, account.Number, second.ID, access.Owner) },
			"a member": func() error { return s.RemoveMember(ctx, account.Number, owner.ID) },
			"an invitation": func() error {
				_, _, err := s.Invite(ctx, account, second, access.Owner, "")
				return err
			},
			"a key": func() error {
				_, _, err := s.CreateKey(ctx, account.Number, access.KeyInput{Name: "k", Permissions: access.AllPermissions})
				return err
			},
			"a chapter": func() error {
				_, err := s.CreateChapter(ctx, account, second.ID, account.ID, "North")
				return err
			},
			"a name": func() error { return s.RenameAccount(ctx, account, account.ID, "Mine") },
		}
		for what, change := range changes {
			if err := change(); !errors.Is(err, crm.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		members, err := s.Members(t.Context(), account.Number)
		if err != nil || len(members) != 2 || members[0].Role+members[1].Role != access.Owner+access.Editor {
			t.Errorf("%+v, %v", members, err)
		}
		keys, err := s.Keys(t.Context(), account.Number)
		invitations, err2 := s.Invitations(t.Context(), account.Number)
		chapters, err3 := s.Chapters(t.Context(), account)
		if errors.Join(err, err2, err3) != nil || len(keys)+len(invitations)+len(chapters) != 0 {
			t.Errorf("%v %v %v, %v %v %v", keys, invitations, chapters, err, err2, err3)
		}
		editing := store.Acting(t.Context(), second.ID, account.Number, access.Editor)
		if _, _, err := s.CreateKey(editing, account.Number, access.KeyInput{Name: "k", Permissions: access.AllPermissions}); err != nil {
			t.Errorf("what the role is enough for: %v", err)
		}
	})
}
