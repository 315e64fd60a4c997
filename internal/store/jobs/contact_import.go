package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store"
	"donorbook/internal/table"
)

// An import makes contacts of the rows of a file, as CreateContact does with each of them, or gifts, as CreateGift
// does. It is a job: some rows after the others are decided about in one transaction, which also notes how many rows
// are done, so that nothing is done twice.

// FileImport says how a file is imported. It is the spec of the job.
type FileImport struct {
	Of     string `json:"of,omitempty"` // what its rows are: ImportContacts or ImportGifts
	Name   string `json:"name"`         // of the file
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Local  bool   `json:"local,omitempty"` // the command line reads the file; otherwise it was uploaded
	JSON   bool   `json:"json,omitempty"`  // its rows are objects
	// of contacts: what becomes of a row about one who exists; of gifts LeaveCampaigns or none
	Mode      ImportMode    `json:"mode"`
	Region    string        `json:"region"` // of phone numbers without +
	Header    []string      `json:"header"`
	FoundRow  int           `json:"found_row,omitempty"`  // the row that names the columns
	HeaderRow int           `json:"header_row,omitempty"` // the same, where a person has said it
	Mapping   sheet.Mapping `json:"mapping"`
	Trial     bool          `json:"trial,omitempty"`  // a dry run is under way
	Unread    bool          `json:"unread,omitempty"` // it was uploaded, and its header is not known yet
	Sheets    []string      `json:"sheets,omitempty"` // others of its workbook, which have rows, too, and are not read

	// what becomes of a row with the email or phone of a contact of another name, or of a gift with the ID of one; ""
	// is KeepBoth
	OtherName ImportMode `json:"other_name,omitempty"`
	// of contacts: what is merged overwrites, and does not only fill what is empty
	FileIsRight bool    `json:"file_is_right,omitempty"`
	UsualNames  bool    `json:"usual_names,omitempty"` // names in capitals are written in the usual form
	MatchNames  bool    `json:"match_names,omitempty"` // of gifts: a giver may be found by name and address
	Thanks      bool    `json:"thanks,omitempty"`      // of gifts: new ones wait for thanks
	Fields      []int64 `json:"fields,omitempty"`      // of contacts: custom fields that were made for it
	Days        string  `json:"-"`                     // how the columns write days, as sheet.Rows.Days takes it
}

// rule is what the import does about contacts that exist.
func (spec *FileImport) rule() crm.ImportRule {
	return crm.ImportRule{Existing: CreateModes[spec.Mode], OtherName: OtherNameModes[spec.OtherName],
		FileIsRight: spec.FileIsRight}
}

// What the rows of a file are.
const (
	ImportContacts = ""
	ImportGifts    = "gifts"
)

// ImportMode is what an import does with a row that is about a contact who exists.
type ImportMode string

// The modes of imports.
const (
	MergeExisting ImportMode = "merge"
	ForceCreate   ImportMode = "force"
	SkipExisting  ImportMode = "skip"
	KeepBoth      ImportMode = "keep" // of rows with another name alone
)

// LeaveCampaigns is the mode of an import of gifts that makes no campaigns: a gift whose campaign does not exist has
// none.
const LeaveCampaigns ImportMode = "leave"

var CreateModes = map[ImportMode]crm.CreateMode{MergeExisting: crm.Dedupe, ForceCreate: crm.Force,
	SkipExisting: crm.Skip}

// OtherNameModes are what may become of a row with the email or phone of a contact of another name.
var OtherNameModes = map[ImportMode]crm.CreateMode{"": crm.Force, KeepBoth: crm.Force, MergeExisting: crm.Dedupe,
	SkipExisting: crm.Skip}

// ImportCounts is how many rows were read, and what became of them. A gift that is recorded is created, one that was
// known by its external id is unchanged, and a row that has told what became of a gift, as a refund does, is merged.
type ImportCounts struct {
	Rows      int64 `json:"rows"`
	Created   int64 `json:"created"`
	Merged    int64 `json:"merged"`
	Unchanged int64 `json:"unchanged"`
	Rejected  int64 `json:"rejected"`
	Contacts  int64 `json:"new_contacts,omitempty"` // that gifts have made
	Skipped   int64 `json:"skipped,omitempty"`      // with the email or phone of a contact of another name
	// rows with the email or phone of a contact of another name, whatever became of them
	OtherName int64 `json:"other_name,omitempty"`
	LeftOut   int64 `json:"left_out,omitempty"`  // cells that no contact or gift can have
	Anonymous int64 `json:"anonymous,omitempty"` // gifts that no one is named for
	Waiting   int64 `json:"waiting,omitempty"`   // refunds that wait for their gift
	// rows that mark a contact who must not be mailed, emailed or called
	Marked   int64 `json:"marked,omitempty"`
	Capitals int64 `json:"capitals,omitempty"` // rows with a name in capitals, or without any
	Matches  int64 `json:"matches,omitempty"`  // gifts of companies that were recorded beside those of rows
}

// ImportProgress is how far an import has come.
type ImportProgress struct {
	ImportCounts
	Total int64         `json:"total"`           // rows of the file; 0 while that is not known
	Days  string        `json:"days,omitempty"`  // how the columns write days, known together with Total
	Tried *ImportCounts `json:"tried,omitempty"` // what the last dry run has found
	Error string        `json:"error,omitempty"` // why it failed

	Before int64 `json:"before,omitempty"` // how many contacts there were when it began
	// of gifts: what the rows add to all sums, in the smallest unit of each currency
	Counted map[string]int64 `json:"counted,omitempty"`
	// values of gifts that the dry run could not tell the meaning of, up to a limit
	Unknown []sheet.UnknownValue `json:"unknown,omitempty"`
}

// Import is a job that imports a file.
type Import struct {
	Job
	Spec     FileImport
	Progress ImportProgress
}

// ImportOf reads what a job says about an import.
func ImportOf(j Job) (im Import, err error) {
	im.Job = j
	return im, errors.Join(json.Unmarshal(j.Spec, &im.Spec), json.Unmarshal(j.Progress, &im.Progress))
}

// RejectedRow is what is kept of a row that was rejected.
type RejectedRow struct {
	Reason string   `json:"reason"`
	Cells  []string `json:"cells"`
	Object string   `json:"object,omitempty"` // of a gift in JSON: the row with its reason, instead of cells
}

// UnitRows is how many rows of a file are decided about together at most, and unitBytes how many bytes they have
// together, about. Tests have smaller units.
var UnitRows = 400

const UnitBytes = 4 << 20

// ImportRun is an import that this process works on.
type ImportRun struct {
	store   *JobStore
	account int64
	spec    FileImport
	rows    *table.Reader
	inputs  *sheet.Rows // makes inputs of rows of contacts
	gifts   *giftRows   // reads rows of gifts; nil where they are contacts
	fields  atomic.Pointer[custom.Fields]
	zone    atomic.Pointer[time.Location] // of the organization: times of files that name none are in it
	read    int64                         // rows that were decided about, as the job knows
	Survey                                // of the file, where a worker has looked through it
	Ahead   chan *importUnit              // the next unit, which is prepared while the one before is committed
	trial   *trial                        // nil where it is no dry run
	sources map[int64]bool                // imports before: whether their files come from the same source
	givers  *seen                         // who gave the gifts of rows that have nothing but a name
	// a worker does not wait for the file; nil where this process has nothing else to do
	Beside *reading

	Started time.Time
	passed  int64                         // rows that were taken from the file
	again   func() (*table.Reader, error) // opens it once more
	Opening time.Duration                 // how long that takes
}

// importUnit is some rows of a file.
type importUnit struct {
	Rows []ImportRow
	End  bool  // the file has no more
	Err  error // of the file
}

// ImportRow is one row, decided about as far as it can be without the database.
type ImportRow struct {
	Line     int64
	broken   bool              // it cannot be read
	isRemark bool              // it is about no one
	contact  *store.NewContact // nil where the row is rejected, or is a gift
	Gift     *giftRow
	promise  *store.Promise // whose reference the row has; nil for none
	match    *ImportRow     // what a company adds to the gift; nil for nothing
	left     []crm.LeftOut
	needs    store.Needs // what it looks up
	RejectedRow
}

// fresh is a row to decide about, which makes of it what fits the account: a unit of work that is done again begins
// with what was read.
func (row *ImportRow) fresh() *ImportRow {
	is := *row
	if row.contact != nil {
		contact := *row.contact
		is.contact = &contact
	}
	if row.Gift != nil {
		gift, read := *row.Gift, *row.Gift.GiftRow
		gift.GiftRow = &read
		if read.Filed != nil {
			filed := *read.Filed
			read.Filed = &filed
		}
		is.Gift = &gift
	}
	if row.match != nil {
		is.match = row.match.fresh()
	}
	return &is
}

// personName is the name of the contact, or of the giver.
func (row *ImportRow) personName() crm.PersonName {
	switch {
	case row.contact != nil:
		return row.contact.In.PersonName()
	case row.Gift != nil:
		return row.Gift.Giver.PersonName()
	}
	return crm.PersonName{}
}

func (s *JobStore) newRun(account int64, spec FileImport, done int64) *ImportRun {
	r := &ImportRun{store: s, account: account, spec: spec,
		inputs: sheet.Contacts.Rows(spec.Mapping, spec.Region).UsualNames(spec.UsualNames), read: done,
		Started: time.Now(), Ahead: make(chan *importUnit, 1)}
	r.givers, r.sources = newSeen(), make(map[int64]bool)
	return r
}

// newTry is the run of a dry run, which begins with the first row.
func (s *JobStore) newTry(account int64, spec FileImport) *ImportRun {
	r := s.newRun(account, spec, 0)
	r.trial = newTrial()
	r.givers = r.trial.seen
	return r
}

// begun is the progress of an import that has done nothing yet.
func (p *ImportProgress) begun() ImportProgress { return ImportProgress{Total: p.Total, Days: p.Days} }

// begin reads on after the rows that are done.
func (r *ImportRun) begin(ctx context.Context, rows *table.Reader) error {
	err := r.open(ctx, rows)
	if err == nil {
		r.ReadOn(r.Prepare)
	}
	return err
}

// open leaves the rows of a file behind that are done.
func (r *ImportRun) open(ctx context.Context, rows *table.Reader) error {
	r.inputs.Days(r.spec.Days)
	if err := r.readFields(ctx); err != nil {
		return err
	}
	known := recall{run: r, keys: make(map[string][]string)}
	if err := r.skip(rows, r.read, func(row *ImportRow) error { return known.see(ctx, row) }); err != nil {
		return err
	}
	return known.look(ctx)
}

// skip begins with a file again, and leaves some of its rows behind, which see may look at.
func (r *ImportRun) skip(rows *table.Reader, n int64, see func(*ImportRow) error) (err error) {
	r.rows, r.passed = rows, n
	switch {
	case r.gifts != nil:
		err = r.gifts.begin(&r.spec, rows)
	case r.spec.Of == ImportGifts:
		r.gifts, err = r.store.NewGiftRows(r.account, &r.spec, rows)
	}
	for ; n > 0 && err == nil; n-- {
		var row ImportRow
		if row, err = r.next(); err == nil {
			err = see(&row)
		}
	}
	return err
}

// next is the next row, or what is wrong with it.
func (r *ImportRun) next() (ImportRow, error) {
	if r.gifts != nil {
		return r.gifts.Next()
	}
	return nextRow(r.rows)
}

// nextRow is the next row, or what is wrong with it.
func nextRow(rows *table.Reader) (row ImportRow, err error) {
	cells, line, err := rows.Next()
	var broken *table.RowError
	if errors.As(err, &broken) {
		row.broken, row.Reason, cells, line, err = true, broken.Message, broken.Row, broken.Line, nil
	}
	row.Line, row.Cells = int64(line), slices.Clone(cells)
	return row, err
}

// take is the next unit. The one after it is prepared meanwhile. It is errReading where a worker would have to wait.
func (r *ImportRun) take() (u *importUnit, err error) {
	if r.Beside == nil {
		u = <-r.Ahead
	} else if u = r.Beside.take(r.Ahead); u == nil {
		return nil, errReading
	}
	if u.End || u.Err != nil {
		r.Ahead <- u // there is no other one
	} else {
		r.ReadOn(r.Prepare)
	}
	return u, u.Err
}

// Close waits for what is being prepared.
func (r *ImportRun) Close() {
	if r.trial != nil {
		defer r.trial.rows.close()
	}
	if r.Beside != nil {
		r.Beside.stop()
		defer r.Beside.Close()
	}
	<-r.Ahead
}

// Prepare reads some rows, and makes everything of them that needs no database.
func (r *ImportRun) Prepare() *importUnit {
	u, now := new(importUnit), r.now()
	for size := 0; len(u.Rows) < r.most() && size < UnitBytes; {
		row, err := r.next()
		if err != nil {
			u.End = errors.Is(err, io.EOF)
			if !u.End {
				u.Err = err
			}
			break
		}
		r.interpret(&row, now)
		for _, cell := range row.Cells {
			size += len(cell)
		}
		u.Rows = append(u.Rows, row)
	}
	r.passed += int64(len(u.Rows))
	return u
}

// most is how many rows a unit has at most.
func (r *ImportRun) most() int {
	switch {
	case r.trial != nil:
		return min(UnitRows, store.PrefetchLimit) // so that all contacts are looked up together
	case r.gifts != nil:
		return min(UnitRows, UnitGifts)
	}
	return UnitRows
}

// readFields reads the definitions of custom fields, and the time zone.
func (r *ImportRun) readFields(ctx context.Context) error {
	fields, err := r.store.CustomFields(ctx, r.account)
	if err != nil {
		return err
	}
	r.fields.Store(fields)
	zone, err := r.store.Timezone(ctx, r.account)
	r.zone.Store(zone)
	return err
}

// now is the time in the organization's zone, by which today is told.
func (r *ImportRun) now() time.Time { return r.store.Now().In(r.zone.Load()) }

// interpret makes a contact of a row, or says why that cannot be. A row of gifts is checked.
func (r *ImportRun) interpret(row *ImportRow, now time.Time) {
	switch {
	case row.Gift != nil:
		row.Gift.Check(r.spec.Region, now)
		if row.match = row.matching(); row.match != nil {
			row.match.Gift.Check(r.spec.Region, now)
		}
		return
	case row.broken:
		return
	}
	if row.isRemark = r.inputs.IsRemark(row.Cells); row.isRemark {
		row.contact, row.Reason = nil, "The row is a remark, or adds up those above it."
		return
	}
	in := r.inputs.Input(row.Cells)
	left, err := in.ValidateRow(r.fields.Load(), r.spec.Region, now)
	row.left = r.inputs.Quoted(left, row.Cells)
	row.contact, row.Reason = nil, ""
	if err == nil {
		row.contact, err = store.PrepareContact(r.account, in, CreateModes[r.spec.Mode], now)
	}
	if err != nil {
		row.Reason = ReasonOf(err)
	}
}

// deciding runs a unit of work about rows. Where someone has changed the definitions of custom fields, the rows are
// made anew.
func (r *ImportRun) deciding(ctx context.Context, u *importUnit, work func() error) error {
	return store.Repeat(func() error {
		err := work()
		if errors.Is(err, store.ErrAgain) {
			if err := r.readFields(ctx); err != nil {
				return err
			}
			for i := range u.Rows {
				r.interpret(&u.Rows[i], r.now())
			}
		}
		return err
	})
}

// needs is what the rows look up.
func (r *ImportRun) needs(u *importUnit) (n store.Needs) {
	for i := range u.Rows {
		for row := &u.Rows[i]; row != nil; row = row.match {
			row.needs = r.needsOf(row)
			n.More = append(n.More, row.needs)
		}
	}
	return n
}

func (r *ImportRun) needsOf(row *ImportRow) (n store.Needs) {
	switch {
	case row.contact != nil:
		return row.contact.Needs()
	case row.Gift == nil:
		return n
	case row.Reason == "":
		n = store.NewGiftNeeds(r.account, &row.Gift.GiftInput)
		n.Contact = cmp.Or(r.givers.first(row.Gift.giverKeys()...), n.Contact)
	}
	if row.Gift.Own != "" {
		n.Gifts = append(n.Gifts, store.CodeID(r.account, row.Gift.Own))
	}
	return n
}

// step imports some more rows. At the end of the file, the job ends.
func (r *ImportRun) step(ctx context.Context, j *Job) error {
	at, err := ImportOf(*j)
	if err != nil {
		return err
	}
	u, err := r.take()
	if err == nil {
		err = r.findCampaigns(ctx, u, func(n store.Needs, fn func(*store.Tx) error) error {
			return r.store.Advance(ctx, j, n, func(unit store.Unit, _ *Job) error { return fn(unit.Tx) })
		})
	}
	if err != nil {
		return err
	}
	at.Progress.Total, at.Progress.Days = cmp.Or(at.Progress.Total, r.Total), r.spec.Days
	err = r.deciding(ctx, u, func() error { return r.store.Advance(ctx, j, r.needs(u), r.importing(u, at.Progress)) })
	if err == nil {
		r.givers.endUnit()
		r.read += int64(len(u.Rows))
	}
	return err
}

// importing decides about the rows of a unit of work.
func (r *ImportRun) importing(u *importUnit, at ImportProgress) func(u store.Unit, next *Job) error {
	now := r.store.Now()
	return func(unit store.Unit, next *Job) error {
		progress := at
		if at.Rows == 0 {
			progress.Before = unit.ContactSeq
		}
		r.givers.beginUnit()
		for i := range u.Rows {
			row := u.Rows[i].fresh()
			out, err := r.decide(unit, row, progress.Before, now)
			if err != nil {
				return err
			}
			progress.add(out.currency, out.counted)
			progress.count(&out)
			if out.Outcome == RowRejected {
				NoteRow(unit.Tx, next, JobRow{Number: row.Line, Outcome: RowRejected,
					Data: JSONOf(row.Rejected(out.Reason))})
			} else if out.OtherName || out.waits || len(out.LeftOut) > 0 || out.Outcome == RowSkipped &&
				out.Reason != "" {
				NoteRow(unit.Tx, next, JobRow{Number: row.Line, Outcome: out.Outcome, Contact: out.about,
					Data: JSONOf(out)})
			}
		}
		next.Progress = JSONOf(progress)
		if u.End {
			return EndJob(unit.Tx, next, JobDone)
		}
		return nil
	}
}
