package store

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// To erase a contact is to remove the person for good. Nothing that names them stays in the database: the document becomes a stub
// (crm/contact_erase.go), which takes them out of the search and of every set; gifts and plans keep their money; the rows of the history keep
// their numbers, which must have no gap, and lose what they say.

const (
	sqlGiftsOf = `SELECT ` + giftColumns + ` FROM gift WHERE account_id = $1 AND contact_id = $2`
	sqlPlansBy = `SELECT ` + planColumns + ` FROM plan WHERE account_id = $1 AND contact_id = $2 ORDER BY id`

	sqlAnswerBodies = `SELECT key, body FROM request_answer WHERE account_id = $1`
	sqlEmptyAnswers = `UPDATE request_answer SET status = $2, header = '', body = $3 WHERE account_id = $1 AND key = ANY($4)`
	sqlJobRowsOf    = `SELECT job_id, number FROM job_row WHERE account_id = $1 AND contact_id = $2`
	sqlMentions     = `SELECT data FROM change WHERE account_id = $1 AND revision = ANY($2) AND kind >= $3 AND kind <= $4`
	// Gifts that were given to another contact before the history told contacts of their gifts. Their changes have no door.
	sqlOldMoves     = `SELECT revision, data FROM change WHERE account_id = $1 AND noun = $2 AND door = $3 AND data LIKE '%"contact_id"%'`
	sqlEmptyChanges = `UPDATE change SET data = '' WHERE account_id = $1 AND revision = ANY($2)`
)

// EraseContact removes a person. What was given stays in every sum. Erasing again changes nothing.
func (s *Store) EraseContact(ctx context.Context, account, id int64) error {
	if foreign(account, id) {
		return crm.ErrNotFound
	}
	now := s.now()
	err := s.update(ctx, account, moveNeeds(id), func(t *tx) error {
		found, err := t.load(account, id)
		if err != nil || found.contact.Erased() {
			return err
		}
		e := eraser{tx: t, a: t.account(account), id: id}
		if err := e.look(found); err != nil {
			return err
		}
		for _, g := range e.gifts {
			erased := g.Erase()
			t.writeGift(t.Save, e.a, t.record(e.a, crm.GiftNoun, g.ID, crm.DidErase, g.revision, ""), &erased)
		}
		for _, p := range e.plans {
			erased := p.Plan.Erase(now)
			t.writePlan(t.Save, e.a, t.record(e.a, crm.PlanNoun, p.ID, crm.DidErase, p.revision, ""), &erased)
		}
		_, err = t.change(found, crm.DidErase, func(c crm.Contact) (crm.Contact, error) { return c.Erase(now), nil })
		for _, row := range e.jobRows {
			t.Delete(jobRowTable, account, row[0], row[1])
		}
		if err == nil {
			err = t.exec(sqlEmptyChanges, account, e.changes)
		}
		if err == nil {
			err = t.emptyAnswers(e.a, e.answers)
		}
		return err
	})
	if err == nil {
		s.touching.Go(func() { _ = s.db.Scrub(context.WithoutCancel(ctx), wordsTable) }) // what it leaves undone, the next one does
	}
	return err
}

// eraser is what an erasure has to write. It reads everything before it writes anything.
type eraser struct {
	*tx
	a       *accountUnit
	id      int64
	gifts   []*storedGift
	plans   []*storedPlan
	changes []int64  // the revisions of those that tell of the person
	answers []string // keys of answers that show the person
	jobRows [][2]int64
}

func (e *eraser) look(found *stored) (err error) {
	if e.gifts, err = db.List(e.Conn, func(r db.Row) *storedGift { _, g := scanGift(r); return g }, sqlGiftsOf, e.a.account, e.id); err != nil {
		return err
	}
	if e.plans, err = db.List(e.Conn, readPlan, sqlPlansBy, e.a.account, e.id); err != nil {
		return err
	}
	heads := []int64{found.revision}
	for _, g := range e.gifts {
		if heads = append(heads, g.revision); g.damage != nil {
			return g.damage
		}
	}
	for _, p := range e.plans {
		if heads = append(heads, p.revision); p.damage != nil {
			return p.damage
		}
	}
	if err := e.lookAtHistory(heads); err != nil {
		return err
	}
	if e.jobRows, err = db.List(e.Conn, func(r db.Row) [2]int64 { return [2]int64{r.Int(0), r.Int(1)} }, sqlJobRowsOf, e.a.account, e.id); err != nil {
		return err
	}
	return e.lookAtAnswers()
}

// lookAtHistory finds the changes of the person's documents, by their last ones. Gifts that belong to another contact now have said who gave them
// before. What the changes say is not kept in memory: there may be any number of them.
func (e *eraser) lookAtHistory(heads []int64) error {
	for _, head := range heads {
		found, err := readChain(e.Conn, e.a.account, head, math.MaxInt64)
		if err != nil {
			return err
		}
		e.changes = append(e.changes, found.revisions...)
	}
	others := make(map[int64]bool)
	err := e.Each(func(r db.Row) error {
		if id := codeID(e.a.account, mentioned(r.Text(0))); id != 0 {
			others[id] = true
		}
		return nil
	}, sqlMentions, e.a.account, e.changes, int64(crm.DidGive), int64(crm.DidRefund))
	for _, g := range e.gifts {
		delete(others, g.ID)
	}
	for id := range others {
		if err == nil {
			err = e.lookAtGift(id)
		}
	}
	if err == nil {
		err = e.Each(func(r db.Row) error {
			if c := (Change{Revision: r.Int(0), Data: r.Text(1)}); moved(&c, e.id) {
				e.changes = append(e.changes, c.Revision)
			}
			return nil
		}, sqlOldMoves, e.a.account, int64(crm.GiftNoun), int64(crm.OtherDoor))
	}
	slices.Sort(e.changes)
	return err
}

// lookAtGift finds the changes that made a gift that of another contact.
func (e *eraser) lookAtGift(id int64) error {
	g, err := e.a.gifts.get(e.tx, e.a.account, id)
	if err != nil || g == nil {
		return err
	}
	changes, err := chain(e.Conn, e.a.account, g.revision, math.MaxInt64)
	for _, c := range changes {
		if moved(&c, e.id) {
			e.changes = append(e.changes, c.Revision)
		}
	}
	return err
}

// mentioned is the public id of the gift that a change of a contact tells of.
func mentioned(data string) string {
	var mention crm.MentionedGift
	_ = json.Unmarshal([]byte(data), &mention) // what is no mention has none
	return mention.Gift
}

// lookAtAnswers finds the answers that are kept for retries and show the person: a contact by its id, a gift or a plan by its contact's, a note by
// its revision.
func (e *eraser) lookAtAnswers() error {
	id := strconv.FormatInt(e.id, 10)
	marks := [][]byte{[]byte(`{"id":` + id + `,`), []byte(`"contact_id":` + id + `,`)}
	return e.Each(func(r db.Row) error {
		body := r.Bytes(1)
		if slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(body, mark) }) || e.isNote(body) {
			e.answers = append(e.answers, r.Text(0))
		}
		return nil
	}, sqlAnswerBodies, e.a.account)
}

var noteMark = regexp.MustCompile(`\{"id":(\d+),"type":"note",`)

func (e *eraser) isNote(body []byte) bool {
	found := noteMark.FindSubmatch(body)
	if found == nil {
		return false
	}
	revision, _ := strconv.ParseInt(string(found[1]), 10, 64) // digits
	_, known := slices.BinarySearch(e.changes, revision)
	return known
}

// erasedAnswer is the status of an answer that was taken out. A form of the console has none, which is 0.
const erasedAnswer = -1

// emptyAnswers takes out what answers say. Their keys stay: a client that sends such a request again must not bring the person back.
func (t *tx) emptyAnswers(a *accountUnit, keys []string) error {
	for _, key := range keys {
		if kept := a.answers[key]; kept != nil {
			kept.Answer = Answer{Status: erasedAnswer}
		}
	}
	return t.exec(sqlEmptyAnswers, a.account, int64(erasedAnswer), []byte{}, keys)
}

// values are the columns of a row of the record.
func changeValues(c *Change, account int64) []any {
	return []any{account, c.Revision, int64(c.Noun), int64(c.Kind), c.ID, c.Prev, c.Undoes, c.Job, seconds(c.At), int64(c.Door), c.Who, c.Data}
}

// moved tells whether a change made a gift that of another contact, with their name, or that of this one.
func moved(c *Change, contact int64) bool {
	differences, _ := crm.ParseDifferences(c.Data)
	id := strconv.FormatInt(contact, 10)
	return slices.ContainsFunc(differences, func(d crm.Difference) bool {
		return d.Field == "contact_id" && (string(d.Before) == id || string(d.After) == id)
	})
}
