package cli

import (
	"errors"
	"fmt"

	"donorbook/internal/store/book"
	"donorbook/internal/store/jobs"
)

type giftImport struct {
	fileImport
	JSON bool `help:"Print a JSON object with rows, recorded, known, rejected and new_contacts." name:"json"`
}

func (giftImport) Help() string {
	return `The first row of a table (CSV or .xlsx) names its columns. Names that other systems export are recognized, in English, German and French, and so are the fields of the API. A column for the amount and one for the date are required; contact_id, email, phone, first_name, last_name, full_name and company say who gave; campaign (id, slug or title) or campaign_id, plan_id, currency, status, method, fee, fee_covered, note, check_number and external_id may be there. Without a method, it is other. A row of a JSON Lines file is an object with the fields of POST /v1/transactions, or with campaign.

	donorbook gift import --account ID gifts.csv --dry-run
	donorbook gift import --account ID gifts.csv --rejected rejected.csv
	donorbook gift import --account ID gifts.csv --map "Given=amount,On=transacted_at,Remarks=skip"

--map says what a column means: one of these fields, or skip, which ignores the column. It is remembered for the next file with the same columns.

The contact is the one with contact_id, or with the email or the phone. If there is none, a new one gets the first and last name.

A row that is wrong is rejected and does not hold up the others: correct it in the file of --rejected, and import that file. It is CSV, or .xlsx if its name says so; rows of JSON Lines stay JSON Lines.

An import that was interrupted continues when you start it again with the same file and options. A gift is recorded once, by its external_id, in whatever file it comes again. A row without one gets one from all that it says, so that the same row in another file is the same gift; two equal rows in one file are two gifts. To undo an import, open it in the console under Gifts, Import: its gifts are canceled and count nowhere.

A dry run changes nothing. It knows the emails, phones and external ids of earlier rows, but not what else they would change, nor what others change in the meantime: a row with the external_id of an earlier one counts as known, even if it says something else.

Exit codes: 0 every row is recorded; 1 rows were rejected, or it failed; 2 wrong usage; 3 the file or the mapping is refused, and nothing was recorded; 4 no such account or file.`
}

func (c *giftImport) Run(t *terminal) error {
	return c.open(t, "recorded", func(s *book.Book, f *openFile) (err error) {
		f.spec.Of = jobs.ImportGifts
		switch {
		case f.spec.JSON && c.Map != "":
			return usageError{errors.New("--map is for tables: a row of JSON Lines has the names of the API")}
		case !f.spec.JSON:
			if f.spec.Mapping, err = c.mapping(t, s, f, "amount"); err != nil {
				return err
			}
		}
		if f.tellSkipped(t); c.DryRun {
			return c.try(t, s, f)
		}
		return c.run(t, s, f)
	})
}

// run imports the file. What is known of another import of the same file does not matter: no gift is recorded twice.
func (c *giftImport) run(t *terminal, s *book.Book, f *openFile) error {
	im, _, err := c.begin(t, s, f, "importing gifts", true, c.summary)
	if err == nil {
		err = c.reject(t, s, &im)
	}
	if err != nil {
		return err
	}
	return c.report(t, im.Progress.ImportCounts)
}

func (c *giftImport) try(t *terminal, s *book.Book, f *openFile) error {
	told := 0
	result, err := c.fileImport.try(t, s, f, "trying gifts", func(row jobs.TrialRow) {
		if row.Outcome != jobs.RowRejected || c.Rejected != "" {
			return
		}
		if told++; told <= maxTold {
			t.tellRejected(row.Line, row.Reason)
		}
	})
	if err != nil {
		return err
	}
	if c.Rejected == "" {
		t.tellMore(result.Rejected)
	}
	return c.report(t, result)
}

// giftResult is what is printed as JSON.
type giftResult struct {
	Rows     int64 `json:"rows"`
	Recorded int64 `json:"recorded"`
	Known    int64 `json:"known"` // recorded before, by their external ids
	Rejected int64 `json:"rejected"`
	Contacts int64 `json:"new_contacts"`
}

func (c *giftImport) report(t *terminal, r jobs.ImportCounts) (err error) {
	if c.JSON {
		err = t.printJSON(giftResult{r.Rows, r.Created, r.Unchanged, r.Rejected, r.Contacts})
	} else {
		_, err = fmt.Fprintln(t.stdout, c.summary(r))
	}
	return errors.Join(err, c.rejections(r.Rejected))
}

func (c *giftImport) summary(r jobs.ImportCounts) string {
	if c.DryRun {
		return fmt.Sprintf("Rows: %d. %d would be recorded, %d are known, %d would be rejected; %d new %s. Nothing was changed.",
			r.Rows, r.Created, r.Unchanged, r.Rejected, r.Contacts, plural(r.Contacts, "contact", "contacts"))
	}
	return fmt.Sprintf("Rows: %d. %d recorded, %d known before, %d rejected; %d new %s.", r.Rows, r.Created, r.Unchanged, r.Rejected, r.Contacts, plural(r.Contacts, "contact", "contacts"))
}
