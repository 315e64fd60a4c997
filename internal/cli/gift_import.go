package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/store"
	"donorbook/internal/table"
)

type giftImport struct {
	Account  string `help:"Id of the account." required:"" placeholder:"ID"`
	DryRun   bool   `help:"Say what would become of the rows, and change nothing." name:"dry-run"`
	Rejected string `help:"File for the rows that are rejected, each with its reason in the last column. It is overwritten." placeholder:"FILE"`
	JSON     bool   `help:"Print a JSON object with rows, recorded, known, rejected and new_contacts." name:"json"`
	File     string `arg:"" help:"Gifts: FILE.csv, FILE.xlsx or FILE.jsonl."`
	phoneRegion
}

func (giftImport) Help() string {
	return `The first row of a table (CSV or .xlsx) names its columns. amount, date (or transacted_at) and method are required; contact_id, email, phone, first_name, last_name and company say who gave; campaign (id or slug) or campaign_id, plan_id, currency, status, fee, fee_covered, note, check_number and external_id (or external_reference) may be there. Case, spaces and underscores in these names do not matter, and other columns are not read. A row of a JSON Lines file is an object with the fields of POST /v1/transactions, or with campaign.

	donorbook gift import --account ID gifts.csv --dry-run
	donorbook gift import --account ID gifts.csv --rejected rejected.csv

The contact is the one with contact_id, or with the email or the phone. If there is none, a new one gets the first and last name.

A row that is wrong is rejected and does not hold up the others: correct it in the file of --rejected, and import that file. An interrupted import continues when you start it again: a row is recorded once, by its external_id. A row without one gets one from all that it says, so that the same row in another file is the same gift; two equal rows in one file are two gifts.

A dry run tries the rows on the database as it is, and takes them back. It does not know what others change in the meantime, or that two rows far apart in the file have the same external_id.

Exit codes: 0 every row is recorded; 1 rows were rejected, or it failed; 3 the file cannot be read, and nothing was recorded; 4 no such account or file.`
}

func (c *giftImport) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	file, info, err := openRegular(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	total, err := c.countGifts(t.ctx, file, info.Size()) // what cannot be read is found before anything is recorded
	if err != nil {
		return c.refused(err)
	}
	return t.withAccount(c.Account, func(s *store.Store, account crm.Account) error {
		gifts, err := c.open(file, info.Size())
		if err != nil {
			return c.refused(err)
		}
		return c.run(t, s, account.Number, gifts, total, info)
	})
}

// open reads the header of a file.
func (c *giftImport) open(file io.ReaderAt, size int64) (*crm.GiftFile, error) {
	rows, err := table.Open(file, size, c.File)
	if err != nil {
		return nil, err
	}
	return crm.OpenGiftFile(rows, rows.Format == "jsonl", nil, c.PhoneRegion)
}

func (c *giftImport) refused(err error) error {
	var unreadable *table.FileError
	if errors.As(err, &unreadable) {
		err = &crm.Malformed{Message: unreadable.Message}
	}
	var malformed *crm.Malformed
	if errors.As(err, &malformed) {
		return fmt.Errorf("%s was refused, and nothing was recorded.\n%w", c.File, err)
	}
	return err
}

// countGifts reads a whole file.
func (c *giftImport) countGifts(ctx context.Context, file io.ReaderAt, size int64) (rows int64, err error) {
	gifts, err := c.open(file, size)
	for ; err == nil; rows++ {
		if err = ctx.Err(); err == nil {
			_, err = gifts.Next()
		}
	}
	if errors.Is(err, io.EOF) {
		return rows - 1, nil
	}
	return 0, err
}

func (c *giftImport) run(t *terminal, s *store.Store, account int64, gifts *crm.GiftFile, total int64, source os.FileInfo) error {
	if len(gifts.Ignored) > 0 {
		fmt.Fprintf(t.stderr, "Columns that are not read: %s.\n", oneLine(strings.Join(gifts.Ignored, ", ")))
	}
	rejected, err := c.openRejected(t, gifts, source)
	if err != nil {
		return err
	}
	watch := newWatch(t, watch{})
	step := "importing gifts"
	if c.DryRun {
		step = "trying gifts"
	}
	result, err := s.ImportGifts(t.ctx, account, gifts, store.GiftImport{
		Region: c.PhoneRegion, Trial: c.DryRun, Rejected: rejected.add,
		Progress: func(r store.GiftImportResult) {
			rejected.flush()
			watch.progress(step, r.Rows, total)
		},
	})
	watch.end()
	if closing := rejected.close(); err == nil {
		err = closing
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		return fmt.Errorf("%w\n%s Start the import again: it continues from there", err, c.summary(result))
	}
	return c.report(t, result)
}

func (c *giftImport) report(t *terminal, r store.GiftImportResult) (err error) {
	if c.JSON {
		err = t.printJSON(r)
	} else {
		_, err = fmt.Fprintln(t.stdout, c.summary(r))
	}
	if err != nil || r.Rejected == 0 {
		return err
	}
	where := "; with --rejected FILE they go into a file"
	if c.Rejected != "" {
		where = ", see " + c.Rejected
	}
	verb := plural(r.Rejected, "row was", "rows were")
	if c.DryRun {
		verb = plural(r.Rejected, "row would be", "rows would be")
	}
	return fmt.Errorf("%d %s rejected%s", r.Rejected, verb, where)
}

func (c *giftImport) summary(r store.GiftImportResult) string {
	if c.DryRun {
		return fmt.Sprintf("Rows: %d. %d would be recorded, %d are known, %d would be rejected; %d new %s. Nothing was changed.",
			r.Rows, r.Recorded, r.Known, r.Rejected, r.Contacts, plural(r.Contacts, "contact", "contacts"))
	}
	return fmt.Sprintf("Rows: %d. %d recorded, %d known before, %d rejected; %d new %s.", r.Rows, r.Recorded, r.Known, r.Rejected, r.Contacts, plural(r.Contacts, "contact", "contacts"))
}

// rejectedRows are written to a file, or the first ones are told on standard error.
type rejectedRows struct {
	t     *terminal
	file  *os.File
	lines *bufio.Writer // of JSON
	table table.Writer  // of any other file
	told  int
}

// maxTold is how many rejected rows are told where there is no file for them.
const maxTold = 20

func (c *giftImport) openRejected(t *terminal, gifts *crm.GiftFile, source os.FileInfo) (r *rejectedRows, err error) {
	r = &rejectedRows{t: t}
	if c.Rejected == "" {
		return r, nil
	}
	if info, err := os.Stat(c.Rejected); err == nil && os.SameFile(info, source) {
		return nil, usageError{errors.New("--rejected names the file that is imported")}
	}
	if r.file, err = os.OpenFile(c.Rejected, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, err
	}
	if gifts.IsJSON {
		r.lines = bufio.NewWriter(r.file)
		return r, nil
	}
	if r.table, err = table.NewWriter(r.file, "csv"); err != nil {
		return nil, err
	}
	return r, r.table.Header(gifts.RejectedHeader())
}

func (r *rejectedRows) add(row *crm.GiftRow, reason string) error {
	switch {
	case r.lines != nil:
		_, err := r.lines.WriteString(row.Rejected(reason)[0] + "\n")
		return err
	case r.table != nil:
		var cells []any
		for _, cell := range row.Rejected(reason) {
			cells = append(cells, cell)
		}
		return r.table.Row(cells)
	}
	if r.told++; r.told <= maxTold {
		fmt.Fprintf(r.t.stderr, "Line %d: %s\n", row.Line, oneLine(reason))
	}
	return nil
}

// flush lets the file have the rows up to here, whatever happens to the process; close tells if it cannot.
func (r *rejectedRows) flush() { _ = r.write() }

func (r *rejectedRows) write() error {
	switch {
	case r.lines != nil:
		return r.lines.Flush()
	case r.table != nil:
		return r.table.Flush()
	}
	return nil
}

func (r *rejectedRows) close() error {
	if r.file == nil {
		if r.told > maxTold {
			fmt.Fprintf(r.t.stderr, "And %d more.\n", r.told-maxTold)
		}
		return nil
	}
	return errors.Join(r.write(), r.file.Close())
}

// openRegular opens a file that is imported. It is read more than once, which a pipe does not allow.
func openRegular(name string) (*os.File, os.FileInfo, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &crm.Malformed{Message: name + " is not a regular file."}
	}
	if err != nil {
		file.Close()
	}
	return file, info, err
}
