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
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
)

// To erase a contact is to remove the person for good. The document becomes a stub at once (crm/contact_erase.go),
// which takes them out of the search and of every set. A job removes what else names them (contact_erase_work.go): on
// gifts and plans, which keep their money; in the history, whose rows keep their numbers, because there must be no gap,
// and lose what they say; in kept answers, rows of imports and segments.

// Erasure says whom a job erases.
type Erasure struct {
	Contacts []int64        `json:"contacts"`
	People   []crm.Identity `json:"people,omitempty"`  // what they were known by, until it was looked for everywhere
	PartOf   []int64        `json:"part_of,omitempty"` // other contacts that they were part of for a while
	// the contacts that it began with, while it is at others that were merged into these
	Asked []int64 `json:"asked,omitempty"`
}

// add adds as many people as there is room for.
func (s *Erasure) add(people []crm.Identity) (rest []crm.Identity) {
	some := people[:max(0, min(len(people), erasureLimit-len(s.Contacts)))]
	s.Contacts, s.People = append(s.Contacts, contactsOf(some)...), append(s.People, some...)
	return people[len(some):]
}

func contactsOf(people []crm.Identity) []int64 {
	return store.Collect(people, func(i crm.Identity) int64 { return i.Contact })
}

// erasureLimit is how many people one job erases at a time: everything is looked through once for all of them.
const erasureLimit = 100

const (
	sqlOpenErasures = `SELECT ` + jobs.JobColumns + ` FROM job WHERE account_id = $1
		AND state IN ('uploading', 'mapping', 'waiting', 'running') AND kind = 'erase'`
	sqlNextErasure = sqlOpenErasures + ` AND state = 'waiting' ORDER BY id DESC LIMIT 1`
)

// EraseContact removes a person. What was given stays in every sum. The contact is gone when this returns; the person
// is when the job has ended. Who was erased before has no job any more, or the one that is under way.
func (s *MoveStore) EraseContact(ctx context.Context, account, id int64) (job int64, err error) {
	if store.Foreign(account, id) {
		return 0, crm.ErrNotFound
	}
	now := s.Now()
	err = s.Update(ctx, account, store.MoveNeeds(id), func(t *store.Tx) error {
		found, err := store.Load(t, account, id)
		if err != nil {
			return err
		}
		if u := t.Account(account); found.Contact.Erased() {
			job, err = erasureOf(u, id)
		} else if err = mayErase(found); err == nil {
			job, err = eraseIn(u, []*store.StoredContact{found}, now)
		}
		return err
	})
	if err == nil && job != 0 {
		s.WakeJobs()
	}
	return job, err
}

// mayErase refuses to erase a contact that was merged into another one: it is erased with that one.
func mayErase(one *store.StoredContact) error {
	if one.Contact.MergedInto != 0 {
		return store.Fault("", doc.EraseSurvivor, one.ID, one.Contact.MergedInto)
	}
	return nil
}

// EraseAll is EraseContact of many in a unit of work. Those who cannot be erased stay.
func EraseAll(u store.Unit, found []*store.StoredContact, now time.Time) (refused []int64, err error) {
	var all []*store.StoredContact
	for _, one := range found {
		if mayErase(one) != nil {
			refused = append(refused, one.ID)
		} else {
			all = append(all, one)
		}
	}
	_, err = eraseIn(u, all, now)
	return refused, err
}

// eraseIn makes stubs of contacts, and notes who is to be removed everywhere else. job is that of the last one.
func eraseIn(u store.Unit, found []*store.StoredContact, now time.Time) (job int64, err error) {
	people, err := makeStubs(u, found, now)
	if err != nil || len(people) == 0 {
		return 0, err
	}
	return noteErasures(u, people)
}

// makeStubs makes stubs of contacts, unless they are, and tells what these people were known by.
func makeStubs(u store.Unit, found []*store.StoredContact, now time.Time) (people []crm.Identity, err error) {
	for _, one := range found {
		if one.Contact.Erased() {
			continue
		}
		people = append(people, one.Contact.Identity())
		if _, err = store.ChangeContact(u.Tx, one, history.DidErase,
			func(c crm.Contact) (crm.Contact, error) { return c.Erase(now), nil }); err != nil {
			return nil, err
		}
	}
	ids := contactsOf(people)
	for _, forget := range []string{store.SQLForgetPairsA, store.SQLForgetPairsB} {
		if err == nil && len(ids) > 0 {
			err = u.Run(forget, u.Number, ids)
		}
	}
	return people, err
}

// begin closes the list of people: those who are erased from now on get another job. Gifts that merges still move come
// to where they belong first, so that none is missed. Contacts that were merged into these, also by way of others, are
// the same person: they become stubs, too, and are part of the job. It turns to those it has no room for when it is
// done with the others.
func (e *eraser) begin(ctx context.Context) error {
	now := e.Now()
	return e.Advance(ctx, e.job, store.Needs{}, func(u store.Unit, next *jobs.Job) error {
		e.spec, e.at = Erasure{}, erasureProgress{}
		// someone may have been added
		if err := errors.Join(json.Unmarshal(next.Spec, &e.spec), json.Unmarshal(next.Progress, &e.at)); err != nil {
			return err
		}
		if moving, err := merges.Settle(u, e.spec.Contacts, e.unit); moving || err != nil {
			return err
		}
		people, err := e.eraseMerged(u, now)
		if rest := e.spec.add(people); len(rest) > 0 {
			e.at.Parts++
			u.Save(store.JobPartTable, u.Number, e.job.ID, e.at.Parts, []byte(jobs.JSONOf(rest)))
		}
		if len(people) == 0 {
			e.next()
		}
		next.Spec, next.Progress = jobs.JSONOf(e.spec), jobs.JSONOf(e.at)
		return err
	})
}

// eraseMerged makes stubs of some contacts that were merged into those of the job and are none yet.
func (e *eraser) eraseMerged(u store.Unit, now time.Time) (people []crm.Identity, err error) {
	var found []*store.StoredContact
	for e.at.Person < len(e.spec.Contacts) && len(found) < e.unit {
		some, err := db.List(u.Conn, store.ScanMerge, store.SQLMergedAfter, u.Number, e.spec.Contacts[e.at.Person],
			e.at.At, int64(e.unit-len(found)))
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			e.at.Person, e.at.At = e.at.Person+1, 0
		}
		for _, m := range some {
			row, err := store.Load(u.Tx, u.Number, m.Other)
			if e.at.At = m.ID; err == nil && !row.Contact.Erased() {
				u.Contacts[m.Other], found = row, append(found, row)
			} else if err != nil &&
				!errors.As(err, new(*store.Damaged)) { // what cannot be read stays, and a check tells of it
				return nil, err
			}
		}
	}
	return makeStubs(u, found, now)
}

const (
	// as many people as a search through all texts is worth
	sqlFirstParts = `SELECT number, data FROM job_part WHERE account_id = $1 AND job_id = $2 AND number > 0
		ORDER BY number LIMIT 10`
	sqlTakeParts = `DELETE FROM job_part WHERE account_id = $1 AND job_id = $2 AND number > 0 AND number <= $3`
)

// turn lets the job turn to the next contacts that were merged into those it has erased. It tells whether there are
// any.
func (e *eraser) turn(ctx context.Context) (more bool, err error) {
	if e.at.Parts == 0 {
		return false, nil
	}
	var people []crm.Identity
	parts, err := store.List(ctx, e.JobStore.Store, func(r db.Row) int64 {
		var some []crm.Identity
		_ = json.Unmarshal(r.Bytes(1), &some) // which we wrote
		people = append(people, some...)
		return r.Int(0)
	}, sqlFirstParts, e.job.Account, e.job.ID)
	if err != nil || len(parts) == 0 {
		return false, err
	}
	if e.spec.Asked == nil {
		e.spec.Asked = e.spec.Contacts
	}
	e.spec.Contacts, e.spec.People, e.spec.PartOf = contactsOf(people), people, nil
	e.at = erasureProgress{Parts: e.at.Parts}
	p := &erasedPiece{}
	p.write(sqlTakeParts, e.job.ID, parts[len(parts)-1])
	return true, e.note(ctx, p)
}

// erasureOf is the open job that erases a contact, 0 for none.
func erasureOf(u store.Unit, contact int64) (int64, error) {
	open, err := db.List(u.Conn, jobs.ScanJob, sqlOpenErasures, u.Number)
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
func noteErasures(u store.Unit, people []crm.Identity) (job int64, err error) {
	j, spec, err := openErasure(u)
	for len(people) > 0 && err == nil {
		if j == nil {
			j, spec = jobs.NewJob(u, jobs.EraseJob, jobs.JobWaiting, Erasure{}), Erasure{}
		}
		people = spec.add(people)
		j.Spec = jobs.JSONOf(spec)
		jobs.SaveJob(u.Tx, j)
		job, j = j.ID, nil
	}
	return job, err
}

// openErasure is a job of the same author that has not begun and has room, nil for none.
func openErasure(u store.Unit) (*jobs.Job, Erasure, error) {
	var spec Erasure
	waiting, err := db.List(u.Conn, jobs.ScanJob, sqlNextErasure, u.Number)
	if err != nil || len(waiting) == 0 || waiting[0].Actor != u.Author.Who || waiting[0].Channel != u.Author.Channel {
		return nil, spec, err
	}
	if err := json.Unmarshal(waiting[0].Spec, &spec); err != nil || len(spec.Contacts) >= erasureLimit {
		return nil, Erasure{}, err
	}
	return &waiting[0], spec, nil
}

// FinishJob works on a job until it has ended, for a process in which no one else does. It gives up where the job does
// not get on: a server goes on with it.
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
