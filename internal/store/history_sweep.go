package store

import (
	"context"
	"errors"
	"time"

	"donorbook/internal/db"
)

// The history is kept for good unless an organization says for how many days. Then old changes are forgotten in the background, a few in
// each unit of work, always the oldest ones: what is kept is numbered without a gap. What an undo has yet to take back waits for it. What jobs tell of single rows is forgotten likewise
// (jobs/sweep.go).

const (
	SweepUnit = 500       // rows of one unit of work
	SweepLook = time.Hour // how often old ones are looked for
)

const (
	sqlSweeps       = `SELECT account_id, history_days FROM account_setting WHERE history_days > 0 ORDER BY account_id`
	sqlOldTimes     = `SELECT revision, at FROM change WHERE account_id = $1 AND revision >= $2 ORDER BY revision LIMIT $3`
	sqlSweepChanges = `DELETE FROM change WHERE account_id = $1 AND revision >= $2 AND revision < $3`
	sqlSweepSent    = `UPDATE contact_merge SET sent = '` + forgottenSent + `', review = CASE WHEN review = 1 THEN 0 ELSE review END WHERE account_id = $1 AND id >= $2 AND id < $3 AND sent <> '' AND sent <> '` + forgottenSent + `'`
	secondsADay     = 24 * 60 * 60

	// The first change that an undo may still take back: of a job, and of a merge whose gifts move back.
	sqlUndoneJob = `SELECT COALESCE(MIN(first), $2) FROM job WHERE account_id = $1
		AND undo IN (SELECT id FROM job WHERE account_id = $1 AND kind = 'undo' AND state IN ('uploading', 'mapping', 'waiting', 'running'))`
	sqlUndoneMerge = `SELECT COALESCE(MIN(id), $2) FROM contact_merge WHERE account_id = $1 AND moving <> 0 AND undone <> 0`
)

// SweepHistory forgets old changes of every account that does not keep them for good.
func (s *Base) SweepHistory(ctx context.Context) error {
	type sweep struct{ account, days int64 }
	sweeps, err := List(ctx, s, func(r db.Row) sweep { return sweep{r.Int(0), r.Int(1)} }, sqlSweeps)
	for _, w := range sweeps {
		err = errors.Join(err, Stepwise(ctx, func() (more bool, err error) { return s.sweepStep(ctx, w.account, w.days) }))
	}
	return err
}

// Stepwise takes one step after the other. Between them it rests for as long as the last one took, so that others have at least half of the time.
func Stepwise(ctx context.Context, step func() (more bool, err error)) error {
	for {
		start := time.Now()
		if more, err := step(); !more || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(start)):
		}
	}
}

// sweepStep forgets a few changes. It reports whether there may be more.
func (s *Base) sweepStep(ctx context.Context, account, days int64) (more bool, err error) {
	cutoff := Seconds(s.Now()) - days*secondsADay
	err = s.Update(ctx, account, Needs{}, func(t *Tx) error {
		a, err := t.LockAccount(account)
		if err != nil {
			return err
		}
		n, next, needed := 0, a.Oldest, a.Revision+1
		for _, sql := range []string{sqlUndoneJob, sqlUndoneMerge} {
			if needed, err = t.Int(sql, account, needed); err != nil {
				return err
			}
		}
		err = t.Scan(func(r db.Row) {
			if r.Int(1) < cutoff && r.Int(0) == next && next < needed {
				n, next = n+1, next+1
			}
		}, sqlOldTimes, account, a.Oldest, int64(SweepUnit))
		if more = n == SweepUnit; err != nil || n == 0 {
			return err
		}
		a.Touch(t)
		from := a.Oldest
		a.Oldest = next
		if err := t.Run(sqlSweepChanges, account, from, next); err != nil {
			return err
		}
		return t.Run(sqlSweepSent, account, from, next)
	})
	return more, err
}
