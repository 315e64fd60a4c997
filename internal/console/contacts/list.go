package contacts

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/find"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

const (
	contactsPerPage = 50
	offeredTags     = 6 // above what a search found
)

// contactsView is the list of contacts: all of them, or what the search and the filters find.
type contactsView struct {
	page.Table
	page.Filters
	Scope    crm.ContactScope
	Query    string // as it was typed
	Tabs     []page.Tab
	Tags     []tagLink // that begin with what was typed
	Meant    []page.MeantLink
	Found    string // how many contacts there are, of all of the scope
	All      string // how many are shown on all pages
	Searched bool   // not all contacts are shown
	Part     bool   // only the part that a search changes
	Any      bool   // the organization has contacts
	Segments []segmentLink
	Segment  string // that is shown, "" for none
	Report   string // that is shown, "" for none
}

// tagLink leads to the contacts with a tag.
type tagLink struct {
	Name, Address string
	Contacts      int64 // that are active
	Archived      int64 // and those that are not, where the page tells
}

var contactScopes = []page.Scope[crm.ContactScope]{{Name: crm.Active, Label: "Active"}, {Name: crm.Archived, Label: "Archived"}, {Name: crm.All, Label: "All"}}

func ListPage(r *page.Request) error {
	q, _ := page.ContactListing.Query(r.URL.Query())
	part := r.IsPart()
	if r.Method == http.MethodGet && !part {
		if _, to := r.Asked(page.ContactListing); to != "" {
			return r.Redirect(to)
		}
	}
	scope, err := crm.ParseContactScope(q.Get("scope"))
	if err != nil {
		return r.Redirect(r.Path("/contacts"))
	}
	fields, err := customFilters(r)
	if err != nil {
		return err
	}
	view := contactsView{Table: r.NewList(page.ContactListing, "Contacts", nil), Filters: r.Filters(page.ContactListing, q, fields...), Scope: scope, Query: strings.TrimSpace(q.Get(page.SearchParameter)), Part: part}
	counts, err := r.Store.Counts(r.Context(), r.Account())
	if err != nil {
		return err
	}
	totals := map[crm.ContactScope]int64{crm.Active: counts.Active, crm.Archived: counts.Archived, crm.All: counts.Active + counts.Archived}
	view.Any = totals[crm.All] > 0
	if err := errors.Join(r.OfferCampaigns(&view.Filters, "campaign_id", "Any campaign"), fillSegments(r, &view)); err != nil {
		return err
	}
	if err := fillContacts(r, &view, totals[scope]); err != nil {
		return err
	}
	view.Tabs = page.TabsOf(contactScopes, scope, totals, view.inScope)
	view.Pick = r.Membership.Role >= access.Editor
	view.Columns = view.Sorted(view.Columns)
	p := page.View{Title: "Contacts", Section: "contacts", Form: r.Form, Data: &view}
	if len(view.Panel.Faults) > 0 {
		p.Status = http.StatusUnprocessableEntity
	}
	if view.Part {
		r.W.Header().Set("HX-Replace-Url", page.WithQuery(r.Path("/contacts"), q)) // the form's names are longer than those of a link
		return r.RenderPart("contacts", "results", p)
	}
	return r.Render("contacts", p)
}

// fillContacts finds the page of the list that is asked for, of so many contacts in the scope.
func fillContacts(r *page.Request, view *contactsView, all int64) error {
	_, filter, err := r.ContactQuery(view.Asked)
	if err != nil {
		return view.Refuse(err)
	}
	if !view.Asked.Has("sort") {
		filter.Sort = find.Sort{Descending: true} // the newest first
	}
	rest := filter
	rest.Search, rest.Sort = find.Search{}, find.Sort{}
	searched := !filter.Search.IsEmpty()
	view.Searched = searched || !rest.IsEmpty()
	l := view.List(r, contactsPerPage)
	var contacts []crm.Contact
	var found store.ListResult
	if view.Searched || filter.Sort != (find.Sort{Descending: true}) {
		contacts, found, err = r.Store.MatchingContacts(r.Context(), r.Account(), view.Scope, filter, l.PageRequest)
	} else {
		contacts, found, err = r.Store.ContactPage(r.Context(), r.Account(), view.Scope, l.PageRequest)
		all = found.Total
	}
	view.Rows, view.Pager = page.Pointers(contacts), l.Pager(found.Total)
	view.Found, view.All = ofAll(found.Total, all), page.Plural(found.Total, "contact")
	if err != nil || !searched {
		return err
	}
	counts, err := r.Store.SuggestTags(r.Context(), r.Account(), strings.TrimPrefix(view.Query, "#"), offeredTags)
	view.Tags = tagLinks(r, counts)
	if err == nil && found.Total == 0 && rest.IsEmpty() && view.Scope != crm.Archived {
		view.Meant, err = r.Meant(view.Query, func(text string) string {
			q := maps.Clone(view.Asked)
			q.Set(page.SearchParameter, text)
			return page.WithQuery(view.Base, q)
		})
	}
	return err
}

// inScope is the list with the same search and filters in a scope.
func (view *contactsView) inScope(s crm.ContactScope) string {
	q := maps.Clone(view.Asked)
	q.Del("scope")
	if s != crm.Active {
		q.Set("scope", string(s))
	}
	return page.WithQuery(view.Base, q)
}

// ofAll says how many of all contacts were found.
func ofAll(found, all int64) string {
	if found == all {
		return page.Plural(all, "contact")
	}
	return page.Count(found) + " of " + page.Plural(all, "contact")
}

// customFilters are the filters by custom fields.
func customFilters(r *page.Request) (all []page.Filter, err error) {
	fields, err := r.Store.CustomFields(r.Context(), r.Account())
	if err != nil {
		return nil, err
	}
	for _, definition := range fields.Active() {
		f := page.Filter{Name: definition.Key(), Label: definition.Title, Kind: page.CustomAsked, Word: func(value string) string {
			if value == find.AnyValue {
				return "Has " + definition.Title
			}
			return definition.Title + " " + value
		}}
		switch definition.Type {
		case custom.BooleanField:
			f.Choices = page.NewOptions("yes=Yes", "no=No")
		case custom.SelectField:
			for _, choice := range definition.Options {
				f.Choices = append(f.Choices, page.Option{Value: choice, Label: choice})
			}
		}
		if f.Choices != nil {
			f.Choices = slices.Concat(page.NewOptions("=Any or none"), f.Choices, []page.Option{{Value: find.AnyValue, Label: "Any value"}})
		}
		if all == nil {
			f.Group = "Custom fields"
		}
		all = append(all, f)
	}
	return all, nil
}

func Export(r *page.Request) (err error) {
	sent, of := r.URL.Query(), jobs.Selection{All: true}
	if sent.Get("scope") == page.PickedScope {
		of = jobs.Selection{IDs: pickedIDs(sent["id"])}
	} else {
		var query url.Values
		if query, err = page.ContactListing.Whole(sent); err == nil {
			of.Scope, of.Filter, err = r.ContactQuery(query)
		}
	}
	return page.Export(r, "contacts", of, err, r.Store.ExportContacts)
}
