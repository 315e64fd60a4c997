package donations

import (
	"context"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// A form is sent by anyone, with anyone's address. So a promise is confirmed by a link that only the address gets.

const sqlUnconfirmed = `SELECT COUNT(*) FROM donation WHERE account_id = $1 AND email = $2 AND email <> ''
	AND state = 'started' AND provider = '' AND created_at > $3`

// mostUnconfirmed is how many promises a day are told to an address that has confirmed none of them.
const mostUnconfirmed = 3

// promise begins a promise, and tells whoever has the email address how to send the money. Without mail no one can
// confirm it.
func (s *DonationStore) promise(t *store.Tx, d *row) error {
	if !s.store.Mails() {
		d.State = donate.Processing
		return s.insert(t, d)
	}
	since := store.Seconds(d.CreatedAt.Add(-donate.ConfirmTime))
	waiting, err := t.Int(sqlUnconfirmed, d.Account, text.FoldEmail(d.Wish.Email), since)
	if err == nil {
		err = s.insert(t, d)
	}
	if err != nil || waiting >= mostUnconfirmed {
		return err
	}
	return s.store.Queue(t, d.Account, mail.Promised, about(d), d.Wish.Email, nil)
}

// writePromise says how to send what was promised, nil where it has arrived, or was forgotten. It repeats nothing that
// was typed: someone else may have typed it.
func (s *DonationStore) writePromise(
	ctx context.Context, number int64, m mail.Mail, _ mail.Message,
) (*mail.Message, error) {
	d, err := s.row(ctx, number, aboutDonation(m))
	if err != nil || !d.IsPromise() || d.Wish.Way == "" {
		return nil, unless(crm.ErrNotFound, err)
	}
	account, err := s.store.AccountByNumber(ctx, number)
	if err != nil {
		return nil, err
	}
	set, err := s.DonationSettings(ctx, number)
	return promiseMail(account, &set, d), err
}

func promiseMail(account access.Account, set *donate.Settings, d *row) *mail.Message {
	amount, reference := text.MoneyExact(d.Charged, d.Currency), donate.Groups(d.Reference())
	m := &mail.Message{
		Subject: mail.Say("Your gift to {}: please confirm", account.Name),
		Action:  mail.Say("Confirm my gift"),
		Path:    donate.ManagePath + donate.ManageLink(account.ID, d.ID, d.Proof(donate.PromiseLink)),
		After: []mail.Line{
			mail.Say("If you didn’t promise this gift, you can ignore this email. Nothing is charged."),
		},
	}
	add := func(sentence string, typed ...string) { m.Says = append(m.Says, mail.Say(sentence, typed...)) }
	if d.Wish.Way == donate.ByCheck {
		add("Thank you for promising a check for "+amount+" to {}. Please mail it to:", account.Name)
		for line := range strings.Lines(set.Check) {
			add("{}", line)
		}
		add("Write this reference on the check: " + reference)
	} else {
		add("Thank you for promising a bank transfer of "+amount+" to {}. Please send it to this account:",
			account.Name)
		add("Name: {}", set.Bank.Name)
		add("IBAN: " + donate.Groups(set.Bank.IBAN))
		if set.Bank.BIC != "" {
			add("BIC: " + set.Bank.BIC)
		}
		add("Reference: " + reference)
	}
	add("Please confirm that this gift is from you. It counts when the money arrives.")
	return m
}

// Promise is the promised gift that a link is for, crm.ErrNotFound where it is for something else.
func (s *DonationStore) Promise(
	ctx context.Context, link string,
) (account access.Account, d donate.Donation, err error) {
	id, donation, secret, ok := donate.ParseManageLink(link)
	if !ok || !access.IsAccountID(id) {
		return account, d, errNoLink
	}
	if account, err = s.store.Account(ctx, id); err == nil {
		d, err = s.DonationByID(ctx, account.Number, donation)
	}
	if err == nil && !d.Proves(donate.PromiseLink, secret) {
		err = errNoLink
	}
	return account, d, err
}

// ConfirmPromise notes that whoever has the email address has promised a gift.
func (s *DonationStore) ConfirmPromise(ctx context.Context, link string) (donate.Donation, error) {
	account, d, err := s.Promise(ctx, link)
	if err != nil || d.IsConfirmed() {
		return d, err
	}
	return s.changeRow(ctx, account.Number, d.ID, store.Needs{}, func(_ store.Unit, d *row) error {
		if d.IsPromise() {
			d.State = donate.Processing
		}
		return nil
	})
}
