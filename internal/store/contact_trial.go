package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

// A dry run decides about rows as an import does, in transactions that are taken back. What the rows before have done is kept in memory and
// put before each transaction, so that a row finds the contacts that rows further up would have made or changed.

// errTakeBack takes back what a dry run has done.
var errTakeBack = errors.New("the dry run is taken back")

// TrialRow is what would become of a row.
type TrialRow struct {
	Line    int64    `json:"line"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`  // why it would be rejected
	Contact int64    `json:"contact,omitempty"` // the one that it would be merged into, where that one exists
	Row     int64    `json:"row,omitempty"`     // else the line of the file that would make it
	Name    string   `json:"name,omitempty"`    // of that contact
	By      []string `json:"by,omitempty"`      // the emails, or else the phones, by which it was found
	Cells   []string `json:"cells,omitempty"`   // of a row that would be rejected
	Object  string   `json:"object,omitempty"`  // the same, of a gift in JSON
	Of      string   `json:"of,omitempty"`      // ImportGifts for a gift
	Gift    string   `json:"gift,omitempty"`    // the public id of a gift that is known, where it exists

	newContact bool        // a gift would make one
	made       *storedGift // that would be recorded
	fromRow    bool        // its external id is made from the row
}

// maxTrialBytes bounds the documents that a dry run keeps of the contacts that it would have made or changed: about 25,000 of them. Where more
// are needed, a row that is about one of the others counts as merged, even if it says nothing new.
const maxTrialBytes = 32 << 20

// trialSeq is the sequence number before the contacts that a dry run would make. No account has as many.
const trialSeq = crm.MaxSeq / 2

// trial is what a dry run knows of the rows that it has decided about.
type trial struct {
	seed     maphash.Seed
	lines    []int64            // of the rows that would make contacts
	holders  map[uint64]int64   // the contact that has a match key
	others   map[uint64][]int64 // more of them, which is rare
	contacts map[int64]trialContact
	order    []int64 // of contacts, as they came
	bytes    int
	most     int // of bytes
	gifts    trialGifts
}

type trialContact struct {
	body []byte
	keys string
}

func newTrial(of string) *trial {
	most := maxTrialBytes
	if of == ImportGifts { // they are about contacts, and seldom change them
		most /= 4
	}
	return &trial{seed: maphash.MakeSeed(), most: most, holders: make(map[uint64]int64), others: make(map[uint64][]int64), contacts: make(map[int64]trialContact)}
}

// holding are the contacts that rows have given a key.
func (tr *trial) holding(key string) []int64 {
	hash := maphash.String(tr.seed, key)
	first, ok := tr.holders[hash]
	if !ok {
		return nil
	}
	return append([]int64{first}, tr.others[hash]...)
}

func (tr *trial) give(key string, id int64) {
	hash := maphash.String(tr.seed, key)
	first, taken := tr.holders[hash]
	switch {
	case !taken:
		tr.holders[hash] = id
	case first != id && !slices.Contains(tr.others[hash], id):
		tr.others[hash] = append(tr.others[hash], id)
	}
}

// keep notes a contact as rows have left it.
func (tr *trial) keep(row *stored) {
	if old, known := tr.contacts[row.id]; known {
		tr.bytes -= len(old.body)
	} else {
		tr.order = append(tr.order, row.id)
	}
	tr.contacts[row.id] = trialContact{bytes.Clone(row.body), row.matchKeys} // a body that was just made has room for more
	tr.bytes += len(row.body)
	for ; tr.bytes > tr.most; tr.order = tr.order[1:] {
		tr.bytes -= len(tr.contacts[tr.order[0]].body)
		delete(tr.contacts, tr.order[0])
	}
}

// place puts what rows before have done before the unit of work decides.
func (tr *trial) place(t *tx, a *accountUnit, u *importUnit) error {
	a.touch(t) // so that nothing of it is ever kept
	a.contactSeq, a.giftSeq = trialSeq+int64(len(tr.lines)), trialSeq+tr.gifts.made
	for _, n := range u.needs(a.account).more { // no set has contacts here, and to look for them would cost a statement for each row
		a.sets.expect(n.sets, a.newestBlock())
		a.sets.expect(n.sets, a.newestBlock()+1)
	}
	for i := range u.rows {
		if gift := u.rows[i].gift; gift != nil {
			tr.placeGift(a, gift)
		}
		keys := u.rows[i].matchKeys()
		for _, key := range keys {
			for _, id := range tr.holding(key) {
				if err := tr.placeContact(a, id, keys); err != nil {
					return err
				}
				if !slices.Contains(a.keys[key], id) {
					a.keys[key] = append(a.keys[key], id)
				}
			}
		}
	}
	return nil
}

// matchKeys are what the contact of a row is found by.
func (row *importRow) matchKeys() []string {
	switch {
	case row.contact != nil:
		return row.contact.matchKeys
	case row.gift != nil && row.Reason == "" && row.gift.Contact == nil:
		return row.gift.Giver.MatchKeys()
	}
	return nil
}

// placeContact puts one contact before the unit of work. Of one that is not kept any more, only the keys of the row are known.
func (tr *trial) placeContact(a *accountUnit, id int64, keys []string) error {
	kept, known := tr.contacts[id]
	switch {
	case known:
		c, err := crm.ParseContact(id, kept.body, splitKeys(kept.keys))
		a.contacts[id] = &stored{id: id, matchKeys: kept.keys, body: kept.body, contact: c}
		return err
	case tr.isNew(id) && a.contacts[id] == nil:
		c := crm.Contact{ID: id, MatchKeys: slices.Sorted(slices.Values(keys))}
		a.contacts[id] = &stored{id: id, matchKeys: joinKeys(c.MatchKeys), contact: c}
	}
	return nil
}

func (tr *trial) isNew(id int64) bool { return crm.IDSeq(id) > trialSeq }

// tryStep decides about some more rows and changes nothing.
func (r *importRun) tryStep(ctx context.Context) (outcomes []TrialRow, end bool, err error) {
	u, err := r.take(ctx)
	if err != nil {
		return nil, false, err
	}
	var touched []*stored
	err = r.deciding(ctx, u, func() error {
		return r.store.updateAlone(ctx, r.account, u.needs(r.account), func(t *tx) (err error) {
			if outcomes, touched, err = r.try(t, u); err == nil {
				err = errTakeBack
			}
			return err
		})
	})
	if !errors.Is(err, errTakeBack) {
		return nil, false, err
	}
	r.trial.learn(outcomes, touched)
	r.read += int64(len(u.rows))
	return outcomes, u.end, nil
}

// try decides about the rows of a unit of work, which is taken back.
func (r *importRun) try(t *tx, u *importUnit) (outcomes []TrialRow, touched []*stored, err error) {
	a, err := t.lock(r.account)
	if err == nil {
		err = r.trial.place(t, a, u)
	}
	if err != nil {
		return nil, nil, err
	}
	outcomes = make([]TrialRow, len(u.rows))
	now, mode := r.store.now(), createModes[r.spec.Mode]
	for i := range u.rows {
		row, out := &u.rows[i], &outcomes[i]
		if out.Line, out.Cells = row.line, row.Cells; row.gift != nil {
			giver, err := r.tryGift(t, a, row, out, now)
			if err != nil {
				return nil, nil, err
			}
			if giver != nil {
				touched = append(touched, giver)
			}
			continue
		}
		if err := r.trial.match(t, r.account, row, out); err != nil {
			return nil, nil, err
		}
		var made Document
		if out.Outcome, made, out.Reason, err = t.importRow(r.account, row, mode, now); err != nil {
			return nil, nil, err
		}
		if out.Outcome == RowCreated || out.Outcome == RowMerged {
			touched = append(touched, a.contacts[made.ID])
		}
	}
	return outcomes, touched, nil
}

// match notes the contact that a row is about, as it is before the row is decided about.
func (tr *trial) match(t *tx, account int64, row *importRow, out *TrialRow) error {
	if row.contact == nil {
		return nil
	}
	found, err := t.match(account, &row.contact.in, row.contact.matchKeys)
	if found == nil || err != nil {
		if reasonOf(err) != "" {
			return nil // which the import finds, too
		}
		return err
	}
	out.Contact, out.Name = found.id, found.contact.FirstName+" "+found.contact.LastName
	emails, phones := row.contact.in.Shared(found.contact)
	if out.By = emails; len(emails) == 0 {
		out.By = phones
	}
	return nil
}

// learn keeps what the rows have done.
func (tr *trial) learn(outcomes []TrialRow, touched []*stored) {
	for i := range outcomes {
		out := &outcomes[i]
		switch {
		case out.Of == ImportGifts:
			tr.learnGift(out)
		case out.Outcome == RowCreated:
			tr.lines = append(tr.lines, out.Line)
			out.Contact, out.Name, out.By = 0, "", nil
		case out.Outcome == RowMerged, out.Outcome == RowUnchanged:
			if tr.isNew(out.Contact) {
				out.Row, out.Contact = tr.lines[crm.IDSeq(out.Contact)-trialSeq-1], 0
			}
		}
		if out.Outcome == RowRejected {
			out.Contact, out.Name, out.By = 0, "", nil
		} else {
			out.Cells = nil
		}
	}
	for _, row := range touched {
		tr.keep(row)
		for _, key := range row.contact.MatchKeys {
			tr.give(key, row.id)
		}
	}
}

// Told tells whether a person has to know of the row.
func (row *TrialRow) Told() bool {
	return row.Outcome == RowMerged || row.Outcome == RowRejected || row.Outcome == RowUnchanged && row.Of == ImportGifts
}

// InWords says what would become of the row.
func (row *TrialRow) InWords() string {
	into := fmt.Sprintf("contact %d", row.Contact)
	if row.Contact == 0 {
		into = fmt.Sprintf("the new contact of line %d", row.Row)
	}
	switch row.Outcome {
	case RowCreated:
		return "would be a new contact."
	case RowUnchanged, RowMerged:
		if row.Of == ImportGifts {
			return row.knownGift()
		}
	}
	switch row.Outcome {
	case RowMerged:
		return fmt.Sprintf("would be merged into %s, %s, by %s.", row.Name, into, strings.Join(row.By, " and "))
	case RowUnchanged:
		return fmt.Sprintf("says nothing new about %s, %s.", row.Name, into)
	}
	return "would be rejected: " + row.Reason
}

// Tried is what the row of a job says about a row of a file.
func (row *JobRow) Tried() (tried TrialRow, err error) {
	err = json.Unmarshal(row.Data, &tried)
	tried.Line, tried.Outcome = row.Number, row.Outcome
	return tried, err
}
