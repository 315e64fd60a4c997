package console

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
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
	Form     *form
	Survivor *crm.Contact
	Currency string

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
	return contactPath(survivor) + "/merge?" + withParameter + "=" + idText(other)
}

// mergePicked compares two contacts that were selected in the list. The one that is proposed to stay is the one that should.
func (r *request) mergePicked(ids []int64, back string) error {
	if len(ids) != 2 {
		return r.redirect(back, notice{Text: "Select exactly two contacts to merge them. Nothing was changed."})
	}
	a, err := r.store.ContactRecord(r.Context(), r.account(), ids[0])
	if err != nil {
		return err
	}
	b, err := r.store.ContactRecord(r.Context(), r.account(), ids[1])
	if err != nil {
		return err
	}
	if b.StaysBefore(&a) {
		a, b = b, a
	}
	return r.redirect(r.path(mergePath(a.ID, b.ID)))
}

// mergePage shows the page that the query, or a form that was refused, asks for.
func (r *request) mergePage(contact crm.Contact) (err error) {
	switch {
	case contact.MergedInto != 0:
		return r.toSurvivor(contact)
	case contact.Archived():
		return r.redirect(r.path(contactPath(r.id)), notice{Text: contactName(contact) + " is archived, so it cannot be merged. Restore the contact first."})
	}
	sent := r.URL.Query()
	if r.form.path != "" {
		sent = r.form.values
	}
	view := mergeView{Form: r.form, Survivor: &contact, Query: strings.TrimSpace(sent.Get("q"))}
	if view.Currency, err = r.store.Currency(r.Context(), r.account()); err != nil {
		return err
	}
	id := idOf(sent.Get(withParameter))
	if id == 0 {
		return r.chooseOther(&view)
	}
	if idOf(sent.Get(staysParameter)) == id && id != r.id { // the contacts change places
		sent.Set(withParameter, idText(r.id))
		return r.redirect(withQuery(r.path(contactPath(id)+"/merge"), sent))
	}
	other, err := r.store.ContactRecord(r.Context(), r.account(), id)
	if err != nil {
		return err
	}
	view.Other = &other
	if err := contact.CheckMerge(&other); err != nil {
		return r.refuseMerge(err, func() error { return r.chooseOther(&view) })
	}
	return r.compareContacts(&view, sent)
}

// refuseMerge shows a page with why two contacts cannot be merged, and nothing that was said before.
func (r *request) refuseMerge(err error, show func() error) error {
	r.form.Faults = nil
	if err := r.form.refuse(err); err != nil {
		return err
	}
	return show()
}

// chooseOther asks for the contact that is merged in.
func (r *request) chooseOther(view *mergeView) error {
	title := "Merge " + contactName(*view.Survivor)
	if view.Query != "" {
		search := searchView{Query: view.Query}
		if err := r.searchContacts(&search); err != nil {
			return err
		}
		view.Found = slices.DeleteFunc(search.Contacts, func(c *crm.Contact) bool { return c.ID == view.Survivor.ID || c.Archived() })
	}
	groups, err := r.store.Duplicates(r.Context(), r.account(), duplicates.Filter{Contact: view.Survivor.ID}, crm.PageRequest{Page: 1, PerPage: 1})
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
	return r.render("merge_with", page{Title: title, Section: "contacts", Form: r.form, Data: view})
}

// compareContacts shows both contacts, or what the choice would make of them.
func (r *request) compareContacts(view *mergeView, sent url.Values) error {
	fields, err := r.store.CustomFields(r.Context(), r.account())
	if err != nil {
		return err
	}
	input := view.choose(view.Survivor.Compare(view.Other, fields), sent)
	view.Compare = withQuery(r.path(contactPath(r.id)+"/merge"), view.Choice)
	show := func() error {
		return r.render("merge", page{Title: "Merge two contacts", Section: "contacts", Form: r.form, Data: view})
	}
	if sent.Get(stepParameter) == "" {
		return show()
	}
	preview, err := r.store.PreviewMerge(r.Context(), r.account(), r.id, input, r.options.Region)
	if err != nil {
		return r.refuseMerge(err, show)
	}
	view.Preview, view.Result = &preview, preview.Merged.Compare(&preview.Merged, fields)
	r.form.set(seenField, preview.Survivor.SeenWith(&preview.Other))
	return r.render("merge_preview", page{Title: "Check the merge", Section: "contacts", Form: r.form, Data: view})
}

// choose takes over what was chosen, and proposes the rest.
func (view *mergeView) choose(all []crm.Compared, sent url.Values) crm.MergeInput {
	input := crm.MergeInput{Contact: view.Other.ID, MergeChoice: crm.MergeChoice{Fields: map[string]int64{}}}
	view.Choice = url.Values{withParameter: {idText(view.Other.ID)}}
	for _, field := range all {
		if field.Same {
			view.Same = append(view.Same, field)
			continue
		}
		row := mergeRow{Compared: field, Chosen: idText(field.Better)}
		if field.CanJoin && field.Better == 0 {
			row.Chosen = bothChosen
		}
		switch value := sent.Get(field.Name); value {
		case idText(view.Survivor.ID), idText(view.Other.ID), bothChosen:
			row.Chosen = value
		}
		if field.Choice {
			view.Choice.Set(field.Name, row.Chosen)
			if id := idOf(row.Chosen); id != 0 {
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

// mergeContacts merges two contacts as the preview has shown it.
func (r *request) mergeContacts(contact crm.Contact) error {
	other, err := r.store.ContactRecord(r.Context(), r.account(), idOf(r.form.Value(withParameter)))
	if err != nil {
		return err
	}
	if contact.Archived() {
		return r.mergePage(contact)
	}
	fields, err := r.store.CustomFields(r.Context(), r.account())
	if err != nil {
		return err
	}
	view := mergeView{Survivor: &contact, Other: &other}
	input := view.choose(contact.Compare(&other, fields), r.form.values)
	input.Seen = cmp.Or(r.form.Value(seenField), "none")
	made, err := r.store.Merge(r.Context(), r.account(), contact.ID, input, r.options.Region)
	if errors.Is(err, crm.ErrChanged) {
		r.form.fail("", "One of the two contacts changed after you opened this page, so nothing was merged. Look at the preview again, then merge.")
		return errRefused
	}
	if err != nil {
		return err
	}
	text := "Merged " + contactName(other) + " into " + contactName(contact) + "."
	if contactName(other) == contactName(contact) {
		text = "Merged 2 records of " + contactName(contact) + " (ID " + idText(other.ID) + " into ID " + idText(contact.ID) + ")."
	}
	return r.redirect(r.path(contactPath(contact.ID)), notice{Text: text, Undo: r.path(undoMergePath(made.Merge))})
}

// toSurvivor leads from a contact that was merged to the one that it is part of now.
func (r *request) toSurvivor(contact crm.Contact) (err error) {
	survivor := contact
	for survivor.MergedInto != 0 {
		if survivor, err = r.store.ContactRecord(r.Context(), r.account(), survivor.MergedInto); err != nil {
			return err
		}
	}
	said := notice{Text: contactName(contact) + " was merged into this contact."}
	return r.redirect(r.path(contactPath(survivor.ID)), said)
}

// movingGifts says which gifts still move to a contact or away from it, and where to see how far that is.
func (r *request) movingGifts(contact int64) (told, address string, err error) {
	moving, err := r.store.MovingOf(r.Context(), r.account(), contact)
	if err != nil || moving.Job == 0 {
		return "", "", err
	}
	named, err := r.store.ContactNames(r.Context(), r.account(), []int64{moving.From, moving.To})
	if told = "Gifts of " + contactName(named[moving.From]) + " are still moving here, so totals are not complete yet."; moving.From == contact {
		told = "Gifts are still moving from here to " + contactName(named[moving.To]) + ", so totals will change."
	}
	return told, r.path(jobPath(moving.Job)), err
}

func undoMergePath(merge int64) string { return "/merges/" + idText(merge) + "/undo" }

const (
	mergesPerPage = 25
	reviewsShown  = 10
)

// mergesView is the page of all merges, with those first that a person should look at.
type mergesView struct {
	table
	Reviews []*mergeLine
	Pending int64 // how many of them there are
}

// mergeLine is a merge in words.
type mergeLine struct {
	store.Merge
	Survivor link
	Other    link   // without an address where it is no contact of its own
	By       string // who merged
	How      string // by which way
	State    mark
	survivor crm.Contact
	Undo     string       // address of the form that takes it apart, or puts it together again; "" where that is not possible
	Changes  []doc.Change // what it did to the survivor
}

var mergeColumns = []tableColumn{
	{Name: "what", Label: "Merge"}, {Name: "by", Label: "By", Class: "muted"}, {Name: "when", Label: "When", Class: "muted"}, {Name: "status", Label: "Status"}, {Name: "act", Label: "Undo", Class: "right"},
}

func (r *request) mergesPage() error {
	l := r.list(r.path("/merges"), pageParameter, mergesPerPage)
	found, result, err := r.store.Merges(r.Context(), r.account(), merges.Filter{Newest: true}, l.PageRequest)
	if err != nil {
		return err
	}
	pending, reviews, err := r.store.Merges(r.Context(), r.account(), merges.Filter{Review: true, Newest: true}, crm.PageRequest{Page: 1, PerPage: reviewsShown})
	if err != nil {
		return err
	}
	lines, err := r.mergeLines(slices.Concat(pending, found))
	if err != nil {
		return err
	}
	view := mergesView{table: r.newTable("merges", "Merges, latest first", mergeColumns, lines[len(pending):]), Reviews: lines[:len(pending)], Pending: reviews.Total}
	view.Pager = l.pager(result.Total)
	for _, line := range view.Reviews {
		if line.Changes, err = r.changesOf(line.ID); err != nil {
			return err
		}
		line.Survivor.Label = nameBefore(line.survivor, line.Changes)
	}
	return r.render("merges", page{Title: "Merges", Section: "duplicates", Form: r.form, Data: view})
}

// mergeLines puts merges into words.
func (r *request) mergeLines(all []store.Merge) (lines []*mergeLine, err error) {
	var ids []int64
	for _, m := range all {
		ids = append(ids, m.Survivor, m.Other)
	}
	named, err := r.store.ContactNames(r.Context(), r.account(), ids)
	if err != nil {
		return nil, err
	}
	people, err := r.peopleOf()
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		line := &mergeLine{Merge: m, Survivor: link{contactName(named[m.Survivor]), r.path(contactPath(m.Survivor))}, By: people.called(m.Who), How: "By hand", survivor: named[m.Survivor]}
		switch other, known := named[m.Other]; {
		case known:
			line.Other = link{contactName(other), r.path(contactPath(m.Other))}
		default:
			sent, _ := contacts.SentContact(m.Sent, m.At) // of one that was erased nothing is known
			line.Other = link{Label: contactName(sent)}
		}
		switch {
		case m.Sent != "" && m.Channel == history.ImportChannel:
			line.How = "Imported row"
		case m.Sent != "":
			line.How = "Matched by email or phone"
		}
		if line.Other.Label == line.Survivor.Label {
			line.Survivor.Label += " (ID " + idText(m.Survivor) + ")"
		}
		line.State = mark{"Merged", "good"}
		switch {
		case m.Undone != 0:
			line.State = mark{"Undone", ""}
			line.Undo = r.path(undoMergePath(m.Undone))
		case m.Review == store.ReviewPending:
			line.State = mark{"Please review", "warn"}
			fallthrough
		default:
			line.Undo = r.path(undoMergePath(m.ID))
		}
		if m.Moving != 0 {
			line.State = mark{"Gifts are moving", "warn"}
		}
		if survivor, other := named[m.Survivor], named[m.Other]; r.membership.Role < access.Editor || survivor.Erased() || other.Erased() {
			line.Undo = ""
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// changesOf is what one change of a contact did, nothing where the history no longer has it.
func (r *request) changesOf(revision int64) ([]doc.Change, error) {
	part, err := r.store.History(r.Context(), r.account(), contacts.HistoryPlace{Before: revision + 1}, 1)
	if err != nil || len(part.Entries) == 0 {
		return nil, err
	}
	for _, a := range part.Entries[0].Changes {
		if a.Revision == revision {
			if a.OfCustomFields() {
				a.Fields, err = r.store.CustomFields(r.Context(), r.account())
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
	return contactName(c)
}

// mergeOf is the id of the merge, or of its undo, in the path.
func (r *request) mergeOf() (int64, error) {
	id := idOf(r.PathValue("merge"))
	if id == 0 {
		return 0, crm.ErrNotFound
	}
	return id, nil
}

// undoMerge takes a merge apart, or puts together what was taken apart.
func (r *request) undoMerge(id int64) error {
	undone, err := r.store.UndoMerge(r.Context(), r.account(), id, r.options.Region)
	var refused *doc.Invalid
	if errors.As(err, &refused) {
		return r.redirect(r.path("/merges"), notice{Text: labeled(refused.Faults[0]), Warning: "Nothing was changed."})
	}
	if err != nil {
		return err
	}
	said, err := r.undoneNotice(undone)
	if err != nil {
		return err
	}
	return r.redirect(r.path(contactPath(undone.Survivor.ID)), said)
}

// undoneNotice tells what became of a merge that was taken apart, and what stays with the survivor.
func (r *request) undoneNotice(undone merges.Undone) (notice, error) {
	survivor, err := crm.ParseContact(undone.Survivor.ID, undone.Survivor.Body, nil)
	if err != nil || undone.Other.ID == 0 {
		return notice{Text: "The two contacts are merged again.", Undo: r.path(undoMergePath(undone.Survivor.Merge))}, err
	}
	other, err := crm.ParseContact(undone.Other.ID, undone.Other.Body, nil)
	said := notice{
		Text: "The merge was undone. " + contactName(other) + " (ID " + idText(other.ID) + ") is a separate contact again.", View: r.path(contactPath(other.ID)), Link: "View " + contactName(other),
		Undo: r.path(undoMergePath(undone.ID())),
	}
	if len(undone.Left) > 0 && err == nil {
		var labels string
		labels, err = r.fieldLabels(undone.Left)
		said.Warning = "Changed since the merge, so it stays with " + contactName(survivor) + ": " + labels + "."
	}
	return said, err
}

// keepMerge notes that a person has looked at a merge and keeps it.
func (r *request) keepMerge(id int64) error {
	if err := r.store.KeepMerge(r.Context(), r.account(), id); err != nil {
		return err
	}
	return r.redirect(r.path("/merges"), notice{Text: "The merge stays. You can still undo it below."})
}
