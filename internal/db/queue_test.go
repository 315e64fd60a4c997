package db

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A server needs a while to detect a deadlock. The transaction that it aborts is retried however late that is; a database that is
// slow to report that it is unavailable is not.
func TestATransactionThatTheServerTookBackIsTriedAgainHoweverLate(t *testing.T) {
	for _, test := range []struct {
		name     string
		failure  error
		attempts int
	}{
		{"taken back", because(errUndone, errors.New("deadlock")), 2},
		{"away", because(errRetry, errors.New("away")), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachDB(t, func(t *testing.T, d *DB) {
				attempts := 0
				d.Observe(&Observer{Committing: func() error {
					if attempts++; attempts > 1 {
						return nil
					}
					time.Sleep(retryTime)
					return test.failure
				}})
				err := d.write(t.Context(), 1, func(tx *Tx) error {
					tx.Insert(personTable, int64(1), "ana")
					return nil
				})
				if attempts != test.attempts || (err == nil) != (test.attempts > 1) {
					t.Errorf("%d attempts, and the change hears %v", attempts, err)
				}
				if n := d.number(t, `SELECT COUNT(*) FROM person`); n != int64(test.attempts-1) {
					t.Errorf("%d people", n)
				}
			})
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
	for _, test := range []struct {
		name string
		err  error
		told []bool
	}{
		{"a row that another node holds", because(errHeld, errors.New("lock timeout")), []bool{true, false}},
		{"two in each other's way", because(errUndone, errors.New("deadlock")), []bool{true, false}},
		{"a server that is away", because(errRetry, errors.New("away")), []bool{true, true}},
		{"a server that does not answer", because(ErrUnavailable, errors.New("no answer")), []bool{true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := startQueue(nil, nil, 0, 0)
			var changes []*Change
			for account := range int64(2) {
				c := &Change{Account: account, finished: make(chan struct{})}
				changes = append(changes, c)
				succeed(t, q.enqueue(c))
			}
			q.refuse([]*line{q.lines[0]}, test.err)
			for i, c := range changes {
				if (c.err != nil) != test.told[i] {
					t.Errorf("the change of account %d hears %v", i, c.err)
				}
			}
		})
	}
}

// What is only considered runs beside the queue, which no panic ends either. What it writes is dropped, and a statement that writes at once is refused.
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
		err := d.Consider(t.Context(), func(b Batch) error {
			tx, pending := b.(tinyBatch).Tx, 0
			tx.Insert(personTable, int64(1), "ana")
			if n, err := tx.Int(`SELECT COUNT(*) FROM person`); n != 0 || err != nil {
				t.Errorf("%d people, %v", n, err)
			}
			for row, isRemoved := range tx.Pending(personTable) {
				if pending++; row[1] != "ana" || isRemoved {
					t.Errorf("pending: %v", row)
				}
			}
			if pending != 1 {
				t.Errorf("%d rows are pending", pending)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if n := d.number(t, `SELECT COUNT(*) FROM person`); n != 0 {
			t.Errorf("%d people", n)
		}
	})
}

// Large changes of some accounts wait, and small ones of another account have come after them. A batch takes as many bytes as are written in a moment, and
// no account more of them than the others, so that the small ones need not wait until all large ones are on disk.
func TestChangesOfAnAccountDoNotWaitForAllLargeOnesOfOthers(t *testing.T) {
	for _, hostile := range []int{1, 10} {
		t.Run(fmt.Sprintf("%d accounts", hostile), func(t *testing.T) {
			eachDB(t, func(t *testing.T, d *DB) {
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
						err := d.write(t.Context(), account, func(tx *Tx) error {
							tx.Insert(docTable, account, account*1000+id, "title", body)
							return nil
						})
						if err != nil {
							t.Error(err)
						}
						done()
					})
					queued++
					for d.Queued() < queued {
						time.Sleep(time.Millisecond)
					}
				}
				for i := range int64(large) {
					add(1+i%int64(hostile), i, body, func() { written.Add(1) })
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
				if n := d.number(t, `SELECT COUNT(*) FROM doc`); n != large+small {
					t.Errorf("%d rows", n)
				}
			})
		})
	}
}

// holdWriters keeps the writers busy with changes of some accounts, until free is called.
func holdWriters(t *testing.T, d *DB, accounts int) (free func()) {
	t.Helper()
	stop := make(chan struct{})
	var held sync.WaitGroup
	for account := range int64(accounts) {
		number := 1 + account
		if number == int64(accounts) {
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
		if account == 0 || !d.changes.shares {
			<-started
		}
	}
	return func() {
		close(stop)
		held.Wait()
	}
}
