package jobs

import (
	"context"
	"time"

	"donorbook/internal/db"
	"donorbook/internal/guard"
	"donorbook/internal/store"
)

// What a job tells of single rows may hold the data of people: of rows that an import has rejected, all their cells. A
// person has some time to download and mend them. Then they are forgotten, a few in each unit of work; the job itself
// stays.

// JobRowsKept is how long the rows of a job are kept after it was last worked on.
const JobRowsKept = 30 * 24 * time.Hour

const (
	// One row is looked for in each job: with EXISTS, a planner may read all rows of all jobs.
	sqlOldJobs = `SELECT account_id, id FROM job WHERE updated_at < $1
		AND (SELECT r.number FROM job_row AS r WHERE r.account_id = job.account_id AND r.job_id = job.id ORDER BY r.number LIMIT 1) IS NOT NULL`
	sqlLeftParts = `SELECT account_id, id FROM job WHERE updated_at < $1 AND state IN ('done', 'failed', 'canceled')
		AND (SELECT p.number FROM job_part AS p WHERE p.account_id = job.account_id AND p.job_id = job.id ORDER BY p.number LIMIT 1) IS NOT NULL`
	sqlOldRows = `SELECT number FROM job_row WHERE account_id = $1 AND job_id = $2 ORDER BY number LIMIT $3`
	sqlDropOld = `DELETE FROM job_row WHERE account_id = $1 AND job_id = $2 AND number <= $3`
)

// SweepJobs forgets the rows of old jobs, and the files of those that have ended when a server was killed.
func (s *JobStore) SweepJobs(ctx context.Context) error {
	ended, err := store.List(ctx, s.Store, scanJobOf, sqlLeftParts, store.Seconds(s.Now().Add(-JobLook)))
	for _, of := range ended {
		if err == nil {
			err = s.dropParts(ctx, of)
		}
	}
	if err != nil {
		return err
	}
	cutoff := store.Seconds(s.Now().Add(-JobRowsKept))
	jobs, err := store.List(ctx, s.Store, scanJobOf, sqlOldJobs, cutoff)
	for _, of := range jobs {
		if err == nil {
			err = store.Stepwise(ctx, func() (more bool, err error) { return s.sweepRows(ctx, of, cutoff) })
		}
	}
	return err
}

func scanJobOf(r db.Row) JobOf { return JobOf{r.Int(0), r.Int(1)} }

// sweepRows forgets a few rows of a job, unless it has gone on meanwhile. It reports whether there may be more.
func (s *JobStore) sweepRows(ctx context.Context, of JobOf, cutoff int64) (more bool, err error) {
	err = s.UpdateAccount(ctx, of.Account, func(t *store.Tx) error {
		j, err := store.FindIn(t.Conn, ErrJobMoved, ScanJob, SQLJob, of.Account, of.ID)
		if err != nil || store.Seconds(j.UpdatedAt) >= cutoff {
			return err
		}
		rows, err := db.List(t.Conn, store.Number, sqlOldRows, of.Account, of.ID, int64(store.SweepUnit))
		if more = len(rows) == store.SweepUnit; err != nil || len(rows) == 0 {
			return err
		}
		return t.Run(sqlDropOld, of.Account, of.ID, rows[len(rows)-1])
	})
	return more, err
}

// Sweep forgets what is too old until the context ends. report hears what went wrong; that is tried again at the next
// look.
func (s *JobStore) Sweep(ctx context.Context, report func(error)) {
	for ctx.Err() == nil {
		for _, sweep := range []func(context.Context) error{s.SweepJobs, s.SweepMails, s.SweepResets} {
			if err := guard.Do(func() error { return sweep(ctx) }); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(store.SweepLook):
		}
	}
}
