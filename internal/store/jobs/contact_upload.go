package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/table"
)

// A file that is uploaded is kept in parts until its import has ended, so that any node can read it.

const (
	MaxUpload   = 100 << 20
	PartSize    = 256 << 10
	OpenImports = 5 // files of an account that are kept at once
)

const (
	sqlOpenImports = `SELECT count(*) FROM job WHERE account_id = $1 AND kind = 'import'
		AND state IN ('uploading', 'mapping', 'waiting', 'running')`
	sqlPart    = `SELECT data FROM job_part WHERE account_id = $1 AND job_id = $2 AND number = $3`
	sqlMapping = `SELECT mapping FROM column_mapping WHERE account_id = $1 AND header = $2`
)

// The faults of an upload.
const (
	UploadTooLarge doc.Rule = "This file is larger than 100 MB. Split it, or ask your administrator to import it on the command line."
	TooManyImports doc.Rule = "This organization has 5 imports that are not finished. Finish or cancel one of them first."
)

// UploadImport keeps a file of contacts or of gifts, finds out what its columns mean as far as they can be recognized,
// and waits for a person to go on. Only a part of the file is in memory at a time. A file that is slow to arrive is in
// no one's way, and one that takes long to be read is read by the worker, after the answer.
func (s *JobStore) UploadImport(ctx context.Context, account int64, of, name, region string,
	file io.Reader,
) (im Import, err error) {
	if of != ImportContacts && of != ImportGifts {
		return im, store.Fault("of", doc.OneOf, ImportGifts)
	}
	var j Job
	err = s.UpdateAccount(ctx, account, func(t *store.Tx) error {
		n, err := t.Int(sqlOpenImports, account)
		switch {
		case err != nil:
			return err
		case n >= OpenImports:
			return store.Fault("file", TooManyImports)
		}
		made := NewJob(t.Account(account), ImportJob, JobUploading,
			FileImport{Of: of, Name: name, Mode: MergeExisting, Region: region, Unread: true})
		SaveJob(t, made)
		j = *made
		return nil
	})
	if err != nil {
		return im, err
	}
	if im, err = ImportOf(j); err == nil {
		im.Spec.Size, im.Spec.SHA256, err = s.KeepParts(ctx, &j, file, MaxUpload)
	}
	if err == nil {
		im, err = s.readSoon(ctx, im)
	}
	if err != nil {
		_, canceling := s.CancelJob(context.WithoutCancel(ctx), account, j.ID)
		return im, errors.Join(fileFault(err), canceling)
	}
	return im, nil
}

// readSoon reads the first rows of a file that has arrived while the person waits, or leaves that to the worker.
func (s *JobStore) readSoon(ctx context.Context, im Import) (Import, error) {
	soon, stop := context.WithTimeout(ctx, s.Files.Patience)
	defer stop()
	read, err := s.readUpload(soon, im, true)
	if later := errors.Is(err, errLarge) || soon.Err() != nil; err == nil || !later || ctx.Err() != nil {
		return read, err
	}
	j, err := s.ChangeJob(ctx, im.Account, im.ID, func(_ store.Unit, j *Job) error {
		if j.State != im.State {
			return crm.ErrChanged
		}
		j.State, j.Spec = JobWaiting, JSONOf(im.Spec)
		return nil
	})
	if err != nil {
		return im, err
	}
	s.WakeJobs()
	return ImportOf(j)
}

// KeepParts keeps a file part by part.
func (s *JobStore) KeepParts(ctx context.Context, j *Job, file io.Reader,
	limit int64,
) (size int64, sum string, err error) {
	digest, part := sha256.New(), make([]byte, PartSize)
	for number := int64(0); ; number++ {
		n, err := io.ReadFull(file, part)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return 0, "", err
		}
		if size += int64(n); size > limit {
			return 0, "", store.Fault("file", UploadTooLarge)
		}
		if n > 0 {
			digest.Write(part[:n])
			if err := s.KeepPart(ctx, j, number, part[:n]); err != nil {
				return 0, "", err
			}
		}
		if last {
			return size, hex.EncodeToString(digest.Sum(nil)), nil
		}
	}
}

// KeepPart keeps a part of a file, unless the import was canceled meanwhile: no one would remove it any more.
func (s *JobStore) KeepPart(ctx context.Context, j *Job, number int64, part []byte) error {
	leave, err := within(ctx, s.Files.keeping)
	if err != nil {
		return err
	}
	defer leave()
	_, err = s.ChangeJob(ctx, j.Account, j.ID, func(u store.Unit, now *Job) error {
		if now.State != JobUploading {
			return crm.ErrChanged
		}
		u.Insert(store.JobPartTable, j.Account, j.ID, number, part)
		return nil
	})
	return err
}

// readUpload reads the header of a file that was uploaded, and its first rows.
func (s *JobStore) readUpload(ctx context.Context, im Import, hurry bool) (Import, error) {
	leave, err := within(ctx, s.Files.headers)
	if err != nil {
		return im, err
	}
	file := &reading{ctx: ctx, files: s.Files, header: leave, hurry: hurry}
	defer file.Close()
	if err := file.begin(); err != nil {
		return im, err
	}
	rows, err := s.openUpload(&im, file)
	if err != nil {
		return im, err
	}
	im.Spec.Unread, im.Spec.Header, im.Spec.JSON, im.Spec.Sheets = false, rows.Header(), rows.Format == JSONLines,
		rows.OtherSheets
	im.Spec.FoundRow = rows.HeaderRow
	first, look, err := Preview(rows)
	if err != nil {
		return im, err
	}
	file.end()
	if im.Spec.Mapping, err = s.ColumnMapping(ctx, im.Account, im.Spec.Of, im.Spec.Header, look); err != nil {
		return im, err
	}
	changed, err := s.ChangeJob(ctx, im.Account, im.ID, func(u store.Unit, j *Job) error {
		if j.State != im.State {
			return crm.ErrChanged
		}
		if j.Kind != ImportJob {
			return crm.ErrChanged
		}
		j.State, j.Spec, j.Progress = JobMapping, JSONOf(im.Spec), JSONOf(ImportProgress{})
		u.Save(store.JobPartTable, j.Account, j.ID, PreviewPart, []byte(JSONOf(first)))
		return u.Run(sqlDropRows, j.Account, j.ID)
	})
	if err != nil {
		return im, err
	}
	return ImportOf(changed)
}

// ReadHeader reads the columns of an uploaded file again, from the row that a person has named.
func (s *JobStore) ReadHeader(ctx context.Context, im Import, row int) (Import, error) {
	im.Spec.HeaderRow = row
	im, err := s.readUpload(ctx, im, true)
	return im, fileFault(err)
}

// fileFault is a fault of the field file where a file cannot be read as a table.
func fileFault(err error) error {
	var broken *table.FileError
	if errors.As(err, &broken) {
		return store.Fault("file", "%v", broken.Message)
	}
	return err
}

// OpenTable opens a file that is imported. Its header is the row that a person has named, or else the one that looks
// like it.
func OpenTable(r io.ReaderAt, size int64, name string, headerRow int,
	hold func(bytes int64) error,
) (*table.Reader, error) {
	return table.OpenWith(r, size, name, table.Options{HeaderRow: headerRow, Header: sheet.FindHeader,
		Titled: sheet.CustomList, TitledMark: sheet.CustomMark, Hold: hold})
}

// openUpload opens the file of an import, whose turn it is.
func (s *JobStore) openUpload(im *Import, file *reading) (*table.Reader, error) {
	return OpenTable(&partReader{store: s, of: im.Of(), size: im.Spec.Size, reading: file}, im.Spec.Size, im.Spec.Name,
		im.Spec.HeaderRow, file.hold)
}

// The preview of a file is the first rows that can be read, and as much of each cell as a person looks at. It is kept
// beside the file until the import ends: a large workbook must not be unpacked for each view of a page.
const (
	PreviewPart  = int64(-1) // the number of the part that has it
	PreviewRows  = 5
	PreviewLook  = 1_000     // rows that are looked at to find them
	PreviewCell  = 1200      // bytes: with them, a long text is still known for one
	PreviewBytes = 256 << 10 // of all cells together
)

// Preview are the first rows of a file, and what more of them tell about its columns.
func Preview(file *table.Reader) (rows [][]string, look *sheet.Look, err error) {
	look = sheet.NewLook(len(file.Header()))
	file.MaxBlank = PreviewLook
	length := min(PreviewCell, PreviewBytes/PreviewRows/max(1, len(file.Header())))
	size := 0
	for n := 0; n < PreviewLook && err == nil; n++ {
		var row ImportRow
		if row, err = nextRow(file); err != nil || row.broken {
			continue
		}
		if look.See(row.Cells); len(rows) == PreviewRows {
			if size += row.size(); size > PreviewBytes*16 {
				break
			}
			continue
		}
		for i, cell := range row.Cells {
			row.Cells[i] = strings.ToValidUTF8(cell[:min(len(cell), length)], "")
		}
		rows = append(rows, row.Cells)
	}
	// the import will tell it
	if errors.Is(err, io.EOF) || errors.As(err, new(*table.FileError)) && len(rows) == PreviewRows {
		err = nil
	}
	return rows, look, err
}

// Preview are the first rows of the file of an import that has not ended.
func (s *JobStore) Preview(ctx context.Context, im *Import) (rows [][]string, err error) {
	text, err := store.Find(ctx, s.Store, crm.ErrNotFound, func(r db.Row) []byte { return bytes.Clone(r.Bytes(0)) },
		sqlPart, im.Account, im.ID, PreviewPart)
	if errors.Is(err, crm.ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &rows)
	}
	return rows, err
}

// partReader reads a file that is kept in parts. It holds some of them: a workbook is read at several places in turn.
type partReader struct {
	*reading
	store *JobStore
	of    JobOf
	size  int64
	held  [4]heldPart
	next  int
}

type heldPart struct {
	number int64
	data   []byte
}

func (r *partReader) ReadAt(p []byte, off int64) (n int, err error) {
	if err := r.pass(); err != nil { // a part that is held may unpack to much
		return 0, err
	}
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		part, err := r.part(at / PartSize)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], part[at%PartSize:])
	}
	return n, nil
}

func (r *partReader) part(number int64) ([]byte, error) {
	for _, held := range r.held {
		if held.number == number && held.data != nil {
			return held.data, nil
		}
	}
	data, err := store.Find(r.ctx, r.store.Store, ErrJobMoved,
		func(row db.Row) []byte { return bytes.Clone(row.Bytes(0)) }, sqlPart, r.of.Account, r.of.ID, number)
	if err == nil && int64(len(data)) != min(PartSize, r.size-number*PartSize) {
		err = errors.New("part of an uploaded file is damaged")
	}
	if err == nil {
		r.held[r.next%len(r.held)] = heldPart{number, data}
		r.next++
	}
	return data, err
}

// JSONLines is the format of a file whose rows are objects.
const JSONLines = "jsonl"

// headerKey is what a mapping is remembered by: what the rows are, and the header.
func headerKey(of string, header []string) string {
	sum := sha256.Sum256([]byte(strings.Join(header, "\x00")))
	return of + hex.EncodeToString(sum[:])
}

// SheetOf is what the columns of a file may become, by what its rows are.
func SheetOf(of string) *sheet.Sheet {
	if of == ImportGifts {
		return sheet.Gifts
	}
	return sheet.Contacts
}

// ColumnMapping is how the columns of a file with this header were mapped last, or else what they are recognized as.
func (s *JobStore) ColumnMapping(ctx context.Context, account int64, of string, header []string,
	look *sheet.Look,
) (m sheet.Mapping, err error) {
	fields, err := s.CustomFields(ctx, account)
	if err != nil {
		return nil, err
	}
	text, err := store.Find(ctx, s.Store, crm.ErrNotFound, func(r db.Row) string { return r.Text(0) }, sqlMapping,
		account, headerKey(of, header))
	if errors.Is(err, crm.ErrNotFound) {
		return SheetOf(of).Recognize(header, fields, look), nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &m)
	}
	for i := range m {
		if id := m[i].CustomField(); id != 0 && fields.Find(id) == nil { // it has ended since
			m[i].Target = sheet.Skip
		}
	}
	return m, err
}

// MakeFields makes the custom fields that columns are to become, and is the mapping with them. A column whose name is
// the title of a field goes there. made are those that are new.
func (s *JobStore) MakeFields(ctx context.Context, account int64,
	mapping sheet.Mapping,
) (as sheet.Mapping, made []int64, err error) {
	mapping = slices.Clone(mapping)
	for i := range mapping {
		kind, isNew := strings.CutPrefix(mapping[i].Target, sheet.NewFieldPrefix)
		if !isNew {
			continue
		}
		fields, err := s.CustomFields(ctx, account)
		if err != nil {
			return nil, made, err
		}
		title := sheet.FieldTitle(mapping[i].Name)
		if field := fields.ByTitle(title); field != nil {
			mapping[i].Target = sheet.CustomField(field.ID)
			continue
		}
		field, err := s.DefineField(ctx, account, custom.FieldInput{Title: title, Type: custom.FieldType(kind)})
		if err != nil {
			return nil, made, err
		}
		mapping[i].Target = sheet.CustomField(field.ID)
		made = append(made, field.ID)
	}
	return mapping, made, nil
}

// rememberMapping notes how the columns were mapped, for the next file with the same header.
func rememberMapping(t *store.Tx, account int64, spec *FileImport) {
	if spec.Of == ImportGifts && spec.JSON {
		return // their columns are not mapped
	}
	t.Save(store.MappingTable, account, headerKey(spec.Of, spec.Header), string(JSONOf(spec.Mapping)), t.Author.At)
}
