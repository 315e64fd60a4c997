package donate

import (
	"slices"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// A form of settings has a text for each field; amounts stand in one line with spaces between them, the rate is in
// percent, and a box that is ticked holds "yes".

const (
	amountsLine doc.Rule = "must be amounts with spaces between them, such as 25 50 100"
	percentForm doc.Rule = "must be a percentage, such as 2.9"
)

// ReadSettings makes settings of a whole form, and validates them: whatever the form does not hold is cleared. Amounts
// are of a currency.
func ReadSettings(value func(field string) string, currency string) (Settings, error) {
	f := settingsForm{value: value, currency: currency}
	points, known := f.points(value("rate"))
	if !known {
		f.faults.Add("rate", percentForm)
	}
	s := Settings{
		Once: f.amounts("once"), Monthly: f.amounts("monthly"), Limits: Limits{f.amount("min"), f.amount("max")},
		NoMonthly: !f.ticked("offers_monthly"),
		Cover:     Cover(value("cover")), Rate: Rate{points, f.amount("fixed")},
		NoDedication: !f.ticked("asks_dedication"),
		AskAddress:   f.ticked("asks_address"),
		Consent:      value("consent"), Notice: value("notice"),
		Bank: Bank{value("bank_name"), bare(value("iban")), bare(value("bic"))}, Check: value("check"),
	}
	if err := f.faults.Err(); err != nil {
		return s, err
	}
	return s, s.Validate(currency)
}

// FillForm writes settings into a form, so that ReadSettings reads the same back. Amounts that were not chosen are
// those that are offered.
func (s Settings) FillForm(currency string, set func(field, value string)) {
	o := s.Offer(currency, currency, &Connection{})
	input := func(amount int64) string { return text.MoneyInput(amount, currency) }
	line := func(amounts []int64) string {
		var all []string
		for _, amount := range amounts {
			all = append(all, input(amount))
		}
		return strings.Join(all, " ")
	}
	tick := func(field string, ticked bool) {
		if ticked {
			set(field, "yes")
		}
	}
	set("once", line(o.Once))
	set("monthly", line(o.Monthly))
	set("min", input(o.Limits.Min))
	set("max", input(o.Limits.Max))
	set("cover", string(s.Cover))
	if s.Rate != (Rate{}) {
		set("rate", string(text.AppendCents(nil, s.Rate.Points)))
		set("fixed", input(s.Rate.Fixed))
	}
	tick("offers_monthly", !s.NoMonthly)
	tick("asks_dedication", !s.NoDedication)
	tick("asks_address", s.AskAddress)
	set("consent", s.Consent)
	set("notice", s.Notice)
	set("bank_name", s.Bank.Name)
	set("iban", Groups(s.Bank.IBAN))
	set("bic", s.Bank.BIC)
	set("check", s.Check)
}

// settingsForm is a form that is being read.
type settingsForm struct {
	value    func(field string) string
	currency string
	faults   doc.Invalid
}

func (f *settingsForm) ticked(field string) bool { return f.value(field) == "yes" }

func (f *settingsForm) amount(field string) int64 {
	return f.minor(giving.ParseMoney(&f.faults, field, f.value(field), f.currency, true))
}

// amounts reads several amounts, the least first.
func (f *settingsForm) amounts(field string) (amounts []int64) {
	for _, part := range strings.FieldsFunc(f.value(field),
		func(r rune) bool { return strings.ContainsRune(" \n\t;/", r) }) {
		var wrong doc.Invalid
		if amount := giving.ParseMoney(&wrong, field, strings.Trim(part, ","), f.currency,
			true); len(wrong.Faults) > 0 || amount == nil {
			f.faults.Add(field, amountsLine)
			return nil
		} else {
			amounts = append(amounts, f.minor(amount))
		}
	}
	slices.Sort(amounts)
	return amounts
}

// minor is an amount that was read, in the smallest unit of the currency.
func (f *settingsForm) minor(read *int64) (units int64) {
	if read != nil {
		units, _ = text.MinorUnits(*read, f.currency) // finer amounts were refused
	}
	return units
}

func (f *settingsForm) points(value string) (points int64, ok bool) {
	value = strings.TrimSpace(strings.ReplaceAll(strings.TrimSuffix(value, "%"), ",", "."))
	if value == "" {
		return 0, true
	}
	return text.ParseDecimal(value, 2, 5)
}
