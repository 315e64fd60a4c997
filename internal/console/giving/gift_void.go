package giving

import (
	"donorbook/internal/console/page"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
)

// voidView asks why a gift is voided.
type voidView struct {
	Gift *giving.Gift
	Form *page.Form
}

// VoidPage asks why a gift that was entered by mistake is voided, and says what becomes of it.
func VoidPage(r *page.Request, record store.GiftRecord) error {
	g := &record.Gift
	if _, err := g.VoidedBy(giving.Void{}, ""); err != nil {
		return r.Done(nil, r.Path(page.GiftPath(g.Code)), page.Notice{Text: "Nothing was voided.", Warning: page.Trouble(err)})
	}
	form := r.Form
	form.SetUnsent(page.SeenField, g.Version())
	return r.Render("gift_void", page.View{Title: "Void " + page.GiftName(g) + "?", Section: "gifts", Form: form, Data: voidView{g, form}})
}

// VoidGift voids a gift.
func VoidGift(r *page.Request, record store.GiftRecord) error {
	reason, err := giving.CheckReason(nil, r.Form.Value("reason"))
	if err == nil {
		_, err = r.Store.VoidGift(r.Context(), r.Account(), record.Code, reason, r.Form.Value(page.SeenField))
	}
	return saved(r, "gift", record.Version(), err, page.GiftPath(record.Code), page.GiftName(&record.Gift)+" was voided.")
}

// UndoVoid makes a voided gift count again.
func UndoVoid(r *page.Request, record store.GiftRecord) error {
	_, err := r.Store.UndoVoid(r.Context(), r.Account(), record.Code, r.Form.Value(page.SeenField))
	return saved(r, "gift", record.Version(), err, page.GiftPath(record.Code), "Void undone. This gift counts again.")
}
