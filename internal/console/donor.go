package console

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

const donorsPerPage = 50

// donorsView is a list of contacts with what they gave in a year, or for a campaign.
type donorsView struct {
	table
	Form       *form // the year
	Title      string
	Found      string // how many there are
	Tabs       []tab
	Statements bool // of these donors can be opened
	Kind       giving.DonorKind
	Export     *exportForm
}

// donorRow is a donor, and the gifts behind the amount.
type donorRow struct {
	gifts.Donor
	Amount    string // in all currencies
	GiftsPath string
}

var donorColumns = []tableColumn{
	{Name: "name", Label: "Name"}, {Name: "email", Label: "Email", Optional: true, Usual: true}, {Name: "gifts", Label: "Gifts", Optional: true, Usual: true, Class: "right number", Told: true},
	{Name: "given", Label: "Given", Class: "right number", Told: true},
}

var donorListing = &listing{name: "donors", columns: donorColumns, more: []string{"campaign", "year", string(giving.NewDonors), string(giving.ReturningDonors), string(giving.LapsedDonors)}}

// donorKinds are the parts of the list that have a tab, by the parameter that asks for them.
var donorKinds = []scope[giving.DonorKind]{{giving.AllDonors, "All"}, {giving.NewDonors, "New"}, {giving.ReturningDonors, "Returning"}, {giving.LapsedDonors, "Lapsed"}}

// donorsPage shows who gave. What is wrong with the address is told, and nothing is listed.
func (r *request) donorsPage() error {
	r.form.values = r.URL.Query()
	filter := r.donorFilter()
	view := donorsView{Form: r.form, Title: "Donors"}
	if len(r.form.Faults) == 0 {
		if err := r.listDonors(filter, &view); err != nil {
			return err
		}
	}
	return r.render("donors", page{Title: view.Title, Section: "contacts", Form: r.form, Data: &view})
}

// donorFilter reads which donors are asked for: those of this year where nothing is said.
func (r *request) donorFilter() (filter giving.DonorFilter) {
	if text := r.form.Value("campaign"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= 0 {
			r.form.fail("campaign", "must be the number of one of your campaigns")
		}
		return giving.DonorFilter{Campaign: id}
	}
	return giving.DonorFilter{Year: yearOf(r.form, int64(r.today().Year()), int64(r.today().Year())), Kind: donorKind(r.form)}
}

// donorKind reads which kind of donors is asked for.
func donorKind(f *form) (chosen giving.DonorKind) {
	for _, kind := range giving.DonorKinds {
		switch f.Value(string(kind)) {
		case "", "0":
		case "1":
			if chosen != giving.AllDonors {
				f.fail("", "Choose new, returning or lapsed donors.")
			}
			chosen = kind
		default:
			f.fail(string(kind), "must be 1 or omitted")
		}
	}
	return chosen
}

// yearOf reads the year that is asked for, and sets it in the form.
func yearOf(f *form, otherwise, this int64) int64 {
	if f.Value("year") == "" {
		f.set("year", strconv.FormatInt(otherwise, 10))
	}
	year, err := strconv.ParseInt(f.Value("year"), 10, 64)
	if err != nil || year < 1900 || year > this {
		f.fail("year", "must be between 1900 and "+strconv.FormatInt(this, 10))
	}
	return year
}

func (r *request) listDonors(filter giving.DonorFilter, view *donorsView) error {
	if filter.Campaign != 0 {
		record, err := r.store.Campaign(r.Context(), r.account(), filter.Campaign)
		if err != nil {
			return err
		}
		if record.Relation&campaign.Own == 0 {
			return crm.ErrNotFound
		}
		view.Title = "Donors of " + record.Campaign.Title
	} else {
		view.Title = capital(strings.TrimSpace(string(filter.Kind)+" donors")) + " of " + strconv.FormatInt(filter.Year, 10)
	}
	found, err := r.store.Donors(r.Context(), r.account(), filter, donorPlace(r.URL.Query()), donorsPerPage)
	if err != nil {
		return err
	}
	var rows []*donorRow
	for _, d := range found.Donors {
		rows = append(rows, &donorRow{d, moneyList(d.Sums, found.Currency), r.giftsAddress(with(with(giftsOfYear(filter.GaveIn()), "contact", d.Contact.ID), "campaign", filter.Campaign))})
	}
	view.table = r.newList(donorListing, view.Title, rows)
	view.Currency, view.Export = found.Currency, exportOf(donorQuery(filter, gifts.DonorPlace{}), r.path("/donors"))
	view.Found = plural(found.Totals[filter.Kind], "donor") + donorWords(filter)
	beside := func(at gifts.DonorPlace) string {
		if at == (gifts.DonorPlace{}) {
			return ""
		}
		return r.donorsAddress(filter, at)
	}
	view.Pager.Previous, view.Pager.Next = beside(found.Prev), beside(found.Next)
	if filter.Campaign == 0 {
		view.Tabs = r.donorTabs(filter, found.Totals)
		view.Kind = filter.Kind
		view.Statements = found.Totals[filter.Kind] > 0 && filter.Kind != giving.LapsedDonors // they gave in another year
	}
	return nil
}

// donorTabs lead to the kinds of donors of a year.
func (r *request) donorTabs(filter giving.DonorFilter, totals map[giving.DonorKind]int64) []tab {
	return tabsOf(donorKinds, filter.Kind, totals, func(kind giving.DonorKind) string {
		return r.donorsAddress(giving.DonorFilter{Year: filter.Year, Kind: kind}, gifts.DonorPlace{})
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
func donorPlace(q url.Values) (at gifts.DonorPlace) {
	if id, err := strconv.ParseInt(q.Get("after"), 10, 64); err == nil {
		at.After = id
	}
	if id, err := strconv.ParseInt(q.Get("before"), 10, 64); err == nil {
		at.Before = id
	}
	return at
}

// donorsAddress is the list of donors that a filter finds, at a place of it.
func (r *request) donorsAddress(f giving.DonorFilter, at gifts.DonorPlace) string {
	return withQuery(r.path("/donors"), donorQuery(f, at))
}

// donorQuery is a filter of donors, at a place of what it finds.
func donorQuery(f giving.DonorFilter, at gifts.DonorPlace) url.Values {
	q := url.Values{}
	add := func(name string, value int64) {
		if value != 0 {
			q.Set(name, strconv.FormatInt(value, 10))
		}
	}
	add("campaign", f.Campaign)
	add("year", f.Year)
	add("after", at.After)
	add("before", at.Before)
	if f.Kind != giving.AllDonors {
		add(string(f.Kind), 1)
	}
	return q
}

// giftsAddress is the list of gifts with filters.
func (r *request) giftsAddress(filters url.Values) string {
	return withQuery(r.path("/gifts"), filters)
}

// giftsOfYear filters gifts by their year, 0 for all.
func giftsOfYear(year int64) url.Values {
	if year == 0 {
		return url.Values{}
	}
	return giftsBetween(time.Date(int(year), 1, 1, 0, 0, 0, 0, time.UTC), time.Date(int(year), 12, 31, 0, 0, 0, 0, time.UTC))
}

// giftsBetween filters gifts by their first and their last day.
func giftsBetween(first, last time.Time) url.Values {
	return url.Values{"from": {first.Format(time.DateOnly)}, "to": {last.Format(time.DateOnly)}}
}

// with adds a filter to others; "" and 0 are none.
func with[V string | int64](filters url.Values, name string, value V) url.Values {
	if value != *new(V) {
		filters.Set(name, fmt.Sprint(value))
	}
	return filters
}

// moneyList are sums of several currencies: $7, €5 and £6. That of the organization comes first. It is "" for none.
func moneyList(sums map[string]int64, first string) string {
	return moneyTexts(sums, first, text.Money)
}

func moneyTexts(sums map[string]int64, first string, money func(int64, string) string) string {
	texts := []string{}
	for _, currency := range giving.CurrenciesOf(sums, first) {
		texts = append(texts, money(sums[currency], currency))
	}
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
	return strings.Join(texts, "")
}
