package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"donorbook/internal/crm/sheet"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/jobs"
	"donorbook/internal/table"
)

type contactImport struct {
	fileImport
	ForceCreate  bool   `help:"Add a new contact for every row, even if one with the same email or phone exists." name:"force-create" xor:"existing"`
	SkipExisting bool   `help:"Do not change existing contacts." name:"skip-existing" xor:"existing"`
	OtherName    string `help:"What to do with a row that has the email or phone of a contact with a different name: keep both, merge the row into that contact, or skip the row." name:"other-name" enum:"keep,merge,skip" default:"keep"`
	FileIsRight  bool   `help:"Overwrite existing values with those in the file. Otherwise a merge only fills in what is empty." name:"file-is-right"`
	Unknown      string `help:"What to do with columns that are not recognized: skip them, or turn each into a custom field." name:"unknown-columns" enum:"skip,custom" default:"skip"`
	Changes      string `help:"With --dry-run: file to list every change to existing contacts in, field by field." placeholder:"FILE"`
	Again        bool   `help:"Import the file even if it was imported before."`
	JSON         bool   `help:"Print a JSON object with rows, created, merged, unchanged and rejected." name:"json"`
}

func (contactImport) Help() string {
	return `The row that names the columns is found; --header-row names it where a file is unusual. Columns are recognized by the words of their headings, in English, German, French and Spanish, and by their values; the API's field names (emails.0.value) are recognized, too. Columns that are not imported are named, with what they may be. Encoding and separator are detected. Each row of a JSON Lines file is an object with the fields of POST /v1/contacts.

	donorbook contact import --account ID people.xlsx --dry-run
	donorbook contact import --account ID people.csv --rejected rejected.csv
	donorbook contact import --account ID people.csv --map "Second name=middle_name,Shoe size=new:text,Remarks=skip"

--map matches columns to fields: a field such as first_name, last_name, full_name (both in one column), company, dob, note, tags, emails.0.value, phones.0.value or addresses.0.city; skip, to ignore the column; custom.3, for the custom field with that ID; or new:text (or long_text, number, date, boolean), to create a custom field named after the column. The mapping is remembered for the next file with the same columns.

A row with the email or phone of a contact with the same name is merged into that contact: it fills in what is empty and adds emails, phones, addresses and tags. With --file-is-right, it also overwrites values that differ. A row with a contact's external ID belongs to that contact, unless the name differs and neither email nor phone matches. A row without an email, a phone and an ID belongs to the contact with exactly its name and address, if an import from the same source created that contact. With --skip-existing, such a row changes nothing; with --force-create, it creates a new contact.

--source names the system that the IDs in the file come from, for contacts and gifts alike, because two systems may use the same number for two people. Files of some systems are recognized by their columns. The source is remembered with the columns.

An import never renames a person. A row with the email or phone of a contact with a different name, such as a spouse or a colleague, becomes a separate contact. So does a row that shares only an external ID with one; it does not get that ID. With --other-name merge, the row is merged into that contact, which keeps its name, unless one is a company and the other a person. With --other-name skip, the row is skipped. Names are compared without case and accents; an initial matches a name if the email is the same, and a middle name may be missing.

A value that a contact cannot have, such as a phone number with letters, is left out and listed, and the rest of the row is imported. A person without a first or last name is imported if there is an email, a phone, an ID or an address. A row without enough information is rejected, and the import continues: fix it in the file that --rejected writes (.csv, .jsonl or .xlsx), then import that file. Rows are numbered as in a spreadsheet: the header is row 1.

Columns that are not recognized are not imported unless --map says what they mean. With --unknown-columns custom, each of them becomes a custom field.

To resume an interrupted import, run it again with the same file and options; no row is imported twice. A file that was fully imported is not imported again without --again. To undo an import, use "donorbook import undo", or open it in the console under Contacts, Imports.

A dry run lists rows that would be merged, with each change; rows that share an email or phone with a different name; values that would be left out; and rows that would be rejected. It lists up to 1,000 rows of each kind and counts all of them. --changes writes every change to a CSV file. Its numbers are those of the import, unless other people change something in the meantime.

Exit codes: 0 all rows imported; 1 rows were rejected, or the import failed; 2 wrong usage; 3 file or mapping refused, nothing imported; 4 no such account or file.`
}

func (c *contactImport) mode() jobs.ImportMode {
	switch {
	case c.ForceCreate:
		return jobs.ForceCreate
	case c.SkipExisting:
		return jobs.SkipExisting
	}
	return jobs.MergeExisting
}

func (c *contactImport) Run(t *terminal) error {
	return c.run(t, importKind{
		spec: jobs.FileImport{Mode: c.mode(), OtherName: jobs.ImportMode(c.OtherName), FileIsRight: c.FileIsRight},
		noun: "contacts", done: "imported", example: "full_name", custom: c.Unknown == "custom", again: c.Again, json: c.JSON, summary: c.summary,
		listed: maxDetails, lists: (*jobs.TrialRow).Told, changes: c.Changes,
		result: func(r jobs.ImportProgress, details []jobs.TrialRow) any {
			if c.DryRun {
				return tried{r.ImportCounts, details}
			}
			return r.ImportCounts
		},
		tell: func(details []jobs.TrialRow, _ jobs.ImportProgress) {
			if c.JSON {
				return // it has them
			}
			for _, row := range details {
				fmt.Fprintf(t.stdout, "Row %d: %s\n", row.Line, oneLine(row.InWords()))
			}
		},
	})
}

func (c *contactImport) summary(r jobs.ImportProgress) string {
	counts, more := "Rows: %d. %d created, %d merged, %d unchanged, %d rejected.", ""
	if c.DryRun {
		counts, more = "Rows: %d. %d would be new, %d merged, %d unchanged, %d rejected.", " Nothing was changed."
	}
	said := fmt.Sprintf(counts, r.Rows, r.Created, r.Merged, r.Unchanged, r.Rejected)
	return said + notedSaid(r, "email or phone", otherNameSaid[c.OtherName]) + more
}

// otherNameSaid are what becomes of rows that have the email or phone of a contact with another name.
var otherNameSaid = map[string]string{"keep": "kept separate", "merge": "merged into it", "skip": "skipped"}

// notedSaid says how many rows share something with a contact of another name, what becomes of them, and how many values are left out.
func notedSaid(r jobs.ImportProgress, shared, fate string) (said string) {
	if r.OtherName > 0 {
		said = fmt.Sprintf(" %d %s the %s of a contact with a different name: %s.", r.OtherName, plural(r.OtherName, "row has", "rows have"), shared, fate)
	}
	if r.Anonymous > 0 {
		said += fmt.Sprintf(" %d %s no donor: recorded for the anonymous donor.", r.Anonymous, plural(r.Anonymous, "row names", "rows name"))
	}
	if r.Matches > 0 {
		said += fmt.Sprintf(" %d matching %s recorded for companies.", r.Matches, plural(r.Matches, "gift", "gifts"))
	}
	if r.LeftOut > 0 {
		said += fmt.Sprintf(" %d %s left out.", r.LeftOut, plural(r.LeftOut, "value was", "values were"))
	}
	if r.Waiting > 0 {
		said += fmt.Sprintf(" %d %s for a gift that is not known: recorded, but nothing counts.", r.Waiting, plural(r.Waiting, "refund waits", "refunds wait"))
	}
	if r.Skipped > 0 {
		said += fmt.Sprintf(" %d %s skipped.", r.Skipped, plural(r.Skipped, "row was", "rows were"))
	}
	if r.Marked > 0 {
		said += fmt.Sprintf(" %d %s a contact not to be mailed, emailed or called.", r.Marked, plural(r.Marked, "row marks", "rows mark"))
	}
	if r.Capitals > 0 {
		said += fmt.Sprintf(" %d %s in capitals or small letters only: --usual-names writes them in the usual form.", r.Capitals, plural(r.Capitals, "name is", "names are"))
	}
	return said
}

// tried is what a dry run prints as JSON.
type tried struct {
	jobs.ImportCounts
	Details []jobs.TrialRow `json:"details"` // of rows that would be merged or rejected, up to a limit
}

// maxDetails is how many rows a dry run lists of each kind: merged, with another name, with something left out, rejected.
const maxDetails = 1000

// changesFile is the table of what a dry run would change.
type changesFile struct {
	file  *newFile // nil where no one asked for it
	table table.Writer
	err   error
}

// openChanges begins the table; name is "" where no one asked for it.
func openChanges(name string, force bool) (f changesFile, err error) {
	if name == "" {
		return f, nil
	}
	if f.file, err = createFile(name, force); err != nil {
		return f, err
	}
	if f.table, err = table.NewWriter(f.file, "csv"); err == nil {
		err = f.table.Header([]string{"Row", "Contact ID", "Name", "Field", "Before", "After"})
	}
	if err != nil {
		return f, f.file.finish(err)
	}
	return f, nil
}

func (f *changesFile) add(row *jobs.TrialRow) {
	for _, change := range row.Changes {
		if f.file != nil && f.err == nil {
			f.err = f.table.Row([]any{row.Line, row.Contact, row.Name, change.Field, change.Before, change.After})
		}
	}
}

func (f *changesFile) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.finish(errors.Join(f.err, f.table.Close()))
}

type giftImport struct {
	fileImport
	Campaigns   string `help:"What to do about campaigns, funds and appeals that do not exist: create them as drafts, or leave the gift without one." name:"campaigns" enum:"create,leave" default:"create"`
	MatchByName bool   `help:"If no contact has the ID, email or phone of a row, use the only contact with the same name and the same street or ZIP code." name:"match-by-name"`
	OtherName   string `help:"What to do with a row that has the ID, email or phone of a contact with a different name: keep (record the gift for a new contact), merge (record it for that contact) or skip the row." name:"other-name" enum:"keep,merge,skip" default:"keep"`
	Thanks      bool   `help:"New gifts of the last 90 days wait for thanks, like gifts that were typed."`
	JSON        bool   `help:"Print a JSON object with rows, recorded, updated, known, rejected, skipped, other_name, new_contacts, marked and counted." name:"json"`
}

func (giftImport) Help() string {
	return `The row that names the columns is found; --header-row names it where a file is unusual. Columns are recognized by the words of their headings, in English, German, French and Spanish, and by their values; the API's field names are recognized, too. Amount and date are required. contact_id, contact_external_id, email, phone, first_name, last_name, full_name, company, contact_type and an address say who gave. Optional: campaign (ID, slug or title) or campaign_id, plan_id, currency, status, method (other if missing), fee, fee_covered, note, check_number and external_id; also net, refunded, refunded_at, refund_of (the external ID of the gift that a row below 0 refunds), type (gift, pledge, payment or refund), pledge, plan and frequency (of a recurring gift in another system), soft_credit, in_honor_of, in_memory_of and test. Each row of a JSON Lines file is an object with the fields of POST /v1/transactions, or with campaign instead of campaign_id.

	donorbook gift import --account ID gifts.csv --dry-run
	donorbook gift import --account ID gifts.csv --rejected rejected.csv
	donorbook gift import --account ID gifts.csv --map "Given=amount,On=transacted_at,Remarks=skip"

--map matches columns to these fields, or to skip, to ignore a column. It can also say what a value means, after a colon: --map "Paid by:Bitcoin=other". The mapping is remembered for the next file with the same columns. --source names the system that the contact IDs come from, as in "contact import".

Only money that was received and kept counts. Pledges are pending; refunded and disputed money is a refund in the gift's ledger; failed, canceled and test payments do not count. The summary says how much the file adds. If a row says that a known gift has since been paid, refunded or failed, the gift is updated. If a later file says that a dispute was won, the refund is undone. Refunds are recorded after all gifts in the file, and payments of pledges after all pledges.

A campaign, fund or appeal that does not exist is created as a draft, up to 100 of them. With --campaigns leave, such gifts have no campaign.

The donor is the contact with contact_id, or with that ID in another system (contact_external_id, such as Account Number, Constituent ID or Donor ID), or with the email, or with the phone. If there is none, a new contact gets the name and that ID. With --match-by-name, the donor can also be the only contact with the same name and the same street or ZIP code. Rows that have only a name make one contact per name and street or ZIP code; with exactly the same name and address, later files from the same source find that contact. A gift never renames a contact. A row with the ID, email or phone of a contact with a different name is a gift from a separate contact, which later rows find; with --other-name merge, it goes to the existing contact; with --other-name skip, the row is skipped. If the ID and also the email or phone belong to one contact, the name does not matter, and a row without a name goes to the contact that it identifies. The dry run lists these rows. A row with a company and no person, or with a contact_type such as Organization, is a gift from a company.

A recurring gift goes to the contact of its plan, even if it comes with another email or only a name. If the names differ, it is recorded without the plan, and the row is listed.

Gifts of a file do not wait for thanks. With --thanks, new ones of the last 90 days do: the console lists them under "To thank", and so does "donorbook gift list --thanks waiting".

A row with an amount and a date is recorded. A value that a gift cannot have, such as a bad email, is left out and listed; an unknown method is "other", with its name in the note. A donor known only by an email, a phone or an ID is called by that until a name is known. A row that names no donor is a gift of the anonymous donor. Rows that say they are no gift (fees, payouts, withdrawals) are skipped. A row whose status or type has an unknown value is rejected until --map says what it means.

A bad row is rejected, and the import continues: fix it in the file that --rejected writes, then import that file. It is CSV, or .xlsx if its name ends that way; rows of JSON Lines stay JSON Lines.

To resume an interrupted import, run it again with the same file and options. A gift is recorded once per external_id, no matter how many files contain it. A row without one gets one made from everything it says, so the same row in another file is the same gift; two equal rows in one file are two gifts. To undo an import, use "donorbook import undo", or open it in the console under Gifts, Import: its gifts are canceled and no longer count, its changes to earlier gifts are undone, its recurring gifts end, and its new contacts are archived. Campaigns that it created are removed, unless other gifts are for them.

A dry run changes nothing. Its numbers are those of the import, unless other people change something in the meantime. It lists the campaigns that would be created, and asks once for each word of a status, type, method or frequency that is unknown.

Exit codes: 0 all rows recorded; 1 rows were rejected, or the import failed; 2 wrong usage; 3 file or mapping refused, nothing recorded; 4 no such account or file.`
}

// Run imports the file. Whether it was imported before does not matter: no gift is recorded twice.
func (c *giftImport) Run(t *terminal) error {
	spec := jobs.FileImport{Of: jobs.ImportGifts, MatchNames: c.MatchByName, Thanks: c.Thanks, OtherName: jobs.ImportMode(c.OtherName)}
	if c.Campaigns == "leave" {
		spec.Mode = jobs.LeaveCampaigns
	}
	return c.run(t, importKind{
		spec: spec, noun: "gifts", done: "recorded", example: "amount", again: true, json: c.JSON, summary: c.summary,
		listed: maxTold, lists: c.lists,
		result: func(r jobs.ImportProgress, _ []jobs.TrialRow) any {
			counted := map[string]json.Number{}
			for currency, amount := range r.Counted {
				counted[currency] = json.Number(text.MoneyInput(amount, currency))
			}
			return giftResult{r.Rows, r.Created, r.Merged, r.Unchanged, r.Rejected, r.Skipped, r.OtherName, r.Contacts, r.Marked, counted}
		},
		tell: func(details []jobs.TrialRow, r jobs.ImportProgress) { c.tell(t, details, r) },
	})
}

// lists tells whether a dry run lists a row.
func (c *giftImport) lists(row *jobs.TrialRow) bool {
	about := row.About()
	return about == jobs.RowRejected && c.Rejected == "" || about == jobs.RowSkipped || about == jobs.AboutOtherName || about == jobs.AboutLeftOut || about == jobs.AboutReadAs
}

// tell tells of rows that a dry run has listed.
func (c *giftImport) tell(t *terminal, details []jobs.TrialRow, r jobs.ImportProgress) {
	var first []jobs.TrialRow
	for _, row := range details {
		if row.Outcome == jobs.RowRejected {
			first = append(first, row)
		} else {
			fmt.Fprintf(t.stderr, "Row %d: %s\n", row.Line, oneLine(row.InWords()))
		}
	}
	t.tellRejected(first, r.Rejected)
	t.askUnknown(r.Unknown, c.Campaigns == "create")
}

// askUnknown tells once of each word that the file has and no one knows, and of the campaigns that do not exist.
func (t *terminal) askUnknown(all []sheet.UnknownValue, create bool) {
	var campaigns []string
	for _, unknown := range all {
		if meanings := sheet.Meanings(unknown.Target); meanings != nil {
			fmt.Fprintf(t.stderr, "%s\n", oneLine(fmt.Sprintf("What does %q mean in the column %s? Say it with --map \"%s:%s=MEANING\", where MEANING is one of %s.",
				unknown.Value, unknown.Column, unknown.Column, unknown.Value, strings.Join(meanings, ", "))))
			continue
		}
		campaigns = append(campaigns, unknown.Value)
	}
	what := map[bool]string{true: "Campaigns that would be created", false: "Campaigns that do not exist"}[create]
	if len(campaigns) > 0 {
		fmt.Fprintf(t.stderr, "%s: %s.\n", what, oneLine(strings.Join(campaigns, ", ")))
	}
}

// giftResult is what is printed as JSON.
type giftResult struct {
	Rows      int64                  `json:"rows"`
	Recorded  int64                  `json:"recorded"`
	Updated   int64                  `json:"updated"` // rows that have told what became of a gift, as refunds do
	Known     int64                  `json:"known"`   // recorded before, by their external ids
	Rejected  int64                  `json:"rejected"`
	Skipped   int64                  `json:"skipped,omitempty"`
	OtherName int64                  `json:"other_name,omitempty"` // rows with the id, email or phone of a contact of another name, whatever became of them
	Contacts  int64                  `json:"new_contacts"`
	Marked    int64                  `json:"marked,omitempty"` // rows that mark a contact who must not be mailed, emailed or called
	Counted   map[string]json.Number `json:"counted"`          // what the rows add to what was given, by currency
}

func (c *giftImport) summary(r jobs.ImportProgress) string {
	form, end := "Rows: %d. %d recorded, %s%d known before, %d rejected; %d new %s.", ""
	if c.DryRun {
		form, end = "Rows: %d. %d would be recorded, %s%d are known, %d would be rejected; %d new %s.", " Nothing was changed."
	}
	updated := ""
	if r.Merged > 0 {
		updated = fmt.Sprintf("%d updated, ", r.Merged)
	}
	said := fmt.Sprintf(form, r.Rows, r.Created, updated, r.Unchanged, r.Rejected, r.Contacts, plural(r.Contacts, "contact", "contacts"))
	said += notedSaid(r, "ID, email or phone", otherGiverSaid[c.OtherName])
	for _, currency := range slices.Sorted(maps.Keys(r.Counted)) {
		said += fmt.Sprintf(" Given: %s.", text.MoneyExact(r.Counted[currency], currency))
	}
	return said + end
}

// otherGiverSaid are what becomes of rows that have the id, email or phone of a contact with another name.
var otherGiverSaid = map[string]string{"keep": "recorded for separate contacts", "merge": "recorded for that contact", "skip": "skipped"}
