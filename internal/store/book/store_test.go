package book

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// bothEngines are the databases of the tests that say what an engine must do, and testEngines those of all others.
var (
	bothEngines = []testEngine{{"sqlite", newSQLite, emptySQLite}, {"postgres", newPostgres, emptied}}
	testEngines = rig.OfBoth(bothEngines)
)

type testEngine struct {
	name    string
	options func(testing.TB) store.Options // a new database, which has no tables yet
	empty   func(testing.TB) store.Options // a database without rows; it may have its tables already
}

func newSQLite(t testing.TB) store.Options { return store.Options{Data: t.TempDir()} }

func newPostgres(t testing.TB) store.Options { return store.Options{Database: rig.Database(t)} }

// withTables is a database that has its tables, and no rows.
var withTables = rig.Template(func(directory, url string) error {
	s, err := Open(context.Background(), store.Options{Data: directory, Database: url})
	if err != nil {
		return err
	}
	return s.Close()
})

func emptySQLite(t testing.TB) store.Options {
	t.Helper()
	directory, _ := withTables(t, rig.SQLite)
	return store.Options{Data: directory}
}

// left are the databases of tests that have passed. Creating a database takes longer than most tests.
var left = make(chan store.Options, 100)

// emptyTables empties those tables that have ever had rows. One without any takes as long to empty, and most tests use few tables.
var emptyTables = sync.OnceValue(func() string {
	names := store.WordsTable.Name
	for _, table := range store.Schema.Tables {
		names += ", " + table.Name
	}
	return `DO $$ DECLARE used text; BEGIN
		SELECT string_agg(name::text, ', ') INTO used FROM unnest('{` + names + `}'::regclass[]) AS name WHERE pg_relation_size(name) > 0;
		EXECUTE coalesce('TRUNCATE ' || used, 'SELECT 1');
	END $$`
})

// emptied is a database that another test has left, emptied, or else a new one.
func emptied(t testing.TB) (o store.Options) {
	select {
	case o = <-left:
		must(tamperPostgres(t, o.Database, emptyTables(), nil))(t)
	default:
		_, o.Database = withTables(t, rig.Postgres)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			left <- o
		}
	})
	return o
}

// eachEngine runs a test on every engine, with an empty store.
func eachEngine(t *testing.T, test func(t *testing.T, s *Book)) {
	t.Helper()
	onEach(t, func(e testEngine) func(testing.TB) store.Options { return e.empty }, func(t *testing.T, o store.Options) { test(t, open(t, o)) })
}

// eachPair runs a test on every engine with two stores on one database: two nodes, or a command line beside a server.
func eachPair(t *testing.T, test func(t *testing.T, a, b *Book)) {
	t.Helper()
	onEach(t, func(e testEngine) func(testing.TB) store.Options { return e.empty }, func(t *testing.T, o store.Options) { test(t, open(t, o), open(t, o)) })
}

// eachDatabase runs a test on every engine, with a database that has no tables yet.
func eachDatabase(t *testing.T, test func(t *testing.T, o store.Options)) {
	t.Helper()
	onEach(t, func(e testEngine) func(testing.TB) store.Options { return e.options }, test)
}

func onEach(t *testing.T, database func(testEngine) func(testing.TB) store.Options, test func(t *testing.T, o store.Options)) {
	t.Helper()
	t.Parallel()
	for _, e := range testEngines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			test(t, database(e)(t))
		})
	}
}

// openTest opens a store in a directory of its own.
func openTest(t testing.TB) *Book {
	t.Helper()
	return open(t, emptySQLite(t))
}

// open opens a store. When the test ends, everything in it must be consistent.
func open(t testing.TB, o store.Options) *Book {
	t.Helper()
	s := must(Open(t.Context(), o))(t)
	s.Db.Observe(recorded(s, db.Observer{}))
	t.Cleanup(func() {
		if s.Db.Closing() {
			return // the test has closed it
		}
		checkIntegrity(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// What a test does with contacts is the same in every package.

type person = rig.Person

func newAccount(t testing.TB, s *Book) access.Account {
	t.Helper()
	return rig.NewAccount(t, s)
}

func input(t testing.TB, body string) crm.ContactInput {
	t.Helper()
	return rig.Input(t, body)
}

func parse(t testing.TB, document []byte) person {
	t.Helper()
	return rig.Parse(t, document)
}

func create(t testing.TB, s *Book, account int64, body string) contacts.Document {
	t.Helper()
	return rig.Create(t, s, account, body, crm.Dedupe)
}

func createAs(t testing.TB, s *Book, account int64, body string, mode crm.CreateMode) contacts.Document {
	t.Helper()
	return rig.Create(t, s, account, body, mode)
}

func get(t testing.TB, s *Book, account, id int64) person {
	t.Helper()
	return rig.Get(t, s, account, id)
}

func archive(t testing.TB, s *Book, account, id int64) {
	t.Helper()
	rig.Archive(t, s, account, id)
}

func restore(t testing.TB, s *Book, account, id int64) contacts.Document {
	t.Helper()
	return rig.Restore(t, s, account, id)
}

// page is one page: the ids on it, and the total.
func page(t testing.TB, s *Book, account int64, scope crm.ContactScope, page, perPage int64) (ids []int64, total int64) {
	t.Helper()
	documents, total := listBytes(t, s, account, scope, page, perPage)
	return rig.IDs(t, documents), total
}

func listBytes(t testing.TB, s *Book, account int64, scope crm.ContactScope, page, perPage int64) (documents string, total int64) {
	t.Helper()
	dst, result := must2(s.Contacts(t.Context(), account, scope, crm.PageRequest{Page: page, PerPage: perPage}, []byte("kept"), nil))(t)
	documents, ok := strings.CutPrefix(string(dst), "kept")
	if !ok {
		t.Fatalf("what was there before is gone: %s", dst)
	}
	var all []json.RawMessage
	if err := json.Unmarshal([]byte("["+documents+"]"), &all); err != nil || int64(len(all)) != result.Count {
		t.Fatalf("%v: %d contacts, and %d are said to be there", err, len(all), result.Count)
	}
	return documents, result.Total
}

func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	rig.WantError(t, what, got, want)
}

// clock is a time that stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// stop makes a store use a clock of the test.
func stopClock(s *Book) *clock {
	c := &clock{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	s.Now = c.time
	return c
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestReopeningKeepsEverything(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s)
		for i := range 5 {
			create(t, s, account.Number, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["t"]}`, i, i))
		}
		archive(t, s, account.Number, doc.MakeID(account.Number, 2))
		key, secret := must2(s.CreateKey(t.Context(), account.Number, access.KeyInput{Name: "K", Permissions: access.ContactsRead}))(t)
		before, _ := listBytes(t, s, account.Number, crm.All, 1, 100)
		checkIntegrity(t, s)
		succeed(t, s.Close())

		s = open(t, o)
		if after, total := listBytes(t, s, account.Number, crm.All, 1, 100); after != before || total != 5 {
			t.Errorf("%d contacts:\n%s\nwere\n%s", total, after, before)
		}
		if accounts, err := s.Accounts(t.Context()); err != nil || len(accounts) != 1 || accounts[0].ID != account.ID {
			t.Errorf("%v: the accounts are %+v", err, accounts)
		}
		if who, err := s.Authenticate(t.Context(), secret); err != nil || who.Key != key.ID || who.Permissions != access.ContactsRead {
			t.Errorf("%v: the key is of %+v", err, who)
		}
		if d := create(t, s, account.Number, `{"emails":[{"value":"P3@X.ORG"}]}`); !d.Merged || doc.IDSeq(d.ID) != 4 {
			t.Errorf("the fourth contact is not found by its email: %+v", d)
		}
		if d := create(t, s, account.Number, `{"first_name":"New"}`); doc.IDSeq(d.ID) != 6 {
			t.Errorf("the next contact has the number %d", doc.IDSeq(d.ID))
		}
	})
}

func TestConcurrentReadyTellsWhetherTheDatabaseAnswers(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		now := &clock{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
		o.Now = now.time
		s := open(t, o)
		if err := s.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Ready(gone); err != nil {
			t.Errorf("an answer that is known for a moment is not given: %v", err)
		}
		now.move(time.Minute)
		release := held(t, s, 0)
		wantError(t, "a client that has left, while the database does not answer", s.Ready(gone), context.Canceled)
		release()
	})
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		id := create(t, s, account.Number, `{"first_name":"A"}`).ID
		succeed(t, s.Close())
		_, err := s.CreateContact(t.Context(), account.Number, input(t, `{"first_name":"B"}`), crm.Dedupe)
		wantError(t, "a write", err, crm.ErrUnavailable)
		_, err = s.Contact(t.Context(), account.Number, id, nil)
		wantError(t, "a read", err, crm.ErrUnavailable)
		wantError(t, "ready", s.Ready(t.Context()), crm.ErrUnavailable)
	})
}

func TestOpenRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	succeed(t, os.WriteFile(file, nil, 0o600))
	text := filepath.Join(dir, "text")
	inTheWay := filepath.Join(dir, "in-the-way")
	succeed(t, errors.Join(os.MkdirAll(filepath.Join(inTheWay, "donorbook.db"), 0o700), os.Mkdir(text, 0o700),
		os.WriteFile(filepath.Join(text, "donorbook.db"), []byte(strings.Repeat("this is no database\n", 100)), 0o600)))
	tests := []struct {
		name string
		o    store.Options
		says []string
	}{
		{"the data directory is a file", store.Options{Data: file}, []string{"the data directory cannot be made", file}},
		{"a directory has the name of the database", store.Options{Data: inTheWay}, []string{"the database", "donorbook.db", "cannot be opened"}},
		{"the database is something else", store.Options{Data: text}, []string{"the database", "donorbook.db", "not a database"}},
		{"an unknown database", store.Options{Data: dir, Database: "mysql://localhost/x"}, []string{"the database URL must begin with"}},
	}
	if os.Geteuid() != 0 { // root may write everywhere
		locked := filepath.Join(dir, "locked")
		succeed(t, os.Mkdir(locked, 0o500))
		tests = append(tests, struct {
			name string
			o    store.Options
			says []string
		}{"the data directory is not writable", store.Options{Data: locked}, []string{"donorbook.db", "cannot be opened"}})
	}
	for _, test := range tests {
		s, err := Open(t.Context(), test.o)
		if err == nil {
			t.Errorf("%s: it was opened", test.name)
			s.Close() //nolint:errcheck // the test has failed
			continue
		}
		for _, words := range test.says {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %q does not say %q", test.name, err, words)
			}
		}
	}
}

func TestOpenMakesTheDataDirectoryForTheOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b", "ü?#%20")
	open(t, store.Options{Data: dir})
	open(t, store.Options{Database: "sqlite:" + dir})
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "donorbook.db")); err != nil {
		t.Error(err)
	}
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(rig.Failer) T { return rig.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(rig.Failer) (T, U) { return rig.Must2(v, u, err) }

func succeed(t rig.Failer, err error) {
	t.Helper()
	rig.Succeed(t, err)
}
