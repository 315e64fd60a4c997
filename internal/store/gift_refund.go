package store

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
)

// RefundRecord gives back a part of a gift, in ten-thousandths, or all that is left where amount is nil. seen is the
// version of the gift that a person saw, "" for whatever is there.
func (s *Store) RefundRecord(ctx context.Context, account int64, code string, amount *int64,
	seen string,
) (GiftDocument, error) {
	return s.moveMoney(ctx, account, code, amount, seen, giving.Gift.Refund, s.TellRefund)
}

// UndoRefundRecord takes back a part of what was refunded of a gift, or all of it where amount is nil.
func (s *Store) UndoRefundRecord(ctx context.Context, account int64, code string, amount *int64,
	seen string,
) (GiftDocument, error) {
	return s.moveMoney(ctx, account, code, amount, seen, giving.Gift.UndoRefund, nil)
}

func (s *Store) moveMoney(
	ctx context.Context, account int64, code string, amount *int64, seen string,
	move func(giving.Gift, *int64, time.Time) (giving.Gift, error), then afterChange,
) (GiftDocument, error) {
	return s.changeGift(ctx, account, code, Needs{}, func(_ Unit, g giving.Gift, now time.Time) (giving.Gift, error) {
		if seen != "" && seen != g.Version() {
			return g, crm.ErrChanged
		}
		return move(g, amount, now)
	}, then)
}

// afterChange is what is done after a gift was changed, in the same unit of work; nil for nothing.
type afterChange func(u Unit, changed *giving.Gift) error

const aboutRefund = " refund"

// AboutRefund is what a mail about a refund of a gift is for.
func AboutRefund(gift int64) string { return AboutGift(gift) + aboutRefund }

// TellGiver queues a mail to the contact of something, where mail may go to them. What it says is written when it is
// sent.
func (s *Store) TellGiver(u Unit, contact int64, kind mail.Kind, about string) error {
	row, err := Load(u.Tx, u.Number, contact)
	if errors.As(err, new(*Damaged)) || err == nil && row.Contact.NoMail() != "" {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Queue(u.Tx, u.Number, kind, about, row.Contact.Emails[0].Value, nil)
}

// TellRefund tells the giver of a gift that money goes back. No money was moved by a test.
func (s *Store) TellRefund(u Unit, g *giving.Gift) error {
	if g.Test {
		return nil
	}
	return s.TellGiver(u, g.Contact, mail.Refunded, AboutRefund(g.ID))
}

// writeRefund says what was refunded of a gift until now, nil where that was undone.
func (s *Store) writeRefund(ctx context.Context, account int64, m mail.Mail, _ mail.Message) (*mail.Message, error) {
	id, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(m.About, aboutGift), aboutRefund), 10, 64)
	return Snapshot(ctx, s, func(c db.Conn) (*mail.Message, error) {
		found, err := giftRecords(c, SQLGiftsByID, account, []int64{id})
		if err != nil || len(found) == 0 || found[0].Refunded() <= 0 {
			return nil, err
		}
		people, err := LoadContacts(c, account, []int64{found[0].Contact})
		if err != nil || len(people) == 0 || people[0].Erased() {
			return nil, err
		}
		organization := ""
		_, err = c.One(func(r db.Row) { organization = r.Text(0) }, sqlAccountName, account)
		return refundMail(&found[0].Gift, &people[0], organization), err
	})
}

func refundMail(g *giving.Gift, contact *crm.Contact, organization string) *mail.Message {
	money := func(minor int64) string { return text.MoneyExact(minor, g.Currency) }
	what := "your gift of " + money(g.Payment().Amount)
	if g.Left() > 0 {
		what = money(g.Refunded()) + " of " + what
	}
	m := &mail.Message{
		Subject: mail.Say("Your refund from {}", organization),
		Says: []mail.Line{
			mail.Say("{},", contact.Greeting()),
			mail.Say("{} has refunded "+what+" from "+g.Local.Format("January 2, 2006")+".", organization),
		},
	}
	if provider, _ := g.Provider(); provider != "" {
		m.Says = append(m.Says, mail.Say("The money goes back the way it came. That usually takes five to ten days."))
	}
	if g.Left() > 0 {
		m.Says = append(m.Says,
			mail.Say(money(g.Left())+" of your gift remains. If you have a receipt for it, only the amount "+
				"that remains counts."))
	} else {
		m.Says = append(m.Says, mail.Say("If you have a receipt for this gift, it is no longer valid."))
	}
	m.Says = append(m.Says, mail.Say("If you have questions, please contact us."))
	return m
}

// A gift that was entered by mistake is voided. It stays, with all that it says, and counts nowhere. What followed from
// it is taken back: its receipt is void, a thank-you that has not left is not sent (completeThanks), and the pledge,
// the promise and the plan that it has paid for wait again.

const (
	sqlDonationOfGift = `SELECT id, provider FROM donation WHERE account_id = $1 AND code = $2 AND code <> ''`
	sqlOthersOfPlan   = `SELECT COALESCE(MAX(given_at - ahead), 0) FROM gift WHERE account_id = $1 AND plan_id = $2
		AND plan_id <> 0 AND id <> $3 AND net > 0`
	// The index that knows the gifts that were voided is used where its condition is repeated.
	sqlVoided = `SELECT id FROM gift WHERE account_id = $1 AND ` + isVoided
	isVoided  = `status = 4`
)

// VoidGift voids a gift that no payment provider has the money of. seen is the version of the gift that a person saw,
// "" for whatever is there.
func (s *Store) VoidGift(ctx context.Context, account int64, code, reason, seen string) (GiftDocument, error) {
	var before giving.Gift
	var at time.Time
	return s.changeGift(ctx, account, code, Needs{}, func(u Unit, g giving.Gift, now time.Time) (giving.Gift, error) {
		before, at = g, now
		if seen != "" && seen != g.Version() {
			return g, crm.ErrChanged
		}
		donation, provider := "", ""
		_, err := u.One(func(r db.Row) { donation, provider = r.Text(0), r.Text(1) }, sqlDonationOfGift, u.Number, code)
		if err != nil {
			return g, err
		}
		voided, err := g.VoidedBy(giving.Void{At: now, By: u.Author.Who, Reason: reason, Promise: donation}, provider)
		if err != nil {
			return g, err
		}
		voided.Void.NextBill, err = dueAgain(u, &g)
		return voided, err
	}, func(u Unit, after *giving.Gift) error {
		return firstGift(
			func() error { return UnpayPledge(u, &before, false, at) },
			func() error { return BreakPromise(u, after, at) },
			func() error { return movePlan(u, after, after.Void.NextBill, true) },
		)
	})
}

// UndoVoid makes a gift again what it was before it was voided, with all that followed from it.
func (s *Store) UndoVoid(ctx context.Context, account int64, code, seen string) (GiftDocument, error) {
	var before giving.Gift
	var at time.Time
	return s.changeGift(ctx, account, code, Needs{}, func(_ Unit, g giving.Gift, now time.Time) (giving.Gift, error) {
		before, at = g, now
		if seen != "" && seen != g.Version() {
			return g, crm.ErrChanged
		}
		return g.Unvoided()
	}, func(u Unit, after *giving.Gift) error {
		return firstGift(
			func() error {
				if after.Receipt == "" {
					return nil
				}
				return u.Run(sqlVoidReceipt, u.Number, thanks.ReceiptID(after.Receipt), int64(0), int64(0))
			},
			func() error { return payPledges(u, after, at) },
			func() error { return KeepPromise(u, &Promise{ID: before.Void.Promise}, after.Code) },
			func() error { return movePlan(u, after, before.Void.NextBill, false) },
		)
	})
}

func firstGift(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// payPledges makes the pledges smaller that a payment is for.
func payPledges(u Unit, payment *giving.Gift, now time.Time) error {
	for _, id := range payment.IDs {
		if id.Source == giving.PledgeSource {
			if err := payPledge(u, payment, &giving.Filed{Pledge: id.Value}, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// planOfGift is the plan of a gift, as far as we say when its next gift is due; nil for none.
func planOfGift(u Unit, g *giving.Gift) (*StoredPlan, error) {
	if g.PlanCode == "" {
		return nil, nil
	}
	plan, err := u.Plans.Get(u.Tx, u.Number, g.Plan())
	if err != nil || plan == nil || plan.Damage != nil {
		return nil, err
	}
	if provider, _ := plan.Provider(); provider != "" {
		return nil, nil
	}
	return plan, nil
}

// dueAgain is when the next gift of the plan is due that a gift belongs to, if that is earlier without it; zero where
// not.
func dueAgain(u Unit, g *giving.Gift) (next time.Time, err error) {
	plan, err := planOfGift(u, g)
	if plan == nil || err != nil || g.Net() <= 0 {
		return next, err
	}
	last, err := u.Int(sqlOthersOfPlan, u.Number, plan.ID, g.ID)
	if err != nil {
		return next, err
	}
	others := time.Time{}
	if last != 0 {
		others = OnClock(last)
	}
	if is := plan.Unpaid(g.At, others); !is.NextBill.Equal(plan.NextBill) {
		return plan.NextBill, nil
	}
	return next, nil
}

// movePlan makes a due day of the plan of a gift one that waits again, or one that was paid. paid is when the next gift
// was due with the gift.
func movePlan(u Unit, g *giving.Gift, paid time.Time, waits bool) error {
	if paid.IsZero() {
		return nil
	}
	plan, err := planOfGift(u, g)
	if plan == nil || err != nil || plan.Status == giving.Ended {
		return err
	}
	changed := plan.Plan
	switch {
	case waits:
		changed = changed.Unpaid(paid, time.Time{})
	case changed.NextBill.Before(paid):
		changed.NextBill = paid
	}
	if changed.NextBill.Equal(plan.NextBill) {
		return nil
	}
	return SavePlan(u, plan, &changed)
}

// eachGift are all gifts of an account but those that were voided: they are numbered densely, and few are left out.
type eachGift struct {
	account, last int64
	voided        []int64 // sequence numbers
}

func readEachGift(c db.Conn, account int64) (all eachGift, err error) {
	row, err := ReadTally(c, account)
	if err != nil {
		return all, err
	}
	all = eachGift{account: account, last: row.GiftSeq}
	all.voided, err = db.List(c, func(r db.Row) int64 { return doc.IDSeq(r.Int(0)) }, sqlVoided, account)
	slices.Sort(all.voided)
	return all, err
}

func (all *eachGift) count() int64 { return all.last - int64(len(all.voided)) }

// ids are those from one place on and up to another.
func (all *eachGift) ids(from, to int64) []int64 {
	ids := make([]int64, 0, max(0, to-from))
	seq := from + 1 // if none before it is left out
	left := 0
	for left < len(all.voided) && all.voided[left] <= seq {
		seq, left = seq+1, left+1
	}
	for ; int64(len(ids)) < to-from; seq++ {
		if left < len(all.voided) && all.voided[left] == seq {
			left++
			continue
		}
		ids = append(ids, doc.MakeID(all.account, seq))
	}
	return slices.Clip(ids)
}
