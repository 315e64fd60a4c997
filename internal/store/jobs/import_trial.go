package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
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
	currency   string
	counted    int64 // what a gift would add to all sums
}

// trial is what a dry run knows of the rows that it has decided about: who would have which key. A key is known by 64 bits, and takes about 30 bytes. In one
// of ten million files of a million rows, two keys are taken for the same, and a row that is new is told as merged.
type trial struct {
	account int64
	seed    maphash.Seed
	holders map[uint64]int64       // the id of a contact that exists, or that newID gives to a row
	unit    map[uint64]int64       // the same of the unit that is decided about, which may begin again
	counts  ImportCounts           // what would become of the rows so far
	listed  int                    // rows that a person was told of
	told    ImportProgress         // what else it has found out
	gifts   map[uint64]giving.Gift // as rows would leave them, since other rows may give them back
	left    map[uint64]giving.Gift // the same of the unit
}

// Bounds of what a dry run of gifts remembers.
const (
	maxUnknown = 100
	maxGivable = 20_000
)

// explain notes a value that a person has to explain.
func (tr *trial) explain(value sheet.UnknownValue) {
	if len(tr.told.Unknown) < maxUnknown && !slices.Contains(tr.told.Unknown, value) {
		tr.told.Unknown = append(tr.told.Unknown, value)
	}
}

func newTrial(account int64) *trial {
	return &trial{account: account, seed: maphash.MakeSeed(), holders: make(map[uint64]int64), gifts: make(map[uint64]giving.Gift)}
}

// trialSeq is the sequence number before those of what a dry run would make. No account has as many.
const trialSeq = doc.MaxSeq / 2

// newID is what a contact or a gift is known by that a row would make.
func (tr *trial) newID(line int64) int64 { return doc.MakeID(tr.account, trialSeq+line) }

// madeBy is the line of the row that would make what has an id, 0 where it exists.
func madeBy(id int64) int64 { return max(0, doc.IDSeq(id)-trialSeq) }

// holder is who has got a key by the rows before; 0 is no one.
func (tr *trial) holder(key string) int64 {
	hash := maphash.String(tr.seed, key)
	return cmp.Or(tr.holders[hash], tr.unit[hash])
}

// give notes who would have keys, unless a row before has given them to another one.
func (tr *trial) give(id int64, keys ...string) {
	for _, key := range keys {
		if tr.holder(key) == 0 {
			tr.unit[maphash.String(tr.seed, key)] = id
		}
	}
}

// place puts the contacts that have got keys by the rows before among those that have them.
func (tr *trial) place(t *store.Tx, a *store.Account, keys []string) error {
	for _, key := range keys {
		id := tr.holder(key)
		if id == 0 || slices.Contains(contacts.Of(a).Keys[key], id) {
			continue
		}
		if madeBy(id) > 0 && contacts.Of(a).Contacts[id] == nil {
			contacts.Of(a).Contacts[id] = &contacts.Stored{ID: id, Contact: crm.Contact{ID: id}}
		}
		row, err := contacts.Row(t, a, id)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		having := append(slices.Clone(row.Contact.MatchKeys), key)
		slices.Sort(having)
		row.Contact.MatchKeys, contacts.Of(a).Contacts[id], contacts.Of(a).Keys[key] = having, row, append(contacts.Of(a).Keys[key], id)
	}
	return nil
}

// tryNeeds is what the rows look up to be decided about, and not what only a write needs.
func (u *importUnit) tryNeeds(account int64) store.Needs {
	n := u.needs(account)
	for i := range n.More {
		n.More[i].Sets, n.More[i].Gift = nil, nil
	}
	return n
}

// tryStep decides about some more rows.
func (r *ImportRun) tryStep(ctx context.Context) (outcomes []TrialRow, end bool, err error) {
	u, err := r.take(ctx)
	if err != nil {
		return nil, false, err
	}
	err = r.deciding(ctx, u, func() error {
		return r.store.Heavy.Again(ctx, r.account, func() error {
			return r.store.Consider(ctx, r.account, u.tryNeeds(r.account), func(t *store.Tx, a *store.Account) (err error) {
				outcomes, err = r.try(t, a, u)
				return err
			})
		})
	})
	if err != nil {
		return nil, false, err
	}
	maps.Copy(r.trial.holders, r.trial.unit)
	maps.Copy(r.trial.gifts, r.trial.left)
	for i := range outcomes {
		r.trial.counts.count(outcomes[i].Outcome)
		r.trial.counts.Contacts += contacts.Flag(outcomes[i].newContact)
		r.trial.told.add(outcomes[i].currency, outcomes[i].counted)
	}
	return outcomes, u.End, nil
}

// try decides about the rows of a unit. It runs again where the connection is lost.
func (r *ImportRun) try(t *store.Tx, a *store.Account, u *importUnit) (outcomes []TrialRow, err error) {
	outcomes, r.trial.unit, r.trial.left = make([]TrialRow, len(u.Rows)), make(map[uint64]int64), make(map[uint64]giving.Gift)
	for i := range u.Rows {
		row, out := &u.Rows[i], &outcomes[i]
		if out.Line = row.Line; row.Gift != nil {
			err = r.tryGift(t, a, row, out)
		} else {
			err = r.tryContact(t, a, row, out)
		}
		if err != nil {
			return nil, err
		}
		if out.Outcome == RowRejected {
			rejected := row.Rejected(out.Reason)
			out.Cells, out.Object = rejected.Cells, rejected.Object
		}
	}
	return outcomes, nil
}

// tryContact decides about a row of contacts.
func (r *ImportRun) tryContact(t *store.Tx, a *store.Account, row *ImportRow, out *TrialRow) error {
	outcome, made, reason, err := importContact(row, func(n *contacts.NewContact) (contacts.Document, error) {
		if err := r.trial.place(t, a, n.MatchKeys); err != nil {
			return contacts.Document{}, err
		}
		return considerContact(t, a, n, CreateModes[r.spec.Mode], r.store.Now())
	})
	out.Outcome, out.Reason = outcome, reason
	switch {
	case err != nil || outcome == RowRejected:
		return err
	case outcome == RowCreated:
		r.trial.give(r.trial.newID(row.Line), row.contact.MatchKeys...)
		return nil
	}
	match := contacts.Of(a).Contacts[made.ID].Contact
	if out.Row = madeBy(made.ID); out.Row == 0 {
		out.Contact, out.Name = made.ID, match.FirstName+" "+match.LastName
	}
	emails, phones := row.contact.In.Shared(match)
	if out.By = emails; len(emails) == 0 {
		out.By = phones
	}
	r.trial.give(made.ID, row.contact.MatchKeys...)
	return nil
}

// considerContact is what createContact would do.
func considerContact(t *store.Tx, a *store.Account, n *contacts.NewContact, mode crm.CreateMode, now time.Time) (contacts.Document, error) {
	found, err := contacts.MatchNew(t, a.Account, n)
	switch {
	case err != nil:
		return contacts.Document{}, err
	case found == nil:
		return contacts.Document{Created: true}, nil
	}
	if contacts.Of(a).Contacts[found.ID] = found; mode == crm.Skip {
		return contacts.Document{ID: found.ID, Body: found.Body, Before: found.Body}, nil
	}
	merged, err := found.Contact.Merge(n.In, now)
	return contacts.Document{ID: found.ID, Body: merged.AppendBody(nil), Before: found.Body}, err
}

// tryGift decides about a row of gifts.
func (r *ImportRun) tryGift(t *store.Tx, a *store.Account, row *ImportRow, out *TrialRow) (err error) {
	in, keys := &row.Gift.GiftInput, row.Gift.Giver.MatchKeys()
	for _, value := range row.Gift.Unknown {
		r.trial.explain(value)
	}
	var made gifts.GiftDocument
	out.Of = ImportGifts
	out.Outcome, made, out.Reason, err = importGift(t, a, row, func(in *giving.GiftInput) (gifts.GiftDocument, error) {
		if in.Filed.IsRefund {
			return r.tryRefund(t, a, in)
		}
		if r.trial.holder(gifts.GiftReference+*in.ExternalID) != 0 {
			return gifts.GiftDocument{Existing: true}, nil
		}
		if in.Contact == nil {
			if err := r.trial.place(t, a, keys); err != nil {
				return gifts.GiftDocument{}, err
			}
		}
		made, _, err := gifts.DecideGift(t, a, in, r.store.Now())
		return made, err
	})
	out.currency, out.counted = made.Currency, made.Counted
	switch {
	case err != nil || out.Outcome == RowRejected:
		return err
	case out.Outcome == RowUnchanged, out.Outcome == RowMerged:
		if made.Updated {
			r.trial.give(made.ID, gifts.GiftReference+*in.ExternalID)
			r.trial.keep(*in.ExternalID, &made.Gift)
		}
		out.Gift, out.Contact, out.Name = made.Code, made.Contact, made.Giver.Name()
		return nil
	}
	if !in.FromRow { // equal rows without an external id are different gifts
		r.trial.give(r.trial.newID(row.Line), gifts.GiftReference+*in.ExternalID)
		r.trial.keep(*in.ExternalID, &made.Gift)
	}
	if out.newContact = made.NewGiver; made.NewGiver {
		made.Contact = r.trial.newID(row.Line)
	}
	if in.Contact == nil {
		r.trial.give(made.Contact, keys...)
	}
	return nil
}

// keep remembers the money of a gift as a row would leave it, since others may give it back.
func (tr *trial) keep(reference string, g *giving.Gift) {
	key := maphash.String(tr.seed, reference)
	if _, known := tr.gifts[key]; known || len(tr.gifts) < maxGivable {
		tr.left[key] = giving.Gift{Code: g.Code, Contact: g.Contact, Giver: g.Giver, Status: g.Status, Currency: g.Currency, Entries: g.Entries, Test: g.Test}
	}
}

// tryRefund decides about a row that gives a gift back, which rows before it may have made or given back. Of those that are too many to remember, all is left.
func (r *ImportRun) tryRefund(t *store.Tx, a *store.Account, in *giving.GiftInput) (made gifts.GiftDocument, err error) {
	original, reference := in.Filed.Original(*in.ExternalID)
	key := maphash.String(r.trial.seed, original)
	g, isKept := r.trial.left[key]
	if !isKept {
		g, isKept = r.trial.gifts[key]
	}
	switch {
	case isKept:
		made.Gift, made.Existing, err = g.RefundFiled(reference, in)
		made.Counted = made.Net() - g.Net()
	case r.trial.holder(gifts.GiftReference+original) != 0:
		made.Currency = gifts.CurrencyOf(a, in)
		units, _ := text.MinorUnits(*in.Amount, made.Currency)
		made.Counted = -units
		return made, nil
	default:
		made, err = gifts.DecideRefund(t, a, in)
	}
	if err == nil {
		r.trial.keep(original, &made.Gift)
	}
	return made, err
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
func (r *ImportRun) tryJob(ctx context.Context, j *Job, im *Import) error {
	outcomes, end, err := r.tryStep(ctx)
	if err != nil {
		return err
	}
	told := slices.DeleteFunc(outcomes, func(out TrialRow) bool { return !out.Told() })
	told = told[:min(len(told), keptTrial-r.trial.listed)]
	if !end && len(told) == 0 && j.State == JobRunning && r.store.Now().Sub(j.UpdatedAt) < trialNotes {
		return nil
	}
	progress := r.trial.progress(cmp.Or(im.Progress.Total, r.Total))
	err = r.store.Advance(ctx, j, store.Needs{}, func(t *store.Tx, _ *store.Account, next *Job) error {
		for i := range told {
			NoteRow(t, next, JobRow{Number: told[i].Line, Outcome: told[i].Outcome, Contact: told[i].Contact, Data: JSONOf(told[i])})
		}
		if next.Progress = JSONOf(progress); end {
			spec := im.Spec
			spec.Trial = false
			next.State, next.Spec, next.Progress = JobMapping, JSONOf(spec), JSONOf(progress.asTried())
		}
		return nil
	})
	if err == nil {
		r.trial.listed += len(told)
		r.read = r.trial.counts.Rows
	}
	return err
}

// progress is what the dry run has found so far.
func (tr *trial) progress(total int64) ImportProgress {
	return ImportProgress{ImportCounts: tr.counts, Total: total, Counted: tr.told.Counted, Unknown: tr.told.Unknown}
}

// asTried is what a person is told when the dry run has ended.
func (p ImportProgress) asTried() ImportProgress {
	counts := p.ImportCounts
	return ImportProgress{Total: p.Total, Tried: &counts, Counted: p.Counted, Unknown: p.Unknown}
}

// TryFile says what would become of the rows of a file, and changes nothing.
func (s *JobStore) TryFile(ctx context.Context, account int64, rows *table.Reader, spec FileImport, each func(TrialRow) error, progress func(ImportCounts)) (ImportProgress, error) {
	spec.Header, spec.JSON = rows.Header(), rows.Format == JSONLines
	r := s.newRun(account, spec, 0)
	r.trial = newTrial(account)
	if err := r.begin(ctx, rows); err != nil {
		return ImportProgress{}, err
	}
	defer r.Close()
	for end := false; !end; {
		var outcomes []TrialRow
		var err error
		if outcomes, end, err = r.tryStep(ctx); err != nil {
			return r.trial.progress(0), err
		}
		for _, out := range outcomes {
			if err := each(out); err != nil {
				return r.trial.progress(0), err
			}
		}
		progress(r.trial.counts)
	}
	return r.trial.progress(0), nil
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
	case row.Of == ImportGifts && row.Outcome == RowMerged && row.Gift == "":
		return "would refund the gift of a row further up."
	case row.Of == ImportGifts && row.Outcome == RowMerged:
		return fmt.Sprintf("would update gift %s of %s.", row.Gift, giving.Clip(row.Name, gifts.KeptText))
	case row.Of == ImportGifts && row.Gift == "":
		return "is the same gift as a row further up."
	case row.Of == ImportGifts:
		return fmt.Sprintf("is known: gift %s of %s.", row.Gift, giving.Clip(row.Name, gifts.KeptText))
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
