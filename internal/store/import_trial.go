package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/table"
)

// A dry run tells what an import would do, and writes nothing. Each row is decided about on a snapshot, against the contacts and gifts that are there,
// and against the emails, phones and external ids of the rows before it. Whatever else rows before would change is not known: a row that only repeats
// one further up counts as merged, or as a gift that is known.

// TrialRow is what would become of a row.
type TrialRow struct {
	Line    int64    `json:"line"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`  // why it would be rejected
	Contact int64    `json:"contact,omitempty"` // the one that it would be merged into, where that one exists
	Row     int64    `json:"row,omitempty"`     // else the line of the file that would make it
	Name    string   `json:"name,omitempty"`    // of the contact that exists
	By      []string `json:"by,omitempty"`      // the emails, or else the phones, by which it was found
	Cells   []string `json:"cells,omitempty"`   // of a row that would be rejected
	Object  string   `json:"object,omitempty"`  // the same, of a gift in JSON
	Of      string   `json:"of,omitempty"`      // ImportGifts for a gift
	Gift    string   `json:"gift,omitempty"`    // the public id of a gift that is known, where it exists

	newContact bool // a gift would make one
}

// trial is what a dry run knows of the rows that it has decided about: who would have which key. A key is known by 64 bits, and takes about 30 bytes. In one
// of ten million files of a million rows, two keys are taken for the same, and a row that is new is told as merged.
type trial struct {
	account int64
	seed    maphash.Seed
	holders map[uint64]int64 // the id of a contact that exists, or that newID gives to a row
	counts  ImportCounts     // what would become of the rows so far
	listed  int              // rows that a person was told of
}

func newTrial(account int64) *trial {
	return &trial{account: account, seed: maphash.MakeSeed(), holders: make(map[uint64]int64)}
}

// trialSeq is the sequence number before those of what a dry run would make. No account has as many.
const trialSeq = crm.MaxSeq / 2

// newID is what a contact or a gift is known by that a row would make.
func (tr *trial) newID(line int64) int64 { return crm.MakeID(tr.account, trialSeq+line) }

// madeBy is the line of the row that would make what has an id, 0 where it exists.
func madeBy(id int64) int64 { return max(0, crm.IDSeq(id)-trialSeq) }

// holder is who has got a key by the rows before a line; 0 is no one. A row does not find itself where it is decided about again.
func (tr *trial) holder(key string, line int64) int64 {
	if id := tr.holders[maphash.String(tr.seed, key)]; madeBy(id) < line {
		return id
	}
	return 0
}

// give notes who would have keys, unless a row before has given them to another one.
func (tr *trial) give(id int64, keys ...string) {
	for _, key := range keys {
		hash := maphash.String(tr.seed, key)
		if tr.holders[hash] == 0 {
			tr.holders[hash] = id
		}
	}
}

// place puts the contacts that have got keys by the rows before a line among those that have them.
func (tr *trial) place(t *tx, a *accountUnit, keys []string, line int64) error {
	for _, key := range keys {
		id := tr.holder(key, line)
		if id == 0 || slices.Contains(contactsOf(a).keys[key], id) {
			continue
		}
		if madeBy(id) > 0 && contactsOf(a).contacts[id] == nil {
			contactsOf(a).contacts[id] = &stored{id: id, contact: crm.Contact{ID: id}}
		}
		row, err := t.row(a, id)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		having := append(slices.Clone(row.contact.MatchKeys), key)
		slices.Sort(having)
		row.contact.MatchKeys, contactsOf(a).contacts[id], contactsOf(a).keys[key] = having, row, append(contactsOf(a).keys[key], id)
	}
	return nil
}

// tryNeeds is what the rows look up to be decided about, and not what only a write needs.
func (u *importUnit) tryNeeds(account int64) needs {
	n := u.needs(account)
	for i := range n.more {
		n.more[i].sets, n.more[i].gift = nil, nil
	}
	return n
}

// tryStep decides about some more rows.
func (r *importRun) tryStep(ctx context.Context) (outcomes []TrialRow, end bool, err error) {
	u, err := r.take(ctx)
	if err != nil {
		return nil, false, err
	}
	err = r.deciding(ctx, u, func() error {
		return r.store.heavy.again(ctx, r.account, func() error {
			return r.store.consider(ctx, r.account, u.tryNeeds(r.account), func(t *tx, a *accountUnit) (err error) {
				outcomes, err = r.try(t, a, u)
				return err
			})
		})
	})
	if err != nil {
		return nil, false, err
	}
	for i := range outcomes {
		r.trial.counts.count(outcomes[i].Outcome)
		r.trial.counts.Contacts += flag(outcomes[i].newContact)
	}
	return outcomes, u.end, nil
}

// try decides about the rows of a unit.
func (r *importRun) try(t *tx, a *accountUnit, u *importUnit) (outcomes []TrialRow, err error) {
	outcomes = make([]TrialRow, len(u.rows))
	for i := range u.rows {
		row, out := &u.rows[i], &outcomes[i]
		if out.Line = row.line; row.gift != nil {
			err = r.tryGift(t, a, row, out)
		} else {
			err = r.tryContact(t, a, row, out)
		}
		if err != nil {
			return nil, err
		}
		if out.Outcome == RowRejected {
			rejected := row.rejected(out.Reason)
			out.Cells, out.Object = rejected.Cells, rejected.Object
		}
	}
	return outcomes, nil
}

// tryContact decides about a row of contacts.
func (r *importRun) tryContact(t *tx, a *accountUnit, row *importRow, out *TrialRow) error {
	outcome, made, reason, err := importContact(row, func(n *newContact) (Document, error) {
		if err := r.trial.place(t, a, n.matchKeys, row.line); err != nil {
			return Document{}, err
		}
		return t.considerContact(a, n, createModes[r.spec.Mode], r.store.now())
	})
	out.Outcome, out.Reason = outcome, reason
	switch {
	case err != nil || outcome == RowRejected:
		return err
	case outcome == RowCreated:
		r.trial.give(r.trial.newID(row.line), row.contact.matchKeys...)
		return nil
	}
	match := contactsOf(a).contacts[made.ID].contact
	if out.Row = madeBy(made.ID); out.Row == 0 {
		out.Contact, out.Name = made.ID, match.FirstName+" "+match.LastName
	}
	emails, phones := row.contact.in.Shared(match)
	if out.By = emails; len(emails) == 0 {
		out.By = phones
	}
	r.trial.give(made.ID, row.contact.matchKeys...)
	return nil
}

// considerContact is what createContact would do.
func (t *tx) considerContact(a *accountUnit, n *newContact, mode crm.CreateMode, now time.Time) (Document, error) {
	found, err := t.matchNew(a.account, n)
	switch {
	case err != nil:
		return Document{}, err
	case found == nil:
		return Document{Created: true}, nil
	}
	if contactsOf(a).contacts[found.id] = found; mode == crm.Skip {
		return Document{ID: found.id, Body: found.body, Before: found.body}, nil
	}
	merged, err := found.contact.Merge(n.in, now)
	return Document{ID: found.id, Body: merged.AppendBody(nil), Before: found.body}, err
}

// tryGift decides about a row of gifts.
func (r *importRun) tryGift(t *tx, a *accountUnit, row *importRow, out *TrialRow) (err error) {
	in, keys := &row.gift.GiftInput, row.gift.Giver.MatchKeys()
	var made GiftDocument
	out.Of = ImportGifts
	out.Outcome, made, out.Reason, err = t.importGift(a, row, func(in *crm.GiftInput) (GiftDocument, error) {
		if r.trial.holder(giftReference+*in.ExternalID, row.line) != 0 {
			return GiftDocument{Existing: true}, nil
		}
		if in.Contact == nil {
			if err := r.trial.place(t, a, keys, row.line); err != nil {
				return GiftDocument{}, err
			}
		}
		made, _, err := t.decideGift(a, in, r.store.now())
		return made, err
	})
	switch {
	case err != nil || out.Outcome == RowRejected:
		return err
	case out.Outcome == RowUnchanged:
		out.Gift, out.Contact, out.Name = made.Code, made.Contact, made.Giver.Name()
		return nil
	}
	if !in.FromRow { // equal rows without an external id are different gifts
		r.trial.give(r.trial.newID(row.line), giftReference+*in.ExternalID)
	}
	if out.newContact = made.NewGiver; made.NewGiver {
		made.Contact = r.trial.newID(row.line)
	}
	if in.Contact == nil {
		r.trial.give(made.Contact, keys...)
	}
	return nil
}

// Dry runs of files that were uploaded.
const (
	keptTrial     = 1000             // rows that are listed
	trialNotes    = time.Second      // how often its progress is noted where there is nothing else to note
	trialDeserted = 30 * time.Second // one that was not heard of for so long is begun again, by any node
)

// triedElsewhere tells whether another node has a dry run under way. What it knows is in its memory, so that it cannot be joined.
func (im *Import) triedElsewhere(now time.Time) bool {
	return im.Spec.Trial && im.State == JobRunning && now.Sub(im.UpdatedAt) < trialDeserted
}

// tryJob tries some more rows of a job, and lists what a person has to know of. Nothing of that is queued with what others write but a note now and then.
func (r *importRun) tryJob(ctx context.Context, j *Job, im *Import) error {
	outcomes, end, err := r.tryStep(ctx)
	if err != nil {
		return err
	}
	told := slices.DeleteFunc(outcomes, func(out TrialRow) bool { return !out.Told() })
	told = told[:min(len(told), keptTrial-r.trial.listed)]
	if !end && len(told) == 0 && j.State == JobRunning && r.store.now().Sub(j.UpdatedAt) < trialNotes {
		return nil
	}
	progress := ImportProgress{ImportCounts: r.trial.counts, Total: cmp.Or(im.Progress.Total, r.total)}
	err = r.store.advance(ctx, j, needs{}, func(t *tx, _ *accountUnit, next *Job) error {
		for i := range told {
			t.noteRow(next, JobRow{Number: told[i].Line, Outcome: told[i].Outcome, Contact: told[i].Contact, Data: jsonOf(told[i])})
		}
		if next.Progress = jsonOf(progress); end {
			spec := im.Spec
			spec.Trial = false
			next.State, next.Spec, next.Progress = JobMapping, jsonOf(spec), jsonOf(ImportProgress{Total: progress.Total, Tried: &r.trial.counts})
		}
		return nil
	})
	if err == nil {
		r.trial.listed += len(told)
		r.read = r.trial.counts.Rows
	}
	return err
}

// TryFile says what would become of the rows of a file, and changes nothing.
func (s *JobStore) TryFile(ctx context.Context, account int64, rows *table.Reader, spec FileImport, each func(TrialRow) error, progress func(ImportCounts)) (ImportCounts, error) {
	spec.Header, spec.JSON = rows.Header(), rows.Format == jsonLines
	r := s.newRun(account, spec, 0)
	r.trial = newTrial(account)
	if err := r.begin(ctx, rows); err != nil {
		return ImportCounts{}, err
	}
	defer r.close()
	for end := false; !end; {
		var outcomes []TrialRow
		var err error
		if outcomes, end, err = r.tryStep(ctx); err != nil {
			return r.trial.counts, err
		}
		for _, out := range outcomes {
			if err := each(out); err != nil {
				return r.trial.counts, err
			}
		}
		progress(r.trial.counts)
	}
	return r.trial.counts, nil
}

// Told tells whether a person has to know of the row.
func (row *TrialRow) Told() bool {
	return row.Outcome == RowMerged || row.Outcome == RowRejected || row.Outcome == RowUnchanged && row.Of == ImportGifts
}

// InWords says what would become of the row.
func (row *TrialRow) InWords() string {
	who := fmt.Sprintf("%s, contact %d", row.Name, row.Contact)
	if row.Contact == 0 {
		who = fmt.Sprintf("the new contact of line %d", row.Row)
	}
	switch {
	case row.Outcome == RowRejected:
		return "would be rejected: " + row.Reason
	case row.Outcome == RowCreated:
		return "would be a new contact."
	case row.Of == ImportGifts && row.Gift == "":
		return "is the same gift as a row further up."
	case row.Of == ImportGifts:
		return fmt.Sprintf("is known: gift %s of %s.", row.Gift, crm.Clip(row.Name, keptText))
	case row.Outcome == RowMerged:
		return fmt.Sprintf("would be merged into %s, by %s.", who, strings.Join(row.By, " and "))
	}
	return fmt.Sprintf("says nothing new about %s.", who)
}

// Tried is what the row of a job says about a row of a file.
func (row *JobRow) Tried() (tried TrialRow, err error) {
	err = json.Unmarshal(row.Data, &tried)
	tried.Line, tried.Outcome = row.Number, row.Outcome
	return tried, err
}
