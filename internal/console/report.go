package console

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/jobs"
)

// report is a list of contacts that many organizations need. It is a filter of the list of contacts, so that its contacts are selected, tagged,
// exported and saved as a segment there.
type report struct {
	Name, Text, Query string
	Address           string
	Contacts          *int64 // nil where counting took too long
}

// reportsOf are the reports about a year, seen from this one. Like all numbers of donors they count those who are archived, too.
func reportsOf(year, this int64) []report {
	first := func(year int64) string { return fmt.Sprintf("%d-01-01", year) }
	query := func(q url.Values) string { return with(q, "sort", "-total_contributions").Encode() }
	donors := func(year int64, kind giving.DonorKind) string {
		return query(find.DonorQuery(giving.DonorFilter{Year: year, Kind: kind}, this))
	}
	earlier := find.DonorQuery(giving.DonorFilter{Year: year}, this) // who gave before, and not in the year
	earlier = url.Values{"scope": earlier["scope"], "gave_before": {first(year)}, "no_gift_after": earlier["gave_after"], "no_gift_before": earlier["gave_before"]}
	y, before := fmt.Sprint(year), fmt.Sprint(year-1)
	return []report{
		{Name: fmt.Sprintf("Gave in %s, not in %s", before, y), Text: "Donors of the year before who have not given again.", Query: donors(year-1, giving.LapsedDonors)},
		{Name: "Gave before, not in " + y, Text: "Donors of any earlier year who have not given again.", Query: query(earlier)},
		{Name: "First gift in " + y, Text: "Donors who gave for the first time.", Query: donors(year, giving.NewDonors)},
		{Name: "Recurring donors", Text: "Contacts with a plan that is active or past due.", Query: query(url.Values{"scope": {string(crm.All)}, "plan_status": {"active", "past_due"}})},
		{Name: "Largest donors", Text: "Everyone who has given, the largest total first.", Query: query(url.Values{"scope": {string(crm.All)}, "gave_before": {first(this + 1)}})},
	}
}

var reportColumns = []tableColumn{{Name: "name", Label: "Report"}, {Name: "text", Label: "Who is in it"}, {Name: "contacts", Label: "Contacts", Class: "right number", Told: true}}

func (r *request) reportsPage() error {
	r.form.values = r.URL.Query()
	this := int64(r.today().Year())
	year := yearOf(r.form, this)
	if len(r.form.Faults) > 0 {
		year = this
	}
	all := reportsOf(year, this)
	for i := range all {
		all[i].Address = r.listPath(contactListing, all[i].Query)
	}
	err := r.countContacts(len(all), func(i int) (string, **int64) { return all[i].Query, &all[i].Contacts })
	if err != nil {
		return err
	}
	return r.render("reports", page{Title: "Reports", Section: "reports", Form: r.form, Data: r.newTable("reports", "Reports", reportColumns, pointers(all))})
}

// countingTime is how long a page may wait for the numbers of contacts beside its links.
const countingTime = 2 * time.Second

// countContacts counts the contacts that some queries of the list find. Those that take too long have no number.
func (r *request) countContacts(n int, query func(i int) (string, **int64)) error {
	ctx, cancel := context.WithTimeout(r.Context(), countingTime)
	defer cancel()
	for i := range n {
		text, to := query(i)
		values, err := url.ParseQuery(text)
		if err != nil {
			continue
		}
		of := jobs.Selection{All: true}
		if of.Scope, of.Filter, err = r.contactQuery(values); err != nil {
			continue // the list says what is wrong
		}
		size, err := r.store.SelectionSize(ctx, r.account(), of)
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
