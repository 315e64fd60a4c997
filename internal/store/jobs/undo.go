package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// UndoUnit is how many changes one unit of work takes back at most: their contacts are in memory together.
const UndoUnit = 100

// undoSpec says which job is taken back.
type undoSpec struct {
	Job    int64  `json:"job"`
	Region string `json:"region"`          // of phone numbers without +
	Erase  bool   `json:"erase,omitempty"` // what the job has created is erased, and not only archived
}

// Undoes is the number of the job that an undo takes back.
func (j *Job) Undoes() int64 {
	var spec undoSpec
	_ = json.Unmarshal(j.Spec, &spec) // of what cannot be read there is no job
	return spec.Job
}

// UndoProgress is how far a job was taken back, from its last change to its first.
type UndoProgress struct {
	At        int64 `json:"at"`                  // the next change to look at
	Undone    int64 `json:"undone"`              // changes that were taken back
	Withdrawn int64 `json:"withdrawn,omitempty"` // gifts among them
	Restored  int64 `json:"restored,omitempty"`  // changes among them of gifts that were there before
	Erased    int64 `json:"erased,omitempty"`    // contacts among them
	Campaigns int64 `json:"campaigns,omitempty"` // that were made, and removed
	// contacts, gifts, plans and campaigns that were changed since, and stay as they are
	Kept int64 `json:"kept"`
}

// ChangedSince is the outcome of a contact, a gift or a plan that the undoing of a job has left alone.
const ChangedSince = "changed since"

// UndoState says how far an undo has come.
func (j *Job) UndoState() string {
	switch {
	case j.Working():
		return "Being undone"
	case j.StoppedUndo():
		return "Undo stopped"
	}
	return "Undone"
}

// Kept is what was left alone, where it is not the contact itself: the public id of a gift or a plan, or a campaign.
type Kept struct {
	Gift     string `json:"gift,omitempty"`
	Plan     string `json:"plan,omitempty"`
	Campaign int64  `json:"campaign,omitempty"`
}

// Kept is what the row of an undoing is about.
func (row *JobRow) Kept() (k Kept) {
	_ = json.Unmarshal(row.Data, &k) // what cannot be read says less
	return k
}

// UndoJob begins to take back what a job has changed. A contact that was changed since stays as it is, and is listed.
// An undo that was stopped goes on where it was, for the person who asks for that. Of an import that was a mistake,
// those whom it has created can be erased; custom fields that were made for it end then.
func (s *JobStore) UndoJob(ctx context.Context, account, id int64, region string, erase bool) (undo Job, err error) {
	spec := undoSpec{Region: region, Erase: erase}
	_, err = s.ChangeJob(ctx, account, id, func(u store.Unit, j *Job) error {
		first := j.First
		if j.StoppedUndo() {
			of, err := undone(u.Conn, j)
			if err != nil {
				return err
			}
			first = of.First
		}
		switch {
		case !j.Undoable() && !j.StoppedUndo():
			return crm.ErrChanged
		case first < u.Oldest:
			return store.Fault("", doc.BeyondHistory)
		case j.StoppedUndo():
			j.State, j.Actor, j.Channel = JobWaiting, u.Author.Who, u.Author.Channel
			undo = *j
			return nil
		}
		spec.Job = j.ID
		made := NewJob(u, UndoingJob, JobWaiting, spec)
		made.Progress = JSONOf(UndoProgress{At: j.Last})
		SaveJob(u.Tx, made)
		j.Undo, undo = made.ID, *made
		return nil
	})
	if err == nil {
		s.WakeJobs()
	}
	return undo, err
}

// undone is the job that an undo takes back.
func undone(c db.Conn, undo *Job) (of Job, err error) {
	var spec undoSpec
	if err := json.Unmarshal(undo.Spec, &spec); err != nil {
		return of, err
	}
	return store.FindIn(c, crm.ErrNotFound, ScanJob, SQLJob, undo.Account, spec.Job)
}

const (
	SQLJobChanges = store.ChangeColumns + ` AND revision <= $2 AND revision >= $3 ORDER BY revision DESC LIMIT $4`
	// The changes of documents that are neither undone nor an undo, after one of them. An undo that was stopped may
	// have left them as they are. What a file calls a gift is no change of it.
	sqlOthersSince = `SELECT c.id, c.revision, c.undoes, c.noun, CASE WHEN c.noun IN (` + store.GiftNoun + `, ` +
		store.PlanNoun + `) THEN c.data ELSE '' END FROM change AS c WHERE c.account_id = $1 AND c.noun = $2
			AND c.id = ANY($3) AND c.id <> 0 AND c.revision > $4 AND c.job <> $5
		AND NOT (c.noun = ` + store.GiftNoun + ` AND c.kind = ` + store.DidMerge + `)
		AND COALESCE((SELECT CASE WHEN j.kind = 'undo' THEN 1
			ELSE (SELECT 1 FROM job AS u WHERE u.account_id = $1 AND u.id = j.undo AND u.state NOT IN ('canceled', 'failed')) END
			FROM job AS j WHERE j.account_id = $1 AND j.id = c.job), 0) = 0 ORDER BY c.id, c.revision`
	sqlCreatedBy = `SELECT id FROM change WHERE account_id = $1 AND noun = $2 AND id = ANY($3) AND id <> 0 AND kind = $4
		AND job = $5`
)

// undoStep takes some more changes back.
func undoStep(ctx context.Context, w *JobWorker, j *Job) error {
	var spec undoSpec
	var at UndoProgress
	if err := errors.Join(json.Unmarshal(j.Spec, &spec), json.Unmarshal(j.Progress, &at)); err != nil {
		return err
	}
	of, err := w.Job(ctx, j.Account, spec.Job)
	if err != nil {
		return err
	}
	limit := min(UndoUnit, w.UnitSize(j))
	changes, err := store.List(ctx, w.JobStore.Store, store.ScanChange, SQLJobChanges, j.Account, at.At, of.First,
		int64(limit))
	if err != nil {
		return err
	}
	// custom fields end when no contact has their values any more
	ended := len(changes) == 0 || len(changes) < limit && !spec.Erase
	if len(changes) > 0 {
		at.At = changes[len(changes)-1].Revision - 1
	}
	changes = slices.DeleteFunc(changes, func(c store.Change) bool { return c.Job != of.ID })
	if ended && spec.Erase {
		if err := w.endFields(ctx, &of); err != nil {
			return err
		}
	}
	now := w.Now()
	owner, above, err := w.ancestryFor(ctx, j.Account, changes)
	if err != nil {
		return err
	}
	needs := undoNeeds(changes)
	needs.Also = above
	return w.Advance(ctx, j, needs, func(unit store.Unit, next *Job) error {
		u := Undoing{Unit: unit, Job: next, Of: &of, Region: spec.Region, Erase: spec.Erase, Now: now,
			undo: w.kinds[of.Kind].Undo, progress: at}
		u.owner, u.above = owner, above
		if err := u.TakeAll(changes); err != nil {
			return err
		}
		refused, err := w.erase(unit, u.erased, now)
		if err != nil {
			return err
		}
		for _, id := range refused {
			u.keep(doc.IDSeq(id), id, Kept{})
		}
		u.progress.Erased += int64(len(u.erased) - len(refused))
		u.progress.Undone -= int64(len(refused))
		kept, err := u.note()
		if err != nil {
			return err
		}
		u.progress.Kept += kept
		next.Progress = JSONOf(u.progress)
		if ended {
			return EndJob(unit.Tx, next, JobDone)
		}
		return nil
	})
}

// undoNeeds is what a unit of work looks up that takes changes back. A contact may leave the sets that a change has
// made it join.
func undoNeeds(changes []store.Change) (n store.Needs) {
	for _, c := range changes {
		switch c.Noun {
		case history.ContactNoun:
			needs := store.MoveNeeds(c.ID)
			needs.Tags, needs.Words = c.Kind != history.DidCreate, c.Kind != history.DidCreate
			n.More = append(n.More, needs)
		case history.GiftNoun:
			n.More = append(n.More, store.Needs{Gifts: []int64{c.ID}})
		case history.PlanNoun:
			n.More = append(n.More, store.Needs{Plan: c.ID})
		}
	}
	return n
}

// endFields takes the custom fields out of use that were made for an import, unless other contacts have got values in
// them since.
func (w *JobWorker) endFields(ctx context.Context, of *Job) error {
	im, err := ImportOf(*of)
	if err != nil {
		return err
	}
	for _, id := range im.Spec.Fields {
		used, err := w.usesField(ctx, of.Account, id)
		if err == nil && !used {
			err = w.EndField(ctx, of.Account, id)
		}
		if err != nil && !errors.Is(err, crm.ErrNotFound) {
			return err
		}
	}
	return nil
}

// usesField tells whether a contact has a value in a custom field, also one that is archived or was merged into
// another.
func (w *JobWorker) usesField(ctx context.Context, account, id int64) (bool, error) {
	var set db.Set
	err := w.Read(ctx, func(c db.Conn) error { return store.AddBlocks(c, account, find.FieldWord(id), 0, &set) })
	return set.Count() > 0, err
}

// Undoing is one unit of work that takes changes back.
type Undoing struct {
	store.Unit
	Job    *Job
	Of     *Job // that is taken back
	Region string
	Erase  bool // contacts that the job has created
	Now    time.Time

	owner access.Account // where a campaign may be removed: whose it is, and who lists it, too
	above []int64

	undo     func(u *Undoing, c store.Change) (undone bool, err error) // of the kind of the job; nil for most
	progress UndoProgress
	kept     []JobRow // what was changed since
	erased   []*store.StoredContact

	// What was asked for all changes of the unit together.
	others map[history.Noun]map[int64]int64 // the last change of a document by anyone else
	made   map[int64]bool                   // gifts that the job has recorded
	drafts map[int64]bool                   // campaigns that imports have made
	parted map[int64]bool                   // contacts of which a merge was undone since
	gives  map[int64]bool                   // contacts with gifts that were not withdrawn, or with plans
}

// TakeAll takes changes back, from the last to the first. Contacts that were created go after everything else: whether
// they still give is asked once for all of them.
func (u *Undoing) TakeAll(changes []store.Change) error {
	if err := u.look(changes); err != nil {
		return err
	}
	created := func(c store.Change) bool { return c.Noun == history.ContactNoun && c.Kind == history.DidCreate }
	for _, c := range changes {
		if !created(c) {
			if err := u.count(c); err != nil {
				return err
			}
		}
	}
	changes = slices.DeleteFunc(slices.Clone(changes), func(c store.Change) bool { return !created(c) })
	if err := u.lookWhoGives(changes); err != nil {
		return err
	}
	for _, c := range changes {
		if err := u.count(c); err != nil {
			return err
		}
	}
	return nil
}

// count takes one change back, and counts it.
func (u *Undoing) count(c store.Change) error {
	undone, err := u.Take(c)
	u.progress.Undone += store.Flag(undone)
	u.progress.Campaigns += store.Flag(undone && c.Noun == history.CampaignNoun)
	u.progress.Withdrawn += store.Flag(undone && c.Noun == history.GiftNoun && c.Kind == history.DidCreate)
	u.progress.Restored += store.Flag(undone && c.Noun == history.GiftNoun && c.Kind != history.DidCreate)
	return err
}

// look asks who else has changed what the unit is about, which gifts the job has recorded, and which changes were
// merges, each once for all changes.
func (u *Undoing) look(changes []store.Change) error {
	u.others, u.made = make(map[history.Noun]map[int64]int64), make(map[int64]bool)
	ids, first := make(map[history.Noun][]int64), make(map[history.Noun]int64)
	var merged []int64
	for _, c := range changes {
		if c.Noun == history.ContactNoun && u.undo == nil && !c.Kind.CanUndo() {
			continue // a contact may have given 20,000 times: what its history says about a gift changes with the gift
		}
		ids[c.Noun], first[c.Noun] = append(ids[c.Noun], c.ID), c.Revision // the last one is the first
		if c.Noun == history.ContactNoun && c.Kind == history.DidMerge {
			merged = append(merged, c.Revision)
		}
	}
	var all []others
	for _, noun := range []history.Noun{history.ContactNoun, history.GiftNoun, history.PlanNoun, history.CampaignNoun} {
		others := newOthers()
		u.others[noun], all = others.last, append(all, others)
		slices.Sort(ids[noun])
		ids[noun] = slices.Compact(ids[noun])
		if len(ids[noun]) == 0 || noun == history.ContactNoun && u.Of.Kind == BulkJob {
			continue
		}
		if err := u.Prefetch(others.add, sqlOthersSince, u.Number, int64(noun), ids[noun], first[noun],
			u.Of.ID); err != nil {
			return err
		}
	}
	u.parted = make(map[int64]bool)
	if all := ids[history.ContactNoun]; len(all) > 0 {
		read := func(r db.Row) error {
			u.parted[r.Int(0)] = true
			return nil
		}
		if err := u.Prefetch(read, store.SQLPartedOf, u.Number, all, first[history.ContactNoun]); err != nil {
			return err
		}
	}
	if len(ids[history.GiftNoun]) > 0 {
		read := func(r db.Row) error {
			u.made[r.Int(0)] = true
			return nil
		}
		if err := u.Prefetch(read, sqlCreatedBy, u.Number, int64(history.GiftNoun), ids[history.GiftNoun],
			int64(history.DidCreate), u.Of.ID); err != nil {
			return err
		}
	}
	clear(u.Merges.Rows)
	if err := u.Merges.Prefetch(u.Tx, u.Number, merged); err != nil {
		return err
	}
	if err := db.First(func() error { return u.lookForCampaigns(ids) }, u.Fetch); err != nil {
		return err
	}
	for _, others := range all {
		if err := others.forgetMoves(u.Conn, u.Number); err != nil {
			return err
		}
	}
	return nil
}

// isOthers tells whether someone else has changed a document after one of the job's changes, but for jobs that are
// undone as this one is.
func (u *Undoing) isOthers(c *store.Change) bool { return u.others[c.Noun][c.ID] > c.Revision }

// Take takes one change back, unless what it has changed was changed since by anyone but the job itself.
func (u *Undoing) Take(c store.Change) (undone bool, err error) {
	if undo := u.undo; undo != nil {
		var refused *doc.Invalid
		if undone, err = undo(u, c); errors.As(err, &refused) {
			u.keep(doc.IDSeq(c.ID), c.ID, Kept{})
			return false, nil
		}
		return undone, err
	}
	switch c.Noun {
	case history.ContactNoun:
		return u.takeContact(c)
	case history.GiftNoun:
		return u.withdraw(c)
	case history.PlanNoun:
		return u.unpay(c)
	case history.CampaignNoun:
		return u.removeCampaign(c)
	}
	return false, nil
}

// takeContact takes a change of a contact back. What the history of a contact says about a gift changes with the gift.
func (u *Undoing) takeContact(c store.Change) (undone bool, err error) {
	if !c.Kind.CanUndo() {
		return false, nil
	}
	row, err := store.Row(u.Unit, c.ID)
	if err != nil || row == nil || row.Contact.Erased() {
		return false, err // the change may have been read before
	}
	u.Contacts[c.ID] = row
	if row.Damage != nil || !u.ours(&c, row) {
		u.keep(doc.IDSeq(c.ID), c.ID, Kept{})
		return false, nil
	}
	if u.Erase && c.Kind == history.DidCreate {
		u.erased = append(u.erased, row)
		return true, nil
	}
	var refused *doc.Invalid
	_, _, err = store.Undo(u.Tx, row, c, u.parted, u.Region, u.Now)
	if errors.As(err, &refused) {
		u.keep(doc.IDSeq(c.ID), c.ID, Kept{})
		return false, nil
	}
	return err == nil, err
}

// ours tells whether no one has changed a contact since, but for jobs that are undone as this one is. Who was created
// and gives now stays, although a plan changes nothing in the contact, and so does who was merged into another one. A
// bulk change is taken back field by field, no matter what else was changed; where it has renamed a tag, also on
// contacts that are part of others.
func (u *Undoing) ours(c *store.Change, row *store.StoredContact) bool {
	switch {
	case u.Of.Kind == BulkJob:
		var action crm.BulkAction
		return row.Contact.MergedInto == 0 || json.Unmarshal(u.Of.Spec, &action) == nil && action.Kind == crm.BulkRename
	case u.isOthers(c):
		return false
	}
	return c.Kind != history.DidCreate || !u.gives[c.ID] && row.Contact.MergedInto == 0
}

// keep notes what stays as it is. number tells it from everything else that this undoing keeps.
func (u *Undoing) keep(number, contact int64, what Kept) {
	u.kept = append(u.kept, JobRow{Number: number, Outcome: ChangedSince, Contact: contact, Data: JSONOf(what)})
}

const sqlKnownRows = `SELECT number FROM job_row WHERE account_id = $1 AND job_id = $2 AND number = ANY($3)`

// note lists what was left alone, and counts what was not listed before.
func (u *Undoing) note() (added int64, err error) {
	slices.SortFunc(u.kept, func(a, b JobRow) int { return cmp.Compare(a.Number, b.Number) })
	u.kept = slices.CompactFunc(u.kept, func(a, b JobRow) bool { return a.Number == b.Number })
	numbers := make([]int64, 0, len(u.kept))
	for _, row := range u.kept {
		numbers = append(numbers, row.Number)
	}
	if len(numbers) == 0 {
		return 0, nil
	}
	known, err := db.List(u.Conn, store.Number, sqlKnownRows, u.Number, u.Job.ID, numbers)
	for _, row := range u.kept {
		NoteRow(u.Tx, u.Job, row)
	}
	return int64(len(numbers) - len(known)), err
}
