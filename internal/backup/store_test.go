package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
)

// withTables is a data directory whose database has its tables, and no rows.
var withTables = rig.Template(func(directory, url string) error {
	s, err := book.Open(context.Background(), store.Options{Data: directory})
	if err != nil {
		return err
	}
	return s.Close()
})

func TestMain(m *testing.M) { rig.Main(m) }

func empty(t *testing.T) string {
	t.Helper()
	directory, _ := withTables(t, rig.SQLite)
	return directory
}

// open opens a store. When the test ends, everything in it must be consistent.
func open(t *testing.T, data string) *book.Book {
	t.Helper()
	s := must(book.Open(t.Context(), store.Options{Data: data}))(t)
	t.Cleanup(func() {
		found := func(p check.Problem) { t.Errorf("check: %v", p) }
		_, err := s.Check(context.Background(), check.CheckOptions{Found: found}) // the test's own context has ended
		if err := errors.Join(err, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// filled is a store with an account, and contacts with emails and a tag.
func filled(t *testing.T, contacts int) (s *book.Book, data string, account int64) {
	t.Helper()
	data = empty(t)
	s = open(t, data)
	account = rig.NewAccount(t, s).Number
	for i := range contacts {
		create(t, s, account, fmt.Sprintf(`{"first_name":"Ada","emails":[{"value":"p%d@x.org"}],"tags":["t"]}`, i))
	}
	return s, data, account
}

func create(t *testing.T, s *book.Book, account int64, body string) store.ContactDocument {
	t.Helper()
	return rig.Create(t, s, account, body, crm.Dedupe)
}

// list is the first page of up to 100 contacts, and how many there are.
func list(t *testing.T, s *book.Book, account int64) (documents string, total int64) {
	t.Helper()
	page, result, err := s.Contacts(t.Context(), account, crm.All, crm.PageRequest{Page: 1, PerPage: 100}, nil, nil)
	succeed(t, err)
	return string(page), result.Total
}

func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	rig.WantError(t, what, got, want)
}

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

// backUp makes a backup and checks that it succeeds.
func backUp(t *testing.T, data, file string) Report {
	t.Helper()
	return must(Write(t.Context(), store.Options{Data: data}, file, Options{}))(t)
}

// restored is the store that is restored from a backup, in a new directory.
func restored(t *testing.T, file string) (s *book.Book, data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "new")
	must(Restore(t.Context(), file, store.Options{Data: data}, Options{}))(t)
	return open(t, data), data
}

// namesAndModes are all files and directories below a directory, with their modes.
func namesAndModes(t *testing.T, dir string) (all []string) {
	t.Helper()
	succeed(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		name, _ := filepath.Rel(dir, path)
		all = append(all, fmt.Sprintf("%s %v", name, info.Mode()))
		return err
	}))
	return all
}

// wantNames checks what there is in a directory.
func wantNames(t *testing.T, what, dir string, want ...string) {
	t.Helper()
	if got := namesAndModes(t, dir)[1:]; !slices.Equal(got, want) {
		t.Errorf("%s: there is %q, want %q", what, got, want)
	}
}

func writeTestFile(t *testing.T, content string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	succeed(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)))
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}

func contains(t assert.Failer, text, part string, what ...any) {
	t.Helper()
	assert.Contains(t, text, part, what...)
}
