package contacts

import (
	"errors"
	"net/url"
	"strconv"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/store/jobs"
)

// maxPicked is how many contacts can be picked one by one: more than any page shows.
const maxPicked = 500

// bulkPrint leads to the page that prints for those who are selected.
const bulkPrint = "print"

// bulkView asks what is to be done to many contacts, and whether it really is.
type bulkView struct {
	Form     *page.Form
	Action   crm.BulkKind
	Title    string // what would be done, with the number
	Button   string
	Crumb    string // what the page is called in the path above it
	Contacts int64
	Tags     bool // the action needs tags
	Count    string
	All      bool // that the search found
	Changed  bool // the number is another than the one that was seen
	Picked   []string
	Query    string // of the list
	Back     string
	Export   *page.ExportForm // of the selection
}

// Bulk does something to the contacts that were selected in the list. It asks first for the tags, and whether all contacts that a
// search found are meant.
func Bulk(r *page.Request) error {
	selection, view, ok, err := bulkOf(r)
	if err != nil || !ok {
		return err
	}
	if r.Form.Value("confirmed") == "" && (view.All || view.Tags || view.Export != nil) {
		return askBulk(r, view)
	}
	action, err := crm.NewBulkAction(view.Action, splitTags(r.Form.Value("tag")))
	if err == nil {
		selection.Seen, _ = strconv.ParseInt(r.Form.Value(page.SeenField), 10, 64)
		var done jobs.BulkResult
		if done, err = r.Store.BulkChange(r.Context(), r.Account(), selection, action); err == nil {
			return r.Redirect(view.Back, bulkNotice(r, view.Back, action, done))
		}
	}
	if changed := new(crm.SelectionChanged); errors.As(err, &changed) {
		view.Contacts, view.Changed = changed.Contacts, true
		return askBulk(r, view)
	}
	if err := refuseTag(r.Form, err); err != nil {
		return err
	}
	return askBulk(r, view)
}

// BulkPage asks, and does nothing.
func BulkPage(r *page.Request) error {
	_, view, ok, err := bulkOf(r)
	if err != nil || !ok {
		return err
	}
	return askBulk(r, view)
}

// bulkOf reads what is to be done to which contacts. It is not ok where another page answers.
func bulkOf(r *page.Request) (selection jobs.Selection, view bulkView, ok bool, err error) {
	if selection, view, err = selectionOf(r); err != nil {
		return selection, view, false, r.Redirect(r.Path("/contacts"), page.Notice{Text: "That list no longer exists. Nothing was changed."})
	}
	if view.Action == page.BulkMerge {
		return selection, view, false, mergePicked(r, selection.IDs, view.Back)
	}
	if view.Contacts, err = r.Store.SelectionSize(r.Context(), r.Account(), selection); err != nil {
		return selection, view, false, err
	}
	if view.Contacts == 0 {
		return selection, view, false, r.Redirect(view.Back, page.Notice{Text: "No contacts are selected, so nothing was done. Select contacts in the list first."})
	}
	if view.Action == bulkPrint {
		query, _ := url.ParseQuery(view.Query) // which is one of ours
		if !view.All {
			query = url.Values{"scope": {page.PickedScope}, "id": view.Picked}
		}
		return selection, view, false, r.Redirect(page.WithQuery(r.Path("/contacts/print"), query))
	}
	if view.Action == page.BulkExport {
		view.Export = view.exportForm(r)
	}
	return selection, view, true, nil
}

// selectionOf reads which contacts are selected: those that were picked, or all that the list with this query shows. The ids of a form are
// only a person's wish: the store takes none but the account's own.
func selectionOf(r *page.Request) (selection jobs.Selection, view bulkView, err error) {
	query, err := url.ParseQuery(r.Form.Value("query"))
	if err != nil {
		return selection, view, err
	}
	if query, err = page.ContactListing.Whole(query); err != nil {
		return selection, view, err
	}
	view = bulkView{Form: r.Form, Action: crm.BulkKind(r.Form.Value("action")), All: r.Form.Value("all") != "", Query: query.Encode(), Back: page.WithQuery(r.Path("/contacts"), query)}
	view.Tags = view.Action == crm.BulkTag || view.Action == crm.BulkUntag
	if selection.All = view.All; view.All {
		selection.Scope, selection.Filter, err = r.ContactQuery(query)
		return selection, view, err
	}
	selection.IDs = pickedIDs(r.Form.Values("id"))
	for _, id := range selection.IDs {
		view.Picked = append(view.Picked, strconv.FormatInt(id, 10))
	}
	return selection, view, nil
}

// pickedIDs are the contacts that were picked. What is not a number comes from no form of ours.
func pickedIDs(sent []string) (ids []int64) {
	for _, text := range sent[:min(len(sent), maxPicked)] {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// exportForm is the form for the file of the selection.
func (view *bulkView) exportForm(r *page.Request) *page.ExportForm {
	if view.All {
		query, _ := url.ParseQuery(view.Query) // which is one of ours
		return page.ExportOf(query, r.Path("/contacts"))
	}
	return page.ExportOf(url.Values{"scope": {page.PickedScope}, "id": view.Picked}, r.Path("/contacts"))
}

// askBulk shows what would be done, and to how many.
func askBulk(r *page.Request, view bulkView) error {
	view.Count = page.Plural(view.Contacts, "contact")
	said := page.BulkWordsFor(crm.BulkAction{Kind: view.Action}, view.Contacts, view.Count)
	if said.Button == "" {
		return crm.ErrNotFound
	}
	view.Title, view.Button, view.Crumb = said.Title, said.Button, said.Button
	switch {
	case view.Export != nil:
		view.Crumb = "Export"
	case !view.Tags:
		view.Title += "?"
	}
	return r.Render("contact_bulk", page.View{Title: view.Title, Section: "contacts", Form: view.Form, Data: view})
}

// bulkNotice says what became of the contacts.
func bulkNotice(r *page.Request, back string, action crm.BulkAction, done jobs.BulkResult) page.Notice {
	if done.Unfinished() {
		return page.Notice{Text: page.BulkWordsFor(action, done.Total, page.Plural(done.Total, "contact")).Begun, View: r.Path(page.JobPath(done.Job)), Link: "View progress"}
	}
	told := page.Notice{Text: page.BulkTold(action, done.BulkCounts)}
	if done.Changed > 0 {
		told.Undo = r.UndoAddress(done.Job, back)
	}
	return told
}
