package donations

import (
	"cmp"
	"context"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// thanksTime is how long a giver who comes back waits for what the provider says; LookPause is how long it takes from
// one such look at a donation to the next, so that no one but us decides how often the provider is asked.
const (
	thanksTime = 3 * time.Second
	LookPause  = 5 * time.Second
)

// LookAtDonation asks the provider what became of a donation, for at most three seconds, settles it, and tells the
// state. Where the provider does not answer, or was asked just now, it is the donation as it is known.
func (s *DonationStore) LookAtDonation(ctx context.Context, account int64, id string) (donate.Donation, error) {
	d, err := s.row(ctx, account, id)
	if err != nil {
		return donate.Donation{}, err
	}
	if d.Session == "" || d.IsOver() {
		return d.Donation, nil
	}
	// Each look puts the next one of the worker off by lookEvery, on whatever node it is: that tells when the last one
	// was.
	began := s.store.Now()
	latest := began.Add(lookEvery - LookPause)
	if d.DueAt.After(latest) {
		return d.Donation, nil
	}
	mine, err := s.claimOne(ctx, account, sqlClaimDonation, account, id, store.Seconds(began.Add(lookEvery)),
		store.Seconds(latest))
	if !mine {
		return d.Donation, err
	}
	a, err := s.store.AccountByNumber(ctx, account)
	if err != nil {
		return d.Donation, err
	}
	looking, cancel := context.WithTimeout(ctx, thanksTime)
	defer cancel()
	now, err := s.settle(looking, a, donate.Ref{Kind: donate.SessionRef, ID: d.Session}, nil)
	if err == nil && now != nil && now.ID == d.ID {
		return now.Donation, nil
	}
	return d.Donation, s.trouble(ctx, a, err)
}

// changeRow changes a donation in a unit of work that a person asks for.
func (s *DonationStore) changeRow(ctx context.Context, account int64, id string, n store.Needs,
	change func(store.Unit, *row) error,
) (made donate.Donation, err error) {
	if !donate.IsID(id) {
		return made, errNoDonation
	}
	err = s.store.Update(ctx, account, n, func(t *store.Tx) error {
		u, err := t.LockAccount(account)
		if err != nil {
			return err
		}
		d, err := find(t.Conn, account, [2]string{sqlDonation, id})
		if err != nil || d == nil {
			return cmp.Or(err, errNoDonation)
		}
		if err := change(u, d); err != nil {
			return err
		}
		d.UpdatedAt = s.store.Now()
		made = d.Donation
		return d.save(t)
	})
	return made, err
}

// ResolveReview notes that a person has looked at a donation for a reason: it is not raised again, and where it was the
// last one, who gave is thanked.
func (s *DonationStore) ResolveReview(ctx context.Context, account int64, id string,
	reason donate.Doubt,
) (donate.Donation, error) {
	return s.changeRow(ctx, account, id, store.Needs{}, func(u store.Unit, d *row) error {
		was := d.Doubt
		d.Settled, d.Doubt = d.Settled.And(was.But(was.But(reason))), was.But(reason)
		if !was.HoldsThanks() || d.Doubt.HoldsThanks() {
			return nil
		}
		return s.thankHeld(u, d, s.store.Now())
	})
}

const notPaidHere doc.Rule = "This payment began on a page of yours, and is recorded already."

// TakeOver makes a gift of a payment that did not begin on a page of ours, for a campaign or for none (0).
func (s *DonationStore) TakeOver(ctx context.Context, account int64, id string,
	campaign int64,
) (donate.Donation, error) {
	d, err := s.changeRow(ctx, account, id, store.Needs{Campaigns: []int64{campaign}},
		func(u store.Unit, d *row) error {
			if !d.isNotHere() {
				return doc.NewInvalid("", notPaidHere)
			}
			if campaign != 0 && !store.HasCampaign(u, campaign) {
				return doc.NewInvalid("campaign_id", doc.Unknown, "campaigns")
			}
			d.Wish.Way, d.Campaign, d.State, d.DueAt = donate.Online, campaign, donate.Processing, s.store.Now()
			d.Settled, d.Doubt = d.Settled.And(donate.NotHere), d.Doubt.But(donate.NotHere)
			return nil
		})
	if err != nil {
		return d, err
	}
	a, err := s.store.AccountByNumber(ctx, account)
	if err != nil {
		return d, err
	}
	now, err := s.settle(ctx, a, donate.Ref{Kind: donate.PaymentRef, ID: d.Payment}, nil)
	if now != nil {
		d = now.Donation
	}
	return d, err
}

const beforePromise doc.Rule = "must not be before %v, the day on which this was promised"

const notPromised doc.Rule = "This donation is not a promise that waits for its money."

// Received makes a gift of a promised donation whose transfer or check has arrived; day is as a person writes it, ""
// for today. amount is what arrived, in ten-thousandths; nil is what was promised.
func (s *DonationStore) Received(ctx context.Context, account int64, id, day string,
	amount *int64,
) (donate.Donation, error) {
	d, err := s.row(ctx, account, id)
	if err != nil {
		return donate.Donation{}, err
	}
	zone, err := s.store.Timezone(ctx, account)
	if err != nil {
		return d.Donation, err
	}
	now := s.store.Now().In(zone)
	in := d.Wish.Gift(d.Currency, now)
	if day != "" {
		in.GivenAt = &day
	}
	if amount != nil {
		in.Amount = amount
	}
	if d.Campaign != 0 {
		in.Campaign = &d.Campaign
	}
	in.ExternalID = new(d.Reference())
	if err := in.Validate(nil, true, s.region, now); err != nil {
		return d.Donation, err
	}
	made, err := s.changeRow(ctx, account, id, store.NewGiftNeeds(account, &in), func(u store.Unit, d *row) error {
		if begun := text.WallClock(d.CreatedAt, zone).Truncate(24 * time.Hour); giving.GiftClock(in.Time(),
			zone).Before(begun) {
			return doc.NewInvalid("transacted_at", beforePromise, begun.Format("January 2, 2006"))
		}
		if !d.IsPromise() {
			return doc.NewInvalid("", notPromised)
		}
		doubt, err := archivedGiver(u, &in)
		if err != nil {
			return err
		}
		g, err := store.RecordGift(u, &in, now)
		if err == nil {
			err = g.CheckVoided() // one that was received before
		}
		if err != nil {
			return err
		}
		d.Doubt = doubt.And(giverDoubt(u, &in, g.Contact))
		d.State, d.Gift = donate.Paid, g.Code
		return s.tellArrived(u, d, &g.Gift, now)
	})
	return made, err
}

// The rules of taking back that a promise was kept.
const (
	notReceived doc.Rule = "This donation is not marked as received, so there is nothing to undo."
	givenBack   doc.Rule = "A part of this gift was refunded. Undo the refund on the page of the gift first."
	noOneAsked  doc.Rule = "The donor was erased, so this can no longer be undone. Refund the gift instead."
)

// Unreceived takes back that a promise was kept: its gift is canceled, as by the undo of an import, and the promise
// waits for its money again.
func (s *DonationStore) Unreceived(ctx context.Context, account int64, id string) (donate.Donation, error) {
	d, err := s.row(ctx, account, id)
	if err != nil {
		return donate.Donation{}, err
	}
	return s.changeRow(ctx, account, id, store.Needs{Gifts: []int64{store.CodeID(account, d.Gift)}},
		func(u store.Unit, d *row) error {
			if d.Provider != "" || d.State != donate.Paid || d.Gift == "" {
				return doc.NewInvalid("", notReceived)
			}
			g, err := u.Gifts.Get(u.Tx, u.Number, store.CodeID(u.Number, d.Gift))
			switch {
			case err != nil:
				return err
			case d.Wish.Way == "":
				return doc.NewInvalid("", noOneAsked)
			case g == nil || g.Damage != nil || g.Status != giving.Succeeded:
			case g.Refunded() != 0:
				return doc.NewInvalid("", givenBack)
			default:
				canceled := g.Withdraw()
				if err := store.SaveGift(u, g, &canceled, s.store.Now()); err != nil {
					return err
				}
			}
			d.State, d.Gift, d.Doubt, d.Settled = donate.Processing, "", "", ""
			return nil
		})
}

const refundFaults doc.Rule = "The payment provider could not refund this gift, and nothing was changed. %v"

// RefundGift gives back a part of a gift, in ten-thousandths, or all that is left where amount is nil. Money that came
// through a payment provider goes back the way it came, as long as the organization is connected with that provider:
// then the books follow what the provider says. Any other refund is only noted. seen is the version of the gift that a
// person saw, "" for whatever is there.
func (s *DonationStore) RefundGift(ctx context.Context, account int64, code string, amount *int64,
	seen string,
) (store.GiftDocument, error) {
	g, err := s.store.GiftRecord(ctx, account, code)
	if err != nil {
		return store.GiftDocument{}, err
	}
	provider, payment, err := s.GiftProvider(ctx, account, &g.Gift)
	if err != nil || provider == "" {
		return firstOf(err, func() (store.GiftDocument, error) {
			return s.store.RefundRecord(ctx, account, code, amount,
				seen)
		})
	}
	back, err := g.Refund(amount, s.store.Now()) // decides what may go back; nothing is written
	if err == nil && seen != "" && seen != g.Version() {
		err = crm.ErrChanged
	}
	if err != nil {
		return store.GiftDocument{}, err
	}
	if err := s.refund(ctx, account, &g.Gift, g.Left()-back.Left(), payment); err != nil {
		return store.GiftDocument{}, unavailable(err)
	}
	return s.store.UpdateGift(ctx, account, code, giving.GiftInput{}) // answers with what it is now
}

const noRefundBack doc.Rule = "This refund was paid out by the payment provider, so it cannot be undone here. If the donor gives again, record a new gift."

// UndoRefund takes back a refund that was only noted. One that went through the payment provider has left: the books
// must not say otherwise.
func (s *DonationStore) UndoRefund(ctx context.Context, account int64, code string, amount *int64,
	seen string,
) (store.GiftDocument, error) {
	g, err := s.store.GiftRecord(ctx, account, code)
	if err != nil {
		return store.GiftDocument{}, err
	}
	provider, _, err := s.GiftProvider(ctx, account, &g.Gift)
	if err == nil && provider != "" {
		err = doc.NewInvalid("", noRefundBack)
	}
	return firstOf(err, func() (store.GiftDocument, error) {
		return s.store.UndoRefundRecord(ctx, account, code, amount,
			seen)
	})
}

// refund has a provider give money back, and brings the gift up to date. The same request, which has a key of its own
// or was made of the same state of the gift, gives it back once.
func (s *DonationStore) refund(ctx context.Context, account int64, g *giving.Gift, amount int64, payment string) error {
	a, err := s.store.AccountByNumber(ctx, account)
	if err != nil {
		return err
	}
	key := "refund " + g.Code + " " + cmp.Or(store.AttemptKey(ctx), g.Version()+" "+text.MoneyInput(amount, g.Currency))
	err = refusal(s.ask(ctx, a, func(ctx context.Context, p donate.Provider) error {
		return p.Refund(ctx, payment, amount, g.Currency, key)
	}), refundFaults)
	if err != nil {
		return err
	}
	_, err = s.settle(context.WithoutCancel(ctx), a, donate.Ref{Kind: donate.PaymentRef, ID: payment}, nil)
	return err
}
