package donate_test

import (
	"reflect"
	"testing"

	. "donorbook/internal/crm/donate"
	"donorbook/internal/rig/assert"
)

// What a form was filled with is read back as it was, in currencies with and without decimals.
func TestSettingsGoThroughTheirForm(t *testing.T) {
	for currency, set := range map[string]Settings{
		"USD": {Once: []int64{20_00, 45_50, 1000_00}, Monthly: []int64{10_00}, Limits: Limits{Min: 10_00, Max: 5000_00}, Cover: TickedCover, Rate: Rate{Points: 225, Fixed: 30}, NoDedication: true, Consent: "Send me news",
			Notice: "staff@example.org", Bank: Bank{Name: "Harbor Light", IBAN: "DE89370400440532013000", BIC: "COBADEFFXXX"}, Check: "Harbor Light\n48 Wharf Street"},
		"JPY": {Once: []int64{1000, 5000}, Monthly: []int64{500}, Limits: Limits{Min: 500, Max: 1_000_000}, NoMonthly: true, AskAddress: true},
	} {
		form := map[string]string{}
		set.FillForm(currency, func(field, value string) { form[field] = value })
		read, err := ReadSettings(func(field string) string { return form[field] }, currency)
		assert.Succeed(t, err)
		assert.Equal(t, reflect.DeepEqual(read, set), true)
	}
	form := map[string]string{"once": "$1,500; 25/50", "rate": "2,9 %"}
	read, err := ReadSettings(func(field string) string { return form[field] }, "USD")
	if err != nil || !reflect.DeepEqual(read.Once, []int64{25_00, 50_00, 1500_00}) || read.Rate.Points != 290 {
		t.Errorf("%v: what people write became %+v", err, read)
	}
}
