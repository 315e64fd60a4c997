package donate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// Fields of the form. The amounts of each frequency have a field of their own, because others are offered.
const (
	FrequencyField = "frequency"
	OtherField     = "other_amount"
	OtherAmount    = "other" // the value of a frequency's field that refers to OtherField
)

// Monthly is the one frequency beside Once that the form offers.
const Monthly = "monthly"

// Lengths of what a stranger may write.
const (
	maxName   = 100
	maxAmount = 40
)

// Frequencies are those that are offered. Only a payment provider can take a gift again and again.
func (o *Offer) Frequencies() []string {
	if o.NoMonthly || !o.Has(Online) {
		return []string{Once}
	}
	return []string{Once, Monthly}
}

// Amounts are those that are offered of a frequency.
func (o *Offer) Amounts(frequency string) []int64 {
	if frequency == Once {
		return o.Once
	}
	return o.Monthly
}

// OffersCover tells whether givers are asked to cover the fee.
func (o *Offer) OffersCover() bool { return o.Cover != NoCover && o.Rate != (Rate{}) && o.Has(Online) }

// Fill has the values of a form that is opened, as a link asks for them: ?amount=50&frequency=monthly. A link that
// makes no sense opens the form as it is.
func (o *Offer) Fill(amount, frequency string) map[string]string {
	fields := map[string]string{FrequencyField: Once}
	if slices.Contains(o.Frequencies(), frequency) {
		fields[FrequencyField] = frequency
	}
	for _, each := range o.Frequencies() {
		if offered := o.Amounts(each); len(offered) > 0 {
			fields[each] = o.input(offered[min(1, len(offered)-1)])
		} else {
			fields[each] = OtherAmount
		}
	}
	if wanted, fault := o.readAmount(amount); fault == "" && o.Limits.Has(wanted) {
		into := fields[FrequencyField]
		fields[into] = o.input(wanted)
		if !slices.Contains(o.Amounts(into), wanted) {
			fields[into], fields[OtherField] = OtherAmount, o.input(wanted)
		}
	}
	if len(o.Ways) > 0 {
		fields["way"] = string(o.Ways[0])
	}
	if o.Cover == TickedCover {
		fields["cover"] = "yes"
	}
	return fields
}

// Again has the values of a form that was sent as a wish.
func (o *Offer) Again(w *Wish) map[string]string {
	fields := o.Fill(o.input(w.Amount), w.Frequency)
	for field, chosen := range map[string]bool{"cover": w.Cover, "anonymous": w.Anonymous, "consent": w.Consent} {
		if delete(fields, field); chosen {
			fields[field] = "yes"
		}
	}
	fields["way"], fields["first_name"], fields["last_name"], fields["company"], fields["email"] = string(w.Way),
		w.FirstName, w.LastName, w.Company, w.Email
	if w.Dedication != nil {
		fields["dedication"], fields["dedicated_to"] = w.Dedication.Type, w.Dedication.Name
	}
	if a := w.Address; a != nil {
		fields["address_1"], fields["address_2"], fields["zipcode"], fields["city"], fields["state"], fields["country"] = a.Line1, a.Line2, a.Zipcode, a.City, a.State, a.Country
	}
	return fields
}

func (o *Offer) input(amount int64) string { return text.MoneyInput(amount, o.Currency) }

// Sentences about what is wrong. They name their field.
const (
	noAmount    doc.Rule = "Enter an amount, such as %v."
	tooLittle   doc.Rule = "The smallest gift here is %v."
	tooMuch     doc.Rule = "The largest gift here is %v. To give more, please contact the organization."
	notOffered  doc.Rule = "Choose one of the options."
	noName      doc.Rule = "Enter your %v."
	noEmail     doc.Rule = "Enter your email address."
	badEmail    doc.Rule = "Enter an email address such as ana@example.org."
	tooLong     doc.Rule = "Use at most %v characters."
	plainText   doc.Rule = "Use plain text without links."
	noDedicated doc.Rule = "Enter the name of the person you want to honor."
	noAddress   doc.Rule = "Enter your %v. It goes on your receipt."
	badState    doc.Rule = "Enter the two-letter code of your state or province, or leave this blank."
	badCountry  doc.Rule = "Enter the name of a country, such as United States."
)

// Read reads a form that was sent. The error is a *doc.Invalid with everything that is wrong.
func (o *Offer) Read(sent map[string][]string) (Wish, error) {
	f := formReader{o: o, sent: sent}
	w := Wish{Way: Way(f.value("way")), Frequency: f.value(FrequencyField), Anonymous: f.ticked("anonymous")}
	if w.Way == "" && len(o.Ways) == 1 {
		w.Way = o.Ways[0]
	}
	if !o.Has(w.Way) {
		f.fail("way", notOffered)
	}
	if len(o.Frequencies()) == 1 && w.Frequency == "" {
		w.Frequency = Once
	}
	switch {
	case !slices.Contains(o.Frequencies(), w.Frequency):
		f.fail(FrequencyField, notOffered)
	case w.Frequency != Once && w.Way != Online:
		f.fail(FrequencyField,
			"Only gifts that you pay online can repeat by themselves. Choose one gift, or another way to pay.")
	default:
		w.Amount = f.amount(&w)
	}
	w.Cover = o.OffersCover() && w.Way == Online && f.ticked("cover")
	if charged, _ := o.Price(&w); charged > MaxPayment && w.Amount <= o.Limits.Max {
		f.fail(f.amountField, tooMuch, text.Money(o.Limits.Max, o.Currency))
	}
	w.FirstName, w.LastName = f.needed("first_name", noName, "first name"), f.needed("last_name", noName, "last name")
	w.Company, w.Email = f.line("company"), f.email()
	w.Dedication, w.Address = f.dedication(), f.address()
	w.Consent = o.Consent != "" && f.ticked("consent")
	return w, f.wrong.Err()
}

// formReader reads the fields of one form.
type formReader struct {
	o           *Offer
	sent        map[string][]string
	wrong       doc.Invalid
	amountField string // where the amount was chosen or typed
}

func (f *formReader) fail(field string, rule doc.Rule, args ...any) {
	if !f.wrong.HasFault(field) {
		f.wrong.Add(field, rule, args...)
	}
}

func (f *formReader) value(field string) string {
	if values := f.sent[field]; len(values) > 0 {
		return strings.TrimSpace(values[0])
	}
	return ""
}

func (f *formReader) ticked(field string) bool { return f.value(field) == "yes" }

// amount is the one that was chosen of the frequency's, or typed.
func (f *formReader) amount(w *Wish) int64 {
	f.amountField = w.Frequency
	written, currency := f.value(f.amountField), f.o.Currency
	if written == OtherAmount || written == "" && f.value(OtherField) != "" {
		f.amountField = OtherField
		written = f.value(OtherField)
	}
	amount, fault := f.o.readAmount(written)
	if fault == "" && w.Way == Online {
		amount = Chargeable(amount, currency)
	}
	switch {
	case fault != "" && f.amountField == OtherField:
		f.fail(OtherField, fault, text.MoneyExact(f.o.Limits.Min*5, currency))
	case fault != "":
		f.fail(f.amountField, notOffered)
	case amount < f.o.Limits.Min:
		f.fail(f.amountField, tooLittle, text.Money(f.o.Limits.Min, currency))
	case amount > f.o.Limits.Max:
		f.fail(f.amountField, tooMuch, text.Money(f.o.Limits.Max, currency))
	}
	return amount
}

// readAmount reads an amount as the people write it who have the currency: with a comma before the cents of euros, and
// a dot before those of dollars.
func (o *Offer) readAmount(written string) (amount int64, fault doc.Rule) {
	read, unreadable := text.ReadAmount(written, o.Currency, text.RegionOf(o.Currency))
	if unreadable != "" || len(written) > maxAmount || read.IsNegative || !text.SignFits(read.Sign, o.Currency) {
		return 0, noAmount
	}
	sent, ok := text.ParseDecimal(read.Digits, text.SentDecimals, text.SentDigits+text.SentDecimals)
	if !ok {
		return 0, noAmount
	}
	if amount, ok = text.MinorUnits(sent, o.Currency); !ok || amount == 0 {
		return 0, noAmount
	}
	return amount, ""
}

// ReadNewAmount reads another amount of a gift that comes again.
func (o *Offer) ReadNewAmount(written string) (int64, error) {
	f := formReader{o: o, sent: map[string][]string{OtherField: {written}}}
	if strings.TrimSpace(written) == "" {
		f.fail("amount", noAmount, text.MoneyExact(o.Limits.Min*5, o.Currency))
		return 0, f.wrong.Err()
	}
	amount := f.amount(&Wish{Way: Online})
	for i := range f.wrong.Faults {
		f.wrong.Faults[i].Field = "amount"
	}
	return amount, f.wrong.Err()
}

// line is one short line of plain text. It may stand in a mail and on a page, so it is no place for a link.
func (f *formReader) line(field string) string {
	value := f.value(field)
	switch {
	case value == "":
	case doc.IsLonger(value, maxName):
		f.fail(field, tooLong, maxName)
	case strings.ContainsFunc(value, isHidden) || linkForm.MatchString(joiners.Replace(value)):
		f.fail(field, plainText)
	}
	return strings.Join(strings.Fields(value), " ")
}

// linkForm is what mail programs make a link of, or what was meant to be one.
var linkForm = regexp.MustCompile(`(?i:://|www\.|<|>|\bhref\b)|[\pL\pN]\.(?:[a-z]{2,}|[A-Z]{2,})(?:\b|$)|\S@\S`)

// joiners say how letters are joined, as in Persian names: they are not seen, and hide no link.
var joiners = strings.NewReplacer("\u200c", "", "\u200d", "")

// isHidden tells whether a sign is not to be seen: a control character, or one that turns or parts the text around it.
func isHidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && joiners.Replace(string(r)) != ""
}

func (f *formReader) needed(field string, rule doc.Rule, args ...any) string {
	value := f.line(field)
	if value == "" {
		f.fail(field, rule, args...)
	}
	return value
}

func (f *formReader) email() string {
	value := f.value("email")
	_, ok := text.NormalEmail(value)
	switch {
	case value == "":
		f.fail("email", noEmail)
	case !ok || doc.IsLonger(value, doc.MaxText) || strings.ContainsFunc(value, isHidden):
		f.fail("email", badEmail)
	}
	return value
}

// dedication is whom the gift honors. A name alone is honored.
func (f *formReader) dedication() *giving.Dedication {
	if f.o.NoDedication {
		return nil
	}
	kind, name := f.value("dedication"), f.line("dedicated_to")
	switch {
	case kind == "" && name == "":
		return nil
	case kind != "" && !slices.Contains(giving.DedicationTypes, kind):
		f.fail("dedication", notOffered)
	case name == "":
		f.fail("dedicated_to", noDedicated)
	case kind == "":
		kind = giving.DedicationTypes[0]
	}
	return &giving.Dedication{Type: kind, Name: name}
}

func (f *formReader) address() *crm.Address {
	if !f.o.AskAddress {
		return nil
	}
	a := crm.Address{
		Line1: f.needed("address_1", noAddress, "street address"), Line2: f.line("address_2"),
		City: f.needed("city", noAddress, "city"), Zipcode: f.needed("zipcode", noAddress, "postal code"),
	}
	var known bool
	if a.State, known = text.FindState(f.line("state")); !known {
		f.fail("state", badState)
	}
	if a.Country, known = text.FindCountry(f.needed("country", noAddress, "country")); !known {
		f.fail("country", badCountry)
	}
	return &a
}

// Choice is an amount that is offered: how it is sent, and how it is shown.
type Choice struct {
	Value, Label string
	Units        string // in the smallest unit of the currency, for the script
}

// Choices are the amounts of a frequency as a form offers them.
func (o *Offer) Choices(frequency string) (all []Choice) {
	for _, amount := range o.Amounts(frequency) {
		all = append(all, Choice{o.input(amount), text.Money(amount, o.Currency), strconv.FormatInt(amount, 10)})
	}
	return all
}
