package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/store"
	"donorbook/internal/table"
)

type contactImport struct {
	Account      string `help:"Id of the account." required:"" placeholder:"ID"`
	DryRun       bool   `help:"Say what would happen to the rows, and change nothing." name:"dry-run"`
	ForceCreate  bool   `help:"Add a new contact for every row, even if one with the same email or phone exists." name:"force-create" xor:"existing"`
	SkipExisting bool   `help:"Leave contacts that exist as they are." name:"skip-existing" xor:"existing"`
	Map          string `help:"What columns mean, where the name does not say it: COLUMN=FIELD,COLUMN=FIELD." placeholder:"MAPPING"`
	Rejected     string `help:"File for the rows that are rejected, each with its reason in the last column: .csv, .jsonl or .xlsx. It is overwritten." placeholder:"FILE"`
	Again        bool   `help:"Import a file that was imported before."`
	JSON         bool   `help:"Print a JSON object with rows, created, merged, unchanged and rejected." name:"json"`
	File         string `arg:"" help:"Contacts: a table in FILE.csv, FILE.jsonl or FILE.xlsx."`
	phoneRegion
}

func (contactImport) Help() string {
	return `The first row of the file names its columns. Names that other systems export are recognized, in English, German and French, and so are the fields of the API (emails.0.value). The encoding and the separator are detected. A row of a JSON Lines file is an object with the fields of POST /v1/contacts.

	donorbook contact import --account ID people.xlsx --dry-run
	donorbook contact import --account ID people.csv --rejected rejected.csv
	donorbook contact import --account ID people.csv --map "Second name=middle_name,Shoe size=new:text,Remarks=skip"

--map says what a column means: a field such as first_name, last_name, full_name (both in one column), company, dob, note, tags, emails.0.value, phones.0.value, addresses.0.city; skip, which ignores the column; custom.3, the custom field with this id; or new:text (or long_text, number, date, boolean), which makes a custom field with the name of the column. It is remembered for the next file with the same columns.

A row that has an email or a phone of a contact is merged into this contact, as POST /v1/contacts does it. With --skip-existing such a row changes nothing, with --force-create it makes a new contact.

A row that is wrong is rejected and does not hold up the others: correct it in the file of --rejected, and import that file.

An import that was interrupted continues when you start it again with the same file and options, and does nothing twice. A file that was imported completely is not imported again unless you say --again. To undo an import, open it in the console under Contacts, Imports.

A dry run lists what would be merged and rejected, 1,000 rows at most, and counts all. It knows what earlier rows would do, but not what others change in the meantime. In a very long file, a row that only repeats an early one may be counted as merged, and not as unchanged.

Exit codes: 0 every row is imported; 1 rows were rejected, or it failed; 2 wrong usage; 3 the file or the mapping is refused, and nothing was imported; 4 no such account or file.`
}

// importMemory is how much memory the command takes before garbage is collected more often. A dry run of a million rows keeps about 130 MB.
const importMemory = 150 << 20

func (c *contactImport) mode() store.ImportMode {
	switch {
	case c.ForceCreate:
		return store.ForceCreate
	case c.SkipExisting:
		return store.SkipExisting
	}
	return store.MergeExisting
}

func (c *contactImport) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(importMemory)
	}
	if os.Getenv("GOGC") == "" { // as the server does: a row leaves much garbage and keeps little
		debug.SetGCPercent(mostPercent)
	}
	file, info, err := openRegular(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := os.Stat(c.Rejected); err == nil && c.Rejected != "" && sameFile(file, info) {
		return usageError{errors.New("--rejected names the file that is imported")}
	}
	rows, err := table.Open(file, info.Size(), c.File)
	if err != nil {
		return c.refused(err)
	}
	total, err := store.CountRows(t.ctx, rows) // what cannot be read is found before anything is imported
	if err != nil {
		return c.refused(err)
	}
	if len(rows.OtherSheets) > 0 {
		fmt.Fprintf(t.stderr, "Only the first sheet with rows is imported. The workbook has more: %s.\n", oneLine(strings.Join(rows.OtherSheets, ", ")))
	}
	spec := store.ContactImport{Name: filepath.Base(c.File), Size: info.Size(), Mode: c.mode(), Region: c.PhoneRegion}
	if spec.SHA256, err = sumOf(t.ctx, file); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *store.Store, account crm.Account) error {
		rows, err := table.Open(file, info.Size(), c.File)
		if err != nil {
			return c.refused(err)
		}
		if spec.Mapping, err = c.mapping(t, s, account.Number, rows.Header()); err != nil {
			return err
		}
		if c.DryRun {
			return c.try(t, s, account.Number, rows, spec, total)
		}
		if spec.Mapping, err = s.MakeFields(store.By(t.ctx, crm.CommandDoor, commandLine), account.Number, spec.Mapping); err != nil {
			return err
		}
		return c.run(t, s, account.Number, rows, spec, total)
	})
}

func sameFile(file *os.File, other os.FileInfo) bool {
	info, err := file.Stat()
	return err == nil && os.SameFile(info, other)
}

// sumOf is the SHA-256 of a file.
func sumOf(ctx context.Context, file *os.File) (string, error) {
	digest := sha256.New()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	for {
		if _, err := io.CopyN(digest, file, 16<<20); errors.Is(err, io.EOF) {
			return hex.EncodeToString(digest.Sum(nil)), nil
		} else if err = errors.Join(err, ctx.Err()); err != nil {
			return "", err
		}
	}
}

// refused is the error of a file that cannot be read.
func (c *contactImport) refused(err error) error {
	var broken *table.FileError
	if errors.As(err, &broken) {
		return fmt.Errorf("%s was refused, and nothing was imported.\n%w", c.File, &crm.Malformed{Message: broken.Message})
	}
	return err
}

// mapping is what the columns mean: as --map says, or else as they were mapped last, or else as they are recognized.
func (c *contactImport) mapping(t *terminal, s *store.Store, account int64, header []string) (crm.Mapping, error) {
	mapping, err := s.ColumnMapping(t.ctx, account, header)
	if err == nil && c.Map != "" {
		mapping, err = mapping.With(c.Map)
	}
	if err != nil {
		return mapping, err
	}
	if err := mapping.Check(); err != nil {
		return mapping, fmt.Errorf("%w\nThe columns of the file are: %s. Say what they mean with --map, such as --map \"COLUMN=full_name\"", err, oneLine(strings.Join(header, ", ")))
	}
	if skipped := mapping.Skipped(); len(skipped) > 0 {
		fmt.Fprintf(t.stderr, "Columns that are not imported: %s.\n", oneLine(strings.Join(skipped, ", ")))
	}
	return mapping, nil
}

func (c *contactImport) run(t *terminal, s *store.Store, account int64, rows *table.Reader, spec store.ContactImport, total int64) error {
	watch := newWatch(t, watch{})
	im, known, err := s.ImportContacts(store.By(t.ctx, crm.CommandDoor, commandLine), account, rows, spec, total, c.Again, func(p store.ImportProgress) {
		watch.progress("importing contacts", p.Rows, total)
	})
	watch.end()
	result := im.Progress.ImportCounts
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		return fmt.Errorf("%w\n%s Start the import again: it continues from there", err, c.summary(result))
	}
	if known {
		fmt.Fprintf(t.stderr, "This file was imported on %s, as import %d: %s Nothing was changed now. To import it again, say --again.\n",
			im.UpdatedAt.Format("January 2, 2006"), im.ID, c.summary(result))
		result = store.ImportCounts{Rows: result.Rows, Unchanged: result.Rows - result.Rejected, Rejected: result.Rejected}
	}
	if err := c.reject(t, func(each func(line int64, row store.RejectedRow) error) error {
		return s.RejectedRows(t.ctx, &im, each)
	}, rows.Header(), result.Rejected); err != nil {
		return err
	}
	if c.JSON {
		err = t.printJSON(result)
	} else {
		_, err = fmt.Fprintln(t.stdout, c.summary(result))
	}
	return errors.Join(err, c.rejections(result.Rejected))
}

// reject writes rejected rows to the file, or tells the first ones on standard error.
func (c *contactImport) reject(t *terminal, all func(each func(line int64, row store.RejectedRow) error) error, header []string, n int64) error {
	if c.Rejected != "" {
		return c.writeRejected(header, all)
	}
	told := int64(0)
	err := all(func(line int64, row store.RejectedRow) error {
		if told++; told > maxTold {
			return io.EOF
		}
		fmt.Fprintf(t.stderr, "Line %d: %s\n", line, oneLine(row.Reason))
		return nil
	})
	if errors.Is(err, io.EOF) {
		fmt.Fprintf(t.stderr, "And %d more.\n", n-maxTold)
		err = nil
	}
	return err
}

func (c *contactImport) writeRejected(header []string, all func(each func(line int64, row store.RejectedRow) error) error) error {
	file, err := os.OpenFile(c.Rejected, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	w, err := store.NewRejectedFile(file, strings.TrimPrefix(filepath.Ext(c.Rejected), "."), header)
	if err != nil {
		return err
	}
	if err := all(func(_ int64, row store.RejectedRow) error { return w.Add(row) }); err != nil {
		return err
	}
	return errors.Join(w.Close(), file.Close())
}

// rejections is the error of an import that has rejected rows.
func (c *contactImport) rejections(n int64) error {
	if n == 0 {
		return nil
	}
	where := "; with --rejected FILE they go into a file"
	if c.Rejected != "" {
		where = ", see " + c.Rejected
	}
	verb := plural(n, "row was", "rows were")
	if c.DryRun {
		verb = plural(n, "row would be", "rows would be")
	}
	return fmt.Errorf("%d %s rejected%s", n, verb, where)
}

func (c *contactImport) summary(r store.ImportCounts) string {
	if c.DryRun {
		return fmt.Sprintf("Rows: %d. %d would be new, %d merged, %d unchanged, %d rejected. Nothing was changed.", r.Rows, r.Created, r.Merged, r.Unchanged, r.Rejected)
	}
	return fmt.Sprintf("Rows: %d. %d created, %d merged, %d unchanged, %d rejected.", r.Rows, r.Created, r.Merged, r.Unchanged, r.Rejected)
}

// tried is what a dry run prints as JSON.
type tried struct {
	store.ImportCounts
	Details []store.TrialRow `json:"details"` // of rows that would be merged or rejected, up to a limit
}

// maxDetails is how many rows a dry run lists.
const maxDetails = 1000

func (c *contactImport) try(t *terminal, s *store.Store, account int64, rows *table.Reader, spec store.ContactImport, total int64) error {
	header := rows.Header()
	watch, result := newWatch(t, watch{}), tried{Details: []store.TrialRow{}}
	reject := func(each func(line int64, row store.RejectedRow) error) (err error) {
		result.ImportCounts, err = s.TryContacts(t.ctx, account, rows, spec, func(row store.TrialRow) error {
			if len(result.Details) < maxDetails && row.Told() {
				result.Details = append(result.Details, row)
			}
			if row.Outcome != store.RowRejected {
				return nil
			}
			return each(row.Line, store.RejectedRow{Reason: row.Reason, Cells: row.Cells})
		}, func(r store.ImportCounts) { watch.progress("trying contacts", r.Rows, total) })
		return err
	}
	var err error
	if c.Rejected != "" {
		err = c.writeRejected(header, reject)
	} else {
		err = reject(func(int64, store.RejectedRow) error { return nil })
	}
	watch.end()
	switch {
	case err != nil:
		return err
	case c.JSON:
		err = t.printJSON(result)
	default:
		for _, row := range result.Details {
			fmt.Fprintf(t.stdout, "Line %d: %s\n", row.Line, oneLine(row.InWords()))
		}
		_, err = fmt.Fprintln(t.stdout, c.summary(result.ImportCounts))
	}
	return errors.Join(err, c.rejections(result.Rejected))
}
