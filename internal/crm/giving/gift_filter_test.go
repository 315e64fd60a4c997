package giving

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestPeopleFilterGiftsByWholeDaysAndAmounts(t *testing.T) {
	for query, want := range map[string]GiftFilter{
		"":                           {},
		"from=2026-01-01":            {From: at(t, "2026-01-01T00:00:00Z"), Days: true},
		"to=2026-01-31":              {To: at(t, "2026-02-01T00:00:00Z"), Days: true}, // the last day is included
		"plan=any":                   {Recurring: true},
		"plan=abcdefghij000001":      {Plan: "abcdefghij000001"},
		"campaign=7 contact=8":       {Campaign: 7, Contact: 8},
		"method=cash status=pending": {Method: "cash", Status: Pending},
		"min=$1,000 max=1500.50":     {Min: 100_000, Max: 150_050, Currency: "USD"},
		"currency=JPY min=1,500":     {Min: 1_500, Currency: "JPY"},
	} {
		get := values(query)
		assert.Equal(t, assert.Must(ParseGiftSearch(get, cmp.Or(get("currency"), "USD")))(t), want, "%s", query)
	}
}

func TestAWrongFilterOfGiftsIsNamed(t *testing.T) {
	for query, field := range rows.Pairs(`
		from=1.2.2026                  from
		from=1899-12-31                from
		to=2026-02-30                  to
		from=2026-02-01 to=2026-01-31  to
		min=-1                         min
		min=0.001                      min
		max=1.000,00                   max
		min=6 max=5                    max
		plan=some                      plan
		campaign=gala                  campaign
		contact=-1                     contact
		method=barter                  method
		status=lost                    status
	`) {
		_, err := ParseGiftSearch(values(query), "USD")
		assert.Equal(t, crmtest.Fields(err), []string{field}, "%s", query)
	}
}

// values are the parameters of an address, separated by spaces.
func values(query string) func(string) string {
	return func(name string) string {
		for pair := range strings.FieldsSeq(query) {
			if value, found := strings.CutPrefix(pair, name+"="); found {
				return value
			}
		}
		return ""
	}
}

func TestMoneyOfTheHistoryIsShownAsEverywhere(t *testing.T) {
	for input, want := range rows.Pairs(`
		1.25  $1.25
		1500  $1,500
		0.5   $0.50
		?     ?
	`) {
		assert.Equal(t, text.MoneyOf(input, "USD"), want, "%s is shown", input)
	}
}

func TestAFormOfAPlanSavesWhatItSaw(t *testing.T) {
	plan := Plan{Status: ActivePlan, Frequency: "monthly", Method: "card", Amount: 500, Currency: "USD",
		StartAt: formToday}
	in := PlanInput{GiftInput: GiftInput{Method: new("cash"), Seen: plan.Version()}}
	changed := assert.Must(plan.Change(&in, formToday))(t)
	assert.Equal(t, changed.Method, "cash")
	_, err := changed.Change(&in, formToday)
	assert.Equal(t, errors.Is(err, crm.ErrChanged), true, "a form that saw another plan: %v", err)
}
