package db_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// What the tests of engines need to work with contacts.

// testEngines are the databases that every test runs on.
var testEngines = []struct {
	name    string
	options func(testing.TB) store.Options // of a database that nobody else uses
}{
	{"sqlite", func(t testing.TB) store.Options { return store.Options{Data: t.TempDir()} }},
	{"postgres", func(t testing.TB) store.Options { return store.Options{Database: newDatabase(t)} }},
}

// newDatabase is the URL of an empty database of PostgreSQL.
func newDatabase(t testing.TB) string {
	t.Helper()
	url, err := db.Cluster.Database()
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// eachEngine runs a test on every engine, with an empty store.
func eachEngine(t *testing.T, test func(t *testing.T, s *store.Store)) {
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
func openSQLite(t testing.TB) *store.Store {
	t.Helper()
	return open(t, store.Options{Data: t.TempDir()})
}

// open opens a store. When the test ends, everything in it must fit together.
func open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.DB().Stopped() {
			return // the test has closed it
		}
		checkIntegrity(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func checkIntegrity(t testing.TB, s *store.Store) {
	t.Helper()
	_, err := s.Check(context.Background(), store.CheckOptions{Found: func(p store.Problem) { t.Errorf("check: %+v", p) }})
	if err != nil {
		t.Error(err)
	}
}

func newAccount(t testing.TB, s *store.Store) crm.Account {
	t.Helper()
	a, err := s.CreateAccount(t.Context(), "Test", "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// input is a valid input from a JSON body.
func input(t testing.TB, body string) crm.ContactInput {
	t.Helper()
	in, faults, err := crm.DecodeContact([]byte(body))
	if err == nil {
		err = in.Validate(faults, false, "US", time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// person is what a test looks at in a contact.
type person struct {
	ID        int64
	FirstName string `json:"first_name"`
	Tags      []string
}

func parse(t testing.TB, document []byte) (p person) {
	t.Helper()
	if err := json.Unmarshal(document, &p); err != nil {
		t.Fatalf("%v: %s", err, document)
	}
	return p
}

func create(t testing.TB, s *store.Store, account int64, body string) store.Document {
	t.Helper()
	d, err := s.CreateContact(t.Context(), account, input(t, body), crm.Dedupe)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// creating is a change that creates a contact.
func creating(t *testing.T, s *store.Store, account int64, name string) func() error {
	in := input(t, fmt.Sprintf(`{"first_name":%q,"emails":[{"value":"%s@x.org"}]}`, name, strings.ToLower(name)))
	return func() error {
		_, err := s.CreateContact(t.Context(), account, in, crm.Dedupe)
		return err
	}
}

func get(t testing.TB, s *store.Store, account, id int64) person {
	t.Helper()
	document, err := s.Contact(t.Context(), account, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, document)
}

func archive(t testing.TB, s *store.Store, account, id int64) {
	t.Helper()
	if err := s.ArchiveContact(t.Context(), account, id); err != nil {
		t.Fatal(err)
	}
}

func restore(t testing.TB, s *store.Store, account, id int64) {
	t.Helper()
	if _, err := s.RestoreContact(t.Context(), account, id); err != nil {
		t.Fatal(err)
	}
}

// list is one page: the ids on it, and the total.
func list(t testing.TB, s *store.Store, account int64, scope crm.ContactScope, page, perPage int64) (ids []int64, total int64) {
	t.Helper()
	documents, total := listBytes(t, s, account, scope, page, perPage)
	var people []person
	if err := json.Unmarshal([]byte("["+documents+"]"), &people); err != nil {
		t.Fatalf("%v: %s", err, documents)
	}
	for _, p := range people {
		ids = append(ids, p.ID)
	}
	return ids, total
}

func listBytes(t testing.TB, s *store.Store, account int64, scope crm.ContactScope, page, perPage int64) (documents string, total int64) {
	t.Helper()
	dst, result, err := s.Contacts(t.Context(), account, scope, crm.PageRequest{Page: page, PerPage: perPage}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(dst), result.Total
}

// names are the first names of the account's contacts, oldest first.
func names(t *testing.T, s *store.Store, account int64) (names []string) {
	t.Helper()
	ids, _ := list(t, s, account, crm.All, 1, 100)
	for _, id := range ids {
		names = append(names, get(t, s, account, id).FirstName)
	}
	return names
}

// wantLists checks every scope: the sequence numbers of the contacts that are active and archived.
func wantLists(t testing.TB, s *store.Store, account int64, active, archived []int64) {
	t.Helper()
	all := slices.Concat(active, archived)
	slices.Sort(all)
	for scope, want := range map[crm.ContactScope][]int64{crm.Active: active, crm.Archived: archived, crm.All: all} {
		ids, total := list(t, s, account, scope, 1, 100)
		var got []int64
		for _, id := range ids {
			got = append(got, crm.IDSeq(id))
		}
		if !slices.Equal(got, want) || total != int64(len(want)) {
			t.Errorf("%s: got %v, %d in all, want %v", scope, got, total, want)
		}
	}
}

// wantError fails where an error is not the one wanted.
func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got the error %v, want %v", what, got, want)
	}
}

func atOnce(n int, do func(i int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	group.Wait()
}

// held stops the queue of an account, so that what is queued meanwhile becomes one batch; release lets it go on.
func held(t *testing.T, s *store.Store, account int64) (release func()) {
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
func queue(s *store.Store, account int64, changes ...func() error) (wait func() []error) {
	results := make([]chan error, len(changes))
	for i, change := range changes {
		results[i] = make(chan error, 1)
		before := s.DB().QueuedOf(account)
		go func() { results[i] <- change() }()
		for s.DB().QueuedOf(account) == before {
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
func together(t *testing.T, s *store.Store, account int64, changes ...func() error) []error {
	t.Helper()
	release := held(t, s, account)
	wait := queue(s, account, changes...)
	release()
	return wait()
}

// countRows counts the rows that are read outside of write transactions from now on. Nothing may be under way.
func countRows(s *store.Store) *atomic.Int64 {
	rows := new(atomic.Int64)
	s.DB().Observe(&db.Observer{Row: func() { rows.Add(1) }})
	return rows
}
