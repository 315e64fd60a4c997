package donations

import (
	"context"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// about is what a mail about a donation is for.
func about(d *row) string { return aboutPrefix + d.ID }

const aboutPrefix = "donation "

// aboutDonation is the donation that a mail is about.
func aboutDonation(m mail.Mail) string { return strings.TrimPrefix(m.About, aboutPrefix) }

// tellArrived thanks the giver for money that has arrived, and tells the staff.
func (s *DonationStore) tellArrived(u store.Unit, d *row, g *giving.Gift, now time.Time) error {
	thank := s.store.ThankAtOnce
	if d.Doubt.HoldsThanks() {
		thank = holdThanks
	}
	if err := thank(u, g, now); err != nil {
		return err
	}
	settings, err := store.AccountSettings(u.Conn, u.Number)
	if err != nil {
		return err
	}
	to := parseSettings(settings.Donations).Notice
	if to == "" {
		return nil
	}
	id, err := s.idOf(u.Conn, u.Number)
	if err != nil {
		return err
	}
	amount := text.MoneyExact(g.Payment().Amount, g.Currency)
	m := &mail.Message{Subject: mail.Say("New gift of "+amount+" from {}", g.Giver.Name()),
		Says:   []mail.Line{mail.Say("{} gave "+amount+" on your donation page.", g.Giver.Name())},
		Action: mail.Say("See the gift"), Path: "/console/" + id + "/gifts/" + g.Code}
	if g.Test {
		m.Says = append(m.Says, mail.Say("This is a test: no money was moved, and the gift counts nowhere."))
	}
	if covered := g.Payment().FeeCovered; covered != 0 {
		m.Says = append(m.Says, mail.Say(text.MoneyExact(covered, g.Currency)+" of that covers the fee."))
	}
	if g.Dedication != nil {
		m.Says = append(m.Says, mail.Say("It honors {}.", g.Dedication.Name))
	}
	return s.store.Queue(u.Tx, u.Number, mail.Arrived, store.AboutGift(g.ID), to, m)
}

// holdThanks asks no one to thank for a gift, until thankHeld does.
func holdThanks(u store.Unit, g *giving.Gift, now time.Time) error {
	held := *g
	held.Thanks = giving.Thanks{}
	return store.SaveGift(u, store.Stored(u.Account, g.ID), &held, now)
}

// thankHeld thanks for what has arrived of a donation while it was in doubt. Where no mail can be, the gifts wait for
// thanks.
func (s *DonationStore) thankHeld(u store.Unit, d *row, now time.Time) error {
	ids, err := db.List(u.Conn, store.Number, sqlGiftsOfPlan, u.Number, store.CodeID(u.Number, d.GiftPlan))
	for _, id := range append(ids, store.CodeID(u.Number, d.Gift)) {
		if err != nil {
			return err
		}
		var stored *store.StoredGift
		if stored, err = u.Gifts.Get(u.Tx, u.Number, id); err != nil || stored == nil || stored.Damage != nil ||
			stored.Thanks.How != "" || !stored.HasArrived() {
			continue
		}
		waits := stored.Thanked(giving.ToThank, "", now)
		if err = store.SaveGift(u, stored, &waits, now); err == nil {
			err = s.store.ThankAtOnce(u, &waits, now)
		}
	}
	return err
}

// idOf is the public id of an account.
func (s *DonationStore) idOf(c db.Conn, account int64) (string, error) {
	found, err := db.List(c, store.ReadAccount, store.SQLAccountsByNumber, []int64{account})
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
	return s.store.Queue(t, account.Number, mail.Declined, about(d), p.Giver.Email, &mail.Message{
		Subject: mail.Say("Your monthly gift to {} could not be paid", account.Name),
		Says: []mail.Line{mail.Say("Hello {},", p.Giver.Name()),
			mail.Say("your card was declined for your monthly gift of "+amount+
				" to {}. We will try again in a few days.", account.Name),
			mail.Say("You don’t have to do anything if you know why. Here you can end your gift, or get a link to change it or to " +
				"use another card:")},
		Action: mail.Say("Change or end my gift"), Path: endPath(account.ID, d),
	})
}

// refundNews is how old a refund may be of which the giver is told: a backup that was restored, or a payment that a
// person takes over, may bring old ones.
const refundNews = 7 * 24 * time.Hour

// tellRefund tells a giver that money goes back which the books have not known of. A dispute is told by the giver's
// bank, and while a person must look nobody is told anything.
func (l *look) tellRefund(u store.Unit, d *row, g *giving.Gift, o *donate.Outcome) error {
	if d != nil && d.Doubt.And(o.Doubt).HoldsThanks() {
		return nil
	}
	for _, e := range o.Entries {
		isRefund := slices.ContainsFunc(l.is.Payment.Refunds, func(r donate.Refund) bool {
			return e.Reference == l.is.Provider+" "+r.ID
		})
		if isRefund && e.Amount < 0 && l.now.Sub(e.At) < refundNews {
			return l.s.store.TellRefund(u, g)
		}
	}
	return nil
}

// tellEnded tells the giver of a plan that a payment provider took the gifts of that nothing more is charged. A test
// has charged no one.
func (s *DonationStore) tellEnded(u store.Unit, p *giving.Plan) error {
	d, err := find(u.Conn, u.Number, [2]string{sqlByGiftPlan, p.Code})
	if err != nil || d == nil || d.IsTest() {
		return err
	}
	return s.store.TellGiver(u, p.Contact, mail.Ended, about(d))
}

// writeEnded says that a monthly gift has ended, nil where it has not.
func (s *DonationStore) writeEnded(
	ctx context.Context, number int64, m mail.Mail, _ mail.Message,
) (*mail.Message, error) {
	d, err := s.row(ctx, number, aboutDonation(m))
	if err != nil {
		return nil, unless(crm.ErrNotFound, err)
	}
	p, err := s.store.Plan(ctx, number, d.GiftPlan)
	if err != nil || p.Status != giving.Ended {
		return nil, unless(crm.ErrNotFound, err)
	}
	account, err := s.store.AccountByNumber(ctx, number)
	often := strings.ToLower(giving.Words[p.Frequency])
	return &mail.Message{
		Subject: mail.Say("Your "+often+" gift to {} has ended", account.Name),
		Says: []mail.Line{
			mail.Say("Hello {},", p.Giver.Name()),
			mail.Say("your "+often+" gift of "+text.MoneyExact(p.Amount, p.Currency)+
				" to {} has ended. Nothing more will be charged.",
				account.Name),
			mail.Say("Thank you for everything you gave. If you didn’t expect this, or want to give again, please contact us."),
		},
	}, err
}

// endPath is a link to a monthly gift that works for as long as the gift does. It ends the gift; whoever wants to
// change it gets a link by email from there.
func endPath(account string, d *row) string {
	return donate.ManagePath + donate.ManageLink(account, d.ID, d.Proof(donate.EndLink))
}

// upkeep is what a thank-you says beside the rest where the gift comes again: how to change and to end that.
func (s *DonationStore) upkeep(c db.Conn, account int64, g *giving.Gift) (*mail.Message, error) {
	if g.PlanCode == "" {
		return nil, nil
	}
	var d *row
	if provider, _ := g.Provider(); provider != "" {
		var err error
		if d, err = find(c, account, [2]string{sqlByGiftPlan, g.PlanCode}, [2]string{sqlByGift, g.Code}); err != nil {
			return nil, err
		}
	}
	if d == nil {
		return &mail.Message{Says: []mail.Line{mail.Say("To change or end your recurring gift, please contact us.")}},
			nil
	}
	id, err := s.idOf(c, account)
	if err != nil {
		return nil, err
	}
	amount := text.MoneyExact(g.Payment().Amount, g.Currency)
	return &mail.Message{
		Says: []mail.Line{mail.Say("You give " + amount +
			" every month. The link at the end of this email lets you change or end " +
			"your gift, or use another card.")},
		Action: mail.Say("Change or end my gift"), Path: endPath(id, d),
	}, nil
}

// sqlOwnersMail are the email addresses of the owners of an account.
const sqlOwnersMail = `SELECT u.email FROM member m JOIN app_user u ON u.id = m.user_id WHERE m.account_id = $1
	AND m.role = $2 ORDER BY m.user_id LIMIT 20`

// tellOwners queues a mail to the owners of an account.
func (s *DonationStore) tellOwners(ctx context.Context, account access.Account, m *mail.Message) error {
	return s.store.UpdateAccount(ctx, account.Number, func(t *store.Tx) error {
		owners, err := db.List(t.Conn, func(r db.Row) string { return r.Text(0) }, sqlOwnersMail, account.Number,
			int64(access.Owner))
		for _, to := range owners {
			if err == nil {
				err = s.store.Queue(t, account.Number, mail.Trouble, "", to, m)
			}
		}
		return err
	})
}

// TellOfDeclines tells the owners that someone tries cards on their donation pages, and what these do about it.
func (s *DonationStore) TellOfDeclines(ctx context.Context, account access.Account) error {
	return s.tellOwners(ctx, account, &mail.Message{
		Subject: mail.Say("Someone may be trying out cards on your donation pages"),
		Says: []mail.Line{mail.Say("Many cards were declined within a few minutes on the donation pages of {}. Thieves try stolen cards with small gifts.", account.Name),
			mail.Say("Until this ends, donors who pay online confirm their email address first. You don’t have to do anything now. If it goes on, look for small gifts of strangers at your payment provider, and refund them.")},
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

// SendFormLink sends a giver the link with which a form can be sent that needs a proof. The outbox keeps it until it
// has left.
func (s *DonationStore) SendFormLink(ctx context.Context, account access.Account, w *donate.Wish, path string) error {
	return s.store.UpdateShared(ctx, account.Number, func(t *store.Tx) error {
		return s.store.Queue(t, account.Number, mail.Confirm, "", w.Email, &mail.Message{
			Subject: mail.Say("Continue with your gift to {}", account.Name),
			// and no word of the form: anyone may have sent it
			Says: []mail.Line{mail.Say("To continue with your gift to {}, open this link. Nothing was charged.",
				account.Name)},
			Action: mail.Say("Continue with my gift"), Path: path,
			After: []mail.Line{mail.Say("The link works for two hours. If you didn’t start a gift, you can ignore this email.")},
		})
	})
}
