package jobs

import (
	"bytes"
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/derived"
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
	By      []string `json:"by,omitempty"`      // the emails, or else the phones, by which it was found, or which ID
	Cells   []string `json:"cells,omitempty"`   // of a row that would be rejected
	Object  string   `json:"object,omitempty"`  // the same, of a gift in JSON
	Of      string   `json:"of,omitempty"`      // ImportGifts for a gift
	Gift    string   `json:"gift,omitempty"`    // the public id of a gift that is known, where it exists

	OtherName  bool          `json:"other_name,omitempty"`  // the row has the email or phone of the contact, and another name
	FileName   string        `json:"file_name,omitempty"`   // the name that the row has
	NewContact bool          `json:"new_contact,omitempty"` // a gift makes one
	Changes    []doc.Change  `json:"changes,omitempty"`     // what a merge would change in the contact
	LeftOut    []crm.LeftOut `json:"left_out,omitempty"`    // cells that no contact can have

	currency  string
	counted   int64 // what a gift would add to all sums
	anonymous bool  // no one is named for a gift
}

// trial is what a dry run knows of the rows that it has decided about: who would have which key, and under which name. A key is known by 64 bits, and takes
// about 50 bytes. In one of ten million files of a million rows, two keys are taken for the same, and a row that is new is told as merged.
type trial struct {
	account int64
	seed    maphash.Seed
	last    map[uint64]uint32 // the place in holders of the one who got a key last
	holders []holder          // the first one is no one
	names   []byte            // of contacts that rows would make
	unit    []uint64          // the keys that the unit has given which is decided about; their holders are the last ones
	named   int               // how much of names is from the units before
	counts  ImportCounts      // what would become of the rows so far
	listed  map[string]int    // rows that a person was told of, by what they are about
	told    ImportProgress    // what else it has found out

	gifts map[uint64]giving.Gift // as rows would leave them, since other rows may give them back
	left  map[uint64]giving.Gift // the same of the unit
}

// holder is a contact that would have a key.
type holder struct {
	id     int64  // of a contact that exists, or what newID gives to a row
	name   uint32 // where its name begins; 0 for a contact that exists
	before uint32 // the place of the one who got the key before; 0 for none
}

// maxHolders is how many contacts with one key a dry run knows, whatever their names are. Others are known by the key and their name together.
const maxHolders = 50

func newTrial(account int64) *trial {
	return &trial{account: account, seed: maphash.MakeSeed(), last: make(map[uint64]uint32), holders: make([]holder, 1), names: make([]byte, 1), named: 1, listed: map[string]int{}, gifts: make(map[uint64]giving.Gift)}
}

// trialSeq is the sequence number before those of what a dry run would make. No account has as many.
const trialSeq = doc.MaxSeq / 2

// newID is what a contact or a gift is known by that a row would make.
func (tr *trial) newID(line int64) int64 { return doc.MakeID(tr.account, trialSeq+line) }

// madeBy is the line of the row that would make what has an id, 0 where it exists.
func madeBy(id int64) int64 { return max(0, doc.IDSeq(id)-trialSeq) }

// beginUnit forgets what the unit that is decided about has given: it may begin again.
func (tr *trial) beginUnit() {
	for _, hash := range slices.Backward(tr.unit) {
		end := len(tr.holders) - 1
		tr.last[hash], tr.holders = tr.holders[end].before, tr.holders[:end]
	}
	tr.unit, tr.names, tr.left = tr.unit[:0], tr.names[:tr.named], make(map[uint64]giving.Gift)
}

// endUnit keeps what the unit has given.
func (tr *trial) endUnit() {
	tr.unit, tr.named = tr.unit[:0], len(tr.names)
	maps.Copy(tr.gifts, tr.left)
}

// holding are those who have got a key by the rows before.
func (tr *trial) holding(key string) (all []holder) {
	for at := tr.last[maphash.String(tr.seed, key)]; at != 0; at = tr.holders[at].before {
		all = append(all, tr.holders[at])
	}
	return all
}

// holdingAs is holding with those of a name where many have the key. under is what one more is noted under.
func (tr *trial) holdingAs(name crm.PersonName, key string) (all []holder, under string) {
	if all = tr.holding(key); len(all) < maxHolders {
		return all, key
	}
	under = key + "\x00" + contacts.SortName(name)
	return append(all, tr.holding(under)...), under
}

// give notes who would have keys, and under which name.
func (tr *trial) give(id int64, name crm.PersonName, keys ...string) {
	if id == 0 {
		return
	}
	at := uint32(0)
	for _, key := range keys {
		all, under := tr.holdingAs(name, key)
		if slices.ContainsFunc(all, func(h holder) bool { return h.id == id }) {
			continue
		}
		if at == 0 && madeBy(id) > 0 && name != (crm.PersonName{}) {
			at = tr.noteName(name)
		}
		hash := maphash.String(tr.seed, under)
		tr.holders = append(tr.holders, holder{id, at, tr.last[hash]})
		tr.last[hash] = uint32(len(tr.holders) - 1) //nolint:gosec // a file has not as many rows
		tr.unit = append(tr.unit, hash)
	}
}

// noteName keeps a name, and tells where it begins.
func (tr *trial) noteName(name crm.PersonName) uint32 {
	at, kind := uint32(len(tr.names)), "" //nolint:gosec // a file has not as many letters
	if name.IsCompany {
		kind = crm.Company
	}
	tr.names = append(append(tr.names, strings.Join([]string{name.First, name.Middle, name.Last, name.Company, kind}, "\x00")...), 0)
	return at
}

// nameAt is a name that was noted.
func (tr *trial) nameAt(at uint32) (name crm.PersonName) {
	kind := ""
	for _, part := range []*string{&name.First, &name.Middle, &name.Last, &name.Company, &kind} {
		if at > 0 {
			n := bytes.IndexByte(tr.names[at:], 0)
			*part, at = string(tr.names[at:int(at)+n]), at+uint32(n)+1 //nolint:gosec // as above
		}
	}
	name.IsCompany = kind == crm.Company
	return name
}

// pretend puts a contact that a row would make among those that are there.
func (tr *trial) pretend(a *store.Account, h holder) {
	if madeBy(h.id) > 0 && contacts.Of(a).Contacts[h.id] == nil {
		name := tr.nameAt(h.name)
		contacts.Of(a).Contacts[h.id] = &contacts.Stored{ID: h.id,
			Contact: crm.Contact{ID: h.id, FirstName: name.First, MiddleName: name.Middle, LastName: name.Last, Company: name.Company, IsCompany: name.IsCompany}}
	}
}

// first is the one who got one of the keys last, as the first of them tells that is known.
func (tr *trial) first(keys []string) (h holder) {
	for _, key := range keys {
		if at := tr.last[maphash.String(tr.seed, key)]; at != 0 {
			return tr.holders[at]
		}
	}
	return h
}

// place puts the contacts that have got keys by the rows before among those that have them. Of many, it does so with those of a name.
func (tr *trial) place(t *store.Tx, a *store.Account, keys []string, name crm.PersonName) error {
	for _, key := range keys {
		all, _ := tr.holdingAs(name, key)
		for _, h := range all {
			if known := contacts.Of(a).Contacts[h.id]; known != nil && crm.ContainsSorted(known.Contact.MatchKeys, key) {
				continue
			}
			tr.pretend(a, h)
			row, err := contacts.Row(t, a, h.id)
			if err != nil {
				return err
			}
			if row == nil {
				continue
			}
			having := append(slices.Clone(row.Contact.MatchKeys), key)
			slices.Sort(having)
			row.Contact.MatchKeys, contacts.Of(a).Contacts[h.id], derived.Of(a).Keys[key] = having, row, append(derived.Of(a).Keys[key], h.id)
		}
	}
	return nil
}

// tryNeeds is what the rows look up to be decided about, and not what only a write needs.
func (r *ImportRun) tryNeeds(u *importUnit) store.Needs {
	n := r.needs(u)
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
			return r.store.Consider(ctx, r.account, r.tryNeeds(u), func(t *store.Tx, a *store.Account) (err error) {
				outcomes, err = r.try(t, a, u)
				return err
			})
		})
	})
	if err != nil {
		return nil, false, err
	}
	r.trial.endUnit()
	for i := range outcomes {
		out := &outcomes[i]
		r.trial.counts.count(out.Outcome, out.OtherName, len(out.LeftOut))
		r.trial.counts.Contacts += contacts.Flag(outcomes[i].NewContact)
		r.trial.counts.Anonymous += contacts.Flag(outcomes[i].anonymous)
		r.trial.told.add(outcomes[i].currency, outcomes[i].counted)
	}
	return outcomes, u.End, nil
}

// try decides about the rows of a unit. It runs again where the connection is lost.
func (r *ImportRun) try(t *store.Tx, a *store.Account, u *importUnit) (outcomes []TrialRow, err error) {
	outcomes = make([]TrialRow, len(u.Rows))
	r.trial.beginUnit()
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
	rule, n := r.spec.rule(), row.contact
	if n != nil {
		if err := r.trial.place(t, a, n.MatchKeys, n.In.PersonName()); err != nil {
			return err
		}
	}
	var after crm.Contact
	im, err := importContact(t, a, row, rule, func(n *contacts.NewContact, p contacts.Plan) (made contacts.Document, err error) {
		made, after, err = considerContact(n, p, rule, r.store.Now())
		return made, err
	})
	out.take(row, &im)
	switch {
	case err != nil || im.outcome == RowRejected || im.outcome == RowSkipped:
	case im.outcome == RowCreated:
		r.trial.give(r.trial.newID(row.Line), n.In.PersonName(), im.Row.MatchKeys...)
	default:
		if im.outcome == RowMerged && out.Contact != 0 {
			before := &im.Into.Contact
			out.Changes = append(crm.Changes(*before, after), r.fields.Load().Told(custom.Differences(before.Custom, after.Custom))...)
		}
		r.trial.give(im.Into.ID, im.Into.Contact.PersonName(), im.Row.MatchKeys...)
	}
	return err
}

// considerContact is what an import would do.
func considerContact(n *contacts.NewContact, p contacts.Plan, rule crm.ImportRule, now time.Time) (made contacts.Document, after crm.Contact, err error) {
	switch {
	case p.Into == nil:
		return contacts.Document{Created: true}, after, nil
	case p.Leave:
		return contacts.Document{ID: p.Into.ID, Body: p.Into.Body, Before: p.Into.Body}, after, nil
	}
	after, err = rule.Merge(p.Into.Contact, n.In, now)
	return contacts.Document{ID: p.Into.ID, Body: after.AppendBody(nil), Before: p.Into.Body}, after, err
}

// take notes what became of a row, or would, and which contact it is about.
func (row *TrialRow) take(from *ImportRow, im *imported) {
	row.Outcome, row.Reason, row.LeftOut, row.OtherName = im.outcome, im.reason, from.left, im.OtherOf != nil
	if im.dropsName(from) {
		row.LeftOut = append(slices.Clip(from.left), crm.LeftOut{Column: "Name", Value: from.contact.In.PersonName().String(), Reason: "is not the name of " + im.Into.Contact.PersonName().String() + ", who has the external ID of the row"})
	}
	for _, id := range im.Taken {
		row.LeftOut = append(slices.Clip(row.LeftOut), crm.LeftOut{Column: from.contact.In.IDColumn(), Value: id.Value, Reason: "is the ID of " + im.HasTaken.Contact.PersonName().String()})
	}
	if from.contact != nil && (row.OtherName || len(row.LeftOut) > 0) {
		row.FileName = from.contact.In.PersonName().String() // an erasure finds the row by it
	}
	if about := cmp.Or(im.OtherOf, im.Into); about != nil {
		row.meets(&from.contact.In, about)
	}
}

// meets notes the contact that a row is about, and by what it was found.
func (row *TrialRow) meets(in *crm.ContactInput, about *contacts.Stored) {
	if row.Row = madeBy(about.ID); row.Row == 0 {
		row.Contact = about.ID
	}
	if row.OtherName || row.Row == 0 {
		row.Name = about.Contact.PersonName().String()
	}
	emails, phones := in.Shared(about.Contact)
	switch {
	case in.SharesID(about.Contact), in.ID == 0 && len(emails)+len(phones) == 0:
		row.By = byExternalID
	case len(emails) > 0:
		row.By = emails
	case len(phones) > 0:
		row.By = phones
	default:
		row.By = []string{"its contact ID"}
	}
}

// byExternalID is how a contact was found by an id of another system.
var byExternalID = []string{"its external ID"}

// Dry runs of files that were uploaded.
const (
	keptTrial     = 1000             // rows that are listed, of each kind that About tells
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
	listed := maps.Clone(r.trial.listed)
	told := slices.DeleteFunc(outcomes, func(out TrialRow) bool {
		about := out.About()
		listed[about]++
		return about == "" || listed[about] > keptTrial
	})
	if !end && len(told) == 0 && j.State == JobRunning && r.store.Now().Sub(j.UpdatedAt) < trialNotes {
		return nil
	}
	progress := r.trial.progress(cmp.Or(im.Progress.Total, r.Total), r.spec.Days)
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
		r.trial.listed = listed
		r.read = r.trial.counts.Rows
	}
	return err
}

// progress is what the dry run has found so far.
func (tr *trial) progress(total int64, days string) ImportProgress {
	return ImportProgress{ImportCounts: tr.counts, Total: total, Days: days, Counted: tr.told.Counted, Unknown: tr.told.Unknown}
}

// asTried is what a person is told when the dry run has ended.
func (p ImportProgress) asTried() ImportProgress {
	counts := p.ImportCounts
	return ImportProgress{Total: p.Total, Days: p.Days, Tried: &counts, Counted: p.Counted, Unknown: p.Unknown}
}

// TryFile says what would become of the rows of a file, and changes nothing.
func (s *JobStore) TryFile(ctx context.Context, account int64, rows *table.Reader, spec FileImport, each func(TrialRow) error, progress func(ImportCounts)) (ImportProgress, error) {
	spec.Header, spec.JSON = rows.Header(), rows.Format == JSONLines
	r := s.newTry(account, spec)
	if err := r.begin(ctx, rows); err != nil {
		return ImportProgress{}, err
	}
	defer r.Close()
	for end := false; !end; {
		var outcomes []TrialRow
		var err error
		if outcomes, end, err = r.tryStep(ctx); err != nil {
			return r.trial.progress(0, spec.Days), err
		}
		for _, out := range outcomes {
			if err := each(out); err != nil {
				return r.trial.progress(0, spec.Days), err
			}
		}
		progress(r.trial.counts)
	}
	return r.trial.progress(0, spec.Days), nil
}

// What a person has to know about rows.
const (
	AboutOtherName = "other name"
	AboutLeftOut   = "left out"
)
