package giving

import (
	"maps"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/rig/assert"
)

// typedForm is a form that has all fields that were filled in, and those that a test has typed.
type typedForm map[string]string

func (v typedForm) Value(name string) string { return v[name] }

func (v typedForm) Rows(string, []string) int { return 0 }

func (v typedForm) Sends(field string) bool {
	for name := range v {
		if name == field || strings.HasPrefix(name, field+".") {
			return true
		}
	}
	return false
}

var formToday = time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)

func TestTheFormOfAPlanChangesOnlyWhatWasTyped(t *testing.T) {
	due := time.Date(2026, 6, 9, 16, 5, 7, 0, time.UTC)
	p := Plan{
		ID: 1, Contact: 7, Frequency: "monthly", Status: ActivePlan, Method: "card", Amount: 20_00, Currency: "USD",
		StartAt: due.AddDate(-1, 0, 0), NextBill: due,
	}
	form := typedForm{}
	p.FillForm(func(name, value string) { form[name] = value })
	form["amount"] = "25"
	in := assert.Must(ReadPlanForm(form, p.Currency, &p, "US", formToday))(t)
	saved := assert.Must(p.Change(&in, formToday))(t)
	p.Amount = 25_00
	assert.Equal(t, saved, p)
}

func TestAFormChangesTheGiftThatItWasFilledFrom(t *testing.T) {
	at := time.Date(2026, 3, 9, 16, 5, 7, 0, time.UTC)
	g := Gift{
		ID: 1, Code: "gift", Contact: 7, Campaign: 3, Status: Succeeded, Method: "check", Currency: "USD", At: at,
		Local:     at,
		Deposited: at.Add(time.Hour), Note: "Thanks", Dedication: &Dedication{Type: "in_memory_of", Name: "Zoë"},
		Entries: []Entry{{Amount: 105_00, Fee: 3_00, FeeCovered: 5_00, CapturedAt: at}},
	}
	saved := func(typed typedForm) Gift {
		form := typedForm{}
		g.FillForm(func(name, value string) { form[name] = value })
		maps.Copy(form, typed)
		in := assert.Must(ReadGiftForm(form, g.Currency, &g, "US", formToday))(t)
		return assert.Must(g.Change(&in, &crm.Contact{ID: 7}, formToday))(t)
	}
	same := saved(nil)
	assert.Equal(t, same.Version(), g.Version(), "an untouched form: %v", GiftChanges(&g, &same))
	is := saved(typedForm{
		"amount": "1,200", "fee": "", "transacted_at": "2026-03-10", "campaign_id": "", "dedication.type": "",
		"dedication.name": "",
	})
	paid := is.Payment()
	assert.Equal(t, []int64{paid.Amount, paid.Fee, paid.FeeCovered}, []int64{1200_00, 0, 5_00})
	assert.Equal(t, IsDay(is.At), true)
	assert.Equal(t, is.At.Day(), 10)
	assert.Equal(t, is.Deposited, g.Deposited)
	assert.Equal(t, is.Campaign == 0 && is.Dedication == nil, true, "the gift is %+v", is)
}
