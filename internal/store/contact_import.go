package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/table"
)

// An import makes contacts of the rows of a file, as CreateContact does with each of them. It is a job: some rows after the others are
// decided about in one transaction, which also notes how many rows are done, so that nothing is done twice.

// ContactImport says how a file of contacts is imported. It is the spec of the job.
type ContactImport struct {
	Name    string      `json:"name"` // of the file
	Size    int64       `json:"size"`
	SHA256  string      `json:"sha256"`
	Local   bool        `json:"local,omitempty"` // the command line reads the file; otherwise it was uploaded
	Mode    ImportMode  `json:"mode"`
	Region  string      `json:"region"` // of phone numbers without +
	Header  []string    `json:"header"`
	Mapping crm.Mapping `json:"mapping"`
	Trial   bool        `json:"trial,omitempty"`   // a dry run is under way
	Preview [][]string  `json:"preview,omitempty"` // the first rows of a file that was uploaded
	Sheets  []string    `json:"sheets,omitempty"`  // others of its workbook, which have rows, too, and are not read
}

// ImportMode is what an import does with a row that is about a contact who exists.
type ImportMode string

// The modes of imports.
const (
	MergeExisting ImportMode = "merge"
	ForceCreate   ImportMode = "force"
	SkipExisting  ImportMode = "skip"
)

var createModes = map[ImportMode]crm.CreateMode{MergeExisting: crm.Dedupe, ForceCreate: crm.Force, SkipExisting: crm.Skip}

// ImportCounts is how many rows were read, and what became of them.
type ImportCounts struct {
	Rows      int64 `json:"rows"`
	Created   int64 `json:"created"`
	Merged    int64 `json:"merged"`
	Unchanged int64 `json:"unchanged"`
	Rejected  int64 `json:"rejected"`
}

// ImportProgress is how far an import has come.
type ImportProgress struct {
	ImportCounts
	Total int64         `json:"total"`           // rows of the file; 0 while that is not known
	Tried *ImportCounts `json:"tried,omitempty"` // what the last dry run has found
	Error string        `json:"error,omitempty"` // why it failed
}

// Import is a job that imports contacts.
type Import struct {
	Job
	Spec     ContactImport
	Progress ImportProgress
}

// ImportOf reads what a job says about an import.
func ImportOf(j Job) (im Import, err error) {
	im.Job = j
	return im, errors.Join(json.Unmarshal(j.Spec, &im.Spec), json.Unmarshal(j.Progress, &im.Progress))
}

// The outcomes of rows.
const (
	RowCreated   = "created"
	RowMerged    = "merged"
	RowUnchanged = "unchanged"
	RowRejected  = "rejected"
)

// RejectedRow is what is kept of a row that was rejected.
type RejectedRow struct {
	Reason string   `json:"reason"`
	Cells  []string `json:"cells"`
}

// unitRows is how many rows of a file are decided about together at most, and unitBytes how many bytes they have together, about. Tests have
// smaller units.
var unitRows = 400

const unitBytes = 4 << 20

// importRun is an import that this process works on.
type importRun struct {
	store   *Store
	account int64
	spec    ContactImport
	rows    *table.Reader
	inputs  *crm.ContactRows // makes inputs of rows
	fields  atomic.Pointer[crm.CustomFields]
	read    int64            // rows that were taken from the file and decided about
	ahead   chan *importUnit // the next unit, which is prepared while the one before is committed
	trial   *trial           // nil where it is no dry run
}

// importUnit is some rows of a file.
type importUnit struct {
	rows []importRow
	end  bool  // the file has no more
	err  error // of the file
}

// importRow is one row, decided about as far as it can be without the database.
type importRow struct {
	line    int64
	broken  bool        // it cannot be read
	contact *newContact // nil where the row is rejected
	RejectedRow
}

// newRun goes on with an import after the rows that are done.
func (s *Store) newRun(ctx context.Context, account int64, spec ContactImport, rows *table.Reader, done int64) (*importRun, error) {
	r := &importRun{store: s, account: account, spec: spec, rows: rows, inputs: spec.Mapping.Rows(spec.Region), read: done}
	if err := r.readFields(ctx); err != nil {
		return nil, err
	}
	for range done {
		if _, err := nextRow(rows); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// nextRow is the next row, or what is wrong with it.
func nextRow(rows *table.Reader) (row importRow, err error) {
	cells, line, err := rows.Next()
	var broken *table.RowError
	if errors.As(err, &broken) {
		row.broken, row.Reason, cells, line, err = true, broken.Message, broken.Row, broken.Line, nil
	}
	row.line, row.Cells = int64(line), slices.Clone(cells)
	return row, err
}

// CountRows reads a whole file, so that one that is broken is refused before anything is imported.
func CountRows(ctx context.Context, rows *table.Reader) (n int64, err error) {
	for ; err == nil; n++ {
		if err = ctx.Err(); err == nil {
			_, err = nextRow(rows)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n - 1, err
}

// take is the next unit. The one after it is prepared meanwhile.
func (r *importRun) take() *importUnit {
	if r.ahead == nil {
		r.ahead = make(chan *importUnit, 1)
		r.ahead <- r.prepare()
	}
	u := <-r.ahead
	if u.end || u.err != nil {
		r.ahead <- u // there is no other one
		return u
	}
	go func() { r.ahead <- r.prepare() }()
	return u
}

// close waits for what is being prepared.
func (r *importRun) close() {
	if r.ahead != nil {
		<-r.ahead
	}
}

// prepare reads some rows, and makes everything of them that needs no database.
func (r *importRun) prepare() *importUnit {
	u, now := new(importUnit), r.store.now()
	for size := 0; len(u.rows) < unitRows && size < unitBytes; {
		row, err := nextRow(r.rows)
		if err != nil {
			u.end = errors.Is(err, io.EOF)
			if !u.end {
				u.err = err
			}
			break
		}
		r.interpret(&row, now)
		for _, cell := range row.Cells {
			size += len(cell)
		}
		u.rows = append(u.rows, row)
	}
	return u
}

// readFields reads the definitions of custom fields.
func (r *importRun) readFields(ctx context.Context) error {
	fields, err := r.store.CustomFields(ctx, r.account)
	r.fields.Store(fields)
	return err
}

// interpret makes a contact of a row, or says why that cannot be.
func (r *importRun) interpret(row *importRow, now time.Time) {
	if row.broken {
		return
	}
	in := r.inputs.Input(row.Cells)
	err := in.Validate(&crm.Invalid{}, true, r.spec.Region, now)
	if err == nil && len(in.Custom) > 0 {
		err = in.CheckCustom(r.fields.Load())
	}
	row.contact, row.Reason = nil, ""
	if err == nil {
		row.contact, err = prepareContact(r.account, in, createModes[r.spec.Mode], now)
	}
	if err != nil {
		row.Reason = reasonOf(err)
	}
}

// deciding runs a unit of work about rows. Where someone has changed the definitions of custom fields, the rows are made anew.
func (r *importRun) deciding(ctx context.Context, u *importUnit, work func() error) error {
	return repeat(func() error {
		err := work()
		if errors.Is(err, errAgain) {
			if err := r.readFields(ctx); err != nil {
				return err
			}
			for i := range u.rows {
				r.interpret(&u.rows[i], r.store.now())
			}
		}
		return err
	})
}

// reasonOf tells a person why a row is rejected; "" is for an error that is not the row's.
func reasonOf(err error) string {
	var refused *crm.Invalid
	var damaged *Damaged
	switch {
	case errors.As(err, &refused):
		return refused.AllFaults()
	case errors.As(err, &damaged):
		return "The contact that this row is about is damaged. Ask the operator to check the database."
	}
	return ""
}

// needs is what the rows look up.
func (u *importUnit) needs() (n needs) {
	for i := range u.rows {
		if c := u.rows[i].contact; c != nil {
			n.more = append(n.more, c.needs())
		}
	}
	return n
}

// importRow decides about a row: what became of it, and the contact, or why it is rejected.
func (t *tx) importRow(account int64, row *importRow, mode crm.CreateMode, now time.Time) (outcome string, made Document, reason string, err error) {
	if row.contact == nil {
		return RowRejected, made, row.Reason, nil
	}
	made, err = t.createContact(account, row.contact, mode, now)
	switch {
	case err != nil:
		if reason = reasonOf(err); reason != "" {
			err = nil
		}
		return RowRejected, made, reason, err
	case made.Created:
		return RowCreated, made, "", nil
	case bytes.Equal(made.Body, made.Before):
		return RowUnchanged, made, "", nil
	}
	return RowMerged, made, "", nil
}

// count notes what became of a row.
func (r *ImportCounts) count(outcome string) {
	r.Rows++
	switch outcome {
	case RowCreated:
		r.Created++
	case RowMerged:
		r.Merged++
	case RowUnchanged:
		r.Unchanged++
	case RowRejected:
		r.Rejected++
	}
}

// step imports some more rows. At the end of the file, the job ends.
func (r *importRun) step(ctx context.Context, j *Job) error {
	at, err := ImportOf(*j)
	if err != nil {
		return err
	}
	u := r.take()
	if u.err != nil {
		return u.err
	}
	err = r.deciding(ctx, u, func() error { return r.store.advance(ctx, j, u.needs(), r.importing(u, at.Progress)) })
	if err == nil {
		r.read += int64(len(u.rows))
	}
	return err
}

// importing decides about the rows of a unit of work.
func (r *importRun) importing(u *importUnit, at ImportProgress) func(t *tx, a *accountUnit, next *Job) error {
	now, mode := r.store.now(), createModes[r.spec.Mode]
	return func(t *tx, _ *accountUnit, next *Job) error {
		progress := at
		for i := range u.rows {
			row := &u.rows[i]
			outcome, _, reason, err := t.importRow(r.account, row, mode, now)
			if err != nil {
				return err
			}
			if progress.count(outcome); outcome == RowRejected {
				t.noteRow(next, JobRow{Number: row.line, Outcome: RowRejected, Data: jsonOf(RejectedRow{reason, row.Cells})})
			}
		}
		next.Progress = jsonOf(progress)
		if u.end {
			return t.endJob(next, JobDone)
		}
		return nil
	}
}
