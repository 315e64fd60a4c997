package console

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

const giftsPerPage = 50

// link leads to another page, or is only a name where it has no address.
type link struct{ Label, Address string }

// giftRow is a gift in a list, with the title of its campaign.
type giftRow struct {
	gifts.GiftRecord
	Title string
	Marks []mark
}

// giftColumns are those of a list of gifts. Where the campaign is known, the status has a column of its own.
var giftColumns = []tableColumn{
	{Name: "when", Label: "Date"}, {Name: "who", Label: "Contact"}, {Name: "what", Label: "Campaign", Optional: true, Usual: true}, {Name: "marks", Label: "Status", Class: "what"}, {Name: "how", Label: "Method", Optional: true, Usual: true},
	{Name: "amount", Label: "Amount", Class: "right number amount"},
}

// giftTable is the table of some gifts on the page of something else, without some of the columns. It is nil for none.
func (r *request) giftTable(caption string, gifts []gifts.GiftRecord, left ...string) (*table, error) {
	rows, err := r.giftRows(gifts)
	t := r.newTable("gifts", caption, without(giftColumns, left...), rows)
	if t.ID = "gifts-list"; len(rows) == 0 {
		return nil, err
	}
	return &t, err
}

// sampleGifts are gifts that no one gave.
func sampleGifts(at time.Time) *table {
	sample := func(name, title, method string, amount int64, marks ...mark) *giftRow {
		gift := giving.Gift{Giver: giving.Giver{FirstName: name}, Local: at, Method: method, Currency: "USD", Status: giving.Pending, Entries: []giving.Entry{{Amount: amount}}}
		return &giftRow{gifts.GiftRecord{Gift: gift}, title, marks}
	}
	return &table{Kind: "gifts", ID: "sample-gifts", Caption: "Sample gifts", Columns: without(giftColumns, "marks"), Rows: []*giftRow{
		sample("Ada Lund", "Winter Coat Drive", "card", 125_000), sample("Ravi Müller", "", "check", 75_50, mark{"Recurring", "good"}),
		sample("Łucja Őry", "Lighthouse Gala", "cash", 20_00, mark{"Failed", "bad"}),
	}}
}

// mark is a word about what is special, with its color.
type mark struct{ Label, Color string }

// giftMarks say what became of a gift, where it is not simply received.
func giftMarks(g *giving.Gift, now time.Time) (marks []mark) {
	switch g.Status {
	case giving.Pending:
		marks = append(marks, mark{spoken(string(g.Status)), "warn"})
		if giving.Day(g.Local) < giving.Day(now) {
			marks = append(marks, mark{"Overdue", "bad"})
		}
	case giving.Failed:
		marks = append(marks, mark{spoken(string(g.Status)), "bad"})
	case giving.Cancelled:
		marks = append(marks, mark{spoken(string(g.Status)), ""})
	}
	switch refunded := g.Refunded(); {
	case refunded == 0:
	case g.Left() == 0:
		marks = append(marks, mark{"Refunded", ""})
	default:
		marks = append(marks, mark{text.Money(refunded, g.Currency) + " refunded", ""})
	}
	if g.PlanCode != "" {
		marks = append(marks, mark{"Recurring", "good"})
	}
	if g.Test {
		marks = append(marks, mark{"Test", "warn"})
	}
	return marks
}

// giftRows are the rows of some gifts.
func (r *request) giftRows(all []gifts.GiftRecord) (rows []*giftRow, err error) {
	titles, err := titlesOf(r, all, func(g *gifts.GiftRecord) int64 { return g.Campaign })
	for _, g := range all {
		rows = append(rows, &giftRow{g, titles[g.Campaign], giftMarks(&g.Gift, text.WallClock(r.now(), r.zone()))})
	}
	return rows, err
}

// titlesOf are the titles of the campaigns of some gifts or plans.
func titlesOf[T any](r *request, all []T, campaign func(*T) int64) (map[int64]string, error) {
	titles := map[int64]string{}
	for i := range all {
		if id := campaign(&all[i]); id != 0 {
			titles[id] = "Campaign"
		}
	}
	names, err := r.store.CampaignNames(r.Context(), r.account(), slices.Collect(maps.Keys(titles)))
	for id, name := range names {
		titles[id] = cmp.Or(name.Title, titles[id])
	}
	return titles, err
}

// leftOf is what the list says of a gift: what is left of it, or what was promised or tried.
func leftOf(g *giving.Gift) int64 {
	if g.Status == giving.Succeeded && !g.Test {
		return g.Net()
	}
	return g.Donated()
}

// giverName is a giver as pages show them.
func giverName(g giving.Giver) string { return strings.TrimSpace(g.Name()) }

func giftPath(code string) string { return "/gifts/" + code }

// giftsView is the list of all gifts, or of those that the filters find.
type giftsView struct {
	table
	Tabs  []tab
	Quick []tab
	Chips []chip

	Campaigns, Methods, Plans, Statuses []option
	Found                               string // how many gifts, and how much
	Clear                               string // the list without filters
	Export                              *exportForm
}

// giftFilters are the filters that the address may have.
var giftFilters = []string{"from", "to", "campaign", "method", "status", "plan", "min", "max", "contact", giving.ImportParameter}

// passingGiftFilters are not remembered: they are about one contact, one plan or one import.
var passingGiftFilters = []string{"contact", "plan", giving.ImportParameter}

func (r *request) giftsPage() error {
	q, clean := filled(r.URL.Query())
	if to := r.recall("gifts", r.path("/gifts"), only(q, giftFilters...), !clean, passingGiftFilters); to != "" {
		return r.redirect(to)
	}
	if !clean {
		return r.redirect(withQuery(r.path("/gifts"), q))
	}
	r.form.values = q
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	view := giftsView{
		table: r.newList("gifts", "Gifts, the latest first", nil), Tabs: r.givingTabs("gifts"), Quick: r.quickTimes(r.today()), Clear: forgetting(r.path("/gifts"), nil, nil), Export: exportOf(r.URL.Query(), r.path("/gifts")),
		Methods: append([]option{{Label: "All methods"}}, spokenOptions(giving.Methods...)...),
		Plans:   []option{{Label: "All gifts"}, {Value: "any", Label: "Recurring gifts"}},
	}
	view.Statuses = []option{{Label: "All statuses"}, {Value: giving.CountedGifts, Label: "Counted in totals"}}
	for _, status := range giving.GiftStatuses {
		view.Statuses = append(view.Statuses, spokenOptions(string(status))...)
	}
	if code := r.form.Value("plan"); code != "" && code != "any" {
		view.Plans = append(view.Plans, option{Value: code, Label: "One plan"})
	}
	if view.Campaigns, err = r.campaignOptions(r.form.Value("campaign"), "All campaigns", currency); err != nil {
		return err
	}
	filter, err := giving.ParseGiftSearch(r.form.Value, currency)
	whose := ""
	if err == nil {
		whose, err = r.listGifts(&view, filter)
	}
	view.Chips = view.chips(q, whose)
	if err := r.form.refuse(err); err != nil {
		return err
	}
	return r.render("gifts", page{Title: "Gifts", Section: "gifts", Form: r.form, Data: &view})
}

// listGifts lists gifts, and tells who gave the first of them.
func (r *request) listGifts(view *giftsView, filter giving.GiftFilter) (whose string, err error) {
	l := r.list(r.path("/gifts"), pageParameter, giftsPerPage)
	gifts, totals, err := r.store.GiftPage(r.Context(), r.account(), filter, l.PageRequest)
	if err != nil {
		return "", err
	}
	rows, err := r.giftRows(gifts)
	if err != nil {
		return "", err
	}
	view.Rows = rows
	if len(gifts) > 0 {
		whose = giverName(gifts[0].Giver)
	}
	view.Pager, view.Found = l.pager(totals.Total), foundGifts(totals)
	return whose, nil
}

// chips are the filters that are active. whose are the gifts where they are those of one contact.
func (view *giftsView) chips(q url.Values, whose string) (chips []chip) {
	chosen := func(options []option) func(string) string {
		return func(value string) string {
			i := slices.IndexFunc(options, func(o option) bool { return o.Value == value })
			if i < 0 {
				return value
			}
			return options[i].Label
		}
	}
	labels := map[string]func(value string) string{
		"from": func(day string) string { return "Since " + spokenDay(day) }, "to": func(day string) string { return "Until " + spokenDay(day) },
		"min": func(amount string) string { return "At least " + amount }, "max": func(amount string) string { return "At most " + amount },
		"campaign": chosen(view.Campaigns), "method": chosen(view.Methods), "status": chosen(view.Statuses), "plan": chosen(view.Plans),
		"contact": func(string) string { return "From " + cmp.Or(whose, "one contact") }, giving.ImportParameter: func(id string) string { return "Import " + id },
	}
	for _, name := range giftFilters {
		if value := q.Get(name); value != "" {
			chips = append(chips, chip{labels[name](value), forgetting(view.Path("/gifts"), filterOf(q, []string{name, pageParameter}), passingGiftFilters)})
		}
	}
	return chips
}

// foundGifts says how many gifts there are and what they sum up to, in each currency.
func foundGifts(t gifts.GiftTotals) string {
	if t.Total == 0 {
		return ""
	}
	if t.Gifts == 0 {
		return plural(t.Total, "gift") + ", none counted in totals"
	}
	text := shownSums(t.Sums) + " from " + plural(t.Gifts, "gift")
	if t.Gifts != t.Total {
		text += " (" + shownCount(t.Total-t.Gifts) + " not counted)"
	}
	return text
}

// shownSums are sums of several currencies, in the order of their codes.
func shownSums(sums map[string]int64) string {
	var texts []string
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		texts = append(texts, text.Money(sums[currency], currency))
	}
	return cmp.Or(strings.Join(texts, " + "), "nothing received")
}

// plural is a number of things: 1 gift, 2 gifts.
func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return shownCount(n) + " " + thing + "s"
}

// withoutEmpty is an address without the parameters that a form sent empty, so that it is as short as a link of ours.
func withoutEmpty(u *url.URL) (address string, clean bool) {
	q, clean := filled(u.Query())
	return withQuery(u.Path, q), clean
}

func filled(q url.Values) (short url.Values, clean bool) {
	short = maps.Clone(q)
	maps.DeleteFunc(short, func(_ string, values []string) bool { return strings.Join(values, "") == "" })
	return short, len(short) == len(q)
}

// quickTimes are the times that people ask for most, with the other filters as they are.
func (r *request) quickTimes(now time.Time) (links []tab) {
	year, month, _ := now.Date()
	day := func(year int, month time.Month, day int) string {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	for _, t := range [][3]string{
		{"This month", day(year, month, 1), day(year, month+1, 0)}, {"This year", day(year, 1, 1), day(year, 12, 31)},
		{"Last year", day(year-1, 1, 1), day(year-1, 12, 31)}, {"All time", "", ""},
	} {
		q := only(r.form.values, giftFilters[2:]...)
		if t[1] != "" {
			q.Set("from", t[1])
			q.Set("to", t[2])
		}
		links = append(links, tab{Label: t[0], Address: forgetting(r.path("/gifts"), q, passingGiftFilters), Current: r.form.Value("from") == t[1] && r.form.Value("to") == t[2]})
	}
	return links
}

// givingTabs lead to gifts and to plans.
func (r *request) givingTabs(current string) []tab {
	return []tab{
		{Label: "Gifts", Address: r.path("/gifts"), Current: current == "gifts"},
		{Label: "Recurring plans", Address: r.path("/plans"), Current: current == "plans"},
	}
}

// offeredCampaigns is how many campaigns a form offers; older ones are chosen on their own pages.
const offeredCampaigns = 50

// campaignOptions are the newest campaigns of the organization, and the chosen one. Those in another currency than the one that is
// named say so.
func (r *request) campaignOptions(chosen, none, currency string) ([]option, error) {
	all, err := r.store.NewestCampaigns(r.Context(), r.account(), offeredCampaigns)
	if err != nil {
		return nil, err
	}
	if id := idOf(chosen); id > 0 && !slices.ContainsFunc(all, func(n gifts.CampaignName) bool { return n.ID == id }) {
		names, err := r.store.CampaignNames(r.Context(), r.account(), []int64{id})
		if err != nil {
			return nil, err
		}
		if name, found := names[id]; found {
			all = append(all, name)
		}
	}
	options := []option{{Value: "", Label: none}}
	for _, name := range all {
		label := cmp.Or(name.Title, "Campaign")
		if name.Currency != currency {
			label += " (" + name.Currency + ")"
		}
		options = append(options, option{Value: idText(name.ID), Label: label})
	}
	return options, nil
}

// giftWords are what people call the values of gifts and plans.
var giftWords = map[string]string{
	"succeeded": "Received", "pending": "Promised", "failed": "Failed", "cancelled": "Canceled",
	"card": "Card", "ach": "ACH transfer", "direct_debit": "Direct debit", "bank_transfer": "Bank transfer", "check": "Check", "cash": "Cash",
	"paypal": "PayPal", "venmo": "Venmo", "stock": "Stock", "in_kind": "In kind", "other": "Other",
	"weekly": "Weekly", "monthly": "Monthly", "quarterly": "Quarterly", "yearly": "Yearly",
	"active": "Active", "paused": "Paused", "past_due": "Past due", "ended": "Ended",
	"in_honor_of": "In honor of", "in_memory_of": "In memory of",
}
