package donate

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// The rules of settings and of forms.
const (
	amountsMost             = 8
	AmountOutside  doc.Rule = "must be from %v to %v"
	ClosedWay      doc.Rule = "is not a way to give here"
	NotAgain       doc.Rule = "cannot be given again and again here"
	ConsentMissing doc.Rule = "cannot be given: the form does not ask for it"
	ratePoints     doc.Rule = "must be from 0 to 25 percent"
	wrongIBAN      doc.Rule = "must be an IBAN, such as DE89 3704 0044 0532 0130 00"
	wrongBIC       doc.Rule = "must be a BIC, such as COBADEFFXXX"
	bankName       doc.Rule = "is required with an IBAN: the name that the bank knows"
	maxConsent              = 500
	maxCheck                = 500
)

// Document is how settings are kept. The zero value is "".
func (s *Settings) Document() string {
	text, _ := json.Marshal(s) // texts, numbers and lists of them
	if string(text) == string(noSettings) {
		return ""
	}
	return string(text)
}

var noSettings, _ = json.Marshal(Settings{})

// ParseSettings reads settings as they are kept.
func ParseSettings(document string) (s Settings, err error) {
	if document != "" {
		err = json.Unmarshal([]byte(document), &s)
	}
	return s, err
}

// Validate finds every fault of settings, by the names of their fields. Amounts are those of a currency.
func (s *Settings) Validate(currency string) error {
	c := doc.NewChecker(nil, true)
	limits := s.Limits.Fits(currency)
	for _, l := range []struct {
		field string
		value int64
	}{{"min", s.Limits.Min}, {"max", s.Limits.Max}} {
		if l.value != 0 && !(Limits{Unit(currency), MaxPayment}).Has(l.value) {
			c.AddAt(doc.Place{}, l.field, AmountOutside, text.MoneyInput(Unit(currency), currency),
				text.MoneyInput(MaxPayment, currency))
		}
	}
	if s.Limits.Min != 0 && s.Limits.Max != 0 && s.Limits.Min > s.Limits.Max {
		c.AddAt(doc.Place{}, "max", "must not be less than the least amount")
	}
	for field, amounts := range map[string][]int64{"once": s.Once, "monthly": s.Monthly} {
		if len(amounts) > amountsMost {
			c.AddAt(doc.Place{}, field, doc.TooMany, amountsMost)
		}
		for i, amount := range amounts {
			if !limits.Has(amount) || amount != Chargeable(amount, currency) || slices.Index(amounts, amount) < i {
				c.AddAt(doc.Place{}, field, "must be different amounts from %v to %v",
					text.MoneyInput(limits.Min, currency), text.MoneyInput(limits.Max, currency))
			}
		}
	}
	if !slices.Contains([]Cover{NoCover, OfferCover, TickedCover}, s.Cover) {
		c.AddAt(doc.Place{}, "cover", doc.OneOf, "offered, ticked, or empty")
	}
	if s.Rate.Points < 0 || s.Rate.Points > MaxPoints {
		c.AddAt(doc.Place{}, "rate", ratePoints)
	}
	if s.Rate.Fixed < 0 || s.Rate.Fixed > 10*Unit(currency) {
		c.AddAt(doc.Place{}, "fixed", AmountOutside, 0, text.MoneyInput(10*Unit(currency), currency))
	}
	if _, isEmail := text.NormalEmail(s.Notice); s.Notice != "" && !isEmail {
		c.AddAt(doc.Place{}, "notice", doc.EmailForm)
	}
	c.CheckText(doc.Place{}, "consent", s.Consent, maxConsent)
	c.CheckText(doc.Place{}, "check", s.Check, maxCheck)
	s.Bank.check(c)
	doc.SortFaults(&c.Invalid, []string{"once", "monthly", "min", "max", "cover", "rate", "fixed", "consent", "notice",
		"bank_name", "iban", "bic", "check"})
	return c.Err()
}

func (b *Bank) check(c *doc.Checker) {
	if *b == (Bank{}) {
		return
	}
	if !IsIBAN(b.IBAN) {
		c.AddAt(doc.Place{}, "iban", wrongIBAN)
	}
	if b.BIC != "" && !IsBIC(b.BIC) {
		c.AddAt(doc.Place{}, "bic", wrongBIC)
	}
	if strings.TrimSpace(b.Name) == "" {
		c.AddAt(doc.Place{}, "bank_name", bankName)
	}
	c.CheckText(doc.Place{}, "bank_name", b.Name, 140)
}

// Offer is what a form offers in a currency. A connection that works takes payments online; nil is none. Amounts of the
// settings are in the currency of the organization, which is home.
func (s Settings) Offer(home, currency string, online *Connection) Offer {
	o := Offer{Settings: s, Currency: currency}
	if currency != home { // what was chosen for one currency is nothing in another
		o.Once, o.Monthly, o.Limits, o.Rate.Fixed = nil, nil, Limits{}, 0
	}
	if o.Limits = o.Limits.Fits(currency); len(o.Once) == 0 {
		o.Once = DefaultAmounts(currency, Once)
	}
	if len(o.Monthly) == 0 {
		o.Monthly = DefaultAmounts(currency, "monthly")
	}
	within := func(amount int64) bool { return !o.Limits.Has(amount) }
	o.Once, o.Monthly = slices.DeleteFunc(slices.Clone(o.Once), within),
		slices.DeleteFunc(slices.Clone(o.Monthly), within)
	if online != nil {
		o.Ways, o.Provider, o.Live = append(o.Ways, Online), online.Provider, online.Live
	} else {
		o.NoMonthly = true
	}
	if o.Bank.IBAN != "" {
		o.Ways = append(o.Ways, ByTransfer)
	}
	if o.Check != "" {
		o.Ways = append(o.Ways, ByCheck)
	}
	return o
}

// Price is what a wish costs: what is charged, and the part of it that covers the fee. Only a payment online has a fee.
func (o *Offer) Price(w *Wish) (charged, covered int64) {
	charged = Chargeable(w.Amount, o.Currency)
	if w.Cover && w.Way == Online && o.Cover != NoCover {
		charged = Chargeable(o.Rate.Cover(w.Amount), o.Currency)
	}
	return charged, charged - w.Amount
}

// CheckWish finds every fault of a wish, by the names of its fields, and brings what was typed into the form in which
// it is kept. A form that is closed takes none.
func (o *Offer) CheckWish(w *Wish, region string, now time.Time) error {
	c := doc.NewChecker(nil, true)
	if !o.Has(w.Way) {
		c.AddAt(doc.Place{}, "way", ClosedWay)
	}
	switch {
	case w.Frequency == Once:
	case !slices.Contains(giving.Frequencies, w.Frequency):
		c.AddAt(doc.Place{}, "frequency", doc.OneOf, "once, "+strings.Join(giving.Frequencies, ", "))
	case o.NoMonthly || w.Way != Online || w.Frequency != "monthly":
		c.AddAt(doc.Place{}, "frequency", NotAgain)
	}
	if charged, _ := o.Price(w); !o.Limits.Has(w.Amount) || Chargeable(w.Amount, o.Currency) != w.Amount ||
		charged > MaxPayment {
		c.Faults = append(c.Faults, o.OutOfLimits().Faults...)
	}
	w.tidy()
	for _, required := range []struct{ field, value string }{{"first_name", w.FirstName + w.Company},
		{"last_name", w.LastName + w.Company}, {"email", w.Email}} {
		if required.value == "" {
			c.AddAt(doc.Place{}, required.field, doc.Required)
		}
	}
	if o.AskAddress && (w.Address == nil || w.Address.Line1 == "" || w.Address.City == "") {
		c.AddAt(doc.Place{}, "address", doc.Required)
	}
	if w.Consent && o.Consent == "" {
		c.AddAt(doc.Place{}, "consent", ConsentMissing)
	}
	if len(c.Faults) > 0 {
		return c.Err()
	}
	in := w.Gift(o.Currency, now)
	return in.Validate(&c.Invalid, true, region, now)
}

// OutOfLimits is the fault of an amount that cannot be given.
func (o *Offer) OutOfLimits() *doc.Invalid {
	v := new(doc.Invalid)
	v.Add("amount", AmountOutside, text.MoneyInput(o.Limits.Min, o.Currency), text.MoneyInput(o.Limits.Max, o.Currency))
	return v
}

// tidy takes away the spaces around what was typed, and what was left empty.
func (w *Wish) tidy() {
	for _, typed := range []*string{&w.FirstName, &w.LastName, &w.Email, &w.Phone, &w.Company} {
		*typed = strings.TrimSpace(*typed)
	}
	if w.Address != nil && *w.Address == (crm.Address{}) {
		w.Address = nil
	}
	if w.Dedication != nil && *w.Dedication == (giving.Dedication{}) {
		w.Dedication = nil
	}
}

// Gift is the input of the gift that a wish becomes when it was paid now. What was really paid, and how, is for the
// caller to say.
func (w *Wish) Gift(currency string, at time.Time) giving.GiftInput {
	sent := func(value string) *string {
		if value == "" {
			return nil
		}
		return &value
	}
	method := map[Way]string{Online: "card", ByTransfer: "bank_transfer", ByCheck: "check"}[w.Way]
	in := giving.GiftInput{
		Amount: new(Sent(w.Amount, currency)), Currency: &currency, Method: &method,
		GivenAt: new(at.UTC().Format(time.RFC3339)), OptIn: &w.Consent,
		Email: sent(w.Email), Phone: sent(w.Phone),
		Giver: crm.ContactInput{FirstName: sent(w.FirstName), LastName: sent(w.LastName), Company: sent(w.Company)},
	}
	if w.Company != "" && w.FirstName+w.LastName == "" {
		in.Giver.IsCompany = new(true)
	}
	if w.Address != nil {
		in.Address = new(new(*w.Address))
	}
	if w.Dedication != nil {
		in.Dedication = new(new(*w.Dedication))
	}
	return in
}

// Sent is an amount as inputs have it: in ten-thousandths.
func Sent(amount int64, currency string) int64 {
	return amount * text.ScaleOf(text.SentDecimals) / text.ScaleOf(text.Decimals(currency))
}
