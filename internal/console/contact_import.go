package console

import (
	"cmp"
	"errors"
	"io"
	"math"
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
	"donorbook/internal/store/jobs"
	"donorbook/internal/web"
)

const (
	importsShown = 10
	rowsShown    = 20   // of each kind that a dry run tells of, or that were rejected
	rowsKept     = 5000 // that are shown on demand
	maxFileName  = 120  // characters that are kept
	maxContents  = 20   // bytes of the word that says what is in a file
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

// importsView is the form for a file, and the latest imports.
type importsView struct {
	table             // of the latest ones
	Contents []option // what may be in a file
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
	imports, _, err := r.store.Imports(r.Context(), r.account(), math.MaxInt64, importsShown)
	if err != nil {
		return err
	}
	r.form.setUnsent(contentsField, cmp.Or(r.URL.Query().Get(contentsField), contactsContents))
	view := importsView{Limit: jobs.MaxUpload, Contents: importContents}
	var latest []jobs.Job
	for _, im := range imports {
		latest = append(latest, im.Job)
	}
	if view.table, err = r.jobTable("Imports, latest first", latest); err != nil {
		return err
	}
	return r.render("imports", page{Title: "Import", Section: "imports", Form: r.form, Data: view})
}

// tellImport says what an import is, how far it has come and what became of the file.
func (view *jobView) tellImport(im *jobs.Import) {
	view.Import, view.Title = im, "Import of "+im.Spec.Name
	if view.OfGifts() {
		view.Title = "Import of gifts from " + im.Spec.Name
	}
	at, isCanceled := &im.Progress, im.State == jobs.JobCanceled
	switch {
	case notRead(im):
		view.State, view.Told = mark{"Not read", "bad"}, "The file could not be read, so nothing was imported."
	case isCanceled && im.First == 0:
		view.State, view.Told = mark{"Canceled", ""}, "Nothing was imported."
	case isCanceled && im.Undo == 0:
		view.Told = "The rest of the file was not imported. To import the whole file, undo this import and upload the file again."
	case im.Working() && im.Spec.Local:
		view.State = mark{"Command line", "warn"}
	}
	switch {
	case im.Working() && at.Total > 0:
		view.soFar(at.Rows, at.Total, "row")
	case im.Working():
		view.Told = "Reading the file"
	}
	if view.Told = strings.TrimSpace(at.Error + " " + view.Told); im.Ended() && at.Rows > 0 {
		view.More = importCounts(&at.ImportCounts, choose(at.Created, "contact", "contacts"))
		if view.OfGifts() {
			view.More = importCounts(&at.ImportCounts, choose(at.Created, "gift", "gifts"))
		}
	} else {
		view.More = view.Told
	}
}

// importCounts are what became of rows, in words: 12 new contacts, 3 merged, 1 rejected.
func importCounts(n *jobs.ImportCounts, noun string) string {
	told := shownCount(n.Created) + " new " + noun
	for _, of := range []struct {
		rows int64
		word string
	}{{n.Merged, "merged"}, {n.Unchanged, "unchanged"}, {n.Skipped, "skipped"}, {n.Rejected, "rejected"}} {
		if of.rows > 0 {
			told += ", " + shownCount(of.rows) + " " + of.word
		}
	}
	return told
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

// jobPageView is one job and, of an import, what its columns mean or what became of its rows.
type jobPageView struct {
	jobView
	Choosing  bool // a person says what the columns mean
	Preview   [][]string
	Columns   []columnView
	Skipped   int64        // columns that are not imported
	Ignored   []columnView // those of them that have a name and values
	Values    []columnView // values of gifts whose meaning a person says
	Missing   []string     // campaigns that gifts name and that do not exist
	Counted   string       // what gifts add to what was given
	MayDefine bool         // columns may become new custom fields
	Groups    []toldRows   // rows of the dry run, or that were rejected
	MoreKept  bool         // more rows can be shown
	All       bool         // all of them are shown
	Made      string       // address of what was imported
}

// columnView is a column of the file: its name, what it means and its first values.
type columnView struct {
	field
	Values []string
	Doubt  string // what a column may be that is not imported
}

func (r *request) importPage(im jobs.Import) error { return r.jobPage(im.Job) }

// fillImport adds what only imports have.
func (r *request) fillImport(view *jobPageView) (err error) {
	im := view.Import
	view.Choosing = im.State == jobs.JobMapping
	view.MayDefine = r.membership.Role >= access.Owner && !view.OfGifts()
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	view.Counted = moneyList(im.Progress.Counted, currency)
	switch {
	case view.Choosing:
		if view.Preview, err = r.store.Preview(r.Context(), im); err != nil {
			return err
		}
		return errors.Join(r.fillColumns(view), r.fillRows(view))
	case im.Ended():
		made := "/contacts"
		if view.OfGifts() {
			made = "/gifts"
		}
		view.Made = r.path(withQuery(made, url.Values{giving.ImportParameter: {strconv.FormatInt(im.ID, 10)}}))
		return r.fillRows(view)
	}
	return nil
}

// customColumns is what a person chooses about columns that are not recognized: each becomes a custom field.
const customColumns = "custom"

// beginImport begins an import, or a dry run.
func (r *request) beginImport(im jobs.Import) (err error) {
	if row, err := strconv.Atoi(r.form.Value("header_row")); err == nil && row > 0 && row != im.Spec.FoundRow {
		if _, err := r.store.ReadHeader(r.Context(), im, row); err != nil {
			return err
		}
		return r.redirect(r.path(importPath(im.ID)), notice{Text: "The columns were read from row " + strconv.Itoa(row) + "."})
	}
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
		return r.redirect(r.path(importPath(im.ID)), notice{Text: "This import has already started."})
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
