package move

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/jobs"
)

// To erase a contact is to remove the person for good. The document becomes a stub at once (crm/contact_erase.go), which takes them out of the search
// and of every set. A job removes what else names them (contact_erase_work.go): on gifts and plans, which keep their money; in the history, whose rows keep
// their numbers, because there must be no gap, and lose what they say; in kept answers, rows of imports and segments.

// Erasure says whom a job erases.
type Erasure struct {
	Contacts []int64        `json:"contacts"`
	People   []crm.Identity `json:"people,omitempty"` // what they were known by, until it was looked for everywhere
	Gifts    []int64        `json:"gifts,omitempty"`  // that were theirs once, and are another contact's now
	Asked    []int64        `json:"asked,omitempty"`  // the contacts that it began with, while it is at others that were merged into these
}

// erasureLimit is how many people one job erases at a time: everything is looked through once for all of them.
const erasureLimit = 100

const (
	sqlOpenErasures = `SELECT ` + jobs.JobColumns + ` FROM job WHERE account_id = $1 AND state IN ('uploading', 'mapping', 'waiting', 'running') AND kind = 'erase'`
	sqlNextErasure  = sqlOpenErasures + ` AND state = 'waiting' ORDER BY id DESC LIMIT 1`
)

// EraseContact removes a person. What was given stays in every sum. The contact is gone when this returns; the person is when the job has ended. Who was
// erased before has no job any more, or the one that is under way.
func (s *MoveStore) EraseContact(ctx context.Context, account, id int64) (job int64, err error) {
	if store.Foreign(account, id) {
		return 0, crm.ErrNotFound
	}
	now := s.Now()
	err = s.Update(ctx, account, contacts.MoveNeeds(id), func(t *store.Tx) error {
		found, err := contacts.Load(t, account, id)
		if err != nil {
			return err
		}
		a := t.Account(account)
		if found.Contact.Erased() {
			job, err = erasureOf(t, a, id)
			return err
		}
		room := erasureLimit - 1
		all, err := withMerged(t, a, found, &room)
		if err == nil {
			job, err = eraseIn(t, a, all, now)
		}
		return err
	})
	if err == nil && job != 0 {
		s.WakeJobs()
	}
	return job, err
}

// EraseAll is EraseContact of many in a unit of work. Those who cannot be erased stay.
func EraseAll(t *store.Tx, a *store.Account, found []*contacts.Stored, now time.Time) (refused []int64, err error) {
	var all []*contacts.Stored
	room := erasureLimit - 1
	for _, one := range found {
		some, err := withMerged(t, a, one, &room)
		switch {
		case errors.As(err, new(*doc.Invalid)), errors.As(err, new(*store.Damaged)):
			refused = append(refused, one.ID)
		case err != nil:
			return nil, err
		}
		all = append(all, some...)
	}
	_, err = eraseIn(t, a, all, now)
	return refused, err
}

// eraseIn makes stubs of contacts, and notes who is to be removed everywhere else. job is that of the last one.
func eraseIn(t *store.Tx, a *store.Account, found []*contacts.Stored, now time.Time) (job int64, err error) {
	people, err := makeStubs(t, a, found, now)
	if err != nil || len(people) == 0 {
		return 0, err
	}
	return noteErasures(t, a, people)
}

// makeStubs makes stubs of contacts, unless they are, and tells what these people were known by.
func makeStubs(t *store.Tx, a *store.Account, found []*contacts.Stored, now time.Time) (people []crm.Identity, err error) {
	for _, one := range found {
		if one.Contact.Erased() {
			continue
		}
		people = append(people, one.Contact.Identity())
		if _, err = contacts.Change(t, one, history.DidErase, func(c crm.Contact) (crm.Contact, error) { return c.Erase(now), nil }); err != nil {
			return nil, err
		}
	}
	ids := store.Collect(people, func(i crm.Identity) int64 { return i.Contact })
	for _, forget := range []string{store.SQLForgetPairsA, store.SQLForgetPairsB} {
		if err == nil && len(ids) > 0 {
			err = t.Run(forget, a.Account, ids)
		}
	}
	return people, err
}

// withMerged is a contact with those that were merged into it, also by way of others: these are the same person. Where there are more than there is room for, the job finds the others. One that was merged
// itself is erased with its survivor.
func withMerged(t *store.Tx, a *store.Account, one *contacts.Stored, room *int) ([]*contacts.Stored, error) {
	if one.Contact.MergedInto != 0 {
		return nil, store.Fault("", doc.EraseSurvivor, one.ID, one.Contact.MergedInto)
	}
	all := []*contacts.Stored{one}
	for i := 0; i < len(all) && *room > 0; i++ {
		merges, err := db.List(t.Conn, store.ScanMerge, store.SQLMergedAfter, a.Account, all[i].ID, int64(0), int64(*room))
		if err != nil {
			return nil, err
		}
		*room -= len(merges)
		for _, m := range merges {
			row, err := loadMerged(t, a, m.Other)
			if err != nil {
				return nil, err
			}
			all = append(all, row)
		}
	}
	return all, nil
}

// loadMerged reads a contact, and notes it for what the unit does next.
func loadMerged(t *store.Tx, a *store.Account, id int64) (*contacts.Stored, error) {
	row, err := contacts.Load(t, a.Account, id)
	if err == nil {
		contacts.Of(a).Contacts[id] = row
	}
	return row, err
}

// eraseMerged makes stubs of some contacts that were merged into those of the job and are none yet. They are a part of the job, which it turns to when it is done with those it is at.
func (e *eraser) eraseMerged(t *store.Tx, a *store.Account, at *erasureProgress, now time.Time) (more bool, err error) {
	var found []*contacts.Stored
	for at.Person < len(e.spec.Contacts) && len(found) < e.unit {
		some, err := db.List(t.Conn, store.ScanMerge, store.SQLMergedAfter, a.Account, e.spec.Contacts[at.Person], at.At, int64(e.unit-len(found)))
		if err != nil {
			return false, err
		}
		if len(some) == 0 {
			at.Person, at.At = at.Person+1, 0
		}
		for _, m := range some {
			row, err := loadMerged(t, a, m.Other)
			if at.At = m.ID; err == nil && !row.Contact.Erased() {
				found = append(found, row)
			} else if err != nil && !errors.As(err, new(*store.Damaged)) { // what cannot be read stays, and a check tells of it
				return false, err
			}
		}
	}
	people, err := makeStubs(t, a, found, now)
	if len(people) > 0 {
		at.Parts++
		t.Save(store.JobPartTable, a.Account, e.job.ID, at.Parts, []byte(jobs.JSONOf(people)))
	}
	return len(found) >= e.unit, err
}

const sqlFirstPart = `SELECT number, data FROM job_part WHERE account_id = $1 AND job_id = $2 AND number > 0 ORDER BY number LIMIT 1`

// turn lets the job turn to the next contacts that were merged into those it has erased. It tells whether there are any.
func (e *eraser) turn(ctx context.Context) (more bool, err error) {
	if e.at.Parts == 0 {
		return false, nil
	}
	var people []crm.Identity
	part, err := store.Find(ctx, e.JobStore.Base, crm.ErrNotFound, func(r db.Row) int64 {
		people = nil
		_ = json.Unmarshal(r.Bytes(1), &people) // which we wrote
		return r.Int(0)
	}, sqlFirstPart, e.job.Account, e.job.ID)
	if errors.Is(err, crm.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if e.spec.Asked == nil {
		e.spec.Asked = e.spec.Contacts
	}
	e.spec.Contacts, e.spec.People, e.spec.Gifts = store.Collect(people, func(i crm.Identity) int64 { return i.Contact }), people, nil
	e.at = erasureProgress{Parts: e.at.Parts}
	return true, e.note(ctx, store.Needs{}, func(t *store.Tx, a *store.Account) error {
		t.Delete(store.JobPartTable, a.Account, e.job.ID, part)
		return nil
	})
}

// erasureOf is the open job that erases a contact, 0 for none.
func erasureOf(t *store.Tx, a *store.Account, contact int64) (int64, error) {
	open, err := db.List(t.Conn, jobs.ScanJob, sqlOpenErasures, a.Account)
	for _, j := range open {
		var spec Erasure
		_ = json.Unmarshal(j.Spec, &spec) // what cannot be read is of no one
		if slices.Contains(spec.Contacts, contact) || slices.Contains(spec.Asked, contact) {
			return j.ID, err
		}
	}
	return 0, err
}

// noteErasures adds people to a job of the same author that has not begun, and to new ones. job is the last of them.
func noteErasures(t *store.Tx, a *store.Account, people []crm.Identity) (job int64, err error) {
	j, spec, err := openErasure(t, a)
	for i := 0; i < len(people) && err == nil; {
		if j == nil {
			j, spec = jobs.NewJob(t, a, jobs.EraseJob, jobs.JobWaiting, Erasure{}), Erasure{}
		}
		for ; i < len(people) && len(spec.Contacts) < erasureLimit; i++ {
			spec.Contacts, spec.People = append(spec.Contacts, people[i].Contact), append(spec.People, people[i])
		}
		j.Spec = jobs.JSONOf(spec)
		jobs.SaveJob(t, j)
		job, j = j.ID, nil
	}
	return job, err
}

// openErasure is a job of the same author that has not begun and has room, nil for none.
func openErasure(t *store.Tx, a *store.Account) (*jobs.Job, Erasure, error) {
	var spec Erasure
	waiting, err := db.List(t.Conn, jobs.ScanJob, sqlNextErasure, a.Account)
	if err != nil || len(waiting) == 0 || waiting[0].Actor != t.Author.Who || waiting[0].Channel != t.Author.Channel {
		return nil, spec, err
	}
	if err := json.Unmarshal(waiting[0].Spec, &spec); err != nil || len(spec.Contacts) >= erasureLimit {
		return nil, Erasure{}, err
	}
	return &waiting[0], spec, nil
}

// FinishJob works on a job until it has ended, for a process in which no one else does. It gives up where the job does not get on: a server goes
// on with it.
func (s *MoveStore) FinishJob(ctx context.Context, account, job int64) (ended bool, err error) {
	w := jobs.NewJobWorker(s.JobStore)
	for idle := time.Now(); time.Since(idle) < jobPatience && ctx.Err() == nil; {
		j, err := s.Job(ctx, account, job)
		if err != nil || j.Ended() {
			return err == nil, err
		}
		worked, err := w.Step(ctx, &j)
		switch {
		case worked:
			idle = time.Now()
		case err != nil && !errors.Is(err, jobs.ErrJobMoved):
			return false, err
		default:
			time.Sleep(jobWait)
		}
	}
	return false, ctx.Err()
}

const (
	jobPatience = 30 * time.Second
	jobWait     = 100 * time.Millisecond
)
