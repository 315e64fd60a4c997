package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store"
	"donorbook/internal/table"
)

// Survey is what all rows of a file tell together.
type Survey struct {
	Total   int64      // rows
	Days    string     // how the columns write days, as sheet.Rows.Days takes it
	Samples [][]string // the first values of each column, which differ
	Look    *sheet.Look
}

// sampleValues is how many values of a column a survey keeps.
const sampleValues = 3

// SurveyRows reads a whole file, so that one that is broken is refused before anything is imported.
func SurveyRows(ctx context.Context, rows *table.Reader) (s Survey, err error) {
	columns := len(rows.Header())
	days, samples := sheet.NewDays(columns), make([][]string, columns)
	s.Look = sheet.NewLook(columns)
	for ; err == nil; s.Total++ {
		if err = ctx.Err(); err != nil {
			break
		}
		var cells []string
		if cells, _, err = rows.Next(); errors.As(err, new(*table.RowError)) {
			err = nil
			continue
		}
		s.Look.See(cells)
		for i, cell := range cells {
			if cell = strings.TrimSpace(cell); cell == "" {
				continue
			}
			days.See(i, cell)
			if len(samples[i]) < sampleValues && !slices.Contains(samples[i], cell) {
				samples[i] = append(samples[i], cell)
			}
		}
	}
	if s.Total, s.Days, s.Samples = s.Total-1, days.String(), samples; errors.Is(err, io.EOF) {
		err = nil
	}
	return s, err
}

// The outcomes of rows.
const (
	RowCreated   = "created"
	RowMerged    = "merged"
	RowUnchanged = "unchanged"
	RowRejected  = "rejected"
	RowSkipped   = "skipped"
)

// imported is what became of a row of contacts.
type imported struct {
	store.ContactDocument
	store.Plan
	outcome, reason string
}

// dropsName tells that a row was merged by its external id into a contact with another name, which stays.
func (im *imported) dropsName(from *ImportRow) bool {
	return im.Into != nil && !im.Leave && im.OtherOf == nil &&
		from.contact.In.PersonName().Contradicts(im.Into.Contact.PersonName())
}

// meetContact tells a row which contact files before from the same source have had for its name and address.
func (r *ImportRun) meetContact(u store.Unit, row *ImportRow, before int64) (err error) {
	if row.contact != nil && r.spec.rule().Existing != crm.Force {
		row.contact.Same, err = r.knownBefore(u, &row.contact.In, before)
	}
	return err
}

// decide does with a row what the import does, or would do in a unit of work that is only considered. before is how
// many contacts there were when the import began.
func (r *ImportRun) decide(u store.Unit, row *ImportRow, before int64, now time.Time) (out TrialRow, err error) {
	if out = (TrialRow{Line: row.Line, Of: r.spec.Of}); row.Gift == nil {
		return out, r.decideContact(u, row, &out, before, now)
	}
	if err := r.meet(u, row, before); err != nil {
		return out, err
	}
	var made store.GiftDocument
	out.Outcome, made, out.Reason, err = r.importGift(u, row, now)
	r.givers.give(made.Contact, crm.PersonName{}, row.Gift.giverKeys()...)
	out.takeGiver(row.Gift, &made)
	if out.about, out.currency, out.counted = made.Contact, made.Currency, made.Counted; r.trial != nil {
		out.tellGift(&made)
	}
	if row.match == nil || err != nil || out.Outcome == RowRejected || out.Outcome == RowSkipped {
		return out, err
	}
	match, err := r.decide(u, row.match, before, now)
	out.join(&match)
	return out, err
}

// join adds what became of the gift of a company that comes with the row.
func (row *TrialRow) join(match *TrialRow) {
	row.matches, row.newContacts, row.counted = store.Flag(match.Outcome == RowCreated),
		row.newContacts+match.newContacts, row.counted+match.counted
	if row.anonymous, row.LeftOut = row.anonymous+match.anonymous,
		append(row.LeftOut, match.LeftOut...); match.Outcome == RowRejected {
		row.LeftOut = append(row.LeftOut, crm.LeftOut{Column: "Match", Reason: "was not recorded: " + match.Reason})
	}
}

func (r *ImportRun) decideContact(u store.Unit, row *ImportRow, out *TrialRow, before int64, now time.Time) error {
	if err := r.meetContact(u, row, before); err != nil {
		return err
	}
	im, err := importContact(u, row, r.spec.rule(), now)
	if out.take(row, &im); im.outcome == RowCreated || im.outcome == RowMerged {
		before, after := new(crm.Contact), u.Contacts[im.ID]
		if im.Into != nil {
			before = &im.Into.Contact
		}
		out.marked = store.Flag(after != nil && after.Contact.IsKeptFrom(before))
	}
	if out.about = im.ID; r.trial != nil && im.outcome == RowMerged && out.Contact != 0 {
		before, after := &im.Into.Contact, &u.Contacts[im.Into.ID].Contact
		out.Changes = append(crm.Changes(*before, *after),
			r.fields.Load().Told(custom.Differences(before.Custom, after.Custom))...)
	}
	return err
}

// importContact decides about a row, and does what was decided.
func importContact(u store.Unit, row *ImportRow, rule crm.ImportRule, now time.Time) (im imported, err error) {
	if row.contact == nil {
		return imported{outcome: map[bool]string{false: RowRejected, true: RowSkipped}[row.isRemark],
			reason: row.Reason}, nil
	}
	if im.Plan, err = store.PlanImport(u.Tx, u.Number, row.contact, rule); err == nil {
		im.ContactDocument, err = store.ImportContact(u.Tx, u.Number, im.Row, im.Plan, rule, now)
	}
	err = row.contact.In.CallID(err)
	switch {
	case err != nil:
		if im.outcome, im.reason = RowRejected, ReasonOf(err); im.reason != "" {
			err = nil
		}
	case im.Created:
		im.outcome = RowCreated
	case im.OtherOf != nil && im.Leave:
		im.outcome = RowSkipped
	case bytes.Equal(im.Body, im.Before):
		im.outcome = RowUnchanged
	default:
		im.outcome = RowMerged
	}
	return im, err
}

// count notes what became of a row.
func (r *ImportCounts) count(out *TrialRow) {
	r.Rows++
	r.OtherName += store.Flag(out.OtherName)
	r.LeftOut += int64(len(out.LeftOut))
	r.Contacts += out.newContacts
	r.Matches += out.matches
	r.Marked += out.marked
	r.Waiting += store.Flag(out.waits)
	r.Anonymous += out.anonymous
	r.Capitals += store.Flag(out.unusual)
	switch out.Outcome {
	case RowCreated:
		r.Created++
	case RowMerged:
		r.Merged++
	case RowUnchanged:
		r.Unchanged++
	case RowRejected:
		r.Rejected++
	case RowSkipped:
		r.Skipped++
	}
}

// About is what a person has to know of the row: its outcome, or what else it is about; "" for nothing.
func (row *TrialRow) About() string {
	switch {
	case row.Outcome == RowRejected:
		return RowRejected
	case row.Outcome == RowSkipped && row.Reason != "":
		return RowSkipped
	case row.OtherName:
		return AboutOtherName
	case len(row.LeftOut) > 0:
		return AboutLeftOut
	case len(row.ReadAs) > 0:
		return AboutReadAs
	case row.Outcome == RowMerged, row.Outcome == RowUnchanged && row.Of == ImportGifts:
		return row.Outcome
	}
	return ""
}

// Told tells whether a person has to know of the row.
func (row *TrialRow) Told() bool { return row.About() != "" }

// who is the contact that the row is about.
func (row *TrialRow) who() string {
	switch {
	case row.Contact != 0:
		return fmt.Sprintf("%s, contact %d", row.Name, row.Contact)
	case row.Name != "":
		return fmt.Sprintf("%s, the new contact of row %d", row.Name, row.Row)
	}
	return fmt.Sprintf("the new contact of row %d", row.Row)
}

// InWords says what would become of the row.
func (row *TrialRow) InWords() string { return row.outcomeInWords() + row.DetailsInWords() }

// DetailsInWords lists what the row changes in a contact, and the cells that are left out.
func (row *TrialRow) DetailsInWords() (said string) {
	for _, c := range row.Changes {
		said += " " + changeInWords(c)
	}
	for _, read := range row.ReadAs {
		said += fmt.Sprintf(" %s %q %s.", read.Column, giving.Clip(read.Value, store.KeptText), read.Reason)
	}
	return said + row.LeftOutInWords()
}

// LeftOutInWords lists the cells that are left out.
func (row *TrialRow) LeftOutInWords() (said string) {
	for _, left := range row.LeftOut {
		said += fmt.Sprintf(" Left out: %s %q %s.", left.Column, giving.Clip(left.Value, store.KeptText),
			strings.TrimSuffix(left.Reason, "."))
	}
	return said
}

// changeInWords says what a change does to a field.
func changeInWords(c doc.Change) string {
	switch {
	case c.Before == "":
		return fmt.Sprintf("%s: %s.", c.Field, c.After)
	case c.After == "":
		return fmt.Sprintf("%s: %s.", c.Field, c.Before)
	}
	return fmt.Sprintf("%s: %s instead of %s.", c.Field, c.After, c.Before)
}

func (row *TrialRow) outcomeInWords() string {
	by := strings.Join(row.By, " and ")
	switch {
	case row.Outcome == RowRejected:
		return "would be rejected: " + row.Reason
	case row.Outcome == RowSkipped && row.Reason != "":
		return "would be skipped: " + row.Reason
	case row.OtherName && slices.Equal(row.By, byExternalID):
		return fmt.Sprintf("%s has the external ID of %s: %s", row.FileName, row.who(), row.KeptApart())
	case row.OtherName:
		return fmt.Sprintf("%s shares %s with %s: %s", row.FileName, by, row.who(), row.KeptApart())
	case row.Outcome == RowCreated && row.Of == ImportGifts:
		return "would be recorded."
	case row.Outcome == RowCreated:
		return "would be a new contact."
	case row.Of == ImportGifts && row.Outcome == RowMerged && row.Gift == "":
		return "would update the gift of an earlier row."
	case row.Of == ImportGifts && row.Outcome == RowMerged:
		return fmt.Sprintf("would update gift %s of %s.", row.Gift, giving.Clip(row.Name, store.KeptText))
	case row.Of == ImportGifts && row.Gift == "":
		return "is the same gift as an earlier row."
	case row.Of == ImportGifts:
		return fmt.Sprintf("is already recorded: gift %s from %s.", row.Gift, giving.Clip(row.Name, store.KeptText))
	case row.Outcome == RowMerged:
		return fmt.Sprintf("would be merged into %s, by %s.", row.who(), by)
	}
	return fmt.Sprintf("says nothing new about %s.", row.who())
}

// KeptApart says what becomes of a row that shares something with a contact of another name.
func (row *TrialRow) KeptApart() string {
	switch {
	case row.Outcome == RowSkipped:
		return "skipped."
	case row.Of == ImportGifts && row.NewContact:
		return "recorded for a new contact."
	case row.Of == ImportGifts:
		return "recorded for that contact."
	case row.Outcome == RowCreated:
		return "a new contact."
	case row.Outcome == RowUnchanged:
		return "merged into that contact, nothing is new."
	}
	return "merged into that contact."
}

// Tried is what the row of a job says about a row of a file.
func (row *JobRow) Tried() (tried TrialRow, err error) {
	err = json.Unmarshal(row.Data, &tried)
	tried.Line, tried.Outcome = row.Number, row.Outcome
	return tried, err
}
