package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
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
		{Name: fmt.Sprintf("Gave in %s, not in %s", before, y), Text: "Last year’s donors who haven’t given again.", Query: donors(year, giving.LapsedDonors)},
		{Name: "Gave before, not in " + y, Text: "Donors from any earlier year who haven’t given again.", Query: query(earlier)},
		{Name: "First gift in " + y, Text: "Donors who gave for the first time.", Query: donors(year, giving.NewDonors)},
		{Name: "Recurring donors", Text: "Contacts with a recurring gift that is active or past due.", Query: query(url.Values{"scope": {string(crm.All)}, "plan_status": {"active", "past_due"}})},
		{Name: "Largest donors", Text: "Everyone who has given, largest total first.", Query: query(url.Values{"scope": {string(crm.All)}, "gave_before": {first(this + 1)}})},
	}
}

var reportColumns = []tableColumn{{Name: "name", Label: "List"}, {Name: "text", Label: "Who is in it"}, {Name: "contacts", Label: "Contacts", Class: "right number", Told: true}}

// reportView is a year of giving: the money by months, campaigns and methods, and who gave it. Every number leads to the list behind it.
type reportView struct {
	gifts.YearReport
	Year              int64
	Earlier, Later    string // the years beside it; "" for one that has not begun
	Figures           []figure
	Chart             chart
	ByCampaign, ByWay []reportPart
	DonorRows         []reportPart
	Others, Export    string
	Lists             table
}

// YearBefore is the year that it is compared with.
func (v *reportView) YearBefore() int64 { return v.Year - 1 }

// reportPart is one line of a part of the report: money, and of donors also how many they are.
type reportPart struct {
	Name, Address  string
	Count          string // of donors
	Amount, Before string // Before is what it was in the year before
	Width          string // of the bar
}

func (r *request) reportsPage() error {
	view, err := r.readReport()
	if err != nil {
		return err
	}
	all := reportsOf(view.Year, int64(r.today().Year()))
	for i := range all {
		all[i].Address = r.listPath(contactListing, all[i].Query)
	}
	err = r.countContacts(len(all), func(i int) (string, **int64) { return all[i].Query, &all[i].Contacts })
	if err != nil {
		return err
	}
	view.Lists = r.newTable("reports", "Donor lists", reportColumns, pointers(all))
	return r.render("reports", page{Title: "Reports", Section: "reports", Form: r.form, Data: view})
}

// readReport reads the report of the year in the address.
func (r *request) readReport() (*reportView, error) {
	r.form.values = r.URL.Query()
	now := text.WallClock(r.now(), r.zone())
	this := giving.Year(now)
	view := &reportView{Year: yearOf(r.form, this, this)}
	if len(r.form.Faults) > 0 {
		view.Year = this
	}
	var err error
	if view.YearReport, err = r.store.YearReport(r.Context(), r.account(), view.Year, r.now()); err != nil {
		return nil, err
	}
	beside := func(year int64) string { return withQuery(r.path("/reports"), url.Values{"year": {fmt.Sprint(year)}}) }
	if view.Earlier = beside(view.Year - 1); view.Year < this {
		view.Later = beside(view.Year + 1)
	}
	view.Export = withQuery(r.path("/reports/export"), url.Values{"year": {fmt.Sprint(view.Year)}})
	view.Others = moneyList(view.YearReport.Others, view.Currency)
	var months []time.Time
	var amounts []int64
	for i := range 24 {
		month := time.Date(int(view.Year)-1, time.Month(i+1), 1, 0, 0, 0, 0, time.UTC)
		months, amounts = append(months, month), append(amounts, view.Months[giving.Month(month)].Amount)
	}
	view.Chart = r.moneyChart(months, amounts, view.Currency)
	view.Figures = r.reportFigures(view, now)
	return view, r.reportParts(view)
}

// reportFigures are the numbers at the head of the report. The first is the one that people ask for.
func (r *request) reportFigures(v *reportView, now time.Time) []figure {
	money := func(minor int64) string { return text.Money(minor, v.Currency) }
	donors := func(year int64, kind giving.DonorKind) string {
		return r.donorsAddress(giving.DonorFilter{Year: year, Kind: kind}, gifts.DonorPlace{})
	}
	of, before := fmt.Sprint(v.Year), fmt.Sprint(v.Year-1)
	counted := r.giftsAddress(with(giftsOfYear(v.Year), "status", giving.CountedGifts))
	recurring := r.giftsAddress(with(giftsOfYear(v.Year), "plan", "any"))
	raised := figure{Label: "Raised in " + of, Value: money(v.This.Amount), Address: r.giftsAddress(giftsOfYear(v.Year)), Number: money(v.Before.Amount), Linked: r.giftsAddress(giftsOfYear(v.Year - 1)), After: "in " + before}
	if v.Year == giving.Year(now) {
		until := sameDayBefore(now)
		raised.Number, raised.After = money(v.ToDate), "by "+shownDay(until)
		raised.Linked = r.giftsAddress(giftsBetween(time.Date(until.Year(), 1, 1, 0, 0, 0, 0, time.UTC), until))
	} else {
		v.ToDate = v.Before.Amount
	}
	raised.Before, raised.Trend = comparison(v.This.Amount, v.ToDate)
	return []figure{
		raised,
		{Label: "Average gift", Value: money(rounded(v.This.Amount, v.This.Gifts)), Address: counted, Number: plural(v.This.Gifts, "gift"), Linked: counted, After: "in " + of},
		{Label: "Recurring revenue", Value: money(v.This.Recurring), Address: recurring, Before: percentText(v.This.Recurring, v.This.Amount) + " of what was raised"},
		{Label: "Donors", Value: shownCount(v.Donors[giving.AllDonors]), Address: donors(v.Year, giving.AllDonors), Number: shownCount(v.DonorsBefore), Linked: donors(v.Year-1, giving.AllDonors), After: "in " + before},
		{Label: "Donor retention", Value: percentText(v.Donors[giving.ReturningDonors], v.DonorsBefore), Address: donors(v.Year, giving.ReturningDonors), Before: "of " + before + " donors gave again"},
	}
}

// reportParts are the lists of the report.
func (r *request) reportParts(v *reportView) error {
	money := func(minor int64) string { return text.Money(minor, v.Currency) }
	given := func(name, value string) string { return r.giftsAddress(with(giftsOfYear(v.Year), name, value)) }
	var ids []int64
	for _, part := range v.Campaigns {
		ids = append(ids, part.Of)
	}
	names, err := r.store.CampaignNames(r.Context(), r.account(), ids)
	if err != nil {
		return err
	}
	most := int64(1)
	for _, part := range v.Campaigns {
		most = max(most, part.This.Amount, part.Before.Amount)
	}
	for _, part := range v.Campaigns {
		line := reportPart{Name: names[part.Of].Title, Amount: money(part.This.Amount), Before: money(part.Before.Amount), Width: shareOf(part.This.Amount, most)}
		if part.Of == 0 {
			line.Name = "No campaign" // the list of gifts has no filter for these
		} else {
			line.Name, line.Address = cmp.Or(line.Name, fmt.Sprint("Campaign ", part.Of)), given("campaign", fmt.Sprint(part.Of))
		}
		v.ByCampaign = append(v.ByCampaign, line)
	}
	most = 1
	for _, part := range v.Methods {
		most = max(most, part.This.Amount, part.Before.Amount)
	}
	for _, part := range v.Methods {
		v.ByWay = append(v.ByWay, reportPart{Name: spoken(part.Of), Address: given("method", part.Of), Amount: money(part.This.Amount), Before: money(part.Before.Amount), Width: shareOf(part.This.Amount, most)})
	}
	for _, kind := range []struct {
		kind giving.DonorKind
		name string
	}{
		{giving.NewDonors, "New: first gift ever"}, {giving.ReturningDonors, fmt.Sprintf("Retained: gave in %d and %d", v.Year-1, v.Year)},
		{giving.LapsedDonors, fmt.Sprintf("Lapsed: gave in %d, not in %d", v.Year-1, v.Year)}, {giving.AllDonors, fmt.Sprintf("All donors in %d", v.Year)},
	} {
		filter := giving.DonorFilter{Year: v.Year, Kind: kind.kind}
		v.DonorRows = append(v.DonorRows, reportPart{Name: kind.name, Address: r.donorsAddress(filter, gifts.DonorPlace{}), Count: shownCount(v.Donors[kind.kind]), Amount: money(v.Given[kind.kind])})
	}
	return nil
}

// exportReport is a file with the figures of the report.
func (r *request) exportReport() error {
	view, err := r.readReport()
	if err == nil && len(r.form.Faults) > 0 {
		err = &doc.Invalid{Faults: r.form.Faults}
	}
	if err != nil {
		return err
	}
	year, before := fmt.Sprint(view.Year), fmt.Sprint(view.Year-1)
	plain := func(minor int64) any { return sheet.Decimal(text.MoneyInput(minor, view.Currency)) }
	all := [][]any{{"Raised", "", plain(view.This.Amount), plain(view.Before.Amount)}, {"Gifts", "", view.This.Gifts, view.Before.Gifts}, {"Recurring revenue", "", plain(view.This.Recurring), plain(view.Before.Recurring)},
		{"Donors", "All", view.Donors[giving.AllDonors], view.DonorsBefore}}
	for _, kind := range giving.DonorKinds[1:] {
		all = append(all, []any{"Donors", capital(string(kind)), view.Donors[kind], ""}, []any{"Given by", capital(string(kind)), plain(view.Given[kind]), ""})
	}
	for month := time.January; month <= time.December; month++ {
		sums := func(year int64) any { return plain(view.Months[year*100+int64(month)].Amount) }
		all = append(all, []any{"Raised by month", month.String(), sums(view.Year), sums(view.Year - 1)})
	}
	for i, part := range view.Campaigns {
		all = append(all, []any{"Raised by campaign", view.ByCampaign[i].Name, plain(part.This.Amount), plain(part.Before.Amount)})
	}
	for i, part := range view.Methods {
		all = append(all, []any{"Raised by method", view.ByWay[i].Name, plain(part.This.Amount), plain(part.Before.Amount)})
	}
	var file bytes.Buffer
	if err := move.WriteFigures(&file, []string{"Figure", "Of", year, before}, all); err != nil {
		return err
	}
	h := r.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="report-`+year+`.csv"`)
	_, err = r.w.Write(file.Bytes())
	return err
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
