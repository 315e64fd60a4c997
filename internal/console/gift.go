package console

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
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
	Waits string // for thanks
}

// giftColumns are those of a list of gifts.
var giftColumns = []tableColumn{
	{Name: "when", Label: "Date", Sort: string(giving.ByTime)}, {Name: "who", Label: "Contact"}, {Name: "what", Label: "Campaign", Optional: true, Usual: true}, {Name: "status", Label: "Status"}, {Name: "how", Label: "Method", Optional: true, Usual: true},
	{Name: "amount", Label: "Amount", Class: "right number amount", Sort: string(giving.ByAmount)},
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
		return &giftRow{gifts.GiftRecord{Gift: gift}, title, marks, ""}
	}
	return &table{Kind: "gifts", ID: "sample-gifts", Caption: "Sample gifts", Columns: giftColumns, Rows: []*giftRow{
		sample("Ada Lund", "Winter Coat Drive", "card", 125_000), sample("Ravi Müller", "", "check", 75_50, mark{"Recurring", "good"}),
		sample("Łucja Őry", "Lighthouse Gala", "cash", 20_00, mark{"Failed", "bad"}),
	}}
}

// IsPlain tells whether nothing became of the gift but that it was received.
func (row *giftRow) IsPlain() bool { return row.Status == giving.Succeeded && row.Refunded() == 0 }

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
		rows = append(rows, &giftRow{g, titles[g.Campaign], giftMarks(&g.Gift, text.WallClock(r.now(), r.zone())), waitWords(&g.Gift, r.today())})
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

// giftListing is the list of gifts.
var giftListing = &listing{
	name: "gifts", columns: giftColumns, order: "-" + string(giving.ByTime), more: []string{"sort"}, passing: []string{"contact", "plan", giving.ImportParameter},
	fields: []filterField{
		{name: "from", label: "From", kind: dayAsked, ends: "Given"},
		{name: "to", label: "To", kind: dayAsked},
		{name: "min", label: "Smallest amount", kind: amountAsked, ends: "Amount"},
		{name: "max", label: "Largest amount", kind: amountAsked},
		{name: "campaign", label: "Campaign"},
		{name: "method", label: "Method", choices: append([]option{{Label: "All methods"}}, spokenOptions(giving.Methods...)...)},
		{name: "plan", label: "Recurring", choices: newOptions("=All gifts", "any=Recurring gifts")},
		{name: "status", label: "Status", choices: append(newOptions("=All statuses", giving.CountedGifts+"=Counted in totals"), spokenOptions(text.Strings(giving.GiftStatuses)...)...)},
		{name: "thanks", label: "Thanks", choices: newOptions("=All gifts", giving.ToThank+"=To thank for")},
		{name: "contact", said: "From "},
		{name: giving.ImportParameter, said: "Import "},
	},
}

// giftsView is the list of all gifts, or of those that the filters find.
type giftsView struct {
	table
	filters
	Tabs  []tab
	Quick []tab
	Found string // how many gifts, and how much
}

func (r *request) giftsPage() error {
	q, to := r.asked(giftListing)
	if to != "" {
		return r.redirect(to)
	}
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	view := giftsView{table: r.newList("gifts", "Gifts", nil), filters: r.filters(giftListing, q), Tabs: r.givingTabs("gifts")}
	view.Columns, view.Quick = view.sorted(view.Columns), view.quickTimes("from", "to", r.today())
	if q.Get("thanks") != "" { // all of them were received
		view.Tabs = r.givingTabs("thanks")
		for i := range view.Columns {
			if view.Columns[i].Name == "status" {
				view.Columns[i] = tableColumn{Name: "thanks", Label: "Waits", Class: "wide"}
			}
		}
	}
	if plan := view.field("plan"); labelIn(plan.choices, q.Get("plan"), "") == "" {
		plan.choices = append(slices.Clone(plan.choices), option{Value: q.Get("plan"), Label: "One recurring gift"})
	}
	if err := r.offerCampaigns(&view.filters, "campaign", "All campaigns", currency); err != nil {
		return err
	}
	filter, err := giving.ParseGiftSearch(view.value, currency)
	if err == nil {
		err = r.listGifts(&view, filter, currency)
	}
	if err := view.refuse(err); err != nil {
		return err
	}
	return r.render("gifts", page{Title: "Gifts", Section: "gifts", Form: view.Panel, Data: &view})
}

// listGifts lists gifts. The first of them tells whose they are, where they are those of one contact.
func (r *request) listGifts(view *giftsView, filter giving.GiftFilter, currency string) error {
	l := view.list(r, giftsPerPage)
	gifts, totals, err := r.store.GiftPage(r.Context(), r.account(), filter, l.PageRequest)
	if err != nil {
		return err
	}
	view.Rows, err = r.giftRows(gifts)
	view.field("contact").word = func(string) string {
		if len(gifts) > 0 {
			return giverName(gifts[0].Giver)
		}
		return "one contact"
	}
	view.Pager, view.Found = l.pager(totals.Total), foundGifts(totals, currency)
	return err
}

// foundGifts says how many gifts there are and what they sum up to, in each currency.
func foundGifts(t gifts.GiftTotals, currency string) string {
	if t.Total == 0 {
		return ""
	}
	const why = " excluded: failed, refunded or pledged"
	if t.Gifts == 0 {
		return plural(t.Total, "gift") + why
	}
	text := moneyList(t.Sums, currency) + " from " + plural(t.Gifts, "gift")
	if t.Gifts != t.Total {
		text += ", " + shownCount(t.Total-t.Gifts) + why
	}
	return text
}

// plural is a number of things: 1 gift, 2 gifts.
func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return shownCount(n) + " " + thing + "s"
}

// toThankPath leads to the gifts that someone still has to thank for, those first that wait the longest.
const toThankPath = "/gifts?sort=transacted_at&thanks=" + giving.ToThank

// givingTabs lead to gifts and to plans.
func (r *request) givingTabs(current string) []tab {
	return []tab{
		{Label: "Gifts", Address: r.path("/gifts"), Current: current == "gifts"},
		{Label: "To thank", Address: r.path(toThankPath), Current: current == "thanks"},
		{Label: "Recurring gifts", Address: r.path("/plans"), Current: current == "plans"},
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
	"succeeded": "Received", "pending": "Pledged", "failed": "Failed", "cancelled": "Canceled",
	"card": "Card", "ach": "ACH transfer", "direct_debit": "Direct debit", "bank_transfer": "Bank transfer", "check": "Check", "cash": "Cash",
	"paypal": "PayPal", "venmo": "Venmo", "donor_advised_fund": "Donor-advised fund", "stock": "Stock", "in_kind": "In kind", "other": "Other",
	"weekly": "Weekly", "monthly": "Monthly", "quarterly": "Quarterly", "yearly": "Yearly",
	"active": "Active", "paused": "Paused", "past_due": "Past due", "ended": "Ended",
	"in_honor_of": "In honor of", "in_memory_of": "In memory of",
}

// giftView is the page of one gift.
type giftView struct {
	*giftRow
	Thanks  thanksView
	Refund  *form
	Receive *form // of a promise
	History timeline
}

func (r *request) giftOf() (gifts.GiftRecord, error) {
	return r.store.GiftRecord(r.Context(), r.account(), r.PathValue("gift"))
}

// giftPage shows a gift, with the forms that refund it and that receive a promise.
func (r *request) giftPage(record gifts.GiftRecord) (err error) {
	rows, err := r.giftRows([]gifts.GiftRecord{record})
	if err != nil {
		return err
	}
	g := &record.Gift
	view := giftView{giftRow: rows[0], Refund: r.form.ifSentTo("/refund"), Receive: r.form.ifSentTo("/receive")}
	if view.History, err = r.timelineOf(history.GiftNoun, g.ID, crm.PageRequest{Page: 1, PerPage: activitiesPerPage}); err != nil {
		return err
	}
	if view.Thanks, err = r.thanksOf(g); err != nil {
		return err
	}
	view.Refund.setUnsent("amount", text.MoneyInput(g.Left(), g.Currency))
	view.Receive.setUnsent("transacted_at", r.today().Format(time.DateOnly))
	for _, form := range []*form{view.Refund, view.Receive} {
		form.setUnsent(seenField, g.Version())
	}
	return r.render("gift", page{Title: giftName(g), Section: "gifts", Form: r.form, Data: view})
}

// idOf is a number that was typed or linked, 0 where it is none.
func idOf(text string) int64 {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0
	}
	return id
}

func idText(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}
