package console

import (
	"net/http"
	"net/url"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/gifts"
)

// designPage shows every part that pages are made of, for people who build pages and for the tests. docs/design.md says when to use which.
func (r *request) designPage() error {
	sample := &form{values: url.Values{"mail": {"ada@example"}, "name": {"Ada Lund"}}, Faults: []doc.Fault{{Field: "mail", Rule: "must be an email address"}}}
	at := time.Date(2026, time.March, 9, 16, 5, 0, 0, time.UTC)
	data := map[string]any{"Icons": icons, "Sample": sample, "At": at, "Gifts": sampleGifts(at)}
	return r.render("design", page{Title: "Design", Section: "design", Status: http.StatusOK, Data: data})
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
