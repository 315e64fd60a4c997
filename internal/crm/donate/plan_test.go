package donate_test

import (
	"testing"

	"donorbook/internal/crm/crmtest"
	. "donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
)

// A provider is asked for what it can do, and never for what it alone decides.
func TestChangesOfAPlanAtItsProvider(t *testing.T) {
	for name, c := range map[string]struct {
		was    giving.PlanStatus
		change func(*giving.Plan)
		want   string // the kinds of changes
		fault  string // the field, "-" for none
	}{
		"nothing":       {giving.ActivePlan, func(p *giving.Plan) { p.Campaign = 7 }, "", "-"},
		"pause":         {giving.PastDue, func(p *giving.Plan) { p.Status = giving.Paused }, "pause", "-"},
		"resume":        {giving.Paused, func(p *giving.Plan) { p.Status, p.NextBill = giving.ActivePlan, day }, "resume", "-"},
		"end":           {giving.ActivePlan, func(p *giving.Plan) { p.Status = giving.Ended }, "cancel", "-"},
		"more":          {giving.Paused, func(p *giving.Plan) { p.Amount, p.Status = 3000, giving.ActivePlan }, "amountresume", "-"},
		"begin again":   {giving.Ended, func(p *giving.Plan) { p.Status = giving.ActivePlan }, "", ""},
		"more of none":  {giving.Ended, func(p *giving.Plan) { p.Amount = 3000 }, "amount", ""},
		"not past due":  {giving.PastDue, func(p *giving.Plan) { p.Status = giving.ActivePlan }, "", "status"},
		"past due":      {giving.ActivePlan, func(p *giving.Plan) { p.Status = giving.PastDue }, "", "status"},
		"another day":   {giving.ActivePlan, func(p *giving.Plan) { p.NextBill = day }, "", "next_bill_date"},
		"less often":    {giving.ActivePlan, func(p *giving.Plan) { p.Frequency = "yearly" }, "", "frequency"},
		"by other ways": {giving.ActivePlan, func(p *giving.Plan) { p.Method = "check" }, "", "method"},
	} {
		was := giving.Plan{Status: c.was, Amount: 2000, Frequency: "monthly", Method: "card"}
		wanted := was
		c.change(&wanted)
		changes, err := PlanChanges(&was, &wanted)
		kinds := ""
		for _, change := range changes {
			if kinds += string(change.Kind); change.Kind == NewAmount && (change.CoveredBy(100) != 100 || change.CoveredBy(3000) != 0) {
				t.Errorf("%s: of a fee of 100 it covers %d, of one that is all of it %d", name, change.CoveredBy(100), change.CoveredBy(3000))
			}
		}
		got := "-"
		for _, fault := range crmtest.FaultsOf(t, err) {
			got = fault[0]
		}
		assert.Equal(t, kinds, c.want, "%s: the changes", name)
		assert.Equal(t, got, c.fault, "%s: the changes", name)
	}
}
