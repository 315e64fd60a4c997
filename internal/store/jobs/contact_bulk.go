package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// Something that is done to many contacts is a job. Few contacts are changed at once, while the person waits, and the
// job is done when it begins. Which contacts it is about is known from then on: their sequence numbers are kept in
// parts of the job, by blocks as in contact_set. Only work on a tag is about whoever has it (tag_work.go).

const (
	BulkAtOnce      = 500     // contacts that are changed while the person waits
	BulkBytesAtOnce = 4 << 20 // that their documents may have together, since all of them are in memory
	BulkUnit        = 50      // contacts of one unit of work in the background
)

const (
	sqlBodyBytes = `SELECT length(body) FROM contact WHERE account_id = $1 AND id = ANY($2)`
	sqlNextPart  = `SELECT number, data FROM job_part WHERE account_id = $1 AND job_id = $2 AND number >= $3
		ORDER BY number LIMIT 1`
)

// Selection is which contacts something is done to: those that were picked, or all that a list shows.
type Selection struct {
	IDs    []int64
	All    bool
	Scope  crm.ContactScope
	Filter find.Filter
	Seen   int64 // how many all were when the person decided
}

// BulkProgress is how far a job has come.
type BulkProgress struct {
	crm.BulkCounts
	Total int64 `json:"total"` // contacts that the job is about
	At    int64 `json:"at"`    // the last sequence number that was looked at
}

// BulkResult is what has become of the contacts of a selection.
type BulkResult struct {
	Job int64
	BulkProgress
	unfinished bool
}

// Unfinished tells whether the work goes on in the background.
func (r BulkResult) Unfinished() bool { return r.unfinished }

// SelectionSize is how many contacts a selection has.
func (s *JobStore) SelectionSize(ctx context.Context, account int64, of Selection) (int64, error) {
	set, err := s.Selected(ctx, account, of)
	return set.Count(), err
}

// Selected are the contacts of a selection. An id that is not one of the account's is none.
func (s *JobStore) Selected(ctx context.Context, account int64, of Selection) (set db.Set, err error) {
	if of.All {
		err = s.Filtered(ctx, account, of.Scope, of.Filter, func(_ db.Conn, w *store.Filtering) error {
			set = w.Set.Clone() // others read it, too
			return nil
		})
		return set, err
	}
	err = s.View(ctx, func(c db.Conn) error {
		set = db.Set{}
		row, err := store.ReadTally(c, account)
		for _, id := range of.IDs {
			if !store.Foreign(account, id) && doc.IDSeq(id) <= row.ContactSeq {
				set.Add(doc.IDSeq(id))
			}
		}
		return err
	})
	return set, err
}

// BulkChange does something to every contact of a selection: to a few at once, to many in the background. It is
// *crm.SelectionChanged where a search finds another number of contacts than the person has seen.
func (s *JobStore) BulkChange(ctx context.Context, account int64, of Selection,
	action crm.BulkAction,
) (made BulkResult, err error) {
	set, err := s.Selected(ctx, account, of)
	if err != nil {
		return made, err
	}
	if n := set.Count(); of.All && n != of.Seen {
		return made, &crm.SelectionChanged{Contacts: n}
	}
	now := s.Now()
	err = s.UpdateAccount(ctx, account, func(t *store.Tx) (err error) {
		made, err = beginBulk(t.Account(account), action, set, now)
		return err
	})
	if made.unfinished {
		s.WakeJobs()
	}
	return made, err
}

// beginBulk makes a job of an action, and does it where the contacts are few.
func beginBulk(u store.Unit, action crm.BulkAction, set db.Set, now time.Time) (made BulkResult, err error) {
	made.Total = set.Count()
	if made.unfinished = made.Total > BulkAtOnce; !made.unfinished {
		ids := store.IDsOf(u.Number, set.Page(0, made.Total))
		if made.unfinished, err = areLarge(u.Tx, u.Number, ids); err != nil {
			return made, err
		}
		if !made.unfinished {
			made.Job, made.BulkCounts, err = bulkAtOnce(u, action, ids, now)
			return made, err
		}
	}
	j := NewJob(u, BulkJob, JobWaiting, action)
	j.Progress = JSONOf(made.BulkProgress)
	SaveJob(u.Tx, j)
	if action.Kind != crm.BulkRename {
		for block, part := range set.Blocks {
			u.Insert(store.JobPartTable, u.Number, j.ID, block, part.Encode())
		}
	}
	made.Job = j.ID
	return made, nil
}

// bulkAtOnce does an action to contacts, and notes it as a job that is done.
func bulkAtOnce(u store.Unit, action crm.BulkAction, ids []int64,
	now time.Time,
) (job int64, counts crm.BulkCounts, err error) {
	rows, err := loadRows(u, ids)
	if err != nil {
		return 0, counts, err
	}
	j := NewJob(u, BulkJob, JobDone, action)
	before := u.Revision
	u.Author.Job = j.ID
	if err := bulkChange(u, action, rows, now, &counts); err != nil {
		return 0, counts, err
	}
	if u.Revision > before {
		j.First, j.Last = before+1, u.Revision
	}
	j.Progress = JSONOf(BulkProgress{BulkCounts: counts, Total: int64(len(ids))})
	SaveJob(u.Tx, j)
	return j.ID, counts, nil
}

// areLarge tells whether the documents of contacts are too large to be in memory together.
func areLarge(t *store.Tx, account int64, ids []int64) (bool, error) {
	bytes := int64(0)
	err := t.Each(func(r db.Row) error {
		bytes += r.Int(0)
		return nil
	}, sqlBodyBytes, account, ids)
	return bytes > BulkBytesAtOnce, err
}

// loadRows loads contacts, whether they can be read or not. Ids that no contact has are left out.
func loadRows(u store.Unit, ids []int64) (rows []*store.StoredContact, err error) {
	unknown := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return u.Contacts[id] != nil })
	err = u.Each(func(r db.Row) error {
		row := store.ScanContact(r)
		u.Contacts[row.ID] = row
		return nil
	}, store.SQLLoadContacts, u.Number, unknown)
	for _, id := range ids {
		if row := u.Contacts[id]; row != nil {
			rows = append(rows, row)
		}
	}
	return rows, err
}

// bulkChange does an action to contacts and counts what became of them.
func bulkChange(u store.Unit, action crm.BulkAction, rows []*store.StoredContact, now time.Time,
	counts *crm.BulkCounts,
) error {
	readable := slices.DeleteFunc(slices.Clone(rows), func(row *store.StoredContact) bool { return row.Damage != nil })
	counts.Unreadable += int64(len(rows) - len(readable))
	return store.ChangeAll(u, readable, func(c crm.Contact) crm.Contact { return action.Apply(c, now, counts) })
}

// bulkStep does the action of a job to a few contacts more.
func bulkStep(ctx context.Context, w *JobWorker, j *Job) error {
	var action crm.BulkAction
	var progress BulkProgress
	if err := errors.Join(json.Unmarshal(j.Spec, &action), json.Unmarshal(j.Progress, &progress)); err != nil {
		return err
	}
	now := w.Now()
	return w.Advance(ctx, j, store.Needs{}, func(u store.Unit, next *Job) error {
		at := progress
		rows, ended, err := nextOf(u, next, action, &at)
		if err != nil {
			return err
		}
		if err := bulkChange(u, action, rows, now, &at.BulkCounts); err != nil {
			return err
		}
		next.Progress = JSONOf(at)
		if ended {
			return EndJob(u.Tx, next, JobDone)
		}
		return nil
	})
}

// nextOf are the next contacts that a job is about: those with a tag, or those that were picked.
func nextOf(u store.Unit, j *Job, action crm.BulkAction,
	at *BulkProgress,
) (rows []*store.StoredContact, ended bool, err error) {
	var ids []int64
	if action.Kind == crm.BulkRename {
		ids, ended, err = nextTagged(u, action, at)
	} else {
		ids, ended, err = nextPicked(u.Conn, j, &at.At, BulkUnit)
	}
	if err == nil {
		rows, err = loadRows(u, ids)
		at.Unreadable += int64(len(ids) - len(rows))
	}
	return rows, ended, err
}

// nextPicked are the next ids in the parts of a job, of one block, after a sequence number. ended tells that there are
// none.
func nextPicked(c db.Conn, j *Job, at *int64, most int) (ids []int64, ended bool, err error) {
	var part db.SetBlock
	var broken error
	block, place := db.BlockOf(*at + 1)
	found, err := c.One(func(r db.Row) {
		if block != r.Int(0) {
			block, place = r.Int(0), 0
		}
		broken = part.Decode(r.Bytes(1))
	}, sqlNextPart, j.Account, j.ID, block)
	if err = cmp.Or(err, broken); err != nil || !found {
		return nil, !found, err
	}
	*at = (block + 1) * db.BlockSize
	for next := range part.Places {
		if len(ids) == most {
			break
		}
		if next >= place {
			ids = append(ids, doc.MakeID(j.Account, block*db.BlockSize+int64(next)+1))
		}
	}
	if len(ids) == most {
		*at = doc.IDSeq(ids[most-1])
	}
	return ids, false, nil
}

// UndoSoon is UndoJob that goes on with the work while the person waits, as long as that is not much. The job that it
// answers with may be at its end.
func (s *JobStore) UndoSoon(ctx context.Context, account, id int64, region string) (Job, error) {
	undo, err := s.UndoJob(ctx, account, id, region, false)
	return s.undoSome(ctx, undo, err, undoAtOnce, func(*Job) {})
}

// UndoWhole is UndoJob that ends when all is undone. It goes on with an undo that was begun or stopped before.
func (s *JobStore) UndoWhole(ctx context.Context, account, id int64, region string,
	progress func(done, total int64),
) (Job, error) {
	of, err := s.Job(ctx, account, id)
	if err != nil {
		return of, err
	}
	undo := of
	if of.Undo != 0 {
		undo, err = s.Job(ctx, account, of.Undo)
	}
	if err == nil && (undo.ID == of.ID || undo.Ended()) {
		undo, err = s.UndoJob(ctx, account, undo.ID, region, false)
	}
	return s.undoSome(ctx, undo, err, math.MaxInt, func(j *Job) {
		var at UndoProgress
		if json.Unmarshal(j.Progress, &at) == nil {
			progress(of.Last-max(at.At, of.First-1), of.Last-of.First+1)
		}
	})
}

// undoSome works on an undo that was begun.
func (s *JobStore) undoSome(ctx context.Context, undo Job, err error, units int, progress func(*Job)) (Job, error) {
	for w, n := NewJobWorker(s), 0; n < units && err == nil && !undo.Ended(); n++ {
		progress(&undo)
		// the server's own worker may be at it
		if _, err = w.Step(ctx, &undo); err == nil || errors.Is(err, ErrJobMoved) {
			undo, err = s.Job(ctx, undo.Account, undo.ID)
		}
	}
	return undo, err
}

// undoAtOnce is how many units of work are waited for.
const undoAtOnce = 10
