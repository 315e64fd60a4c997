//go:build drill

package db_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// openCounted opens a store on PostgreSQL whose round trips are counted.
func openCounted(t *testing.T) (*book.Book, *proxy) {
	t.Helper()
	p, through := startProxy(t, rig.Database(t))
	return open(t, store.Options{Database: through}), p
}

// least is the smallest increase of a counter in a few runs: a connection that has been idle for a while is checked
// first, and a new one prepares its statements.
func least(counter *atomic.Int64, do func()) int64 {
	least := int64(1 << 62)
	for range 4 {
		before := counter.Load()
		do()
		least = min(least, counter.Load()-before)
	}
	return least
}

// The cost of a request on PostgreSQL is mostly how often it waits for the server.
func TestRequestsTakeFewRoundTrips(t *testing.T) {
	t.Parallel()
	s, p := openCounted(t)
	account := newAccount(t, s).Number
	id := create(t, s, account, `{"first_name":"Ana"}`).ID
	n := 0
	changes := func(count int, change func(i int) func() error) func() {
		return func() {
			all := make([]func() error, count)
			for i := range all {
				n++
				all[i] = change(n)
			}
			succeed(t, together(t, s, account, all...))
		}
	}
	creates := func(i int) func() error { return creating(t, s, account, fmt.Sprintf("N%d", i)) }
	attempts := func(i int) func() error { return attempting(t, s, account, fmt.Sprintf("A%d", i)) }
	tagged := func(i int) func() error {
		return adding(t, s, account,
			fmt.Sprintf(`{"first_name":"T%d","emails":[{"value":"t%d@x.org"}],"tags":["all","t%d"]}`, i, i, i))
	}
	tags := func(i int) func() error {
		return func() error {
			_, err := s.AddTags(t.Context(), account, id, []string{fmt.Sprintf("t%d", i)})
			return err
		}
	}
	last := doc.MakeID(account, 1+4*(1+50)) // before those with tags
	archives := func(int) func() error {
		last++
		id := last
		return func() error { return s.ArchiveContact(t.Context(), account, id) }
	}
	moves := func(i int) func() error {
		id := doc.MakeID(account, 2+int64(i)%20)
		in := input(t, fmt.Sprintf(`{"addresses":[{"city":"City %d","zipcode":"%05d"}]}`, i, 1000*i))
		return func() error {
			_, err := s.UpdateContact(t.Context(), account, id, in)
			return err
		}
	}
	for _, test := range []struct {
		name string
		do   func()
		most int64
	}{
		{"a contact", func() { rig.Get(t, s, account, id) }, 1},
		{"a page", func() { page(t, s, account, crm.Active, 1, 1) }, 1},
		{"a create", changes(1, creates), 2},
		{"50 creates in a group", changes(50, creates), 2},
		{"50 creates with tags", changes(50, tagged), 2},
		{"a create that may be sent again", changes(1, attempts), 2},
		{"50 creates that may be sent again", changes(50, attempts), 2},
		{"a create that was answered before", changes(1, func(int) func() error {
			return attempting(t, s, account,
				"Again")
		}), 3},
		{"a change", changes(1, tags), 2},
		{"20 changes of one contact", changes(20, tags), 2},
		{"20 contacts with tags that are archived", changes(20, archives), 3},
		{"20 contacts that move to another city", changes(20, moves), 3},
		{"20 creates of one person", changes(20, func(int) func() error { return creating(t, s, account, "Twin") }), 3},
	} {
		if got := least(&p.trips, test.do); got < 1 || got > test.most {
			t.Errorf("%s: %d round trips, want at most %d", test.name, got, test.most)
		}
	}
	// Changes of a batch that write to the same table share a statement, or a few: there are statements for 1, 2, 4
	// rows and so on up to 64.
	if alone, grouped := least(&p.ran, changes(1, tagged)), least(&p.ran, changes(50, tagged)); alone < 8 ||
		grouped > 2*alone {
		t.Errorf("a create takes %d statements, and 50 in a group %d", alone, grouped)
	}
}

// gathered runs reads as one group. They are queued while the reads in progress use all connections.
func gathered(t *testing.T, s *book.Book, reads ...func() error) []error {
	t.Helper()
	release := s.DB().HoldReads()
	errs := make([]error, len(reads))
	var wg sync.WaitGroup
	for i, read := range reads {
		wg.Go(func() { errs[i] = read() })
		for s.DB().WaitingReads() <= i {
			time.Sleep(time.Millisecond)
		}
	}
	release()
	wg.Wait()
	return errs
}

func TestConcurrentReadsThatWaitShareARoundTrip(t *testing.T) {
	t.Parallel()
	s, p := openCounted(t)
	account := newAccount(t, s).Number
	reads := make([]func() error, 50)
	for i := range reads {
		name := fmt.Sprintf("N%d", i)
		id := create(t, s, account, named(name)).ID
		reads[i] = func() error {
			document, err := s.Contact(t.Context(), account, id, nil)
			if err == nil && rig.Parse(t, document).FirstName != name {
				t.Errorf("contact %d is %s", i, document)
			}
			return err
		}
	}
	got := least(&p.trips, func() { succeed(t, errors.Join(gathered(t, s, reads...)...)) })
	if got > db.ReadBatches {
		t.Errorf("%d reads took %d round trips", len(reads), got)
	}
}

// A machine that has the rows of some accounts is away: a distributed engine says so for their statements, and goes on
// with others. Reads of other accounts are answered at once, however many fail beside them, and however long it takes
// to find that out.
func TestConcurrentAccountsOnAMachineThatIsAwayFailNoOther(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	account := newAccount(t, s).Number
	id := create(t, s, account, `{"first_name":"Ana"}`).ID
	succeed(t, s.DB().Rebuild(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(`CREATE FUNCTION away(account BIGINT, seconds BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS
			'BEGIN PERFORM pg_sleep(seconds); RAISE EXCEPTION ''connection to the remote node failed'' USING ERRCODE = ''08006''; END'`)
		return err
	}))
	var attempts atomic.Int64
	s.DB().Observe(&db.Observer{Lending: func() { attempts.Add(1) }})
	away := func(account, seconds int64) func() error {
		return func() error {
			return s.DB().Read(t.Context(), func(c db.Conn) error {
				_, err := c.Int(`SELECT away($1, $2)`, account, seconds)
				return err
			})
		}
	}
	healthy := func() error {
		_, err := s.Contact(t.Context(), account, id, nil)
		return err
	}
	var reads []func() error
	for i := range int64(20) {
		reads = append(reads, away(1000+i, 0), healthy)
	}
	for i, err := range gathered(t, s, reads...) {
		if i%2 == 0 && !errors.Is(err, db.ErrUnavailable) || i%2 == 1 && err != nil {
			t.Errorf("read %d: %v", i, err)
		}
	}
	equal(t, attempts.Load(), 40, "40 reads were tried")
	for i, err := range gathered(t, s, away(1000, 2), healthy, healthy, away(1001, 0), healthy) {
		equal(t, (i == 0 || i == 3), (err != nil), "read %d after a long wait", i)
	}
}

func TestConcurrentReadThatFailsDoesNotDisturbItsGroup(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	account := newAccount(t, s).Number
	id := create(t, s, account, `{"first_name":"Ana"}`).ID
	read := func(ctx context.Context, id int64) func() error {
		return func() error {
			_, err := s.Contact(ctx, account, id, nil)
			return err
		}
	}
	asking := func(sql string) func() error {
		return func() error {
			return s.DB().Read(t.Context(), func(c db.Conn) error {
				_, err := c.Exists(sql, int64(0))
				return err
			})
		}
	}
	impossible, unknown := asking(`SELECT 1 / $1`), asking(`SELECT 1 FROM nothing WHERE id = $1`)
	leaving, leave := context.WithCancel(t.Context())
	leaver := func() error {
		defer leave()
		return s.DB().Read(leaving, func(c db.Conn) error {
			_, err := c.Exists(`SELECT 1 FROM contact WHERE account_id = $1 AND id = $2`, account, id)
			leave()
			return errors.Join(err, read(leaving, id)())
		})
	}
	good := read(t.Context(), id)
	errs := gathered(t, s, good, impossible, leaver, read(t.Context(), id+1), good, impossible, good, unknown, good)
	for _, i := range []int{1, 5, 7} {
		if errs[i] == nil || errors.Is(errs[i], db.ErrUnavailable) {
			t.Errorf("an impossible statement: %v", errs[i])
		}
	}
	wantError(t, "who left", errs[2], context.Canceled)
	wantError(t, "a contact that is not there", errs[3], crm.ErrNotFound)
	for _, i := range []int{0, 4, 6, 8} {
		if errs[i] != nil {
			t.Errorf("a neighbor got %v", errs[i])
		}
	}
}

func TestAClientWhoLeavesDuringAReadDoesNotCostAConnection(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	pool := s.DB().ReadPool()
	ctx, leave := context.WithCancel(t.Context())
	succeed(t, s.DB().View(ctx, func(c db.Conn) error {
		before := pool.Stat().NewConnsCount()
		time.AfterFunc(50*time.Millisecond, leave)
		if _, err := c.Exists(`SELECT 1 FROM pg_sleep($1 / 10.0)`, int64(3)); err != nil {
			t.Errorf("the statement was broken off: %v", err)
		}
		if _, err := c.Exists(db.VersionQuery); !errors.Is(err, context.Canceled) {
			t.Errorf("the next statement: %v", err)
		}
		equal(t, pool.Stat().NewConnsCount()-before, 0)
		return nil
	}))
}
