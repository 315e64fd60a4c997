package donations

import (
	"context"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/people"
)

// about is what a mail about a donation is for.
func about(d *row) string { return "donation " + d.ID }

// tellArrived thanks the giver for money that has arrived, and tells the staff.
func (s *DonationStore) tellArrived(t *store.Tx, a *store.Account, d *row, g *giving.Gift, now time.Time) error {
	thank := s.gifts.ThankAtOnce
	if d.Doubt.HoldsThanks() {
		thank = holdThanks
	}
	if err := thank(t, a, g, now); err != nil {
		return err
	}
	settings, err := people.AccountSettings(t.Conn, a.Account)
	if err != nil {
		return err
	}
	to := parseSettings(settings.Donations).Notice
	if to == "" {
		return nil
	}
	id, err := s.idOf(t.Conn, a.Account)
	if err != nil {
		return err
	}
	amount := text.MoneyExact(g.Donated(), g.Currency)
	m := &mail.Message{Subject: mail.Say("New gift of "+amount+" from {}", g.Giver.Name()), Says: []mail.Line{mail.Say("{} gave "+amount+" on your donation page.", g.Giver.Name())},
		Action: mail.Say("See the gift"), Path: "/console/" + id + "/gifts/" + g.Code}
	if g.Test {
		m.Says = append(m.Says, mail.Say("This is a test: no money was moved, and the gift counts nowhere."))
	}
	if g.Dedication != nil {
		m.Says = append(m.Says, mail.Say("It honors {}.", g.Dedication.Name))
	}
	return s.gifts.Queue(t, a.Account, mail.Arrived, gifts.AboutGift(g.ID), to, m)
}

// holdThanks asks no one to thank for a gift, until thankHeld does.
func holdThanks(t *store.Tx, a *store.Account, g *giving.Gift, now time.Time) error {
	held := *g
	held.Thanks = giving.Thanks{}
	return gifts.SaveGift(t, a, gifts.Stored(a, g.ID), &held, now)
}

// thankHeld thanks for what has arrived of a donation while it was in doubt. Where no mail can be, the gifts wait for thanks.
func (s *DonationStore) thankHeld(t *store.Tx, a *store.Account, d *row, now time.Time) error {
	ids, err := db.List(t.Conn, store.Number, sqlGiftsOfPlan, a.Account, gifts.CodeID(a.Account, d.GiftPlan))
	for _, id := range append(ids, gifts.CodeID(a.Account, d.Gift)) {
		if err != nil {
			return err
		}
		var stored *gifts.StoredGift
		if stored, err = gifts.Of(a).Gifts.Get(t, a.Account, id); err != nil || stored == nil || stored.Damage != nil || stored.Thanks.How != "" || !stored.HasArrived() {
			continue
		}
		waits := stored.Thanked(giving.ToThank, "", now)
		if err = gifts.SaveGift(t, a, stored, &waits, now); err == nil {
			err = s.gifts.ThankAtOnce(t, a, &waits, now)
		}
	}
	return err
}

// idOf is the public id of an account.
func (s *DonationStore) idOf(c db.Conn, account int64) (string, error) {
	found, err := db.List(c, people.ReadAccount, people.SQLAccountsByNumber, []int64{account})
	if err == nil && len(found) == 0 {
		err = crm.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	return found[0].ID, nil
}

// tellDeclined tells a giver that the card of a monthly gift was declined, and how to mend that.
func (s *DonationStore) tellDeclined(t *store.Tx, account access.Account, d *row, p *giving.Plan) error {
	amount := text.MoneyExact(p.Amount, p.Currency)
	return s.gifts.Queue(t, account.Number, mail.Declined, about(d), p.Giver.Email, &mail.Message{
		Subject: mail.Say("Your monthly gift to {} could not be paid", account.Name),
		Says: []mail.Line{mail.Say("Hello {},", p.Giver.Name()), mail.Say("your card was declined for your monthly gift of "+amount+" to {}. We will try again in a few days.", account.Name),
			mail.Say("You don’t have to do anything if you know why. To use another card, or to change or stop your gift, ask for a link here:")},
		Action: mail.Say("Change my gift"), Path: donate.ManagePath + donate.ManageLink(account.ID, d.ID, ""),
	})
}

// upkeep is what a thank-you says beside the rest where the gift comes again: how to change and to stop that.
func (s *DonationStore) upkeep(c db.Conn, account int64, g *giving.Gift) (*mail.Message, error) {
	provider, _ := g.Provider()
	if g.PlanCode == "" || provider == "" {
		return nil, nil
	}
	d, err := find(c, account, [2]string{sqlByGiftPlan, g.PlanCode}, [2]string{sqlByGift, g.Code})
	if err != nil || d == nil {
		return nil, err
	}
	id, err := s.idOf(c, account)
	if err != nil {
		return nil, err
	}
	return &mail.Message{
		Says:   []mail.Line{mail.Say("You give " + text.MoneyExact(g.Payment().Amount, g.Currency) + " every month. The link at the end of this mail lets you change or stop your gift, or use another card.")},
		Action: mail.Say("Change my gift"), Path: donate.ManagePath + donate.ManageLink(id, d.ID, ""),
	}, nil
}

// sqlOwnersMail are the email addresses of the owners of an account.
const sqlOwnersMail = `SELECT u.email FROM member m JOIN app_user u ON u.id = m.user_id WHERE m.account_id = $1 AND m.role = $2 ORDER BY m.user_id LIMIT 20`

// tellOwners queues a mail to the owners of an account.
func (s *DonationStore) tellOwners(ctx context.Context, account access.Account, m *mail.Message) error {
	err := s.base.UpdateAccount(ctx, account.Number, func(t *store.Tx) error {
		owners, err := db.List(t.Conn, func(r db.Row) string { return r.Text(0) }, sqlOwnersMail, account.Number, int64(access.Owner))
		for _, to := range owners {
			if err == nil {
				err = s.gifts.Queue(t, account.Number, mail.Trouble, "", to, m)
			}
		}
		return err
	})
	s.gifts.Wake()
	return err
}

// TellOfDeclines tells the owners that someone tries cards on their donation pages, and that these are closed for a while.
func (s *DonationStore) TellOfDeclines(ctx context.Context, account access.Account) error {
	return s.tellOwners(ctx, account, &mail.Message{
		Subject: mail.Say("Someone may be trying out cards on your donation pages"),
		Says: []mail.Line{mail.Say("Many cards were declined within a few minutes on the donation pages of {}. Thieves try stolen cards with small gifts.", account.Name),
			mail.Say("The pages take no cards for ten minutes. You don’t have to do anything now. If it goes on, look for small gifts of strangers at your payment provider, and refund them.")},
		Action: mail.Say("See the donations"), Path: "/console/" + account.ID + "/donations",
	})
}

// noteTrouble keeps what is wrong with a connection, and tells the owners when it becomes known.
func (s *DonationStore) noteTrouble(ctx context.Context, account access.Account, fault string) error {
	c, err := s.stored(ctx, account.Number)
	if err != nil || c.Fault == fault {
		return err
	}
	if err := s.noteFault(ctx, account.Number, fault); err != nil || fault == "" {
		return err
	}
	return s.tellOwners(ctx, account, &mail.Message{
		Subject: mail.Say("Your donation pages take no payments at the moment"),
		Says: []mail.Line{mail.Say("The payment provider refuses the key of {}. It says: {}", account.Name, fault),
			mail.Say("Until it is mended, your pages offer the other ways to give, if there are any. Nothing that was given is lost.")},
		Action: mail.Say("Mend the connection"), Path: "/console/" + account.ID + "/settings/donations",
	})
}
