package gifts

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// RefundGift gives back a part of a gift, in ten-thousandths, or all that is left where amount is nil. seen is the version of the gift
// that a person saw, "" for whatever is there.
func (s *GiftStore) RefundGift(ctx context.Context, account int64, code string, amount *int64, seen string) (GiftDocument, error) {
	return s.moveMoney(ctx, account, code, amount, seen, giving.Gift.Refund, s.TellRefund)
}

// UndoRefund takes back a part of what was refunded of a gift, or all of it where amount is nil.
func (s *GiftStore) UndoRefund(ctx context.Context, account int64, code string, amount *int64, seen string) (GiftDocument, error) {
	return s.moveMoney(ctx, account, code, amount, seen, giving.Gift.UndoRefund, nil)
}

func (s *GiftStore) moveMoney(
	ctx context.Context, account int64, code string, amount *int64, seen string,
	move func(giving.Gift, *int64, time.Time) (giving.Gift, error), then afterChange,
) (GiftDocument, error) {
	return s.changeGift(ctx, account, code, store.Needs{}, func(_ *store.Tx, _ *store.Account, g giving.Gift, now time.Time) (giving.Gift, error) {
		if seen != "" && seen != g.Version() {
			return g, crm.ErrChanged
		}
		return move(g, amount, now)
	}, then)
}

// afterChange is what is done after a gift was changed, in the same unit of work; nil for nothing.
type afterChange func(t *store.Tx, a *store.Account, changed *giving.Gift) error

const aboutRefund = " refund"

// AboutRefund is what a mail about a refund of a gift is for.
func AboutRefund(gift int64) string { return AboutGift(gift) + aboutRefund }

// TellGiver queues a mail to the contact of something, where mail may go to them. What it says is written when it is sent.
func (s *GiftStore) TellGiver(t *store.Tx, a *store.Account, contact int64, kind mail.Kind, about string) error {
	row, err := contacts.Load(t, a.Account, contact)
	if errors.As(err, new(*store.Damaged)) || err == nil && row.Contact.NoMail() != "" {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Queue(t, a.Account, kind, about, row.Contact.Emails[0].Value, nil)
}

// TellRefund tells the giver of a gift that money goes back. No money was moved by a test.
func (s *GiftStore) TellRefund(t *store.Tx, a *store.Account, g *giving.Gift) error {
	if g.Test {
		return nil
	}
	return s.TellGiver(t, a, g.Contact, mail.Refunded, AboutRefund(g.ID))
}

// writeRefund says what was refunded of a gift until now, nil where that was undone.
func (s *GiftStore) writeRefund(ctx context.Context, account int64, m mail.Mail, _ mail.Message) (*mail.Message, error) {
	id, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(m.About, aboutGift), aboutRefund), 10, 64)
	return store.Snapshot(ctx, s.Base, func(c db.Conn) (*mail.Message, error) {
		found, err := giftRecords(c, SQLGiftsByID, account, []int64{id})
		if err != nil || len(found) == 0 || found[0].Refunded() <= 0 {
			return nil, err
		}
		people, err := contacts.LoadContacts(c, account, []int64{found[0].Contact})
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
		m.Says = append(m.Says, mail.Say(money(g.Left())+" of your gift remains. If you have a receipt for it, only the amount "+
			"that remains counts."))
	} else {
		m.Says = append(m.Says, mail.Say("If you have a receipt for this gift, it is no longer valid."))
	}
	m.Says = append(m.Says, mail.Say("If you have questions, please contact us."))
	return m
}
