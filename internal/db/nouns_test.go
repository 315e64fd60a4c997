//go:build drill

package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/db"
	"donorbook/internal/pgtest"
	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
)

// What the tests of PostgreSQL need to work with contacts.

// open opens a store. When the test ends, everything in it must be consistent.
func open(t testing.TB, o store.Options) *book.Book {
	t.Helper()
	s := must(book.Open(t.Context(), o))(t)
	t.Cleanup(func() {
		checkIntegrity(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// openPostgres opens a store on a database that no other test uses.
func openPostgres(t testing.TB) *book.Book {
	t.Helper()
	return open(t, store.Options{Database: rig.Database(t)})
}

func checkIntegrity(t testing.TB, s *book.Book) {
	t.Helper()
	_, err := s.Check(context.Background(), check.CheckOptions{Found: func(p check.Problem) {
		t.Errorf("check: %+v",
			p)
	}})
	if err != nil {
		t.Error(err)
	}
}

func newAccount(t testing.TB, s *book.Book) access.Account {
	t.Helper()
	return rig.NewAccount(t, s)
}

func input(t testing.TB, body string) crm.ContactInput {
	t.Helper()
	return rig.Input(t, body)
}

func create(t testing.TB, s *book.Book, account int64, body string) store.ContactDocument {
	t.Helper()
	return rig.Create(t, s, account, body, crm.Dedupe)
}

// adding is a change that creates a contact from a JSON body.
func adding(t *testing.T, s *book.Book, account int64, body string) func() error {
	in := input(t, body)
	return func() error {
		_, err := s.CreateContact(t.Context(), account, in, crm.Dedupe)
		return err
	}
}

// named is the JSON body of a contact with a name and an email.
func named(name string) string {
	return fmt.Sprintf(`{"first_name":%q,"emails":[{"value":"%s@x.org"}]}`, name, strings.ToLower(name))
}

func creating(t *testing.T, s *book.Book, account int64, name string) func() error {
	return adding(t, s, account, named(name))
}

// attempting is a change that creates a contact for a client that may send it again.
func attempting(t *testing.T, s *book.Book, account int64, name string) func() error {
	in := input(t, named(name))
	return func() error {
		ctx := store.Attempting(t.Context(), &store.Attempt{Key: name, Fingerprint: []byte(name),
			Answer: func(made store.Result) store.Answer { return store.Answer{Status: 201, Body: made.Append(nil)} }})
		_, err := s.CreateContact(ctx, account, in, crm.Dedupe)
		if first := new(store.Replayed); errors.As(err, &first) {
			return nil
		}
		return err
	}
}

// page is one page of contacts, as JSON with commas between them, and the total.
func page(t testing.TB, s *book.Book, account int64, scope crm.ContactScope, n,
	perPage int64,
) (documents string, total int64) {
	t.Helper()
	dst, result := must2(s.Contacts(t.Context(), account, scope, crm.PageRequest{Page: n, PerPage: perPage}, nil,
		nil))(t)
	return string(dst), result.Total
}

// names are the first names of the account's contacts, oldest first.
func names(t *testing.T, s *book.Book, account int64) (names []string) {
	t.Helper()
	documents, _ := page(t, s, account, crm.All, 1, 100)
	for _, id := range rig.IDs(t, documents) {
		names = append(names, rig.Get(t, s, account, id).FirstName)
	}
	return names
}

func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	rig.WantError(t, what, got, want)
}

// together runs changes as one batch: those that are queued while the queue of their account is held.
func together(t *testing.T, s *book.Book, account int64, changes ...func() error) error {
	t.Helper()
	started, free, refused := make(chan struct{}), make(chan struct{}), errors.New("held") // so that nothing is written
	ended, results := make(chan error, 1), make(chan error, len(changes))
	go func() {
		ended <- s.DB().Update(context.Background(), account, nil, func(db.Batch) error {
			close(started)
			<-free
			return refused
		})
	}()
	<-started
	for _, change := range changes {
		before := s.DB().Queued()
		go func() { results <- change() }()
		for s.DB().Queued() == before {
			time.Sleep(time.Millisecond)
		}
	}
	close(free)
	wantError(t, "who held the queue", <-ended, refused)
	var errs []error
	for range changes {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

// waitUntil asks a database until the answer to a question is at least a number.
func waitUntil(t *testing.T, url, question string, least int64) {
	t.Helper()
	n := least - 1
	for start := time.Now(); n < least; time.Sleep(10 * time.Millisecond) {
		if n = must(pgtest.Number(url, question))(t); time.Since(start) > rig.Patience {
			t.Fatalf("the answer to %s stays %d", question, n)
		}
	}
}

// blocked counts who waits for a lock in a database: pg_locks also has the locks of other tests.
const blocked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(assert.Failer) (T, U) { return assert.Must2(v, u, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}

func contains(t assert.Failer, text, part string, what ...any) {
	t.Helper()
	assert.Contains(t, text, part, what...)
}
