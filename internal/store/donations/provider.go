package donations

import (
	"cmp"
	"context"
	"errors"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
)

// GiftProvider is the payment provider by which a gift can be refunded, and what it calls the payment; "" where a
// refund is only noted here: the gift came from elsewhere, or the organization is no longer connected with that
// provider in the mode of the gift.
func (s *DonationStore) GiftProvider(ctx context.Context, account int64,
	g *giving.Gift,
) (provider, payment string, err error) {
	provider, payment = g.Provider()
	c, err := s.connectedTo(ctx, account, provider, payment)
	if err != nil || c == nil || c.Live == g.Test && provider != donate.Pretend {
		return "", "", err
	}
	return provider, payment, nil
}

// PlanProvider is the payment provider that takes the gifts of a plan, and what it calls the plan; "" where people
// record them.
func (s *DonationStore) PlanProvider(ctx context.Context, account int64,
	p *giving.Plan,
) (provider, id string, err error) {
	provider, id = p.Provider()
	if c, err := s.connectedTo(ctx, account, provider, id); err != nil || c == nil {
		return "", "", err
	}
	return provider, id, nil
}

// connectedTo is the connection with the provider of something that has an id there, nil where there is no id or no
// such connection.
func (s *DonationStore) connectedTo(ctx context.Context, account int64, provider, id string) (*Connection, error) {
	if id == "" {
		return nil, nil
	}
	c, err := s.Connection(ctx, account)
	if err != nil || c.Provider != provider {
		return nil, unless(errNotConnected, err)
	}
	return &c, nil
}

const planFaults doc.Rule = "The payment provider did not change this recurring gift, and nothing was changed here. %v"

// UpdatePlan changes what a valid input names. Where a payment provider takes the gifts, it is asked first to pause,
// resume or end them, or to take another amount; what it decides alone cannot be changed here.
func (s *DonationStore) UpdatePlan(ctx context.Context, account int64, code string,
	in giving.PlanInput,
) (store.PlanDocument, error) {
	plan, err := s.store.Plan(ctx, account, code)
	if err != nil {
		return store.PlanDocument{}, err
	}
	provider, id, err := s.PlanProvider(ctx, account, &plan)
	if err != nil || provider == "" {
		return firstOf(err, func() (store.PlanDocument, error) {
			return s.store.UpdatePlanRecord(ctx, account, code,
				in)
		})
	}
	wanted, err := plan.Change(&in, s.store.Now())
	if err == nil {
		err = store.Matches(ctx, store.PlanDocument{Plan: plan}.ETag)
	}
	if err != nil {
		return store.PlanDocument{}, err
	}
	changes, err := donate.PlanChanges(&plan, &wanted)
	if err != nil || len(changes) == 0 {
		return firstOf(err, func() (store.PlanDocument, error) {
			return s.store.UpdatePlanRecord(ctx, account, code,
				in)
		})
	}
	a, err := s.store.AccountByNumber(ctx, account)
	if err == nil {
		err = unavailable(s.changeAtProvider(ctx, a, id, changes,
			code+" "+cmp.Or(store.AttemptKey(ctx), plan.Version())))
	}
	if err != nil {
		return store.PlanDocument{}, err
	}
	ctx = context.WithoutCancel(ctx)
	made, err := s.store.UpdatePlanRecord(ctx, account, code, in)
	if err == nil {
		_, err = s.settle(ctx, a, donate.Ref{Kind: donate.PlanRef, ID: id}, nil)
	}
	return made, unless(donate.ErrTemporary, err) // an event will tell
}

func (s *DonationStore) changeAtProvider(ctx context.Context, a access.Account, plan string, changes []donate.Change,
	key string,
) error {
	return refusal(s.ask(ctx, a, func(ctx context.Context, p donate.Provider) error {
		for _, change := range changes {
			change.Key = "plan " + key + " " + string(change.Kind)
			if err := p.Plan(ctx, plan, change); err != nil {
				return err
			}
		}
		return nil
	}), planFaults)
}

// unavailable is an error in the words of all callers, who may try again later.
func unavailable(err error) error {
	if errors.Is(err, donate.ErrTemporary) {
		return errors.Join(crm.ErrUnavailable, err)
	}
	return err
}

func firstOf[T any](err error, do func() (T, error)) (T, error) {
	if err != nil {
		return *new(T), err
	}
	return do()
}
