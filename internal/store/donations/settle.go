package donations

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	looks = 5                // how often a donation is looked at while others do so
	skew  = 10 * time.Second // by which the clocks of nodes may differ
)

// look is one look at what is true about an object of a provider, on its way into the books.
type look struct {
	s       *DonationStore
	account access.Account
	live    bool // the mode of the connection
	is      donate.Snapshot
	now     time.Time
	done    func(t *store.Tx) error // in the same unit of work; may be nil
}

// settle asks the provider what is true about an object, and brings the books up to date with it. What is true may
// change meanwhile, and other nodes may have looked later and be done sooner: a snapshot counts only where no other one
// was applied while it was taken. The donation is nil where the object is about none.
func (s *DonationStore) settle(ctx context.Context, account access.Account, ref donate.Ref,
	done func(*store.Tx) error,
) (*row, error) {
	return s.settleSince(ctx, account, ref, -1, done)
}

// settleSince is settle for who has seen a version of the donation.
func (s *DonationStore) settleSince(
	ctx context.Context, account access.Account, ref donate.Ref, seen int64, done func(*store.Tx) error,
) (*row, error) {
	p, c, err := s.provider(ctx, account)
	if err != nil {
		return nil, err
	}
	ctx = store.ByAnyone(ctx, history.PageChannel)
	for range looks {
		began := s.store.Now()
		is, err := p.Look(ctx, ref)
		if err != nil {
			return nil, err
		}
		if is.Session.Plan != "" { // of a session for another card
			if is.Session.Card != "" {
				if err := p.Plan(ctx, is.Session.Plan, donate.Change{Kind: donate.UseCard, Card: is.Session.Card,
					Key: is.Session.ID + " card"}); err != nil {
					return nil, err
				}
			}
			ref = donate.Ref{Kind: donate.PlanRef, ID: is.Session.Plan}
			continue
		}
		l := &look{s, account, c.Live, is, s.store.Now(), done}
		d, isLate, err := l.apply(ctx, seen, began)
		if err != nil || !isLate {
			return d, err
		}
		seen = d.Version
	}
	return nil, donate.ErrTemporary
}

// donation is the donation that the snapshot is about, nil where it is about none of ours.
func (l *look) donation(c db.Conn) (*row, error) {
	questions := [][2]string{{sqlDonation, l.is.Donation}}
	if l.is.Payment != nil {
		questions = append(questions, [2]string{sqlByPayment, l.is.Payment.ID})
	}
	d, err := find(c, l.account.Number, questions...)
	if d == nil && err == nil && l.is.Plan != nil {
		if d, err = find(c, l.account.Number, [2]string{sqlByPlan, l.is.Plan.ID}); d != nil && d.isNotHere() {
			d = nil // an earlier payment of the plan, which no one has taken over
		}
	}
	return d, err
}

// reference is what we call an object of the provider.
func (l *look) reference(id string) string {
	if id == "" {
		return ""
	}
	return l.is.Provider + ":" + id
}

// planReference is what we call the plan, "" for none.
func (l *look) planReference() string {
	if l.is.Plan == nil {
		return ""
	}
	return l.reference(l.is.Plan.ID)
}

// apply settles the snapshot in one unit of work. It is late where another one was applied since it was begun, unless
// the version of the donation is the one that was seen before.
func (l *look) apply(ctx context.Context, seen int64, began time.Time) (d *row, isLate bool, err error) {
	err = store.Repeat(func() error {
		known, err := store.Lend(ctx, l.s.store.Read, l.donation)
		if err != nil {
			return err
		}
		inputs, n := l.needs(ctx, known)
		return l.s.store.Update(ctx, l.account.Number, n, func(t *store.Tx) error {
			u, err := t.LockAccount(l.account.Number)
			if err != nil {
				return err
			}
			if d, err = l.donation(t.Conn); err != nil {
				return err
			}
			if (d == nil) != (known == nil) || d != nil && (d.ID != known.ID || d.GiftPlan != known.GiftPlan) {
				return store.ErrAgain
			}
			if isLate = d != nil && d.Version != seen &&
				!d.LookedAt.Before(began.Add(-skew).Truncate(time.Second)); isLate {
				return nil
			}
			own := *l // what it makes of the snapshot is of this unit of work, which may be done again
			if d, err = own.write(u, d, inputs); err == nil && l.done != nil {
				err = l.done(t)
			}
			return err
		})
	})
	return d, isLate, err
}

// write brings the donation, its gift and its plan up to date.
func (l *look) write(u store.Unit, d *row, inputs []giving.GiftInput) (*row, error) {
	var stored *store.StoredGift
	if l.is.Payment != nil {
		var err error
		if stored, err = store.GiftCalled(u, l.reference(l.is.Payment.ID)); err != nil {
			return d, err
		}
	}
	promised, err := store.PlanCalled(u, l.planReference())
	if err != nil {
		return d, err
	}
	known, ok := l.known(d, stored, promised)
	if !ok {
		return nil, nil
	}
	o := donate.Settle(known, &l.is)
	switch {
	case d == nil && promised != nil:
		inputs = l.valid(l.inputs(&row{Donation: donate.Donation{ID: l.is.Donation, Campaign: promised.Campaign}},
			promised.Contact))
	case d == nil:
		if d = l.notHere(stored == nil, &o); d != nil {
			return d, l.s.insert(u.Tx, d)
		}
		if stored == nil {
			return nil, nil
		}
	}
	if l.isOthers(d) {
		o = donate.Outcome{State: donate.Review, Doubt: donate.Foreign}
	}
	isNew, revision := stored == nil && o.New != nil && (d == nil || !d.isNotHere()), u.Revision
	gift, plan, err := l.ledger(u, d, stored, isNew, &o, inputs)
	if err != nil || d == nil {
		return d, err
	}
	hasArrived := gift != nil && gift.Status == giving.Succeeded && (stored == nil || stored.Status != giving.Succeeded)
	was := *d
	if l.note(d, gift, plan, &o); reflect.DeepEqual(was, *d) && u.Revision == revision {
		return d, nil // no one who looks at the same time has to look again
	}
	d.Version++
	d.LookedAt, d.UpdatedAt = l.now, l.now
	err = d.save(u.Tx)
	switch {
	case err != nil:
	case hasArrived:
		err = l.s.tellArrived(u, d, gift, l.now)
	case was.Doubt.HoldsThanks() && !d.Doubt.HoldsThanks():
		err = l.s.thankHeld(u, d, l.now)
	}
	return d, err
}

// known is what the books know of the payment. ok is false where it is one of another organization that shares the
// account at the provider.
func (l *look) known(d *row, stored *store.StoredGift, promised *store.StoredPlan) (known donate.Known, ok bool) {
	known.Order = donate.Order{Account: l.account.ID, Live: l.live}
	if stored != nil {
		known.Gift = &stored.Gift
	}
	switch {
	case d != nil && d.ID == l.is.Donation:
		known.Order = d.order(l.account)
	case l.is.Account == l.account.ID, d == nil && (stored != nil || promised != nil):
		// its row was forgotten, is not in the backup that was restored, or stayed on the server that the account has
		// moved from
		l.is.Donation, l.is.Account = "", ""
	case d == nil && l.is.Account != "" && l.is.Live == l.live:
		return known, false
	}
	return known, true
}

// isNotHere tells whether a payment did not begin on a page of ours, and waits for a person who takes it over.
func (d *row) isNotHere() bool { return d.Wish.Way == "" && d.Gift == "" }

// isOthers tells whether a session says that it is of this donation, and is not the one that we have begun for it.
func (l *look) isOthers(d *row) bool {
	return d != nil && d.Session != "" && l.is.Session.ID != "" && d.Session != l.is.Session.ID
}

// notHere is a row for money that did not come by a page of ours, nil where the books have its gift or nothing was
// paid.
func (l *look) notHere(isUnknown bool, o *donate.Outcome) *row {
	p := l.is.Payment
	if !isUnknown || o.New == nil || p.State != donate.Paid {
		return nil
	}
	d := &row{Donation: donate.Donation{ID: donate.NewID(), Account: l.account.Number, State: donate.Review,
		Doubt: donate.NotHere, Charged: p.Amount, Currency: p.Currency, Provider: l.is.Provider, Live: l.is.Live,
		Payment: p.ID, Wish: donate.Wish{FirstName: p.Name, Email: p.Email, Amount: p.Amount, Frequency: donate.Once},
		CreatedAt: p.At, UpdatedAt: l.now}, LookedAt: l.now}
	if l.is.Plan != nil {
		d.Plan, d.Wish.Frequency = l.is.Plan.ID, l.is.Plan.Frequency
	}
	return d
}

// ledger makes the gift, or lets it follow what is true, and its plan.
func (l *look) ledger(u store.Unit, d *row, stored *store.StoredGift, isNew bool, o *donate.Outcome,
	inputs []giving.GiftInput,
) (gift *giving.Gift, plan *giving.Plan, err error) {
	switch {
	case isNew:
		made, err := l.record(u, d, o, inputs)
		if err != nil {
			return nil, nil, err
		}
		gift = &made
	case stored != nil:
		gift = &stored.Gift
	}
	if gift != nil {
		if changed := o.Apply(*gift); string(changed.AppendBody(nil)) != string(gift.AppendBody(nil)) {
			if err := store.SaveGift(u, store.Stored(u.Account, gift.ID), &changed, l.now); err != nil {
				return nil, nil, err
			}
			gift = &changed
			if err := l.tellRefund(u, d, gift, o); err != nil {
				return nil, nil, err
			}
		}
	}
	plan, err = l.followPlan(u, d, o)
	return gift, plan, err
}

// record makes the gift of a payment, whatever stands in the way of its giver, campaign or plan: money that has come is
// in the books.
func (l *look) record(u store.Unit, d *row, o *donate.Outcome, inputs []giving.GiftInput) (giving.Gift, error) {
	var refused error
	for _, in := range inputs {
		doubt, err := archivedGiver(u, &in)
		if err != nil {
			return giving.Gift{}, err
		}
		in.FeeCovered, in.Fee = new(donate.Sent(o.New.Covered, o.New.Currency)), new(donate.Sent(o.Fee, o.New.Currency))
		made, err := l.recordWith(u, o, in)
		if errors.As(err, new(*doc.Invalid)) && o.Plan != nil { // such as the plan of a contact who was erased
			made, err = store.RecordGift(u, &in, l.now)
		}
		if !errors.As(err, new(*doc.Invalid)) {
			if err == nil && d != nil && made.Created {
				o.Doubt = o.Doubt.And(doubt).And(giverDoubt(u, &in, made.Contact))
			}
			return made.Gift, err
		}
		refused = err
	}
	return giving.Gift{}, refused
}

// recordWith makes a gift of an input, with its plan.
func (l *look) recordWith(u store.Unit, o *donate.Outcome, in giving.GiftInput) (store.GiftDocument, error) {
	if o.Plan != nil {
		plan, err := l.planFor(u, o, &in)
		if err != nil {
			return store.GiftDocument{}, err
		}
		if plan != nil {
			in.Plan = &plan.Code
		}
	}
	return store.RecordGift(u, &in, l.now)
}

// archivedGiver tells, before a gift is recorded, that it makes a new contact because nothing is merged into an
// archived one.
func archivedGiver(u store.Unit, in *giving.GiftInput) (donate.Doubt, error) {
	if in.Contact != nil || in.Anonymous {
		return "", nil
	}
	matches, err := store.MatchesArchived(u, &in.Giver)
	if err != nil || !matches {
		return "", err
	}
	return donate.Archived, nil
}

// giverDoubt tells that the contact of a gift is not sure to be its giver: it has another name, or is archived.
func giverDoubt(u store.Unit, in *giving.GiftInput, contact int64) donate.Doubt {
	row, err := store.Row(u, contact)
	switch {
	case err != nil || row == nil || row.Damage != nil:
	case row.Contact.Archived():
		return donate.Archived
	case in.Contact == nil && !in.Anonymous && in.Giver.PersonName().Contradicts(row.Contact.PersonName()):
		return donate.OtherName
	}
	return ""
}

// planFor is the plan of a payment, which is made with the first one. One whose contact a gift is not from is none for
// it.
func (l *look) planFor(u store.Unit, o *donate.Outcome, in *giving.GiftInput) (*giving.Plan, error) {
	found, err := store.PlanCalled(u, l.reference(o.Plan.ID))
	if err != nil || found != nil {
		if found != nil && (in.Contact == nil || *in.Contact == found.Contact) {
			return &found.Plan, nil
		}
		return nil, err
	}
	made := giving.PlanInput{GiftInput: *in, Frequency: &o.Plan.Frequency,
		StartAt: new(u.Day(o.Plan.StartAt).Format(time.DateOnly))}
	made.Amount, made.FeeCovered = new(donate.Sent(o.Plan.Amount, o.Plan.Currency)),
		new(donate.Sent(o.Plan.Covered, o.Plan.Currency))
	made.Status, made.ExternalID = nil, nil
	if err := made.Validate(nil, true, l.s.region, l.now); err != nil {
		return nil, err
	}
	made.ExternalID = new(l.reference(o.Plan.ID)) // which no one else may give
	plan, err := store.RecordPlan(u, &made, l.now)
	return &plan, err
}

// followPlan lets a plan follow what is true, and tells its giver when its card was declined. It is nil where the books
// have none.
func (l *look) followPlan(u store.Unit, d *row, o *donate.Outcome) (*giving.Plan, error) {
	if o.Plan == nil {
		return nil, nil
	}
	found, err := store.PlanCalled(u, l.reference(o.Plan.ID))
	if err != nil || found == nil {
		return nil, err
	}
	now := found.Followed(o.Plan.Status, o.Plan.Amount, o.Plan.Covered, o.Plan.Method, u.Day(o.Plan.Next),
		o.Plan.CanceledAt)
	if string(now.AppendBody(nil)) == string(found.Body) {
		return &now, nil
	}
	was := found.Plan.Status
	err = store.SavePlan(u, found, &now)
	switch {
	case err != nil || now.Status == was:
	case now.Status == giving.Ended:
		err = l.s.tellEnded(u, &now)
	case d != nil && now.Status == giving.PastDue:
		err = l.s.tellDeclined(u.Tx, l.account, d, &now)
	}
	return &now, err
}

// note is what the donation itself keeps of a look.
func (l *look) note(d *row, gift *giving.Gift, plan *giving.Plan, o *donate.Outcome) {
	if gift != nil || !d.isNotHere() {
		d.State = d.State.Becomes(o.State)
	}
	d.Session = cmp.Or(d.Session, l.is.Session.ID)
	if p := l.is.Payment; p != nil {
		d.Payment = cmp.Or(d.Payment, p.ID)
		if d.Fault = p.Fault; d.State == donate.Paid {
			d.Fault = ""
		}
	}
	if o.Plan != nil {
		d.Plan = cmp.Or(d.Plan, o.Plan.ID)
	}
	if gift != nil {
		if d.Gift = cmp.Or(d.Gift, gift.Code); plan != nil {
			d.GiftPlan = plan.Code
		}
	}
	d.Doubt = d.Doubt.And(o.Doubt.But(d.Settled))
	if l.is.Payment != nil && len(l.is.Payment.Disputes) > 0 {
		d.Doubt = d.Doubt.But(donate.Disputed.And(donate.TooMuchBack).But(o.Doubt)) // a dispute came to nothing
	}
	if d.IsOver() {
		d.DueAt = time.Time{}
	}
}

// needs are the gifts that a payment may become, the best one first, and what recording them will look up.
func (l *look) needs(ctx context.Context, d *row) (inputs []giving.GiftInput, n store.Needs) {
	if l.is.Payment == nil {
		return nil, store.ProvidersNeeds(l.account.Number, &giving.GiftInput{}, l.planReference())
	}
	contact := int64(0)
	if d != nil && d.GiftPlan != "" {
		if found, err := l.s.store.Plan(ctx, l.account.Number, d.GiftPlan); err == nil {
			contact = found.Contact
		}
	}
	inputs = l.valid(l.inputs(d, contact))
	for i := range inputs {
		n.More = append(n.More, store.ProvidersNeeds(l.account.Number, &inputs[i], l.planReference()))
	}
	return inputs, n
}

// valid are the inputs that can be recorded, as the gift of the payment.
func (l *look) valid(all []giving.GiftInput) (inputs []giving.GiftInput) {
	for _, in := range all {
		if in.Validate(nil, true, l.s.region, l.now) != nil {
			continue // such as an email that a stricter rule of today refuses
		}
		in.ExternalID = new(l.reference(l.is.Payment.ID)) // which no one else may give
		inputs = append(inputs, in)
	}
	return inputs
}

// inputs are the gifts that a payment may become: from the contact whose plan it is, from who was typed, without the
// campaign, and from no one who is known.
func (l *look) inputs(d *row, contact int64) []giving.GiftInput {
	p, w, campaign := l.is.Payment, donate.Wish{}, int64(0)
	if d != nil {
		w, campaign = d.Wish, d.Campaign
	}
	at := p.At
	if at.IsZero() || at.After(l.now) {
		at = l.now
	}
	made := w.Gift(p.Currency, at)
	made.Amount, made.Method, made.Test = new(donate.Sent(p.Amount, p.Currency)), new(p.Method), !l.is.Live &&
		l.is.Provider != donate.Pretend
	if p.State != donate.Paid {
		made.Status = new(string(giving.Pending))
	}
	if campaign != 0 {
		made.Campaign = &campaign
	}
	if d != nil && d.ID != l.is.Donation { // a payment that was taken over may have one name alone
		made.Filed = &giving.Filed{}
	}
	typed, unplaced, unknown := made, made, made
	unplaced.Campaign = nil
	unknown.Campaign, unknown.Giver, unknown.Email, unknown.Phone, unknown.Address, unknown.Anonymous = nil,
		crm.ContactInput{}, nil, nil, nil, true
	all := []giving.GiftInput{typed, unplaced, unknown}
	if contact != 0 {
		own := unknown
		own.Anonymous, own.Contact, own.Campaign, own.OfPlan = false, &contact, made.Campaign, true
		all = append([]giving.GiftInput{own}, all...)
	}
	return all
}
