package giving

import (
	"slices"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

const giftsPerPage = 50

// GiftListing is the list of gifts.
var GiftListing = &page.Listing{
	Name: "gifts", Columns: page.GiftColumns, Order: "-" + string(giving.ByTime), More: []string{"sort"},
	Fields: []page.Filter{
		{Name: "from", Label: "From", Kind: page.DayAsked, Ends: "Given"},
		{Name: "to", Label: "To", Kind: page.DayAsked},
		{Name: "min", Label: "Smallest amount", Kind: page.AmountAsked, Ends: "Amount"},
		{Name: "max", Label: "Largest amount", Kind: page.AmountAsked},
		{Name: "campaign", Label: "Campaign"},
		{Name: "method", Label: "Method", Choices: append([]page.Option{{Label: "All methods"}}, page.SpokenOptions(giving.Methods...)...)},
		{Name: "plan", Label: "Recurring", Choices: page.NewOptions("=All gifts", "any=Recurring gifts")},
		{Name: "status", Label: "Status", Choices: append(page.NewOptions("=All statuses", giving.CountedGifts+"=Counted in totals"), page.SpokenOptions(text.Strings(giving.GiftStatuses)...)...)},
		{Name: "thanks", Label: "Thanks", Choices: page.NewOptions("=All gifts", giving.ToThank+"=To thank for")},
		{Name: "contact", Said: "From "},
		{Name: giving.ImportParameter, Said: "Import "},
	},
}

// giftsView is the list of all gifts, or of those that the filters find.
type giftsView struct {
	page.Table
	page.Filters
	Tabs  []page.Tab
	Quick []page.Tab
	Found string // how many gifts, and how much
}

func GiftsPage(r *page.Request) error {
	q, to := r.Asked(GiftListing)
	if to != "" {
		return r.Redirect(to)
	}
	view := giftsView{Table: r.NewList(GiftListing, "Gifts", nil), Filters: r.Filters(GiftListing, q), Tabs: givingTabs(r, "gifts")}
	view.Columns, view.Quick = view.Sorted(view.Columns), view.QuickTimes("from", "to", r.Today())
	if q.Get("thanks") != "" { // all of them were received
		view.Tabs = givingTabs(r, "thanks")
		view.Pick = r.Membership.Role >= access.Editor
		for i := range view.Columns {
			if view.Columns[i].Name == "status" {
				view.Columns[i] = page.Column{Name: "thanks", Label: "Waits", Class: "wide", Told: true}
			}
		}
	}
	if plan := view.Field("plan"); page.LabelIn(plan.Choices, q.Get("plan"), "") == "" {
		plan.Choices = append(slices.Clone(plan.Choices), page.Option{Value: q.Get("plan"), Label: "One recurring gift"})
	}
	if err := r.OfferCampaigns(&view.Filters, "campaign", "All campaigns"); err != nil {
		return err
	}
	filter, err := giving.ParseGiftSearch(view.Value, r.Currency())
	if err == nil {
		err = listGifts(r, &view, filter)
	}
	if err := view.Refuse(err); err != nil {
		return err
	}
	return r.Render("gifts", page.View{Title: "Gifts", Section: "gifts", Form: view.Panel, Data: &view})
}

// listGifts lists gifts. The first of them tells whose they are, where they are those of one contact.
func listGifts(r *page.Request, view *giftsView, filter giving.GiftFilter) error {
	l := view.List(r, giftsPerPage)
	found, totals, err := r.Store.GiftPage(r.Context(), r.Account(), filter, l.PageRequest)
	if err != nil {
		return err
	}
	view.Rows, err = r.GiftRows(found)
	view.Pick = view.Pick && len(found) > 0
	view.Field("contact").Word = func(string) string {
		if len(found) > 0 {
			return page.GiverName(found[0].Giver)
		}
		return "one contact"
	}
	view.Pager, view.Found = l.Pager(totals.Total), foundGifts(totals, r.Currency(), view.Value("status"))
	if slices.ContainsFunc(found, func(g store.GiftRecord) bool { return g.Net() > 0 && g.LeftCovered() > 0 }) {
		view.Found += " (covered fees not counted)"
	}
	return err
}

// foundGifts says how many gifts there are and what they sum up to, in each currency.
func foundGifts(t store.GiftTotals, currency, status string) string {
	if t.Total == 0 {
		return ""
	}
	if status == string(giving.Voided) {
		return page.Plural(t.Total, "gift") + " voided"
	}
	const why = " excluded: failed, refunded or pledged"
	if t.Gifts == 0 {
		return page.Plural(t.Total, "gift") + why
	}
	text := page.MoneyList(t.Sums, currency) + " from " + page.Plural(t.Gifts, "gift")
	if t.Gifts != t.Total {
		text += ", " + page.Count(t.Total-t.Gifts) + why
	}
	return text
}

// toThankPath leads to the gifts that someone still has to thank for, those first that wait the longest.
const toThankPath = "/gifts?sort=transacted_at&thanks=" + giving.ToThank

// givingTabs lead to gifts and to plans.
func givingTabs(r *page.Request, current string) []page.Tab {
	return []page.Tab{
		{Label: "Gifts", Address: r.Path("/gifts"), Current: current == "gifts"},
		{Label: "To thank", Address: r.Path(toThankPath), Current: current == "thanks"},
		{Label: "Online donations", Address: r.Path("/donations"), Current: current == "donations"},
		{Label: "Receipts", Address: r.Path("/receipts"), Current: current == "receipts"},
		{Label: "Recurring gifts", Address: r.Path("/plans"), Current: current == "plans"},
	}
}

// giftView is the page of one gift.
type giftView struct {
	*page.GiftRow
	Thanks  thanksView
	Receipt receiptsView
	Refund  *page.Form
	Receive *page.Form // of a promise
	History page.Timeline
	Contact giftContact

	MayVoid  bool   // no payment provider has the money
	VoidedBy string // who has voided it
	Provider string // that refunds the gift; "" where a refund is only noted
}

// giftContact is what the contact of a gift is called now, and the name that the gift was given under where that is another one: of someone who shares the email, or before a marriage.
type giftContact struct{ Called, GivenAs string }

func contactOf(r *page.Request, g *giving.Gift) (giftContact, error) {
	names, err := r.Store.ContactNames(r.Context(), r.Account(), []int64{g.Contact})
	contact, given := names[g.Contact], page.GiverName(g.Giver)
	if now := page.GiverName(giving.GiverOf(&contact)); now != "" && now != given && !contact.Erased() {
		return giftContact{now, given}, err
	}
	return giftContact{Called: given}, err
}

func GiftOf(r *page.Request) (store.GiftRecord, error) {
	return r.Store.GiftRecord(r.Context(), r.Account(), r.PathValue("gift"))
}

// GiftPage shows a gift, with the forms that refund it and that receive a promise.
func GiftPage(r *page.Request, record store.GiftRecord) (err error) {
	rows, err := r.GiftRows([]store.GiftRecord{record})
	if err != nil {
		return err
	}
	g := &record.Gift
	view := giftView{GiftRow: rows[0], Refund: r.Form.IfSentTo("/refund"), Receive: r.Form.IfSentTo("/receive")}
	if view.History, err = r.TimelineOf(history.GiftNoun, g.ID, crm.PageRequest{Page: 1, PerPage: page.ActivitiesPerPage}); err != nil {
		return err
	}
	if view.Contact, err = contactOf(r, g); err != nil {
		return err
	}
	if view.Thanks, err = thanksOf(r, g); err != nil {
		return err
	}
	if view.Receipt, err = receiptsOf(r, g); err != nil {
		return err
	}
	provider, _, err := r.Store.GiftProvider(r.Context(), r.Account(), g)
	if err != nil {
		return err
	}
	view.Provider = providerName(provider)
	if _, refused := g.VoidedBy(giving.Void{}, ""); refused == nil {
		view.MayVoid = true
	}
	if g.Void != nil {
		people, err := r.PeopleOf()
		if err != nil {
			return err
		}
		view.VoidedBy = people.Called(g.Void.By)
	}
	view.Refund.SetUnsent("amount", text.MoneyInput(g.Left(), g.Currency))
	view.Receive.SetUnsent("transacted_at", r.Today().Format(time.DateOnly))
	view.Receive.Blame("transacted_at", "transacted_at", receivedOn)
	for _, form := range []*page.Form{view.Refund, view.Receive} {
		form.SetUnsent(page.SeenField, g.Version())
	}
	return r.Render("gift", page.View{Title: page.GiftName(g), Section: "gifts", Form: r.Form, Data: view})
}
