package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

// moneyMove is a refund, or the undoing of one. A person is asked before it is recorded.
type moneyMove struct {
	try   func(giving.Gift, *int64, time.Time) (giving.Gift, error)
	save  func(ctx context.Context, account int64, code string, amount *int64, seen string) (gifts.GiftDocument, error)
	done  string // what is said of the amount afterward
	asked giftQuestion
}

// giftQuestion asks whether a refund is to be recorded, or undone.
type giftQuestion struct {
	Title, Button, Not string
	Undoes             bool
	Gift, Moved        *giving.Gift // as it is, and as it would be
	Action             string
}

// Counted is what the totals lose or get back: the part of the move that is the gift.
func (q giftQuestion) Counted() string { return positiveMoney(q.last().Donated(), q.Gift.Currency) }

// Covered is the part of the move that is the covered fee, "" for none.
func (q giftQuestion) Covered() string {
	if q.last().FeeCovered == 0 {
		return ""
	}
	return positiveMoney(q.last().FeeCovered, q.Gift.Currency)
}

// OfLeft says what is left of the gift itself, where a fee was covered.
func (q giftQuestion) OfLeft() string {
	if q.Moved.LeftCovered() == 0 {
		return ""
	}
	return ": " + text.Money(leftOf(q.Moved), q.Gift.Currency) + " in totals and " + text.Money(q.Moved.LeftCovered(), q.Gift.Currency) + " of covered fee"
}

// last is the entry of the move.
func (q giftQuestion) last() *giving.Entry { return &q.Moved.Entries[len(q.Moved.Entries)-1] }

func positiveMoney(minor int64, currency string) string {
	return text.Money(max(minor, -minor), currency)
}

func (r *request) refundGift(record gifts.GiftRecord) error {
	return r.moveMoney(&record.Gift, moneyMove{giving.Gift.Refund, r.store.RefundGift, " was refunded.",
		giftQuestion{Title: "Refund %s to %s?", Button: "Record refund", Not: "Don’t refund"}})
}

func (r *request) undoRefund(record gifts.GiftRecord) error {
	return r.moveMoney(&record.Gift, moneyMove{giving.Gift.UndoRefund, r.store.UndoRefund, " refund undone.",
		giftQuestion{Title: "Undo the refund of %s to %s?", Button: "Undo refund", Not: "Keep refund", Undoes: true}})
}

// moveMoney asks about a move, and records it when the question is answered. The form knows which state of the gift it is about, so that it moves
// money once, however often it is sent.
func (r *request) moveMoney(g *giving.Gift, move moneyMove) error {
	faults := new(doc.Invalid)
	amount := giving.ParseMoney(faults, "amount", r.form.Value("amount"), g.Currency, true)
	if amount == nil {
		faults.Add("amount", doc.Required)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	seen := r.form.Value(seenField)
	if seen == g.Version() && r.form.Value(decisionField) == "" {
		moved, err := move.try(*g, amount, r.now())
		if err != nil {
			return err
		}
		move.asked.Gift, move.asked.Moved, move.asked.Action = g, &moved, r.URL.Path
		return r.render("gift_question", page{Title: fmt.Sprintf(move.asked.Title, movedMoney(&moved), giverName(g.Giver)), Section: "gifts", Form: r.form, Data: move.asked})
	}
	made, err := gifts.GiftDocument{}, crm.ErrChanged
	if seen == g.Version() {
		made, err = move.save(r.Context(), r.account(), g.Code, amount, seen)
	}
	if errors.Is(err, crm.ErrChanged) {
		r.form.fail("", "This gift changed after you opened the page, so nothing was recorded. Check the payments below, then try again.")
		r.form.set(seenField, g.Version())
		return errRefused
	}
	if err != nil {
		return err
	}
	return r.redirect(r.path(giftPath(g.Code)), notice{Text: movedMoney(&made.Gift) + move.done})
}

// movedMoney is what the last entry of a gift has moved.
func movedMoney(g *giving.Gift) string {
	return positiveMoney(g.Entries[len(g.Entries)-1].Amount, g.Currency)
}

// giftName is what people call a gift, such as $50 from Zoë Okafor.
func giftName(g *giving.Gift) string {
	return text.Money(g.Donated(), g.Currency) + " from " + giverName(g.Giver)
}

// receiveGift notes that a promise was kept, on the day that the form asks for.
func (r *request) receiveGift(record gifts.GiftRecord) error {
	status, day := string(giving.Succeeded), r.form.Value("transacted_at")
	in := giving.GiftInput{Status: &status, GivenAt: &day, Seen: cmp.Or(r.form.Value(seenField), "none")}
	err := in.Validate(nil, false, r.options.Region, r.today())
	if err == nil {
		_, err = r.store.UpdateGift(r.Context(), r.account(), record.Code, in)
	}
	return r.saved("gift", record.Version(), err, giftPath(record.Code), giftName(&record.Gift)+" was received.")
}
