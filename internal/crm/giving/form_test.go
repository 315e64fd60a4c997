package giving

import (
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

func formGift() Gift {
	at := time.Date(2026, 3, 9, 16, 5, 7, 0, time.UTC)
	return Gift{
		ID: 1, Code: "gift", Contact: 7, Campaign: 3, Status: Succeeded, Method: "check", Currency: "USD", At: at, Local: at, Deposited: at.Add(time.Hour), Note: "Thanks",
		Dedication: &Dedication{Type: "in_memory_of", Name: "Zoë"}, Entries: []Entry{{Amount: 105_00, Fee: 3_00, FeeCovered: 5_00, CapturedAt: at}},
	}
}

func savedForm(t *testing.T, g Gift, typed typedForm) Gift {
	t.Helper()
	form := typedForm{}
	g.FillForm(func(name, value string) { form[name] = value })
	for name, value := range typed {
		form[name] = value
	}
	in := assert.Must(ReadGiftForm(form, g.Currency, &g, "US", formToday))(t)
	saved := assert.Must(g.Change(&in, &crm.Contact{ID: 7}, formToday))(t)
	return saved
}

func TestAGiftStaysAsItIsWhereItsFormIsSavedUntouched(t *testing.T) {
	g := formGift()
	if saved := savedForm(t, g, nil); saved.Version() != g.Version() {
		t.Errorf("%v", GiftChanges(&g, &saved))
	}
}

func TestAFormChangesTheGiftThatItWasFilledFrom(t *testing.T) {
	g := formGift()
	saved := savedForm(t, g, typedForm{"amount": "1,200", "fee": "", "transacted_at": "2026-03-10", "campaign_id": "", "dedication.type": "", "dedication.name": ""})
	if paid := saved.Payment(); paid.Amount != 1200_00 || paid.Fee != 0 || paid.FeeCovered != 5_00 {
		t.Errorf("the payment is %+v", paid)
	}
	if !IsDay(saved.At) || saved.At.Day() != 10 || !saved.Deposited.Equal(g.Deposited) || saved.Campaign != 0 || saved.Dedication != nil {
		t.Errorf("the gift is %+v", saved)
	}
}

func TestTheFormOfAPlanChangesOnlyWhatWasTyped(t *testing.T) {
	due := time.Date(2026, 6, 9, 16, 5, 7, 0, time.UTC)
	p := Plan{ID: 1, Contact: 7, Frequency: "monthly", Status: ActivePlan, Method: "card", Amount: 20_00, Currency: "USD", StartAt: due.AddDate(-1, 0, 0), NextBill: due}
	form := typedForm{}
	p.FillForm(func(name, value string) { form[name] = value })
	form["amount"] = "25"
	in := assert.Must(ReadPlanForm(form, p.Currency, &p, "US", formToday))(t)
	saved, err := p.Change(&in, formToday)
	if p.Amount = 25_00; err != nil || saved != p {
		t.Errorf("%+v, %v", saved, err)
	}
}
