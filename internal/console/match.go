package console

import (
	"errors"
	"net/http"
	"net/url"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// A form with an email or a phone of another contact is asked about before it is saved. The question carries the whole form,
// which contact the person saw, and what they decide.
const (
	matchField    = "match"
	decisionField = "decision"

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
	Changes       []doc.Change // what adding to the contact would change
	Refused       string       // why it cannot be added
	Again         bool         // the answer was about something else
}

// Typed is everything that the person has typed.
func (f *form) Typed() url.Values {
	typed := url.Values{}
	for name, values := range f.values {
		if name != matchField && name != decisionField {
			typed[name] = values
		}
	}
	return typed
}

// Unsaved tells whether leaving the form would lose what it was sent with.
func (f *form) Unsaved() bool { return len(f.Faults) > 0 || f.goesBack() || f.previewsStory() }

// goesBack tells whether the person wants to change the form instead of answering the question.
func (f *form) goesBack() bool { return f.Value(decisionField) == backDecision }

// createMode is what the person has decided.
func (f *form) createMode() crm.CreateMode {
	if f.Value(decisionField) == mergeDecision {
		return crm.MergeSeen
	}
	return crm.KeepSeen
}

// askAboutMatch shows who has the email or phone already, why the person is asked, and what each answer would do. old is the
// contact that is being edited, if any.
func (r *request) askAboutMatch(in crm.ContactInput, old, match crm.Contact) error {
	view := matchView{
		Form: r.form, Contact: match, Name: contactName(match), Address: r.path(contactPath(match.ID)), Action: r.path("/contacts"),
		Again: r.form.Value(matchField) != "",
	}
	view.Emails, view.Phones = in.Shared(match)
	title := "Is this " + view.Name + "?"
	if old.ID != 0 {
		view.Edited, view.Action = contactName(old), r.path(contactPath(old.ID))
		title = "Another contact has this email or phone"
	} else if err := view.preview(in, r.Console); err != nil {
		return err
	}
	r.form.set(matchField, match.Snapshot())
	return r.render("contact_match", page{Title: title, Status: http.StatusConflict, Section: "contacts", Data: view})
}

// preview works out what adding the input to the contact would change.
func (view *matchView) preview(in crm.ContactInput, c *Console) error {
	merged, err := view.Contact.Merge(in, c.now())
	if invalid := new(doc.Invalid); errors.As(err, &invalid) {
		view.Refused = labeled(invalid.Faults[0])
		return nil
	}
	view.Changes = changesBy(in, view.Contact, merged)
	return err
}
