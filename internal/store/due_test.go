package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// waitingRow is a row that is due from a moment on, and takes a while.
type waitingRow struct {
	of      DueRow
	awaited bool
	takes   time.Duration
	since   time.Time
	claimed bool
	begun   time.Duration // after it was due
	tries   int
	fails   int // so often it fails before anything is done
}

// waitingRows are all rows of a table.
type waitingRows struct {
	mu   sync.Mutex
	rows []*waitingRow
	woke chan struct{}
}

func (q *waitingRows) add(account int64, n int, awaited bool, takes time.Duration) (added []*waitingRow) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range n {
		row := &waitingRow{of: DueRow{account, int64(len(q.rows) + 1)}, awaited: awaited, takes: takes,
			since: time.Now()}
		q.rows, added = append(q.rows, row), append(added, row)
	}
	select {
	case q.woke <- struct{}{}:
	default:
	}
	return added
}

func (q *waitingRows) work(report func(error)) *DueWork {
	return &DueWork{
		Find: func(_ context.Context, awaited bool, after int64, most int) (found []DueRow, err error) {
			q.mu.Lock()
			defer q.mu.Unlock()
			for _, row := range q.rows {
				if row.awaited == awaited && row.of.Account > after && !row.claimed {
					found = append(found, row.of)
				}
			}
			slices.SortStableFunc(found, func(a, b DueRow) int { return cmp.Compare(a.Account, b.Account) })
			return found[:min(most, len(found))], nil
		},
		Do: func(_ context.Context, of DueRow) error {
			q.mu.Lock()
			row := q.rows[of.ID-1]
			if row.tries++; row.tries <= row.fails {
				q.mu.Unlock()
				return errors.New("no")
			}
			row.claimed, row.begun = true, time.Since(row.since)
			q.mu.Unlock()
			time.Sleep(row.takes)
			return nil
		},
		Report: report,
	}
}

// run works on rows in virtual time, until do and all rows are done.
func run(t *testing.T, do func(t *testing.T, q *waitingRows)) {
	synctest.Test(t, func(t *testing.T) {
		q := &waitingRows{woke: make(chan struct{}, 1)}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.work(func(error) {}).Run(ctx, q.woke)
		}()
		synctest.Wait()
		do(t, q)
		time.Sleep(time.Hour)
		stop()
		<-ended
		for _, row := range q.rows {
			if !row.claimed || row.tries != row.fails+1 {
				t.Errorf("%+v: %d tries", row.of, row.tries)
			}
		}
	})
}

func wantBegun(t *testing.T, what string, rows []*waitingRow, within time.Duration) {
	t.Helper()
	synctest.Wait()
	for _, row := range rows {
		if !row.claimed || row.begun > within {
			t.Errorf("%s began after %s: %t", what, row.begun, row.claimed)
		}
	}
}

func TestManyRowsOfAnAccountDelayNoOtherAccount(t *testing.T) {
	run(t, func(t *testing.T, q *waitingRows) {
		q.add(1, 120, false, time.Second)
		synctest.Wait()
		wantBegun(t, "a row of another account", q.add(2, 1, false, time.Second), 0)
		wantBegun(t, "a row that somebody waits for", q.add(1, 1, true, time.Second), 0)
		time.Sleep(10 * time.Second)
		many := q.add(3, 60, false, time.Second)
		later := q.add(4, 1, false, time.Second)
		time.Sleep(time.Hour)
		wantBegun(t, "a row of a third account", many[:1], time.Second)
		wantBegun(t, "a row of a fourth account", later, 2*time.Second)
		wantBegun(t, "one of 60 rows beside 90 others", many, 40*time.Second)
	})
}

func TestARowThatHangsLeavesItsPlace(t *testing.T) {
	run(t, func(t *testing.T, q *waitingRows) {
		q.add(1, 3, false, 2*time.Minute)
		own := q.add(1, 1, false, time.Second)
		time.Sleep(time.Minute)
		wantBegun(t, "the next row of the account", own, dueLong)
	})
	run(t, func(t *testing.T, q *waitingRows) { // everything hangs
		for account := range int64(4) {
			q.add(account, 30, false, 2*time.Minute)
		}
		time.Sleep(time.Minute)
		asked := q.add(9, 1, true, 2*time.Minute)
		time.Sleep(time.Minute)
		wantBegun(t, "a row that somebody waits for", asked, 0)
	})
}

func TestRowsThatPeopleWaitForDoNotKeepOthersBack(t *testing.T) {
	run(t, func(t *testing.T, q *waitingRows) {
		for account := range int64(5) {
			q.add(account, 500, true, time.Second)
		}
		other := q.add(1, 1, false, time.Second)
		time.Sleep(time.Minute)
		wantBegun(t, "a row that nobody waits for", other, 0)
	})
}

func TestARowThatFailsIsTriedAtTheNextLook(t *testing.T) {
	run(t, func(t *testing.T, q *waitingRows) {
		row := q.add(1, 1, false, 0)[0]
		row.fails = 3
		time.Sleep(time.Minute)
		if row.tries != 4 || row.begun < 2*dueLook || row.begun > 3*dueLook {
			t.Errorf("%d tries, done after %s", row.tries, row.begun)
		}
	})
}
