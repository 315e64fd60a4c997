package crm

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// The files of an exported account may have been changed since. So a document that is read from them is checked by the same rules as what a
// client sends, as far as these do not depend on the moment or on the server: a phone number was read for the country that was set then, and a
// document may lack what a new one needs.

// CheckImported refuses a contact that no one could have sent.
func (c *Contact) CheckImported(fields *CustomFields, now time.Time) error {
	var in ContactInput
	for _, f := range ContactTexts {
		if text := f.Text(c); text != "" {
			f.Set(&in, text)
		}
	}
	in.DOB = unlessEmpty(dayText(c.DOB, "1/2/2006"))
	emails, addresses, tags := slices.Clone(c.Emails), slices.Clone(c.Addresses), slices.Clone(c.Tags)
	in.Emails, in.Addresses, in.Tags = &emails, &addresses, &tags
	check := doc.NewChecker(nil, false)
	check.Now = now
	contactTable.Check(check, doc.Place{}, &in)
	for i := range c.Phones {
		typedTable.Check(check, doc.ElementOf("phones", i), &c.Phones[i])
	}
	if c.Stats.TotalContributions < 0 || c.Stats.RecurringContributions < 0 {
		check.Add("stats", doc.MoneyRange)
	}
	fields.checkImported(&check.Invalid, c.Custom)
	c.checkKeys(&check.Invalid)
	return cmp.Or(check.Err(), c.checkRoom(&blank))
}

// checkKeys finds match keys that are not those of an email or a phone.
func (c *Contact) checkKeys(v *doc.Invalid) {
	if len(c.MatchKeys) > len(c.Emails)+len(c.Phones) {
		v.Add("match_keys", doc.TooMany, len(c.Emails)+len(c.Phones))
	}
	for _, key := range c.MatchKeys {
		if doc.IsLonger(key, doc.MaxText) || doc.TextRule(key) != "" || !strings.HasPrefix(key, emailPrefix) && !strings.HasPrefix(key, phonePrefix) {
			v.Add("match_keys", "must be the normal forms of emails and phones")
		}
	}
}

// checkImported finds values of no known field, and those that are not in the form in which a field keeps them. A field may have ended, and an
// option may be gone.
func (fields *CustomFields) checkImported(v *doc.Invalid, values []CustomValue) {
	last := int64(0)
	for _, value := range values {
		at := slices.IndexFunc(fields.All, func(f CustomField) bool { return f.ID == value.Field })
		if at < 0 || value.Field <= last {
			v.Add("custom_fields", doc.UnknownField)
			return
		}
		last = value.Field
		text, _ := value.quoted()
		f, in := &fields.All[at], CustomInput{Field: value.Field, said: jsontext.Value(value.Value).Kind(), text: cmp.Or(text, value.Value)}
		if kept, rule, args := f.value(&in); kept != value.Value {
			v.AddLabeled("custom_fields."+f.Key(), f.Title, cmp.Or(rule, "is not in the form in which it is kept"), args...)
		}
	}
}

// CheckImported refuses a definition that no one could have made beside the others.
func (f *CustomField) CheckImported(others *CustomFields) error {
	active := int64(0)
	for i := range others.All {
		if others.All[i].ID == f.ID {
			return doc.NewInvalid("id", doc.Taken)
		}
		if !others.All[i].Ended() {
			active++
		}
	}
	made, err := f.Revise(CustomFieldInput{Title: f.Title, Description: f.Description, Options: f.Options}, others)
	switch {
	case err != nil:
		return err
	case f.ID <= 0 || f.ID > MaxSeq:
		return doc.NewInvalid("id", doc.IDForm)
	case made.Title != f.Title || made.Description != f.Description || !slices.Equal(made.Options, f.Options):
		return doc.NewInvalid("title", "is not in the form in which it is kept, and neither may be the description and the options")
	case !f.Ended():
		err = FieldLimit.Check(active, 1)
	}
	return cmp.Or(err, AllFieldsLimit.Check(int64(len(others.All)), 1))
}

// CheckImported refuses a gift that no one could have recorded.
func (g *Gift) CheckImported(now time.Time) error {
	status, dedication := string(g.Status), g.Dedication
	if g.Status == Cancelled || g.Status == Failed { // it may have been a promise for a later day
		status = string(Pending)
	}
	in := GiftInput{
		Plan: unlessEmpty(g.PlanCode), Status: &status, Method: &g.Method, Currency: &g.Currency, GivenAt: importedTime(g.At), Dedication: &dedication,
		ExternalID: &g.ExternalID, Check: &g.Check, DepositedAt: importedTime(g.Deposited), Note: &g.Note,
	}
	check := doc.NewChecker(nil, false)
	check.Now = now
	giftTable.Check(check, doc.Place{}, &in)
	checkKept(check, map[string]string{"status": string(g.Status), "method": g.Method, "currency": g.Currency})
	if g.At.IsZero() || g.CreatedAt.IsZero() {
		check.Add("transacted_at", doc.Required)
	}
	if g.PlanCode != "" && g.Plan() == 0 {
		check.Add("plan_id", doc.CodeForm)
	}
	g.Giver.check(check)
	if len(check.Faults) == 0 { // the ledger is in the currency
		g.checkLedger(&check.Invalid)
	}
	return check.Err()
}

// checkLedger finds a ledger that does not begin with a payment, or gives back more than there was.
func (g *Gift) checkLedger(v *doc.Invalid) {
	most, _ := text.MinorUnits(text.MaxSentMoney, g.Currency)
	payment := g.Payment()
	switch {
	case payment.Amount <= 0 || payment.Amount > most:
		v.Add("amount", doc.MoneyRange)
	case payment.Fee < 0 || payment.Fee > payment.Amount:
		v.Add("fee", "must not be more than the amount")
	case payment.FeeCovered < 0 || payment.FeeCovered >= payment.Amount:
		v.Add("fee_covered", "must be less than the amount")
	case len(g.Entries) > maxEntries:
		v.Add("transactions", doc.TooMany, maxEntries)
	}
	left, covered := int64(0), int64(0)
	for i := range g.Entries {
		e := &g.Entries[i]
		if !IsCode(e.ID) {
			v.Add("transactions", doc.CodeForm)
		}
		if max(e.Amount, -e.Amount, e.Fee, -e.Fee, e.FeeCovered, -e.FeeCovered) > most {
			v.Add("transactions", doc.MoneyRange)
			return
		}
		left, covered = left+e.Amount, covered+e.FeeCovered
		if left < 0 || covered < 0 || covered > left || left > most {
			v.Add("transactions", "must not give back more than was given")
		}
	}
}

// CheckImported refuses a plan that no one could have made.
func (p *Plan) CheckImported(now time.Time) error {
	status := string(p.Status)
	in := PlanInput{Frequency: &p.Frequency, StartAt: importedTime(p.StartAt), NextBill: importedTime(p.NextBill)}
	in.Status, in.Method, in.Currency, in.ExternalID = &status, &p.Method, &p.Currency, &p.ExternalID
	check := doc.NewChecker(nil, false)
	check.Now = now
	planTable.Check(check, doc.Place{}, &in)
	checkKept(check, map[string]string{"status": status, "currency": p.Currency})
	p.Giver.check(check)
	if most, _ := text.MinorUnits(text.MaxSentMoney, p.Currency); p.Amount <= 0 || p.Amount > most {
		check.Add("amount", doc.MoneyRange)
	}
	return check.Err()
}

// checkKept finds texts that every stored document has.
func checkKept(c *doc.Checker, texts map[string]string) {
	for name, text := range texts {
		if text == "" {
			c.AddAt(doc.Place{}, name, doc.Required)
		}
	}
}

// check finds what is wrong with what a gift or a plan says about its giver.
func (g *Giver) check(c *doc.Checker) {
	for name, text := range map[string]string{"first_name": g.FirstName, "last_name": g.LastName, "company": g.Company, "email": g.Email, "phone": g.Phone} {
		c.CheckText(doc.Place{}, name, text, doc.MaxText)
	}
	if g.Address != nil {
		addressTable.Check(c, doc.Place{Name: "address"}, g.Address)
	}
}

// CheckImported refuses a campaign that no one could have made, and cleans its HTML as that of any other.
func (c *Campaign) CheckImported() error {
	cover, event := c.Cover, c.Event
	if event != nil {
		own := *event
		event = &own
	}
	in := CampaignInput{
		Type: &c.Type, Title: &c.Title, Subtitle: &c.Subtitle, Description: &c.Description, Slug: &c.Slug, Goal: &c.Goal, Raised: &c.OpeningRaised, Donors: &c.OpeningDonors,
		Currency: &c.Currency, Logo: &c.Logo, Cover: &cover, EndAt: &c.EndAt, CreatedAt: &c.CreatedAt, UpdatedAt: &c.UpdatedAt, Event: &event, Status: &c.Status, PaymentLink: &c.PaymentLink,
	}
	check := doc.NewChecker(nil, true)
	campaignTable.Check(check, doc.Place{}, &in)
	checkKept(check, map[string]string{"type": c.Type, "slug": c.Slug, "currency": c.Currency, "status": c.Status})
	if c.ListedAt < 0 || c.CreatedAt.IsZero() || c.UpdatedAt.IsZero() {
		check.Add("created_at", doc.Required)
	}
	c.Event = event
	doc.SortFaults(&check.Invalid, campaignFields)
	return check.Err()
}

func unlessEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// importedTime is a time as a client sends it.
func importedTime(t time.Time) *string { return unlessEmpty(dayText(t, time.RFC3339)) }
