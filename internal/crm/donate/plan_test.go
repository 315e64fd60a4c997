package donate_test

import (
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
	. "donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// A provider is asked for what it can do, and never for what it alone decides.
func TestChangesOfAPlanAtItsProvider(t *testing.T) {
	for _, c := range rows.Of[struct {
		What             string
		Was, Is          giving.PlanStatus
		Amount           int64
		Billed           bool // on another day
		Frequency        string
		Changes, Faulted string // the field that is at fault, "-" for none, "" for no field
	}](`
		nothing        active    active    2000  false  monthly  ""            -
		pause          past_due  paused    2000  false  monthly  pause         -
		resume         paused    active    2000  true   monthly  resume        -
		end            active    ended     2000  false  monthly  cancel        -
		more           paused    active    3000  false  monthly  amountresume  -
		begin again    ended     active    2000  false  monthly  ""            ""
		more of none   ended     ended     3000  false  monthly  amount        ""
		not past due   past_due  active    2000  false  monthly  ""            status
		past due       active    past_due  2000  false  monthly  ""            status
		another day    active    active    2000  true   monthly  ""            next_bill_date
		less often     active    active    2000  false  yearly   ""            frequency
		by other ways  active    active    2000  false  monthly  ""            method
	`) {
		was := giving.Plan{Status: c.Was, Amount: 2000, Frequency: "monthly", Method: "card"}
		wanted := was
		wanted.Status, wanted.Amount, wanted.Frequency = c.Is, c.Amount, c.Frequency
		switch {
		case c.Billed:
			wanted.NextBill = day
		case c.What == "nothing":
			wanted.Campaign = 7
		case c.What == "by other ways":
			wanted.Method = "check"
		}
		changes, err := PlanChanges(&was, &wanted)
		kinds := ""
		for _, change := range changes {
			if kinds += string(change.Kind); change.Kind == NewAmount {
				assert.Equal(t, []int64{change.CoveredBy(100), change.CoveredBy(3000)}, []int64{100, 0},
					"a fee that is all of it")
			}
		}
		assert.Equal(t, kinds, c.Changes, "%s: the changes", c.What)
		assert.Equal(t, strings.Join(append(crmtest.Fields(err), "-")[:1], ""), c.Faulted, "%s: the fault", c.What)
	}
}
