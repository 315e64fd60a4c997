package giving

import (
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// noonAhead is how far the time of a gift that was recorded with a day may be ahead: it is noon, and the day begins 14
// hours sooner in the first time zone.
const noonAhead = 26 * time.Hour

// CheckImported refuses a gift that no one could have recorded.
func (g *Gift) CheckImported(now time.Time) error {
	was, dedication := g.Status, g.Dedication
	if g.Void != nil && was == Voided {
		was = g.Void.Was
	}
	status := string(was)
	if was == Cancelled || was == Failed { // it may have been a promise for a later day
		status = string(Pending)
	}
	in := GiftInput{
		Plan: unlessEmpty(g.PlanCode), Status: &status, Method: &g.Method, Currency: &g.Currency,
		GivenAt: importedTime(g.At), Dedication: &dedication,
		ExternalID: &g.ExternalID, Check: &g.Check, DepositedAt: importedTime(g.Deposited), Note: &g.Note,
		Benefit: &g.Benefit.What, BenefitValue: &g.Benefit.Value,
	}
	check := doc.NewChecker(nil, false)
	check.Now = now.Add(noonAhead)
	GiftTable.Check(check, doc.Place{}, &in)
	doc.CheckKept(check, map[string]string{"status": string(was), "method": g.Method, "currency": g.Currency})
	if g.At.IsZero() || g.CreatedAt.IsZero() {
		check.Add("transacted_at", doc.Required)
	}
	if g.PlanCode != "" && g.Plan() == 0 {
		check.Add("plan_id", doc.CodeForm)
	}
	g.Giver.check(check)
	if check.TooMany("external_ids", len(g.IDs), maxIDs); !slices.Equal(g.IDs, cleanIDs(g.IDs)) {
		check.Add("external_ids", doc.TooLong, maxReference)
	}
	if (g.Void != nil) != (g.Status == Voided) {
		check.Add("voided", "must be there where the status is voided, and nowhere else")
	} else if g.Void != nil {
		check.CheckText(doc.Place{}, "voided", g.Void.Reason, doc.MaxText)
	}
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
	case payment.Amount < 0 || payment.Amount == 0 && g.Method != InKind || payment.Amount > most:
		v.Add("amount", doc.MoneyRange)
	case payment.Fee < 0 || payment.Fee > payment.Amount:
		v.Add("fee", "must not be more than the amount")
	case payment.FeeCovered < 0 || payment.FeeCovered > 0 && payment.FeeCovered >= payment.Amount:
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
	PlanTable.Check(check, doc.Place{}, &in)
	doc.CheckKept(check, map[string]string{"status": status, "currency": p.Currency})
	p.Giver.check(check)
	if most, _ := text.MinorUnits(text.MaxSentMoney, p.Currency); p.Amount <= 0 || p.Amount > most {
		check.Add("amount", doc.MoneyRange)
	}
	return check.Err()
}

// check finds what is wrong with what a gift or a plan says about its giver.
func (g *Giver) check(c *doc.Checker) {
	for name, text := range map[string]string{"first_name": g.FirstName, "last_name": g.LastName, "company": g.Company,
		"email": g.Email, "phone": g.Phone} {
		c.CheckText(doc.Place{}, name, text, doc.MaxText)
	}
	if g.Address != nil {
		crm.AddressTable.Check(c, doc.Place{Name: "address"}, g.Address)
	}
}

func unlessEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// importedTime is a time as a client sends it.
func importedTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return unlessEmpty(t.Format(time.RFC3339))
}
