package giving

import (
	"errors"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestPeopleFilterGiftsByWholeDaysAndAmounts(t *testing.T) {
	day := func(text string) time.Time {
		at, _ := time.Parse(time.DateOnly, text)
		return at
	}
	for query, want := range map[string]GiftFilter{
		"":                           {},
		"from=2026-01-01":            {From: day("2026-01-01"), Days: true},
		"to=2026-01-31":              {To: day("2026-02-01"), Days: true}, // the last day is included
		"plan=any":                   {Recurring: true},
		"plan=abcdefghij000001":      {Plan: "abcdefghij000001"},
		"campaign=7 contact=8":       {Campaign: 7, Contact: 8},
		"method=cash status=pending": {Method: "cash", Status: Pending},
		"min=$1,000 max=1500.50":     {Min: 100_000, Max: 150_050, Currency: "USD"},
	} {
		got, err := ParseGiftSearch(values(query), "USD")
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", query, got, err, want)
		}
	}
	if got, err := ParseGiftSearch(values("min=1,500"), "JPY"); err != nil || got.Min != 1_500 || got.Currency != "JPY" {
		t.Errorf("%+v, %v", got, err)
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
		var v *doc.Invalid
		if !errors.As(err, &v) || len(v.Faults) != 1 || v.Faults[0].Field != field {
			t.Errorf("%s: %v", query, err)
		}
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
	plan := Plan{Status: ActivePlan, Frequency: "monthly", Method: "card", Amount: 500, Currency: "USD", StartAt: time.Now().UTC()}
	cash := "cash"
	in := PlanInput{GiftInput: GiftInput{Method: &cash, Seen: plan.Version()}}
	changed, err := plan.Change(&in, time.Now())
	if err != nil || changed.Method != "cash" {
		t.Fatalf("%+v, %v", changed, err)
	}
	if _, err := changed.Change(&in, time.Now()); !errors.Is(err, crm.ErrChanged) {
		t.Errorf("a form that saw another plan is taken: %v", err)
	}
}
