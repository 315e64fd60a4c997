package cli

import (
	"fmt"

	"donorbook/internal/store/jobs"
)

type contactImport struct {
	fileImport
	ForceCreate  bool `help:"Add a new contact for every row, even if one with the same email or phone exists." name:"force-create" xor:"existing"`
	SkipExisting bool `help:"Leave contacts that exist as they are." name:"skip-existing" xor:"existing"`
	Again        bool `help:"Import a file that was imported before."`
	JSON         bool `help:"Print a JSON object with rows, created, merged, unchanged and rejected." name:"json"`
}

func (contactImport) Help() string {
	return `The first row of the file names its columns. Names that other systems export are recognized, in English, German and French, and so are the fields of the API (emails.0.value). The encoding and the separator are detected. A row of a JSON Lines file is an object with the fields of POST /v1/contacts.

	donorbook contact import --account ID people.xlsx --dry-run
	donorbook contact import --account ID people.csv --rejected rejected.csv
	donorbook contact import --account ID people.csv --map "Second name=middle_name,Shoe size=new:text,Remarks=skip"

--map says what a column means: a field such as first_name, last_name, full_name (both in one column), company, dob, note, tags, emails.0.value, phones.0.value, addresses.0.city; skip, which ignores the column; custom.3, the custom field with this id; or new:text (or long_text, number, date, boolean), which makes a custom field with the name of the column. It is remembered for the next file with the same columns.

A row that has an email or a phone of a contact is merged into this contact, as POST /v1/contacts does it. With --skip-existing such a row changes nothing, with --force-create it makes a new contact.

A row that is wrong is rejected and does not hold up the others: correct it in the file of --rejected (.csv, .jsonl or .xlsx), and import that file.

An import that was interrupted continues when you start it again with the same file and options, and does nothing twice. A file that was imported completely is not imported again unless you say --again. To undo an import, open it in the console under Contacts, Imports.

A dry run lists what would be merged and rejected, 1,000 rows at most, and counts all. It knows the emails and phones of earlier rows, but not what else they would change, nor what others change in the meantime: a row that only repeats an earlier one counts as merged, and not as unchanged.

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
		spec: jobs.FileImport{Mode: c.mode()}, noun: "contacts", done: "imported", example: "full_name", again: c.Again, json: c.JSON, summary: c.summary,
		listed: maxDetails, lists: (*jobs.TrialRow).Told,
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
				fmt.Fprintf(t.stdout, "Line %d: %s\n", row.Line, oneLine(row.InWords()))
			}
		},
	})
}

func (c *contactImport) summary(r jobs.ImportProgress) string {
	if c.DryRun {
		return fmt.Sprintf("Rows: %d. %d would be new, %d merged, %d unchanged, %d rejected. Nothing was changed.", r.Rows, r.Created, r.Merged, r.Unchanged, r.Rejected)
	}
	return fmt.Sprintf("Rows: %d. %d created, %d merged, %d unchanged, %d rejected.", r.Rows, r.Created, r.Merged, r.Unchanged, r.Rejected)
}

// tried is what a dry run prints as JSON.
type tried struct {
	jobs.ImportCounts
	Details []jobs.TrialRow `json:"details"` // of rows that would be merged or rejected, up to a limit
}

// maxDetails is how many rows a dry run lists.
const maxDetails = 1000
