package console

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
)

const (
	contactsPerPage = 50
	offeredTags     = 6 // above what a search found
)

// contactsView is the list of contacts: all of them, or what the search and the filters find.
type contactsView struct {
	table
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
	Segments []segmentLink
	Segment  string // that is shown, "" for none
	Report   string // that is shown, "" for none
	Export   *exportForm
}

// tagLink leads to the contacts with a tag.
type tagLink struct {
	Name, Address string
	Contacts      int64 // that are active
	Archived      int64 // and those that are not, where the page tells
}

// passingFilters are not remembered: they are about one search, or one import.
var passingFilters = []string{"q", "scope", giving.ImportParameter}

var contactScopes = []scope[crm.ContactScope]{{crm.Active, "Active"}, {crm.Archived, "Archived"}, {crm.All, "All"}}

func (r *request) contactsPage() error {
	q, clean := listQuery(r.URL.Query())
	part := r.isPart()
	if r.Method == http.MethodGet && !part {
		if to := r.recall("contacts", r.path("/contacts"), q, !clean, passingFilters); to != "" {
			return r.redirect(to)
		}
		if !clean {
			return r.redirect(withQuery(r.path("/contacts"), q))
		}
	}
	scope, err := crm.ParseContactScope(q.Get("scope"))
	if err != nil {
		return r.redirect(r.path("/contacts"))
	}
	view := contactsView{table: r.newList("contacts", "Contacts", nil), Scope: scope, Query: strings.TrimSpace(q.Get("q")), Part: part, contactFilters: contactFilters{query: q, path: r.path("/contacts"), Saving: r.form}, Export: exportOf(q, r.path("/contacts"))}
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
	view.Pick = r.membership.Role >= access.Editor
	view.Columns, view.table.Query = sorted(view.Columns, view.path, view.query), view.query.Encode()
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
	view.Rows, view.Pager = pointers(contacts), l.pager(found.Total)
	view.Found, view.All = plural(found.Total, "contact"), plural(found.Total, "contact")
	return err
}

// filterContacts finds contacts by the filters, or in another order.
func (r *request) filterContacts(view *contactsView, filter find.Filter, all int64) error {
	l := view.list(r)
	contacts, found, err := r.store.MatchingContacts(r.Context(), r.account(), view.Scope, filter, l.PageRequest)
	view.Rows, view.Pager = pointers(contacts), l.pager(found.Total)
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

// contactColumns are all that the list has.
var contactColumns = []tableColumn{
	{Name: "name", Label: "Name", Sort: string(find.ByName)},
	{Name: "email", Label: "Email", Optional: true, Usual: true}, {Name: "phone", Label: "Phone", Optional: true, Usual: true},
	{Name: "city", Label: "City", Optional: true, Told: true}, {Name: "zip", Label: "ZIP", Optional: true, Told: true},
	{Name: "tags", Label: "Tags", Optional: true, Usual: true},
	{Name: "last-gift", Label: "Last gift", Optional: true, Usual: true, Told: true, Sort: string(find.ByLastGift)},
	{Name: "given", Label: "Total given", Class: "given number", Optional: true, Usual: true, Told: true, Sort: string(find.ByTotal)},
	{Name: "added", Label: "Added", Optional: true, Sort: string(find.ByCreation)}, {Name: "changed", Label: "Changed", Optional: true, Told: true, Sort: string(find.ByUpdate)},
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
