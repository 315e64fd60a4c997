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
	"slices"
	"strings"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/jobs"
	"donorbook/internal/table"
)

// fileImport is what the imports of contacts and of gifts are told.
type fileImport struct {
	Account  string `help:"Id of the account." required:"" placeholder:"ID"`
	DryRun   bool   `help:"Say what would happen to the rows, and change nothing." name:"dry-run"`
	Map      string `help:"What columns mean, where the name does not say it: COLUMN=FIELD,COLUMN=FIELD." placeholder:"MAPPING"`
	Rejected string `help:"File for the rows that are rejected, each with its reason in the last column. It is overwritten." placeholder:"FILE"`
	File     string `arg:"" help:"A table: FILE.csv, FILE.jsonl or FILE.xlsx."`
	phoneRegion
}

// openFile is a file that is imported.
type openFile struct {
	account int64
	rows    *table.Reader
	spec    jobs.FileImport
	total   int64  // rows
	done    string // what becomes of rows: imported, recorded
}

// importMemory is how much memory the command takes before garbage is collected more often. A dry run of a million rows keeps about 80 MB.
const importMemory = 150 << 20

// open opens the file, and reads it whole: what cannot be read is found before anything is done.
func (c *fileImport) open(t *terminal, done string, run func(s *book.Book, f *openFile) error) error {
	if err := c.check(); err != nil {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(importMemory)
	}
	if os.Getenv("GOGC") == "" { // as the server does: a row leaves much garbage and keeps little
		debug.SetGCPercent(collectAt)
	}
	file, info, err := openRegular(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	if other, err := os.Stat(c.Rejected); err == nil && c.Rejected != "" && os.SameFile(info, other) {
		return usageError{errors.New("--rejected names the file that is imported")}
	}
	f := &openFile{done: done, spec: jobs.FileImport{Name: filepath.Base(c.File), Size: info.Size(), Region: c.PhoneRegion}}
	if f.rows, err = table.Open(file, info.Size(), c.File); err == nil {
		f.total, err = jobs.CountRows(t.ctx, f.rows)
	}
	if err == nil {
		f.rows, err = table.Open(file, info.Size(), c.File)
	}
	if err != nil {
		return c.refused(err, f)
	}
	if len(f.rows.OtherSheets) > 0 {
		fmt.Fprintf(t.stderr, "Only the first sheet with rows is imported. The workbook has more: %s.\n", oneLine(strings.Join(f.rows.OtherSheets, ", ")))
	}
	f.spec.Header, f.spec.JSON = f.rows.Header(), f.rows.Format == "jsonl"
	if f.spec.SHA256, err = sumOf(t.ctx, file); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		f.account = account.Number
		return run(s, f)
	})
}

// openRegular opens a file that is imported. It is read more than once, which a pipe does not allow.
func openRegular(name string) (*os.File, os.FileInfo, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &doc.Malformed{Message: name + " is not a regular file."}
	}
	if err != nil {
		file.Close()
	}
	return file, info, err
}

// sumOf is the SHA-256 of a file.
func sumOf(ctx context.Context, file *os.File) (string, error) {
	digest := sha256.New()
	from, err := io.NewSectionReader(file, 0, 1<<62), error(nil)
	for err == nil {
		if _, err = io.CopyN(digest, from, 16<<20); err == nil {
			err = ctx.Err()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return hex.EncodeToString(digest.Sum(nil)), err
}

// refused is the error of a file that cannot be read, or whose columns say too little.
func (c *fileImport) refused(err error, f *openFile) error {
	var broken *table.FileError
	var refused *doc.Invalid
	switch {
	case errors.As(err, &broken):
		err = &doc.Malformed{Message: broken.Message}
	case !errors.As(err, &refused):
		return err
	}
	return fmt.Errorf("%s was refused, and nothing was %s.\n%w", c.File, f.done, err)
}

// mapping is what the columns mean: as --map says, or else as they were mapped last, or else as they are recognized.
func (c *fileImport) mapping(t *terminal, s *book.Book, f *openFile, example string) (sheet.Mapping, error) {
	columns := jobs.SheetOf(f.spec.Of)
	mapping, err := s.ColumnMapping(t.ctx, f.account, f.spec.Of, f.spec.Header)
	if err == nil && c.Map != "" {
		mapping, err = columns.With(mapping, c.Map)
	}
	if err != nil {
		return mapping, err
	}
	if err := columns.Check(mapping); err != nil {
		return mapping, fmt.Errorf("%w\nThe columns of the file are: %s. Say what they mean with --map, such as --map \"COLUMN=%s\"", c.refused(err, f), oneLine(strings.Join(f.spec.Header, ", ")), example)
	}
	isReason := func(name string) bool { return name == jobs.ReasonColumns[f.spec.Of] }
	if skipped := slices.DeleteFunc(mapping.Skipped(), isReason); len(skipped) > 0 {
		fmt.Fprintf(t.stderr, "Columns that are not imported: %s.\n", oneLine(strings.Join(skipped, ", ")))
	}
	return mapping, nil
}

// begin imports the file, or goes on with it.
func (c *fileImport) begin(t *terminal, s *book.Book, f *openFile, step string, again bool, summary func(jobs.ImportCounts) string) (im jobs.Import, known bool, err error) {
	watch := newWatch(t, watch{})
	im, known, err = s.ImportFile(store.By(t.ctx, history.CommandChannel, commandLine), f.account, f.rows, f.spec, f.total, again, func(p jobs.ImportProgress) {
		watch.progress(step, p.Rows, f.total)
	})
	watch.end()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s Start the import again: it continues from there", err, summary(im.Progress.ImportCounts))
	}
	return im, known, err
}

// try says what would become of the rows, and writes those that would be rejected to the file.
func (c *fileImport) try(t *terminal, s *book.Book, f *openFile, step string, told func(jobs.TrialRow)) (result jobs.ImportProgress, err error) {
	watch := newWatch(t, watch{})
	defer watch.end()
	all := func(each func(line int64, row jobs.RejectedRow) error) (err error) {
		result, err = s.TryFile(t.ctx, f.account, f.rows, f.spec, func(row jobs.TrialRow) error {
			if told(row); row.Outcome != jobs.RowRejected {
				return nil
			}
			return each(row.Line, jobs.RejectedRow{Reason: row.Reason, Cells: row.Cells, Object: row.Object})
		}, func(r jobs.ImportCounts) { watch.progress(step, r.Rows, f.total) })
		return err
	}
	if c.Rejected != "" {
		return result, c.writeRejected(&f.spec, all)
	}
	err = all(func(int64, jobs.RejectedRow) error { return nil })
	return result, err
}

// maxTold is how many rejected rows are told where there is no file for them.
const maxTold = 20

// reject writes rejected rows to the file, or tells the first ones on standard error.
func (c *fileImport) reject(t *terminal, s *book.Book, im *jobs.Import) error {
	if c.Rejected != "" {
		return c.writeRejected(&im.Spec, func(each func(int64, jobs.RejectedRow) error) error { return s.RejectedRows(t.ctx, im, each) })
	}
	told := 0
	err := s.RejectedRows(t.ctx, im, func(line int64, row jobs.RejectedRow) error {
		if told++; told > maxTold {
			return io.EOF
		}
		t.tellRejected(line, row.Reason)
		return nil
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	t.tellMore(im.Progress.Rejected)
	return err
}

// tellRejected tells of one row that is rejected.
func (t *terminal) tellRejected(line int64, reason string) {
	fmt.Fprintf(t.stderr, "Line %d: %s\n", line, oneLine(reason))
}

// tellMore tells how many more rows are rejected than those that were told.
func (t *terminal) tellMore(rejected int64) {
	if rejected > maxTold {
		fmt.Fprintf(t.stderr, "And %d more.\n", rejected-maxTold)
	}
}

func (c *fileImport) writeRejected(spec *jobs.FileImport, all func(each func(line int64, row jobs.RejectedRow) error) error) error {
	file, err := os.OpenFile(c.Rejected, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	w, err := jobs.NewRejectedFile(file, strings.TrimPrefix(filepath.Ext(c.Rejected), "."), spec)
	if err != nil {
		return err
	}
	if err := all(func(_ int64, row jobs.RejectedRow) error { return w.Add(row) }); err != nil {
		return err
	}
	return errors.Join(w.Close(), file.Close())
}

// rejections is the error of an import that has rejected rows.
func (c *fileImport) rejections(n int64) error {
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
