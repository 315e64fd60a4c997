package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
)

const (
	contactsPerPage = 50
	shownTags       = 2 // of each row of the list
	offeredTags     = 6 // above what a search found
)

// contactsView is the list of contacts: all of them, or what the search and the filters find.
type contactsView struct {
	rows[contactRow]
	contactFilters
	Scope    crm.ContactScope
	Query    string // as it was typed
	Tabs     []tab
	Tags     []tagLink // that begin with what was typed
	Found    string    // how many contacts there are, of all of the scope
	All      string    // how many are shown on all pages
	Searched bool      // not all contacts are shown
	Part     bool      // only the part that a search changes
	Any      bool      // the organization has contacts
	Columns  []contactColumn
	Choices  []option // of columns
	Segments []segmentLink
	Segment  string // that is shown, "" for none
	Export   *exportForm
}

// contactRow is what the list shows of a contact, and nothing else of it: a contact may be large, and a page waits for the database
// and for its client.
type contactRow struct {
	ID                     int64
	Initials               string
	Name, Company, Address string
	Email, Phone           string
	City, Zip              string
	Archived               bool
	CreatedAt, UpdatedAt   time.Time
	LastGift               time.Time
	Given                  int64
	Tags                   []tagLink
	MoreTags               int // than are shown
	Others                 int // than the first, where there is no room for more
}

// tagLink leads to the contacts with a tag.
type tagLink struct {
	Name, Address string
	Contacts      int64 // that are active
	Archived      int64 // and those that are not, where the page tells
}

var contactScopes = []scope[crm.ContactScope]{{crm.Active, "Active"}, {crm.Archived, "Archived"}, {crm.All, "All"}}

func (r *request) contactsPage() error {
	q, clean := listQuery(r.URL.Query())
	part := r.isPart()
	if !clean && !part && r.Method == http.MethodGet {
		return r.redirect(withQuery(r.path("/contacts"), q))
	}
	scope, err := crm.ParseContactScope(q.Get("scope"))
	if err != nil {
		return r.redirect(r.path("/contacts"))
	}
	view := contactsView{Scope: scope, Query: strings.TrimSpace(q.Get("q")), Part: part, contactFilters: contactFilters{query: q, path: r.path("/contacts"), Saving: r.form}, Export: exportOf(q, r.path("/contacts"))}
	counts, err := r.store.Counts(r.Context(), r.account())
	if err != nil {
		return err
	}
	totals := map[crm.ContactScope]int64{crm.Active: counts.Active, crm.Archived: counts.Archived, crm.All: counts.Active + counts.Archived}
	view.Any = totals[crm.All] > 0
	if err := r.fillFilters(&view); err != nil {
		return err
	}
	if err := r.fillContacts(&view, totals[scope]); err != nil {
		return err
	}
	view.Tabs = tabsOf(contactScopes, scope, totals, view.inScope)
	view.Columns, view.Choices = view.columns(cookieValue(r.Request, columnsCookie))
	p := page{Title: "Contacts", Section: "contacts", Form: r.form, Data: &view}
	if len(view.Panel.Faults) > 0 {
		p.Status = http.StatusUnprocessableEntity
	}
	if view.Part {
		r.w.Header().Set("HX-Replace-Url", withQuery(r.path("/contacts"), q)) // the form's names are longer than those of a link
		return r.renderPart("contacts", "results", p)
	}
	return r.render("contacts", p)
}

// contactQuery reads the query of a list. The days in it are days of the organization; the API takes times.
func (r *request) contactQuery(query url.Values) (scope crm.ContactScope, f find.Filter, err error) {
	scope, f, err = find.ParseQuery(query.Encode(), r.options.Region)
	f.Created, f.Updated = f.Created.OfDays(r.zone()), f.Updated.OfDays(r.zone())
	return scope, f, err
}

// fillContacts finds the page of the list that is asked for, of so many contacts in the scope.
func (r *request) fillContacts(view *contactsView, all int64) error {
	_, filter, err := r.contactQuery(view.query)
	if err != nil {
		return view.refuse(err)
	}
	if !view.query.Has("sort") {
		filter.Sort = find.Sort{Descending: true} // the newest first
	}
	rest := filter
	rest.Search, rest.Sort = find.Search{}, find.Sort{}
	searched := !filter.Search.IsEmpty()
	view.Searched = searched || !rest.IsEmpty()
	if view.Searched || filter.Sort != (find.Sort{Descending: true}) {
		err = r.filterContacts(view, filter, all)
	} else {
		err = r.listContacts(view)
	}
	if err != nil || !searched {
		return err
	}
	counts, err := r.store.SuggestTags(r.Context(), r.account(), strings.TrimPrefix(view.Query, "#"), offeredTags)
	view.Tags = r.tagLinks(counts)
	return err
}

// list is the page of the list that is asked for.
func (view *contactsView) list(r *request) list {
	l := r.list(view.path, pageParameter, contactsPerPage)
	l.query = maps.Clone(view.query)
	return l
}

func (r *request) listContacts(view *contactsView) error {
	l := view.list(r)
	contacts, found, err := r.store.ContactPage(r.Context(), r.account(), view.Scope, l.PageRequest)
	view.Rows, view.Pager = r.contactRows(contacts), l.pager(found.Total)
	view.Found, view.All = plural(found.Total, "contact"), plural(found.Total, "contact")
	return err
}

// filterContacts finds contacts by the filters, or in another order.
func (r *request) filterContacts(view *contactsView, filter find.Filter, all int64) error {
	l := view.list(r)
	contacts, found, err := r.store.MatchingContacts(r.Context(), r.account(), view.Scope, filter, l.PageRequest)
	view.Rows, view.Pager = r.contactRows(contacts), l.pager(found.Total)
	view.Found, view.All = ofAll(found.Total, all), plural(found.Total, "contact")
	return err
}

// inScope is the list with the same search and filters in a scope.
func (view *contactsView) inScope(s crm.ContactScope) string {
	q := maps.Clone(view.query)
	q.Del("scope")
	if s != crm.Active {
		q.Set("scope", string(s))
	}
	return withQuery(view.path, q)
}

// ofAll says how many of all contacts were found.
func ofAll(found, all int64) string {
	if found == all {
		return plural(all, "contact")
	}
	return shownCount(found) + " of " + plural(all, "contact")
}

// employer is the company that a person belongs to.
func employer(c *crm.Contact) string {
	if c.IsCompany {
		return ""
	}
	return c.Company
}

func (r *request) contactRows(contacts []crm.Contact) (rows []contactRow) {
	for _, contact := range contacts {
		row := contactRow{
			ID:       contact.ID,
			Initials: initials(contact.Name()),
			Name:     strings.Clone(contactName(contact)), Company: strings.Clone(employer(&contact)), Address: r.path(contactPath(contact.ID)), // texts are a part of the document's
			Archived: contact.Archived(), CreatedAt: contact.CreatedAt, UpdatedAt: contact.UpdatedAt, LastGift: contact.LastGift, Given: contact.Stats.TotalContributions,
		}
		if len(contact.Emails) > 0 {
			row.Email = strings.Clone(contact.Emails[0].Value)
		}
		if len(contact.Phones) > 0 {
			row.Phone = strings.Clone(contact.Phones[0].Value)
		}
		if len(contact.Addresses) > 0 {
			row.City, row.Zip = strings.Clone(contact.Addresses[0].City), strings.Clone(contact.Addresses[0].Zipcode)
		}
		for _, name := range contact.Tags[:min(len(contact.Tags), shownTags)] {
			name = strings.Clone(name)
			row.Tags = append(row.Tags, tagLink{Name: name, Address: r.tagAddress(name)})
		}
		row.MoreTags, row.Others = len(contact.Tags)-len(row.Tags), max(0, len(contact.Tags)-1)
		rows = append(rows, row)
	}
	return rows
}

// contactColumn is one that the list shows beside the name.
type contactColumn struct {
	Name, Label string
	Sort        find.SortField // that it is sorted by, "" for none
	Address     string         // of the list in its order
	Order       string         // ascending, descending, or "" where the list has another order
}

// contactColumns are all that people can choose from.
var contactColumns = []contactColumn{
	{Name: "email", Label: "Email"}, {Name: "phone", Label: "Phone"}, {Name: "city", Label: "City"}, {Name: "zip", Label: "ZIP"}, {Name: "tags", Label: "Tags"},
	{Name: "given", Label: "Total given", Sort: find.ByTotal}, {Name: "last-gift", Label: "Last gift", Sort: find.ByLastGift},
	{Name: "added", Label: "Added", Sort: find.ByCreation}, {Name: "changed", Label: "Changed", Sort: find.ByUpdate},
}

const (
	columnsCookie  = "__Host-columns"
	columnsTime    = 365 * 24 * time.Hour
	usualColumns   = "email.phone.tags.added"
	columnsDivider = "."
)

// columns are those that a browser has chosen, and all that it can choose. The first one is the name, which is always there.
func (view *contactsView) columns(chosen string) (shown []contactColumn, choices []option) {
	if chosen == "" {
		chosen = usualColumns
	}
	names := strings.Split(chosen, columnsDivider)
	shown = append(shown, view.sorted(contactColumn{Name: "name", Label: "Name", Sort: find.ByName}))
	for _, col := range contactColumns {
		isShown := slices.Contains(names, col.Name)
		choices = append(choices, option{Value: col.Name, Label: col.Label, Chosen: isShown})
		if isShown {
			shown = append(shown, view.sorted(col))
		}
	}
	return shown, choices
}

// sorted adds the link that sorts by a column: the other way round where the list is sorted by it already. Names begin with A, all else with
// the newest and the largest.
func (view *contactsView) sorted(col contactColumn) contactColumn {
	if col.Sort == "" {
		return col
	}
	up, down := string(col.Sort), "-"+string(col.Sort)
	next := down
	switch current := view.query.Get("sort"); {
	case current == up:
		col.Order = "ascending"
	case current == down:
		col.Order, next = "descending", up
	case col.Sort == find.ByName:
		next = up
	}
	q := maps.Clone(view.query)
	q.Set("sort", next)
	col.Address = withQuery(view.path, q)
	return col
}

// chooseColumns remembers in the browser which columns the list has.
func (r *request) chooseColumns() error {
	var names []string
	r.form.values = r.URL.Query()
	for _, col := range contactColumns {
		if r.form.Has("column", col.Name) {
			names = append(names, col.Name)
		}
	}
	if names == nil {
		names = []string{"none"}
	}
	setCookie(r.w, columnsCookie, strings.Join(names, columnsDivider), columnsTime)
	return r.redirect(r.listPath(r.form.values.Get("query")))
}

// listPath is the list with the query of another page. What is no query of the list is left out.
func (r *request) listPath(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		return r.path("/contacts")
	}
	q, _ := listQuery(values)
	return withQuery(r.path("/contacts"), q)
}
