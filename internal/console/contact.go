package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"donorbook/internal/crm"
	"donorbook/internal/store/contacts"
)

func tagLinks(v visit, counts []contacts.TagCount) (links []tagLink) {
	for _, count := range counts {
		links = append(links, tagLink{Name: count.Name, Address: tagAddress(v, count.Name), Contacts: count.Contacts})
	}
	return links
}

func tagAddress(v visit, name string) string { return v.path("/contacts?tag=" + url.QueryEscape(name)) }

func contactPath(id int64) string { return "/contacts/" + strconv.FormatInt(id, 10) }

func contactName(c crm.Contact) string {
	if c.IsCompany {
		return c.Company
	}
	names := []string{c.FirstName, c.MiddleName, c.LastName}
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), " ")
}

// contactView is the page of one contact.
type contactView struct {
	Contact *crm.Contact
	Name    string
	Tags    []tagLink
	Links   []link // pages of the contact elsewhere
	Facts   []fact // that most contacts do not have
	Marks   []mark
	Custom  []customFact
	Giving  contactGiving
	History timeline
	Note    *form // a note that is added to it
	Tagging *form // tags that are added
}

// contactPage shows a contact. A form that was refused is that of its tags, of a new gift or of a note.
func (c *Console) contactPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	contact, err := c.contactOf(r, v)
	if err != nil {
		return err
	}
	view := contactView{Contact: &contact, Name: contactName(contact)}
	for _, name := range contact.Tags {
		view.Tags = append(view.Tags, tagLink{Name: name, Address: tagAddress(v, name)})
	}
	for _, link := range []link{{"Twitter", contact.TwitterURL}, {"LinkedIn", contact.LinkedinURL}, {"Facebook", contact.FacebookURL}} {
		if link.Address != "" {
			view.Links = append(view.Links, link)
		}
	}
	view.Facts, view.Marks = contactFacts(&contact)
	if len(contact.Custom) > 0 {
		fields, err := c.store.CustomFields(r.Context(), v.account())
		if err != nil {
			return err
		}
		view.Custom = customFacts(fields, &contact)
	}
	if view.Giving, err = c.givingOf(r, v, &contact, f); err != nil {
		return err
	}
	view.Note, view.Tagging = f.ifSentTo("/notes"), f.ifSentTo("/tags/add")
	if f.sentTo("/tags/remove") {
		view.Tagging.Faults = f.Faults
	}
	if view.History, err = c.timelineOf(r, v, &contact, crm.PageRequest{Page: 1, PerPage: activitiesShown}); err != nil {
		return err
	}
	return c.render(w, r, v, "contact", page{Title: view.Name, Section: "contacts", Form: f, Data: view})
}

// fact is something about a contact, with what people call it.
type fact struct{ Label, Text string }

func contactFacts(c *crm.Contact) (facts []fact, marks []mark) {
	add := func(label, text string) {
		if text != "" {
			facts = append(facts, fact{label, text})
		}
	}
	if c.IsCompany {
		add("Contact person", strings.TrimSpace(c.FirstName+" "+c.LastName))
		add("Title", c.Title)
	}
	add("Prefix", c.Prefix)
	add("Suffix", c.Suffix)
	add("Salutation", c.Salutation)
	for _, id := range c.ExternalIDs {
		add(idLabel(id), id.Value)
	}
	for _, name := range c.Marked() {
		color := "warn"
		if name == crm.Company {
			color = ""
		}
		marks = append(marks, mark{crm.MarkLabel(name), color})
	}
	return facts, marks
}

// idLabel is what people call an ID of another system, which may be unknown.
func idLabel(id crm.ExternalID) string {
	if system := id.System(); system != "" {
		return "ID in " + system
	}
	return "External ID"
}

func (c *Console) contactOf(r *http.Request, v visit) (crm.Contact, error) {
	return c.store.ContactRecord(r.Context(), v.account(), v.id)
}

// activeContact is one that may be changed. A person with an old page of one that is archived by now is told so.
func (c *Console) activeContact(w http.ResponseWriter, r *http.Request, v visit) (contact crm.Contact, ok bool, err error) {
	if contact, err = c.contactOf(r, v); err != nil || !contact.Archived() {
		return contact, err == nil, err
	}
	said := notice{Text: contactName(contact) + " is archived, so nothing was changed. Restore the contact first."}
	return contact, false, redirect(w, r, v.path(contactPath(v.id)), said)
}

func (c *Console) archiveContact(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	if err := c.store.ArchiveContact(r.Context(), v.account(), v.id); err != nil && !errors.Is(err, crm.ErrArchived) {
		return err // another user may have archived it at the same moment
	}
	path := v.path(contactPath(v.id))
	return redirect(w, r, path, notice{Text: contactName(contact) + " was archived.", Undo: path + "/restore"})
}

func (c *Console) restoreContact(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	contact, err := c.contactOf(r, v)
	if err != nil {
		return err
	}
	if _, err := c.store.RestoreContact(r.Context(), v.account(), v.id); err != nil {
		return err
	}
	return redirect(w, r, v.path(contactPath(v.id)), notice{Text: contactName(contact) + " was restored."})
}

// dialed is a phone number as a telephone takes it: without what people write between the digits, and without an extension.
func dialed(number string) string {
	end := strings.IndexFunc(number, unicode.IsLetter)
	if end < 0 {
		end = len(number)
	}
	return strings.Map(func(r rune) rune {
		if r == '+' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, number[:end])
}
