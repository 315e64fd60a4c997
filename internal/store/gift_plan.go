package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

const (
	PlanColumns = `id, code, body, checksum, revision`

	SQLLoadPlans = `SELECT ` + PlanColumns + ` FROM plan WHERE account_id = $1 AND id = ANY($2)`
	sqlDuePlans  = `SELECT ` + PlanColumns +
		` FROM plan WHERE account_id = $1 AND status = $2 AND next_bill < $3 ORDER BY next_bill, id LIMIT $4`
	sqlPlansOf = `SELECT ` + PlanColumns +
		` FROM plan WHERE account_id = $1 AND contact_id = $2 ORDER BY id DESC LIMIT $3`
	sqlPlanCount = `SELECT COUNT(*) FROM plan WHERE account_id = $1 AND status = $2 AND next_bill < $3`
)

// StoredPlan is a plan as it is stored, whether it can be read or not.
type StoredPlan struct {
	giving.Plan
	Body     []byte
	Revision int64 // of its last change
	Damage   error
}

func ScanPlan(r db.Row) (int64, *StoredPlan) {
	id := r.Int(0)
	body, err := DocumentIn(PlanTable, r, 2, id)
	p := &StoredPlan{Body: slices.Clone(body), Revision: r.Int(4), Damage: err}
	if err == nil {
		p.Plan, p.Damage = giving.ParsePlan(id, r.Text(1), p.Body)
	}
	return id, p
}

// PlanDocument is a plan as a change has left it.
type PlanDocument struct {
	giving.Plan
	Created  bool // it is new
	NewGiver bool // a create has made a contact
}

// Outcome tells what has become of a create.
func (d PlanDocument) Outcome() Outcome {
	return Outcome{Created: d.Created, Tag: d.ETag()}
}

// Append appends the wire form.
func (d PlanDocument) Append(dst []byte) []byte {
	return d.Plan.Append(dst)
}

// ETag names the state that a plan is in.
func (d PlanDocument) ETag() doc.ETag { return doc.TagOf(d.Append(nil)) }

// planOf is the plan that an input names, nil for none.
func planOf(u Unit, code *string) (*giving.Plan, error) {
	if code == nil || *code == "" {
		return nil, nil
	}
	plan, err := byCode(u, &u.Plans, *code)
	if errors.Is(err, crm.ErrNotFound) {
		return nil, Fault("plan_id", doc.Unknown, "plans")
	}
	if err != nil {
		return nil, err
	}
	return &plan.Plan, nil
}

// payPlan moves the plan of a gift on.
func payPlan(u Unit, g *giving.Gift, now time.Time) error {
	plan, err := byCode(u, &u.Plans, g.PlanCode)
	if err != nil {
		return err
	}
	paid := plan.Paid(g.At, now)
	if string(paid.AppendBody(nil)) == string(plan.Body) {
		return nil
	}
	return SavePlan(u, plan, &paid)
}

// SavePlan writes a plan that has changed, and notes what did.
func SavePlan(u Unit, old *StoredPlan, p *giving.Plan) error {
	return PutPlan(u, p, u.Record(history.PlanNoun, p.ID, history.DidUpdate, old.Differences(p).Text()))
}

// PutPlan is the one way in which a plan changes, as PutGift is that of a gift.
func PutPlan(u Unit, p *giving.Plan, revision int64) error {
	body := p.AppendBody(make([]byte, 0, UsualBody))
	var before *find.Rows
	write := u.Insert
	if was := u.Plans.Rows[p.ID]; was != nil {
		before, write = find.PlanRows(&was.Plan), u.Save
	}
	u.Plans.Rows[p.ID] = &StoredPlan{Plan: *p, Body: body, Revision: revision}
	write(PlanTable, PlanValues(u.Number, revision, p, body)...)
	return Derive(u, p.ID, before, find.PlanRows(p))
}

// PlanValues are the columns of a plan. They follow from its document.
func PlanValues(account, revision int64, p *giving.Plan, body []byte) []any {
	return []any{account, p.ID, p.Contact, p.Campaign, p.StatusNumber(), Seconds(p.NextBill), p.Code, body,
		Checksum(body), revision}
}

// CreatePlan makes a plan of a valid input. Its giver is found as that of a gift. An external id that is known already
// is refused.
func (s *Store) CreatePlan(ctx context.Context, account int64, in giving.PlanInput) (PlanDocument, error) {
	if err := s.findCampaign(ctx, &in.GiftInput); err != nil {
		return PlanDocument{}, err
	}
	now, n := s.Now(), planNeeds(account, &in)
	if in.Contact == nil {
		n.Keys = in.Giver.MatchKeys()
	}
	return Answered(ctx, s, account, n, func(u Unit) (PlanDocument, error) {
		return createPlan(u, &in, now)
	})
}

// createPlan decides everything before it writes anything.
func createPlan(u Unit, in *giving.PlanInput, now time.Time) (made PlanDocument, err error) {
	_, campaignErr := campaignOf(u, &in.GiftInput)
	giver, giverErr := findGiver(u, &in.GiftInput, 0, now)
	if err := FirstOrFaults(giverErr, campaignErr, freeReference(u, find.PlanReference, in.ExternalID,
		"")); err != nil {
		return made, err
	}
	made.Created, made.NewGiver = true, giver.isNew
	if made.Plan, err = giving.NewPlan(in, &giver.contact, CurrencyOf(u.Account, &in.GiftInput), now); err != nil {
		return made, err
	}
	if err := roomForPlan(u.Account); err != nil {
		return made, err
	}
	contact, err := giver.save(u)
	if err == nil {
		_, err = insertPlan(u, &made.Plan, contact)
	}
	return made, err
}

func roomForPlan(a *Account) error {
	if a.PlanSeq >= doc.MaxSeq {
		return errors.New("the account has used all its ids of plans")
	}
	return nil
}

// insertPlan writes a new plan of a contact.
func insertPlan(u Unit, p *giving.Plan, contact int64) (code string, err error) {
	u.Touch()
	u.PlanSeq++
	p.Contact, p.ID = contact, doc.MakeID(u.Number, u.PlanSeq)
	p.Code = giving.NewCode(p.Code, p.ID)
	if err := PutPlan(u, p, u.Record(history.PlanNoun, p.ID, history.DidCreate, "")); err != nil {
		return "", err
	}
	return p.Code, mentionPlan(u, p)
}

// mentionPlan notes a new plan in the history of its contact.
func mentionPlan(u Unit, p *giving.Plan) error {
	row, err := Row(u, p.Contact)
	if err == nil && row != nil && row.Damage == nil {
		Mention(u, row, history.DidPlan, history.PlanMention(p))
	}
	return err
}

func planNeeds(account int64, in *giving.PlanInput) Needs {
	n := giftNeeds(account, &in.GiftInput)
	n.Gift = nil
	n.References = nil
	if in.ExternalID != nil && *in.ExternalID != "" {
		n.References = append(n.References, find.PlanReference+*in.ExternalID)
	}
	return n
}

// UpdatePlanRecord changes what a valid input names.
func (s *Store) UpdatePlanRecord(ctx context.Context, account int64, code string,
	in giving.PlanInput,
) (PlanDocument, error) {
	if err := s.findCampaign(ctx, &in.GiftInput); err != nil {
		return PlanDocument{}, err
	}
	now, n := s.Now(), planNeeds(account, &in)
	if n.Plan = CodeID(account, code); n.Plan == 0 {
		return PlanDocument{}, crm.ErrNotFound
	}
	return Answered(ctx, s, account, n, func(u Unit) (made PlanDocument, err error) {
		old, err := byCode(u, &u.Plans, code)
		if err != nil {
			return made, err
		}
		_, campaignErr := campaignOf(u, &in.GiftInput)
		if err := FirstOrFaults(campaignErr, freeReference(u, find.PlanReference, in.ExternalID,
			old.ExternalID)); err != nil {
			return made, err
		}
		if made.Plan, err = old.Change(&in, now); err == nil {
			err = Matches(ctx, PlanDocument{Plan: old.Plan}.ETag)
		}
		if err != nil {
			return made, err
		}
		if string(made.AppendBody(nil)) == string(old.Body) {
			return made, nil
		}
		err = SavePlan(u, old, &made.Plan)
		if err == nil && s.PlanEnded != nil && made.Status == giving.Ended && old.Status != giving.Ended {
			err = s.PlanEnded(u, &made.Plan)
		}
		return made, err
	})
}

func readPlan(r db.Row) *StoredPlan {
	_, p := ScanPlan(r)
	return p
}

// plansOf are the plans of rows, and the first damage among them.
func plansOf(rows []*StoredPlan, err error) ([]giving.Plan, error) {
	var plans []giving.Plan
	for _, row := range rows {
		if err == nil {
			err = row.Damage
		}
		plans = append(plans, row.Plan)
	}
	return plans, err
}

// Plan finds a plan by its public id.
func (s *Store) Plan(ctx context.Context, account int64, code string) (giving.Plan, error) {
	plans, err := plansOf(List(ctx, s, readPlan, SQLLoadPlans, account, []int64{CodeID(account, code)}))
	if err == nil && (len(plans) == 0 || plans[0].Code != code) {
		return giving.Plan{}, crm.ErrNotFound
	}
	if err != nil {
		return giving.Plan{}, err
	}
	return plans[0], nil
}

// planPage is one page of plans, oldest first, or newest first for people.
func (s *Store) planPage(ctx context.Context, account int64, page crm.PageRequest,
	newest bool,
) (plans []giving.Plan, result ListResult, err error) {
	order := OldestFirst
	if newest {
		order = NewestFirst
	}
	plans, err = Snapshot(ctx, s, func(c db.Conn) ([]giving.Plan, error) {
		row, err := ReadTally(c, account)
		if err != nil {
			return nil, err
		}
		from, to := order(page)(row.PlanSeq)
		if result = (ListResult{Total: row.PlanSeq}); from >= to || page.Skip() >= row.PlanSeq {
			return nil, nil
		}
		result.Count = to - from
		return plansOf(db.List(c, readPlan, SQLLoadPlans, account, SeqIDs(account, from+1, to)))
	})
	SortRows(plans, func(a, b *giving.Plan) int { return cmp.Compare(a.ID, b.ID) })
	if newest {
		slices.Reverse(plans)
	}
	return plans, result, err
}

// Plans is one page of the plans that a filter finds. Without one they are numbered as they were made; else those that
// an index leads to are looked at, one by one, when it is their turn: a plan is in its document, and there are few.
func (s *Store) Plans(ctx context.Context, account int64, f giving.PlanFilter,
	page crm.PageRequest,
) (plans []giving.Plan, result ListResult, err error) {
	if f.IsEmpty() && f.Sort.InOrder() {
		return s.planPage(ctx, account, page, f.Sort.Descending)
	}
	var ids []int64
	plans, err = Admitted(ctx, s, account, func(c db.Conn, w Admit) ([]giving.Plan, error) {
		keys, err := planKeys(c, w, account, f)
		result = ListResult{Total: int64(len(keys))}
		from, to := OldestFirst(page)(result.Total)
		if err != nil || from >= to {
			return nil, err
		}
		ids, result.Count = sortedIDs(keys, f.Sort.Descending, from, to), to-from
		return plansOf(db.List(c, readPlan, SQLLoadPlans, account, ids))
	})
	SortRows(plans, func(a, b *giving.Plan) int {
		return cmp.Compare(slices.Index(ids, a.ID),
			slices.Index(ids, b.ID))
	})
	return plans, result, err
}

// planKeys are what the plans that a filter finds are sorted by.
func planKeys(c db.Conn, w Admit, account int64, f giving.PlanFilter) (keys []giftSortKey, err error) {
	if f.Campaign, err = Coded(c, f.Campaign, f.CampaignCode); err != nil {
		return nil, err
	}
	condition, args := " WHERE account_id = $1", []any{account}
	switch status := (giving.Plan{Status: f.Status}); {
	case f.Contact != 0:
		condition, args = condition+" AND contact_id = $2", append(args, f.Contact)
	case f.Email != "":
		condition, args = condition+" AND contact_id IN "+fmt.Sprintf(withKey, 2), append(args, f.Email)
	case f.Campaign != 0:
		condition, args = condition+" AND campaign_id <> 0 AND campaign_id = $2", append(args, f.Campaign)
	case f.Status != "":
		condition, args = condition+" AND status = $2", append(args, status.StatusNumber())
	}
	n, err := c.Int(`SELECT COUNT(*) FROM plan`+condition, args...)
	if err == nil {
		err = w(n * bodyRows)
	}
	if err != nil {
		return nil, err
	}
	err = c.Each(func(r db.Row) error {
		p := readPlan(r)
		if p.Damage == nil && f.Matches(&p.Plan) {
			keys = append(keys, giftSortKey{f.Sort.PlanKey(&p.Plan), p.ID})
		}
		return p.Damage
	}, `SELECT `+PlanColumns+` FROM plan`+condition, args...)
	return keys, err
}

// PlanSet are the plans that a filter finds, by their sequence numbers.
func PlanSet(c db.Conn, w Admit, account int64, f giving.PlanFilter) (set db.Set, err error) {
	keys, err := planKeys(c, w, account, f)
	for _, k := range keys {
		set.Add(doc.IDSeq(k.id))
	}
	return set, err
}

// OverduePlans are plans whose gift should have come before today, the longest overdue first, and how many there are.
func (s *Store) OverduePlans(ctx context.Context, account int64,
	limit int64,
) (plans []giving.Plan, total int64, err error) {
	plans, err = Snapshot(ctx, s, func(c db.Conn) (plans []giving.Plan, err error) {
		row, err := ReadTally(c, account)
		if err != nil {
			return nil, err
		}
		today := row.Clock(s.Now()).Truncate(24 * time.Hour).Unix()
		total = 0
		for _, status := range []giving.PlanStatus{giving.ActivePlan, giving.PastDue} {
			p := giving.Plan{Status: status}
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
	SortRows(plans, func(a, b *giving.Plan) int { return a.NextBill.Compare(b.NextBill) })
	return plans[:min(int64(len(plans)), limit)], total, err
}

// ContactPlans are the newest plans of a contact.
func (s *Store) ContactPlans(ctx context.Context, account, contact int64, limit int64) ([]giving.Plan, error) {
	return plansOf(List(ctx, s, readPlan, sqlPlansOf, account, contact, limit))
}

// SeqIDs are the ids of an account from one sequence number to another, which were given out without a gap.
func SeqIDs(account, from, to int64) []int64 {
	ids := make([]int64, 0, to-from+1)
	for seq := from; seq <= to; seq++ {
		ids = append(ids, doc.MakeID(account, seq))
	}
	return ids
}

// What payment providers tell becomes gifts and plans here, in the unit of work of package donations.

// GiftCalled is the gift with an external id, nil where there is none.
func GiftCalled(u Unit, reference string) (*StoredGift, error) {
	return giftReferred(u, reference)
}

// PlanCalled is the plan with an external id, nil where there is none.
func PlanCalled(u Unit, reference string) (*StoredPlan, error) {
	if reference == "" {
		return nil, nil
	}
	id, err := u.References.Get(u.Tx, u.Number, find.PlanReference+reference)
	if err != nil || id == 0 {
		return nil, err
	}
	plan, err := u.Plans.Get(u.Tx, u.Number, id)
	if err != nil || plan == nil {
		return nil, err
	}
	return plan, plan.Damage
}

// ProvidersNeeds are the needs of a gift or a plan that a payment provider tells of.
func ProvidersNeeds(account int64, in *giving.GiftInput, plan string) Needs {
	n := NewGiftNeeds(account, in)
	if plan != "" {
		n.References = append(n.References, find.PlanReference+plan)
	}
	return n
}

// RecordPlan makes a plan. Its giver is found as that of a gift.
func RecordPlan(u Unit, in *giving.PlanInput, now time.Time) (giving.Plan, error) {
	made, err := createPlan(u, in, now)
	return made.Plan, err
}

// ThankAtOnce thanks for a gift that has arrived by mail, with a receipt where there can be one. Where no mail can be,
// the gift waits until someone decides.
func (s *Store) ThankAtOnce(u Unit, g *giving.Gift, now time.Time) error {
	return s.thankAtOnce(u, g, now)
}

// Stored is a gift that the unit of work has loaded or written.
func Stored(a *Account, id int64) *StoredGift { return a.Gifts.Rows[id] }

// HasCampaign tells whether a campaign that the change has named is one of the account's own.
func HasCampaign(u Unit, id int64) bool {
	found, err := campaignOf(u, &giving.GiftInput{Campaign: &id})
	return err == nil && found != nil
}

// PlanIn is a plan by its public id, nil where there is none.
func (s *Store) PlanIn(c db.Conn, account int64, code string) (*giving.Plan, error) {
	found, err := plansOf(db.List(c, readPlan, SQLLoadPlans, account, []int64{CodeID(account, code)}))
	if err != nil || len(found) == 0 || found[0].Code != code {
		return nil, err
	}
	return &found[0], nil
}
