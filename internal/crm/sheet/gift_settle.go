package sheet

import (
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
)

// The rules of what the cells of a row say together.
const (
	notAGift      doc.Rule = "says this row is not a gift"
	refundFailed  doc.Rule = "says that the refund did not succeed: there is nothing to record"
	refundMissing doc.Rule = "says that part of it was refunded, but no column or other row says how much"
	refundUnsaid  doc.Rule = "says when money was refunded, but no column says how much"
	netOverAmount doc.Rule = "is more than the amount: it must be what is left after fees"
)

// settle makes a gift, or a refund of one, of what the cells of a row say together.
func (g *GiftRow) settle() {
	if g.ExternalID == nil && g.giftID != "" {
		g.ExternalID = &g.giftID
	}
	if g.Filed.IsRefund = g.kind != noGift && (g.Filed.IsRefund || g.kind == refundKind); g.Filed.IsRefund {
		g.settleRefund()
	} else {
		g.settleStatus()
		g.settleBack()
	}
	g.settleFee()
	g.settlePlan()
	g.settleDedication()
	if g.Method == nil {
		method := "other" // the row does not tell it
		if g.kindMethod != "" {
			method = g.kindMethod
		}
		g.Method = &method
	}
	if len(g.lines) > 0 {
		addNote(&g.Note, strings.Join(g.lines, "\n"))
	}
}

// settleRefund leaves out a refund that has not happened.
func (g *GiftRow) settleRefund() {
	if g.state == string(giving.Failed) || g.state == string(giving.Cancelled) {
		g.faults.Add("status", refundFailed)
	}
	g.Test = g.Test || g.state == testStatus
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
		status = giving.Cancelled
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
	case back.Amount != nil, g.state == refunded, g.isRefunded:
		g.awaitsRefund = g.ExternalID != nil
	case g.state == partlyRefunded:
		if g.awaitsRefund = g.ExternalID != nil; !g.awaitsRefund {
			g.faults.Add("status", refundMissing)
		}
	case g.refundedAt != nil:
		g.faults.Add("refunded_at", refundUnsaid)
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

// PaysPledge tells whether the row is money that came for a pledge.
func (g *GiftRow) PaysPledge() bool {
	return g.Filed != nil && g.Filed.Pledge != "" && !g.Filed.IsRefund && (g.Status == nil || *g.Status == string(giving.Succeeded))
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
		if isPlan := strings.HasPrefix(f.RefundOf, "I-"); isPlan && f.Plan == "" {
			f.Plan = f.RefundOf
		} else if !isPlan && f.Pledge == "" {
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
