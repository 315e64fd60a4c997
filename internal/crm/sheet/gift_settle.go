package sheet

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// The rules of what the cells of a row say together.
const (
	notAGift      doc.Rule = "says this row is not a gift"
	ofOthers      doc.Rule = "The row names the rows below it, or adds up those above it."
	moneyOut      doc.Rule = "says that money was paid out, which is not a gift"
	noMoney       doc.Rule = "is empty: no money has come"
	refundFailed  doc.Rule = "says that the refund did not succeed: there is nothing to record"
	refundMissing doc.Rule = "says that part of it was refunded, but no column or other row says how much"
	netOverAmount doc.Rule = "is more than the amount: it must be what is left after fees"
)

// settle makes a gift, or a refund of one, of what the cells of a row say together.
func (g *GiftRow) settle() {
	if g.ExternalID == nil && g.giftID != "" {
		g.ExternalID = &g.giftID
	}
	g.settleAmount()
	if g.Filed.IsRefund = g.kind != noGift && (g.Filed.IsRefund || g.kind == refundKind); g.Filed.IsRefund {
		g.settleRefund()
	} else {
		g.settleStatus()
		g.settleBack()
	}
	g.settleFee()
	g.settlePlan()
	g.settleDedication()
	if len(g.lines) > 0 {
		addNote(&g.Note, strings.Join(g.lines, "\n"))
	}
}

// settleAmount finds the method, and the amount where that of a gift is missing: what was promised, or 0 for a thing whose value no one knows.
func (g *GiftRow) settleAmount() {
	if g.Method == nil || *g.Method == "other" && g.kindMethod != "" {
		g.Method = new(cmp.Or(g.kindMethod, "other")) // the row does not tell it
	}
	if positive(g.Amount) == nil && positive(g.pledged) != nil {
		if g.Amount = g.pledged; g.kind == "" {
			g.kind = pledgeKind
		}
	}
	if g.Amount == nil && *g.Method == giving.InKind {
		g.Amount = new(int64)
	}
}

// settleStatement finds rows of a bank's statement that are no gifts: what was paid out, and what only tells the balance.
func (g *GiftRow) settleStatement(isStatement bool) {
	switch {
	case g.isPaidOut && positive(g.Amount) == nil:
		g.kind, g.noGiftIn, g.noGiftRule = noGift, "paid_out", moneyOut
	case g.Filed.IsRefund && (isStatement || g.isPayment) && !g.saysRefund():
		g.kind, g.noGiftIn, g.noGiftRule = noGift, "amount", moneyOut
	case isStatement && g.Amount == nil:
		g.kind, g.noGiftIn, g.noGiftRule = noGift, "amount", noMoney
	}
	if g.kind == noGift {
		g.Filed.IsRefund = false
	}
}

// settleTransfer tells what a transfer is: in the statement of a bank, money that has come from someone; elsewhere, what was paid out to the organization.
func (g *GiftRow) settleTransfer(isStatement bool) {
	switch {
	case g.kind == transfer && isStatement && !g.Filed.IsRefund:
		g.kind = giftKind
	case g.kind == transfer:
		g.kind = noGift
	}
}

// saysRefund tells whether a payment below 0 gives a gift back: it names the gift, or says what it is.
func (g *GiftRow) saysRefund() bool {
	return g.kind == refundKind || g.state == refunded || g.state == partlyRefunded || g.Filed.RefundOf != "" || g.saysReturned()
}

// saysReturned tells whether the description of a payment says that it came back: Rücklastschrift, Returned item.
func (g *GiftRow) saysReturned() bool {
	return g.Note != nil && slices.ContainsFunc(headingWords(text.Cut(*g.Note, longestHeading)), func(word string) bool {
		state := cmp.Or(statusWords[word], statusWords[umlauts.Replace(word)])
		return state == refunded || state == disputed || state == string(giving.Failed)
	})
}

// settleMatch takes a row without an amount for the gift of the company that adds to someone's. Beside an amount, what the company adds is a gift of its own (Match).
func (g *GiftRow) settleMatch(giver *crm.ContactInput) {
	if g.matchedBy == "" && giver.Company != nil {
		g.matchedBy = *giver.Company
	}
	if positive(g.matched) == nil || positive(g.Amount) != nil || g.Filed.IsRefund || g.GivenAt == nil {
		return
	}
	if g.Amount, g.matched = g.matched, nil; g.matchedBy != "" {
		g.lines = append(g.lines, matchOf(giver)...)
		*giver = companyNamed(g.matchedBy)
	}
}

// Match is the gift of a company that adds to the one of the row, nil where none does. The row is known to be a gift by then. It has the ids of the row with a mark, by which it is known when the file comes again.
func (g *GiftRow) Match() *GiftRow {
	if positive(g.matched) == nil || g.IsRefund() || g.kind == writeOff || g.matchState == giving.Failed || g.matchState == giving.Cancelled {
		return nil
	}
	m := &GiftRow{Line: g.Line, rows: g.rows, cells: g.cells}
	m.SentAs, m.Filed = g.SentAs, new(giving.Filed)
	m.Amount, m.Currency, m.Sign, m.Method, m.Test, m.Campaign, m.CampaignName = new(*g.matched), g.Currency, g.Sign, new("other"), g.Test, g.Campaign, g.CampaignName
	m.GivenAt, m.Status, m.ExternalID, m.FromRow = new(*g.GivenAt), g.Status, new(*g.ExternalID+matchMark), g.FromRow
	if g.matchState == giving.Pending && (m.Status == nil || *m.Status == string(giving.Succeeded)) {
		m.Status = new(string(giving.Pending))
	}
	if back := g.Filed.Back; back != nil && back.Amount == nil && g.matchState == "" { // all of it
		m.Filed.Back = &giving.GivenBack{On: back.On, Disputed: back.Disputed}
	}
	if g.Filed.Earlier != "" {
		m.Filed.Earlier = g.Filed.Earlier + matchMark
	}
	for _, id := range g.Filed.IDs {
		m.Filed.IDs = append(m.Filed.IDs, crm.ExternalID{Source: id.Source, Value: id.Value + matchMark})
	}
	if g.matchedBy != "" {
		m.Giver = companyNamed(g.matchedBy)
	}
	m.Note = new(strings.Join(matchOf(&g.Giver), ""))
	return m
}

// matchMark is what the id of a gift has at its end for what a company adds to it.
const matchMark = ":match"

func companyNamed(name string) crm.ContactInput {
	return crm.ContactInput{Company: &name, IsCompany: new(true)}
}

// matchOf says whose gift a company adds to, if the file says it.
func matchOf(giver *crm.ContactInput) []string {
	name := giver.PersonName()
	if name.Company = ""; name.First+name.Last == "" {
		return nil
	}
	return []string{"Matches a gift of " + name.String()}
}

// settleRefund leaves out a refund that has not happened.
func (g *GiftRow) settleRefund() {
	if g.state == string(giving.Failed) || g.state == string(giving.Cancelled) {
		g.faults.Add("status", refundFailed)
	}
	g.Test = g.Test || g.state == testStatus
	if g.Note == nil || g.Filed.RefundOf != "" {
		return
	}
	for _, word := range strings.FieldsFunc(*g.Note, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) >= 6 && strings.ContainsAny(word, "0123456789") && len(g.Filed.Mentions) < 5 {
			g.Filed.Mentions = append(g.Filed.Mentions, word)
		}
	}
}

// settleStatus tells whether the money has come. A pledge is none, whatever became of it: its payments are rows of their own.
func (g *GiftRow) settleStatus() {
	status := giving.GiftStatus(g.state)
	switch g.state {
	case "", noStatus:
		status = ""
	case refunded, partlyRefunded, disputed, testStatus:
		status = giving.Succeeded
	}
	g.Test = g.Test || g.state == testStatus
	isLost := status == giving.Failed || status == giving.Cancelled
	switch {
	case g.kind == writeOff:
		status, g.Filed.WriteOff = giving.Cancelled, true
	case g.kind == pledgeKind && !isLost, g.kind == schedule && !isLost && status != giving.Succeeded:
		status = giving.Pending
	}
	if status != "" {
		text := string(status)
		g.Status = &text
	}
}

// settleBack tells how much of a gift went back, and when. Disputed money is gone until the dispute is won.
func (g *GiftRow) settleBack() {
	if g.Status != nil && *g.Status != string(giving.Succeeded) || g.Amount == nil {
		return
	}
	back := &giving.GivenBack{Amount: positive(g.refunded), On: g.refundedAt}
	back.Disputed = !g.isWon && (g.isDisputed || g.state == disputed || positive(g.disputed) != nil)
	switch {
	case back.Disputed && back.Amount == nil:
		if back.Amount = positive(g.disputed); g.disputedAt != nil {
			back.On = g.disputedAt
		}
		g.lines = append(g.lines, "Disputed")
	case back.Disputed: // a part was refunded before
		*back.Amount = min(*back.Amount+*g.gone(), *g.Amount)
		g.lines = append(g.lines, "Disputed")
	case back.Amount != nil, g.state == refunded, g.isRefunded, g.refundedAt != nil && g.refunded == nil:
		g.awaitsRefund = g.ExternalID != nil
	case g.state == partlyRefunded:
		if g.awaitsRefund = g.ExternalID != nil; !g.awaitsRefund {
			g.faults.Add("status", refundMissing)
		}
	default:
		return
	}
	g.Filed.Back = back
}

// gone is what is disputed: all of it, unless a column says how much.
func (g *GiftRow) gone() *int64 {
	if part := positive(g.disputed); part != nil {
		return part
	}
	return g.Amount
}

func positive(amount *int64) *int64 {
	if amount == nil || *amount <= 0 {
		return nil
	}
	return amount
}

// GivesBack tells whether the row is a refund that has happened, and the external id of its gift.
func (g *GiftRow) GivesBack() (gift string, ok bool) {
	if !g.IsRefund() || g.ExternalID == nil || len(g.faults.Faults) > 0 {
		return "", false
	}
	gift, _ = g.Filed.Original(*g.ExternalID)
	return gift, true
}

// OfPledge tells whether the row is about a pledge that another row may have: a payment that came or is to come, or a write-off.
func (g *GiftRow) OfPledge() bool {
	return g.Filed != nil && (g.Filed.Pays || g.Filed.Pledge != "") && !g.Filed.IsRefund && (g.ExternalID == nil || g.Filed.Pledge != *g.ExternalID)
}

// AwaitsRefund tells whether another row of the file may say how much of this gift was refunded.
func (g *GiftRow) AwaitsRefund() bool { return g.awaitsRefund && len(g.faults.Faults) == 0 }

// FindRefund settles a gift whose refund another row may have. Where none has, all of it went back, or no one knows how much.
func (g *GiftRow) FindRefund(isThere bool) {
	switch {
	case isThere:
		g.Filed.Back = nil
	case g.state == partlyRefunded && g.Filed.Back.Amount == nil:
		g.faults.Add("status", refundMissing)
	}
	g.awaitsRefund = false
}

// settleFee tells what a processor kept: what is not in the net amount. An offline gift may have none.
func (g *GiftRow) settleFee() {
	if net := positive(g.net); net != nil && g.Amount != nil && !g.Filed.IsRefund {
		if covered, fee := positive(g.FeeCovered), positive(g.Fee); covered != nil && fee != nil && *net == *g.Amount+*covered-*fee && *net != *g.Amount-*fee {
			g.Amount = new(*g.Amount + *covered) // the file tells what was given beside what covers the fee
		}
		if *net > *g.Amount {
			g.faults.Add("net", netOverAmount)
		} else {
			fee := *g.Amount - *net
			g.Fee = &fee
		}
	}
	if g.coversFee && g.FeeCovered == nil {
		g.FeeCovered = g.Fee
	}
}

// settlePlan finds what a payment belongs to. A column with the gift that is refunded has its plan in files of PayPal, and its pledge in others.
func (g *GiftRow) settlePlan() {
	if f := g.Filed; f.RefundOf != "" && !f.IsRefund {
		if isPlan := strings.HasPrefix(f.RefundOf, "I-") || f.Every != ""; isPlan && f.Plan == "" {
			f.Plan = f.RefundOf
		} else if !isPlan && f.Pledge == "" && !g.namesRefund {
			f.Pledge = f.RefundOf
		}
	}
	if g.kind == paymentKind && g.Filed.Pledge != "" {
		g.lines = append(g.lines, "Payment of pledge "+g.Filed.Pledge)
	}
}

// settleDedication keeps a dedication as a note that does not say what kind it is.
func (g *GiftRow) settleDedication() {
	if g.Dedication == nil {
		return
	}
	d := *g.Dedication
	if kind, name := giving.DedicatedTo(d.Name); kind != "" {
		d.Type, d.Name = kind, name
	}
	switch isKind := d.Type == "in_honor_of" || d.Type == "in_memory_of"; {
	case isKind && d.Name != "":
		return
	case d.Name != "":
		g.lines = append(g.lines, "Dedication: "+strings.TrimSpace(d.Type+" "+d.Name))
	}
	g.Dedication = nil
}
