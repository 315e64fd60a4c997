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

// A merge moves the gifts and plans of the other contact to the survivor, and its undo moves them back: a few together with the merge, and where there are more, a job goes on with the rest, a portion in
// each unit of work. Each portion takes the sums of both contacts along, so that they are always those of the gifts that a contact has. What is left to move follows from the row of the merge, the gifts
// and the history alone: any node may go on with it, and a merge that is undone meanwhile turns around.

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
	sqlMovedBy = store.ChangeColumns + ` AND revision > $2 AND revision <= $3 AND (noun = $4 OR noun = $5) ORDER BY revision DESC LIMIT $6`
	sqlOfPlan  = `SELECT id FROM gift WHERE account_id = $1 AND contact_id = $2 AND plan_id = $3 ORDER BY given_at, id LIMIT $4`
	// Undone merges that still move gifts back to a contact.
	sqlReturning = store.MergeColumns + ` AND other = $2 AND other <> 0 AND undone <> 0 AND moving <> 0 ORDER BY id LIMIT 1`
	sqlMoving    = store.MergeColumns + ` AND moving <> 0 ORDER BY id`
)

// moveRange is how many changes one portion of an undo looks through. Others may have been made while the merge moved gifts.
const moveRange = 5000

// moveStep moves a few more gifts and plans.
func moveStep(ctx context.Context, w *jobs.JobWorker, j *jobs.Job) error {
	id, err := MoveOf(j)
	if err != nil {
		return err
	}
	now, limit := w.Now(), w.UnitSize(j)
	return w.Advance(ctx, j, store.Needs{}, func(t *store.Tx, a *store.Account, next *jobs.Job) error {
		row, err := store.FindIn(t.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, a.Account, id)
		if err != nil && !errors.Is(err, crm.ErrNotFound) {
			return err
		}
		if row.Moving != next.ID { // an erasure has moved the rest, or another job does
			return jobs.EndJob(t, next, jobs.JobDone)
		}
		at, err := progressOf(next, &row)
		if err != nil {
			return err
		}
		m := merging{t: t, a: a, now: now}
		moved, err := m.moveSome(&row, limit)
		if err != nil {
			return err
		}
		t.Save(store.MergeTable, row.Values(a.Account)...)
		at.Moved += int64(moved)
		if row.Moving == 0 {
			if at.Left, err = m.leftBehind(&row); err != nil {
				return err
			}
			err = jobs.EndJob(t, next, jobs.JobDone)
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
	given, plans, err := store.GiftsAndPlansOf(m.t.Conn, m.a.Account, row.Other)
	return given + plans, err
}

// move moves what a merge or its undo has to move: some at once, and the rest by a job. total is about how many there are.
func (m merging) move(row *store.Merge, total func() (int64, error)) error {
	if row.Moving != 0 {
		if busy, err := m.t.Exists(sqlOpenJob, m.a.Account, row.Moving); busy || err != nil {
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

const sqlOpenJob = `SELECT 1 FROM job WHERE account_id = $1 AND id = $2 AND state IN ('uploading', 'mapping', 'waiting', 'running')`

// begin makes the job that moves what is left.
func (m merging) begin(row *store.Merge, at MoveProgress) {
	j := jobs.NewJob(m.t, m.a, jobs.MoveJob, jobs.JobWaiting, moveSpec{row.ID})
	j.Progress = jobs.JSONOf(at)
	jobs.SaveJob(m.t, j)
	row.Moving = j.ID
}

// moveSome moves the next gifts and plans of a merge, or of its undo. The merge has nothing moving once none is left.
func (m merging) moveSome(row *store.Merge, limit int) (moved int, err error) {
	if limit == 0 {
		return 0, nil
	}
	to, move := row.Survivor, m.moveIn
	if row.Undone != 0 {
		first, err := db.List(m.t.Conn, store.ScanMerge, sqlReturning, m.a.Account, row.Survivor)
		if err != nil {
			return 0, err
		}
		if len(first) > 0 { // what is still on its way back to the survivor goes back to the other contact after that
			if moved, err = m.moveSome(&first[0], limit); err == nil {
				m.t.Save(store.MergeTable, first[0].Values(m.a.Account)...)
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
	away, err := store.FindIn(m.t.Conn, crm.ErrNotFound, store.ScanMerge, sqlMergeAway, m.a.Account, contact)
	if errors.Is(err, crm.ErrNotFound) || err == nil && away.Moving != 0 {
		return nil
	}
	if err != nil {
		return err
	}
	left, err := m.leftBehind(&away)
	if err == nil && left > 0 {
		m.begin(&away, MoveProgress{Total: left})
		m.t.Save(store.MergeTable, away.Values(m.a.Account)...)
	}
	return err
}

// moveIn moves gifts and plans to the survivor.
func (m merging) moveIn(row *store.Merge, limit int) (moved int, ended bool, err error) {
	given, plans, err := store.NextGiven(m.t, m.a, row.Other, limit)
	if moved = len(given) + len(plans); err != nil || moved == 0 {
		return 0, err == nil, err
	}
	if err = store.Reassign(m.t, m.a, given, plans, row.Survivor, nil); err == nil {
		row.Last = m.a.Revision
	}
	return moved, moved < limit, err
}

// moveBack makes the gifts and plans that a merge has moved those of the other contact again, as far as they are still the survivor's, from the last one to the first. A gift that a plan has brought since
// goes with the plan.
func (m merging) moveBack(row *store.Merge, limit int) (moved int, ended bool, err error) {
	first := max(row.ID, m.a.Oldest-1) // what is older is forgotten
	from := max(first, row.Last-moveRange)
	changes, err := db.List(m.t.Conn, store.ScanChange, sqlMovedBy, m.a.Account, from, row.Last, int64(history.GiftNoun), int64(history.PlanNoun), int64(limit))
	if err != nil {
		return 0, false, err
	}
	if len(changes) == limit {
		from = changes[limit-1].Revision - 1
	}
	row.Last = from
	changes = slices.DeleteFunc(changes, func(c store.Change) bool { return !movedBetween(&c, row.Other, row.Survivor) })
	undoes := map[history.Noun]map[int64]int64{history.GiftNoun: {}, history.PlanNoun: {}}
	ids := make(map[history.Noun][]int64)
	for _, c := range slices.Backward(changes) {
		undoes[c.Noun][c.ID] = c.Revision
		ids[c.Noun] = append(ids[c.Noun], c.ID)
	}
	if err := db.First(func() error { return m.a.Gifts.Load(m.t, m.a.Account, ids[history.GiftNoun]) }, func() error { return m.a.Plans.Load(m.t, m.a.Account, ids[history.PlanNoun]) }); err != nil {
		return 0, false, err
	}
	given := slices.DeleteFunc(ids[history.GiftNoun], func(id int64) bool {
		g := m.a.Gifts.Rows[id]
		return g == nil || g.Damage != nil || g.Contact != row.Survivor
	})
	plans := slices.DeleteFunc(slices.Clone(ids[history.PlanNoun]), func(id int64) bool {
		p := m.a.Plans.Rows[id]
		return p == nil || p.Damage != nil || p.Contact != row.Survivor
	})
	if err = store.Reassign(m.t, m.a, given, plans, row.Other, undoes); err != nil {
		return 0, false, err
	}
	brought, err := m.bringWithPlans(row, changes, limit)
	return len(given) + len(plans) + brought, row.Last <= first, err
}

// bringWithPlans moves gifts that plans have brought to the survivor, once the plans are the other contact's again. Where there are more than a limit, the change of the plan is looked at again.
func (m merging) bringWithPlans(row *store.Merge, changes []store.Change, limit int) (moved int, err error) {
	for _, c := range changes {
		if c.Noun != history.PlanNoun || m.a.Plans.Rows[c.ID] == nil || m.a.Plans.Rows[c.ID].Contact != row.Other {
			continue
		}
		since, err := db.List(m.t.Conn, store.Number, sqlOfPlan, m.a.Account, row.Survivor, c.ID, int64(limit-moved+1))
		if err != nil {
			return moved, err
		}
		more := len(since) > limit-moved
		if more {
			since = since[:limit-moved]
			row.Last = c.Revision
		}
		if err := m.a.Gifts.Load(m.t, m.a.Account, since); err != nil {
			return moved, err
		}
		since = slices.DeleteFunc(since, func(id int64) bool { return m.a.Gifts.Rows[id].Damage != nil })
		if err := store.Reassign(m.t, m.a, since, nil, row.Other, nil); err != nil {
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
		return d.Field == "contact_id" && string(d.Before) == strconv.FormatInt(from, 10) && string(d.After) == strconv.FormatInt(to, 10)
	})
}

// Settle moves a few more gifts and plans of merges of some contacts that still move any, for work that must find them where they belong. It tells whether there were such merges.
func Settle(t *store.Tx, a *store.Account, of []int64, limit int) (moving bool, err error) {
	all, err := db.List(t.Conn, store.ScanMerge, sqlMoving, a.Account)
	for _, row := range all {
		if !slices.Contains(of, row.Survivor) && !slices.Contains(of, row.Other) {
			continue
		}
		if _, err = (merging{t: t, a: a}).moveSome(&row, limit); err == nil {
			t.Save(store.MergeTable, row.Values(a.Account)...)
		}
		return true, err
	}
	return false, err
}

// Resume makes jobs for merges that had not moved everything when their account was written to files.
func Resume(t *store.Tx, a *store.Account) error {
	all, err := db.List(t.Conn, store.ScanMerge, sqlMoving, a.Account)
	for _, row := range all {
		m := merging{t: t, a: a}
		left := row.Last - row.ID
		if row.Undone == 0 {
			if left, err = m.leftBehind(&row); err != nil {
				return err
			}
		}
		m.begin(&row, MoveProgress{Total: left, Undo: row.Undone != 0})
		t.Save(store.MergeTable, row.Values(a.Account)...)
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
