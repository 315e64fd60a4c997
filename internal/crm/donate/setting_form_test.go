package donate_test

import (
	"testing"

	. "donorbook/internal/crm/donate"
	"donorbook/internal/rig/assert"
)

// What a form was filled with is read back as it was, in currencies with and without decimals.
func TestSettingsGoThroughTheirForm(t *testing.T) {
	form := map[string]string{}
	read := func(currency string) Settings {
		return assert.Must(ReadSettings(func(field string) string { return form[field] }, currency))(t)
	}
	for currency, set := range map[string]Settings{
		"USD": {
			Once: []int64{20_00, 45_50, 1000_00}, Monthly: []int64{10_00}, Limits: Limits{Min: 10_00, Max: 5000_00},
			Cover: TickedCover,
			Rate:  Rate{Points: 225, Fixed: 30}, NoDedication: true, Consent: "Send me news",
			Notice: "staff@example.org",
			Bank:   Bank{Name: "Harbor Light", IBAN: "DE89370400440532013000", BIC: "COBADEFFXXX"},
			Check:  "Harbor Light\n48 Wharf Street",
		},
		"JPY": {Once: []int64{1000, 5000}, Monthly: []int64{500}, Limits: Limits{Min: 500, Max: 1_000_000},
			NoMonthly: true, AskAddress: true},
	} {
		clear(form)
		set.FillForm(currency, func(field, value string) { form[field] = value })
		assert.Equal(t, read(currency), set)
	}
	form = map[string]string{"once": "$1,500; 25/50", "rate": "2,9 %"}
	written := read("USD")
	assert.Equal(t, written.Once, []int64{25_00, 50_00, 1500_00})
	assert.Equal(t, written.Rate.Points, 290)
}
