package console

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/store/jobs"
)

// maxPicked is how many contacts can be picked one by one: more than any page shows.
const maxPicked = 500

// bulkView asks what is to be done to many contacts, and whether it really is.
type bulkView struct {
	Form     *form
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
	Export   *exportForm // of the selection
}

// bulkWords are the words for an action on some contacts: what is done, the button that does it, what has happened, what is under way, and what those were that did
// not change.
type bulkWords struct{ title, button, done, begun, already string }

// bulkWordsFor says what an action does to so many contacts, which are named by contacts. An action without tags is one that still asks for them.
func bulkWordsFor(action crm.BulkAction, n int64, contacts string) bulkWords {
	tags := "tags"
	if len(action.Tags) > 0 {
		tags = quotedTags(action.Tags)
	}
	switch action.Kind {
	case crm.BulkTag:
		return bulkWords{"Add " + tags + " to " + contacts, "Add tags", "Added " + tags + " to " + contacts + ".", "Adding " + tags + " to " + contacts + ".", "already had " + tags}
	case crm.BulkUntag:
		return bulkWords{"Remove " + tags + " from " + contacts, "Remove tags", "Removed " + tags + " from " + contacts + ".", "Removing " + tags + " from " + contacts + ".", "did not have " + tags}
	case crm.BulkArchive:
		return bulkWords{"Archive " + contacts, "Archive contacts", "Archived " + contacts + ".", "Archiving " + contacts + ".", choose(n, "was", "were") + " already archived"}
	case crm.BulkRestore:
		return bulkWords{"Restore " + contacts, "Restore contacts", "Restored " + contacts + ".", "Restoring " + contacts + ".", choose(n, "was", "were") + " already active"}
	case bulkExport:
		return bulkWords{title: "Export " + contacts, button: "Download file"}
	case crm.BulkRename:
		said := bulkWords{title: "Delete the tag " + tags, done: "Changed the tag on " + contacts + "."}
		if action.Becomes != "" {
			said.title = "Change the tag " + tags + " to “" + action.Becomes + "”"
		}
		return said
	}
	return bulkWords{}
}

// The actions that lead to another page: the export of a selection, and the comparison of two contacts.
const (
	bulkExport = "export"
	bulkMerge  = "merge"
)

// bulkContacts does something to the contacts that were selected in the list. It asks first for the tags, and whether all contacts that a
// search found are meant.
func (r *request) bulkContacts() error {
	selection, view, ok, err := r.bulkOf()
	if err != nil || !ok {
		return err
	}
	if r.form.Value("confirmed") == "" && (view.All || view.Tags || view.Export != nil) {
		return r.askBulk(view)
	}
	action, err := crm.NewBulkAction(view.Action, splitTags(r.form.Value("tag")))
	if err == nil {
		selection.Seen, _ = strconv.ParseInt(r.form.Value(seenField), 10, 64)
		var done jobs.BulkResult
		if done, err = r.store.BulkChange(r.Context(), r.account(), selection, action); err == nil {
			return r.redirect(view.Back, r.bulkNotice(view.Back, action, done))
		}
	}
	if changed := new(crm.SelectionChanged); errors.As(err, &changed) {
		view.Contacts, view.Changed = changed.Contacts, true
		return r.askBulk(view)
	}
	if err := r.form.refuseTag(err); err != nil {
		return err
	}
	return r.askBulk(view)
}

// bulkPage asks, and does nothing.
func (r *request) bulkPage() error {
	_, view, ok, err := r.bulkOf()
	if err != nil || !ok {
		return err
	}
	return r.askBulk(view)
}

// bulkOf reads what is to be done to which contacts. It is not ok where another page answers.
func (r *request) bulkOf() (selection jobs.Selection, view bulkView, ok bool, err error) {
	if selection, view, err = r.selectionOf(); err != nil {
		return selection, view, false, r.redirect(r.path("/contacts"), notice{Text: "That list no longer exists. Nothing was changed."})
	}
	if view.Action == bulkMerge {
		return selection, view, false, r.mergePicked(selection.IDs, view.Back)
	}
	if view.Contacts, err = r.store.SelectionSize(r.Context(), r.account(), selection); err != nil {
		return selection, view, false, err
	}
	if view.Contacts == 0 {
		return selection, view, false, r.redirect(view.Back, notice{Text: "No contacts are selected, so nothing was done. Select contacts in the list first."})
	}
	if view.Action == bulkExport {
		view.Export = view.exportForm(r)
	}
	return selection, view, true, nil
}

// selectionOf reads which contacts are selected: those that were picked, or all that the list with this query shows. The ids of a form are
// only a person's wish: the store takes none but the account's own.
func (r *request) selectionOf() (selection jobs.Selection, view bulkView, err error) {
	query, err := url.ParseQuery(r.form.Value("query"))
	if err != nil {
		return selection, view, err
	}
	query, _ = contactListing.query(query)
	view = bulkView{Form: r.form, Action: crm.BulkKind(r.form.Value("action")), All: r.form.Value("all") != "", Query: query.Encode(), Back: withQuery(r.path("/contacts"), query)}
	view.Tags = view.Action == crm.BulkTag || view.Action == crm.BulkUntag
	if selection.All = view.All; view.All {
		selection.Scope, selection.Filter, err = r.contactQuery(query)
		return selection, view, err
	}
	selection.IDs = pickedIDs(r.form.Values("id"))
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
func (view *bulkView) exportForm(r *request) *exportForm {
	if view.All {
		query, _ := url.ParseQuery(view.Query) // which is one of ours
		return exportOf(query, r.path("/contacts"))
	}
	return exportOf(url.Values{"scope": {pickedScope}, "id": view.Picked}, r.path("/contacts"))
}

// askBulk shows what would be done, and to how many.
func (r *request) askBulk(view bulkView) error {
	view.Count = plural(view.Contacts, "contact")
	said := bulkWordsFor(crm.BulkAction{Kind: view.Action}, view.Contacts, view.Count)
	if said.button == "" {
		return crm.ErrNotFound
	}
	view.Title, view.Button, view.Crumb = said.title, said.button, said.button
	switch {
	case view.Export != nil:
		view.Crumb = "Export"
	case !view.Tags:
		view.Title += "?"
	}
	return r.render("contact_bulk", page{Title: view.Title, Section: "contacts", Form: view.Form, Data: view})
}

// bulkNotice says what became of the contacts.
func (r *request) bulkNotice(back string, action crm.BulkAction, done jobs.BulkResult) notice {
	if done.Unfinished() {
		return notice{Text: bulkWordsFor(action, done.Total, plural(done.Total, "contact")).begun, View: r.path(jobPath(done.Job)), Link: "View progress"}
	}
	told := notice{Text: bulkTold(action, done.BulkCounts)}
	if done.Changed > 0 {
		told.Undo = r.undoAddress(done.Job, back)
	}
	return told
}

// bulkTold is what became of contacts, in sentences.
func bulkTold(action crm.BulkAction, n crm.BulkCounts) string {
	contacts := plural(n.Changed, "contact")
	if action.Kind == crm.BulkRename {
		contacts = withArchived(n.Changed, n.ChangedArchived)
	}
	told := []string{bulkWordsFor(action, n.Changed, contacts).done}
	add := func(n int64, text string) {
		if n > 0 {
			told = append(told, plural(n, "contact")+" "+text+".")
		}
	}
	add(n.Already, bulkWordsFor(action, n.Already, "").already)
	add(n.Archived, choose(n.Archived, "is archived and was", "are archived and were")+" left alone")
	add(n.Erased, choose(n.Erased, "was", "were")+" erased and cannot be restored")
	add(n.Merged, choose(n.Merged, "was", "were")+" merged into another contact: undo the merge to bring "+choose(n.Merged, "it", "them")+" back")
	add(n.Refused, "would have too many tags and "+choose(n.Refused, "was", "were")+" left alone")
	add(n.Unreadable, "could not be read")
	return strings.Join(told, " ")
}

// choose is the one text for one thing, and the other for several.
func choose(n int64, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}
