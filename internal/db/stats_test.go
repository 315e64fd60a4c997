package db_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
	"donorbook/internal/store/book"
)

func TestConcurrentStatsTellHowTheDatabaseIsDoing(t *testing.T) {
	t.Parallel()
	for _, e := range testEngines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			o := e.options(t)
			var passed atomic.Int64 // of the clock
			began := time.Now()
			o.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
			wantStats(t, open(t, o), o.Database == "", func(d time.Duration) { passed.Add(int64(d)) })
		})
	}
}

func wantStats(t *testing.T, s *book.Book, isSQLite bool, move func(time.Duration)) {
	account := newAccount(t, s)
	before, err := s.Size(t.Context())
	if err != nil || before <= 0 {
		t.Errorf("the database has %d bytes: %v", before, err)
	}
	for i := range 100 {
		create(t, s, account.Number, fmt.Sprintf(`{"first_name":"P%d","addresses":[{"address_1":%q}]}`, i, strings.Repeat("x", 250)))
	}
	move(time.Minute)
	if after, err := s.Size(t.Context()); err != nil || after < before {
		t.Errorf("the database has %d bytes after %d: %v", after, before, err)
	}
	if log, ok := s.LogSize(); ok != isSQLite || ok && log < 100_000 {
		t.Errorf("the log has %d bytes, %v", log, ok)
	}
	if n := s.Waiting(); n != 0 {
		t.Errorf("%d changes wait", n)
	}

	// One change holds the writer, and two more wait behind it.
	held, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.DB().Update(t.Context(), account.Number, nil, func(db.Batch) error {
			select {
			case <-held: // a batch may run twice
			default:
				close(held)
			}
			<-release
			return nil
		})
	}()
	<-held
	for i := range 2 {
		go func() {
			_, err := s.CreateContact(t.Context(), account.Number, input(t, fmt.Sprintf(`{"first_name":"Late %d"}`, i)), crm.Dedupe)
			done <- err
		}()
	}
	for end := time.Now().Add(10 * time.Second); s.Waiting() != 3 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if n := s.Waiting(); n != 3 {
		t.Errorf("%d changes wait", n)
	}
	pools := s.Pools()
	if len(pools) != 2 || !slices.Contains(pools, db.Pool{Name: "write", InUse: 1, Max: pools[1].Max}) || pools[0].Name != "read" || pools[0].Max < 4 {
		t.Errorf("the pools are %v", pools)
	}
	close(release)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
