package giving

import (
	"cmp"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// sentMoney is an amount that was sent, and where a payment has it.
type sentMoney struct {
	name string
	sent *int64 // in ten-thousandths
	to   *int64
}

func moneyOf(in *GiftInput, e *Entry) []sentMoney {
	return []sentMoney{{"amount", in.Amount, &e.Amount}, {"fee", in.Fee, &e.Fee},
		{"fee_covered", in.FeeCovered, &e.FeeCovered}}
}

// minor is what was sent in the smallest unit of a currency.
func (m sentMoney) minor(currency string, v *doc.Invalid) int64 {
	units, ok := text.MinorUnits(*m.sent, currency)
	if !ok {
		v.Add(m.name, doc.TooFine, text.Decimals(currency), currency)
	}
	return units
}

// differs tells whether something else was sent than the payment has.
func (m sentMoney) differs(currency string) bool {
	units, ok := text.MinorUnits(value(m.sent), currency)
	return m.sent != nil && (!ok || units != *m.to)
}

// Change is the gift with what may be changed of it. Money that was sent must be what it is, unless it is corrected; a
// fee of 0 can be told later. contact and plan are those that the input names, nil and "" where it names none.
func (g Gift) Change(in *GiftInput, contact *crm.Contact, now time.Time) (Gift, error) {
	if in.Seen != "" && in.Seen != g.Version() {
		return g, crm.ErrChanged
	}
	if err := g.CheckVoided(); err != nil {
		return g, err
	}
	var v doc.Invalid
	old := g
	g.Entries = slices.Clone(g.Entries)
	g.changeMoney(in, &v, now)
	if status := GiftStatus(value(in.Status)); status != "" && status != g.Status && g.Status != Pending {
		v.Add("status", doc.StatusStays)
	} else if cmp.Or(status, g.Status) != Pending && in.future {
		v.Add("transacted_at", doc.NotInFuture)
	}
	checkReference(&v, in.ExternalID, g.ExternalID)
	if len(v.Faults) > 0 {
		doc.SortFaults(&v, giftFields)
		return old, &v
	}
	method := g.Method // as it is, or corrected
	GiftTable.Patch(&g, in, now)
	g.Currency, g.Method = old.Currency, method
	if g.Status == "" {
		g.Status = old.Status
	}
	if in.Campaign != nil {
		g.Campaign = *in.Campaign
	}
	if contact != nil && contact.ID != old.Contact {
		g.Contact, g.Giver = contact.ID, GiverOf(contact)
	}
	if !in.at.IsZero() {
		if g.At = in.at; g.Payment().CapturedAt.Equal(old.At) { // it was paid when it was made
			g.Payment().CapturedAt = g.At
		}
	}
	if in.DepositedAt != nil {
		g.Deposited = in.deposited
	}
	if g.Status != old.Status {
		g.settle(in, now)
		g.ask(in, now)
	}
	if in.Thanks != nil && *in.Thanks != g.Thanks.How {
		g = g.Thanked(*in.Thanks, "", now)
	}
	return g, nil
}

// settle notes when a promise was kept, on the day that was sent, else now, or given up. Only a promise lies in the
// future.
func (g *Gift) settle(in *GiftInput, now time.Time) {
	now = now.UTC().Truncate(time.Second)
	if g.At.After(now) { // it was due later
		g.At = now
	}
	if g.Status != Succeeded {
		return
	}
	g.Payment().CapturedAt = now
	if !in.at.IsZero() {
		g.Payment().CapturedAt = g.At
	}
}

// changeMoney corrects what differs where that is asked for. Else nothing may differ but a fee of 0, which is told
// later.
func (g *Gift) changeMoney(in *GiftInput, v *doc.Invalid, now time.Time) {
	payment := g.Payment()
	var wrong []string
	for _, m := range moneyOf(in, payment) {
		if m.differs(g.Currency) && (m.name != "fee" || payment.Fee != 0) {
			wrong = append(wrong, m.name)
		}
	}
	if method := value(in.Method); method != "" && method != g.Method {
		wrong = append(wrong, "method")
	}
	if currency := value(in.Currency); currency != "" && currency != g.Currency {
		v.Add("currency", doc.MoneyStays)
	}
	switch {
	case len(wrong) > 0 && in.Correction:
		g.correct(in, wrong, v, now)
		g.Method = cmp.Or(value(in.Method), g.Method)
	case len(wrong) > 0:
		for _, name := range wrong {
			v.Add(name, doc.CorrectMoney)
		}
	case in.Fee != nil:
		fee := sentMoney{"fee", in.Fee, &payment.Fee}
		if payment.Fee = fee.minor(g.Currency, v); payment.Fee > payment.Amount {
			v.Add("fee", doc.FeeOverAmount)
		}
	}
}

// correct takes the payment back, and enters it as it should have been: with what was sent, and the rest as it is.
func (g *Gift) correct(in *GiftInput, wrong []string, v *doc.Invalid, now time.Time) {
	provider, isProviders := providerOf(g.ExternalID)
	old, is := *g.Payment(), *g.Payment()
	is.ID = text.Random62(codeLength)
	for _, m := range moneyOf(in, &is) {
		if m.sent != nil {
			*m.to = m.minor(g.Currency, v)
		}
	}
	for _, name := range wrong {
		switch {
		case isProviders:
			v.Add(name, doc.ProvidersMoney, provider)
		case g.Refunded() != 0:
			v.Add(name, doc.RefundedMoney)
		case len(g.Entries)+2 > maxEntries:
			v.Add(name, doc.EntriesFull, maxEntries)
		}
	}
	switch {
	case len(v.Faults) > 0:
	case is.Amount == 0 && cmp.Or(value(in.Method), g.Method) != InKind:
		v.Add("amount", doc.MoneyRange)
	case is.Fee > is.Amount:
		v.Add("fee", doc.FeeOverAmount)
	case is.FeeCovered > 0 && is.FeeCovered >= is.Amount:
		v.Add("fee_covered", doc.CoveredOverAmount)
	}
	if old.Amount == 0 { // a thing got a value: there is no money to take back
		*g.Payment() = is
		return
	}
	reversal := Entry{ID: text.Random62(codeLength), Amount: -old.Amount, Fee: -old.Fee, FeeCovered: -old.FeeCovered}
	if !old.CapturedAt.IsZero() {
		reversal.CapturedAt = now.UTC().Truncate(time.Second)
	}
	*g = g.with(reversal, is)
}

// agrees tells whether everything that an input says is so. A fee may have become known since.
func (in *GiftInput) agrees(g *Gift) bool {
	amount := func(sent *int64, is int64) bool {
		units, ok := text.MinorUnits(value(sent), g.Currency)
		return sent == nil || ok && units == is
	}
	same := *g
	GiftTable.Merge(&same, in, g.CreatedAt)
	same.Giver = in.giver(g.Giver)
	if !in.deposited.IsZero() {
		same.Deposited = in.deposited
	}
	if g.Void != nil { // it says what it was before
		was, _ := g.Unvoided()
		was.Receipt = g.Receipt
		g, same.Void = &was, nil
		if value(in.Status) == "" {
			same.Status = was.Status
		}
	}
	_, isDay, _ := text.ParseMoment(*in.GivenAt)
	return (in.at.Equal(g.At) || isDay && Day(in.at) == Day(g.Local)) &&
		(in.Campaign == nil || *in.Campaign == g.Campaign) &&
		amount(in.Amount, g.amount()) && amount(in.FeeCovered, g.feeCovered()) &&
		(value(in.Fee) == 0 || amount(in.Fee, g.fee())) &&
		string(same.AppendBody(nil)) == string(g.AppendBody(nil))
}
