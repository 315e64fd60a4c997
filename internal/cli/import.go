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

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/book"
	"donorbook/internal/store/jobs"
	"donorbook/internal/table"
)

// fileImport is what the imports of contacts and of gifts are told.
type fileImport struct {
	Account   string `help:"Account ID." required:"" placeholder:"ID"`
	DryRun    bool   `help:"Show what would happen, without changing anything." name:"dry-run"`
	Map       string `help:"What columns mean, if their headings don't say: COLUMN=FIELD,COLUMN=FIELD." placeholder:"MAPPING"`
	HeaderRow int    `help:"Row that names the columns. Default: found by its words." name:"header-row" placeholder:"ROW"`
	Source    string `help:"System that the file and its contact IDs come from. Default: recognized by the columns, if possible." placeholder:"NAME"`
	Usual     bool   `help:"Write names in capitals, or in small letters only, in the usual form: JANE MCDONALD as Jane McDonald." name:"usual-names"`
	Rejected  string `help:"File to write rejected rows to, each with its reason in the last column." placeholder:"FILE"`
	Force     bool   `help:"Replace existing files, such as that of --rejected."`
	File      string `arg:"" help:"A table: FILE.csv, FILE.jsonl or FILE.xlsx."`
	phoneRegion
}

// importKind is what the imports of contacts and of gifts do differently.
type importKind struct {
	spec    jobs.FileImport
	noun    string // contacts, gifts
	done    string // what becomes of rows: imported, recorded
	example string // of what a column can mean
	custom  bool   // columns that are not recognized become custom fields
	again   bool   // a file that was imported before is imported again
	json    bool   // the result is printed as JSON
	summary func(jobs.ImportProgress) string
	result  func(r jobs.ImportProgress, details []jobs.TrialRow) any // that is printed as JSON

	// A dry run lists rows, so many at most of each kind that About tells, and tells of them when it has ended.
	listed  int
	lists   func(*jobs.TrialRow) bool
	tell    func(details []jobs.TrialRow, r jobs.ImportProgress)
	changes string // file for what it would change; "" for none
}

// openFile is a file that is imported.
type openFile struct {
	importKind
	account int64
	rows    *table.Reader
	jobs.Survey
}

// importMemory is how much memory the command takes before garbage is collected more often. A dry run of a million rows keeps about 80 MB.
const importMemory = 150 << 20

// run reads the file whole, so that what cannot be read is found before anything is done, and imports it or tries it.
func (c *fileImport) run(t *terminal, kind importKind) error {
	if err := c.check(); err != nil {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(importMemory)
	}
	file, info, err := openRegular(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	for option, name := range map[string]string{"--rejected": c.Rejected, "--changes": kind.changes} {
		if other, err := os.Stat(name); err == nil && os.SameFile(info, other) {
			return usageError{errors.New(option + " names the file that is imported")}
		}
		if err := checkFile(name, c.Force); name != "" && err != nil {
			return err
		}
	}
	f := &openFile{importKind: kind}
	f.spec.Name, f.spec.Size, f.spec.Region, f.spec.UsualNames = filepath.Base(c.File), info.Size(), c.PhoneRegion, c.Usual
	if f.rows, err = jobs.OpenTable(file, info.Size(), c.File, c.HeaderRow, nil); err == nil {
		f.Survey, err = jobs.SurveyRows(t.ctx, f.rows)
	}
	if err == nil {
		f.rows, err = jobs.OpenTable(file, info.Size(), c.File, c.HeaderRow, nil)
	}
	if err != nil {
		return c.refused(err, f)
	}
	if len(f.rows.OtherSheets) > 0 {
		fmt.Fprintf(t.stderr, "Only the first sheet with rows is imported. Other sheets: %s.\n", oneLine(strings.Join(f.rows.OtherSheets, ", ")))
	}
	f.spec.HeaderRow, f.spec.FoundRow = c.HeaderRow, f.rows.HeaderRow
	f.spec.Header, f.spec.JSON, f.spec.Days = f.rows.Header(), f.rows.Format == "jsonl", f.Days
	if f.spec.SHA256, err = sumOf(t.ctx, file); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		f.account = account.Number
		if f.spec.Mapping, err = c.mapping(t, s, f); err != nil {
			return err
		}
		if f.tellSkipped(t); c.DryRun {
			return c.try(t, s, f)
		}
		return c.record(t, s, f)
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
func (c *fileImport) mapping(t *terminal, s *book.Book, f *openFile) (sheet.Mapping, error) {
	if f.spec.JSON && f.spec.Of == jobs.ImportGifts {
		if c.Map != "" {
			return nil, usageError{errors.New("--map is for tables: a row of JSON Lines has the names of the API")}
		}
		return nil, nil
	}
	columns := jobs.SheetOf(f.spec.Of)
	mapping, err := s.ColumnMapping(t.ctx, f.account, f.spec.Of, f.spec.Header, f.Look)
	if err == nil && c.Map != "" {
		mapping, err = columns.With(mapping, c.Map)
	}
	if c.Source != "" {
		mapping = mapping.From(c.Source)
	}
	if err != nil {
		return mapping, err
	}
	if err := columns.Check(mapping); err != nil {
		return mapping, fmt.Errorf("%w\nThe columns of the file are: %s. Say what they mean with --map, such as --map \"COLUMN=%s\"", c.refused(err, f), oneLine(strings.Join(f.spec.Header, ", ")), f.example)
	}
	return f.withUnknown(t, s, mapping)
}

// withUnknown makes a custom field of each column that is not recognized, where that was asked for.
func (f *openFile) withUnknown(t *terminal, s *book.Book, mapping sheet.Mapping) (sheet.Mapping, error) {
	if !f.custom {
		return mapping, nil
	}
	fields, err := s.CustomFields(t.ctx, f.account)
	if err != nil {
		return nil, err
	}
	return sheet.Contacts.WithUnknown(mapping, fields, func(i int) []string { return f.Samples[i] }), nil
}

// tellSkipped names the columns that are not imported, each with its first values.
func (f *openFile) tellSkipped(t *terminal) {
	var skipped []string
	for i, c := range f.spec.Mapping {
		if c.Target != sheet.Skip || c.Name == "" || c.Name == jobs.ReasonColumns[f.spec.Of] {
			continue
		}
		if i < len(f.Samples) && len(f.Samples[i]) > 0 {
			c.Name += " (" + giving.Clip(strings.Join(f.Samples[i], "; "), maxSamples) + ")"
		}
		if c.Doubt != "" {
			c.Name += ", perhaps " + c.Doubt
		}
		skipped = append(skipped, c.Name)
	}
	if len(skipped) > 0 {
		fmt.Fprintf(t.stderr, "Columns not imported: %s.\n", oneLine(strings.Join(skipped, ", ")))
	}
}

// maxSamples is how many characters of the first values of a column are told.
const maxSamples = 80

// record imports the file, or goes on with it.
func (c *fileImport) record(t *terminal, s *book.Book, f *openFile) (err error) {
	ctx := t.ctx
	if f.spec.Mapping, f.spec.Fields, err = s.MakeFields(ctx, f.account, f.spec.Mapping); err != nil {
		return err
	}
	watch := newWatch(t, watch{})
	im, known, err := s.ImportFile(ctx, f.account, f.rows, f.spec, f.Total, f.again, func(p jobs.ImportProgress) {
		watch.progress("importing "+f.noun, p.Rows, f.Total)
	})
	watch.end()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	result := im.Progress
	if err != nil {
		return fmt.Errorf("%w\n%s Run the same command again to resume", err, f.summary(result))
	}
	if known {
		fmt.Fprintf(t.stderr, "This file was imported on %s, as import %d: %s Nothing was changed. To import it again, use --again.\n",
			im.UpdatedAt.Format("January 2, 2006"), im.ID, f.summary(result))
		result = jobs.ImportProgress{ImportCounts: jobs.ImportCounts{Rows: result.Rows, Unchanged: result.Rows - result.Rejected, Rejected: result.Rejected}}
	}
	if err := errors.Join(c.reject(t, s, &im), t.tellLeftOut(s, &im)); err != nil {
		return err
	}
	return c.report(t, f, result, nil)
}

// report prints the result, and fails where rows are rejected.
func (c *fileImport) report(t *terminal, f *openFile, r jobs.ImportProgress, details []jobs.TrialRow) (err error) {
	if f.json {
		err = t.printJSON(f.result(r, details))
	} else {
		_, err = fmt.Fprintln(t.stdout, f.summary(r))
	}
	return errors.Join(err, c.rejections(r.Rejected))
}

// try says what would become of the rows, and writes those that would be rejected to the file.
func (c *fileImport) try(t *terminal, s *book.Book, f *openFile) (err error) {
	result, details, listed := jobs.ImportProgress{}, []jobs.TrialRow{}, map[string]int{}
	changes, err := openChanges(f.changes, c.Force)
	if err != nil {
		return err
	}
	watch := newWatch(t, watch{})
	all := func(each func(line int64, row jobs.RejectedRow) error) (err error) {
		result, err = s.TryFile(t.ctx, f.account, f.rows, f.spec, func(row jobs.TrialRow) error {
			changes.add(&row)
			if about := row.About(); f.lists(&row) && listed[about] < f.listed {
				listed[about]++
				details = append(details, row)
			}
			if row.Outcome != jobs.RowRejected {
				return nil
			}
			return each(row.Line, jobs.RejectedRow{Reason: row.Reason, Cells: row.Cells, Object: row.Object})
		}, func(r jobs.ImportCounts) { watch.progress("trying "+f.noun, r.Rows, f.Total) })
		return err
	}
	if c.Rejected != "" {
		err = c.writeRejected(&f.spec, all)
	} else {
		err = all(func(int64, jobs.RejectedRow) error { return nil })
	}
	watch.end()
	if err = errors.Join(err, changes.close()); err != nil {
		return err
	}
	f.tell(details, result)
	return c.report(t, f, result, details)
}

// maxTold is how many rejected rows are told where there is no file for them.
const maxTold = 20

// reject writes rejected rows to the file, or tells the first ones on standard error.
func (c *fileImport) reject(t *terminal, s *book.Book, im *jobs.Import) error {
	if c.Rejected != "" {
		return c.writeRejected(&im.Spec, func(each func(int64, jobs.RejectedRow) error) error { return s.RejectedRows(t.ctx, im, each) })
	}
	var first []jobs.TrialRow
	err := s.RejectedRows(t.ctx, im, func(line int64, row jobs.RejectedRow) error {
		if len(first) == maxTold {
			return io.EOF
		}
		first = append(first, jobs.TrialRow{Line: line, Reason: row.Reason})
		return nil
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	t.tellRejected(first, im.Progress.Rejected)
	return err
}

// tellLeftOut tells which rows were skipped and which values were left out, the first ones of many.
func (t *terminal) tellLeftOut(s *book.Book, im *jobs.Import) error {
	if im.Progress.LeftOut+im.Progress.Skipped == 0 {
		return nil
	}
	told := 0
	err := s.NotedRows(t.ctx, im, func(row jobs.TrialRow) error {
		isSkipped := row.Outcome == jobs.RowSkipped && row.Reason != ""
		if len(row.LeftOut) == 0 && !isSkipped {
			return nil
		}
		if told++; told > maxTold {
			return io.EOF
		}
		said := row.LeftOutInWords()
		if isSkipped {
			said = " Skipped: " + row.Reason + said
		}
		fmt.Fprintf(t.stderr, "Row %d:%s\n", row.Line, oneLine(said))
		return nil
	})
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(t.stderr, "More rows were skipped, or lack values.")
		err = nil
	}
	return err
}

// tellRejected tells of the first rows that are rejected, and how many more there are.
func (t *terminal) tellRejected(first []jobs.TrialRow, rejected int64) {
	for _, row := range first {
		fmt.Fprintf(t.stderr, "Row %d: %s\n", row.Line, oneLine(row.Reason))
	}
	if more := rejected - int64(len(first)); len(first) > 0 && more > 0 {
		fmt.Fprintf(t.stderr, "And %d more.\n", more)
	}
}

func (c *fileImport) writeRejected(spec *jobs.FileImport, all func(each func(line int64, row jobs.RejectedRow) error) error) error {
	file, err := createFile(c.Rejected, c.Force)
	if err != nil {
		return err
	}
	w, err := jobs.NewRejectedFile(file, strings.TrimPrefix(filepath.Ext(c.Rejected), "."), spec)
	if err == nil {
		err = errors.Join(all(func(_ int64, row jobs.RejectedRow) error { return w.Add(row) }), w.Close())
	}
	return file.finish(err)
}

// rejections is the error of an import that has rejected rows.
func (c *fileImport) rejections(n int64) error {
	if n == 0 {
		return nil
	}
	where := "; use --rejected FILE to get them in a file"
	if c.Rejected != "" {
		where = ", see " + c.Rejected
	}
	verb := plural(n, "row was", "rows were")
	if c.DryRun {
		verb = plural(n, "row would be", "rows would be")
	}
	return fmt.Errorf("%d %s rejected%s", n, verb, where)
}
