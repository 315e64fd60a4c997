package move

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
)

// An erasure looks for what names people beside those who write, and holds the database only for what it has found: a few rows in each unit of work,
// together with how far it has come. So others wait for little, and an erasure that was interrupted goes on.

const (
	eraseUnit   = 200                   // changes, answers or rows of one unit of work, about
	eraseBytes  = 1 << 20               // that one unit of work overwrites, about
	eraseSearch = 20 * time.Millisecond // for which one turn looks for something to do
)

// erasureProgress is how far an erasure has come.
type erasureProgress struct {
	Part   erasurePart  `json:"part"`
	Person int          `json:"person,omitempty"` // whose documents are looked at
	Noun   history.Noun `json:"noun,omitempty"`   // of the document that is looked at
	ID     int64        `json:"id,omitempty"`     // of the document or the job that is looked at
	At     int64        `json:"at,omitempty"`     // the change or the row that comes next; 0 is the first
	Key    string       `json:"key,omitempty"`    // of the answer that was looked at last
	Parts  int64        `json:"parts,omitempty"`  // the last part of the job, with people whose contacts were merged into those it began with
}

// erasurePart is a part of the work. The numbers are stored.
type erasurePart int

// The parts, in their order. The search and the log come last: they have what everything before has removed.
const (
	eraseNothing erasurePart = iota
	eraseDocuments
	eraseSegments
	eraseHistory
	eraseAnswers
	eraseImports
	eraseWords
	eraseMerging
	eraseLog
)

// EraseKind removes what still names people who were erased.
var EraseKind = jobs.Kind{Step: eraseStep}

// eraser is one turn of an erasure.
type eraser struct {
	*jobs.JobStore
	job  *jobs.Job
	spec Erasure
	at   erasureProgress
	unit int // documents and changes of one unit of work
}

// eraseStep does one unit of work of an erasure.
func eraseStep(ctx context.Context, w *jobs.JobWorker, j *jobs.Job) error {
	e := eraser{JobStore: w.JobStore, job: j, unit: min(eraseUnit, w.UnitSize(j))}
	if err := errors.Join(json.Unmarshal(j.Spec, &e.spec), json.Unmarshal(j.Progress, &e.at)); err != nil {
		return err
	}
	switch e.at.Part {
	case eraseNothing:
		return e.begin(ctx)
	case eraseDocuments:
		return e.documents(ctx)
	case eraseSegments:
		return e.segments(ctx)
	case eraseHistory:
		return e.history(ctx)
	case eraseAnswers:
		return e.answers(ctx)
	case eraseImports:
		return e.imports(ctx)
	}
	return e.scrub(ctx)
}

// begin closes the list of people: those who are erased from now on get another job. Gifts that merges still move come to where they belong first, so that none is missed, and contacts that were merged
// into these become stubs, too.
func (e *eraser) begin(ctx context.Context) error {
	now := e.Now()
	return e.Advance(ctx, e.job, store.Needs{}, func(t *store.Tx, a *store.Account, next *jobs.Job) error {
		var at erasureProgress
		if err := errors.Join(json.Unmarshal(next.Spec, &e.spec), json.Unmarshal(next.Progress, &at)); err != nil { // someone may have been added
			return err
		}
		if moving, err := merges.Settle(t, a, e.spec.Contacts, e.unit); moving || err != nil {
			return err
		}
		more, err := e.eraseMerged(t, a, &at, now)
		if !more {
			at = erasureProgress{Part: eraseDocuments, Parts: at.Parts}
		}
		next.Progress = jobs.JSONOf(at)
		return err
	})
}

// note writes what was found, and how far the erasure has come. write may be nil.
func (e *eraser) note(ctx context.Context, n store.Needs, write func(t *store.Tx, a *store.Account) error) error {
	return e.Advance(ctx, e.job, n, func(t *store.Tx, a *store.Account, next *jobs.Job) error {
		next.Spec, next.Progress = jobs.JSONOf(e.spec), jobs.JSONOf(e.at)
		if write == nil {
			return nil
		}
		return write(t, a)
	})
}

// next goes on with the next part of the work.
func (e *eraser) next() {
	e.at = erasureProgress{Part: e.at.Part + 1, Parts: e.at.Parts}
}

// names tells whether anyone of those who are erased is named.
func (e *eraser) names(in func(*crm.Identity) bool) bool {
	for i := range e.spec.People {
		if in(&e.spec.People[i]) {
			return true
		}
	}
	return false
}

const sqlEmptyChanges = `UPDATE change SET data = '' WHERE account_id = $1 AND revision = ANY($2)`

// segments deletes saved filters that name a person, once merges have forgotten them. Without that word, one would find other people.
func (e *eraser) segments(ctx context.Context) error {
	if ended, err := e.merges(ctx); !ended || err != nil {
		return err
	}
	all, err := e.Segments(ctx, e.job.Account)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s find.Segment) bool {
		return !e.names(func(i *crm.Identity) bool { return i.InQuery(s.Query) || i.In([]string{s.Name}) })
	})
	e.next()
	return e.note(ctx, store.Needs{}, func(t *store.Tx, a *store.Account) error {
		for _, s := range all {
			t.Record(a, history.SegmentNoun, s.ID, history.DidDelete, "")
			t.Delete(store.SegmentTable, a.Account, s.ID)
		}
		return nil
	})
}

// merges forgets what merges keep of a person: what was sent, which may be part of another contact, and what the history of another contact says of the time when the person was part of it. It tells whether all
// merges were looked at.
func (e *eraser) merges(ctx context.Context) (ended bool, err error) {
	var forgotten []int64
	for start := time.Now(); len(forgotten) == 0 && !ended && time.Since(start) < eraseSearch; {
		some, err := store.List(ctx, e.JobStore.Base, store.ScanMerge, store.SQLMergesAfter, e.job.Account, e.at.At, int64(eraseUnit))
		if err != nil {
			return false, err
		}
		if ended = len(some) < eraseUnit; len(some) > 0 {
			e.at.At = some[len(some)-1].ID
		}
		for i := range some {
			m := &some[i]
			survivor, other := slices.Contains(e.spec.Contacts, m.Survivor), m.Other != 0 && slices.Contains(e.spec.Contacts, m.Other)
			named, err := e.sent(ctx, m)
			if err != nil {
				return false, err
			}
			if survivor || other || named {
				forgotten = append(forgotten, m.ID)
			}
			if other && m.Undone != 0 {
				if err := e.forgetPart(ctx, m); err != nil {
					return false, err
				}
			}
		}
	}
	if ended && len(forgotten) == 0 {
		return true, nil
	}
	return false, e.note(ctx, store.Needs{}, func(t *store.Tx, a *store.Account) error { return t.Run(store.SQLForgetSent, a.Account, forgotten) })
}

// sent tells whether a merge keeps what was sent about a person. What the survivor says without the merge, such as an email that both share, is about the survivor.
func (e *eraser) sent(ctx context.Context, m *store.Merge) (bool, error) {
	sent := m.SentDocument()
	if sent == "" {
		return false, nil
	}
	said := crm.SaidIn(`{"id":0` + sent)
	if !e.names(func(i *crm.Identity) bool { return i.IsNamed(&said) }) {
		return false, nil
	}
	change, err := store.Find(ctx, e.JobStore.Base, crm.ErrNotFound, store.ScanChange, store.SQLChange, e.job.Account, m.ID)
	var survivor crm.Contact
	if err == nil {
		survivor, err = e.ContactRecord(ctx, e.job.Account, m.Survivor)
	}
	switch {
	case errors.Is(err, crm.ErrNotFound), errors.As(err, new(*store.Damaged)):
		return true, nil // it cannot be undone: it is too old, or the survivor cannot be read
	case err != nil:
		return false, err
	}
	survivor = survivor.Back([]crm.Event{{Edit: differencesOf(change.Data)}}, func(string) bool { return true }, "")
	says := crm.SaidIn(`{"id":0` + string(survivor.AppendBody(nil)))
	return e.names(func(i *crm.Identity) bool { return i.IsNamedBeyond(&says, &said) }), nil
}

const (
	sqlSegmentChanges = store.ChangeColumns + ` AND noun = $2 AND id <> 0 AND (id, revision) > ($3, $4) ORDER BY id, revision LIMIT $5`
	// Gifts that became another contact's before the history told contacts of their gifts: those changes have no channel, and an index of their own.
	sqlLooseGifts = store.ChangeColumns + ` AND noun = 3 AND door = 0 AND (id, revision) > ($2, $3) AND data LIKE '%"contact_id"%' ORDER BY id, revision LIMIT $4`
)

// history empties changes that name a person and that no document of theirs leads to: those of segments, then old ones of gifts.
func (e *eraser) history(ctx context.Context) error {
	var found []int64
	for start := time.Now(); len(found) == 0 && e.at.Part == eraseHistory && time.Since(start) < eraseSearch; {
		sql, args := sqlSegmentChanges, []any{e.job.Account, int64(history.SegmentNoun), e.at.ID, e.at.At, int64(eraseUnit)}
		if e.at.Noun == history.GiftNoun {
			sql, args = sqlLooseGifts, []any{e.job.Account, e.at.ID, e.at.At, int64(eraseUnit)}
		}
		changes, err := store.List(ctx, e.JobStore.Base, store.ScanChange, sql, args...)
		if err != nil {
			return err
		}
		for i := range changes {
			c := &changes[i]
			if e.at.ID, e.at.At = c.ID, c.Revision; c.Noun == history.SegmentNoun && e.names(func(i *crm.Identity) bool { return i.InQuery(queriesIn(c.Data)) || i.InJSON(c.Data) }) {
				found = append(found, c.Revision)
			}
			for _, contact := range e.spec.Contacts {
				if c.Noun == history.GiftNoun && moved(c, contact) {
					if err := e.forgetMoved(ctx, contact, c.ID); err != nil {
						return err
					}
				}
			}
		}
		if len(changes) < eraseUnit {
			if e.at.ID, e.at.At = 0, 0; e.at.Noun == history.GiftNoun {
				e.next()
			} else {
				e.at.Noun = history.GiftNoun
			}
		}
	}
	return e.note(ctx, store.Needs{}, func(t *store.Tx, a *store.Account) error { return t.Run(sqlEmptyChanges, a.Account, found) })
}

// queriesIn are the queries that a change of a segment tells of.
func queriesIn(data string) string {
	var all []byte
	for _, d := range differencesOf(data) {
		for _, value := range []json.RawMessage{d.Before, d.After} {
			var query string
			if d.Field == "query" && json.Unmarshal(value, &query) == nil {
				all = append(append(all, query...), '&')
			}
		}
	}
	return string(all)
}

const (
	sqlAnswersAfter = `SELECT key, body FROM request_answer WHERE account_id = $1 AND key > $2 ORDER BY key LIMIT $3`
	sqlEmptyAnswers = `UPDATE request_answer SET status = $2, header = '', body = $3 WHERE account_id = $1 AND key = ANY($4)`
)

// answers takes out what answers that are kept for retries say about a person: a contact by its id, a gift or a plan by its contact's, or by its
// own if it was theirs once, a note by its revision. Their keys stay: a client that sends such a request again must not bring the person back.
func (e *eraser) answers(ctx context.Context) error {
	var keys map[string]int
	for start := time.Now(); len(keys) == 0 && e.at.Part == eraseAnswers && time.Since(start) < eraseSearch; {
		found, last, err := e.answersAfter(ctx, e.at.Key)
		if err != nil {
			return err
		}
		if keys, e.at.Key = found, last; last == "" {
			e.next()
		}
	}
	return e.note(ctx, store.Needs{}, func(t *store.Tx, a *store.Account) error { return emptyAnswers(t, a, keys) })
}

// answersAfter are the keys of those of the next answers that show a person, with how long they are. last is the key that was looked at last, "" where
// there was none.
func (e *eraser) answersAfter(ctx context.Context, key string) (found map[string]int, last string, err error) {
	gifts := make(map[string]bool)
	for _, gift := range e.spec.Gifts {
		gifts[giving.GiftNumber(gift)] = true
	}
	err = e.View(ctx, func(c db.Conn) error {
		found, last = make(map[string]int), ""
		lengths, notes := make(map[string]int), make(map[int64]string) // notes of anyone, by their revisions
		err := c.Each(func(r db.Row) error {
			last = r.Text(0)
			lengths[last] = len(r.Bytes(1))
			for _, shown := range answerMark.FindAllSubmatch(r.Bytes(1), -1) {
				contact, note := numberIn(shown[1], shown[2]), numberIn(shown[4])
				if contact != 0 && slices.Contains(e.spec.Contacts, contact) || gifts[string(shown[3])] {
					found[last] = lengths[last]
				} else if note != 0 {
					notes[note] = last
				}
			}
			return nil
		}, sqlAnswersAfter, e.job.Account, key, int64(eraseUnit))
		if err != nil || len(notes) == 0 {
			return err
		}
		return c.Each(func(r db.Row) error {
			if key := notes[r.Int(0)]; history.Noun(r.Int(1)) == history.ContactNoun && slices.Contains(e.spec.Contacts, r.Int(3)) {
				found[key] = lengths[key]
			}
			return nil
		}, sqlSaid, e.job.Account, slices.Sorted(maps.Keys(notes)))
	})
	return found, last, err
}

// answerMark finds a contact, whose contact a gift or a plan is, a gift and a note in an answer.
var answerMark = regexp.MustCompile(`\{"id":(\d+),"first_name":|"contact_id":(\d+),|"number":"([^"]*)","campaign_id":|\{"id":(\d+),"type":"note",`)

// numberIn is the number that one of the texts is, 0 where none is.
func numberIn(texts ...[]byte) int64 {
	n, _ := strconv.ParseInt(string(bytes.Join(texts, nil)), 10, 64) // digits, or nothing
	return n
}

// emptyAnswers takes out what answers say; each key has the length of its answer.
func emptyAnswers(t *store.Tx, a *store.Account, answers map[string]int) error {
	keys := slices.Sorted(maps.Keys(answers))
	for _, key := range keys {
		if kept := a.Answers[key]; kept != nil {
			kept.Answer = store.Answer{Status: store.ErasedAnswer}
		}
		t.CountAnswer(a, answers[key], -1)
	}
	return t.Run(sqlEmptyAnswers, a.Account, int64(store.ErasedAnswer), []byte{}, keys)
}

const sqlNextJob = `SELECT ` + jobs.JobColumns + ` FROM job WHERE account_id = $1 AND id >= $2 ORDER BY id LIMIT 1`

// imports takes people out of what jobs keep of single rows, and out of the first rows of files that were uploaded.
func (e *eraser) imports(ctx context.Context) error {
	var found []jobs.JobRow
	var job int64
	for start := time.Now(); len(found) == 0 && e.at.Part == eraseImports && time.Since(start) < eraseSearch; {
		j, err := store.Find(ctx, e.JobStore.Base, crm.ErrNotFound, jobs.ScanJob, sqlNextJob, e.job.Account, e.at.ID)
		switch {
		case errors.Is(err, crm.ErrNotFound):
			e.next()
			continue
		case err != nil:
			return err
		case j.ID != e.at.ID:
			e.at.ID, e.at.At = j.ID, 0
		}
		if job = j.ID; e.at.At == 0 {
			if err := e.cleanPreview(ctx, &j); err != nil {
				return err
			}
		}
		rows, err := e.JobRows(ctx, e.job.Account, j.ID, e.at.At, eraseUnit)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			e.at.ID, e.at.At = j.ID+1, 0
			continue
		}
		e.at.At = rows[len(rows)-1].Number
		found = slices.DeleteFunc(rows, func(row jobs.JobRow) bool {
			return !slices.Contains(e.spec.Contacts, row.Contact) && !e.names(func(i *crm.Identity) bool { return i.InJSON(string(row.Data)) })
		})
	}
	return e.note(ctx, store.Needs{}, func(t *store.Tx, a *store.Account) error {
		for _, row := range found {
			t.Delete(store.JobRowTable, a.Account, job, row.Number)
		}
		return nil
	})
}

// cleanPreview takes people out of the first rows of the file of an import. One that has ended needs none of them.
func (e *eraser) cleanPreview(ctx context.Context, j *jobs.Job) error {
	im, err := jobs.ImportOf(*j)
	if j.Kind != jobs.ImportJob || err != nil {
		return nil // what cannot be read shows nothing
	}
	rows, err := e.Preview(ctx, &im)
	left := slices.DeleteFunc(slices.Clone(rows), func(cells []string) bool {
		return j.Ended() || e.names(func(i *crm.Identity) bool { return i.In(cells) })
	})
	if err != nil || len(left) == len(rows) {
		return err
	}
	return e.UpdateAccount(ctx, j.Account, func(t *store.Tx) error {
		now, err := store.FindIn(t.Conn, crm.ErrNotFound, jobs.ScanJob, jobs.SQLJob, j.Account, j.ID)
		if err == nil {
			im, err = jobs.ImportOf(now)
		}
		if err != nil {
			return err
		}
		im.Spec.Preview = nil // where an older version has put them
		now.Spec = jobs.JSONOf(im.Spec)
		jobs.SaveJob(t, &now)
		if !now.Ended() {
			t.Save(store.JobPartTable, j.Account, j.ID, jobs.PreviewPart, []byte(jobs.JSONOf(left)))
		}
		return nil
	})
}

// scrub sees to it that what was removed cannot be read in the files of the database either, and ends the job. What the people were known by is removed
// before, so that it is neither.
func (e *eraser) scrub(ctx context.Context) error {
	switch e.at.Part {
	case eraseWords:
		if more, err := e.turn(ctx); more || err != nil {
			return err
		}
		e.spec.People, e.spec.Gifts = nil, nil
		if _, err := e.Db.MergeSearch(ctx, store.WordsTable, true); err != nil {
			return err
		}
		e.next()
		return e.note(ctx, store.Needs{}, nil)
	case eraseMerging:
		more, err := e.Db.MergeSearch(ctx, store.WordsTable, false)
		if err != nil || more {
			return err
		}
		e.next()
		return e.note(ctx, store.Needs{}, nil)
	}
	done, err := e.Db.EmptyLog(ctx)
	if err != nil {
		return err
	}
	if !done {
		return jobs.ErrNotOurs // yet: someone reads an earlier state
	}
	return e.Advance(ctx, e.job, store.Needs{}, func(t *store.Tx, _ *store.Account, next *jobs.Job) error { return jobs.EndJob(t, next, jobs.JobDone) })
}
