package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

const (
	planColumns = `id, code, body, checksum, revision`

	sqlLoadPlans = `SELECT ` + planColumns + ` FROM plan WHERE account_id = $1 AND id = ANY($2)`
	sqlDuePlans  = `SELECT ` + planColumns + ` FROM plan WHERE account_id = $1 AND status = $2 AND next_bill < $3 ORDER BY next_bill, id LIMIT $4`
	sqlPlansOf   = `SELECT ` + planColumns + ` FROM plan WHERE account_id = $1 AND contact_id = $2 ORDER BY id DESC LIMIT $3`
	sqlPlanCount = `SELECT COUNT(*) FROM plan WHERE account_id = $1 AND status = $2 AND next_bill < $3`
)

// storedPlan is a plan as it is stored, whether it can be read or not.
type storedPlan struct {
	crm.Plan
	body     []byte
	revision int64 // of its last change
	damage   error
}

func scanPlan(r db.Row) (int64, *storedPlan) {
	id := r.Int(0)
	body, err := documentIn(planTable, r, 2, id)
	p := &storedPlan{body: slices.Clone(body), revision: r.Int(4), damage: err}
	if err == nil {
		p.Plan, p.damage = crm.ParsePlan(id, r.Text(1), p.body)
	}
	return id, p
}

// PlanDocument is a plan as a change has left it.
type PlanDocument struct {
	crm.Plan
	Created  bool // it is new
	NewGiver bool // a create has made a contact
}

// Fate tells what has become of a create.
func (d PlanDocument) Fate() (created, merged bool) { return d.Created, false }

// Append appends the wire form.
func (d PlanDocument) Append(dst []byte) []byte {
	return d.Plan.Append(dst)
}

// planOf is the plan that an input names, nil for none.
func (t *tx) planOf(a *accountUnit, code *string) (*crm.Plan, error) {
	if code == nil || *code == "" {
		return nil, nil
	}
	plan, err := t.planByCode(a, *code)
	if errors.Is(err, crm.ErrNotFound) {
		return nil, fault("plan_id", doc.Unknown, "plans")
	}
	if err != nil {
		return nil, err
	}
	return &plan.Plan, nil
}

func (t *tx) planByCode(a *accountUnit, code string) (*storedPlan, error) {
	id := codeID(a.account, code)
	if id == 0 {
		return nil, crm.ErrNotFound
	}
	plan, err := giftsOf(a).plans.get(t, a.account, id)
	switch {
	case err != nil:
		return nil, err
	case plan == nil:
		return nil, crm.ErrNotFound
	case plan.damage != nil:
		return nil, plan.damage
	case plan.Code != code:
		return nil, crm.ErrNotFound
	}
	return plan, nil
}

// payPlan moves the plan of a gift on.
func (t *tx) payPlan(a *accountUnit, g *crm.Gift, now time.Time) error {
	plan, err := t.planByCode(a, g.PlanCode)
	if err != nil {
		return err
	}
	paid := plan.Paid(g.At, now)
	if string(paid.AppendBody(nil)) != string(plan.body) {
		t.savePlan(a, plan, &paid)
	}
	return nil
}

// savePlan writes a plan that has changed, and notes what did.
func (t *tx) savePlan(a *accountUnit, old *storedPlan, p *crm.Plan) {
	t.writePlan(t.Save, a, t.record(a, crm.PlanNoun, p.ID, crm.DidUpdate, old.Differences(p).Text()), p)
}

func (t *tx) writePlan(write func(*db.Table, ...any), a *accountUnit, revision int64, p *crm.Plan) {
	body := p.AppendBody(make([]byte, 0, usualBody))
	giftsOf(a).plans.rows[p.ID] = &storedPlan{Plan: *p, body: body, revision: revision}
	write(planTable, planValues(a.account, revision, p, body)...)
}

// planValues are the columns of a plan. They follow from its document.
func planValues(account, revision int64, p *crm.Plan, body []byte) []any {
	return []any{account, p.ID, p.Contact, p.Campaign, p.StatusNumber(), seconds(p.NextBill), p.Code, body, checksum(body), revision}
}

// CreatePlan makes a plan of a valid input. Its giver is found as that of a gift. An external id that is known already is refused.
func (s *GiftStore) CreatePlan(ctx context.Context, account int64, in crm.PlanInput) (PlanDocument, error) {
	now, n := s.now(), planNeeds(account, &in)
	if in.Contact == nil {
		n.keys = in.Giver.MatchKeys()
	}
	return answered(ctx, s.Base, account, n, func(t *tx) (PlanDocument, error) {
		a, err := t.lock(account)
		if err != nil {
			return PlanDocument{}, err
		}
		return t.createPlan(a, &in, now)
	})
}

// createPlan decides everything before it writes anything.
func (t *tx) createPlan(a *accountUnit, in *crm.PlanInput, now time.Time) (made PlanDocument, err error) {
	campaign, campaignErr := t.ownCampaign(a, in.Campaign)
	giver, giverErr := t.giver(a, &in.GiftInput, now)
	if err := firstOrFaults(giverErr, campaignErr, t.freePlanReference(a, in, "")); err != nil {
		return made, err
	}
	currency := a.currency
	switch {
	case in.Currency != nil && *in.Currency != "":
		currency = *in.Currency
	case campaign != nil:
		currency = campaign.currency
	}
	made.Created, made.NewGiver = true, giver.isNew
	if made.Plan, err = crm.NewPlan(in, &giver.contact, currency, now); err != nil {
		return made, err
	}
	if a.planSeq >= crm.MaxSeq {
		return made, errors.New("the account has given out all its ids of plans")
	}
	if made.Contact, err = giver.save(t, a); err != nil {
		return made, err
	}
	a.touch(t)
	a.planSeq++
	made.ID = crm.MakeID(a.account, a.planSeq)
	made.Code = crm.NewCode(made.ID)
	t.writePlan(t.Insert, a, t.record(a, crm.PlanNoun, made.ID, crm.DidCreate, ""), &made.Plan)
	t.moveReference(a, planReference, "", made.ExternalID, made.ID)
	return made, t.mentionPlan(a, &made.Plan)
}

// mentionPlan notes a new plan in the history of its contact.
func (t *tx) mentionPlan(a *accountUnit, p *crm.Plan) error {
	row, err := t.row(a, p.Contact)
	if err == nil && row != nil && row.damage == nil {
		t.mention(a, row, crm.DidPlan, crm.PlanMention(p))
	}
	return err
}

func planNeeds(account int64, in *crm.PlanInput) needs {
	n := giftNeeds(account, &in.GiftInput)
	n.gift = nil
	n.references = nil
	if in.ExternalID != nil && *in.ExternalID != "" {
		n.references = append(n.references, planReference+*in.ExternalID)
	}
	return n
}

// freePlanReference refuses an external id that another plan has.
func (t *tx) freePlanReference(a *accountUnit, in *crm.PlanInput, own string) error {
	if in.ExternalID == nil || *in.ExternalID == "" || *in.ExternalID == own {
		return nil
	}
	id, err := giftsOf(a).references.get(t, a.account, planReference+*in.ExternalID)
	if err == nil && id != 0 {
		err = fault("external_id", "belongs to another plan")
	}
	return err
}

// UpdatePlan changes what a valid input names.
func (s *GiftStore) UpdatePlan(ctx context.Context, account int64, code string, in crm.PlanInput) (PlanDocument, error) {
	now, n := s.now(), planNeeds(account, &in)
	if n.plan = codeID(account, code); n.plan == 0 {
		return PlanDocument{}, crm.ErrNotFound
	}
	return answered(ctx, s.Base, account, n, func(t *tx) (made PlanDocument, err error) {
		a, err := t.lock(account)
		if err != nil {
			return made, err
		}
		old, err := t.planByCode(a, code)
		if err != nil {
			return made, err
		}
		_, campaignErr := t.ownCampaign(a, in.Campaign)
		if err := firstOrFaults(campaignErr, t.freePlanReference(a, &in, old.ExternalID)); err != nil {
			return made, err
		}
		if made.Plan, err = old.Change(&in, now); err != nil {
			return made, err
		}
		if string(made.AppendBody(nil)) == string(old.body) {
			return made, nil
		}
		t.moveReference(a, planReference, old.ExternalID, made.ExternalID, made.ID)
		t.savePlan(a, old, &made.Plan)
		return made, nil
	})
}

func readPlan(r db.Row) *storedPlan {
	_, p := scanPlan(r)
	return p
}

// plansOf are the plans of rows, and the first damage among them.
func plansOf(rows []*storedPlan, err error) ([]crm.Plan, error) {
	var plans []crm.Plan
	for _, row := range rows {
		if err == nil {
			err = row.damage
		}
		plans = append(plans, row.Plan)
	}
	return plans, err
}

// Plan finds a plan by its public id.
func (s *GiftStore) Plan(ctx context.Context, account int64, code string) (crm.Plan, error) {
	plans, err := plansOf(list(ctx, s.Base, readPlan, sqlLoadPlans, account, []int64{codeID(account, code)}))
	if err == nil && (len(plans) == 0 || plans[0].Code != code) {
		return crm.Plan{}, crm.ErrNotFound
	}
	if err != nil {
		return crm.Plan{}, err
	}
	return plans[0], nil
}

// PlanPage is one page of plans, oldest first, or newest first for people.
func (s *GiftStore) PlanPage(ctx context.Context, account int64, page crm.PageRequest, newest bool) (plans []crm.Plan, result ListResult, err error) {
	order := oldestFirst
	if newest {
		order = newestFirst
	}
	plans, err = snapshot(ctx, s.Base, func(c db.Conn) ([]crm.Plan, error) {
		row, err := readTally(c, account)
		if err != nil {
			return nil, err
		}
		from, to := order(page)(row.planSeq)
		if result = (ListResult{Total: row.planSeq}); from >= to || page.Skip() >= row.planSeq {
			return nil, nil
		}
		result.Count = to - from
		return plansOf(db.List(c, readPlan, sqlLoadPlans, account, seqIDs(account, from+1, to)))
	})
	sortRows(plans, func(a, b *crm.Plan) int { return cmp.Compare(a.ID, b.ID) })
	if newest {
		slices.Reverse(plans)
	}
	return plans, result, err
}

// OverduePlans are plans whose gift should have come before today, the longest overdue first, and how many there are.
func (s *GiftStore) OverduePlans(ctx context.Context, account int64, limit int64) (plans []crm.Plan, total int64, err error) {
	plans, err = snapshot(ctx, s.Base, func(c db.Conn) (plans []crm.Plan, err error) {
		row, err := readTally(c, account)
		if err != nil {
			return nil, err
		}
		today := row.clock(s.now()).Truncate(24 * time.Hour).Unix()
		total = 0
		for _, status := range []crm.PlanStatus{crm.ActivePlan, crm.PastDue} {
			p := crm.Plan{Status: status}
			found, err := plansOf(db.List(c, readPlan, sqlDuePlans, account, p.StatusNumber(), today, limit))
			if err != nil {
				return nil, err
			}
			n, err := c.Int(sqlPlanCount, account, p.StatusNumber(), today)
			if err != nil {
				return nil, err
			}
			plans, total = append(plans, found...), total+n
		}
		return plans, nil
	})
	sortRows(plans, func(a, b *crm.Plan) int { return a.NextBill.Compare(b.NextBill) })
	return plans[:min(int64(len(plans)), limit)], total, err
}

// ContactPlans are the newest plans of a contact.
func (s *GiftStore) ContactPlans(ctx context.Context, account, contact int64, limit int64) ([]crm.Plan, error) {
	return plansOf(list(ctx, s.Base, readPlan, sqlPlansOf, account, contact, limit))
}

// seqIDs are the ids of an account from one sequence number to another, which were given out without a gap.
func seqIDs(account, from, to int64) []int64 {
	ids := make([]int64, 0, to-from+1)
	for seq := from; seq <= to; seq++ {
		ids = append(ids, crm.MakeID(account, seq))
	}
	return ids
}
