package donations

import (
	"context"
	"errors"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/mail"
	"donorbook/internal/store"
)

// OnDecline says what to do when a provider tells that a payment was declined.
func (s *DonationStore) OnDecline(do func(account int64)) { s.declined = do }

// TellOfDeclines queues a mail to the owners of an organization: so many payments were declined that its forms are closed for a while.
func (s *DonationStore) TellOfDeclines(ctx context.Context, account int64) error {
	organization, err := s.gifts.AccountByNumber(ctx, account)
	if err != nil {
		return err
	}
	members, err := s.gifts.Members(ctx, account)
	if err != nil {
		return err
	}
	message := &mail.Message{
		Subject: mail.Say("Many card payments failed at {}", organization.Name),
		Says: []mail.Line{
			mail.Say("More than 30 card payments were declined on the donation pages of {} within ten minutes. Somebody may be trying stolen cards there.", organization.Name),
			mail.Say("Paying online is closed for ten minutes, and opens again by itself. You don’t need to do anything. If it happens again, tell your payment provider, who can block such payments."),
		},
		Action: mail.Say("Open Donorbook"), Path: "/console/o/" + organization.ID,
	}
	return s.base.UpdateAccount(ctx, account, func(t *store.Tx) error {
		for _, m := range members {
			if m.Role < access.Owner {
				continue
			}
			if err := s.gifts.Queue(t, account, mail.Declines, "", m.User.Email, message); err != nil {
				return err
			}
		}
		return nil
	})
}

// AskByLink is AskToManage for the link of any mail, however old. Nobody learns whether there is such a gift.
func (s *DonationStore) AskByLink(ctx context.Context, link string) error {
	l, ok := donate.ParseLink(link)
	if !ok {
		return nil
	}
	account, err := s.gifts.Account(ctx, l.Account)
	if err == nil {
		err = s.AskToManage(ctx, account.Number, l.Donation)
	}
	if errors.Is(err, crm.ErrNotFound) {
		return nil
	}
	return err
}
