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

	"go.uber.org/goleak"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/pgtest"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// load simulates many clients at once: they create, read, list and authenticate, and check every answer. A client whose
// create failed repeats it until it is acknowledged.
type load struct {
	t       *testing.T
	s       *book.Book
	account int64
	secret  string
	stopped chan struct{}
	workers sync.WaitGroup
	done    [4]atomic.Int64 // successes of each kind

	mu      sync.Mutex
	acked   map[int64]string // the names of acknowledged contacts by their ids
	last    time.Time        // of the last acknowledgement
	pause   time.Duration    // the longest pause between two acknowledgements
	slowest time.Duration    // the longest wait of any client for any answer
	refused int              // answers that said unavailable
}

func startLoad(t *testing.T, s *book.Book) *load {
	t.Helper()
	l := &load{t: t, s: s, account: newAccount(t, s).Number, stopped: make(chan struct{}), acked: map[int64]string{},
		last: time.Now()}
	_, secret := must2(s.CreateKey(t.Context(), l.account,
		access.KeyInput{Name: "K", Permissions: access.ContactsRead}))(t)
	l.secret = secret
	l.acked[create(t, s, l.account, named("first")).ID] = "first"
	for i := range 6 {
		l.work(0, l.creator(i))
		l.work(1, l.get)
		l.work(2, l.list)
		l.work(3, l.authenticate)
	}
	return l
}

// work repeats the same operation. It may fail only if the database is unavailable.
func (l *load) work(kind int, do func(context.Context) error) {
	l.workers.Go(func() {
		for {
			select {
			case <-l.stopped:
				return
			default:
			}
			start := time.Now()
			err := do(context.Background())
			l.mu.Lock()
			l.slowest = max(l.slowest, time.Since(start))
			if err != nil {
				l.refused++
			}
			l.mu.Unlock()
			switch {
			case err == nil:
				l.done[kind].Add(1)
			case !errors.Is(err, crm.ErrUnavailable):
				l.t.Errorf("work of kind %d: %v", kind, err)
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
}

func (l *load) creator(worker int) func(context.Context) error {
	n, repeated := 0, false
	return func(ctx context.Context) error {
		name := fmt.Sprintf("w%d-%d", worker, n)
		d, err := l.s.CreateContact(ctx, l.account, input(l.t, named(name)), crm.Dedupe)
		if err != nil {
			repeated = true
			return err
		}
		if d.Merged && !repeated {
			l.t.Errorf("%s was there before it was created", name)
		}
		n, repeated = n+1, false
		l.mu.Lock()
		defer l.mu.Unlock()
		l.acked[d.ID] = name
		l.pause, l.last = max(l.pause, time.Since(l.last)), time.Now()
		return nil
	}
}

// get reads any contact that was acknowledged.
func (l *load) get(ctx context.Context) error {
	var id int64
	var name string
	l.mu.Lock()
	for id, name = range l.acked {
		break
	}
	l.mu.Unlock()
	document, err := l.s.Contact(ctx, l.account, id, nil)
	if err == nil && rig.Parse(l.t, document).FirstName != name {
		l.t.Errorf("contact %d is %s, want %s", id, document, name)
	}
	return err
}

func (l *load) list(ctx context.Context) error {
	l.mu.Lock()
	acked := len(l.acked)
	l.mu.Unlock()
	_, result, err := l.s.Contacts(ctx, l.account, crm.Active, crm.PageRequest{Page: 1, PerPage: 10}, nil, nil)
	if err == nil && (result.Total < int64(acked) || result.Count != min(10, result.Total)) {
		l.t.Errorf("%d contacts were acknowledged, and the list shows %+v", acked, result)
	}
	return err
}

func (l *load) authenticate(ctx context.Context) error {
	who, err := l.s.Authenticate(ctx, l.secret)
	if err == nil && (who.Account != l.account || who.Permissions != access.ContactsRead) {
		l.t.Errorf("the key is of %+v", who)
	}
	return err
}

// recover waits until everything works again, and says how long that took.
func (l *load) recover() time.Duration {
	l.t.Helper()
	start := time.Now()
	for kind := range l.done {
		before := l.done[kind].Load()
		for l.done[kind].Load() < before+5 {
			if time.Since(start) > 30*time.Second {
				l.t.Fatalf("work of kind %d does not come back", kind)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return time.Since(start)
}

// stop ends the load. Every contact that was acknowledged must be there, once.
func (l *load) stop() {
	l.t.Helper()
	close(l.stopped)
	l.workers.Wait()
	there, seen := map[int64]string{}, map[string]bool{}
	for n := int64(1); ; n++ {
		documents, _ := page(l.t, l.s, l.account, crm.Active, n, 100)
		ids := rig.IDs(l.t, documents)
		for _, id := range ids {
			name := rig.Get(l.t, l.s, l.account, id).FirstName
			if there[id] = name; seen[name] {
				l.t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if len(ids) == 0 {
			break
		}
	}
	for id, name := range l.acked {
		equal(l.t, there[id], name, "contact %d was acknowledged", id)
	}
	l.t.Logf("%d contacts acknowledged, %d there; %d answers were: unavailable; the longest wait for an answer was %v, "+
		"the longest pause between creates %v", len(l.acked), len(there), l.refused, l.slowest, l.pause)
}

// ready waits until the store reports that it is ready, or that it is not. No single answer may take long.
func ready(t *testing.T, s *book.Book, want bool) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		asked := time.Now()
		err := s.Ready(t.Context())
		if took := time.Since(asked); took > 15*time.Second { // two, on an idle machine
			t.Errorf("to say %v took %v", err, took)
		}
		if err != nil && !errors.Is(err, crm.ErrUnavailable) {
			t.Error(err)
		}
		if (err == nil) == want {
			return
		}
		if time.Since(start) > 20*time.Second {
			t.Fatalf("Ready says %v", err)
		}
	}
}

func connections(t *testing.T, url string) int64 {
	t.Helper()
	return must(pgtest.Number(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'donorbook'"))(t)
}

func TestConcurrentDatabaseThatGoesAwayIsMissedAndComesBack(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	server := must(pgtest.New("fsync = off"))(t)
	defer server.Remove()
	url := must(server.Database())(t)
	s := must(book.Open(t.Context(), store.Options{Database: url}))(t)
	l := startLoad(t, s)
	l.recover()
	ready(t, s, true)
	for _, away := range []func(){
		func() { server.Stop(); ready(t, s, false); wantQuickRefusal(t, s, l.account) },
		server.Kill,
	} {
		away()
		succeed(t, server.Start())
		took := l.recover()
		ready(t, s, true)
		t.Logf("everything worked again %v after the server did; %d connections", took.Round(time.Millisecond),
			connections(t, url))
	}
	// Connections that are lost one by one are replaced, with little effect on clients.
	for range 3 {
		must(pgtest.Number(url,
			"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'donorbook'"))(t)
		l.recover()
	}
	if n := connections(t, url); n > db.PostgresReaders+db.PostgresWriters {
		t.Errorf("%d connections", n)
	}
	l.stop()
	if l.slowest > 20*time.Second {
		t.Errorf("somebody waited for %v", l.slowest)
	}
	checkIntegrity(t, s)
	succeed(t, s.Close())
	waitUntil(t, url, "SELECT -count(*) FROM pg_stat_activity WHERE application_name = 'donorbook'", 0)
	server.Remove()
	goleak.VerifyNone(t, leaks)
}

// wantQuickRefusal sends more than any queue holds to a database that is unavailable. All of it is refused quickly.
func wantQuickRefusal(t *testing.T, s *book.Book, account int64) {
	t.Helper()
	in := input(t, `{"first_name":"Nobody"}`)
	start := time.Now()
	rig.AtOnce(1000, func(i int) {
		if i%2 == 0 {
			_, err := s.Contact(t.Context(), account, doc.MakeID(account, 1), nil)
			wantError(t, "a read", err, crm.ErrUnavailable)
			return
		}
		_, err := s.CreateContact(t.Context(), account, in, crm.Dedupe)
		wantError(t, "a create", err, crm.ErrUnavailable)
	})
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("1000 requests to a database that is away took %v", took)
	}
}

// Accounts whose rows are locked elsewhere, such as by a node that repairs them, keep no other account waiting, even
// where there are as many of them as writers that usually work.
func TestConcurrentAccountsThatAreLockedHoldUpNoOther(t *testing.T) {
	t.Parallel()
	url := rig.Database(t)
	s, exec := open(t, store.Options{Database: url}), client(t, url)
	waiting := make(chan error, db.PostgresUsual)
	exec("BEGIN")
	for range db.PostgresUsual {
		account := newAccount(t, s).Number
		exec(lockTally, account)
		go func() { waiting <- creating(t, s, account, "Ana")() }()
	}
	waitUntil(t, url, blocked, db.PostgresUsual)
	for range 2 * db.PostgresWriters {
		create(t, s, newAccount(t, s).Number, `{"first_name":"Ben"}`)
	}
	if n := len(waiting); n > 0 {
		t.Errorf("the others have waited for %d of the accounts", n)
	}
	exec("ROLLBACK")
	for range db.PostgresUsual {
		succeed(t, <-waiting)
	}
}
