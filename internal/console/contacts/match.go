package contacts

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// matchView asks what to do about a contact that has the same email or phone.
type matchView struct {
	Form          *page.Form
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

// decide takes over what the person has decided about a contact that is similar.
func decide(f *page.Form, in *crm.ContactInput) {
	in.SeenMatch = f.Value(page.MatchField)
	switch seen := f.Value(page.SimilarField); {
	case seen == "":
	case f.Value(page.DecisionField) == page.KeepDecision:
		f.Fields.Add(page.ApartField, seen)
	case f.Value(page.DecisionField) == page.MergeDecision:
		id, _, _ := strings.Cut(seen, "-")
		in.ID, in.SeenMatch = page.ParseID(id), seen
	}
}

// createMode is what the person has decided.
func createMode(f *page.Form) crm.CreateMode {
	if f.Value(page.DecisionField) == page.MergeDecision {
		return crm.MergeSeen
	}
	return crm.KeepSeen
}

// askAboutSimilar shows who may be the same person, where there is one. It tells whether there is.
func askAboutSimilar(r *page.Request, in crm.ContactInput, old crm.Contact) (asked bool, err error) {
	similar, err := similarTo(r, in, old)
	if err != nil || similar == nil {
		return false, err
	}
	again := r.Form.Value(page.SimilarField)
	r.Form.Set(page.SimilarField, similar.Snapshot())
	view := matchView{Contact: similar.Contact, Reasons: similar.Reasons, Again: again != "" && strings.HasPrefix(again, page.IDText(similar.ID)+"-")}
	return true, askWhether(r, in, old, view)
}

// askAboutMatch shows who has the email or phone already, why the person is asked, and what each answer would do. old is the
// contact that is being edited, if any.
func askAboutMatch(r *page.Request, in crm.ContactInput, old, match crm.Contact) error {
	view := matchView{Contact: match, Again: r.Form.Value(page.MatchField) != ""}
	view.Emails, view.Phones = in.Shared(match)
	r.Form.Set(page.MatchField, match.Snapshot())
	r.Form.Fields.Del(page.SimilarField)
	return askWhether(r, in, old, view)
}

// askWhether asks about one contact.
func askWhether(r *page.Request, in crm.ContactInput, old crm.Contact, view matchView) error {
	match := view.Contact
	view.Form, view.Name, view.Address, view.Action = r.Form, page.ContactName(match), r.Path(page.ContactPath(match.ID)), r.Path("/contacts")
	title := "Is this " + view.Name + "?"
	if old.ID != 0 {
		view.Edited, view.Action = page.ContactName(old), r.Path(page.ContactPath(old.ID))
		if view.Reasons == nil {
			title = "Another contact has this email or phone"
		}
	} else if err := view.preview(in, r.Now()); err != nil {
		return err
	}
	return r.Render("contact_match", page.View{Title: title, Status: http.StatusConflict, Section: "contacts", Data: view})
}

// preview works out what adding the input to the contact would change.
func (view *matchView) preview(in crm.ContactInput, now time.Time) error {
	merged, err := view.Contact.Add(in, now)
	if invalid := new(doc.Invalid); errors.As(err, &invalid) {
		view.Refused = page.LabeledFault(invalid.Faults[0])
		return nil
	}
	view.Changes = changesBy(in, view.Contact, merged)
	if typed := in.PersonName(); err == nil && !in.SameName(merged) {
		view.Typed = strings.TrimSpace(typed.String())
	}
	return err
}

// keepApart remembers that the person has kept a contact apart from those that they were asked about, so that no one is asked about them again.
func keepApart(r *page.Request, id int64) error {
	kept := r.Form.Values(page.ApartField)
	if r.Form.Value(page.DecisionField) == page.KeepDecision {
		kept = append(kept, r.Form.Value(page.MatchField))
	}
	for _, snapshot := range kept {
		other, _, _ := strings.Cut(snapshot, "-")
		if page.ParseID(other) == 0 || page.ParseID(other) == id {
			continue
		}
		if err := r.Store.Dismiss(r.Context(), r.Account(), id, page.ParseID(other)); err != nil && !errors.Is(err, crm.ErrNotFound) && !errors.Is(err, crm.ErrArchived) { // or gone by now
			return err
		}
	}
	return nil
}
