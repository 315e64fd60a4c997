package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// undoUnit is how many changes one unit of work takes back: their contacts are in memory together.
const undoUnit = 100

// undoSpec says which job is taken back.
type undoSpec struct {
	Job    int64  `json:"job"`
	Region string `json:"region"` // of phone numbers without +
}

// UndoProgress is how far a job was taken back, from its last change to its first.
type UndoProgress struct {
	At     int64 `json:"at"`     // the next change to look at
	Undone int64 `json:"undone"` // changes that were taken back
	Kept   int64 `json:"kept"`   // contacts that were changed since, and stay as they are
}

// ChangedSince is the outcome of a contact that the undoing of a job has left alone.
const ChangedSince = "changed since"

// UndoJob begins to take back what a job has changed. A contact that was changed since stays as it is, and is listed.
func (s *Store) UndoJob(ctx context.Context, account, id int64, region string) (undo Job, err error) {
	_, err = s.changeJob(ctx, account, id, func(t *tx, a *accountUnit, j *Job) error {
		switch {
		case !j.Undoable():
			return crm.ErrChanged
		case j.First < a.oldest:
			return fault("", "This is too old to be undone: its changes are no longer in the history.")
		}
		made := t.newJob(a, UndoingJob, JobWaiting, undoSpec{j.ID, region})
		made.Progress = jsonOf(UndoProgress{At: j.Last})
		t.saveJob(made)
		j.Undo, undo = made.ID, *made
		return nil
	})
	if err == nil {
		s.wakeJobs()
	}
	return undo, err
}

func init() { jobSteps[UndoingJob] = undoStep }

const (
	sqlJobChanges = changeColumns + ` AND revision <= $2 AND revision >= $3 ORDER BY revision DESC LIMIT $4`
	sqlChangeJobs = `SELECT revision, job FROM change WHERE account_id = $1 AND revision = ANY($2)`
)

// undoStep takes some more changes back.
func undoStep(ctx context.Context, w *jobWorker, j *Job) error {
	var spec undoSpec
	var at UndoProgress
	if err := errors.Join(json.Unmarshal(j.Spec, &spec), json.Unmarshal(j.Progress, &at)); err != nil {
		return err
	}
	of, err := w.Job(ctx, j.Account, spec.Job)
	if err != nil {
		return err
	}
	changes, err := list(ctx, w.Store, scanChange, sqlJobChanges, j.Account, at.At, of.First, int64(undoUnit))
	if err != nil {
		return err
	}
	ended := len(changes) < undoUnit
	if !ended {
		at.At = changes[len(changes)-1].Revision - 1
	}
	var n needs
	var ours []Change
	for _, c := range changes {
		if c.Job == of.ID && c.Noun == crm.ContactNoun {
			ours = append(ours, c)
			n.more = append(n.more, moveNeeds(c.ID))
		}
	}
	now := w.now()
	return w.advance(ctx, j, n, func(t *tx, a *accountUnit, next *Job) error {
		u := undoing{t: t, a: a, job: next, of: of.Kind, region: spec.Region, now: now, start: a.revision}
		if err := u.findHeads(ours); err != nil {
			return err
		}
		progress := at
		for _, c := range ours {
			undone, err := u.take(c)
			if err != nil {
				return err
			}
			progress.Undone += flag(undone)
		}
		kept, err := u.note()
		if err != nil {
			return err
		}
		progress.Kept += kept
		next.Progress = jsonOf(progress)
		if ended {
			return t.endJob(next, JobDone)
		}
		return nil
	})
}

// undoing is one unit of work that takes changes back.
type undoing struct {
	t      *tx
	a      *accountUnit
	job    *Job
	of     JobKind // of the job that is taken back; a bulk change is taken back field by field, no matter what else was changed since
	region string
	now    time.Time
	start  int64           // later changes are of this unit
	heads  map[int64]int64 // the jobs of the last changes of contacts
	kept   []int64         // contacts that were changed since, by their sequence numbers
}

// findHeads looks up what the last changes of contacts belong to.
func (u *undoing) findHeads(changes []Change) error {
	u.heads = make(map[int64]int64)
	var heads []int64
	for _, c := range changes {
		row, err := u.t.row(u.a, c.ID)
		if err != nil {
			return err
		}
		if row != nil {
			u.a.contacts[c.ID] = row
			heads = append(heads, row.revision)
		}
	}
	if len(heads) == 0 {
		return nil
	}
	return u.t.Each(func(r db.Row) error {
		u.heads[r.Int(0)] = r.Int(1)
		return nil
	}, sqlChangeJobs, u.a.account, heads)
}

// take takes one change back, unless its contact was changed since by anyone but the job itself.
func (u *undoing) take(c Change) (undone bool, err error) {
	row := u.a.contacts[c.ID]
	if row == nil || row.contact.Erased() {
		return false, nil // the change may have been read before
	}
	ours := u.of == BulkJob || row.revision == c.Revision || row.revision > u.start || u.heads[row.revision] == u.job.ID
	if !ours || row.damage != nil {
		u.kept = append(u.kept, crm.IDSeq(c.ID))
		return false, nil
	}
	var refused *crm.Invalid
	_, _, err = u.t.undo(row, c, u.region, u.now)
	if errors.As(err, &refused) {
		u.kept = append(u.kept, crm.IDSeq(c.ID))
		return false, nil
	}
	return err == nil, err
}

const sqlKnownRows = `SELECT number FROM job_row WHERE account_id = $1 AND job_id = $2 AND number = ANY($3)`

// note lists the contacts that were left alone, and counts those that were not listed before.
func (u *undoing) note() (added int64, err error) {
	slices.Sort(u.kept)
	if u.kept = slices.Compact(u.kept); len(u.kept) == 0 {
		return 0, nil
	}
	known, err := db.List(u.t.Conn, number, sqlKnownRows, u.a.account, u.job.ID, u.kept)
	for _, seq := range u.kept {
		u.t.noteRow(u.job, JobRow{Number: seq, Outcome: ChangedSince, Contact: crm.MakeID(u.a.account, seq), Data: jsonOf(nil)})
	}
	return int64(len(u.kept) - len(known)), err
}
