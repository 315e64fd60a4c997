package duplicates

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
)

// SureProgress is how far such a job has come.
type SureProgress struct {
	Total  int64 `json:"total"`  // groups
	Groups int64 `json:"groups"` // that were looked at
	Merged int64 `json:"merged"` // contacts that became part of another one
	// groups that were left alone, because something was changed since, or a merge was refused
	Left int64 `json:"left"`
	At   int64 `json:"at"` // the contact that was looked at last
}

type sureSpec struct {
	Region string  `json:"region"` // of phone numbers without a country
	Only   []int64 `json:"only"`   // the persons whose groups were chosen; null for all
}

// SureKind merges what is surely the same person. What else a merge has changed is undone with it.
func (s *DuplicateStore) SureKind() jobs.Kind {
	return jobs.Kind{Step: s.sureStep, Undo: func(u *jobs.Undoing, c store.Change) (undone bool, err error) {
		if c.Noun != history.ContactNoun || c.Kind != history.DidMerge {
			return false, nil
		}
		return true, merges.Unmerge(u.Unit, c.Revision, u.Region, u.Now)
	}}
}

const (
	// The signs keep an engine from going through all sure pairs.
	sqlNextSure = pairColumns + ` AND +state = 0 AND +level = 1 AND a > $2 ORDER BY a, b LIMIT 1`
	sqlSureOf   = pairColumns + ` AND state = 0 AND +level = 1 AND person = $2 ORDER BY probability DESC, a, b`
)

// MergeSure merges the contacts of each group that is sure, or only of those groups that have one of some contacts, in
// the background: the one with most gifts survives, or else the oldest one. Each merge can be undone by itself, and the
// job as a whole like other jobs (jobs.UndoJob).
func (s *DuplicateStore) MergeSure(ctx context.Context, account int64, region string,
	only []int64,
) (j jobs.Job, err error) {
	groups, err := s.SureGroups(ctx, account)
	if err != nil {
		return j, err
	}
	err = s.base.UpdateAccount(ctx, account, func(t *store.Tx) (err error) {
		var persons []int64
		if len(only) > 0 {
			persons, err = personsOf(t, account, only)
			groups = int64(len(persons))
		}
		if err != nil {
			return err
		}
		made := jobs.NewJob(t.Account(account), jobs.SureJob, jobs.JobWaiting, sureSpec{region, persons})
		made.Progress = jobs.JSONOf(SureProgress{Total: groups})
		jobs.SaveJob(t, made)
		j = *made
		return nil
	})
	if err == nil {
		s.jobs.WakeJobs()
	}
	return j, err
}

// personsOf are the persons whose sure groups have one of some contacts.
func personsOf(t *store.Tx, account int64, ids []int64) ([]int64, error) {
	pairs, err := pairsOf(t.Conn, account, ids, false)
	pairs = slices.DeleteFunc(pairs, func(p Pair) bool { return p.Level != duplicate.Sure })
	return append([]int64{}, personsOfPairs(pairs)...), err // never nil, which would be all
}

// nextSure is the first pair of the next group; ok is false where there is none left. A group that was chosen may be
// gone: then the pair has no contacts.
func nextSure(t *store.Tx, account int64, spec *sureSpec, at *SureProgress) (next Pair, ok bool, err error) {
	var found []Pair
	switch {
	case spec.Only == nil:
		found, err = db.List(t.Conn, scanPair, sqlNextSure, account, at.At)
		ok = len(found) > 0
	case at.Groups < int64(len(spec.Only)):
		found, err = db.List(t.Conn, scanPair, sqlSureOf, account, spec.Only[at.Groups])
		ok = true
	}
	if len(found) > 0 {
		next = found[0]
	}
	return next, ok, err
}

// sureStep merges the contacts of one more group.
func (s *DuplicateStore) sureStep(ctx context.Context, w *jobs.JobWorker, j *jobs.Job) error {
	var spec sureSpec
	var progress SureProgress
	if err := errors.Join(json.Unmarshal(j.Spec, &spec), json.Unmarshal(j.Progress, &progress)); err != nil {
		return err
	}
	at, err := store.Snapshot(ctx, s.base, func(c db.Conn) (run, error) { return readRun(c, j.Account) })
	if err != nil {
		return err
	}
	model, unknown := s.model(ctx, j.Account, at.learned)
	now := s.base.Now()
	err = s.mergeGroup(ctx, w, j, &spec, &progress, func(u store.Unit, first Pair) ([]crm.Contact, error) {
		if unknown != nil {
			return nil, nil
		}
		same, err := samePerson(u.Tx, u.Number, first, model)
		if err != nil {
			return nil, err
		}
		return mergeAll(u, same, spec.Region, now)
	})
	if errors.As(err, new(*doc.Invalid)) || errors.As(err, new(*store.Damaged)) { // which another try would not change
		return s.mergeGroup(ctx, w, j, &spec, &progress, func(store.Unit, Pair) ([]crm.Contact, error) {
			return nil,
				nil
		})
	}
	return err
}

// mergeGroup merges the contacts of the next group, and notes what became of it. The group is left alone where none
// were merged.
func (s *DuplicateStore) mergeGroup(ctx context.Context, w *jobs.JobWorker, j *jobs.Job, spec *sureSpec,
	progress *SureProgress, merge func(u store.Unit, first Pair) ([]crm.Contact, error),
) error {
	return w.Advance(ctx, j, store.Needs{}, func(u store.Unit, next *jobs.Job) error {
		at := *progress
		first, ok, err := nextSure(u.Tx, u.Number, spec, &at)
		if err != nil {
			return err
		}
		if !ok {
			return jobs.EndJob(u.Tx, next, jobs.JobDone)
		}
		at.At = first.A
		at.Groups++
		var same []crm.Contact
		if first.A != 0 {
			same, err = merge(u, first)
		}
		if at.Merged += max(0, int64(len(same))-1); len(same) == 0 {
			at.Left++
		}
		next.Progress = jobs.JSONOf(at)
		return err
	})
}

// samePerson are the contacts that are surely the same person as those of a pair, by what they say now: the one that
// survives first. None comes back where something was changed since, or a person has said that two of them are not the
// same or has undone their merge, or for a pair whose groups are rather two people.
func samePerson(t *store.Tx, account int64, first Pair, model *duplicate.Model) ([]crm.Contact, error) {
	if first.person < 0 {
		return nil, nil
	}
	pairs, err := db.List(t.Conn, scanPair, sqlSureOf, account, first.person)
	if err != nil {
		return nil, err
	}
	ids := linked(first.A, pairs)
	apart, err := db.List(t.Conn, scanDismissal, sqlDismissed+` AND a = ANY($2)`, account, ids)
	if err != nil || slices.ContainsFunc(apart, func(d dismissal) bool { return slices.Contains(ids, d.b) }) {
		return nil, err
	}
	undone, err := readParted(t.Conn, account, ids)
	if err != nil || slices.ContainsFunc(ids, func(id int64) bool {
		return slices.ContainsFunc(ids, func(other int64) bool { return id < other && undone.have(id, other) })
	}) {
		return nil, err
	}
	all, err := loadActive(t.Conn, account, ids)
	var sure []Pair
	for _, f := range group(model, all) {
		if f.Level == duplicate.Sure && f.Group != 0 {
			sure = append(sure, Pair{A: min(f.A, f.B), B: max(f.A, f.B)})
		}
	}
	if err != nil || !slices.Equal(linked(first.A, sure), ids) {
		return nil, err
	}
	given := make(map[int64]int64)
	for i := range all {
		counted, plans, err := store.GiftsAndPlansOf(t.Conn, account, all[i].ID)
		if err != nil {
			return nil, err
		}
		given[all[i].ID] = counted + plans
	}
	slices.SortFunc(all, func(a, b crm.Contact) int {
		return cmp.Or(cmp.Compare(given[b.ID], given[a.ID]), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// linked are the contacts that pairs lead to from one of them, in order.
func linked(from int64, pairs []Pair) []int64 {
	ids := []int64{from}
	for grown := 0; grown < len(ids); {
		grown = len(ids)
		for _, p := range pairs {
			switch a, b := slices.Contains(ids, p.A), slices.Contains(ids, p.B); {
			case a && !b:
				ids = append(ids, p.B)
			case b && !a:
				ids = append(ids, p.A)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// mergeAll merges contacts into the first of them. None comes back where one of the merges is refused: then nothing was
// done.
func mergeAll(u store.Unit, same []crm.Contact, region string, now time.Time) ([]crm.Contact, error) {
	if len(same) == 0 {
		return nil, nil
	}
	merged := same[0]
	for i := range same[1:] {
		err := merged.CheckMerge(&same[i+1])
		if err == nil {
			merged, err = merged.Absorb(&same[i+1], crm.MergeChoice{}, region, now)
		}
		if err != nil {
			return nil, nil //nolint:nilerr // the group is left as it is
		}
	}
	others := store.Collect(same[1:], func(c crm.Contact) int64 { return c.ID })
	return same, merges.MergeAll(u, same[0].ID, others, region, now)
}
