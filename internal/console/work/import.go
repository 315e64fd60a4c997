package work

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

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store"
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

// importsView is the form for a file, and the latest imports.
type importsView struct {
	page.Table               // of the latest ones
	Contents   []page.Option // what may be in a file
	Limit      int64         // bytes of a file
}

// contentsField is what a person says is in the file: contacts, unless it is one of the other choices.
const (
	contentsField    = "of"
	contactsContents = "contacts"
)

var importContents = page.NewOptions(contactsContents+"=Contacts", jobs.ImportGifts+"=Gifts")

// contentsOf is what the store calls the contents of a file.
func contentsOf(f *page.Form) string {
	if of := f.Value(contentsField); of != contactsContents {
		return of
	}
	return jobs.ImportContacts
}

func ImportsPage(r *page.Request) error {
	imports, _, err := r.Store.Imports(r.Context(), r.Account(), math.MaxInt64, importsShown)
	if err != nil {
		return err
	}
	r.Form.SetUnsent(contentsField, cmp.Or(r.URL.Query().Get(contentsField), contactsContents))
	view := importsView{Limit: jobs.MaxUpload, Contents: importContents}
	latest := store.Collect(imports, func(im jobs.Import) jobs.Job { return im.Job })
	if view.Table, err = jobTable(r, "Imports, latest first", latest); err != nil {
		return err
	}
	return r.Render("imports", page.View{Title: "Import", Section: "imports", Form: r.Form, Data: view})
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
		view.State, view.Told = page.Mark{Label: "Not read", Color: "bad"}, "The file could not be read, so nothing was imported."
	case isCanceled && im.First == 0:
		view.State, view.Told = page.Mark{Label: "Canceled", Color: ""}, "Nothing was imported."
	case isCanceled && im.Undo == 0:
		view.Told = "The rest of the file was not imported. To import the whole file, undo this import and upload the file again."
	case im.Working() && im.Spec.Local:
		view.State = page.Mark{Label: "Command line", Color: "warn"}
	}
	switch {
	case im.Working() && at.Total > 0:
		view.soFar(at.Rows, at.Total, "row")
	case im.Working():
		view.Told = "Reading the file"
	}
	if view.Told = strings.TrimSpace(at.Error + " " + view.Told); im.Ended() && at.Rows > 0 {
		view.More = importCounts(&at.ImportCounts, page.Choose(at.Created, "contact", "contacts"))
		if view.OfGifts() {
			view.More = importCounts(&at.ImportCounts, page.Choose(at.Created, "gift", "gifts"))
		}
	} else {
		view.More = view.Told
	}
}

// importCounts are what became of rows, in words: 12 new contacts, 3 merged, 1 rejected.
func importCounts(n *jobs.ImportCounts, noun string) string {
	told := page.Count(n.Created) + " new " + noun
	for _, of := range []struct {
		rows int64
		word string
	}{{n.Merged, "merged"}, {n.Unchanged, "unchanged"}, {n.Skipped, "skipped"}, {n.Rejected, "rejected"}} {
		if of.rows > 0 {
			told += ", " + page.Count(of.rows) + " " + of.word
		}
	}
	return told
}

// notRead tells whether a file did not arrive as a whole, or is no table.
func notRead(im *jobs.Import) bool {
	return (im.State == jobs.JobCanceled || im.State == jobs.JobFailed) && len(im.Spec.Header) == 0
}

// UploadImport takes a file. It is not held in memory, so that it may be long.
func UploadImport(r *page.Request) error {
	end, err := r.Uploads.Begin(r.Account())
	if err != nil {
		return err
	}
	defer end()
	part, err := filePart(r.W, r.Request, r.Form)
	if err != nil {
		return err
	}
	im, err := r.Store.UploadImport(r.Context(), r.Account(), contentsOf(r.Form), fileName(part.FileName()), r.Options.Region, part)
	return r.Done(err, r.Path(page.ImportPath(im.ID)))
}

// filePart is the file in a form. What is in the file stands before it.
func filePart(w http.ResponseWriter, r *http.Request, f *page.Form) (*multipart.Part, error) {
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
			f.Set(contentsField, strings.ToValidUTF8(string(text), ""))
		case part.FormName() == "file" && part.FileName() != "":
			return part, nil
		}
	}
}

func noFile() error { return doc.NewInvalid("file", "Choose a file first.") }

// fileName is what a file is called: without folders, and not too long.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, ""), `\`, "/"))
	return page.Shortened(name, maxFileName, 0)
}

// ImportOf is the import in the path.
func ImportOf(r *page.Request) (jobs.Import, error) {
	return r.Store.Import(r.Context(), r.Account(), page.ParseID(r.PathValue("import")))
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
	page.Field
	Values []string
	Doubt  string // what a column may be that is not imported
}

func ImportPage(r *page.Request, im jobs.Import) error { return JobPage(r, im.Job) }

// fillImport adds what only imports have.
func fillImport(r *page.Request, view *jobPageView) (err error) {
	im := view.Import
	view.Choosing = im.State == jobs.JobMapping
	view.MayDefine = r.Membership.Role >= access.Owner && !view.OfGifts()
	view.Counted = page.MoneyList(im.Progress.Counted, r.Currency())
	switch {
	case view.Choosing:
		if view.Preview, err = r.Store.Preview(r.Context(), im); err != nil {
			return err
		}
		return errors.Join(fillColumns(r, view), fillRows(r, view))
	case im.Ended():
		made := "/contacts"
		if view.OfGifts() {
			made = "/gifts"
		}
		view.Made = r.Path(page.WithQuery(made, url.Values{giving.ImportParameter: {strconv.FormatInt(im.ID, 10)}}))
		return fillRows(r, view)
	}
	return nil
}

// customColumns is what a person chooses about columns that are not recognized: each becomes a custom field.
const customColumns = "custom"

// BeginImport begins an import, or a dry run.
func BeginImport(r *page.Request, im jobs.Import) (err error) {
	if row, err := strconv.Atoi(r.Form.Value("header_row")); err == nil && row > 0 && row != im.Spec.FoundRow {
		if _, err := r.Store.ReadHeader(r.Context(), im, row); err != nil {
			return err
		}
		return r.Redirect(r.Path(page.ImportPath(im.ID)), page.Notice{Text: "The columns were read from row " + strconv.Itoa(row) + "."})
	}
	mapping, err := readMapping(&im, r.Form)
	if err != nil {
		return err
	}
	if r.Form.Value("unknown") == customColumns {
		if mapping, err = withUnknown(r, &im, mapping); err != nil {
			return err
		}
	}
	chosen := jobs.Choices{Mode: jobs.ImportMode(r.Form.Value("mode")), OtherName: jobs.ImportMode(r.Form.Value("other_name")), FileIsRight: r.Form.Value("file_is_right") != "", MatchNames: r.Form.Value("match_names") != "", Thanks: r.Form.Value("thanks") != "", UsualNames: r.Form.Value("usual_names") != "", Trial: r.Form.Value("do") != "import"}
	if !chosen.Trial && im.Spec.Of == jobs.ImportContacts && r.Membership.Role >= access.Owner {
		if mapping, chosen.Fields, err = r.Store.MakeFields(r.Context(), r.Account(), mapping); err != nil {
			return err
		}
	}
	chosen.Mapping = mapping
	if _, err = r.Store.BeginImport(r.Context(), r.Account(), im.ID, chosen); errors.Is(err, crm.ErrChanged) {
		return r.Redirect(r.Path(page.ImportPath(im.ID)), page.Notice{Text: "This import has already started."})
	}
	return r.Done(err, r.Path(page.ImportPath(im.ID)))
}

// withUnknown makes a custom field of each column that is not recognized.
func withUnknown(r *page.Request, im *jobs.Import, mapping sheet.Mapping) (sheet.Mapping, error) {
	fields, err := r.Store.CustomFields(r.Context(), im.Account)
	if err != nil {
		return nil, err
	}
	preview, err := r.Store.Preview(r.Context(), im)
	if err != nil {
		return nil, err
	}
	return jobs.SheetOf(im.Spec.Of).WithUnknown(mapping, fields, func(i int) []string { return valuesOf(preview, i) }), nil
}

// RejectedRows is the file of the rows that were rejected.
func RejectedRows(r *page.Request, im jobs.Import) error {
	if !im.Ended() {
		return crm.ErrNotFound
	}
	format := im.Spec.RejectedFormat("")
	h := r.W.Header()
	h.Set("Content-Type", page.DownloadKinds[format])
	h.Set("Content-Disposition", `attachment; filename="rejected-`+strconv.FormatInt(im.ID, 10)+`.`+format+`"`)
	return r.Store.WriteRejected(r.Context(), &im, r.W)
}
