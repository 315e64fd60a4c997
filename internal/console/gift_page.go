package console

import (
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

// giftView is the page of one gift.
type giftView struct {
	Form           *form // that was refused, if any
	Refund         *form
	Receive        *form // of a promise
	Gift           *giving.Gift
	Name, Number   string // the gift's
	Contact        link
	Campaign, Plan link
	Marks          []mark
	Ledger         []ledgerRow
	Left, Payout   string
	Fee, Covered   string // "" where there is none
	MayRefund      bool
	History        timeline
}

// Received tells whether the money came.
func (v giftView) Received() bool { return v.Gift.Status == giving.Succeeded }

// Promised tells whether it may still come.
func (v giftView) Promised() bool { return v.Gift.Status == giving.Pending }

func (r *request) giftOf() (gifts.GiftRecord, error) {
	return r.store.GiftRecord(r.Context(), r.account(), r.PathValue("gift"))
}

// giftPage shows a gift, with the forms that refund it and that receive a promise.
func (r *request) giftPage(record gifts.GiftRecord) (err error) {
	g := &record.Gift
	campaigns, err := r.store.CampaignNames(r.Context(), r.account(), []int64{g.Campaign})
	if err != nil {
		return err
	}
	view := giftView{
		Form: r.form, Refund: r.form.ifSentTo("/refund"), Receive: r.form.ifSentTo("/receive"), Gift: g, Number: giving.GiftNumber(g.ID), Marks: giftMarks(g, text.WallClock(r.now(), r.zone())), Ledger: ledgerRows(g),
		Contact: link{giverName(g.Giver), r.path(contactPath(g.Contact))}, Campaign: r.campaignLink(g.Campaign, campaigns),
		Left: text.Money(g.Left(), g.Currency), Payout: text.Money(g.Payment().Payout(), g.Currency),
		Fee: moneyOrNone(g.Payment().Fee, g.Currency), Covered: moneyOrNone(g.Payment().FeeCovered, g.Currency),
		MayRefund: g.Status == giving.Succeeded && g.Left() > 0,
	}
	if view.History, err = r.timelineOf(history.GiftNoun, g.ID, crm.PageRequest{Page: 1, PerPage: activitiesPerPage}); err != nil {
		return err
	}
	view.Name = giftName(g)
	if g.PlanCode != "" {
		view.Plan = link{"View plan", r.path(planPath(g.PlanCode))}
	}
	view.Refund.setUnsent("amount", text.MoneyInput(g.Left(), g.Currency))
	view.Receive.setUnsent("transacted_at", r.today().Format(time.DateOnly))
	for _, form := range []*form{view.Refund, view.Receive} {
		form.setUnsent(seenField, g.Version())
	}
	return r.render("gift", page{Title: view.Name, Section: "gifts", Form: r.form, Data: view})
}

func moneyOrNone(minor int64, currency string) string {
	if minor == 0 {
		return ""
	}
	return text.Money(minor, currency)
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
