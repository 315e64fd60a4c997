package merges

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// A merge moves the gifts and plans of the other contact to the survivor, and its undo moves them back: a few together
// with the merge, and where there are more, a job goes on with the rest, a portion in each unit of work. Each portion
// takes the sums of both contacts along, so that they are always those of the gifts that a contact has. What is left to
// move follows from the row of the merge, the gifts and the history alone: any node may go on with it, and a merge that
// is undone meanwhile turns around.

// MovedAtOnce is how many gifts and plans move together with a merge or its undo.
const MovedAtOnce = 100

// MoveProgress is how far such a job has come.
type MoveProgress struct {
	Total int64 `json:"total"`          // gifts and plans that were to be moved, about
	Moved int64 `json:"moved"`          // those that were
	Undo  bool  `json:"undo,omitempty"` // they move back to the contact that they were from
	Left  int64 `json:"left,omitempty"` // those that stay where they are, because their documents are damaged
}

type moveSpec struct {
	Merge int64 `json:"merge"`
}

// MoveOf is the merge that a job moves gifts for.
func MoveOf(j *jobs.Job) (merge int64, err error) {
	var spec moveSpec
	err = json.Unmarshal(j.Spec, &spec)
	return spec.Merge, err
}

// MoveKind moves the gifts and plans of a merge, or of its undo.
var MoveKind = jobs.Kind{Step: moveStep}

const (
	sqlMovedBy = store.ChangeColumns +
		` AND revision > $2 AND revision <= $3 AND (noun = $4 OR noun = $5) ORDER BY revision DESC LIMIT $6`
	sqlOfPlan = `SELECT id FROM gift WHERE account_id = $1 AND contact_id = $2 AND plan_id = $3 ORDER BY given_at, id
		LIMIT $4`
	// Undone merges that still move gifts back to a contact.
	sqlReturning = store.MergeColumns +
		` AND other = $2 AND other <> 0 AND undone <> 0 AND moving <> 0 ORDER BY id LIMIT 1`
	sqlMoving = store.MergeColumns + ` AND moving <> 0 ORDER BY id`
)

// moveRange is how many changes one portion of an undo looks through. Others may have been made while the merge moved
// gifts.
const moveRange = 5000

// moveStep moves a few more gifts and plans.
func moveStep(ctx context.Context, w *jobs.JobWorker, j *jobs.Job) error {
	id, err := MoveOf(j)
	if err != nil {
		return err
	}
	now, limit := w.Now(), w.UnitSize(j)
	return w.Advance(ctx, j, store.Needs{}, func(u store.Unit, next *jobs.Job) error {
		row, err := store.FindIn(u.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, u.Number, id)
		if err != nil && !errors.Is(err, crm.ErrNotFound) {
			return err
		}
		if row.Moving != next.ID { // an erasure has moved the rest, or another job does
			return jobs.EndJob(u.Tx, next, jobs.JobDone)
		}
		at, err := progressOf(next, &row)
		if err != nil {
			return err
		}
		m := merging{Unit: u, now: now}
		moved, err := m.moveSome(&row, limit)
		if err != nil {
			return err
		}
		u.Save(store.MergeTable, row.Values(u.Number)...)
		at.Moved += int64(moved)
		if row.Moving == 0 {
			if at.Left, err = m.leftBehind(&row); err != nil {
				return err
			}
			err = jobs.EndJob(u.Tx, next, jobs.JobDone)
		}
		next.Progress = jobs.JSONOf(at)
		return err
	})
}

// progressOf is how far a job has come. It begins anew where its merge was undone meanwhile.
func progressOf(j *jobs.Job, row *store.Merge) (at MoveProgress, err error) {
	if err = json.Unmarshal(j.Progress, &at); err == nil && at.Undo != (row.Undone != 0) {
		at = MoveProgress{Total: row.Last - row.ID, Undo: true}
	}
	return at, err
}

// leftBehind is how many gifts and plans are still the other contact's.
func (m merging) leftBehind(row *store.Merge) (int64, error) {
	if row.Undone != 0 {
		return 0, nil
	}
	given, plans, err := store.GiftsAndPlansOf(m.Conn, m.Number, row.Other)
	return given + plans, err
}

// move moves what a merge or its undo has to move: some at once, and the rest by a job. total is about how many there
// are.
func (m merging) move(row *store.Merge, total func() (int64, error)) error {
	if row.Moving != 0 {
		if busy, err := m.Exists(sqlOpenJob, m.Number, row.Moving); busy || err != nil {
			return err // the job turns around
		}
	}
	row.Moving = -1 // no job has such a number
	moved, err := m.moveSome(row, max(0, *m.atOnce))
	if *m.atOnce -= moved; err != nil || row.Moving == 0 {
		return err
	}
	left, err := total()
	if row.Moving = 0; err == nil && left > 0 {
		m.begin(row, MoveProgress{Total: left, Undo: row.Undone != 0})
	}
	return err
}

const sqlOpenJob = `SELECT 1 FROM job WHERE account_id = $1 AND id = $2
	AND state IN ('uploading', 'mapping', 'waiting', 'running')`

// begin makes the job that moves what is left.
func (m merging) begin(row *store.Merge, at MoveProgress) {
	j := jobs.NewJob(m.Unit, jobs.MoveJob, jobs.JobWaiting, moveSpec{row.ID})
	j.Progress = jobs.JSONOf(at)
	jobs.SaveJob(m.Tx, j)
	row.Moving = j.ID
}

// moveSome moves the next gifts and plans of a merge, or of its undo. The merge has nothing moving once none is left.
func (m merging) moveSome(row *store.Merge, limit int) (moved int, err error) {
	if limit == 0 {
		return 0, nil
	}
	to, move := row.Survivor, m.moveIn
	if row.Undone != 0 {
		first, err := db.List(m.Conn, store.ScanMerge, sqlReturning, m.Number, row.Survivor)
		if err != nil {
			return 0, err
		}
		if len(first) > 0 { // what is still on its way back to the survivor goes back to the other contact after that
			if moved, err = m.moveSome(&first[0], limit); err == nil {
				m.Save(store.MergeTable, first[0].Values(m.Number)...)
			}
			return moved, err
		}
		to, move = row.Other, m.moveBack
	}
	moved, ended, err := move(row, limit)
	if err == nil && ended {
		row.Moving = 0
		err = m.moveOn(to)
	}
	return moved, err
}

// moveOn moves what has come to a contact further on, where that was merged into another one meanwhile.
func (m merging) moveOn(contact int64) error {
	away, err := store.FindIn(m.Conn, crm.ErrNotFound, store.ScanMerge, sqlMergeAway, m.Number, contact)
	if errors.Is(err, crm.ErrNotFound) || err == nil && away.Moving != 0 {
		return nil
	}
	if err != nil {
		return err
	}
	left, err := m.leftBehind(&away)
	if err == nil && left > 0 {
		m.begin(&away, MoveProgress{Total: left})
		m.Save(store.MergeTable, away.Values(m.Number)...)
	}
	return err
}

// moveIn moves gifts and plans to the survivor.
func (m merging) moveIn(row *store.Merge, limit int) (moved int, ended bool, err error) {
	given, plans, err := store.NextGiven(m.Unit, row.Other, limit)
	if moved = len(given) + len(plans); err != nil || moved == 0 {
		return 0, err == nil, err
	}
	if err = store.Reassign(m.Unit, given, plans, row.Survivor, nil); err == nil {
		row.Last = m.Revision
	}
	return moved, moved < limit, err
}

// moveBack makes the gifts and plans that a merge has moved those of the other contact again, as far as they are still
// the survivor's, from the last one to the first. A gift that a plan has brought since goes with the plan.
func (m merging) moveBack(row *store.Merge, limit int) (moved int, ended bool, err error) {
	from := max(row.ID, row.Last-moveRange)
	changes, err := db.List(m.Conn, store.ScanChange, sqlMovedBy, m.Number, from, row.Last, int64(history.GiftNoun),
		int64(history.PlanNoun), int64(limit))
	if err != nil {
		return 0, false, err
	}
	if len(changes) == limit {
		from = changes[limit-1].Revision - 1
	}
	row.Last = from
	changes = slices.DeleteFunc(changes, func(c store.Change) bool {
		return !movedBetween(&c, row.Other,
			row.Survivor)
	})
	undoes := map[history.Noun]map[int64]int64{history.GiftNoun: {}, history.PlanNoun: {}}
	ids := make(map[history.Noun][]int64)
	for _, c := range slices.Backward(changes) {
		undoes[c.Noun][c.ID] = c.Revision
		ids[c.Noun] = append(ids[c.Noun], c.ID)
	}
	if err := db.First(func() error { return m.Gifts.Load(m.Tx, m.Number, ids[history.GiftNoun]) },
		func() error { return m.Plans.Load(m.Tx, m.Number, ids[history.PlanNoun]) }); err != nil {
		return 0, false, err
	}
	given := slices.DeleteFunc(ids[history.GiftNoun], func(id int64) bool {
		g := m.Gifts.Rows[id]
		return g == nil || g.Damage != nil || g.Contact != row.Survivor
	})
	plans := slices.DeleteFunc(slices.Clone(ids[history.PlanNoun]), func(id int64) bool {
		p := m.Plans.Rows[id]
		return p == nil || p.Damage != nil || p.Contact != row.Survivor
	})
	if err = store.Reassign(m.Unit, given, plans, row.Other, undoes); err != nil {
		return 0, false, err
	}
	brought, err := m.bringWithPlans(row, changes, limit)
	return len(given) + len(plans) + brought, row.Last <= row.ID, err
}

// bringWithPlans moves gifts that plans have brought to the survivor, once the plans are the other contact's again.
// Where there are more than a limit, the change of the plan is looked at again.
func (m merging) bringWithPlans(row *store.Merge, changes []store.Change, limit int) (moved int, err error) {
	for _, c := range changes {
		if c.Noun != history.PlanNoun || m.Plans.Rows[c.ID] == nil || m.Plans.Rows[c.ID].Contact != row.Other {
			continue
		}
		since, err := db.List(m.Conn, store.Number, sqlOfPlan, m.Number, row.Survivor, c.ID, int64(limit-moved+1))
		if err != nil {
			return moved, err
		}
		more := len(since) > limit-moved
		if more {
			since = since[:limit-moved]
			row.Last = c.Revision
		}
		if err := m.Gifts.Load(m.Tx, m.Number, since); err != nil {
			return moved, err
		}
		since = slices.DeleteFunc(since, func(id int64) bool { return m.Gifts.Rows[id].Damage != nil })
		if err := store.Reassign(m.Unit, since, nil, row.Other, nil); err != nil {
			return moved, err
		}
		if moved += len(since); more && len(since) > 0 {
			return moved, nil
		}
	}
	return moved, nil
}

// movedBetween tells whether a change has moved a gift or a plan from one contact to another one.
func movedBetween(c *store.Change, from, to int64) bool {
	differences := doc.KnownDifferences(c.Data)
	return slices.ContainsFunc(differences, func(d doc.Difference) bool {
		return d.Field == "contact_id" && string(d.Before) == strconv.FormatInt(from, 10) &&
			string(d.After) == strconv.FormatInt(to, 10)
	})
}

// Settle moves a few more gifts and plans of merges of some contacts that still move any, for work that must find them
// where they belong. It tells whether there were such merges.
func Settle(u store.Unit, of []int64, limit int) (moving bool, err error) {
	all, err := db.List(u.Conn, store.ScanMerge, sqlMoving, u.Number)
	for _, row := range all {
		if !slices.Contains(of, row.Survivor) && !slices.Contains(of, row.Other) {
			continue
		}
		if _, err = (merging{Unit: u}).moveSome(&row, limit); err == nil {
			u.Save(store.MergeTable, row.Values(u.Number)...)
		}
		return true, err
	}
	return false, err
}

// Resume makes jobs for merges that had not moved everything when their account was written to files.
func Resume(u store.Unit) error {
	all, err := db.List(u.Conn, store.ScanMerge, sqlMoving, u.Number)
	for _, row := range all {
		m := merging{Unit: u}
		left := row.Last - row.ID
		if row.Undone == 0 {
			if left, err = m.leftBehind(&row); err != nil {
				return err
			}
		}
		m.begin(&row, MoveProgress{Total: left, Undo: row.Undone != 0})
		u.Save(store.MergeTable, row.Values(u.Number)...)
	}
	return err
}

// Moving is a merge that still moves gifts from one contact to another one, or its undo.
type Moving struct{ Job, From, To int64 }

// MovingOf tells which gifts still move to a contact or away from it. Job is 0 where there are none.
func (s *MergeStore) MovingOf(ctx context.Context, account, contact int64) (Moving, error) {
	all, err := store.List(ctx, s.base, store.ScanMerge, sqlMoving, account)
	for _, row := range all {
		switch {
		case row.Survivor != contact && row.Other != contact:
		case row.Undone != 0:
			return Moving{row.Moving, row.Survivor, row.Other}, err
		default:
			return Moving{row.Moving, row.Other, row.Survivor}, err
		}
	}
	return Moving{}, err
}
