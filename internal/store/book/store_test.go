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
	"donorbook/internal/rig/assert"
	"donorbook/internal/store"
)

// bothEngines are the databases of the tests that say what an engine must do, and testEngines has the one of all
// others: TestMain runs them on one after the other.
var (
	bothEngines = []testEngine{{"sqlite", newSQLite, emptySQLite}, {"postgres", newPostgres, emptied}}
	testEngines = bothEngines[:1]
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

// emptyTables empties those tables that have ever had rows. One without any takes as long to empty, and most tests
// use few tables.
var emptyTables = sync.OnceValue(func() string {
	names := store.WordsTable.Name
	for _, table := range store.Schema.Tables {
		names += ", " + table.Name
	}
	return `DO $$ DECLARE used text; BEGIN
		SELECT string_agg(name::text, ', ') INTO used FROM unnest('{` + names +
		`}'::regclass[]) AS name WHERE pg_relation_size(name) > 0;
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

// newBook is an empty store on the engine of this run, and newBookOf one with an account.
func newBook(t *testing.T) *Book {
	t.Helper()
	t.Parallel()
	return open(t, testEngines[0].empty(t))
}

func newBookOf(t *testing.T) (s *Book, account int64) {
	t.Helper()
	s = newBook(t)
	return s, newAccount(t, s).Number
}

// twoNodes are two stores on one database: two nodes, or a command line beside a server.
func twoNodes(t *testing.T) (a, b *Book) {
	t.Helper()
	t.Parallel()
	o := testEngines[0].empty(t)
	return open(t, o), open(t, o)
}

// newDatabase has no tables yet.
func newDatabase(t *testing.T) store.Options {
	t.Helper()
	t.Parallel()
	return testEngines[0].options(t)
}

func eachEngine(t *testing.T, test func(t *testing.T, s *Book)) {
	t.Helper()
	test(t, newBook(t))
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
		succeed(t, s.Close())
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

func create(t testing.TB, s *Book, account int64, body string) store.ContactDocument {
	t.Helper()
	return rig.Create(t, s, account, body, crm.Dedupe)
}

func createAs(t testing.TB, s *Book, account int64, body string, mode crm.CreateMode) store.ContactDocument {
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

func restore(t testing.TB, s *Book, account, id int64) store.ContactDocument {
	t.Helper()
	return rig.Restore(t, s, account, id)
}

// page is one page: the ids on it, and the total.
func page(t testing.TB, s *Book, account int64, scope crm.ContactScope, page, perPage int64) (ids []int64,
	total int64) {
	t.Helper()
	documents, total := listBytes(t, s, account, scope, page, perPage)
	return rig.IDs(t, documents), total
}

func listBytes(t testing.TB, s *Book, account int64, scope crm.ContactScope, page, perPage int64) (documents string,
	total int64) {
	t.Helper()
	dst, result := must2(s.Contacts(t.Context(), account, scope, crm.PageRequest{Page: page, PerPage: perPage},
		[]byte("kept"), nil))(t)
	documents, ok := strings.CutPrefix(string(dst), "kept")
	if !ok {
		t.Fatalf("what was there before is gone: %s", dst)
	}
	var all []json.RawMessage
	succeed(t, json.Unmarshal([]byte("["+documents+"]"), &all))
	equal(t, int64(len(all)), result.Count, "%v", len(all))
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
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	account := newAccount(t, s)
	for i := range 5 {
		create(t, s, account.Number, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["t"]}`,
			i, i))
	}
	archive(t, s, account.Number, doc.MakeID(account.Number, 2))
	key, secret := must2(s.CreateKey(ctx, account.Number,
		access.KeyInput{Name: "K", Permissions: access.ContactsRead}))(t)
	before, _ := listBytes(t, s, account.Number, crm.All, 1, 100)
	checkIntegrity(t, s)
	succeed(t, s.Close())

	s = open(t, o)
	if after, total := listBytes(t, s, account.Number, crm.All, 1, 100); after != before || total != 5 {
		t.Errorf("%d contacts:\n%s\nwere\n%s", total, after, before)
	}
	if accounts := must(s.Accounts(ctx))(t); len(accounts) != 1 || accounts[0].ID != account.ID {
		t.Errorf("the accounts are %+v", accounts)
	}
	if who := must(s.Authenticate(ctx, secret))(t); who.Key != key.ID ||
		who.Permissions != access.ContactsRead {
		t.Errorf("the key is of %+v", who)
	}
	if d := create(t, s, account.Number, `{"emails":[{"value":"P3@X.ORG"}]}`); !d.Merged || doc.IDSeq(d.ID) != 4 {
		t.Errorf("the fourth contact is not found by its email: %+v", d)
	}
	equal(t, doc.IDSeq(create(t, s, account.Number, `{"first_name":"New"}`).ID), 6, "the next contact has the number")
}

func TestConcurrentReadyTellsWhetherTheDatabaseAnswers(t *testing.T) {
	o := newDatabase(t)
	now := &clock{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	o.Now = now.time
	s := open(t, o)
	succeed(t, s.Ready(t.Context()))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	succeed(t, s.Ready(gone))
	now.move(time.Minute)
	release := held(t, s, 0)
	wantError(t, "a client that has left, while the database does not answer", s.Ready(gone), context.Canceled)
	release()
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	id := create(t, s, account.Number, `{"first_name":"A"}`).ID
	succeed(t, s.Close())
	wantError(t, "a write", errOf(s.CreateContact(ctx, account.Number, input(t, `{"first_name":"B"}`),
		crm.Dedupe)), crm.ErrUnavailable)
	wantError(t, "a read", errOf(s.Contact(ctx, account.Number, id, nil)), crm.ErrUnavailable)
	wantError(t, "ready", s.Ready(ctx), crm.ErrUnavailable)
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
		{"the data directory is a file", store.Options{Data: file},
			[]string{"the data directory cannot be made", file}},
		{"a directory has the name of the database", store.Options{Data: inTheWay},
			[]string{"the database", "donorbook.db", "cannot be opened"}},
		{"the database is something else", store.Options{Data: text},
			[]string{"the database", "donorbook.db", "not a database"}},
		{"an unknown database", store.Options{Data: dir, Database: "mysql://localhost/x"},
			[]string{"the database URL must begin with"}},
	}
	if os.Geteuid() != 0 { // root may write everywhere
		locked := filepath.Join(dir, "locked")
		succeed(t, os.Mkdir(locked, 0o500))
		tests = append(tests, struct {
			name string
			o    store.Options
			says []string
		}{"the data directory is not writable", store.Options{Data: locked},
			[]string{"donorbook.db", "cannot be opened"}})
	}
	for _, test := range tests {
		s, err := Open(t.Context(), test.o)
		if err == nil {
			t.Errorf("%s: it was opened", test.name)
			s.Close() //nolint:errcheck // the test has failed
			continue
		}
		for _, words := range test.says {
			contains(t, err.Error(), words, "%s", test.name)
		}
	}
}

func TestOpenMakesTheDataDirectoryForTheOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b", "ü?#%20")
	open(t, store.Options{Data: dir})
	open(t, store.Options{Database: "sqlite:" + dir})
	info := must(os.Stat(dir))(t)
	equal(t, info.Mode().Perm(), 0o700)
	must(os.Stat(filepath.Join(dir, "donorbook.db")))(t)
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(assert.Failer) (T, U) { return assert.Must2(v, u, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

// await waits until something has come about, for as long as a busy machine may need.
func await(t testing.TB, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(rig.Patience); !reached(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("this has never come about:", what)
			return
		}
	}
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}

// errOf and errOf2 are the errors of calls whose other results do not matter.
func errOf[T any](_ T, err error) error { return err }

func errOf2[T, U any](_ T, _ U, err error) error { return err }

func contains(t assert.Failer, text, part string, what ...any) {
	t.Helper()
	assert.Contains(t, text, part, what...)
}
