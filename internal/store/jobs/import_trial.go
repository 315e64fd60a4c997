package jobs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/table"
)

// A dry run is the import itself, decided on a snapshot and dropped: it writes nothing, and no one waits for it. What
// its units of work would have left, the next ones find in its memory (import_memory.go).

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

	// the row has the email or phone of the contact, and another name
	OtherName  bool          `json:"other_name,omitempty"`
	FileName   string        `json:"file_name,omitempty"`   // the name that the row has
	NewContact bool          `json:"new_contact,omitempty"` // a gift makes one
	Changes    []doc.Change  `json:"changes,omitempty"`     // what a merge would change in the contact
	LeftOut    []crm.LeftOut `json:"left_out,omitempty"`    // cells that no contact can have
	ReadAs     []crm.LeftOut `json:"read_as,omitempty"`     // cells of a new contact that were understood by a rule

	about     int64 // the contact that has come of it
	currency  string
	counted   int64 // what a gift would add to all sums
	anonymous int64 // gifts that no one is named for
	waits     bool  // it is a refund that waits for its gift
	unusual   bool  // the name of a new contact is in capitals, or has none

	newContacts, matches int64 // that gifts make; gifts of companies that come with the row
	marked               int64 // contacts who must not be reached in a way that was open before
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
	u, err := r.take()
	if err == nil {
		err = r.findCampaigns(ctx, u, nil)
	}
	if err != nil {
		return nil, false, err
	}
	err = r.deciding(ctx, u, func() error {
		return r.store.Heavy.Again(ctx, r.account, func() error {
			return r.store.Consider(ctx, r.account, r.tryNeeds(u), func(unit store.Unit) (err error) {
				outcomes, err = r.try(unit, u)
				return err
			})
		})
	})
	if err != nil {
		return nil, false, err
	}
	for i := range outcomes {
		r.trial.counts.count(&outcomes[i])
		r.trial.told.add(outcomes[i].currency, outcomes[i].counted)
	}
	return outcomes, u.End, nil
}

// try decides about the rows of a unit. It runs again where the connection is lost.
func (r *ImportRun) try(unit store.Unit, u *importUnit) (outcomes []TrialRow, err error) {
	outcomes = make([]TrialRow, len(u.Rows))
	if r.trial.beginUnit(unit.Account); r.trial.counts.Rows == 0 {
		r.trial.before = unit.ContactSeq
	}
	now := r.store.Now()
	for i := range u.Rows {
		row := u.Rows[i].fresh()
		if row.Gift != nil {
			for _, value := range row.Gift.Unknown {
				r.trial.explain(value)
			}
		}
		if err := r.trial.meet(unit.Account, row); err != nil {
			return nil, err
		}
		unit.Pretend(row.Line)
		out, err := r.decide(unit, row, r.trial.before, now)
		if err != nil {
			return nil, err
		}
		if out.Outcome == RowRejected {
			rejected := row.Rejected(out.Reason)
			out.Cells, out.Object = rejected.Cells, rejected.Object
		}
		outcomes[i] = out
	}
	return outcomes, r.trial.keepUnit(unit)
}

// tellGift notes which gift a row is about that is known.
func (row *TrialRow) tellGift(made *store.GiftDocument) {
	if row.Outcome != RowUnchanged && row.Outcome != RowMerged {
		return
	}
	if store.MadeBy(made.ID) == 0 {
		row.Gift = made.Code
	}
	if row.Name = made.Giver.Name(); store.MadeBy(made.Contact) == 0 {
		row.Contact = made.Contact
	}
}

// take notes what became of a row, or would, and which contact it is about.
func (row *TrialRow) take(from *ImportRow, im *imported) {
	row.Outcome, row.Reason, row.LeftOut, row.OtherName = im.outcome, im.reason, from.left, im.OtherOf != nil
	if from.contact != nil && im.outcome == RowCreated {
		row.ReadAs, row.unusual = from.contact.In.ReadAs, from.contact.In.Unusual
	}
	if im.dropsName(from) {
		row.LeftOut = append(slices.Clip(from.left), crm.LeftOut{Column: "Name",
			Value: from.contact.In.PersonName().String(), Reason: "is not the name of " +
				im.Into.Contact.PersonName().String() + ", who has the external ID of the row"})
	}
	for _, id := range im.Taken {
		row.LeftOut = append(slices.Clip(row.LeftOut), crm.LeftOut{Column: from.contact.In.IDColumn(), Value: id.Value,
			Reason: "is the ID of " + im.HasTaken.Contact.PersonName().String()})
	}
	if from.contact != nil && (row.OtherName || len(row.LeftOut)+len(row.ReadAs) > 0) {
		row.FileName = from.contact.In.PersonName().String() // an erasure finds the row by it
	}
	if about := cmp.Or(im.OtherOf, im.Into); about != nil {
		row.meets(&from.contact.In, about)
	}
}

// meets notes the contact that a row is about, and by what it was found.
func (row *TrialRow) meets(in *crm.ContactInput, about *store.StoredContact) {
	if row.Row = store.MadeBy(about.ID); row.Row == 0 {
		row.Contact = about.ID
	}
	if row.OtherName || row.Row == 0 {
		row.Name = about.Contact.PersonName().String()
	}
	emails, phones := in.Shared(about.Contact)
	switch {
	case len(in.MatchKeys()) == 0 && in.ID == 0:
		row.By = []string{"its name and address"}
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

// triedElsewhere tells whether another node has a dry run under way. What it knows is in its memory, so that it cannot
// be joined.
func (im *Import) triedElsewhere(now time.Time) bool {
	return im.Spec.Trial && im.State == JobRunning && now.Sub(im.UpdatedAt) < trialDeserted
}

// tryJob tries some more rows of a job, and lists what a person has to know of. Nothing of that is queued with what
// others write but a note now and then.
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
	err = r.store.Advance(ctx, j, store.Needs{}, func(u store.Unit, next *Job) error {
		for i := range told {
			NoteRow(u.Tx, next, JobRow{Number: told[i].Line, Outcome: told[i].Outcome, Contact: told[i].Contact,
				Data: JSONOf(told[i])})
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
	return ImportProgress{ImportCounts: tr.counts, Total: total, Days: days, Counted: tr.told.Counted,
		Unknown: tr.told.Unknown}
}

// asTried is what a person is told when the dry run has ended.
func (p ImportProgress) asTried() ImportProgress {
	counts := p.ImportCounts
	return ImportProgress{Total: p.Total, Days: p.Days, Tried: &counts, Counted: p.Counted, Unknown: p.Unknown}
}

// TryFile says what would become of the rows of a file, and changes nothing.
func (s *JobStore) TryFile(ctx context.Context, account int64, rows *table.Reader, spec FileImport,
	each func(TrialRow) error, progress func(ImportCounts),
) (ImportProgress, error) {
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
	AboutReadAs    = "read as"
)
