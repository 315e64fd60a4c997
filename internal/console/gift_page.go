package console

import (
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

// giftView is the page of one gift.
type giftView struct {
	*giftRow
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
