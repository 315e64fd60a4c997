package contacts

import (
	"errors"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
)

// HistoryPage shows the whole history of a contact.
func HistoryPage(r *page.Request, contact crm.Contact) (err error) {
	path := r.Path(page.ContactPath(contact.ID))
	l := r.List(path+"/history", page.PageParameter, page.ActivitiesPerPage)
	view := page.HistoryView{Contact: page.Link{Label: page.ContactName(contact), Address: path}}
	if view.Timeline, err = r.ContactTimeline(&contact, l.PageRequest); err != nil {
		return err
	}
	view.Pager = l.Pager(view.Total)
	return r.Render("history", page.View{Title: "History of " + view.Contact.Label, Section: "contacts", Data: view})
}

// ChangePage shows one change of a contact with everything that it did.
func ChangePage(r *page.Request, contact crm.Contact) (err error) {
	view := page.HistoryView{Contact: page.Link{Label: page.ContactName(contact), Address: r.Path(page.ContactPath(contact.ID))}}
	view.Timeline, err = r.WholeChange(contact.ID, page.ParseID(r.PathValue("change")))
	if err != nil {
		return err
	}
	return r.Render("history", page.View{Title: "Change of " + view.Contact.Label, Section: "contacts", Data: view})
}

// AddNote adds a note to the history of a contact.
func AddNote(r *page.Request, _ crm.Contact) error {
	text, at := r.Form.Value("note_text"), r.Form.Value("note_date")
	if at == r.Today().Format(time.DateOnly) {
		at = "" // now, so that it stands behind what has happened today
	}
	in := history.NoteInput{Note: &text, OccurredAt: &at}
	err := in.Validate(nil, r.Today())
	if err == nil {
		_, err = r.Store.AddNote(r.Once(r.Always(page.ContactPath(r.ID)+"#history", "The note was added.")), r.Account(), r.ID, in)
	}
	var invalid *doc.Invalid
	if errors.As(err, &invalid) {
		for i, fault := range invalid.Faults { // as the form calls its fields: that of a gift has a note, too
			invalid.Faults[i].Field = map[string]string{"note": "note_text", "occurred_at": "note_date"}[fault.Field]
		}
	}
	return r.Done(err, r.Path(page.ContactPath(r.ID))+"#history", page.Notice{Text: "Note added."})
}

// UndoChange takes one change of a contact back, or a whole merge.
func UndoChange(r *page.Request) error {
	path, change := r.Path(page.ContactPath(r.ID))+"#history", page.ParseID(r.PathValue("change"))
	merge, err := r.Store.MergeOf(r.Context(), r.Account(), change)
	switch {
	case err == nil && merge.Survivor == r.ID:
		return UndoMerge(r, change)
	case err != nil && !errors.Is(err, crm.ErrNotFound):
		return err
	}
	_, left, err := r.Store.UndoChange(r.Context(), r.Account(), r.ID, change, r.Options.Region)
	var invalid *doc.Invalid
	switch {
	case errors.As(err, &invalid):
		return r.Redirect(path, page.Notice{Text: page.LabeledFault(invalid.Faults[0])})
	case err != nil:
		return err
	}
	said := page.Notice{Text: "Change undone."}
	if len(left) > 0 {
		labels, err := fieldLabels(r, left)
		if err != nil {
			return err
		}
		said.Text = "Change partly undone."
		said.Warning = "Someone has changed " + labels + " since then, so that was left as is."
	}
	return r.Redirect(path, said)
}

// fieldLabels are what people call some fields of contacts.
func fieldLabels(r *page.Request, names []string) (string, error) {
	fields, err := r.Store.CustomFields(r.Context(), r.Account())
	labels := make([]string, len(names))
	for i, field := range names {
		label, ok := history.FieldLabel(fields, field)
		if !ok {
			label = page.FieldLabel(field)
		}
		labels[i] = page.Lowered(label)
	}
	return strings.Join(labels, ", "), err
}
