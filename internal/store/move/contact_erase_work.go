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
)

// An erasure looks for what names people beside those who write, and holds the database only for what it has found: a
// few rows in each unit of work, together with how far it has come. So others wait for little, and an erasure that was
// interrupted goes on.

const (
	eraseUnit   = 200                   // records, changes or rows of one unit of work, about
	eraseBytes  = 1 << 20               // that one unit of work overwrites, about
	eraseSearch = 20 * time.Millisecond // for which one turn looks for something to do
)

// erasureProgress is how far an erasure has come.
type erasureProgress struct {
	Step   string `json:"step,omitempty"`   // "" is the first one
	Person int    `json:"person,omitempty"` // whose records are looked at
	List   string `json:"list,omitempty"`   // the noun of the records that are looked at
	ID     int64  `json:"id,omitempty"`     // of the record or the job that was looked at last
	Record int64  `json:"record,omitempty"` // whose history is looked at
	// the change that comes next, or the row that was looked at last; 0 is the first
	At   int64   `json:"at,omitempty"`
	Also []int64 `json:"also,omitempty"` // records that come next, because of one before
	// the last part of the job, with people whose contacts were merged into those it began with
	Parts int64 `json:"parts,omitempty"`
}

type erasureStep struct {
	name string
	do   func(*eraser, context.Context) error
}

// erasureLook reads some rows after those that were looked at last, adds to a piece what names anyone, and tells
// whether no row is left.
type erasureLook struct {
	name string
	look func(*eraser, context.Context, *erasedPiece) (ended bool, err error)
}

// erasureSteps are the steps of the work, by the names that are stored. The search and the log come last: they have
// what everything before has removed.
func erasureSteps() []erasureStep {
	steps := []erasureStep{{"", (*eraser).begin}, {"records", (*eraser).records}}
	for _, n := range nouns {
		for _, l := range n.search {
			steps = append(steps, erasureStep{l.name, searching(l.look)})
		}
	}
	return append(steps, erasureStep{"imports", searching((*eraser).imports)}, erasureStep{"words", (*eraser).words},
		erasureStep{"merging", (*eraser).merging}, erasureStep{"log", (*eraser).log})
}

// EraseKind removes what still names people who were erased.
var EraseKind = jobs.Kind{Step: func(ctx context.Context, w *jobs.JobWorker, j *jobs.Job) error {
	e := eraser{JobStore: w.JobStore, job: j, unit: min(eraseUnit, w.UnitSize(j))}
	if err := errors.Join(json.Unmarshal(j.Spec, &e.spec), json.Unmarshal(j.Progress, &e.at)); err != nil {
		return err
	}
	return erasureSteps()[e.step()].do(&e, ctx)
}}

// eraser is one turn of an erasure.
type eraser struct {
	*jobs.JobStore
	job  *jobs.Job
	spec Erasure
	at   erasureProgress
	unit int // records and changes of one unit of work

	people *crm.People // of spec; made when texts are looked through, by which time all of them is known
}

// step is the number of the step that the erasure is at. One that another version has begun begins again.
func (e *eraser) step() int {
	return max(0, slices.IndexFunc(erasureSteps(), func(s erasureStep) bool { return s.name == e.at.Step }))
}

// next goes on with the next step.
func (e *eraser) next() {
	e.at = erasureProgress{Step: erasureSteps()[e.step()+1].name, Parts: e.at.Parts}
}

// note forgets what was found, and notes how far the erasure has come.
func (e *eraser) note(ctx context.Context, p *erasedPiece) error {
	return e.Advance(ctx, e.job, p.needs, func(u store.Unit, next *jobs.Job) error {
		next.Spec, next.Progress = jobs.JSONOf(e.spec), jobs.JSONOf(e.at)
		return p.forget(u)
	})
}

// names tells whether anyone of those who are erased is named, and is someone in particular.
func (e *eraser) names(by *crm.Said, is func(*crm.Identity) bool) bool {
	if e.people == nil {
		e.people = crm.PeopleOf(e.spec.People)
	}
	return e.people.Any(by, is)
}

// naming tells whether anyone of those who are erased is named.
func (e *eraser) naming(by *crm.Said) bool {
	return e.names(by, func(i *crm.Identity) bool { return i.IsNamed(by) })
}

// erasedPiece is what one unit of work forgets.
type erasedPiece struct {
	unit, bytes int // how many records and changes it may still have, and how long those are that it has
	needs       store.Needs
	decisions   []decision
	changes     []int64  // revisions whose data is emptied
	answers     []string // what kept answers show that are emptied
}

// decision decides about a record in the unit of work, before anything is written.
type decision = func(u store.Unit) (write func() error, err error)

func (p *erasedPiece) decide(d decision) { p.decisions = append(p.decisions, d) }

// write adds a statement to the piece. Its first argument is the account.
func (p *erasedPiece) write(sql string, args ...any) {
	p.decide(func(u store.Unit) (func() error, error) {
		return func() error { return u.Run(sql, append([]any{u.Number}, args...)...) }, nil
	})
}

func (p *erasedPiece) full() bool { return p.unit <= 0 || p.bytes >= eraseBytes }

func (p *erasedPiece) empty() bool { return len(p.decisions)+len(p.changes)+len(p.answers) == 0 }

// answer notes that answers which show a record are emptied.
func (p *erasedPiece) answer(kind string, id int64) {
	p.answers = append(p.answers, store.Resource{Kind: kind, ID: id}.String())
}

const sqlEmptyChanges = `UPDATE change SET data = '' WHERE account_id = $1 AND revision = ANY($2)`

// forget writes the piece, unless a record was changed meanwhile: then all is read again.
func (p *erasedPiece) forget(u store.Unit) error {
	var writes []func() error
	for _, decide := range p.decisions {
		write, err := decide(u)
		if err != nil {
			return err
		}
		writes = append(writes, write)
	}
	for _, write := range writes {
		if err := write(); err != nil {
			return err
		}
	}
	if err := u.Run(sqlEmptyChanges, u.Number, p.changes); err != nil {
		return err
	}
	return u.EmptyAnswers(p.answers)
}

// searching is a step that looks for people in texts, to which nothing leads by an index.
func searching(
	look func(*eraser, context.Context, *erasedPiece) (ended bool, err error),
) func(*eraser, context.Context) error {
	return func(e *eraser, ctx context.Context) error {
		p, ended := &erasedPiece{}, false
		for start := time.Now(); p.empty() && !ended && time.Since(start) < eraseSearch; {
			var err error
			if ended, err = look(e, ctx, p); err != nil {
				return err
			}
		}
		if ended {
			e.next()
		}
		return e.note(ctx, p)
	}
}

// Gifts that became another contact's before the history told contacts of their gifts: those changes have no channel,
// and an index of their own.
const sqlLooseGifts = store.ChangeColumns + ` AND noun = ` + store.GiftNoun +
	` AND channel = 0 AND (id, revision) > ($2, $3) AND data LIKE '%"contact_id"%' ORDER BY id, revision LIMIT $4`

// changesAfter hands on some changes after the one that was looked at last, and tells whether no other is left.
func (e *eraser) changesAfter(ctx context.Context, look func(*store.Change) error, sql string,
	args ...any,
) (ended bool, err error) {
	changes, err := store.List(ctx, e.JobStore.Store, store.ScanChange, sql,
		append([]any{e.job.Account, e.at.ID, e.at.At, int64(eraseUnit)}, args...)...)
	for i := 0; i < len(changes) && err == nil; i++ {
		e.at.ID, e.at.At = changes[i].ID, changes[i].Revision
		err = look(&changes[i])
	}
	return len(changes) < eraseUnit, err
}

// looseGifts are gifts that were the person's, of which their history does not tell.
func (e *eraser) looseGifts(ctx context.Context, p *erasedPiece) (ended bool, err error) {
	return e.changesAfter(ctx, func(change *store.Change) error {
		for _, contact := range e.spec.Contacts {
			if theirs, _ := history.WhileOf([]store.Change{*change}, contact); len(theirs) == 0 {
				continue
			}
			err := e.View(ctx, func(c db.Conn) error {
				head, err := c.Int(store.SQLGiftRevision, e.job.Account, change.ID)
				if err == nil {
					err = e.forgetMoved(c, p, heldRecord{contact, change.ID, head})
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, sqlLooseGifts)
}

// sent is what merges keep of what was sent and named a person, as part of another contact.
func (e *eraser) sent(ctx context.Context, p *erasedPiece) (ended bool, err error) {
	some, err := store.List(ctx, e.JobStore.Store, store.ScanMerge, store.SQLMergesAfter, e.job.Account, e.at.At,
		int64(eraseUnit))
	var found []int64
	for i := 0; i < len(some) && err == nil; i++ {
		var named bool
		if named, err = e.wasSent(ctx, &some[i]); named {
			found = append(found, some[i].ID)
		}
		e.at.At = some[i].ID
	}
	if len(found) > 0 {
		p.write(store.SQLForgetSent, found)
	}
	return len(some) < eraseUnit, err
}

// wasSent tells whether a merge keeps what was sent about a person. What the survivor says without the merge, such as
// an email that both share, is about the survivor.
func (e *eraser) wasSent(ctx context.Context, m *store.Merge) (bool, error) {
	sent := m.SentDocument()
	if sent == "" {
		return false, nil
	}
	said := crm.SaidIn(`{"id":0` + sent)
	if !e.naming(said) {
		return false, nil
	}
	change, err := store.Find(ctx, e.JobStore.Store, crm.ErrNotFound, store.ScanChange, store.SQLChange, e.job.Account,
		m.ID)
	var survivor crm.Contact
	if err == nil {
		survivor, err = e.ContactRecord(ctx, e.job.Account, m.Survivor)
	}
	switch {
	case errors.Is(err, crm.ErrNotFound), errors.As(err, new(*store.Damaged)):
		return true, nil // it cannot be undone: the history does not reach back to it, or the survivor cannot be read
	case err != nil:
		return false, err
	}
	survivor = survivor.Back([]crm.Event{{Edit: doc.KnownDifferences(change.Data)}}, func(string) bool { return true },
		"")
	says := crm.SaidIn(`{"id":0` + string(survivor.AppendBody(nil)))
	return e.names(said, func(i *crm.Identity) bool { return i.IsNamedBeyond(says, said) }), nil
}

const (
	sqlNextJob   = `SELECT ` + jobs.JobColumns + ` FROM job WHERE account_id = $1 AND id >= $2 ORDER BY id LIMIT 1`
	sqlForgetRow = `DELETE FROM job_row WHERE account_id = $1 AND job_id = $2 AND number = ANY($3)`
)

// imports takes people out of what jobs keep of single rows, and out of the first rows of files that were uploaded.
func (e *eraser) imports(ctx context.Context, p *erasedPiece) (ended bool, err error) {
	j, err := store.Find(ctx, e.JobStore.Store, crm.ErrNotFound, jobs.ScanJob, sqlNextJob, e.job.Account, e.at.ID)
	if errors.Is(err, crm.ErrNotFound) {
		return true, nil
	}
	if err == nil && j.ID != e.at.ID {
		e.at.ID, e.at.At = j.ID, 0
	}
	if err == nil && e.at.At == 0 {
		err = e.cleanPreview(ctx, &j)
	}
	if err != nil {
		return false, err
	}
	rows, err := e.JobRows(ctx, e.job.Account, j.ID, e.at.At, eraseUnit)
	var found []int64
	for _, row := range rows {
		if e.at.At = row.Number; slices.Contains(e.spec.Contacts, row.Contact) ||
			e.naming(crm.SaidIn(string(row.Data))) {
			found = append(found, row.Number)
		}
	}
	if len(found) > 0 {
		p.write(sqlForgetRow, j.ID, found)
	}
	if len(rows) == 0 {
		e.at.ID, e.at.At = j.ID+1, 0
	}
	return false, err
}

// cleanPreview takes people out of the first rows of the file of an import.
func (e *eraser) cleanPreview(ctx context.Context, j *jobs.Job) error {
	im, err := jobs.ImportOf(*j)
	if j.Kind != jobs.ImportJob || err != nil {
		return nil // what cannot be read shows nothing
	}
	rows, err := e.Preview(ctx, &im)
	left := slices.DeleteFunc(slices.Clone(rows), func(cells []string) bool { return e.naming(crm.SaidBy(cells...)) })
	if err != nil || len(left) == len(rows) {
		return err
	}
	return e.UpdateAccount(ctx, j.Account, func(t *store.Tx) error {
		now, err := store.FindIn(t.Conn, crm.ErrNotFound, jobs.ScanJob, jobs.SQLJob, j.Account, j.ID)
		if err == nil && !now.Ended() { // which has none any more
			t.Save(store.JobPartTable, j.Account, j.ID, jobs.PreviewPart, []byte(jobs.JSONOf(left)))
		}
		return err
	})
}

// words, merging and log see to it that what was removed cannot be read in the files of the database either, and end
// the job. What the people were known by is removed before, so that it is neither.
func (e *eraser) words(ctx context.Context) error {
	if more, err := e.turn(ctx); more || err != nil {
		return err
	}
	e.spec.People = nil
	_, err := e.Db.MergeSearch(ctx, store.WordsTable, true)
	if err != nil {
		return err
	}
	e.next()
	return e.note(ctx, &erasedPiece{})
}

func (e *eraser) merging(ctx context.Context) error {
	more, err := e.Db.MergeSearch(ctx, store.WordsTable, false)
	if err != nil || more {
		return err
	}
	e.next()
	return e.note(ctx, &erasedPiece{})
}

func (e *eraser) log(ctx context.Context) error {
	done, err := e.Db.EmptyLog(ctx)
	if err != nil {
		return err
	}
	if !done {
		return jobs.ErrNotOurs // yet: someone reads an earlier state
	}
	return e.Advance(ctx, e.job, store.Needs{}, func(u store.Unit, next *jobs.Job) error {
		return jobs.EndJob(u.Tx,
			next, jobs.JobDone)
	})
}
