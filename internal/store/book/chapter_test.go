package book

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
)

// tree makes accounts: each name is a path, such as "A/B", below root.
func tree(t testing.TB, s *Book, root access.Account, by access.User, paths ...string) map[string]access.Account {
	t.Helper()
	made := map[string]access.Account{"": root}
	for _, path := range paths {
		above, name := "", path
		for i := range path {
			if path[i] == '/' {
				above, name = path[:i], path[i+1:]
			}
		}
		chapter := must(s.CreateChapter(t.Context(), root, by.ID, made[above].ID, name))(t)
		made[path] = chapter
	}
	return made
}

func TestChaptersAreListedAsATree(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		root, other := newAccount(t, s), newAccount(t, s)
		ada, bob := newUser(t, s, root, access.Owner, "ada"), newUser(t, s, other, access.Owner, "bob")
		if chapters, err := s.Chapters(t.Context(), root); err != nil || len(chapters) != 0 {
			t.Errorf("%v: a new account has %+v", err, chapters)
		}
		made := tree(t, s, root, ada, "west", "East", "East/zoo", "East/Äpfel", "East/zoo/deep", "west/x")
		tree(t, s, other, bob, "Foreign")
		var want []access.Account
		for _, path := range []string{"East", "East/Äpfel", "East/zoo", "East/zoo/deep", "west", "west/x"} {
			want = append(want, made[path])
		}
		got, err := s.Chapters(t.Context(), root)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		got, err = s.Chapters(t.Context(), made["East"])
		if diff := cmp.Diff(want[1:4], got); err != nil || diff != "" {
			t.Errorf("%v: below a chapter\n%s", err, diff)
		}
	})
}

func TestManyChaptersAreAllListed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		root := newAccount(t, s)
		var paths []string
		for i := range 41 {
			paths = append(paths, fmt.Sprintf("C%02d", i), fmt.Sprintf("C%02d/below", i))
		}
		made := tree(t, s, root, newUser(t, s, root, access.Owner, "ada"), paths...)
		got, err := s.Chapters(t.Context(), root)
		if err != nil || len(got) != len(paths) {
			t.Fatalf("%v: %d chapters of %d", err, len(got), len(paths))
		}
		for i, path := range paths {
			if got[i] != made[path] {
				t.Errorf("chapter %d is %+v, want %s", i, got[i], path)
			}
		}
	})
}

func TestWhoeverMakesAChapterOwnsIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		root := newAccount(t, s)
		ada := newUser(t, s, root, access.Owner, "ada")
		newUser(t, s, root, access.Owner, "bob")
		chapter := tree(t, s, root, ada, "East")["East"]
		wantRoles(t, s, chapter, map[string]access.Role{"ada": access.Owner})
		if m, err := s.Membership(t.Context(), ada.ID, chapter.ID); err != nil || m.Account != chapter || chapter.ParentID != root.ID {
			t.Errorf("%v: %+v, made as %+v", err, m, chapter)
		}
		create(t, s, chapter.Number, `{"first_name":"First"}`)
		_, err := s.CreateChapter(t.Context(), root, ada.ID, root.ID, " ")
		wantRefused(t, "no name", err, "name")
		if chapters, err := s.Chapters(t.Context(), root); err != nil || len(chapters) != 1 {
			t.Errorf("%v: %+v", err, chapters)
		}
	})
}

func TestAnAccountIsRenamedByItsOrganizationOnly(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		root, other := newAccount(t, s), newAccount(t, s)
		ada := newUser(t, s, root, access.Owner, "ada")
		made := tree(t, s, root, ada, "East", "East/Deep", "West")
		for _, account := range []access.Account{root, made["East"], made["East/Deep"]} {
			if err := s.RenameAccount(t.Context(), root, account.ID, " New "+account.Name+" "); err != nil {
				t.Error(err)
			}
			if got, err := s.Account(t.Context(), account.ID); err != nil || got.Name != "New "+account.Name {
				t.Errorf("%v: the name is %q", err, got.Name)
			}
		}
		wantRefused(t, "no name", s.RenameAccount(t.Context(), root, root.ID, ""), "name")
		for what, test := range map[string]struct {
			root access.Account
			id   string
		}{
			"another organization": {root, other.ID}, "the one above": {made["East"], root.ID}, "the one beside": {made["East"], made["West"].ID},
			"none": {root, ""}, "no id": {root, "x"}, "no text": {root, root.ID[:15] + "\x00"}, "of another": {other, made["East"].ID},
		} {
			wantError(t, what, s.RenameAccount(t.Context(), test.root, test.id, "Stolen"), crm.ErrNotFound)
			_, err := s.CreateChapter(t.Context(), test.root, ada.ID, test.id, "Stolen")
			wantError(t, "a chapter below "+what, err, crm.ErrNotFound)
		}
		accounts, err := s.Accounts(t.Context())
		for _, a := range accounts {
			if a.Name == "Stolen" || err != nil {
				t.Errorf("%v: %+v", err, a)
			}
		}
	})
}
