package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"donorbook/internal/crm/text"
	"donorbook/internal/store/jobs"
	"donorbook/internal/table"
)

type contactImport struct {
	fileImport
	ForceCreate  bool   `help:"Add a new contact for every row, even if one with the same email or phone exists." name:"force-create" xor:"existing"`
	SkipExisting bool   `help:"Leave contacts that exist as they are." name:"skip-existing" xor:"existing"`
	OtherName    string `help:"What to do with a row that has the email or phone of a contact with another name: keep both, merge the row into that contact, or skip the row." name:"other-name" enum:"keep,merge,skip" default:"keep"`
	FileIsRight  bool   `help:"Overwrite what a contact has with what the file says. Otherwise a merge only fills what is empty." name:"file-is-right"`
	Unknown      string `help:"What to do with columns that are not recognized: skip them, or make a custom field of each." name:"unknown-columns" enum:"skip,custom" default:"skip"`
	Changes      string `help:"With --dry-run: file for everything that would change in contacts that exist, field by field." placeholder:"FILE"`
	Again        bool   `help:"Import a file that was imported before."`
	JSON         bool   `help:"Print a JSON object with rows, created, merged, unchanged and rejected." name:"json"`
}

func (contactImport) Help() string {
	return `The first row of the file names its columns. Names that other systems export are recognized, in English, German and French, and so are the fields of the API (emails.0.value). The encoding and the separator are detected. A row of a JSON Lines file is an object with the fields of POST /v1/contacts.

	donorbook contact import --account ID people.xlsx --dry-run
	donorbook contact import --account ID people.csv --rejected rejected.csv
	donorbook contact import --account ID people.csv --map "Second name=middle_name,Shoe size=new:text,Remarks=skip"

--map says what a column means: a field such as first_name, last_name, full_name (both in one column), company, dob, note, tags, emails.0.value, phones.0.value, addresses.0.city; skip, which ignores the column; custom.3, the custom field with this id; or new:text (or long_text, number, date, boolean), which makes a custom field with the name of the column. It is remembered for the next file with the same columns.

A row that has an email or a phone of a contact with the same name is merged into this contact: it fills what is empty and adds emails, phones, addresses and tags. With --file-is-right it also overwrites what differs. A row with an external ID of a contact is about this contact, unless the name is another one and neither the email nor the phone is the same. With --skip-existing such a row changes nothing, with --force-create it makes a new contact.

--source names the system that gives the IDs in the file, for contacts and gifts alike: two systems may give one number to two people. The files of some systems are recognized by their columns. It is remembered with the columns.

An import never renames a person. A row that has an email or a phone of a contact with another name, such as a spouse or a colleague, becomes a contact of its own. So does a row that has nothing but the external ID of one, without that ID. With --other-name merge it is merged into that contact, which keeps its name, unless one of them is a company and the other a person; with --other-name skip it is left out. Names are the same without regard to case and accents; an initial stands for a name where the email is the same, and a middle name may be missing.

A value that no contact can have, such as N/A as a phone, is left out and listed, and the rest of the row is imported. A row without enough information is rejected, and the import goes on: fix it in the file of --rejected (.csv, .jsonl or .xlsx) and import that file. Rows are counted as a spreadsheet counts them: the header is row 1.

A column that is not recognized is not imported, unless --map says what it means. With --unknown-columns custom, each of them becomes a custom field.

An import that was interrupted continues when you start it again with the same file and options, and does nothing twice. A file that was imported completely is not imported again unless you say --again. To undo an import, open it in the console under Contacts, Imports.

A dry run lists what would be merged, with each change, what shares an email or a phone with another name, what would be left out and what would be rejected, 1,000 rows at most, and counts all. --changes writes every change to a CSV file. It knows the emails and phones of earlier rows, but not what else they would change, nor what others change in the meantime: a row that only repeats an earlier one counts as merged, and not as unchanged.

Exit codes: 0 every row is imported; 1 rows were rejected, or it failed; 2 wrong usage; 3 the file or the mapping is refused, and nothing was imported; 4 no such account or file.`
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
		tell: func(details []jobs.TrialRow, _ int64) {
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
var otherNameSaid = map[string]string{"keep": "kept apart", "merge": "merged into it", "skip": "skipped"}

// notedSaid says how many rows share something with a contact of another name, what becomes of them, and how many values are left out.
func notedSaid(r jobs.ImportProgress, shared, fate string) (said string) {
	if r.OtherName > 0 {
		said = fmt.Sprintf(" %d %s the %s of a contact with another name: %s.", r.OtherName, plural(r.OtherName, "row has", "rows have"), shared, fate)
	}
	if r.LeftOut > 0 {
		said += fmt.Sprintf(" %d %s left out.", r.LeftOut, plural(r.LeftOut, "value was", "values were"))
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
	CreateCampaigns bool   `help:"Create campaigns that rows name and that do not exist, as drafts." name:"create-campaigns"`
	MatchByName     bool   `help:"If no contact has the ID, the email or the phone of a row, take the one contact with the same name and the same street or ZIP code." name:"match-by-name"`
	OtherName       string `help:"What to do with a row that has the ID, the email or the phone of a contact with another name: keep them apart, as a gift of a new contact; merge, as a gift of that contact; or skip the row." name:"other-name" enum:"keep,merge,skip" default:"keep"`
	JSON            bool   `help:"Print a JSON object with rows, recorded, updated, known, rejected, skipped, other_name, new_contacts and counted." name:"json"`
}

func (giftImport) Help() string {
	return `The first row of a table (CSV or .xlsx) names its columns. Names that other systems export are recognized, in English, German and French, and so are the fields of the API. A column for the amount and one for the date are required; contact_id, contact_external_id, email, phone, first_name, last_name, full_name, company, contact_type and an address say who gave; campaign (id, slug or title) or campaign_id, plan_id, currency, status, method, fee, fee_covered, note, check_number and external_id may be there; so may net, refunded, refunded_at, refund_of (the external id of the gift that a row below 0 gives back), type (gift, pledge, payment, refund), pledge, plan and frequency (of a recurring plan elsewhere), soft_credit, in_honor_of, in_memory_of and test. Without a method, it is other. A row of a JSON Lines file is an object with the fields of POST /v1/transactions, or with campaign.

	donorbook gift import --account ID gifts.csv --dry-run
	donorbook gift import --account ID gifts.csv --rejected rejected.csv
	donorbook gift import --account ID gifts.csv --map "Given=amount,On=transacted_at,Remarks=skip"

--map says what a column means: one of these fields, or skip, which ignores the column; or what a value of a column means, behind a colon: --map "Paid by:Bitcoin=other". It is remembered for the next file with the same columns. --source names the system that gives the IDs of contacts, as in an import of contacts.

Only money that was received and kept counts: pledges are pending, refunded and disputed money is a refund in the ledger of its gift, and failed, canceled and test payments are not counted. The summary says how much the file adds. A gift that is known is changed by a row that says it was paid, refunded or has failed since. A dispute that a later file says was won is undone. Refunds are recorded after all gifts of the file, and payments of pledges after all pledges.

A row whose campaign, fund or appeal does not exist is rejected; --create-campaigns creates it instead, up to 100 of them.

The contact is the one with contact_id, or with the ID that another system has for it (contact_external_id, such as Account Number, Constituent ID or Donor ID), or with the email, or with the phone. If there is none, a new one gets the first and last name and that ID. With --match-by-name, it may be the only contact with the same name and the same street or ZIP code. Rows that have only a name make one contact for each name and street or ZIP code. A gift never renames a contact. A row with the ID, the email or the phone of a contact with another name is a gift of a contact of its own, which later rows find; with --other-name merge it is a gift of that contact, and with --other-name skip it is left out. If both the ID and the email or the phone are those of one contact, the name does not matter, and a row without a name goes to the contact that it names. The dry run lists these rows. A row with a company and no person, or with a contact_type such as Organization, is a gift of a company.

A recurring gift goes to the contact of its plan, also if it comes with another email or with a name alone. If the names differ, it is recorded without the plan, and the row is listed.

A bad row is rejected, and the import goes on: fix it in the file of --rejected and import that file. It is CSV, or .xlsx if its name says so; rows of JSON Lines stay JSON Lines.

An import that was interrupted continues when you start it again with the same file and options. A gift is recorded once, by its external_id, in whatever file it comes again. A row without one gets one from all that it says, so that the same row in another file is the same gift; two equal rows in one file are two gifts. To undo an import, open it in the console under Gifts, Import: its gifts are canceled and no longer count, what it has changed in earlier gifts is undone, its recurring plans end, and its new contacts are archived. Campaigns that it has created stay.

A dry run changes nothing. It knows the givers and external ids of earlier rows, but not what else they would change, nor what others change in the meantime: a row with the external_id of an earlier one counts as known, even if it says something else.

Exit codes: 0 every row is recorded; 1 rows were rejected, or it failed; 2 wrong usage; 3 the file or the mapping is refused, and nothing was recorded; 4 no such account or file.`
}

// Run imports the file. Whether it was imported before does not matter: no gift is recorded twice.
func (c *giftImport) Run(t *terminal) error {
	spec := jobs.FileImport{Of: jobs.ImportGifts, MatchNames: c.MatchByName, OtherName: jobs.ImportMode(c.OtherName)}
	if c.CreateCampaigns {
		spec.Mode = jobs.MakeCampaigns
	}
	return c.run(t, importKind{
		spec: spec, noun: "gifts", done: "recorded", example: "amount", again: true, json: c.JSON, summary: c.summary,
		listed: maxTold, lists: c.lists,
		result: func(r jobs.ImportProgress, _ []jobs.TrialRow) any {
			counted := map[string]json.Number{}
			for currency, amount := range r.Counted {
				counted[currency] = json.Number(text.MoneyInput(amount, currency))
			}
			return giftResult{r.Rows, r.Created, r.Merged, r.Unchanged, r.Rejected, r.Skipped, r.OtherName, r.Contacts, counted}
		},
		tell: func(details []jobs.TrialRow, rejected int64) { c.tell(t, details, rejected) },
	})
}

// lists tells whether a dry run lists a row.
func (c *giftImport) lists(row *jobs.TrialRow) bool {
	about := row.About()
	return about == jobs.RowRejected && c.Rejected == "" || about == jobs.AboutOtherName || about == jobs.AboutLeftOut
}

// tell tells of rows that a dry run has listed.
func (c *giftImport) tell(t *terminal, details []jobs.TrialRow, rejected int64) {
	var first []jobs.TrialRow
	for _, row := range details {
		if row.Outcome == jobs.RowRejected {
			first = append(first, row)
		} else {
			fmt.Fprintf(t.stderr, "Row %d: %s\n", row.Line, oneLine(row.InWords()))
		}
	}
	t.tellRejected(first, rejected)
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
	Counted   map[string]json.Number `json:"counted"` // what the rows add to what was given, by currency
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
var otherGiverSaid = map[string]string{"keep": "gifts of contacts of their own", "merge": "gifts of that contact", "skip": "skipped"}
