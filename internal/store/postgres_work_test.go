package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
)

// openCounted opens a store on PostgreSQL whose round trips are counted.
func openCounted(t *testing.T) (*Store, *proxy) {
	t.Helper()
	url, err := cluster.Database()
	if err != nil {
		t.Fatal(err)
	}
	p, through := startProxy(t, url)
	return open(t, Options{Database: through}), p
}

// least is by how much something moves a counter. It is the least of a few times: a connection that nobody has used for a
// while is tried first, and one that is new prepares itself.
func least(counter *atomic.Int64, do func()) int64 {
	least := int64(1 << 62)
	for range 4 {
		before := counter.Load()
		do()
		least = min(least, counter.Load()-before)
	}
	return least
}

// What many changes ask in the same words is asked once, about all of them.
func TestCreatesOfABatchShareTheirStatements(t *testing.T) {
	t.Parallel()
	s, p := openCounted(t)
	account := newAccount(t, s).Number
	n := 0
	creates := func(count int) func() {
		return func() {
			changes := make([]func() error, count)
			for i := range changes {
				n++
				in := input(t, fmt.Sprintf(`{"first_name":"N%d","emails":[{"value":"n%d@x.org"}],"phones":[{"value":"(212) 555-%04d"}],"tags":["a","t%d"]}`, n, n, n, n))
				changes[i] = func() error {
					_, err := s.CreateContact(t.Context(), account, in, crm.Dedupe)
					return err
				}
			}
			if err := errors.Join(together(t, s, account, changes...)...); err != nil {
				t.Error(err)
			}
		}
	}
	alone, grouped := least(&p.ran, creates(1)), least(&p.ran, creates(50))
	if alone < 8 || grouped > alone {
		t.Errorf("a create takes %d statements, and 50 in a group %d", alone, grouped)
	}
	for i, name := range names(t, s, account) {
		if name != fmt.Sprintf("N%d", i+1) {
			t.Errorf("contact %d is %s", i+1, name)
		}
	}
	counts, err := s.SuggestTags(t.Context(), account, "a", 1)
	if err != nil || len(counts) != 1 || counts[0].Contacts != int64(n) {
		t.Errorf("of %d contacts with a tag, %v are counted, %v", n, counts, err)
	}
}

// What a request costs on PostgreSQL is mostly how often it waits for the server.
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
			if err := errors.Join(together(t, s, account, all...)...); err != nil {
				t.Error(err)
			}
		}
	}
	creates := func(i int) func() error { return creating(t, s, account, fmt.Sprintf("N%d", i)) }
	tags := func(i int) func() error {
		return func() error {
			_, err := s.AddTags(t.Context(), account, id, []string{fmt.Sprintf("t%d", i)})
			return err
		}
	}
	for _, test := range []struct {
		name string
		do   func()
		most int64
	}{
		{"a contact", func() { get(t, s, account, id) }, 1},
		{"a page", func() { list(t, s, account, crm.Active, 1, 1) }, 1},
		{"a create", changes(1, creates), 2},
		{"50 creates in a group", changes(50, creates), 2},
		{"a change", changes(1, tags), 2},
		{"20 changes of one contact", changes(20, tags), 2},
		{"20 creates of one person", changes(20, func(int) func() error { return creating(t, s, account, "Twin") }), 3},
	} {
		if got := least(&p.trips, test.do); got < 1 || got > test.most {
			t.Errorf("%s: %d round trips, want at most %d", test.name, got, test.most)
		}
	}
}

// gathered runs reads as one group. Each gets what it does while the reads that are under way take up all the room.
func gathered(t *testing.T, s *Store, reads ...func() error) []error {
	t.Helper()
	g := &s.engine.(*postgresEngine).gatherer
	g.mu.Lock()
	g.running += gatherings
	g.mu.Unlock()
	errs := make([]error, len(reads))
	var wg sync.WaitGroup
	for i, read := range reads {
		wg.Go(func() { errs[i] = read() })
		for waiting := 0; waiting <= i; runtime.Gosched() {
			g.mu.Lock()
			waiting = len(g.waiting)
			g.mu.Unlock()
		}
	}
	for range gatherings { // the first hands over to those who wait
		g.handOver()
	}
	wg.Wait()
	return errs
}

func TestReadsThatWaitShareARoundTrip(t *testing.T) {
	t.Parallel()
	s, p := openCounted(t)
	account := newAccount(t, s).Number
	var ids []int64
	for i := range 50 {
		ids = append(ids, create(t, s, account, fmt.Sprintf(`{"first_name":"N%d"}`, i)).ID)
	}
	got := least(&p.trips, func() {
		reads := make([]func() error, len(ids))
		for i, id := range ids {
			reads[i] = func() error {
				document, err := s.Contact(t.Context(), account, id, nil)
				if err == nil && parse(t, document).FirstName != fmt.Sprintf("N%d", i) {
					t.Errorf("contact %d is %s", i, document)
				}
				return err
			}
		}
		if err := errors.Join(gathered(t, s, reads...)...); err != nil {
			t.Error(err)
		}
	})
	if got > gatherings {
		t.Errorf("%d reads took %d round trips", len(ids), got)
	}
}

func TestAReadThatFailsDoesNotDisturbItsGroup(t *testing.T) {
	t.Parallel()
	s := open(t, testEngines[1].options(t))
	account := newAccount(t, s).Number
	id := create(t, s, account, `{"first_name":"Ana"}`).ID
	read := func(ctx context.Context, id int64) func() error {
		return func() error {
			_, err := s.Contact(ctx, account, id, nil)
			return err
		}
	}
	impossible := func() error {
		return s.read(t.Context(), func(c conn) error {
			_, err := one(c, func(rows) {}, `SELECT 1 / $1`, int64(0))
			return err
		})
	}
	leaving, leave := context.WithCancel(t.Context())
	leaver := func() error {
		defer leave()
		return s.read(leaving, func(c conn) error {
			_, err := one(c, func(rows) {}, sqlContact, account, id)
			leave()
			return errors.Join(err, read(leaving, id)())
		})
	}
	errs := gathered(t, s, read(t.Context(), id), impossible, leaver, read(t.Context(), id+1), read(t.Context(), id), impossible)
	for _, i := range []int{1, 5} {
		if errs[i] == nil || errors.Is(errs[i], crm.ErrUnavailable) {
			t.Errorf("a division by zero: %v", errs[i])
		}
	}
	wantError(t, "who left", errs[2], context.Canceled)
	wantError(t, "a contact that is not there", errs[3], crm.ErrForbidden)
	if errs[0] != nil || errs[4] != nil {
		t.Errorf("the neighbours got %v and %v", errs[0], errs[4])
	}
}

// What a batch looks up before it runs is what its earlier changes leave, not what was there before them.
func TestAChangeSeesWhatEarlierOnesOfItsBatchDid(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s).Number
		old := create(t, s, account, `{"first_name":"Old","emails":[{"value":"old@x.org"}]}`).ID
		made := make([]Document, 6)
		creates := func(i int, body string) func() error {
			in := input(t, body)
			return func() (err error) {
				made[i], err = s.CreateContact(t.Context(), account, in, crm.Dedupe)
				return err
			}
		}
		patch := input(t, `{"emails":[{"value":"moved@x.org"}]}`)
		errs := together(t, s, account,
			creates(0, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`),
			creates(1, `{"emails":[{"value":"ana@x.org"}],"tags":["again"]}`),
			func() error {
				_, err := s.UpdateContact(t.Context(), account, old, patch)
				return err
			},
			creates(2, `{"first_name":"New","emails":[{"value":"old@x.org"}]}`),
			creates(3, `{"emails":[{"value":"moved@x.org"}],"tags":["found"]}`),
			func() error {
				_, err := s.AddTags(t.Context(), account, old, []string{"last"})
				return err
			},
			func() error { return s.ArchiveContact(t.Context(), account, old) },
			creates(4, `{"first_name":"Other","emails":[{"value":"moved@x.org"}]}`),
			func() error {
				_, err := s.AddTags(t.Context(), account, old, []string{"late"})
				if !errors.Is(err, crm.ErrForbidden) {
					t.Errorf("a tag for an archived contact: %v", err)
				}
				return nil
			})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct {
			seq    int64
			merged bool
		}{{2, false}, {2, true}, {3, false}, {1, true}, {4, false}} {
			if crm.IDSeq(made[i].ID) != want.seq || made[i].Merged != want.merged {
				t.Errorf("create %d: contact %d, merged %v; want %+v", i, crm.IDSeq(made[i].ID), made[i].Merged, want)
			}
		}
		tag := func(name string) func() error {
			return func() error {
				_, err := s.AddTags(t.Context(), account, made[2].ID, []string{name})
				return err
			}
		}
		if err := errors.Join(together(t, s, account, tag("a"), tag("b"), creates(5, `{"emails":[{"value":"old@x.org"}],"tags":["c"]}`), tag("d"))...); err != nil {
			t.Fatal(err)
		}
		if tags := get(t, s, account, made[2].ID).Tags; fmt.Sprint(tags) != "[a b c d]" {
			t.Errorf("the tags of the contact that was changed again and again are %q", tags)
		}
		restored := parse(t, restore(t, s, account, old).Append(nil))
		if fmt.Sprint(restored.Tags) != "[found last]" {
			t.Errorf("the tags of the changed contact are %q", restored.Tags)
		}
	})
}

func TestAClientWhoLeavesDuringAReadDoesNotCostAConnection(t *testing.T) {
	t.Parallel()
	s := open(t, testEngines[1].options(t))
	pool := s.engine.(*postgresEngine).read
	ctx, leave := context.WithCancel(t.Context())
	err := s.view(ctx, func(c conn) error {
		before := pool.Stat().NewConnsCount()
		time.AfterFunc(50*time.Millisecond, leave)
		if _, err := one(c, func(rows) {}, `SELECT 1 FROM pg_sleep($1 / 10.0)`, int64(3)); err != nil {
			t.Errorf("the statement was broken off: %v", err)
		}
		if _, err := one(c, func(rows) {}, sqlVersion); !errors.Is(err, context.Canceled) {
			t.Errorf("the next statement: %v", err)
		}
		if made := pool.Stat().NewConnsCount() - before; made != 0 {
			t.Errorf("%d connections were made anew", made)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
