package db_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// Gates on what a request costs, in things that can be counted: CONTRIBUTING.md lists them.

// syncCounter is between SQLite and the disk, and counts how often a file is flushed.
type syncCounter struct {
	vfs.VFSFilename
	log, database atomic.Int64
}

func (c *syncCounter) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	count := &c.database
	if flags&vfs.OPEN_WAL != 0 {
		count = &c.log
	}
	file, flags, err := c.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	return &countedFile{file, count}, flags, nil
}

type countedFile struct {
	vfs.File
	syncs *atomic.Int64
}

func (f *countedFile) Sync(flags vfs.SyncFlag) error {
	f.syncs.Add(1)
	return f.File.Sync(flags)
}

func (f *countedFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }

// countSyncs gives a store a writer whose flushes are counted. Nothing may be in progress.
func countSyncs(t *testing.T, s *book.Book) *syncCounter {
	t.Helper()
	counter := &syncCounter{VFSFilename: vfs.Find("").(vfs.VFSFilename)}
	replaceWriter(t, s, filepath.Base(t.Name()), counter)
	return counter
}

// replaceWriter gives a store a writer that uses another VFS.
func replaceWriter(t *testing.T, s *book.Book, name string, disk vfs.VFS) {
	t.Helper()
	vfs.Register(name, disk) // permanently: the store is closed after everything else

	s.DB().ReplaceWriter(t, name)
}

// failWrites gives a store a writer whose disk refuses writes while the switch is on. Nothing may be in progress.
func failWrites(t *testing.T, s *book.Book, fault error) *atomic.Bool {
	t.Helper()
	disk := &failingDisk{VFSFilename: vfs.Find("").(vfs.VFSFilename), fault: fault}
	replaceWriter(t, s, fmt.Sprintf("failing-%p", disk), disk)
	return &disk.fails
}

type failingDisk struct {
	vfs.VFSFilename
	fails atomic.Bool
	fault error
}

func (d *failingDisk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	return &failingFile{file, d}, flags, nil
}

type failingFile struct {
	vfs.File
	disk *failingDisk
}

func (f *failingFile) WriteAt(p []byte, at int64) (int, error) {
	if f.disk.fails.Load() {
		return 0, &os.PathError{Op: "write", Path: "a file", Err: f.disk.fault}
	}
	return f.File.WriteAt(p, at)
}

func (f *failingFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }

// A change is acknowledged after its flush and not before, and there is no second flush.
func TestConcurrentCommitFlushesTheDiskOnce(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	account := newAccount(t, s).Number
	syncs := countSyncs(t, s)
	create(t, s, account, `{"first_name":"Zero"}`)
	made := 0
	for _, test := range []struct {
		changes, commits int64
		change           func(*testing.T, *book.Book, int64, string) func() error
	}{
		{1, 1, creating}, {1, 1, creating}, {10, 1, creating}, {100, 1, creating}, {150, 2, creating}, {1, 1, creating},
		{1, 1, attempting}, {100, 1, attempting}, // an answer is stored together with its change
	} {
		log, database := syncs.log.Load(), syncs.database.Load()
		changes := make([]func() error, test.changes)
		for i := range changes {
			made++
			changes[i] = test.change(t, s, account, fmt.Sprintf("N%d", made))
		}
		for _, err := range together(t, s, account, changes...) {
			if err != nil {
				t.Fatal(err)
			}
		}
		log, database = syncs.log.Load()-log, syncs.database.Load()-database
		if log < test.commits {
			t.Errorf("%d creates were acknowledged after %d flushes of the log, want %d: look at synchronous=FULL in sqlitePragmas, and at when the writer answers",
				test.changes, log, test.commits)
		}
		if log > test.commits || database > 0 {
			t.Errorf("%d creates that waited together took %d flushes of the log and %d of the database, want %d and 0: look at the writer's batches, and at what else commits",
				test.changes, log, database, test.commits)
		}
	}
}

// Creates that wait together write few pages to the log: what they touch lies together, and the search keeps few words.
func TestConcurrentCreateWritesFewPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, store.Options{Data: dir})
	account := newAccount(t, s).Number
	const batches, size, page = 20, 32, 4096 + 24 // bytes of a page in the log
	length := func() int64 {
		info := must(os.Stat(filepath.Join(dir, "donorbook.db-wal")))(t)
		return info.Size()
	}
	create := func(batch int) {
		changes := make([]func() error, size)
		for i := range changes {
			name := fmt.Sprintf("N%d", batch*size+i)
			in := input(t, fmt.Sprintf(`{"first_name":%q,"last_name":"Okafor","company":"Harbor","emails":[{"value":"%s@x.org"}],"phones":[{"value":"212-555-%04d"}],"tags":["vip"],"addresses":[{"city":"Boston","zipcode":"02110"}]}`,
				name, strings.ToLower(name), batch*size+i))
			changes[i] = func() error {
				_, err := s.CreateContact(t.Context(), account, in, crm.Force)
				return err
			}
		}
		for _, err := range together(t, s, account, changes...) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	create(0)
	before := length()
	for batch := range batches {
		create(batch + 1)
	}
	if pages := float64(length()-before) / page / batches / size; pages > maxPages {
		t.Errorf("a create writes %.2f pages of the log, want %.2f at most: look at which tables and indexes it touches; if it must, change this gate", pages, maxPages)
	}
}

const maxPages = 1.1 // of each of 32 creates in a transaction

// A request runs a fixed number of statements, including those of its transaction.
func TestStatementsOfARequest(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	account := newAccount(t, s).Number
	for i := range 60 {
		create(t, s, account, fmt.Sprintf(`{"first_name":"P%d"}`, i))
	}
	list(t, s, account, crm.Active, 1, 20) // brings the set up to date
	check := func(what string, want int64, do func()) {
		t.Helper()
		if got := workOf(s, do).Runs; got != want {
			t.Errorf("%s ran %d statements, want %d: look at what the request asks one by one; if it must, change this gate", what, got, want)
		}
	}
	id := doc.MakeID(account, 7)
	check("a GET", 1, func() { get(t, s, account, id) })
	for _, page := range []int64{1, 2, 3} {
		check(fmt.Sprintf("page %d", page), 1, func() { list(t, s, account, crm.Active, page, 20) })
	}
	update := func(title string) func() {
		return func() {
			if _, err := s.UpdateContact(t.Context(), account, id, input(t, `{"title":"`+title+`"}`)); err != nil {
				t.Error(err)
			}
		}
	}
	tag := func(id int64) func() {
		return func() {
			if _, err := s.AddTags(t.Context(), account, id, []string{"vip"}); err != nil {
				t.Error(err)
			}
		}
	}
	check("a change", 7, update("Dr."))          // begin, the account's row read and written, the contact read and written, its history, commit
	check("a new tag", 12, tag(id+1))            // and the words; an update of the tag's count that finds no row, then the tag; the tag's set read and written; the account's row; its history
	check("a tag that others have", 11, tag(id)) // and the words, the tag's count; the tag's set read and written; the account's row; its history
	list(t, s, account, crm.Active, 1, 20)
	check("another change", 7, update("Prof."))
	create(t, s, account, `{"first_name":"More"}`)
	check("a page after changes that move nobody", 1, func() { list(t, s, account, crm.Active, 1, 20) })
	check("archiving", 12, func() { archive(t, s, account, id) })                         // begin, row, contact, the archive, contact, its tag, the archive, row, history, its duplicates by either column, commit
	check("a page after archiving", 6, func() { list(t, s, account, crm.Active, 1, 20) }) // one that returns no rows; begin, totals, the archive, contacts, end
	check("a page past the end", 3, func() { list(t, s, account, crm.Active, 9, 20) })    // begin, totals, end
	for _, test := range []struct{ emails, phones, tags, fresh int }{{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 1, 3, 3}, {5, 5, 5, 2}} {
		in := manyKeys(t, test.emails, test.phones, test.tags)
		fresh := must(crm.NewContact(in, time.Now()))(t)
		// Begin, the account's row read and written, the contact, its words and history, commit; each key looked up if it can match, and written;
		// each tag counted, with one more statement if no contact had it, and the tag's set read and written; the set of those who lack an email or
		// a phone read and written, if the contact does.
		want := 7 + len(in.MatchKeys()) + len(fresh.MatchKeys) + 3*test.tags + test.fresh
		for _, detail := range crm.Details {
			if !fresh.HasDetail(detail) {
				want += 2
			}
		}
		check(fmt.Sprintf("a create with %+v", test), int64(want), func() {
			if _, err := s.CreateContact(t.Context(), account, in, crm.Dedupe); err != nil {
				t.Error(err)
			}
		})
	}
}

// The cost of a request that the client may send again: the answer is looked up and written, and expired answers are looked up.
func TestStatementsOfAnAttempt(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	account := newAccount(t, s).Number
	run := func(change func() error) int64 {
		return workOf(s, func() {
			if err := change(); err != nil {
				t.Error(err)
			}
		}).Runs
	}
	plain, first, second := run(creating(t, s, account, "Ana")), run(attempting(t, s, account, "Bea")), run(attempting(t, s, account, "Bea"))
	// A replay: begin, the account's row, the email, the contact that has it, the set of those without a phone, the answer, the expired answers, rollback.
	if first != plain+3 || second != 8 {
		t.Errorf("a create ran %d statements, one that may be sent again %d, want 3 more, and the second one %d, want 8", plain, first, second)
	}
}

// manyKeys is a new contact with this many emails, phones and tags.
func manyKeys(t *testing.T, emails, phones, tags int) crm.ContactInput {
	var e, p, g []string
	for i := range emails {
		e = append(e, fmt.Sprintf(`{"value":"p%d-%d@x.org"}`, emails, i))
	}
	for i := range phones {
		p = append(p, fmt.Sprintf(`{"value":"+1212555%02d%02d"}`, phones, i))
	}
	for i := range tags {
		g = append(g, fmt.Sprintf(`"t%d"`, i))
	}
	return input(t, fmt.Sprintf(`{"first_name":"Ana","emails":[%s],"phones":[%s],"tags":[%s]}`,
		strings.Join(e, ","), strings.Join(p, ","), strings.Join(g, ",")))
}

// The last page reads as many rows as the first, on every engine: its contacts.
func TestTheLastPageReadsAsManyRowsAsTheFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *book.Book) {
		account := newAccount(t, s).Number
		var changes []func() error
		for i := range 60 {
			changes = append(changes, creating(t, s, account, fmt.Sprintf("N%d", i)))
		}
		for _, err := range together(t, s, account, changes...) {
			if err != nil {
				t.Fatal(err)
			}
		}
		list(t, s, account, crm.Active, 1, 20) // brings the set up to date
		read := countRows(s)
		for _, page := range []int64{1, 2, 3} {
			before := read.Load()
			list(t, s, account, crm.Active, page, 20)
			if rows := read.Load() - before; rows != 20 {
				t.Errorf("page %d of 20 contacts read %d rows, want 20: look at how a page is found", page, rows)
			}
		}
	})
}

// A tag whose set is known costs its contacts and the account's row on every page; an email costs its contact, its key and the account's row.
func TestAFilteredPageReadsAsManyRowsAsItHas(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *book.Book) {
		account := newAccount(t, s).Number
		for i := range 60 {
			create(t, s, account, fmt.Sprintf(`{"first_name":"N%d","emails":[{"value":"n%d@x.org"}],"tags":["vip"]}`, i, i))
		}
		read := countRows(s)
		rows := func(f find.Filter, page, want int64) (n int64) {
			t.Helper()
			before := read.Load()
			_, found, err := s.FilteredContacts(t.Context(), account, crm.Active, f, crm.PageRequest{Page: page, PerPage: 20}, nil, nil)
			if err != nil || found.Count != want {
				t.Fatalf("%v: %+v, want %d", err, found, want)
			}
			return read.Load() - before
		}
		tagged := find.Filter{Tags: []string{"vip"}}
		rows(tagged, 1, 20) // reads the set
		for _, page := range []int64{1, 2, 3} {
			if n := rows(tagged, page, 20); n != 21 {
				t.Errorf("page %d of 20 contacts with a tag read %d rows, want 21: look at set_cache.go", page, n)
			}
		}
		for _, i := range []int{0, 59} {
			if n := rows(find.Filter{Email: fmt.Sprintf("e:n%d@x.org", i)}, 1, 1); n != 3 { // the account's, the key's and the contact's
				t.Errorf("an email read %d rows, want 3: look at contact_filter.go", n)
			}
		}
	})
}

// OFFSET reads everything before the page inside the database, where our counters do not see it.
func TestNoStatementSkipsRows(t *testing.T) {
	t.Parallel()
	for name, text := range statementTexts(t, openSQLite(t)) {
		if slices.Contains([]string{"sqlTagPage", "sqlOldestOf", "sqlNewestOf"}, name) {
			continue // how many tags, or changes of a document, there are is counted anyway, which reads as many entries of the same index
		}
		if strings.Contains(strings.ToUpper(text), "OFFSET") {
			t.Errorf("%s skips rows: look up where the page begins instead (set_cache.go)\n%s", name, text)
		}
	}
}

// Only a write that has reached the disk shows that the database accepts writes.
func TestReadyReachesTheDisk(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	syncs := countSyncs(t, s)
	before := syncs.log.Load()
	if err := s.Ready(t.Context()); err != nil || syncs.log.Load() != before+1 {
		t.Errorf("%v, after %d flushes of the log", err, syncs.log.Load()-before)
	}
}
