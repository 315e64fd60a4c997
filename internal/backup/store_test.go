package backup

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
	"donorbook/internal/store/contacts"
)

// open opens a store. When the test ends, everything in it must be consistent.
func open(t *testing.T, o store.Options) *book.Book {
	t.Helper()
	s, err := book.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := s.Check(context.Background(), check.CheckOptions{Found: func(p check.Problem) { t.Errorf("check: %v", p) }}) // the test's own context has ended
		if err := errors.Join(err, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newAccount(t *testing.T, s *book.Book) access.Account {
	t.Helper()
	a, err := s.CreateAccount(t.Context(), "Test", "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func create(t *testing.T, s *book.Book, account int64, body string) contacts.Document {
	t.Helper()
	return rig.Create(t, s, account, body, crm.Dedupe)
}

func tagsOf(t *testing.T, s *book.Book, account, id int64) []string {
	t.Helper()
	document, err := s.Contact(t.Context(), account, id, nil)
	var contact struct{ Tags []string }
	if err == nil {
		err = json.Unmarshal(document, &contact)
	}
	if err != nil {
		t.Fatal(err)
	}
	return contact.Tags
}

// list is the first page of up to 100 contacts, and how many there are.
func list(t *testing.T, s *book.Book, account int64) (documents string, total int64) {
	t.Helper()
	page, result, err := s.Contacts(t.Context(), account, crm.All, crm.PageRequest{Page: 1, PerPage: 100}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(page), result.Total
}

func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got the error %v, want %v", what, got, want)
	}
}

// A database that does not open is not backed up either, and the attempt leaves no files.
func TestADatabaseThatWasLostIsNotBackedUp(t *testing.T) {
	t.Parallel()
	used := t.TempDir()
	s := open(t, store.Options{Data: used, Serving: true})
	create(t, s, newAccount(t, s).Number, `{"first_name":"Ana"}`)
	mixed := t.TempDir() // as a crash leaves it, with a database that was put there afterward
	for _, name := range []string{db.DatabaseFile + "-wal", "donorbook.id"} {
		copyFile(t, filepath.Join(used, name), filepath.Join(mixed, name))
	}
	other := t.TempDir()
	open(t, store.Options{Data: other, Serving: true})
	copyFile(t, filepath.Join(other, db.DatabaseFile), filepath.Join(mixed, db.DatabaseFile))
	empty := t.TempDir()
	writeTestFile(t, "", empty, db.DatabaseFile)

	for dir, says := range map[string]string{mixed: "does not belong to the database", empty: db.DatabaseFile + " has 0 bytes"} {
		before, err := os.ReadFile(filepath.Join(dir, db.DatabaseFile))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "b")
		if _, err := Write(t.Context(), store.Options{Data: dir}, file, Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got the error %v, want one that says %q", err, says)
		}
		if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
			t.Errorf("the refused backup has left %v, %v", left, err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, db.DatabaseFile)); err != nil || string(after) != string(before) {
			t.Errorf("the database was changed: %v", err)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
