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
}

// erasureLimit is how many people one job erases: everything is looked through once for all of them.
const erasureLimit = 100

const sqlOpenErasures = `SELECT ` + jobs.JobColumns + ` FROM job WHERE account_id = $1 AND state IN ('uploading', 'mapping', 'waiting', 'running') AND kind = 'erase'`

// EraseContact removes a person. What was given stays in every sum. The contact is gone when this returns; the person is when the job has ended. Who was
// erased before has no job any more, or the one that is under way.
func (s *MoveStore) EraseContact(ctx context.Context, account, id int64) (job int64, err error) {
	if store.Foreign(account, id) {
		return 0, crm.ErrNotFound
	}
	now := s.Now()
	err = s.Update(ctx, account, contacts.MoveNeeds(id), func(t *store.Tx) error {
		job = 0
		found, err := contacts.Load(t, account, id)
		if err != nil {
			return err
		}
		job, err = eraseIn(t, t.Account(account), []*contacts.Stored{found}, now)
		return err
	})
	if err == nil && job != 0 {
		s.WakeJobs()
	}
	return job, err
}

// eraseIn makes stubs of contacts, and notes who is to be removed everywhere else. job is that of the last one.
func eraseIn(t *store.Tx, a *store.Account, found []*contacts.Stored, now time.Time) (job int64, err error) {
	if len(found) == 0 {
		return 0, nil
	}
	open, err := db.List(t.Conn, jobs.ScanJob, sqlOpenErasures, a.Account)
	if err == nil {
		found, err = withMerged(t, a, found)
	}
	var people []crm.Identity
	for _, one := range found {
		if err != nil {
			return 0, err
		}
		if one.Contact.Erased() {
			job = erasureOf(open, one.ID)
			continue
		}
		people = append(people, one.Contact.Identity())
		_, err = contacts.Change(t, one, history.DidErase, func(c crm.Contact) (crm.Contact, error) { return c.Erase(now), nil })
	}
	if err != nil || len(people) == 0 {
		return job, err
	}
	ids := store.Collect(people, func(i crm.Identity) int64 { return i.Contact })
	if err := t.Run(store.SQLForgetPairs, a.Account, ids); err != nil {
		return 0, err
	}
	return noteErasures(t, a, open, people)
}

// withMerged are contacts with all that were merged into them: these are the same people. One that was merged itself is erased with its survivor.
func withMerged(t *store.Tx, a *store.Account, found []*contacts.Stored) ([]*contacts.Stored, error) {
	all := slices.Clone(found)
	for _, one := range found {
		if one.Contact.MergedInto != 0 && !one.Contact.Erased() {
			return nil, store.Fault("", doc.EraseSurvivor, one.ID, one.Contact.MergedInto)
		}
		merged, err := store.MergedInto(t.Conn, a.Account, one.ID)
		if err != nil {
			return nil, err
		}
		for _, id := range merged {
			row, err := contacts.Load(t, a.Account, id)
			if err != nil {
				return nil, err
			}
			contacts.Of(a).Contacts[id] = row
			all = append(all, row)
		}
	}
	return all, nil
}

// erasureOf is the open job that erases a contact, 0 for none.
func erasureOf(jobs []jobs.Job, contact int64) int64 {
	for _, j := range jobs {
		var spec Erasure
		_ = json.Unmarshal(j.Spec, &spec) // what cannot be read is of no one
		if slices.Contains(spec.Contacts, contact) {
			return j.ID
		}
	}
	return 0
}

// noteErasures adds people to a job of the same author that has not begun, and to new ones. job is the last of them.
func noteErasures(t *store.Tx, a *store.Account, found []jobs.Job, people []crm.Identity) (job int64, err error) {
	j, spec, err := openErasure(t, found)
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
func openErasure(t *store.Tx, found []jobs.Job) (j *jobs.Job, spec Erasure, err error) {
	for i := range found {
		if one := &found[i]; one.State == jobs.JobWaiting && one.Actor == t.Author.Who && one.Channel == t.Author.Channel {
			var waiting Erasure
			if err := json.Unmarshal(one.Spec, &waiting); err != nil {
				return nil, spec, err
			}
			if len(waiting.Contacts) < erasureLimit {
				spec, j = waiting, one
			}
		}
	}
	return j, spec, nil
}

// FinishErasure works on an erasure until it has ended, for a process in which no one else does. It gives up where the job does not get on: a server goes
// on with it.
func (s *MoveStore) FinishErasure(ctx context.Context, account, job int64) (ended bool, err error) {
	w := jobs.NewJobWorker(s.JobStore)
	for idle := time.Now(); time.Since(idle) < erasurePatience && ctx.Err() == nil; {
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
			time.Sleep(erasureWait)
		}
	}
	return false, ctx.Err()
}

const (
	erasurePatience = 30 * time.Second
	erasureWait     = 100 * time.Millisecond
)
