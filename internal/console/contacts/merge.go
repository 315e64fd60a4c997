package contacts

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/merges"
)

// A merge goes through three pages: which contact is merged in, whose value each field gets, and what would come of it. The first two send a query, so that a
// person may go back; the last one sends a form.
const (
	withParameter  = "with"    // the contact that is merged in
	staysParameter = "stays"   // the contact that stays, where the other one is chosen for that
	stepParameter  = "preview" // the choice was made
	bothChosen     = "both"
)

// mergeView is one of the three pages.
type mergeView struct {
	Form     *page.Form
	Survivor *crm.Contact

	Query string // that other contacts are searched by
	Found []*crm.Contact
	Twins []duplicateOther // that the finder has found

	Other   *crm.Contact
	Rows    []mergeRow
	Same    []crm.Compared
	Choice  url.Values // what was chosen, for the next page or the one before
	Compare string     // address of the page that compares
	Preview *merges.Preview
	Result  []crm.Compared // the merged contact, field by field
}

// mergeRow is a field that the contacts do not have in common.
type mergeRow struct {
	crm.Compared
	Chosen string // an id or bothChosen
}

func mergePath(survivor, other int64) string {
	return page.ContactPath(survivor) + "/merge?" + withParameter + "=" + page.IDText(other)
}

// mergePicked compares two contacts that were selected in the list. The one that is proposed to stay is the one that should.
func mergePicked(r *page.Request, ids []int64, back string) error {
	if len(ids) != 2 {
		return r.Redirect(back, page.Notice{Text: "Select exactly two contacts to merge them. Nothing was changed."})
	}
	a, err := r.Store.ContactRecord(r.Context(), r.Account(), ids[0])
	if err != nil {
		return err
	}
	b, err := r.Store.ContactRecord(r.Context(), r.Account(), ids[1])
	if err != nil {
		return err
	}
	if b.StaysBefore(&a) {
		a, b = b, a
	}
	return r.Redirect(r.Path(mergePath(a.ID, b.ID)))
}

// MergePage shows the page that the query, or a form that was refused, asks for.
func MergePage(r *page.Request, contact crm.Contact) (err error) {
	switch {
	case contact.MergedInto != 0:
		return r.ToSurvivor(contact)
	case contact.Archived():
		return r.Redirect(r.Path(page.ContactPath(r.ID)), page.Notice{Text: page.ContactName(contact) + " is archived, so it cannot be merged. Restore the contact first."})
	}
	sent := r.URL.Query()
	if r.Form.Path != "" {
		sent = r.Form.Fields
	}
	view := mergeView{Form: r.Form, Survivor: &contact, Query: strings.TrimSpace(sent.Get("q"))}
	id := page.ParseID(sent.Get(withParameter))
	if id == 0 {
		return chooseOther(r, &view)
	}
	if page.ParseID(sent.Get(staysParameter)) == id && id != r.ID { // the contacts change places
		sent.Set(withParameter, page.IDText(r.ID))
		return r.Redirect(page.WithQuery(r.Path(page.ContactPath(id)+"/merge"), sent))
	}
	other, err := r.Store.ContactRecord(r.Context(), r.Account(), id)
	if err != nil {
		return err
	}
	view.Other = &other
	if err := contact.CheckMerge(&other); err != nil {
		return refuseMerge(r, err, func() error { return chooseOther(r, &view) })
	}
	return compareContacts(r, &view, sent)
}

// refuseMerge shows a page with why two contacts cannot be merged, and nothing that was said before.
func refuseMerge(r *page.Request, err error, show func() error) error {
	r.Form.Faults = nil
	if err := r.Form.Refuse(err); err != nil {
		return err
	}
	return show()
}

// chooseOther asks for the contact that is merged in.
func chooseOther(r *page.Request, view *mergeView) error {
	title := "Merge " + page.ContactName(*view.Survivor)
	if view.Query != "" {
		search := page.SearchView{Query: view.Query}
		if err := r.SearchContacts(&search); err != nil {
			return err
		}
		view.Found = slices.DeleteFunc(search.Contacts, func(c *crm.Contact) bool { return c.ID == view.Survivor.ID || c.Archived() })
	}
	groups, err := r.Store.Duplicates(r.Context(), r.Account(), duplicates.Filter{Contact: view.Survivor.ID}, crm.PageRequest{Page: 1, PerPage: 1})
	for _, g := range groups {
		for i := range g.Members {
			if g.Members[i].Contact.ID != view.Survivor.ID {
				view.Twins = append(view.Twins, duplicateOther{Contact: &g.Members[i].Contact, Pair: g.Members[i].Pair})
			}
		}
	}
	if err != nil {
		return err
	}
	return r.Render("merge_with", page.View{Title: title, Section: "contacts", Form: r.Form, Data: view})
}

// compareContacts shows both contacts, or what the choice would make of them.
func compareContacts(r *page.Request, view *mergeView, sent url.Values) error {
	fields, err := r.Store.CustomFields(r.Context(), r.Account())
	if err != nil {
		return err
	}
	input := view.choose(view.Survivor.Compare(view.Other, fields), sent)
	view.Compare = page.WithQuery(r.Path(page.ContactPath(r.ID)+"/merge"), view.Choice)
	show := func() error {
		return r.Render("merge", page.View{Title: "Merge two contacts", Section: "contacts", Form: r.Form, Data: view})
	}
	if sent.Get(stepParameter) == "" {
		return show()
	}
	preview, err := r.Store.PreviewMerge(r.Context(), r.Account(), r.ID, input, r.Options.Region)
	if err != nil {
		return refuseMerge(r, err, show)
	}
	view.Preview, view.Result = &preview, preview.Merged.Compare(&preview.Merged, fields)
	r.Form.Set(page.SeenField, preview.Survivor.SeenWith(&preview.Other))
	return r.Render("merge_preview", page.View{Title: "Check the merge", Section: "contacts", Form: r.Form, Data: view})
}

// choose takes over what was chosen, and proposes the rest.
func (view *mergeView) choose(all []crm.Compared, sent url.Values) crm.MergeInput {
	input := crm.MergeInput{Contact: view.Other.ID, MergeChoice: crm.MergeChoice{Fields: map[string]int64{}}}
	view.Choice = url.Values{withParameter: {page.IDText(view.Other.ID)}}
	for _, field := range all {
		if field.Same {
			view.Same = append(view.Same, field)
			continue
		}
		row := mergeRow{Compared: field, Chosen: page.IDText(field.Better)}
		if field.CanJoin && field.Better == 0 {
			row.Chosen = bothChosen
		}
		switch value := sent.Get(field.Name); value {
		case page.IDText(view.Survivor.ID), page.IDText(view.Other.ID), bothChosen:
			row.Chosen = value
		}
		if field.Choice {
			view.Choice.Set(field.Name, row.Chosen)
			if id := page.ParseID(row.Chosen); id != 0 {
				input.Fields[field.Name] = id
			}
		}
		view.Rows = append(view.Rows, row)
	}
	// What a person decides comes first.
	slices.SortStableFunc(view.Rows, func(a, b mergeRow) int { return boolOrder(a.Choice) - boolOrder(b.Choice) })
	return input
}

func boolOrder(first bool) int {
	if first {
		return 0
	}
	return 1
}

// Merge merges two contacts as the preview has shown it.
func Merge(r *page.Request, contact crm.Contact) error {
	other, err := r.Store.ContactRecord(r.Context(), r.Account(), page.ParseID(r.Form.Value(withParameter)))
	if err != nil {
		return err
	}
	if contact.Archived() {
		return MergePage(r, contact)
	}
	fields, err := r.Store.CustomFields(r.Context(), r.Account())
	if err != nil {
		return err
	}
	view := mergeView{Survivor: &contact, Other: &other}
	input := view.choose(contact.Compare(&other, fields), r.Form.Fields)
	input.Seen = cmp.Or(r.Form.Value(page.SeenField), "none")
	made, err := r.Store.Merge(r.Context(), r.Account(), contact.ID, input, r.Options.Region)
	if errors.Is(err, crm.ErrChanged) {
		r.Form.Fail("", "One of the two contacts changed after you opened this page, so nothing was merged. Look at the preview again, then merge.")
		return page.ErrRefused
	}
	if err != nil {
		return err
	}
	text := "Merged " + page.ContactName(other) + " into " + page.ContactName(contact) + "."
	if page.ContactName(other) == page.ContactName(contact) {
		text = "Merged 2 records of " + page.ContactName(contact) + " (ID " + page.IDText(other.ID) + " into ID " + page.IDText(contact.ID) + ")."
	}
	return r.Redirect(r.Path(page.ContactPath(contact.ID)), page.Notice{Text: text, Undo: r.Path(undoMergePath(made.Merge))})
}

// movingGifts says which gifts still move to a contact or away from it, and where to see how far that is.
func movingGifts(r *page.Request, contact int64) (told, address string, err error) {
	moving, err := r.Store.MovingOf(r.Context(), r.Account(), contact)
	if err != nil || moving.Job == 0 {
		return "", "", err
	}
	named, err := r.Store.ContactNames(r.Context(), r.Account(), []int64{moving.From, moving.To})
	if told = "Gifts of " + page.ContactName(named[moving.From]) + " are still moving here, so totals are not complete yet."; moving.From == contact {
		told = "Gifts are still moving from here to " + page.ContactName(named[moving.To]) + ", so totals will change."
	}
	return told, r.Path(page.JobPath(moving.Job)), err
}

func undoMergePath(merge int64) string { return "/merges/" + page.IDText(merge) + "/undo" }

const (
	mergesPerPage = 25
	reviewsShown  = 10
)

// mergesView is the page of all merges, with those first that a person should look at.
type mergesView struct {
	page.Table
	Reviews []*mergeLine
	Pending int64 // how many of them there are
}

// mergeLine is a merge in words.
type mergeLine struct {
	store.Merge
	Survivor page.Link
	Other    page.Link // without an address where it is no contact of its own
	By       string    // who merged
	How      string    // by which way
	State    page.Mark
	survivor crm.Contact
	Undo     string       // address of the form that takes it apart, or puts it together again; "" where that is not possible
	Changes  []doc.Change // what it did to the survivor
}

var mergeColumns = []page.Column{
	{Name: "what", Label: "Merge"}, {Name: "by", Label: "By", Class: "muted"}, {Name: "when", Label: "When", Class: "muted"}, {Name: "status", Label: "Status"}, {Name: "act", Label: "Undo", Class: "right"},
}

func MergesPage(r *page.Request) error {
	l := r.List(r.Path("/merges"), page.PageParameter, mergesPerPage)
	found, result, err := r.Store.Merges(r.Context(), r.Account(), merges.Filter{Newest: true}, l.PageRequest)
	if err != nil {
		return err
	}
	pending, reviews, err := r.Store.Merges(r.Context(), r.Account(), merges.Filter{Review: true, Newest: true}, crm.PageRequest{Page: 1, PerPage: reviewsShown})
	if err != nil {
		return err
	}
	lines, err := mergeLines(r, slices.Concat(pending, found))
	if err != nil {
		return err
	}
	view := mergesView{Table: r.NewTable("merges", "Merges, latest first", mergeColumns, lines[len(pending):]), Reviews: lines[:len(pending)], Pending: reviews.Total}
	view.Pager = l.Pager(result.Total)
	for _, line := range view.Reviews {
		if line.Changes, err = changesOf(r, line.ID); err != nil {
			return err
		}
		line.Survivor.Label = nameBefore(line.survivor, line.Changes)
	}
	return r.Render("merges", page.View{Title: "Merges", Section: "duplicates", Form: r.Form, Data: view})
}

// mergeLines puts merges into words.
func mergeLines(r *page.Request, all []store.Merge) (lines []*mergeLine, err error) {
	var ids []int64
	for _, m := range all {
		ids = append(ids, m.Survivor, m.Other)
	}
	named, err := r.Store.ContactNames(r.Context(), r.Account(), ids)
	if err != nil {
		return nil, err
	}
	people, err := r.PeopleOf()
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		line := &mergeLine{Merge: m, Survivor: page.Link{Label: page.ContactName(named[m.Survivor]), Address: r.Path(page.ContactPath(m.Survivor))}, By: people.Called(m.Who), How: "By hand", survivor: named[m.Survivor]}
		switch other, known := named[m.Other]; {
		case known:
			line.Other = page.Link{Label: page.ContactName(other), Address: r.Path(page.ContactPath(m.Other))}
		default:
			sent, _ := store.SentContact(m.Sent, m.At) // of one that was erased nothing is known
			line.Other = page.Link{Label: page.ContactName(sent)}
		}
		switch {
		case m.Sent != "" && m.Channel == history.ImportChannel:
			line.How = "Imported row"
		case m.Sent != "":
			line.How = "Matched by email or phone"
		}
		if line.Other.Label == line.Survivor.Label {
			line.Survivor.Label += " (ID " + page.IDText(m.Survivor) + ")"
		}
		line.State = page.Mark{Label: "Merged", Color: "good"}
		switch {
		case m.Undone != 0:
			line.State = page.Mark{Label: "Undone", Color: ""}
			line.Undo = r.Path(undoMergePath(m.Undone))
		case m.Review == store.ReviewPending:
			line.State = page.Mark{Label: "Please review", Color: "warn"}
			fallthrough
		default:
			line.Undo = r.Path(undoMergePath(m.ID))
		}
		if m.Moving != 0 {
			line.State = page.Mark{Label: "Gifts are moving", Color: "warn"}
		}
		if survivor, other := named[m.Survivor], named[m.Other]; r.Membership.Role < access.Editor || survivor.Erased() || other.Erased() {
			line.Undo = ""
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// changesOf is what one change of a contact did, nothing where the history no longer has it.
func changesOf(r *page.Request, revision int64) ([]doc.Change, error) {
	part, err := r.Store.History(r.Context(), r.Account(), store.HistoryPlace{Before: revision + 1}, 1)
	if err != nil || len(part.Entries) == 0 {
		return nil, err
	}
	for _, a := range part.Entries[0].Changes {
		if a.Revision == revision {
			if a.OfCustomFields() {
				a.Fields, err = r.Store.CustomFields(r.Context(), r.Account())
			}
			return a.Changes(), err
		}
	}
	return nil, nil
}

// nameBefore is what a contact was called before some changes.
func nameBefore(c crm.Contact, changes []doc.Change) string {
	names := map[string]*string{"First name": &c.FirstName, "Middle name": &c.MiddleName, "Last name": &c.LastName, "Company": &c.Company}
	for _, change := range changes {
		if name := names[change.Field]; name != nil {
			*name = change.Before
		}
	}
	return page.ContactName(c)
}

// MergeOf is the id of the merge, or of its undo, in the path.
func MergeOf(r *page.Request) (int64, error) {
	id := page.ParseID(r.PathValue("merge"))
	if id == 0 {
		return 0, crm.ErrNotFound
	}
	return id, nil
}

// UndoMerge takes a merge apart, or puts together what was taken apart.
func UndoMerge(r *page.Request, id int64) error {
	undone, err := r.Store.UndoMerge(r.Context(), r.Account(), id, r.Options.Region)
	var refused *doc.Invalid
	if errors.As(err, &refused) {
		return r.Redirect(r.Path("/merges"), page.Notice{Text: page.LabeledFault(refused.Faults[0]), Warning: "Nothing was changed."})
	}
	if err != nil {
		return err
	}
	said, err := undoneNotice(r, undone)
	return r.Done(err, r.Path(page.ContactPath(undone.Survivor.ID)), said)
}

// undoneNotice tells what became of a merge that was taken apart, and what stays with the survivor.
func undoneNotice(r *page.Request, undone store.Undone) (page.Notice, error) {
	survivor, err := crm.ParseContact(undone.Survivor.ID, undone.Survivor.Body, nil)
	if err != nil || undone.Other.ID == 0 {
		return page.Notice{Text: "The two contacts are merged again.", Undo: r.Path(undoMergePath(undone.Survivor.Merge))}, err
	}
	other, err := crm.ParseContact(undone.Other.ID, undone.Other.Body, nil)
	said := page.Notice{
		Text: "The merge was undone. " + page.ContactName(other) + " (ID " + page.IDText(other.ID) + ") is a separate contact again.", View: r.Path(page.ContactPath(other.ID)), Link: "View " + page.ContactName(other),
		Undo: r.Path(undoMergePath(undone.ID())),
	}
	if len(undone.Left) > 0 && err == nil {
		var labels string
		labels, err = fieldLabels(r, undone.Left)
		said.Warning = "Changed since the merge, so it stays with " + page.ContactName(survivor) + ": " + labels + "."
	}
	return said, err
}

// KeepMerge notes that a person has looked at a merge and keeps it.
func KeepMerge(r *page.Request, id int64) error {
	err := r.Store.KeepMerge(r.Context(), r.Account(), id)
	return r.Done(err, r.Path("/merges"), page.Notice{Text: "The merge stays. You can still undo it below."})
}
