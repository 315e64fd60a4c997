package console

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/contacts"
)

func (r *request) tagLinks(counts []contacts.TagCount) (links []tagLink) {
	for _, count := range counts {
		links = append(links, tagLink{Name: count.Name, Address: r.tagAddress(count.Name), Contacts: count.Contacts})
	}
	return links
}

func (r *request) tagAddress(name string) string {
	return r.path("/contacts?tag=" + url.QueryEscape(name))
}

func contactPath(id int64) string { return "/contacts/" + strconv.FormatInt(id, 10) }

func contactName(c crm.Contact) string {
	if c.IsCompany {
		return c.Company
	}
	names := []string{c.FirstName, c.MiddleName, c.LastName}
	return cmp.Or(strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), " "), c.Name())
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
	History timeline
	Note    *form // a note that is added to it
	Tagging *form // tags that are added
}

// contactPage shows a contact. A form that was refused is that of its tags, of a new gift or of a note.
func (r *request) contactPage(contact crm.Contact) (err error) {
	if contact.MergedInto != 0 {
		return r.toSurvivor(contact)
	}
	view := contactView{Contact: &contact, Name: contactName(contact), Facts: contactFacts(&contact), Note: r.form.ifSentTo("/notes"), Tagging: r.form.ifSentTo("/tags/add")}
	if len(contact.Custom) > 0 {
		fields, err := r.store.CustomFields(r.Context(), r.account())
		if err != nil {
			return err
		}
		view.Custom = customFacts(fields, &contact)
	}
	if view.Giving, err = r.givingOf(&contact); err != nil {
		return err
	}
	if view.Moving, view.Work, err = r.movingGifts(contact.ID); err != nil {
		return err
	}
	if r.form.sentTo("/tags/remove") {
		view.Tagging.Faults = r.form.Faults
	}
	if view.History, err = r.contactTimeline(&contact, crm.PageRequest{Page: 1, PerPage: activitiesShown}); err != nil {
		return err
	}
	return r.render("contact", page{Title: view.Name, Section: "contacts", Form: r.form, Data: view})
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

func (r *request) contactOf() (crm.Contact, error) {
	return r.store.ContactRecord(r.Context(), r.account(), r.id)
}

// activeContact is one that may be changed. A person with an old page of one that is archived by now is told so.
func (r *request) activeContact() (contact crm.Contact, ok bool, err error) {
	if contact, err = r.contactOf(); err != nil || !contact.Archived() {
		return contact, err == nil, err
	}
	if contact.MergedInto != 0 {
		return contact, false, r.toSurvivor(contact)
	}
	said := notice{Text: contactName(contact) + " is archived, so nothing was changed. Restore the contact first."}
	return contact, false, r.redirect(r.path(contactPath(r.id)), said)
}

func (r *request) archiveContact() error {
	contact, ok, err := r.activeContact()
	if err != nil || !ok {
		return err
	}
	if err := r.store.ArchiveContact(r.Context(), r.account(), r.id); err != nil && !errors.Is(err, crm.ErrArchived) {
		return err // another user may have archived it at the same moment
	}
	path := r.path(contactPath(r.id))
	return r.redirect(path, notice{Text: contactName(contact) + " was archived.", Undo: path + "/restore"})
}

func (r *request) restoreContact(contact crm.Contact) error {
	if contact.MergedInto != 0 {
		return r.toSurvivor(contact)
	}
	if _, err := r.store.RestoreContact(r.Context(), r.account(), r.id); err != nil {
		return err
	}
	return r.redirect(r.path(contactPath(r.id)), notice{Text: contactName(contact) + " was restored."})
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

// contactData sends everything about one person in one file, for a person who asks what is kept about them.
func (r *request) contactData() error {
	data, err := r.store.ContactData(r.Context(), r.account(), r.id)
	if err != nil {
		return err
	}
	name := r.downloadName("contact-"+r.PathValue("id"), "json", r.today())
	if err := beginDownload(r.w, name, "json"); err != nil {
		return err
	}
	return data.Write(r.Context(), r.w)
}

// erasureView asks whether to erase a person.
type erasureView struct {
	Contact *crm.Contact
	Name    string
}

func (r *request) eraseContactPage(contact crm.Contact) error {
	if contact.MergedInto != 0 {
		return r.toSurvivor(contact)
	}
	if contact.Erased() {
		return r.redirect(r.path(contactPath(r.id)))
	}
	view := erasureView{&contact, contactName(contact)}
	return r.render("contact_erase", page{Title: "Erase " + view.Name, Section: "contacts", Form: r.form, Data: view})
}

// eraseContact needs the name to be typed: nothing brings an erased person back.
func (r *request) eraseContact(contact crm.Contact) (err error) {
	if !strings.EqualFold(strings.Join(strings.Fields(r.form.Value("name")), " "), strings.Join(strings.Fields(contactName(contact)), " ")) {
		wrong := new(doc.Invalid)
		wrong.Add("name", "Type the name as it is written above. Nothing was erased.")
		return wrong
	}
	job, err := r.store.EraseContact(r.Context(), r.account(), r.id)
	if err != nil {
		return err
	}
	said := notice{Text: "The contact was erased. Gifts stay in all totals, without a name."}
	if job != 0 {
		said.Text = "The contact was erased. Gifts still count in all totals. The person’s details are being removed from gifts, history and imports."
		said.View, said.Link = r.path(jobPath(job)), "View progress"
	}
	return r.redirect(r.path("/contacts"), said)
}
