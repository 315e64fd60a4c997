package donate

import (
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
)

// Rules of changes of a plan whose gifts a payment provider takes.
const (
	TakenThere   doc.Rule = "is set at the payment provider, which takes these gifts"
	EndedThere   doc.Rule = "This recurring gift has ended at the payment provider, so it cannot go on. Ask the donor to set up a new one."
	OverdueThere doc.Rule = "cannot be chosen: the payment provider tells whether a gift is past due"
)

// PlanChanges are what a payment provider is asked for, so that a plan becomes as it is wanted. What the provider alone
// decides is a fault.
func PlanChanges(was, wanted *giving.Plan) (changes []Change, err error) {
	v := new(doc.Invalid)
	for _, set := range []struct {
		field   string
		differs bool
	}{
		{"frequency", was.Frequency != wanted.Frequency}, {"method", was.Method != wanted.Method},
		{"start_at", !was.StartAt.Equal(wanted.StartAt)},
		{"next_bill_date", was.Status == wanted.Status && !was.NextBill.Equal(wanted.NextBill)},
	} {
		if set.differs {
			v.Add(set.field, TakenThere)
		}
	}
	if wanted.Amount != was.Amount {
		changes = append(changes, Change{Kind: NewAmount, Amount: wanted.Amount, Covered: KeepCovered})
	}
	switch isNew := wanted.Status != was.Status; {
	case was.Status == giving.Ended && (isNew || len(changes) > 0):
		v.Add("", EndedThere)
	case !isNew:
	case wanted.Status == giving.PastDue, wanted.Status == giving.ActivePlan && was.Status == giving.PastDue:
		v.Add("status", OverdueThere)
	default:
		changes = append(changes, Change{Kind: map[giving.PlanStatus]ChangeKind{giving.ActivePlan: ResumePlan,
			giving.Paused: PausePlan, giving.Ended: CancelPlan}[wanted.Status]})
	}
	return changes, v.Err()
}
