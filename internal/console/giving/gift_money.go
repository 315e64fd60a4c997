package giving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// moneyMove is a refund, or the undoing of one. A person is asked before it is recorded.
type moneyMove struct {
	try   func(giving.Gift, *int64, time.Time) (giving.Gift, error)
	save  func(ctx context.Context, account int64, code string, amount *int64, seen string) (store.GiftDocument, error)
	done  string // what is said of the amount afterward
	asked giftQuestion
}

// giftQuestion asks whether a refund is to be recorded, or undone.
type giftQuestion struct {
	Title, Button, Not string
	Undoes             bool
	Gift, Moved        *giving.Gift // as it is, and as it would be
	Action             string
	Provider           string // that sends the money back; "" where someone else does
	Tells              string // the address to which a mail about it goes, "" for none
}

// Counted is what the totals lose or get back: the part of the move that is the gift.
func (q giftQuestion) Counted() string {
	return page.PositiveMoney(q.last().Donated(), q.Gift.Currency)
}

// Covered is the part of the move that is the covered fee, "" for none.
func (q giftQuestion) Covered() string {
	if q.last().FeeCovered == 0 {
		return ""
	}
	return page.PositiveMoney(q.last().FeeCovered, q.Gift.Currency)
}

// OfLeft says what is left of the gift itself, where a fee was covered.
func (q giftQuestion) OfLeft() string {
	if q.Moved.LeftCovered() == 0 {
		return ""
	}
	return ": " + text.Money(q.Moved.Net(), q.Gift.Currency) + " in totals and " + text.Money(q.Moved.LeftCovered(), q.Gift.Currency) + " of covered fee"
}

// last is the entry of the move.
func (q giftQuestion) last() *giving.Entry { return &q.Moved.Entries[len(q.Moved.Entries)-1] }

func RefundGift(r *page.Request, record store.GiftRecord) error {
	return moveMoney(r, &record.Gift, moneyMove{giving.Gift.Refund, r.Store.RefundGift, " was refunded.",
		giftQuestion{Title: "Refund %s to %s?", Button: "Record refund", Not: "Don’t refund"}})
}

func UndoRefund(r *page.Request, record store.GiftRecord) error {
	return moveMoney(r, &record.Gift, moneyMove{giving.Gift.UndoRefund, r.Store.UndoRefund, " refund undone.",
		giftQuestion{Title: "Undo the refund of %s to %s?", Button: "Undo refund", Not: "Keep refund", Undoes: true}})
}

// moveMoney asks about a move, and records it when the question is answered. The form knows which state of the gift it is about, so that it moves
// money once, however often it is sent.
func moveMoney(r *page.Request, g *giving.Gift, move moneyMove) error {
	faults := new(doc.Invalid)
	amount := giving.ParseMoney(faults, "amount", r.Form.Value("amount"), g.Currency, true)
	if amount == nil {
		faults.Add("amount", doc.Required)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	seen := r.Form.Value(page.SeenField)
	if seen == g.Version() && r.Form.Value(page.DecisionField) == "" {
		moved, err := move.try(*g, amount, r.Now())
		if err != nil {
			return err
		}
		provider, _, err := r.Store.GiftProvider(r.Context(), r.Account(), g)
		if err != nil {
			return err
		}
		if move.asked.Provider = providerName(provider); provider != "" && !move.asked.Undoes {
			move.asked.Button = "Refund gift"
		}
		if move.asked.Tells, err = refundMailTo(r, g, move.asked.Undoes); err != nil {
			return err
		}
		move.asked.Gift, move.asked.Moved, move.asked.Action = g, &moved, r.URL.Path
		return r.Render("gift_question", page.View{Title: fmt.Sprintf(move.asked.Title, page.MovedMoney(&moved), page.GiverName(g.Giver)), Section: "gifts", Form: r.Form, Data: move.asked})
	}
	made, err := store.GiftDocument{}, crm.ErrChanged
	if seen == g.Version() {
		made, err = move.save(r.Context(), r.Account(), g.Code, amount, seen)
	}
	if errors.Is(err, crm.ErrChanged) {
		r.Form.Fail("", "This gift changed after you opened the page, so nothing was recorded. Check the payments below, then try again.")
		r.Form.Set(page.SeenField, g.Version())
		return page.ErrRefused
	}
	if err != nil {
		return err
	}
	return r.Redirect(r.Path(page.GiftPath(g.Code)), page.Notice{Text: page.MovedMoney(&made.Gift) + move.done})
}

// refundMailTo is the address that hears of a refund, "" where no mail goes.
func refundMailTo(r *page.Request, g *giving.Gift, undoes bool) (string, error) {
	if undoes || g.Test || !r.Store.Mails() {
		return "", nil
	}
	contact, err := r.Store.ContactRecord(r.Context(), r.Account(), g.Contact)
	if err != nil || contact.NoMail() != "" {
		return "", err
	}
	return contact.Emails[0].Value, nil
}

// ReceiveGift notes that a promise was kept, on the day that the form asks for.
func ReceiveGift(r *page.Request, record store.GiftRecord) error {
	status, day := string(giving.Succeeded), r.Form.Value("transacted_at")
	in := giving.GiftInput{Status: &status, GivenAt: &day, Seen: cmp.Or(r.Form.Value(page.SeenField), "none")}
	err := in.Validate(nil, false, r.Options.Region, r.Today())
	if err == nil {
		_, err = r.Store.UpdateGift(r.Context(), r.Account(), record.Code, in)
	}
	return saved(r, "gift", record.Version(), err, page.GiftPath(record.Code), page.GiftName(&record.Gift)+" was received.")
}
