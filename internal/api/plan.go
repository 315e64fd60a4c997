package api

import (
	"net/http"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
)

func (a *API) getPlan(w http.ResponseWriter, r *http.Request, c call) error {
	return respondTagged(w, r, func(dst []byte) ([]byte, doc.ETag, error) {
		plan, err := a.store.Plan(r.Context(), c.who.Account, c.code)
		if err != nil {
			return dst, doc.ETag{}, err
		}
		found := gifts.PlanDocument{Plan: plan}
		return found.Append(dst), found.ETag(), nil
	})
}

func (a *API) listPlans(w http.ResponseWriter, r *http.Request, c call) error {
	l, err := a.newList(r)
	if err != nil {
		return err
	}
	filter, err := giving.ParsePlanFilter(l.text)
	if err := l.check(err); err != nil {
		return err
	}
	return l.respond(w, func(dst []byte, _ store.Flush) ([]byte, store.ListResult, error) {
		plans, found, err := a.store.Plans(r.Context(), c.who.Account, filter, l.page)
		for i := range plans {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = plans[i].Append(dst)
		}
		return dst, found, err
	})
}

func (a *API) createPlan(w http.ResponseWriter, r *http.Request, c call) error {
	in, err := a.planInput(w, r, c, true)
	if err != nil {
		return err
	}
	made, err := a.store.CreatePlan(c.by(r), c.who.Account, in)
	if err == nil {
		a.countGiver(&in.GiftInput, made.NewGiver)
	}
	return writeMade(w, made, err)
}

func (a *API) updatePlan(w http.ResponseWriter, r *http.Request, c call) error {
	in, err := a.planInput(w, r, c, false)
	if err != nil {
		if _, missing := a.store.Plan(r.Context(), c.who.Account, c.code); missing != nil {
			return missing // errors of the resource come first
		}
		return err
	}
	made, err := a.store.UpdatePlan(c.by(r), c.who.Account, c.code, in)
	return writeMade(w, made, err)
}

// putPlan is PATCH by another name: some clients know no other.
func (a *API) putPlan(w http.ResponseWriter, r *http.Request, c call) error {
	return a.updatePlan(w, r, c)
}

// planInput reads and checks the body of a create or an update.
func (a *API) planInput(w http.ResponseWriter, r *http.Request, c call, isNew bool) (in giving.PlanInput, err error) {
	err = c.decode(w, r, isNew, func(body *doc.Reader) error {
		var faults *doc.Invalid
		if in, faults, err = giving.DecodePlan(body); err == nil {
			err = in.Validate(faults, isNew, a.options.Region, time.Now())
		}
		return err
	})
	return in, err
}
