package contacts

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
)

func tagLinks(r *page.Request, counts []store.TagCount) (links []tagLink) {
	for _, count := range counts {
		links = append(links, tagLink{Name: count.Name, Address: tagAddress(r, count.Name), Contacts: count.Contacts})
	}
	return links
}

func tagAddress(r *page.Request, name string) string {
	return r.Path("/contacts?tag=" + url.QueryEscape(name))
}

// contactView is the page of one contact.
type contactView struct {
	Contact *crm.Contact
	Name    string
	Facts   []fact // that most contacts do not have
	Custom  []customFact
	Giving  contactGiving
	Moving  string // why its totals are not complete yet; "" where they are
	Work    string // address of the job that completes them
	History page.Timeline
	Note    *page.Form // a note that is added to it
	Tagging *page.Form // tags that are added
}

// Page shows a contact. A form that was refused is that of its tags, of a new gift or of a note.
func Page(r *page.Request, contact crm.Contact) (err error) {
	view := contactView{Contact: &contact, Name: page.ContactName(contact), Facts: contactFacts(&contact), Note: r.Form.IfSentTo("/notes"), Tagging: r.Form.IfSentTo("/tags/add")}
	if len(contact.Custom) > 0 {
		fields, err := r.Store.CustomFields(r.Context(), r.Account())
		if err != nil {
			return err
		}
		view.Custom = customFacts(fields, &contact)
	}
	if view.Giving, err = givingOf(r, &contact); err != nil {
		return err
	}
	if view.Moving, view.Work, err = movingGifts(r, contact.ID); err != nil {
		return err
	}
	if r.Form.SentTo("/tags/remove") {
		view.Tagging.Faults = r.Form.Faults
	}
	if view.History, err = r.ContactTimeline(&contact, crm.PageRequest{Page: 1, PerPage: page.ActivitiesShown}); err != nil {
		return err
	}
	return r.Render("contact", page.View{Title: view.Name, Section: "contacts", Form: r.Form, Data: view})
}

// fact is something about a contact, with what people call it.
type fact struct{ Label, Text string }

func contactFacts(c *crm.Contact) (facts []fact) {
	if c.IsCompany {
		facts = append(facts, fact{"Contact person", strings.TrimSpace(c.FirstName + " " + c.LastName)}, fact{"Title", c.Title})
	}
	facts = append(facts, fact{"Prefix", c.Prefix}, fact{"Suffix", c.Suffix}, fact{"Salutation", c.Salutation})
	for _, id := range c.ExternalIDs {
		if id == giving.AnonymousID {
			facts = append(facts, fact{"Used for", "Anonymous gifts"})
			continue
		}
		facts = append(facts, fact{idLabel(id), id.Value})
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Text == "" })
}

// idLabel is what people call an ID of another system, which may be unknown.
func idLabel(id crm.ExternalID) string {
	if system := id.System(); system != "" {
		return "ID in " + system
	}
	return "External ID"
}

func Archive(r *page.Request, contact crm.Contact) error {
	if err := r.Store.ArchiveContact(r.Context(), r.Account(), r.ID); err != nil && !errors.Is(err, crm.ErrArchived) {
		return err // another user may have archived it at the same moment
	}
	path := r.Path(page.ContactPath(r.ID))
	return r.Redirect(path, page.Notice{Text: page.ContactName(contact) + " was archived.", Undo: path + "/restore"})
}

// MarkBounced notes that an email of the contact bounced, or that it works again.
func MarkBounced(r *page.Request) error {
	email := r.Form.Value("email")
	in := crm.ContactInput{BouncedEmail: &email}
	if err := in.Validate(nil, false, "", r.Store.Now()); err != nil {
		return err
	}
	if _, err := r.Store.UpdateContact(r.Context(), r.Account(), r.ID, in); err != nil {
		return err
	}
	said := "Mail goes to this contact again."
	if email != "" {
		said = "No more mail goes to " + email + "."
	}
	return r.Redirect(r.Path(page.ContactPath(r.ID)), page.Notice{Text: said})
}

func Restore(r *page.Request, contact crm.Contact) error {
	_, err := r.Store.RestoreContact(r.Context(), r.Account(), r.ID)
	return r.Done(err, r.Path(page.ContactPath(r.ID)), page.Notice{Text: page.ContactName(contact) + " was restored."})
}

// Data sends everything about one person in one file, for a person who asks what is kept about them.
func Data(r *page.Request) error {
	if err := r.HoldDownload(); err != nil {
		return err
	}
	data, err := r.Store.ContactData(r.Context(), r.Account(), r.ID)
	if err != nil {
		return err
	}
	name := r.DownloadName("contact-"+r.PathValue("id"), "json", r.Today())
	page.BeginDownload(r.W, name, "json")
	return data.Write(r.Context(), r.W)
}

// erasureView asks whether to erase a person.
type erasureView struct {
	Contact *crm.Contact
	Name    string
}

func ErasePage(r *page.Request, contact crm.Contact) error {
	if contact.Erased() {
		return r.Redirect(r.Path(page.ContactPath(r.ID)))
	}
	view := erasureView{&contact, page.ContactName(contact)}
	return r.Render("contact_erase", page.View{Title: "Erase " + view.Name, Section: "contacts", Form: r.Form, Data: view})
}

// Erase needs the name to be typed: nothing brings an erased person back.
func Erase(r *page.Request, contact crm.Contact) (err error) {
	if !strings.EqualFold(strings.Join(strings.Fields(r.Form.Value("name")), " "), strings.Join(strings.Fields(page.ContactName(contact)), " ")) {
		return doc.NewInvalid("name", "Type the name as it is written above. Nothing was erased.")
	}
	job, err := r.Store.EraseContact(r.Context(), r.Account(), r.ID)
	if err != nil {
		return err
	}
	said := page.Notice{Text: "The contact was erased. Gifts stay in all totals, without a name."}
	if job != 0 {
		said.Text = "The contact was erased. Gifts still count in all totals. The person’s details are being removed from gifts, history and imports."
		said.View, said.Link = r.Path(page.JobPath(job)), "View progress"
	}
	return r.Redirect(r.Path("/contacts"), said)
}
