package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/jobs"
	"donorbook/internal/web"
)

const (
	importsPerPage = 25
	rowsShown      = 20   // of each kind that a dry run tells of, or that were rejected
	rowsKept       = 5000 // that are shown on demand
	maxFileName    = 120  // characters that are kept
	maxContents    = 20   // bytes of the word that says what is in a file
)

// uploads bounds how many files arrive at once. One that is slow holds little: a part of it, which is kept in the database when it is complete.
type uploads struct {
	mu       sync.Mutex
	accounts map[int64]bool
}

// maxUploads is how many files arrive at once, one of each organization: parts of them take 25 MB of memory together.
const maxUploads = 100

var errUploads = &web.Error{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"10"}},
	Message: "Another file is being uploaded. Nothing was imported. Wait until the other file has arrived, then try again."}

// begin takes a place for an upload; end gives it back.
func (u *uploads) begin(account int64) (end func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.accounts[account] || len(u.accounts) >= maxUploads {
		return nil, errUploads
	}
	if u.accounts == nil {
		u.accounts = make(map[int64]bool)
	}
	u.accounts[account] = true
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.accounts, account)
	}, nil
}

func importPath(id int64) string { return "/imports/" + strconv.FormatInt(id, 10) }

// importRow is one line of the list of imports.
type importRow struct {
	jobs.Import
	Address string
	State   mark
	By      string // who has begun it
}

// NotRead tells whether the file could not be read.
func (row importRow) NotRead() bool { return notRead(&row.Import) }

// Canceled tells whether a person has ended the import.
func (row importRow) Canceled() bool { return row.Import.State == jobs.JobCanceled }

// OfGifts tells whether the rows of the file are gifts. Otherwise they are contacts.
func (row importRow) OfGifts() bool { return row.Spec.Of == jobs.ImportGifts }

// importsView is the form for a file, and the imports so far.
type importsView struct {
	Rows     []importRow
	Contents []option // what may be in a file
	Older    string   // address of the next page
	Limit    int64    // bytes of a file
}

// contentsField is what a person says is in the file: contacts, unless it is one of the other choices.
const (
	contentsField    = "of"
	contactsContents = "contacts"
)

var importContents = newOptions(contactsContents+"=Contacts", jobs.ImportGifts+"=Gifts")

// contentsOf is what the store calls the contents of a file.
func contentsOf(f *form) string {
	if of := f.Value(contentsField); of != contactsContents {
		return of
	}
	return jobs.ImportContacts
}

func (r *request) importsPage() error {
	before, err := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64)
	if err != nil || before < 1 {
		before = 1 << 62
	}
	imports, more, err := r.store.Imports(r.Context(), r.account(), before, importsPerPage)
	if err != nil {
		return err
	}
	people, err := r.peopleOf()
	if err != nil {
		return err
	}
	r.form.setUnsent(contentsField, cmp.Or(r.URL.Query().Get(contentsField), contactsContents))
	view := importsView{Limit: jobs.MaxUpload, Contents: importContents}
	for _, im := range imports {
		state, err := r.undoMark(&im.Job, importState(&im))
		if err != nil {
			return err
		}
		view.Rows = append(view.Rows, importRow{im, r.path(importPath(im.ID)), state, people.called(im.Actor)})
	}
	if more {
		view.Older = r.path("/contacts/import?before=" + strconv.FormatInt(imports[len(imports)-1].ID, 10))
	}
	return r.render("imports", page{Title: "Import", Section: "imports", Form: r.form, Data: view})
}

// importStates are words for where imports stand.
var importStates = map[jobs.JobState]mark{
	jobs.JobMapping: {"Waiting for you", "warn"}, jobs.JobWaiting: {"In progress", "warn"}, jobs.JobRunning: {"In progress", "warn"},
	jobs.JobDone: {"Done", "good"}, jobs.JobFailed: {"Failed", "bad"}, jobs.JobCanceled: {"Canceled", ""},
}

func importState(im *jobs.Import) mark {
	switch {
	case notRead(im):
		return mark{"Not read", "bad"}
	case im.State == jobs.JobCanceled && im.First != 0:
		return jobStates[jobs.JobCanceled]
	case im.Working() && im.Spec.Local:
		return mark{"Command line", "warn"}
	}
	return importStates[im.State]
}

// notRead tells whether a file did not arrive as a whole, or is no table.
func notRead(im *jobs.Import) bool {
	return (im.State == jobs.JobCanceled || im.State == jobs.JobFailed) && len(im.Spec.Header) == 0
}

// uploadImport takes a file. It is not held in memory, so that it may be long.
func (r *request) uploadImport() error {
	end, err := r.uploads.begin(r.account())
	if err != nil {
		return err
	}
	defer end()
	part, err := filePart(r.w, r.Request, r.form)
	if err != nil {
		return err
	}
	im, err := r.store.UploadImport(r.Context(), r.account(), contentsOf(r.form), fileName(part.FileName()), r.options.Region, part)
	if err != nil {
		return err
	}
	return r.redirect(r.path(importPath(im.ID)))
}

// filePart is the file in a form. What is in the file stands before it.
func filePart(w http.ResponseWriter, r *http.Request, f *form) (*multipart.Part, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, noFile()
	}
	parts := multipart.NewReader(web.PacedBody(w, r), params["boundary"])
	for {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, noFile()
		case err != nil:
			return nil, &web.Error{Status: http.StatusBadRequest, Message: "The file did not arrive completely. Nothing was imported. Try again.", Err: err}
		case part.FormName() == contentsField:
			text, err := io.ReadAll(io.LimitReader(part, maxContents))
			if err != nil {
				return nil, err
			}
			f.set(contentsField, strings.ToValidUTF8(string(text), ""))
		case part.FormName() == "file" && part.FileName() != "":
			return part, nil
		}
	}
}

func noFile() error {
	v := new(doc.Invalid)
	v.Add("file", "Choose a file first.")
	return v
}

// fileName is what a file is called: without folders, and not too long.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, ""), `\`, "/"))
	return shortened(name, maxFileName, 0)
}

// importOf is the import in the path.
func (r *request) importOf() (jobs.Import, error) {
	id, err := strconv.ParseInt(r.PathValue("import"), 10, 64)
	if err != nil {
		return jobs.Import{}, crm.ErrNotFound
	}
	return r.store.Import(r.Context(), r.account(), id)
}

// importView is one import: what its columns mean, how far it has come, or what became of it.
type importView struct {
	importRow
	Choosing  bool // a person says what the columns mean
	Preview   [][]string
	Columns   []columnView
	Skipped   int64        // columns that are not imported
	Values    []columnView // values of gifts whose meaning a person says
	Missing   []string     // campaigns that gifts name and that do not exist
	Counted   string       // what gifts add to what was given
	Modes     []option
	MayDefine bool       // columns may become new custom fields
	MayErase  bool       // contacts that were created may be erased
	Told      []toldRows // rows of the dry run, or that were rejected
	MoreKept  bool       // more rows can be shown
	All       bool       // all of them are shown
	OtherName []option
	IsRight   []option
	Unknown   []option
	Ignored   []ignoredColumn
	Width     string // of the bar, in percent; "" where no one knows
	Made      string // address of what was imported
	Undoing   *undoView
}

// columnView is a column of the file: its name, what it means and its first values.
type columnView struct {
	field
	Values []string
}

// undoView is how far an import was undone, and what was left alone.
type undoView struct {
	jobs.UndoProgress
	Working bool
	Told    string // what was left alone, in words
	Stopped bool   // it can be continued
	Left    []link
}

func (r *request) importPage(im jobs.Import) (err error) {
	people, err := r.peopleOf()
	if err != nil {
		return err
	}
	view := importView{importRow: importRow{im, r.path(importPath(im.ID)), importState(&im), people.called(im.Actor)}, Modes: importModes, OtherName: otherNames, IsRight: isRightOptions, Unknown: unknownOptions, Choosing: im.State == jobs.JobMapping}
	if view.OfGifts() {
		view.OtherName = otherGivers
	}
	view.MayErase = r.membership.Role >= access.Owner
	view.MayDefine = r.membership.Role >= access.Owner && !view.OfGifts()
	view.Counted = moneyTexts(im.Progress.Counted, text.MoneyExact)
	switch {
	case view.Choosing:
		if view.Preview, err = r.store.Preview(r.Context(), &im); err != nil {
			return err
		}
		err = errors.Join(r.fillColumns(&view), r.fillRows(&view))
	case im.Ended():
		made := "/contacts"
		if view.OfGifts() {
			made = "/gifts"
		}
		view.Made = r.path(withQuery(made, url.Values{giving.ImportParameter: {strconv.FormatInt(im.ID, 10)}}))
		err = errors.Join(r.fillRows(&view), r.fillUndo(&view))
	case im.Progress.Total > 0:
		view.Width = strconv.FormatInt(min(100, im.Progress.Rows*100/im.Progress.Total), 10) + "%"
	}
	if err != nil {
		return err
	}
	p := page{Title: "Import of " + im.Spec.Name, Section: "imports", Form: r.form, Data: &view}
	if !r.isPart() {
		return r.render("import", p)
	}
	if !view.Moving() {
		r.w.Header().Set("HX-Refresh", "true") // there is more to show than a bar
	}
	return r.renderPart("import", "import-progress", p)
}

// Moving tells whether a node works on the import, or undoes it.
func (view *importView) Moving() bool {
	return view.Working() || view.Undoing != nil && view.Undoing.Working
}

// fillUndo tells how far an import was undone.
func (r *request) fillUndo(view *importView) error {
	if view.Undo == 0 {
		return nil
	}
	j, err := r.store.Job(r.Context(), r.account(), view.Undo)
	if err != nil {
		return err
	}
	view.Undoing, view.State = &undoView{Working: j.Working(), Stopped: j.StoppedUndo()}, undoState(&j)
	if err := json.Unmarshal(j.Progress, &view.Undoing.UndoProgress); err != nil {
		return err
	}
	view.Undoing.Told = keptTold(view.Undoing.Kept, view.OfGifts())
	view.Undoing.Left, err = r.keptLinks(view.Undo)
	return err
}

// ignoredColumn is a column that is not imported, with its first values.
type ignoredColumn struct{ Name, Values string }

// What a person chooses about columns that are not recognized.
const customColumns = "custom"

// What a person chooses from.
var (
	otherNames     = newOptions(string(jobs.KeepBoth)+"=Add a new contact", string(jobs.MergeExisting)+"=Update that contact, which keeps its name", string(jobs.SkipExisting)+"=Skip the row")
	otherGivers    = newOptions(string(jobs.KeepBoth)+"=Record a gift of a new contact", string(jobs.MergeExisting)+"=Record a gift of that contact", string(jobs.SkipExisting)+"=Skip the row")
	isRightOptions = newOptions("=Keep the value of the contact", "1=Take the value of the file")
	unknownOptions = newOptions("=Do not import them", customColumns+"=Make a custom field of each one")
)

// importModes are what a person chooses from.
var importModes = newOptions(string(jobs.MergeExisting)+"=Update the contact: add what is new", string(jobs.SkipExisting)+"=Leave the contact as it is", string(jobs.ForceCreate)+"=Add a second contact")

// beginImport begins an import, or a dry run.
func (r *request) beginImport(im jobs.Import) (err error) {
	mapping, err := readMapping(&im, r.form)
	if err != nil {
		return err
	}
	if r.form.Value("unknown") == customColumns {
		if mapping, err = r.withUnknown(&im, mapping); err != nil {
			return err
		}
	}
	chosen := jobs.Choices{Mode: jobs.ImportMode(r.form.Value("mode")), OtherName: jobs.ImportMode(r.form.Value("other_name")), FileIsRight: r.form.Value("file_is_right") != "", MatchNames: r.form.Value("match_names") != "", Trial: r.form.Value("do") != "import"}
	if !chosen.Trial && im.Spec.Of == jobs.ImportContacts && r.membership.Role >= access.Owner {
		if mapping, chosen.Fields, err = r.store.MakeFields(r.Context(), r.account(), mapping); err != nil {
			return err
		}
	}
	chosen.Mapping = mapping
	if _, err = r.store.BeginImport(r.Context(), r.account(), im.ID, chosen); errors.Is(err, crm.ErrChanged) {
		return r.redirect(r.path(importPath(im.ID)), notice{Text: "This import has begun already."})
	}
	if err != nil {
		return err
	}
	return r.redirect(r.path(importPath(im.ID)))
}

// withUnknown makes a custom field of each column that is not recognized.
func (r *request) withUnknown(im *jobs.Import, mapping sheet.Mapping) (sheet.Mapping, error) {
	fields, err := r.store.CustomFields(r.Context(), im.Account)
	if err != nil {
		return nil, err
	}
	preview, err := r.store.Preview(r.Context(), im)
	if err != nil {
		return nil, err
	}
	return jobs.SheetOf(im.Spec.Of).WithUnknown(mapping, fields, func(i int) []string { return valuesOf(preview, i) }), nil
}

// cancelImport ends an import. What was imported stays.
func (r *request) cancelImport(im jobs.Import) (err error) {
	said := "The import was canceled. Nothing was imported."
	if im.First != 0 {
		said = "The import was stopped. What was imported until then stays, and can be undone."
	}
	if _, err = r.store.CancelJob(r.Context(), r.account(), im.ID); errors.Is(err, crm.ErrChanged) {
		said, err = "This import has ended already.", nil
	}
	if err != nil {
		return err
	}
	return r.redirect(r.path(importPath(im.ID)), notice{Text: said})
}

// rejectedRows is the file of the rows that were rejected.
func (r *request) rejectedRows(im jobs.Import) error {
	if !im.Ended() {
		return crm.ErrNotFound
	}
	format := im.Spec.RejectedFormat("")
	h := r.w.Header()
	h.Set("Content-Type", downloadKinds[format])
	h.Set("Content-Disposition", `attachment; filename="rejected-`+strconv.FormatInt(im.ID, 10)+`.`+format+`"`)
	return r.store.WriteRejected(r.Context(), &im, r.w)
}

// undoImport takes everything back that an import has done. An undo that was stopped is continued.
func (r *request) undoImport(im jobs.Import) (err error) {
	erase := r.form.Value("erase") != ""
	if erase && (r.membership.Role < access.Owner || im.Spec.Of != jobs.ImportContacts) {
		return forbidden(r.membership, access.Owner)
	}
	_, err = r.store.UndoJob(r.Context(), r.account(), cmp.Or(im.Undo, im.ID), r.options.Region, erase)
	if errors.Is(err, crm.ErrChanged) {
		return r.redirect(r.path(importPath(im.ID)), notice{Text: "This import cannot be undone: it was undone before, or has not ended yet."})
	}
	if err != nil {
		return err
	}
	return r.redirect(r.path(importPath(im.ID)))
}
