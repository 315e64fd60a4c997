package console

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
)

const (
	contactsPerPage = 50
	offeredTags     = 6 // above what a search found
)

// contactsView is the list of contacts: all of them, or what the search and the filters find.
type contactsView struct {
	table
	filters
	Scope    crm.ContactScope
	Query    string // as it was typed
	Tabs     []tab
	Tags     []tagLink // that begin with what was typed
	Meant    []meantLink
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

var contactScopes = []scope[crm.ContactScope]{{crm.Active, "Active"}, {crm.Archived, "Archived"}, {crm.All, "All"}}

func (r *request) contactsPage() error {
	q, _ := contactListing.query(r.URL.Query())
	part := r.isPart()
	if r.Method == http.MethodGet && !part {
		if _, to := r.asked(contactListing); to != "" {
			return r.redirect(to)
		}
	}
	scope, err := crm.ParseContactScope(q.Get("scope"))
	if err != nil {
		return r.redirect(r.path("/contacts"))
	}
	fields, err := r.customFilters()
	if err != nil {
		return err
	}
	view := contactsView{table: r.newList(contactListing, "Contacts", nil), filters: r.filters(contactListing, q, fields...), Scope: scope, Query: strings.TrimSpace(q.Get(searchParameter)), Part: part}
	counts, err := r.store.Counts(r.Context(), r.account())
	if err != nil {
		return err
	}
	totals := map[crm.ContactScope]int64{crm.Active: counts.Active, crm.Archived: counts.Archived, crm.All: counts.Active + counts.Archived}
	view.Any = totals[crm.All] > 0
	if view.Currency, err = r.store.Currency(r.Context(), r.account()); err != nil {
		return err
	}
	if err := errors.Join(r.offerCampaigns(&view.filters, "campaign_id", "Any campaign", view.Currency), r.fillSegments(&view)); err != nil {
		return err
	}
	if err := r.fillContacts(&view, totals[scope]); err != nil {
		return err
	}
	view.Tabs = tabsOf(contactScopes, scope, totals, view.inScope)
	view.Pick = r.membership.Role >= access.Editor
	view.Columns = view.sorted(view.Columns)
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
	l := view.list(r, contactsPerPage)
	var contacts []crm.Contact
	var found store.ListResult
	if view.Searched || filter.Sort != (find.Sort{Descending: true}) {
		contacts, found, err = r.store.MatchingContacts(r.Context(), r.account(), view.Scope, filter, l.PageRequest)
	} else {
		contacts, found, err = r.store.ContactPage(r.Context(), r.account(), view.Scope, l.PageRequest)
		all = found.Total
	}
	view.Rows, view.Pager = pointers(contacts), l.pager(found.Total)
	view.Found, view.All = ofAll(found.Total, all), plural(found.Total, "contact")
	if err != nil || !searched {
		return err
	}
	counts, err := r.store.SuggestTags(r.Context(), r.account(), strings.TrimPrefix(view.Query, "#"), offeredTags)
	view.Tags = r.tagLinks(counts)
	if err == nil && found.Total == 0 && rest.IsEmpty() && view.Scope != crm.Archived {
		view.Meant, err = r.meant(view.Query, func(text string) string {
			q := maps.Clone(view.query)
			q.Set(searchParameter, text)
			return withQuery(view.path, q)
		})
	}
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

// contactListing is the list of contacts. Its address has the parameters of the API, so that a filter is a link, a segment and an export alike. The panel
// asks in words of its own: several tags in one field, the last day of a time, and a choice between having and lacking something.
var contactListing = &listing{
	name: "contacts", columns: contactColumns, order: "-" + string(find.ByCreation), alias: find.Parameter, more: []string{"scope"}, passing: []string{searchParameter, "scope", giving.ImportParameter},
	fields: []filterField{
		{group: "Giving", name: "campaign_id", label: "Gave to", said: "Gave to "},
		{name: "total_contributions_min", label: "Total given, at least", kind: amountAsked, ends: "Total given"},
		{name: "total_contributions_max", label: "Total given, at most", kind: amountAsked},
		{name: "plan", label: "Recurring gift", parameter: "plan_status", kind: planAsked, said: "Recurring gift ", joined: true, word: func(status string) string { return strings.ToLower(spoken(status)) },
			choices: newOptions("=Any or none", "current=Current", "active=Active", "past_due=Past due", "paused=Paused", "ended=Ended")},
		{name: "gave_from", label: "Gave on or after", parameter: "gave_after", kind: dayAsked, ends: "Gave"},
		{name: "gave_to", label: "Gave on or before", parameter: "gave_before", kind: lastDayAsked},
		{name: "no_gift_from", label: "No gift since", parameter: "no_gift_after", kind: dayAsked, ends: "No gift"},
		{name: "no_gift_to", label: "No gift on or before", parameter: "no_gift_before", kind: lastDayAsked},
		{group: "Tags", name: "tags_all", label: "All of these tags", parameter: "tag", kind: tagsAsked, said: "Tagged "},
		{name: "tags_any", label: "Any of these tags", parameter: "tag_any", kind: tagsAsked, said: "Tagged ", joined: true},
		{name: "tags_none", label: "None of these tags", parameter: "tag_none", kind: tagsAsked, said: "Not tagged "},
		{group: "Contact details", name: "type", label: "Type", choices: newOptions("=Any", "individual=Individual", "company=Company"), said: "Type ", word: strings.ToLower},
		{name: "has_email", label: "Email", parameter: string(crm.EmailDetail), kind: detailAsked, choices: newOptions("=Any", "yes=Has an email", "no=Has no email")},
		{name: "has_phone", label: "Phone", parameter: string(crm.PhoneDetail), kind: detailAsked, choices: newOptions("=Any", "yes=Has a phone", "no=Has no phone")},
		{name: "city", label: "City", said: "City "},
		{name: "zip", label: "ZIP starts with", said: "ZIP "},
		markFilter("do_not_mail").below("Opt-outs and status"), markFilter("do_not_email"), markFilter("do_not_call"), markFilter("deceased"),
		{group: "Record", name: "added_from", label: "Added on or after", parameter: "created_after", kind: dayAsked, ends: "Added"},
		{name: "added_to", label: "Added on or before", parameter: "created_before", kind: lastDayAsked},
		{name: "changed_from", label: "Changed on or after", parameter: "updated_after", kind: dayAsked, ends: "Changed"},
		{name: "changed_to", label: "Changed on or before", parameter: "updated_before", kind: lastDayAsked},
		{name: "external_id", label: "External ID", said: "External ID "},
	},
}

// markFilter is the filter by a mark of contacts.
func markFilter(mark string) filterField {
	label := crm.MarkLabel(mark)
	return filterField{name: mark, label: label, choices: newOptions("=Any", "true=Yes", "false=No"), word: func(value string) string {
		if value == "false" {
			return label + ": no"
		}
		return label
	}}
}

// below is the filter below a heading of its own.
func (f filterField) below(group string) filterField {
	f.group = group
	return f
}

// customFilters are the filters by custom fields.
func (r *request) customFilters() (all []filterField, err error) {
	fields, err := r.store.CustomFields(r.Context(), r.account())
	if err != nil {
		return nil, err
	}
	for _, definition := range fields.Active() {
		f := filterField{name: definition.Key(), label: definition.Title, kind: customAsked, word: func(value string) string {
			if value == find.AnyValue {
				return "Has " + definition.Title
			}
			return definition.Title + " " + value
		}}
		switch definition.Type {
		case custom.BooleanField:
			f.choices = newOptions("yes=Yes", "no=No")
		case custom.SelectField:
			for _, choice := range definition.Options {
				f.choices = append(f.choices, option{Value: choice, Label: choice})
			}
		}
		if f.choices != nil {
			f.choices = slices.Concat(newOptions("=Any or none"), f.choices, []option{{Value: find.AnyValue, Label: "Any value"}})
		}
		if all == nil {
			f.group = "Custom fields"
		}
		all = append(all, f)
	}
	return all, nil
}
