package jobs

import (
	"context"
	"encoding/json"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// A tag is renamed, merged into another one or deleted by one bulk change of the contacts that have it
// (contact_bulk.go). One that goes on in the background does so until none is left, so that it also changes those that
// get the tag meanwhile.

const sqlOpenBulkJobs = `SELECT ` + JobColumns + ` FROM job WHERE account_id = $1
	AND state IN ('uploading', 'mapping', 'waiting', 'running') AND kind = 'bulk'`

// TagWork is what a job is doing to tags.
type TagWork struct {
	Job int64
	crm.BulkAction
}

// TagChange is what has become of a tag that was renamed or deleted.
type TagChange struct {
	store.TagCount // under its new name, or under the old one while contacts still have it
	BulkResult     // its job is 0 where nothing was to be done
}

// Outcome tells that nothing is new.
func (c TagChange) Outcome() store.Outcome { return store.Outcome{Unfinished: c.unfinished} }

// RenameTags gives tags one name, or takes them away where that is "", on every contact that has any of them, also on
// archived ones. A contact that has several of the names keeps the place of the first.
func (s *JobStore) RenameTags(ctx context.Context, account int64, becomes string, names ...string) (TagChange, error) {
	now, action := s.Now(), crm.BulkAction{Kind: crm.BulkRename, Tags: names, Becomes: becomes}
	made, err := store.Answered(ctx, s.Store, account, store.Needs{}, func(u store.Unit) (made TagChange, err error) {
		set, err := tagged(u, names)
		if err == nil && (set.Count() == 0 || !slices.Contains(names, becomes)) { // else it has the name already
			made.Job, err = tagUnderWay(u.Conn, u.Number, action)
			made.unfinished = made.Job != 0
			switch {
			case err != nil || made.unfinished:
			case set.Count() == 0:
				err = crm.ErrNotFound
			default:
				made.BulkResult, err = beginBulk(u, action, set, now)
			}
		}
		if err != nil {
			return made, err
		}
		if made.Name = becomes; made.unfinished {
			made.Name = names[0]
		}
		made.Contacts, err = u.Int(store.SQLTagCount, account, crm.FoldTag(made.Name), made.Name)
		return made, err
	})
	if made.unfinished {
		s.WakeJobs()
	}
	return made, err
}

// TagSize is how many contacts have a tag. One that no contact has is crm.ErrNotFound.
func (s *JobStore) TagSize(ctx context.Context, account int64, name string) (size store.Counts, err error) {
	if !crm.IsTagName(name) {
		return size, crm.ErrNotFound
	}
	size.Active, err = store.Lend(ctx, s.Read, func(c db.Conn) (int64, error) {
		return c.Int(store.SQLTagCount, account, crm.FoldTag(name), name)
	})
	if err != nil {
		return size, err
	}
	archived, err := s.ArchivedWithTags(ctx, account, []string{name})
	if size.Archived = archived[name]; err == nil && size == (store.Counts{}) {
		err = crm.ErrNotFound
	}
	return size, err
}

// TagsUnderWay is what is being done to tags in the background.
func (s *JobStore) TagsUnderWay(ctx context.Context, account int64) (works []TagWork, err error) {
	err = s.View(ctx, func(c db.Conn) error {
		works, err = tagWorks(c, account)
		return err
	})
	return works, err
}

func tagWorks(c db.Conn, account int64) (works []TagWork, err error) {
	jobs, err := db.List(c, ScanJob, sqlOpenBulkJobs, account)
	for _, j := range jobs {
		work := TagWork{Job: j.ID}
		if err := json.Unmarshal(j.Spec, &work.BulkAction); err != nil {
			return nil, err
		}
		if work.Kind == crm.BulkRename {
			works = append(works, work)
		}
	}
	return works, err
}

// tagUnderWay is the job that does the same already, 0 for none. Other work on the tags, or such that makes contacts
// have them, must end first.
func tagUnderWay(c db.Conn, account int64, action crm.BulkAction) (job int64, err error) {
	works, err := tagWorks(c, account)
	for _, other := range works {
		busy := func(name string) bool { return slices.Contains(other.Tags, name) }
		switch {
		case slices.Equal(other.Tags, action.Tags) && other.Becomes == action.Becomes:
			return other.Job, err
		case slices.Contains(action.Tags, other.Becomes), busy(action.Becomes), slices.ContainsFunc(action.Tags, busy):
			return 0, store.Fault("", doc.TagBusy)
		}
	}
	return 0, err
}

// tagged are the contacts that have any of some tags, with what the batch has done before.
func tagged(u store.Unit, names []string) (set db.Set, err error) {
	store.WriteSets(u)
	for _, name := range names {
		if !crm.IsTagName(name) {
			continue // no contact has it
		}
		if err = store.AddBlocks(u.Conn, u.Number, find.TagSet+name, 0, &set); err != nil {
			break
		}
	}
	return set, err
}

// nextTagged are the next contacts that have the tags of a job. Where some have got them behind its back it begins
// again: the only ones that stay there are those that could not be changed.
func nextTagged(u store.Unit, action crm.BulkAction, at *BulkProgress) (ids []int64, ended bool, err error) {
	set, err := tagged(u, action.Tags)
	from := set.Rank(at.At)
	if from == set.Count() && from > at.Unreadable+at.Already {
		from, at.Unreadable, at.Already = 0, 0, 0
	}
	seqs := set.Page(from, from+BulkUnit)
	if len(seqs) > 0 {
		at.At = seqs[len(seqs)-1]
	}
	return store.IDsOf(u.Number, seqs), len(seqs) == 0, err
}
