package store

import (
	"context"
	"time"

	"donorbook/internal/db"
)

// The history is kept for good unless an organization says for how many days. Then old changes are forgotten in the background, a few in
// each unit of work, always the oldest ones: what is kept is numbered without a gap.

const (
	sweepUnit = 500       // changes of one unit of work
	sweepLook = time.Hour // how often old changes are looked for
)

const (
	sqlSweeps   = `SELECT account_id, history_days FROM account_setting WHERE history_days > 0 ORDER BY account_id`
	sqlOldTimes = `SELECT revision, at FROM change WHERE account_id = $1 AND revision >= $2 ORDER BY revision LIMIT $3`
	sqlForget   = `DELETE FROM change WHERE account_id = $1 AND revision >= $2 AND revision < $3`
	secondsADay = 24 * 60 * 60
)

// SweepHistory forgets old changes until the context ends. report hears what went wrong; that is tried again at the next look.
func (s *Store) SweepHistory(ctx context.Context, report func(error)) {
	for ctx.Err() == nil {
		if err := s.sweepRound(ctx); err != nil && ctx.Err() == nil {
			report(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(sweepLook):
		}
	}
}

// sweepRound forgets what is too old in every account.
func (s *Store) sweepRound(ctx context.Context) error {
	type sweep struct{ account, days int64 }
	sweeps, err := list(ctx, s, func(r db.Row) sweep { return sweep{r.Int(0), r.Int(1)} }, sqlSweeps)
	for _, w := range sweeps {
		for more := true; more && err == nil; {
			start := time.Now()
			if more, err = s.sweepStep(ctx, w.account, w.days); more {
				select { // others have at least half of the time
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(time.Since(start)):
				}
			}
		}
	}
	return err
}

// sweepStep forgets a few changes. It reports whether there may be more.
func (s *Store) sweepStep(ctx context.Context, account, days int64) (more bool, err error) {
	cutoff := seconds(s.now()) - days*secondsADay
	err = s.update(ctx, account, needs{}, func(t *tx) error {
		a, err := t.lock(account)
		if err != nil {
			return err
		}
		n, next := 0, a.oldest
		err = t.Each(func(r db.Row) error {
			if r.Int(1) < cutoff && r.Int(0) == next {
				n, next = n+1, next+1
			}
			return nil
		}, sqlOldTimes, account, a.oldest, int64(sweepUnit))
		if more = n == sweepUnit; err != nil || n == 0 {
			return err
		}
		a.touch(t)
		from := a.oldest
		a.oldest = next
		return t.exec(sqlForget, account, from, next)
	})
	return more, err
}
