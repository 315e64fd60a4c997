package giving

import (
	"net/url"
	"strconv"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
)

const donorsPerPage = 50

// donorsView is a list of contacts with what they gave in a year, or for a campaign.
type donorsView struct {
	page.Table
	Form       *page.Form // the year
	Title      string
	Found      string // how many there are
	Tabs       []page.Tab
	Statements bool // of these donors can be opened
	Kind       giving.DonorKind
	Export     *page.ExportForm
}

// donorRow is a donor, and the gifts behind the amount.
type donorRow struct {
	store.Donor
	Amount    string // in all currencies
	GiftsPath string
}

var donorColumns = []page.Column{
	{Name: "name", Label: "Name"}, {Name: "email", Label: "Email", Optional: true, Usual: true}, {Name: "gifts", Label: "Gifts", Optional: true, Usual: true, Class: "right number", Told: true},
	{Name: "given", Label: "Given", Class: "right number", Told: true},
}

var DonorListing = &page.Listing{Name: "donors", Columns: donorColumns, More: []string{"campaign", "year", string(giving.NewDonors), string(giving.ReturningDonors), string(giving.LapsedDonors)}}

// donorKinds are the parts of the list that have a tab, by the parameter that asks for them.
var donorKinds = []page.Scope[giving.DonorKind]{{Name: giving.AllDonors, Label: "All"}, {Name: giving.NewDonors, Label: "New"}, {Name: giving.ReturningDonors, Label: "Returning"}, {Name: giving.LapsedDonors, Label: "Lapsed"}}

// DonorsPage shows who gave. What is wrong with the address is told, and nothing is listed.
func DonorsPage(r *page.Request) error {
	r.Form.Fields = r.URL.Query()
	filter := donorFilter(r)
	view := donorsView{Form: r.Form, Title: "Donors"}
	if len(r.Form.Faults) == 0 {
		if err := listDonors(r, filter, &view); err != nil {
			return err
		}
	}
	return r.Render("donors", page.View{Title: view.Title, Section: "contacts", Form: r.Form, Data: &view})
}

// donorFilter reads which donors are asked for: those of this year where nothing is said.
func donorFilter(r *page.Request) (filter giving.DonorFilter) {
	if text := r.Form.Value("campaign"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= 0 {
			r.Form.Fail("campaign", "must be the number of one of your campaigns")
		}
		return giving.DonorFilter{Campaign: id}
	}
	return giving.DonorFilter{Year: yearOf(r.Form, int64(r.Today().Year()), int64(r.Today().Year())), Kind: donorKind(r.Form)}
}

// donorKind reads which kind of donors is asked for.
func donorKind(f *page.Form) (chosen giving.DonorKind) {
	for _, kind := range giving.DonorKinds {
		switch f.Value(string(kind)) {
		case "", "0":
		case "1":
			if chosen != giving.AllDonors {
				f.Fail("", "Choose new, returning or lapsed donors.")
			}
			chosen = kind
		default:
			f.Fail(string(kind), "must be 1 or omitted")
		}
	}
	return chosen
}

// yearOf reads the year that is asked for, and sets it in the form.
func yearOf(f *page.Form, otherwise, this int64) int64 {
	if f.Value("year") == "" {
		f.Set("year", strconv.FormatInt(otherwise, 10))
	}
	year, err := strconv.ParseInt(f.Value("year"), 10, 64)
	if err != nil || year < 1900 || year > this {
		f.Fail("year", "must be between 1900 and "+strconv.FormatInt(this, 10))
	}
	return year
}

func listDonors(r *page.Request, filter giving.DonorFilter, view *donorsView) error {
	if filter.Campaign != 0 {
		record, err := r.Store.Campaign(r.Context(), r.Account(), filter.Campaign)
		if err != nil {
			return err
		}
		if record.Relation&campaign.Own == 0 {
			return crm.ErrNotFound
		}
		view.Title = "Donors of " + record.Campaign.Title
	} else {
		view.Title = page.Capital(strings.TrimSpace(string(filter.Kind)+" donors")) + " of " + strconv.FormatInt(filter.Year, 10)
	}
	found, err := r.Store.Donors(r.Context(), r.Account(), filter, donorPlace(r.URL.Query()), donorsPerPage)
	if err != nil {
		return err
	}
	var rows []*donorRow
	for _, d := range found.Donors {
		rows = append(rows, &donorRow{d, page.MoneyList(d.Sums, found.Currency), r.GiftsAddress(page.With(page.With(page.GiftsOfYear(filter.GaveIn()), "contact", d.Contact.ID), "campaign", filter.Campaign))})
	}
	view.Table = r.NewList(DonorListing, view.Title, rows)
	view.Export = page.ExportOf(page.DonorQuery(filter, store.DonorPlace{}), r.Path("/donors"))
	view.Found = page.Plural(found.Totals[filter.Kind], "donor") + donorWords(filter)
	beside := func(at store.DonorPlace) string {
		if at == (store.DonorPlace{}) {
			return ""
		}
		return r.DonorsAddress(filter, at)
	}
	view.Pager.Previous, view.Pager.Next = beside(found.Prev), beside(found.Next)
	if filter.Campaign == 0 {
		view.Tabs = donorTabs(r, filter, found.Totals)
		view.Kind = filter.Kind
		view.Statements = found.Totals[filter.Kind] > 0 && filter.Kind != giving.LapsedDonors // they gave in another year
	}
	return nil
}

// donorTabs lead to the kinds of donors of a year.
func donorTabs(r *page.Request, filter giving.DonorFilter, totals map[giving.DonorKind]int64) []page.Tab {
	return page.TabsOf(donorKinds, filter.Kind, totals, func(kind giving.DonorKind) string {
		return r.DonorsAddress(giving.DonorFilter{Year: filter.Year, Kind: kind}, store.DonorPlace{})
	})
}

// donorWords say what the donors of a filter have in common.
func donorWords(f giving.DonorFilter) string {
	year := func(y int64) string { return strconv.FormatInt(y, 10) }
	switch f.Kind {
	case giving.NewDonors:
		return " gave for the first time in " + year(f.Year)
	case giving.ReturningDonors:
		return " gave in " + year(f.Year) + " and in " + year(f.Year-1)
	case giving.LapsedDonors:
		return " gave in " + year(f.Year-1) + " and not in " + year(f.Year)
	}
	if f.Campaign != 0 {
		return ""
	}
	return " gave in " + year(f.Year)
}

// donorPlace reads where a page of donors begins or ends. What is not a number is the first page: it comes from no link of ours.
func donorPlace(q url.Values) (at store.DonorPlace) {
	if id, err := strconv.ParseInt(q.Get("after"), 10, 64); err == nil {
		at.After = id
	}
	if id, err := strconv.ParseInt(q.Get("before"), 10, 64); err == nil {
		at.Before = id
	}
	return at
}
