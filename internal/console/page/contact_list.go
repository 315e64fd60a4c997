package page

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/jobs"
)

// ContactQuery reads the query of a list. The days in it are days of the organization; the API takes times.
func (r *Request) ContactQuery(query url.Values) (scope crm.ContactScope, f find.Filter, err error) {
	scope, f, err = find.ParseQuery(query.Encode(), r.Options.Region)
	f.Created, f.Updated = f.Created.OfDays(r.Zone()), f.Updated.OfDays(r.Zone())
	return scope, f, err
}

// contactColumns are all that the list has.
var contactColumns = []Column{
	{Name: "name", Label: "Name", Sort: string(find.ByName)},
	{Name: "email", Label: "Email", Optional: true, Usual: true}, {Name: "phone", Label: "Phone", Optional: true, Usual: true},
	{Name: "city", Label: "City", Optional: true, Told: true}, {Name: "zip", Label: "ZIP", Optional: true, Told: true},
	{Name: "tags", Label: "Tags", Optional: true, Usual: true},
	{Name: "last-gift", Label: "Last gift", Optional: true, Usual: true, Told: true, Sort: string(find.ByLastGift)},
	{Name: "given", Label: "Total given", Class: "given number", Optional: true, Usual: true, Told: true, Sort: string(find.ByTotal)},
	{Name: "added", Label: "Added", Optional: true, Sort: string(find.ByCreation)}, {Name: "changed", Label: "Changed", Optional: true, Told: true, Sort: string(find.ByUpdate)},
}

// ContactListing is the list of contacts. Its address has the parameters of the API, so that a filter is a link, a segment and an export alike. The panel
// asks in words of its own: several tags in one field, the last day of a time, and a choice between having and lacking something.
var ContactListing = &Listing{
	Name: "contacts", Columns: contactColumns, Order: "-" + string(find.ByCreation), Alias: find.Parameter, More: []string{"scope"},
	Fields: []Filter{
		{Group: "Giving", Name: "campaign_id", Label: "Gave to", Said: "Gave to "},
		{Name: "total_contributions_min", Label: "Total given, at least", Kind: AmountAsked, Ends: "Total given"},
		{Name: "total_contributions_max", Label: "Total given, at most", Kind: AmountAsked},
		{Name: "plan", Label: "Recurring gift", Parameter: "plan_status", Kind: planAsked, Said: "Recurring gift ", Joined: true, Word: func(status string) string { return strings.ToLower(Spoken(status)) },
			Choices: NewOptions("=Any or none", "current=Current", "active=Active", "past_due=Past due", "paused=Paused", "ended=Ended")},
		{Name: "gave_from", Label: "Gave on or after", Parameter: "gave_after", Kind: DayAsked, Ends: "Gave"},
		{Name: "gave_to", Label: "Gave on or before", Parameter: "gave_before", Kind: LastDayAsked},
		{Name: "no_gift_from", Label: "No gift since", Parameter: "no_gift_after", Kind: DayAsked, Ends: "No gift"},
		{Name: "no_gift_to", Label: "No gift on or before", Parameter: "no_gift_before", Kind: LastDayAsked},
		{Group: "Tags", Name: "tags_all", Label: "All of these tags", Parameter: "tag", Kind: tagsAsked, Said: "Tagged "},
		{Name: "tags_any", Label: "Any of these tags", Parameter: "tag_any", Kind: tagsAsked, Said: "Tagged ", Joined: true},
		{Name: "tags_none", Label: "None of these tags", Parameter: "tag_none", Kind: tagsAsked, Said: "Not tagged "},
		{Group: "Contact details", Name: "type", Label: "Type", Choices: NewOptions("=Any", "individual=Individual", "company=Company"), Said: "Type ", Word: strings.ToLower},
		{Name: "has_email", Label: "Email", Parameter: string(crm.EmailDetail), Kind: detailAsked, Choices: NewOptions("=Any", "yes=Has an email", "no=Has no email")},
		{Name: "has_phone", Label: "Phone", Parameter: string(crm.PhoneDetail), Kind: detailAsked, Choices: NewOptions("=Any", "yes=Has a phone", "no=Has no phone")},
		{Name: "city", Label: "City", Said: "City "},
		{Name: "zip", Label: "ZIP starts with", Said: "ZIP "},
		markFilter("do_not_mail").Below("Opt-outs and status"), markFilter("do_not_email"), markFilter("do_not_call"), markFilter("deceased"),
		{Name: crm.BouncedMark, Label: "Email delivery", Choices: NewOptions("=Any", "true=Bounced", "false=Not bounced"), Word: func(value string) string {
			return map[string]string{"true": "Email bounced", "false": "Email has not bounced"}[value]
		}},
		{Group: "Record", Name: "added_from", Label: "Added on or after", Parameter: "created_after", Kind: DayAsked, Ends: "Added"},
		{Name: "added_to", Label: "Added on or before", Parameter: "created_before", Kind: LastDayAsked},
		{Name: "changed_from", Label: "Changed on or after", Parameter: "updated_after", Kind: DayAsked, Ends: "Changed"},
		{Name: "changed_to", Label: "Changed on or before", Parameter: "updated_before", Kind: LastDayAsked},
		{Name: "external_id", Label: "External ID", Said: "External ID "},
	},
}

// markFilter is the filter by a mark of contacts.
func markFilter(mark string) Filter {
	label := crm.MarkLabel(mark)
	return Filter{Name: mark, Label: label, Choices: NewOptions("=Any", "true=Yes", "false=No"), Word: func(value string) string {
		if value == "false" {
			return label + ": no"
		}
		return label
	}}
}

// Below is the filter below a heading of its own.
func (f Filter) Below(group string) Filter {
	f.Group = group
	return f
}

// report is a list of contacts that many organizations need. It is a filter of the list of contacts, so that its contacts are selected, tagged,
// exported and saved as a segment there.
type report struct {
	Name, Text, Query string
	Address           string
	Contacts          *int64 // nil where counting took too long
}

// ReportsOf are the reports about a year, seen from this one. Like all numbers of donors they count those who are archived, too.
func ReportsOf(year, this int64) []report {
	first := func(year int64) string { return fmt.Sprintf("%d-01-01", year) }
	query := func(q url.Values) string { return With(q, "sort", "-total_contributions").Encode() }
	donors := func(year int64, kind giving.DonorKind) string {
		return query(find.DonorQuery(giving.DonorFilter{Year: year, Kind: kind}, this))
	}
	earlier := find.DonorQuery(giving.DonorFilter{Year: year}, this) // who gave before, and not in the year
	earlier = url.Values{"scope": earlier["scope"], "gave_before": {first(year)}, "no_gift_after": earlier["gave_after"], "no_gift_before": earlier["gave_before"]}
	y, before := fmt.Sprint(year), fmt.Sprint(year-1)
	return []report{
		{Name: fmt.Sprintf("Gave in %s, not in %s", before, y), Text: "Last year’s donors who haven’t given again.", Query: donors(year, giving.LapsedDonors)},
		{Name: "Gave before, not in " + y, Text: "Donors from any earlier year who haven’t given again.", Query: query(earlier)},
		{Name: "First gift in " + y, Text: "Donors who gave for the first time.", Query: donors(year, giving.NewDonors)},
		{Name: "Recurring donors", Text: "Contacts with a recurring gift that is active or past due.", Query: query(url.Values{"scope": {string(crm.All)}, "plan_status": {"active", "past_due"}})},
		{Name: "Largest donors", Text: "Everyone who has given, largest total first.", Query: query(url.Values{"scope": {string(crm.All)}, "gave_before": {first(this + 1)}})},
	}
}

// countingTime is how long a page may wait for the numbers of contacts beside its links.
const countingTime = 2 * time.Second

// CountContacts counts the contacts that some queries of the list find. Those that take too long have no number.
func (r *Request) CountContacts(n int, query func(i int) (string, **int64)) error {
	ctx, cancel := context.WithTimeout(r.Context(), countingTime)
	defer cancel()
	for i := range n {
		text, to := query(i)
		values, err := url.ParseQuery(text)
		if err != nil {
			continue
		}
		of := jobs.Selection{All: true}
		if of.Scope, of.Filter, err = r.ContactQuery(values); err != nil {
			continue // the list says what is wrong
		}
		size, err := r.Store.SelectionSize(ctx, r.Account(), of)
		switch {
		case err == nil:
			*to = &size
		case ctx.Err() != nil && r.Context().Err() == nil, errors.Is(err, crm.ErrCrowded), errors.Is(err, crm.ErrTooMany):
			return nil
		default:
			return err
		}
	}
	return nil
}
