//go:build drill

package db_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
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

// What the tests of the engines need to work with contacts.

// testEngine is a kind of database that every test runs on.
type testEngine struct {
	name    string
	options func(testing.TB) store.Options // of a database that no other test uses
}

var testEngines = func() (list []testEngine) {
	for _, e := range rig.Engines {
		list = append(list, testEngine{e.Name, func(t testing.TB) (o store.Options) {
			o.Data, o.Database = e.New(t)
			return o
		}})
	}
	return list
}()

func newDatabase(t testing.TB) string {
	t.Helper()
	return rig.Database(t)
}

// eachEngine runs a test on every engine, with an empty store.
func eachEngine(t *testing.T, test func(t *testing.T, s *book.Book)) {
	t.Helper()
	t.Parallel()
	for _, e := range testEngines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, e.options(t)))
		})
	}
}

// openSQLite opens a store in a directory of its own.
func openSQLite(t testing.TB) *book.Book {
	t.Helper()
	return open(t, store.Options{Data: t.TempDir()})
}

// open opens a store. When the test ends, everything in it must be consistent.
func open(t testing.TB, o store.Options) *book.Book {
	t.Helper()
	s := must(book.Open(t.Context(), o))(t)
	t.Cleanup(func() {
		if s.DB().Closing() {
			return // the test has closed it
		}
		checkIntegrity(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func checkIntegrity(t testing.TB, s *book.Book) {
	t.Helper()
	_, err := s.Check(context.Background(), check.CheckOptions{Found: func(p check.Problem) { t.Errorf("check: %+v", p) }})
	if err != nil {
		t.Error(err)
	}
}

type person = rig.Person

func newAccount(t testing.TB, s *book.Book) access.Account {
	t.Helper()
	return rig.NewAccount(t, s)
}

func parse(t testing.TB, document []byte) person {
	t.Helper()
	return rig.Parse(t, document)
}

func input(t testing.TB, body string) crm.ContactInput {
	t.Helper()
	return rig.Input(t, body)
}

func create(t testing.TB, s *book.Book, account int64, body string) contacts.Document {
	t.Helper()
	return rig.Create(t, s, account, body, crm.Dedupe)
}

// creating is a change that creates a contact.
func creating(t *testing.T, s *book.Book, account int64, name string) func() error {
	in := input(t, fmt.Sprintf(`{"first_name":%q,"emails":[{"value":"%s@x.org"}]}`, name, strings.ToLower(name)))
	return func() error {
		_, err := s.CreateContact(t.Context(), account, in, crm.Dedupe)
		return err
	}
}

// attempting is a change that creates a contact for a client that may send it again.
func attempting(t *testing.T, s *book.Book, account int64, name string) func() error {
	in := input(t, fmt.Sprintf(`{"first_name":%q,"emails":[{"value":"%s@x.org"}]}`, name, strings.ToLower(name)))
	return func() error {
		ctx := store.Attempting(t.Context(), &store.Attempt{Key: name, Fingerprint: []byte(name), Answer: func(made store.Result) store.Answer {
			return store.Answer{Status: 201, Body: made.Append(nil)}
		}})
		_, err := s.CreateContact(ctx, account, in, crm.Dedupe)
		if first := new(store.Replayed); errors.As(err, &first) {
			return nil
		}
		return err
	}
}

func get(t testing.TB, s *book.Book, account, id int64) person {
	t.Helper()
	return rig.Get(t, s, account, id)
}

func archive(t testing.TB, s *book.Book, account, id int64) {
	t.Helper()
	rig.Archive(t, s, account, id)
}

func restore(t testing.TB, s *book.Book, account, id int64) {
	t.Helper()
	rig.Restore(t, s, account, id)
}

// list is one page: the ids on it, and the total.
func list(t testing.TB, s *book.Book, account int64, scope crm.ContactScope, page, perPage int64) (ids []int64, total int64) {
	t.Helper()
	documents, total := listBytes(t, s, account, scope, page, perPage)
	return rig.IDs(t, documents), total
}

func listBytes(t testing.TB, s *book.Book, account int64, scope crm.ContactScope, page, perPage int64) (documents string, total int64) {
	t.Helper()
	dst, result := must2(s.Contacts(t.Context(), account, scope, crm.PageRequest{Page: page, PerPage: perPage}, nil, nil))(t)
	return string(dst), result.Total
}

// names are the first names of the account's contacts, oldest first.
func names(t *testing.T, s *book.Book, account int64) (names []string) {
	t.Helper()
	ids, _ := list(t, s, account, crm.All, 1, 100)
	for _, id := range ids {
		names = append(names, get(t, s, account, id).FirstName)
	}
	return names
}

func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	rig.WantError(t, what, got, want)
}

func atOnce(n int, do func(i int)) { rig.AtOnce(n, do) }

// held stops the queue of an account, so that the changes that are queued meanwhile become one batch; release lets it continue.
func held(t *testing.T, s *book.Book, account int64) (release func()) {
	t.Helper()
	started, free := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	refused := errors.New("held") // so that nothing is written
	go func() {
		ended <- s.DB().Update(context.Background(), account, nil, func(db.Batch) error {
			close(started)
			<-free
			return refused
		})
	}()
	<-started
	return func() {
		close(free)
		wantError(t, "who held the queue", <-ended, refused)
	}
}

// queue starts changes one after the other while the queue is held. wait returns their errors.
func queue(s *book.Book, account int64, changes ...func() error) (wait func() []error) {
	results := make([]chan error, len(changes))
	for i, change := range changes {
		results[i] = make(chan error, 1)
		before := s.DB().Queued()
		go func() { results[i] <- change() }()
		for s.DB().Queued() == before {
			runtime.Gosched()
		}
	}
	return func() (errs []error) {
		for _, result := range results {
			errs = append(errs, <-result)
		}
		return errs
	}
}

// together runs changes as one batch.
func together(t *testing.T, s *book.Book, account int64, changes ...func() error) []error {
	t.Helper()
	release := held(t, s, account)
	wait := queue(s, account, changes...)
	release()
	return wait()
}

// countRows counts the rows that are read outside write transactions from now on. Nothing may be in progress.
func countRows(s *book.Book) *atomic.Int64 {
	rows := new(atomic.Int64)
	s.DB().Observe(&db.Observer{Row: func() { rows.Add(1) }})
	return rows
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(rig.Failer) T { return rig.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(rig.Failer) (T, U) { return rig.Must2(v, u, err) }

func succeed(t rig.Failer, err error) {
	t.Helper()
	rig.Succeed(t, err)
}
