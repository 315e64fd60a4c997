package donations

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
)

// LookAtDonation asks the provider what became of a donation, for at most three seconds, settles it, and tells the state. Where the provider does not answer, it is the donation as it is known.
func (s *DonationStore) LookAtDonation(ctx context.Context, account int64, id string) (donate.Donation, error) {
	return s.DonationByID(ctx, account, id)
}

// TakeEvent keeps an event of a provider that is genuine, and wakes the worker. An error that errors.Is donate.ErrForged is a 400; crm.ErrNotFound is a 404.
func (s *DonationStore) TakeEvent(ctx context.Context, provider, account string, header func(name string) string, body []byte) error {
	return crm.ErrUnavailable
}

// ResolveReview notes that a person has looked at a donation: it is no longer in doubt.
func (s *DonationStore) ResolveReview(ctx context.Context, account int64, id string) (donate.Donation, error) {
	return donate.Donation{}, crm.ErrUnavailable
}

// TakeOver makes a gift of a payment that did not begin on a page of ours, for a campaign or for none (0).
func (s *DonationStore) TakeOver(ctx context.Context, account int64, id string, campaign int64) (donate.Donation, error) {
	return donate.Donation{}, crm.ErrUnavailable
}

// Received makes a gift of a promised donation whose transfer or check has arrived; day is as a person writes it, "" for today.
func (s *DonationStore) Received(ctx context.Context, account int64, id, day string) (donate.Donation, error) {
	return donate.Donation{}, crm.ErrUnavailable
}

// RefundDonation gives back a part of a provider's gift at the provider, in the smallest unit of its currency, 0 for all that is left, and then looks what is true. seen is the version of the gift that a person saw.
func (s *DonationStore) RefundDonation(ctx context.Context, account int64, gift string, amount int64, seen string) error {
	return crm.ErrUnavailable
}

// AskToManage queues a mail with a fresh link to the giver of a monthly gift, valid for 15 minutes and for one change, to the address on file. Nobody learns whether there is such a donation.
func (s *DonationStore) AskToManage(ctx context.Context, account int64, id string) error { return nil }

// Managed is what a giver sees of a monthly gift.
type Managed struct {
	Account  access.Account
	Donation donate.Donation
	Plan     giving.Plan
	Offer    donate.Offer // for the limits of another amount
	IsPaused bool
}

// ManagedPlan is the monthly gift that a link is for; crm.ErrNotFound where the link was used or has expired. It also finishes a change of the card, when the giver comes back from the provider's page.
func (s *DonationStore) ManagedPlan(ctx context.Context, token string) (Managed, error) {
	return Managed{}, crm.ErrNotFound
}

// ChangePlan makes one change, by donate.CancelPlan, PausePlan, ResumePlan or NewAmount (the gift, without the covered fee), and uses the link up.
func (s *DonationStore) ChangePlan(ctx context.Context, token string, kind donate.ChangeKind, amount int64) (Managed, error) {
	return Managed{}, crm.ErrNotFound
}

// NewCard is the provider's page for another card. back is the address of the page with the link.
func (s *DonationStore) NewCard(ctx context.Context, token, back string) (donate.Handover, error) {
	return donate.Handover{}, crm.ErrNotFound
}
