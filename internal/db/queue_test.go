package db

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A server needs a while to detect a deadlock. The transaction that it aborts is retried however late that is; a
// database that is slow to report that it is unavailable is not.
func TestATransactionThatTheServerTookBackIsTriedAgainHoweverLate(t *testing.T) {
	for name, test := range map[string]struct {
		failure error
		want    int64 // attempts, the last of which makes someone if it is not the first
	}{
		"taken back": {because(errUndone, errors.New("deadlock")), 2},
		"away":       {because(errRetry, errors.New("away")), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, attempts := tinySQLite(t), int64(0)
			d.Observe(&Observer{Committing: func() error {
				if attempts++; attempts > 1 {
					return nil
				}
				time.Sleep(retryTime)
				return test.failure
			}})
			err := d.write(t.Context(), 1, inserting(personTable, int64(1), "ana"))
			if attempts != test.want || (err == nil) != (test.want > 1) {
				t.Errorf("%s: %d attempts, and the change hears %v", name, attempts, err)
			}
			equal(t, d.number(t, `SELECT COUNT(*) FROM person`), test.want-1, "%s", name)
		})
	}
}

// A repair runs beside the queue and is tried again in the same way: another node may have been in its way.
func TestARebuildThatTheServerTookBackIsTriedAgain(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		attempts := 0
		err := d.Rebuild(t.Context(), func(tx *Tx) error {
			tx.Insert(personTable, int64(1), "ana")
			if attempts++; attempts > 1 {
				return nil
			}
			return errors.Join(tx.write(), because(errUndone, errors.New("deadlock")))
		})
		if n := d.number(t, `SELECT COUNT(*) FROM person`); err != nil || attempts != 2 || n != 1 {
			t.Errorf("%d attempts made %d people: %v", attempts, n, err)
		}
	})
}

// What is wrong with one account is told to those who wait for it alone; that the database is away, to everyone.
func TestTheTroubleOfAnAccountIsItsOwn(t *testing.T) {
	for kind, others := range map[error]bool{errHeld: false, errUndone: false, errRetry: true, ErrUnavailable: true} {
		q := startQueue(nil, nil, 0, 0)
		var changes []*Change
		for account := range int64(2) {
			c := &Change{Account: account, finished: make(chan struct{})}
			changes = append(changes, c)
			succeed(t, q.enqueue(c))
		}
		q.refuse([]*line{q.lines[0]}, because(kind, errors.New("a reason")))
		if changes[0].err == nil || (changes[1].err != nil) != others {
			t.Errorf("%v: the account hears %v, the other one %v", kind, changes[0].err, changes[1].err)
		}
	}
}

// What is only considered runs beside the queue, which no panic ends either. What it writes is dropped, and a statement
// that writes at once is refused.
func TestWhatIsConsideredIsNotWritten(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		for what, decide := range map[string]func(*Tx) error{
			"panics": func(*Tx) error { panic("a bug") },
			"runs": func(tx *Tx) error {
				_, err := tx.Exec(`DELETE FROM person`)
				return err
			},
		} {
			if err := d.Consider(t.Context(), func(b Batch) error { return decide(b.(tinyBatch).Tx) }); err == nil {
				t.Errorf("a change that %s was considered", what)
			}
		}
		succeed(t, d.Consider(t.Context(), func(b Batch) error {
			tx, pending := b.(tinyBatch).Tx, ""
			tx.Insert(personTable, int64(1), "ana")
			if n, err := tx.Int(`SELECT COUNT(*) FROM person`); n != 0 || err != nil {
				t.Errorf("%d people, %v", n, err)
			}
			for row, isRemoved := range tx.Pending(personTable) {
				pending += fmt.Sprint(row, isRemoved)
			}
			equal(t, pending, "[1 ana] false", "pending")
			return nil
		}))
		equal(t, d.number(t, `SELECT COUNT(*) FROM person`), 0)
	})
}

// Large changes of some accounts wait, and small ones of another account have come after them. A batch takes as many
// bytes as are written in a moment, and no account more of them than the others, so that the small ones need not wait
// until all large ones are on disk.
func TestChangesOfAnAccountDoNotWaitForAllLargeOnesOfOthers(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		for i, hostile := range []int64{1, 10} {
			const large, small = 40, 30
			var commits, written atomic.Int64
			d.Observe(&Observer{Committing: func() error {
				commits.Add(1)
				return nil
			}})
			body := bytes.Repeat([]byte("x"), batchBytes/4)
			free := holdWriters(t, d, hostile+1)
			var changes sync.WaitGroup
			queued := d.Queued()
			add := func(account, id int64, body []byte, done func()) {
				changes.Go(func() {
					err := d.write(t.Context(), account, inserting(docTable, account, account*1000+id+100*int64(i),
						"title", body))
					if err != nil {
						t.Error(err)
					}
					done()
				})
				for queued++; d.Queued() < queued; {
					time.Sleep(time.Millisecond)
				}
			}
			for i := range int64(large) {
				add(1+i%hostile, i, body, func() { written.Add(1) })
			}
			var before atomic.Int64 // large ones that were written before the last small one
			for i := range int64(small) {
				add(100, i, []byte("small"), func() { before.Store(written.Load()) })
			}
			free()
			changes.Wait()
			if n := before.Load(); n > large*3/4 && d.changes.shares { // others have writers of their own
				t.Errorf("%d of %d large changes were written before the last small one of another account", n, large)
			}
			if n := commits.Load(); n < large/6 {
				t.Errorf("%d large changes were written with %d commits", large, n)
			}
			equal(t, d.number(t, `SELECT COUNT(*) FROM doc`), int64(i+1)*(large+small))
		}
	})
}

// holdWriters keeps the writers busy with changes of some accounts, until free is called.
func holdWriters(t *testing.T, d *DB, accounts int64) (free func()) {
	t.Helper()
	if d.changes.shares {
		accounts = 1 // has the only writer
	}
	stop := make(chan struct{})
	var held sync.WaitGroup
	for number := range accounts {
		if number == 0 {
			number = 100
		}
		started := make(chan struct{}, 1)
		held.Go(func() {
			err := d.write(t.Context(), number, func(*Tx) error {
				select {
				case started <- struct{}{}:
				default:
				}
				<-stop
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-started
	}
	return func() {
		close(stop)
		held.Wait()
	}
}

// One change holds the writer, and two more wait behind it.
func TestConcurrentStatsTellHowTheDatabaseIsDoing(t *testing.T) {
	eachOptions(t, func(t *testing.T, o Options) {
		var passed atomic.Int64 // of the clock
		o.Now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
		d := openTiny(t, o)
		before := must(d.Size(t.Context()))(t)
		for id := range int64(20) {
			d.insert(t, docTable, int64(1), id, "T", bytes.Repeat([]byte("x"), 20_000))
		}
		passed.Add(int64(time.Minute))
		if after, err := d.Size(t.Context()); err != nil || before <= 0 || after < before {
			t.Errorf("the database has %d bytes after %d: %v", after, before, err)
		}
		if log, ok := d.LogSize(); ok != (o.URL == "") || ok && log < 100_000 {
			t.Errorf("the log has %d bytes, %v", log, ok)
		}
		free := holdWriters(t, d, 1)
		done := make(chan error)
		for range 2 {
			go func() { done <- d.write(t.Context(), 100, func(*Tx) error { return nil }) }()
		}
		for d.Waiting() < 3 {
			time.Sleep(time.Millisecond)
		}
		pools := d.Pools()
		if len(pools) != 2 || pools[1] != (Pool{"write", 1, pools[1].Max}) || pools[0].Name != "read" ||
			pools[0].Max < 4 {
			t.Errorf("the pools are %v", pools)
		}
		free()
		succeed(t, errors.Join(<-done, <-done))
		equal(t, d.Waiting(), 0)
	})
}
