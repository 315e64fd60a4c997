package giving

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

var reportColumns = []page.Column{{Name: "name", Label: "List"}, {Name: "text", Label: "Who is in it"}, {Name: "contacts", Label: "Contacts", Class: "right number", Told: true}}

// reportView is a year of giving: the money by months, campaigns and methods, and who gave it. Every number leads to the list behind it.
type reportView struct {
	store.YearReport
	Year              int64
	Earlier, Later    string // the years beside it; "" for one that has not begun
	Figures           []page.Figure
	Chart             page.Chart
	ByCampaign, ByWay []reportPart
	DonorRows         []reportPart
	Others, Export    string
	Lists             page.Table
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

func ReportsPage(r *page.Request) error {
	view, err := readReport(r)
	if err != nil {
		return err
	}
	all := page.ReportsOf(view.Year, int64(r.Today().Year()))
	for i := range all {
		all[i].Address = r.ListPath(page.ContactListing, all[i].Query)
	}
	err = r.CountContacts(len(all), func(i int) (string, **int64) { return all[i].Query, &all[i].Contacts })
	if err != nil {
		return err
	}
	view.Lists = r.NewTable("reports", "Donor lists", reportColumns, page.Pointers(all))
	return r.Render("reports", page.View{Title: "Reports", Section: "reports", Form: r.Form, Data: view})
}

// readReport reads the report of the year in the address.
func readReport(r *page.Request) (*reportView, error) {
	r.Form.Fields = r.URL.Query()
	now := text.WallClock(r.Now(), r.Zone())
	this := giving.Year(now)
	view := &reportView{Year: yearOf(r.Form, this, this)}
	if len(r.Form.Faults) > 0 {
		view.Year = this
	}
	var err error
	if view.YearReport, err = r.Store.YearReport(r.Context(), r.Account(), view.Year, r.Now()); err != nil {
		return nil, err
	}
	beside := func(year int64) string {
		return page.WithQuery(r.Path("/reports"), url.Values{"year": {fmt.Sprint(year)}})
	}
	if view.Earlier = beside(view.Year - 1); view.Year < this {
		view.Later = beside(view.Year + 1)
	}
	view.Export = page.WithQuery(r.Path("/reports/export"), url.Values{"year": {fmt.Sprint(view.Year)}})
	view.Others = page.MoneyList(view.YearReport.Others, view.Currency)
	var months []time.Time
	var amounts []int64
	for i := range 24 {
		month := time.Date(int(view.Year)-1, time.Month(i+1), 1, 0, 0, 0, 0, time.UTC)
		months, amounts = append(months, month), append(amounts, view.Months[giving.Month(month)].Amount)
	}
	view.Chart = r.MoneyChart(months, amounts, view.Currency)
	view.Figures = reportFigures(r, view, now)
	return view, reportParts(r, view)
}

// reportFigures are the numbers at the head of the report. The first is the one that people ask for.
func reportFigures(r *page.Request, v *reportView, now time.Time) []page.Figure {
	money := func(minor int64) string { return text.Money(minor, v.Currency) }
	donors := func(year int64, kind giving.DonorKind) string {
		return r.DonorsAddress(giving.DonorFilter{Year: year, Kind: kind}, store.DonorPlace{})
	}
	of, before := fmt.Sprint(v.Year), fmt.Sprint(v.Year-1)
	counted := r.GiftsAddress(page.With(page.GiftsOfYear(v.Year), "status", giving.CountedGifts))
	recurring := r.GiftsAddress(page.With(page.GiftsOfYear(v.Year), "plan", "any"))
	raised := page.Figure{Label: "Raised in " + of, Value: money(v.This.Amount), Address: r.GiftsAddress(page.GiftsOfYear(v.Year)), Number: money(v.Before.Amount), Linked: r.GiftsAddress(page.GiftsOfYear(v.Year - 1)), After: "in " + before}
	if v.Year == giving.Year(now) {
		until := page.SameDayBefore(now)
		raised.Number, raised.After = money(v.ToDate), "by "+page.Day(until)
		raised.Linked = r.GiftsAddress(page.GiftsBetween(time.Date(until.Year(), 1, 1, 0, 0, 0, 0, time.UTC), until))
	} else {
		v.ToDate = v.Before.Amount
	}
	raised.Before, raised.Trend = page.Comparison(v.This.Amount, v.ToDate)
	return []page.Figure{
		raised,
		{Label: "Average gift", Value: money(page.Rounded(v.This.Amount, v.This.Gifts)), Address: counted, Number: page.Plural(v.This.Gifts, "gift"), Linked: counted, After: "in " + of},
		{Label: "Recurring revenue", Value: money(v.This.Recurring), Address: recurring, Before: page.PercentText(v.This.Recurring, v.This.Amount) + " of what was raised"},
		{Label: "Donors", Value: page.Count(v.Donors[giving.AllDonors]), Address: donors(v.Year, giving.AllDonors), Number: page.Count(v.DonorsBefore), Linked: donors(v.Year-1, giving.AllDonors), After: "in " + before},
		{Label: "Donor retention", Value: page.PercentText(v.Donors[giving.ReturningDonors], v.DonorsBefore), Address: donors(v.Year, giving.ReturningDonors), Before: "of " + before + " donors gave again"},
	}
}

// reportParts are the lists of the report.
func reportParts(r *page.Request, v *reportView) error {
	money := func(minor int64) string { return text.Money(minor, v.Currency) }
	given := func(name, value string) string {
		return r.GiftsAddress(page.With(page.GiftsOfYear(v.Year), name, value))
	}
	ids := store.Collect(v.Campaigns, func(part store.ReportPart[int64]) int64 { return part.Of })
	names, err := r.Store.CampaignNames(r.Context(), r.Account(), ids)
	if err != nil {
		return err
	}
	most := int64(1)
	for _, part := range v.Campaigns {
		most = max(most, part.This.Amount, part.Before.Amount)
	}
	for _, part := range v.Campaigns {
		line := reportPart{Name: names[part.Of].Title, Amount: money(part.This.Amount), Before: money(part.Before.Amount), Width: page.ShareOf(part.This.Amount, most)}
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
		v.ByWay = append(v.ByWay, reportPart{Name: page.Spoken(part.Of), Address: given("method", part.Of), Amount: money(part.This.Amount), Before: money(part.Before.Amount), Width: page.ShareOf(part.This.Amount, most)})
	}
	for _, kind := range []struct {
		kind giving.DonorKind
		name string
	}{
		{giving.NewDonors, "New: first gift ever"}, {giving.ReturningDonors, fmt.Sprintf("Returning: gave in %d and %d", v.Year-1, v.Year)},
		{giving.LapsedDonors, fmt.Sprintf("Lapsed: gave in %d, not in %d", v.Year-1, v.Year)}, {giving.AllDonors, fmt.Sprintf("All donors in %d", v.Year)},
	} {
		filter := giving.DonorFilter{Year: v.Year, Kind: kind.kind}
		v.DonorRows = append(v.DonorRows, reportPart{Name: kind.name, Address: r.DonorsAddress(filter, store.DonorPlace{}), Count: page.Count(v.Donors[kind.kind]), Amount: money(v.Given[kind.kind])})
	}
	return nil
}

// ExportReport is a file with the figures of the report.
func ExportReport(r *page.Request) error {
	view, err := readReport(r)
	if err == nil && len(r.Form.Faults) > 0 {
		err = &doc.Invalid{Faults: r.Form.Faults}
	}
	if err != nil {
		return err
	}
	year, before := fmt.Sprint(view.Year), fmt.Sprint(view.Year-1)
	plain := func(minor int64) any { return sheet.Decimal(text.MoneyInput(minor, view.Currency)) }
	all := [][]any{{"Raised", "", plain(view.This.Amount), plain(view.Before.Amount)}, {"Gifts", "", view.This.Gifts, view.Before.Gifts}, {"Recurring revenue", "", plain(view.This.Recurring), plain(view.Before.Recurring)},
		{"Donors", "All", view.Donors[giving.AllDonors], view.DonorsBefore}}
	for _, kind := range giving.DonorKinds[1:] {
		all = append(all, []any{"Donors", page.Capital(string(kind)), view.Donors[kind], ""}, []any{"Given by", page.Capital(string(kind)), plain(view.Given[kind]), ""})
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
	h := r.W.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="report-`+year+`.csv"`)
	_, err = r.W.Write(file.Bytes())
	return err
}
