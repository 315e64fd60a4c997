package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

const (
	contactsPerPage = 50
	shownTags       = 2 // of each row of the list
	offeredTags     = 6 // above what a search found
)

// contactsView is the list of contacts, or what a search found.
type contactsView struct {
	rows[contactRow]
	Scope    crm.ContactScope
	Query    string // as it was typed
	Tag      string // that all contacts shown have
	Clear    string // address without the tag
	Tabs     []tab
	Tags     []tagLink // that begin with what was typed
	Found    string    // how many contacts a search has found
	Searched bool
	Part     bool // only the part that a search changes
	Any      bool // the organization has contacts
	Export   *exportForm
}

// contactRow is what the list shows of a contact, and nothing else of it: a contact may be large, and a page waits for the database
// and for its client.
type contactRow struct {
	FirstName, LastName    string
	Name, Company, Address string
	Email, Phone           string
	Archived               bool
	CreatedAt              time.Time
	Tags                   []tagLink
	MoreTags               int
}

// tagLink leads to the contacts with a tag.
type tagLink struct {
	Name, Address string
	Contacts      int64
}

var contactScopes = []scope[crm.ContactScope]{{crm.Active, "Active"}, {crm.Archived, "Archived"}, {crm.All, "All"}}

func (c *Console) contactsPage(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	query := r.URL.Query()
	scope, err := crm.ParseContactScope(query.Get("scope"))
	if err != nil {
		return redirect(w, r, v.path("/contacts"))
	}
	view := contactsView{Scope: scope, Query: strings.TrimSpace(query.Get("q")), Tag: query.Get("tag"), Part: isPart(r), Export: exportOf(r, v.path("/contacts"))}
	search := crm.ParseSearch(view.Query, c.options.Region)
	if view.Tag != "" {
		search = crm.TagSearch(view.Tag)
	}
	view.Searched = !search.IsEmpty()
	if view.Searched {
		err = c.findContacts(r, v, &view, search)
	} else {
		err = c.listContacts(r, v, &view)
	}
	if err != nil {
		return err
	}
	counts, err := c.store.Counts(r.Context(), v.account())
	if err != nil {
		return err
	}
	totals := map[crm.ContactScope]int64{crm.Active: counts.Active, crm.Archived: counts.Archived, crm.All: counts.Active + counts.Archived}
	view.Any = totals[crm.All] > 0
	view.Tabs = tabsOf(contactScopes, scope, totals, func(s crm.ContactScope) string { return view.address(v, s, store.SearchPlace{}) })
	p := page{Title: "Contacts", Section: "contacts", Data: view}
	if view.Part {
		return c.renderPart(w, v, "contacts", "results", p)
	}
	return c.render(w, r, v, "contacts", p)
}

// address is the list with the same search in a scope, at a place of it.
func (view contactsView) address(v visit, scope crm.ContactScope, at store.SearchPlace) string {
	q := url.Values{}
	if scope != crm.Active {
		q.Set("scope", string(scope))
	}
	switch {
	case view.Tag != "":
		q.Set("tag", view.Tag)
	case view.Query != "":
		q.Set("q", view.Query)
	}
	if at.After != 0 {
		q.Set("after", strconv.FormatInt(at.After, 10))
	}
	if at.Before != 0 {
		q.Set("before", strconv.FormatInt(at.Before, 10))
	}
	return withQuery(v.path("/contacts"), q)
}

func (c *Console) listContacts(r *http.Request, v visit, view *contactsView) error {
	l := listOf(r, v.path("/contacts"), pageParameter, contactsPerPage)
	contacts, found, err := c.store.ContactPage(r.Context(), v.account(), view.Scope, l.PageRequest)
	for _, name := range []string{"q", "after", "before"} {
		l.query.Del(name)
	}
	view.Rows, view.Pager = contactRows(v, contacts), l.pager(found.Total)
	return err
}

func (c *Console) findContacts(r *http.Request, v visit, view *contactsView, search crm.Search) error {
	found, err := c.store.SearchContacts(r.Context(), v.account(), view.Scope, search, searchPlace(r.URL.Query()), contactsPerPage)
	if err != nil {
		return err
	}
	view.Rows = contactRows(v, found.Contacts)
	view.Found = foundWords(found.Total)
	if found.Prev != (store.SearchPlace{}) {
		view.Pager.Previous = view.address(v, view.Scope, found.Prev)
	}
	if found.Next != (store.SearchPlace{}) {
		view.Pager.Next = view.address(v, view.Scope, found.Next)
	}
	if view.Tag != "" {
		view.Clear = contactsView{}.address(v, view.Scope, store.SearchPlace{})
		return nil
	}
	counts, err := c.store.SuggestTags(r.Context(), v.account(), strings.TrimPrefix(view.Query, "#"), offeredTags)
	view.Tags = tagLinks(v, counts)
	return err
}

// searchPlace reads where a page of a search begins or ends. What is not a number is the first page: it comes from no link of ours.
func searchPlace(q url.Values) (at store.SearchPlace) {
	if id, err := strconv.ParseInt(q.Get("after"), 10, 64); err == nil {
		at.After = id
	}
	if id, err := strconv.ParseInt(q.Get("before"), 10, 64); err == nil {
		at.Before = id
	}
	return at
}

// foundWords says how many contacts a search has found.
func foundWords(total int64) string {
	switch {
	case total == 1:
		return "1 contact"
	case total > store.CountedResults:
		return "More than " + shownCount(store.CountedResults) + " contacts"
	}
	return shownCount(total) + " contacts"
}

func contactRows(v visit, contacts []crm.Contact) (rows []contactRow) {
	for _, contact := range contacts {
		row := contactRow{
			FirstName: strings.Clone(contact.FirstName), LastName: strings.Clone(contact.LastName), // their text is a part of the document's
			Name: strings.Clone(contactName(contact)), Company: strings.Clone(contact.Company), Address: v.path(contactPath(contact.ID)),
			Archived: contact.Archived(), CreatedAt: contact.CreatedAt,
		}
		if len(contact.Emails) > 0 {
			row.Email = strings.Clone(contact.Emails[0].Value)
		}
		if len(contact.Phones) > 0 {
			row.Phone = strings.Clone(contact.Phones[0].Value)
		}
		for _, name := range contact.Tags[:min(len(contact.Tags), shownTags)] {
			name = strings.Clone(name)
			row.Tags = append(row.Tags, tagLink{Name: name, Address: tagAddress(v, name)})
		}
		row.MoreTags = len(contact.Tags) - len(row.Tags)
		rows = append(rows, row)
	}
	return rows
}

func tagLinks(v visit, counts []store.TagCount) (links []tagLink) {
	for _, count := range counts {
		links = append(links, tagLink{Name: count.Name, Address: tagAddress(v, count.Name), Contacts: count.Contacts})
	}
	return links
}

func tagAddress(v visit, name string) string { return v.path("/contacts?tag=" + url.QueryEscape(name)) }

func contactPath(id int64) string { return "/contacts/" + strconv.FormatInt(id, 10) }

func contactName(c crm.Contact) string {
	names := []string{c.FirstName, c.MiddleName, c.LastName}
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), " ")
}

// contactView is the page of one contact.
type contactView struct {
	Contact *crm.Contact
	Name    string
	Tags    []tagLink
	Links   []link // pages of the contact elsewhere
	Custom  []customFact
	Giving  contactGiving
	History timeline
	Note    *form // a note that is added to it
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
	view.Note = f.ifSentTo("/notes")
	if view.History, err = c.timelineOf(r, v, &contact, crm.PageRequest{Page: 1, PerPage: activitiesShown}); err != nil {
		return err
	}
	return c.render(w, r, v, "contact", page{Title: view.Name, Section: "contacts", Form: f, Data: view})
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
