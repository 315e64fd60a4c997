package api

import (
	"net/http"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
)

func (a *API) getPlan(w http.ResponseWriter, r *http.Request, c call) error {
	return respondTagged(w, r, func(dst []byte) ([]byte, doc.ETag, error) {
		plan, err := a.store.Plan(r.Context(), c.who.Account, c.code)
		if err != nil {
			return dst, doc.ETag{}, err
		}
		found := store.PlanDocument{Plan: plan}
		return found.Append(dst), found.ETag(), nil
	})
}

func (a *API) listPlans(r *http.Request, c call, l *list) fetch {
	filter, err := giving.ParsePlanFilter(l.text)
	l.note(err)
	return each(func() ([]giving.Plan, store.ListResult, error) {
		return a.store.Plans(r.Context(), c.who.Account, filter, l.page)
	}, (*giving.Plan).Append)
}

func (a *API) createPlan(w http.ResponseWriter, r *http.Request, c call) (made store.PlanDocument, err error) {
	in, err := a.planInput(w, r, c, true)
	if err != nil {
		return made, err
	}
	if made, err = a.store.CreatePlan(c.by(r), c.who.Account, in); err == nil {
		a.countGiver(&in.GiftInput, made.NewGiver)
	}
	return made, err
}

func (a *API) updatePlan(w http.ResponseWriter, r *http.Request, c call) (made store.PlanDocument, err error) {
	in, err := a.planInput(w, r, c, false)
	if err != nil {
		return made, err
	}
	return a.store.UpdatePlan(c.by(r), c.who.Account, c.code, in)
}

// planInput reads and checks the body of a create or an update.
func (a *API) planInput(w http.ResponseWriter, r *http.Request, c call, isNew bool) (giving.PlanInput, error) {
	return decode(a, w, r, c, checked(giving.DecodePlan, func(in *giving.PlanInput, faults *doc.Invalid) error {
		return in.Validate(faults, isNew, a.options.Region, a.store.Now())
	}))
}
