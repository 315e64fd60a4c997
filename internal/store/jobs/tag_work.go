package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// A tag that many contacts have is renamed or deleted by a job (contact_bulk.go). Each unit of work takes some of the contacts that still have
// the tag, also those that got it meanwhile, until there are none.

const (
	sqlOpenBulkJobs = `SELECT ` + JobColumns + ` FROM job WHERE account_id = $1 AND state IN ('uploading', 'mapping', 'waiting', 'running') AND kind = 'bulk'`
	sqlSetSize      = `SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM contact_set WHERE account_id = $1 AND name = $2`
)

// TagWork is what is being done to tags; those that become "" are deleted.
type TagWork struct {
	Job     int64
	Names   []string
	Becomes string
}

func (w TagWork) action() crm.BulkAction {
	return crm.BulkAction{Kind: crm.BulkRename, Tags: w.Names, Becomes: w.Becomes}
}

// TagChange is what has become of a tag that was renamed or deleted.
type TagChange struct {
	store.TagCount       // under its new name, or under the old one while contacts still have it
	Job            int64 // that has changed it, by which it can be undone; 0 where nothing was to be done
	Changed        int64 // contacts
	Archived       int64 // of them
	unfinished     bool  // it goes on in the background
}

// Unfinished tells whether the change goes on in the background.
func (c TagChange) Unfinished() bool { return c.unfinished }

// Outcome tells that nothing is new.
func (c TagChange) Outcome() store.Outcome { return store.Outcome{Unfinished: c.unfinished} }

// RenameTag gives a tag another name on every contact that has it, also on archived ones. A contact that has both names keeps the one that
// comes first.
func (s *JobStore) RenameTag(ctx context.Context, account int64, name, becomes string) (TagChange, error) {
	return s.changeTag(ctx, account, TagWork{Names: []string{name}, Becomes: becomes})
}

// MergeTags is RenameTag for several tags that become the same one.
func (s *JobStore) MergeTags(ctx context.Context, account int64, names []string, becomes string) (TagChange, error) {
	return s.changeTag(ctx, account, TagWork{Names: names, Becomes: becomes})
}

// DeleteTag takes a tag from every contact that has it, also from archived ones.
func (s *JobStore) DeleteTag(ctx context.Context, account int64, name string) (TagChange, error) {
	return s.changeTag(ctx, account, TagWork{Names: []string{name}})
}

// TagSize is how many contacts have a tag. One that no contact has is crm.ErrNotFound.
func (s *JobStore) TagSize(ctx context.Context, account int64, name string) (size store.Counts, err error) {
	if !crm.IsTagName(name) {
		return size, crm.ErrNotFound
	}
	size.Active, err = store.Lend(ctx, s.Read, func(c db.Conn) (int64, error) { return c.Int(store.SQLTagCount, account, crm.FoldTag(name), name) })
	if err != nil {
		return size, err
	}
	archived, err := s.ArchivedWithTags(ctx, account, []string{name})
	if size.Archived = archived[name]; err == nil && size == (store.Counts{}) {
		err = crm.ErrNotFound
	}
	return size, err
}

// CheckTag tells whether any contact has the tag, also an archived one.
func (s *JobStore) CheckTag(ctx context.Context, account int64, name string) error {
	return s.View(ctx, func(c db.Conn) error {
		ids, err := tagged(c, account, name, 1)
		if err == nil && len(ids) == 0 {
			err = crm.ErrNotFound
		}
		return err
	})
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
		var action crm.BulkAction
		if err := json.Unmarshal(j.Spec, &action); err != nil {
			return nil, err
		}
		if action.Kind == crm.BulkRename {
			works = append(works, TagWork{j.ID, action.Tags, action.Becomes})
		}
	}
	return works, err
}

// renamesTags tells whether a job renames or deletes tags, which it does on all contacts that have them.
func (j *Job) renamesTags() bool {
	var action crm.BulkAction
	return json.Unmarshal(j.Spec, &action) == nil && action.Kind == crm.BulkRename
}

// changeTag changes tags at once where few contacts have them, and begins a job where they are many.
func (s *JobStore) changeTag(ctx context.Context, account int64, w TagWork) (TagChange, error) {
	now := s.Now()
	made, err := store.Answered(ctx, s.Store, account, store.Needs{}, func(u store.Unit) (made TagChange, err error) {
		if made, err = changeTag(u, w, now); err != nil {
			return made, err
		}
		shown := w.Becomes
		if made.unfinished {
			shown = w.Names[0]
		}
		people, err := u.Int(store.SQLTagCount, account, crm.FoldTag(shown), shown)
		made.TagCount = store.TagCount{Name: shown, Contacts: people}
		return made, err
	})
	if made.unfinished {
		s.WakeJobs()
	}
	return made, err
}

func changeTag(u store.Unit, w TagWork, now time.Time) (made TagChange, err error) {
	ids, err := findTagged(u, w.Names, BulkAtOnce+1)
	if err != nil || slices.Contains(w.Names, w.Becomes) && len(ids) > 0 { // it has the name already
		return made, err
	}
	if made.Job, err = tagUnderWay(u.Tx, u.Number, w); made.Job != 0 || err != nil {
		made.unfinished = made.Job != 0
		return made, err
	}
	if len(ids) == 0 {
		return made, crm.ErrNotFound
	}
	if made.unfinished = len(ids) > BulkAtOnce; !made.unfinished {
		if made.unfinished, err = areLarge(u.Tx, u.Number, ids); err != nil {
			return made, err
		}
	}
	if made.unfinished {
		noteTags(u, w)
		made.Job, err = beginTagJob(u, w)
		return made, err
	}
	if _, damage, err := loadTagged(u, ids, w.Names); err != nil || damage != nil {
		return made, cmp.Or(err, damage)
	}
	noteTags(u, w)
	job, counts, err := bulkAtOnce(u, w.action(), ids, now)
	made.Job, made.Changed, made.Archived = job, counts.Changed, counts.ChangedArchived
	return made, err
}

// noteTags notes what becomes of tags. Each contact that has them has a row of its own.
func noteTags(u store.Unit, w TagWork) {
	kind := history.DidUpdate
	if w.Becomes == "" {
		kind = history.DidDelete
	}
	for _, name := range w.Names {
		u.Record(history.TagNoun, 0, kind, doc.Differences{doc.TextDifference("name", name, w.Becomes)}.Text())
	}
}

// beginTagJob makes the job that changes tags of many contacts.
func beginTagJob(u store.Unit, w TagWork) (job int64, err error) {
	progress := BulkProgress{}
	for _, name := range w.Names {
		size, err := u.Int(sqlSetSize, u.Number, find.TagSet+name) // also of contacts that were merged into others
		if err != nil {
			return 0, err
		}
		progress.Total += size
	}
	j := NewJob(u, BulkJob, JobWaiting, w.action())
	j.Progress = JSONOf(progress)
	SaveJob(u.Tx, j)
	return j.ID, nil
}

// tagUnderWay is the job that does the same already, 0 for none. Other work on the tags, or such that makes contacts have them, must end first.
func tagUnderWay(t *store.Tx, account int64, w TagWork) (job int64, err error) {
	works, err := tagWorks(t.Conn, account)
	for _, other := range works {
		switch {
		case slices.Equal(other.Names, w.Names) && other.Becomes == w.Becomes:
			return other.Job, err
		case slices.Contains(w.Names, other.Becomes), slices.Contains(other.Names, w.Becomes), slices.ContainsFunc(w.Names, func(name string) bool { return slices.Contains(other.Names, name) }):
			faults := &doc.Invalid{}
			faults.Add("", doc.TagBusy)
			return 0, faults
		}
	}
	return 0, err
}

// findTagged are some contacts that have one of several tags, as many as are asked for where there are as many. It sees what the batch has done
// before.
func findTagged(u store.Unit, names []string, limit int) (ids []int64, err error) {
	store.WriteSets(u)
	for _, name := range names {
		found, err := tagged(u.Conn, u.Number, name, limit)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(len(ids), limit)], nil
}

// tagged are some contacts that have a tag, as many as are asked for where there are as many.
func tagged(c db.Conn, account int64, name string, limit int) ([]int64, error) {
	if !crm.IsTagName(name) {
		return nil, nil
	}
	return store.FirstOfSet(c, account, find.TagSet+name, limit)
}

// loadTagged loads contacts that are to have a tag, and leaves out those that do not. Of damaged ones it tells the first.
func loadTagged(u store.Unit, ids []int64, names []string) (rows []*store.StoredContact, damage, err error) {
	all, err := loadRows(u, ids)
	for _, row := range all {
		switch {
		case row.Damage != nil:
			damage = cmp.Or(damage, row.Damage)
		case slices.ContainsFunc(row.Contact.Tags, func(tag string) bool { return slices.Contains(names, tag) }):
			rows = append(rows, row)
		}
	}
	return rows, damage, err
}

// nextTagged are some contacts that still have the tags of a job. Those that are damaged stay, and so does the job.
func nextTagged(u store.Unit, action crm.BulkAction) (rows []*store.StoredContact, ended bool, err error) {
	ids, err := findTagged(u, action.Tags, BulkUnit)
	if err != nil {
		return nil, false, err
	}
	rows, damage, err := loadTagged(u, ids, action.Tags)
	if err == nil && len(rows) == 0 {
		err = damage
	}
	return rows, damage == nil && (len(ids) < BulkUnit || len(rows) == 0), err
}
