package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// A form with an email or a phone of another contact is asked about before it is saved. The question carries the whole form,
// which contact the person saw, and what they decide.
const (
	matchField    = "match"
	decisionField = "decision"
	similarField  = "similar" // the contact that the question was about, where it has another email and phone
	apartField    = "apart"   // such contacts that the person has kept apart

	keepDecision  = "keep"
	mergeDecision = "merge"
	backDecision  = "back"
)

// matchView asks what to do about a contact that has the same email or phone.
type matchView struct {
	Form          *form
	Contact       crm.Contact // who has it already
	Name, Address string      // of that contact
	Edited        string      // the name of the contact that is being edited, "" for a new one
	Action        string
	Emails        []string // that both have
	Phones        []string
	Reasons       []string     // why it may be the same person
	Changes       []doc.Change // what adding to the contact would change
	Refused       string       // why it cannot be added
	Typed         string       // the name that was typed, where the contact keeps another one
	Again         bool         // the answer was about something else
}

// Typed is everything that the person has typed.
func (f *form) Typed() url.Values {
	typed := url.Values{}
	for name, values := range f.values {
		if name != matchField && name != decisionField && name != similarField {
			typed[name] = values
		}
	}
	return typed
}

// Unsaved tells whether leaving the form would lose what it was sent with.
func (f *form) Unsaved() bool { return len(f.Faults) > 0 || f.goesBack() || f.previewsStory() }

// goesBack tells whether the person wants to change the form instead of answering the question.
func (f *form) goesBack() bool { return f.Value(decisionField) == backDecision }

// decide takes over what the person has decided about a contact that is similar.
func (f *form) decide(in *crm.ContactInput) {
	in.SeenMatch = f.Value(matchField)
	switch seen := f.Value(similarField); {
	case seen == "":
	case f.Value(decisionField) == keepDecision:
		f.values.Add(apartField, seen)
	case f.Value(decisionField) == mergeDecision:
		id, _, _ := strings.Cut(seen, "-")
		in.ID, in.SeenMatch = idOf(id), seen
	}
}

// createMode is what the person has decided.
func (f *form) createMode() crm.CreateMode {
	if f.Value(decisionField) == mergeDecision {
		return crm.MergeSeen
	}
	return crm.KeepSeen
}

// askAboutSimilar shows who may be the same person, where there is one. It tells whether there is.
func (r *request) askAboutSimilar(in crm.ContactInput, old crm.Contact) (asked bool, err error) {
	similar, err := r.similarTo(in, old)
	if err != nil || similar == nil {
		return false, err
	}
	again := r.form.Value(similarField)
	r.form.set(similarField, similar.Snapshot())
	view := matchView{Contact: similar.Contact, Reasons: similar.Reasons, Again: again != "" && strings.HasPrefix(again, idText(similar.ID)+"-")}
	return true, r.askWhether(in, old, view)
}

// askAboutMatch shows who has the email or phone already, why the person is asked, and what each answer would do. old is the
// contact that is being edited, if any.
func (r *request) askAboutMatch(in crm.ContactInput, old, match crm.Contact) error {
	view := matchView{Contact: match, Again: r.form.Value(matchField) != ""}
	view.Emails, view.Phones = in.Shared(match)
	r.form.set(matchField, match.Snapshot())
	r.form.values.Del(similarField)
	return r.askWhether(in, old, view)
}

// askWhether asks about one contact.
func (r *request) askWhether(in crm.ContactInput, old crm.Contact, view matchView) error {
	match := view.Contact
	view.Form, view.Name, view.Address, view.Action = r.form, contactName(match), r.path(contactPath(match.ID)), r.path("/contacts")
	title := "Is this " + view.Name + "?"
	if old.ID != 0 {
		view.Edited, view.Action = contactName(old), r.path(contactPath(old.ID))
		if view.Reasons == nil {
			title = "Another contact has this email or phone"
		}
	} else if err := view.preview(in, r.now()); err != nil {
		return err
	}
	return r.render("contact_match", page{Title: title, Status: http.StatusConflict, Section: "contacts", Data: view})
}

// preview works out what adding the input to the contact would change.
func (view *matchView) preview(in crm.ContactInput, now time.Time) error {
	merged, err := view.Contact.Add(in, now)
	if invalid := new(doc.Invalid); errors.As(err, &invalid) {
		view.Refused = labeled(invalid.Faults[0])
		return nil
	}
	view.Changes = changesBy(in, view.Contact, merged)
	if typed := in.PersonName(); err == nil && !in.SameName(merged) {
		view.Typed = strings.TrimSpace(typed.String())
	}
	return err
}

// keepApart remembers that the person has kept a contact apart from those that they were asked about, so that no one is asked about them again.
func (r *request) keepApart(id int64) error {
	kept := r.form.Values(apartField)
	if r.form.Value(decisionField) == keepDecision {
		kept = append(kept, r.form.Value(matchField))
	}
	for _, snapshot := range kept {
		other, _, _ := strings.Cut(snapshot, "-")
		if idOf(other) == 0 || idOf(other) == id {
			continue
		}
		if err := r.store.Dismiss(r.Context(), r.account(), id, idOf(other)); err != nil && !errors.Is(err, crm.ErrNotFound) && !errors.Is(err, crm.ErrArchived) { // or gone by now
			return err
		}
	}
	return nil
}
