package giving

import (
	"fmt"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Plan is a gift that comes again: what a contact has agreed to give, and how often.
type Plan struct {
	ID         int64
	Code       string // public id
	Contact    int64
	Giver      Giver // as it was when the plan was made
	Campaign   int64 // 0 is none
	Frequency  string
	Status     PlanStatus
	Method     string
	Amount     int64 // in the smallest unit of the currency
	Covered    int64 // the part of it that covers the fee
	Currency   string
	StartAt    time.Time
	NextBill   time.Time // zero once it has ended
	CreatedAt  time.Time
	CanceledAt time.Time
	ExternalID string
}

// PlanStatus is what became of a plan.
type PlanStatus string

const (
	ActivePlan PlanStatus = "active"
	Paused     PlanStatus = "paused"
	PastDue    PlanStatus = "past_due"
	Ended      PlanStatus = "ended"
)

// PlanStatuses are in the order in which the database numbers them.
var PlanStatuses = []PlanStatus{ActivePlan, Paused, PastDue, Ended}

// Frequencies is how often a plan's gifts come.
var Frequencies = []string{"weekly", "monthly", "quarterly", "yearly"}

// PlanInput is what a client or a form says about a plan. A nil field was not sent.
type PlanInput struct {
	GiftInput         // the giver, campaign, method, amount, currency and external id
	Frequency         *string
	StartAt, NextBill *string
	start, next       time.Time
}

// PlanTable is a plan, field by field. Where no fee is covered, the stored document ends before the tail.
var PlanTable = slices.Concat(planHead, planTail)

var planTail = doc.Table[*Plan, *PlanInput]{planCovered()}

var planHead = doc.Table[*Plan, *PlanInput]{
	doc.Sent("contact_id", "Contact", idKind, func(p *Plan) *int64 { return &p.Contact },
		func(in *PlanInput) **int64 { return &in.Contact }),
	planGiver("first_name", "First name", func(p *Plan) *string { return &p.Giver.FirstName },
		func(in *PlanInput) **string { return &in.Giver.FirstName }),
	planGiver("last_name", "Last name", func(p *Plan) *string { return &p.Giver.LastName },
		func(in *PlanInput) **string { return &in.Giver.LastName }),
	planGiver("email", "Email", func(p *Plan) *string { return &p.Giver.Email },
		func(in *PlanInput) **string { return &in.Email }),
	planGiver("phone", "Phone", func(p *Plan) *string { return &p.Giver.Phone },
		func(in *PlanInput) **string { return &in.Phone }),
	doc.Sent("campaign_id", "Campaign", idKind, func(p *Plan) *int64 { return &p.Campaign },
		func(in *PlanInput) **int64 { return &in.Campaign }),
	doc.Sent("frequency", "Frequency", doc.Among(Frequencies...).Needed(),
		func(p *Plan) *string { return &p.Frequency }, func(in *PlanInput) **string { return &in.Frequency }),
	doc.Sent("status", "Status", doc.Among(text.Strings(PlanStatuses)...).Staying(),
		func(p *Plan) *string { return (*string)(&p.Status) }, func(in *PlanInput) **string { return &in.Status }),
	doc.Sent("method", "Method", doc.Among(Methods...).Needed(), func(p *Plan) *string { return &p.Method },
		func(in *PlanInput) **string { return &in.Method }),
	planAmount(),
	doc.Sent("currency", "Currency", doc.Matching(text.IsCurrency, doc.Currency).Staying(),
		func(p *Plan) *string { return &p.Currency }, func(in *PlanInput) **string { return &in.Currency }),
	planTime("start_at", "Start", func(p *Plan) *time.Time { return &p.StartAt },
		func(in *PlanInput) (**string, *time.Time) { return &in.StartAt, &in.start }),
	planTime("next_bill_date", "Next gift", func(p *Plan) *time.Time { return &p.NextBill },
		func(in *PlanInput) (**string, *time.Time) { return &in.NextBill, &in.next }),
	doc.Kept[*Plan, *PlanInput]("created_at", crm.ContactTime, func(p *Plan) *time.Time { return &p.CreatedAt }),
	doc.Kept[*Plan, *PlanInput]("canceled_at", crm.ContactTime, func(p *Plan) *time.Time { return &p.CanceledAt }),
	doc.Sent("external_id", "External ID", referenceKind(), func(p *Plan) *string { return &p.ExternalID },
		func(in *PlanInput) **string { return &in.ExternalID }),
}

var planFields = PlanTable.Paths()

func planGiver(name, label string, in func(*Plan) *string, of func(*PlanInput) **string) doc.Field[*Plan, *PlanInput] {
	f := doc.Sent(name, label, doc.String(doc.MaxText), in, of)
	f.Check, f.Merge, f.Patch = nil, nil, nil
	return f
}

// planAmount is loaded in ten-thousandths, because its currency comes after it.
func planAmount() doc.Field[*Plan, *PlanInput] {
	f := money("amount", "Amount", doc.MoneyRange, func(p *Plan) (int64, string) { return p.Amount, p.Currency },
		func(in *PlanInput) **int64 { return &in.Amount })
	f.Load = func(r *doc.Reader, p *Plan) { p.Amount = value(readMoney(r, doc.MoneyRange)) }
	return f
}

func planCovered() doc.Field[*Plan, *PlanInput] {
	f := money("fee_covered", "Fee covered by the donor", doc.FeeRange,
		func(p *Plan) (int64, string) { return p.Covered, p.Currency },
		func(in *PlanInput) **int64 { return &in.FeeCovered })
	f.Load = func(r *doc.Reader, p *Plan) { p.Covered = value(readMoney(r, doc.FeeRange)) }
	return f
}

// planTime is a day or a time, which may lie in the future.
func planTime(name, label string, in func(*Plan) *time.Time,
	of func(*PlanInput) (**string, *time.Time),
) doc.Field[*Plan, *PlanInput] {
	f := sentTime(name, label, in, func(in *PlanInput) **string { sent, _ := of(in); return sent })
	f.Check = func(c *doc.Checker, at doc.Place, in *PlanInput) {
		sent, to := of(in)
		if *sent == nil || **sent == "" || c.HasAt(at, name) {
			return
		}
		t, _, ok := text.ParseMoment(**sent)
		switch *to = t; {
		case !ok:
			c.AddAt(at, name, doc.GiftTime)
		case t.Year() < 1900:
			c.AddAt(at, name, doc.NotBefore1900)
		case t.Year() > 2199:
			c.AddAt(at, name, "must not be after 2199")
		}
	}
	f.Patch = func(p *Plan, from *PlanInput, _ time.Time) {
		if _, sent := of(from); !sent.IsZero() {
			*in(p) = *sent
		}
	}
	return f
}

// DecodePlan reads the body of a create or a change.
func DecodePlan(r *doc.Reader) (in PlanInput, faults *doc.Invalid, err error) {
	r.Document(func(key string) {
		if key == "campaign_code" {
			in.CampaignCode = r.TextSent()
		} else {
			PlanTable.Read(r, key, &in)
		}
	})
	if err := r.End(); r.Err != nil {
		return PlanInput{}, nil, err
	}
	return in, &r.Fault, nil
}

// Validate checks everything about the input that does not depend on what is stored.
func (in *PlanInput) Validate(faults *doc.Invalid, isNew bool, region string, now time.Time) error {
	c := doc.NewChecker(faults, isNew)
	c.Region, c.Now = region, now
	in.settleCampaign(isNew)
	if isNew && in.Amount == nil {
		c.AddAt(doc.Place{}, "amount", doc.Required)
	}
	if isNew && in.Contact != nil && *in.Contact == 0 {
		in.Contact = nil
	}
	PlanTable.Check(c, doc.Place{}, in)
	in.checkMoney(c)
	if isNew && in.Contact == nil {
		in.checkGiver(c)
	}
	doc.SortFaults(&c.Invalid, planFields)
	return c.Err()
}

// NewPlan is the plan that a valid input describes. The store gives it its id.
func NewPlan(in *PlanInput, contact *crm.Contact, currency string, now time.Time) (Plan, error) {
	now = now.UTC().Truncate(time.Second)
	p := Plan{Code: in.Code, Status: ActivePlan, CreatedAt: now, StartAt: now}
	PlanTable.Patch(&p, in, now)
	p.Contact, p.Giver, p.Currency = contact.ID, in.giver(GiverOf(contact)), currency
	if p.NextBill.IsZero() {
		p.NextBill = p.StartAt
	}
	return p.settle(in, now)
}

// Change is the plan with what was sent. Its contact and its currency stay.
func (p Plan) Change(in *PlanInput, now time.Time) (Plan, error) {
	if in.Seen != "" && in.Seen != p.Version() {
		return p, crm.ErrChanged
	}
	old := p
	PlanTable.Patch(&p, in, now)
	p.Contact = old.Contact
	var v doc.Invalid
	if in.Contact != nil && *in.Contact != old.Contact {
		v.Add("contact_id", "cannot be changed: end the plan and make another one")
	}
	checkReference(&v, &p.ExternalID, old.ExternalID)
	if p.Currency != old.Currency {
		v.Add("currency", "cannot be changed: end the plan and make another one")
	}
	if len(v.Faults) > 0 {
		doc.SortFaults(&v, planFields)
		return old, &v
	}
	return p.settle(in, now)
}

// settle makes the amounts those of the currency and lets the times follow the status.
func (p Plan) settle(in *PlanInput, now time.Time) (Plan, error) {
	if in.Amount != nil {
		units, ok := text.MinorUnits(*in.Amount, p.Currency)
		if !ok {
			return p, doc.NewInvalid("amount", doc.TooFine, text.Decimals(p.Currency), p.Currency)
		}
		p.Amount = units
	}
	if in.FeeCovered != nil {
		units, ok := text.MinorUnits(*in.FeeCovered, p.Currency)
		if !ok {
			return p, doc.NewInvalid("fee_covered", doc.TooFine, text.Decimals(p.Currency), p.Currency)
		}
		p.Covered = units
	}
	if p.Covered >= p.Amount {
		return p, doc.NewInvalid("fee_covered", doc.CoveredOverAmount)
	}
	switch {
	case p.Status != Ended:
		p.CanceledAt = time.Time{}
		if p.NextBill.IsZero() {
			p.NextBill = p.dueAfter(now)
		}
	case p.CanceledAt.IsZero():
		p.CanceledAt, p.NextBill = now.UTC().Truncate(time.Second), time.Time{}
	default:
		p.NextBill = time.Time{}
	}
	return p, nil
}

// due is the day on which the nth gift is due. Months that are too short have it on their last day.
func (p *Plan) due(n int) time.Time {
	if p.Frequency == "weekly" {
		return p.StartAt.AddDate(0, 0, 7*n)
	}
	months := n * map[string]int{"monthly": 1, "quarterly": 3, "yearly": 12}[p.Frequency]
	year, month, day := p.StartAt.Date()
	last := time.Date(year, month+time.Month(months)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	hour, minute, second := p.StartAt.Clock()
	return time.Date(year, month+time.Month(months), min(day, last), hour, minute, second, 0, time.UTC)
}

// periodDays is about how many days lie between two gifts.
var periodDays = map[string]int{"weekly": 7, "monthly": 30, "quarterly": 91, "yearly": 365}

// dueAfter is the first due day after a time.
func (p *Plan) dueAfter(t time.Time) time.Time {
	n := max(0, int(t.Sub(p.StartAt).Hours()/24)/(periodDays[p.Frequency]+2)) // not yet after it
	for !p.due(n).After(t) {
		n++
	}
	return p.due(n)
}

// Paid is the plan after a gift for it: the due day that is open counts as paid, and the one after it is next. A gift
// from more than half a period before that day pays for nothing that is still open, as one that is entered late.
func (p Plan) Paid(at time.Time, now time.Time) Plan {
	if p.Status == Ended {
		return p
	}
	if !at.AddDate(0, 0, (periodDays[p.Frequency]+1)/2).Before(p.NextBill) {
		p.NextBill = p.dueAfter(p.NextBill)
	}
	if p.Status == PastDue && p.NextBill.After(now) {
		p.Status = ActivePlan
	}
	return p
}

// PlanClock is a day of a plan by the clock of the organization. A payment provider tells a time, which may be the day
// before there; a day that people have chosen is in no zone.
func PlanClock(at time.Time, zone *time.Location) time.Time {
	if at.Equal(at.Truncate(24 * time.Hour)) {
		return at.UTC()
	}
	return GiftClock(at, zone)
}

// Overdue tells whether a gift of the plan should have come before today, where now is.
func (p *Plan) Overdue(now time.Time) bool {
	return (p.Status == ActivePlan || p.Status == PastDue) &&
		p.NextBill.Before(text.WallClock(now, now.Location()).Truncate(24*time.Hour))
}

// Append appends the wire form.
func (p *Plan) Append(dst []byte) []byte {
	dst = append(append(append(dst, `{"id":"`...), p.Code...), '"')
	return append(PlanTable.Append(dst, p), '}')
}

// AppendBody appends everything of the wire form that follows the id. This is what the store keeps.
func (p *Plan) AppendBody(dst []byte) []byte {
	if dst = planHead.Append(dst, p); p.Covered != 0 {
		dst = planTail.Append(dst, p)
	}
	return append(dst, '}')
}

// ParsePlan reads a stored body back.
func ParsePlan(id int64, code string, body []byte) (Plan, error) {
	p := Plan{ID: id, Code: code}
	if err := doc.ReadStored(body, func(r *doc.Reader, key string) { PlanTable.Load(r, key, &p) }); err != nil {
		return Plan{}, fmt.Errorf("plan %d: %w", id, err)
	}
	p.Amount, _ = text.MinorUnits(p.Amount, p.Currency)
	p.Covered, _ = text.MinorUnits(p.Covered, p.Currency)
	return p, nil
}

// StatusNumber is how the database keeps the status.
func (p *Plan) StatusNumber() int64 { return int64(slices.Index(PlanStatuses, p.Status)) }

// Version names the state that a plan is in.
func (p *Plan) Version() string { return doc.VersionOf(p.AppendBody(nil)) }

// Differences compares a plan with what it became.
func (p *Plan) Differences(after *Plan) doc.Differences { return doc.Compare(PlanTable, p, after) }

// TakeBack is the plan as it was before a change that a gift made to it. ok is false where it was changed since.
func (p Plan) TakeBack(d doc.Differences) (before Plan, ok bool) {
	ok = true
	for i := range d {
		if f := PlanTable.Find(d[i].Field); f == nil || !f.TakeBack(&p, &d[i], "") {
			ok = false
		}
	}
	return p, ok
}

// PlanOf is the plan that the first gift of it in a file tells of, from the day of that gift on. Where the file does
// not say how often its gifts come, they come monthly.
func PlanOf(g *Gift, filed *Filed, now time.Time) *Plan {
	every := filed.Every
	if every == "" {
		every = "monthly"
	}
	day := g.Local.Truncate(24 * time.Hour)
	return &Plan{Contact: g.Contact, Giver: g.Giver, Campaign: g.Campaign, Frequency: every, Status: ActivePlan,
		Method: g.Method, Amount: g.Payment().Amount,
		Currency: g.Currency, StartAt: day, NextBill: day, CreatedAt: now.UTC().Truncate(time.Second),
		ExternalID: filed.Plan}
}

// End is a plan that no more gifts are expected of, after the import that has made it was undone. Its external id is
// free for the plan that is made instead.
func (p Plan) End(now time.Time) Plan {
	p.Status, p.ExternalID, p.NextBill, p.CanceledAt = Ended, "", time.Time{}, now.UTC().Truncate(time.Second)
	return p
}
