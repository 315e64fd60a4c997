package giving

import (
	"strconv"
	"time"

	"donorbook/internal/crm/text"
)

// Words are what people call the values of gifts and plans.
var Words = map[string]string{
	"succeeded": "Received", "pending": "Pledged", "failed": "Failed", "cancelled": "Canceled", "voided": "Voided",
	Refunded: "Refunded", PartlyRefunded: "Partly refunded",
	"card": "Card", "ach": "ACH transfer", "direct_debit": "Direct debit", "bank_transfer": "Bank transfer",
	"check": "Check", "cash": "Cash",
	"paypal": "PayPal", "venmo": "Venmo", "donor_advised_fund": "Donor-advised fund", "stock": "Stock",
	"in_kind": "In kind", "other": "Other",
	"weekly": "Weekly", "monthly": "Monthly", "quarterly": "Quarterly", "yearly": "Yearly",
	"active": "Active", "paused": "Paused", "past_due": "Past due", "ended": "Ended",
	"in_honor_of": "In honor of", "in_memory_of": "In memory of",
}

// Statement is what one contact gave in a year: for a page, a sheet of paper and a mail.
type Statement struct {
	Year     int64
	Currency string // of the organization, whose total comes first
	Gifts    []StatementGift
	totals   map[string]int64
	NotMoney bool             // some gifts were no money
	refunds  bool             // something was given back
	covered  map[string]int64 // what of the totals covered fees
	event    bool             // a gift was for an event, where givers may get something
}

// StatementGift is one line of a statement.
type StatementGift struct {
	At       time.Time
	Campaign string // title; "" is none
	Method   string
	Amount   string // what is left; "" where it was no money
	Paid     string // and Refunded: where a part was given back
	Refunded string
}

// Add adds the line of a gift. A statement is about what was paid, with the part of a fee that the giver added: that is
// what left the giver's account.
func (s *Statement) Add(g *Gift, campaign string, event bool) {
	line := StatementGift{At: g.Local, Method: Words[g.Method], Campaign: campaign}
	s.event = s.event || event
	if g.IsMoney() {
		if s.totals == nil {
			s.totals, s.covered = map[string]int64{}, map[string]int64{}
		}
		s.totals[g.Currency] += g.Left()
		if covered := g.LeftCovered(); covered != 0 {
			s.covered[g.Currency] += covered
		}
		line.Amount = text.MoneyExact(g.Left(), g.Currency)
		if g.Refunded() != 0 {
			s.refunds = true
			line.Paid, line.Refunded = text.MoneyExact(g.Payment().Amount, g.Currency),
				text.MoneyExact(g.Refunded(), g.Currency)
		}
	} else {
		s.NotMoney = true
	}
	s.Gifts = append(s.Gifts, line)
}

// Total is the sum of what was listed, in each currency; "" where nothing was money.
func (s *Statement) Total() string { return SumTexts(s.totals, s.Currency, text.MoneyExact) }

// Says are the sentences below the list. noReturn tells that the organization gives nothing in return.
func (s *Statement) Says(organization string, noReturn bool) (lines []string) {
	if len(s.Gifts) == 0 {
		return nil
	}
	if total := s.Total(); total != "" {
		lines = append(lines, "In "+strconv.FormatInt(s.Year, 10)+" you gave "+total+" to "+organization+". Thank you.")
	}
	if noReturn && !s.event {
		lines = append(lines, "No goods or services were provided in exchange for these gifts.")
	}
	if s.NotMoney {
		lines = append(lines,
			"Gifts of stock and in-kind gifts are listed without an amount and aren’t part of the total: determining their value is up to the donor.")
	}
	return append(lines, s.explained())
}

// explained says in one line what the amounts are, and what is not among them.
func (s *Statement) explained() string {
	says := "Only gifts we received are listed; pledges are not."
	if s.refunds {
		says += " Refunds are subtracted."
	}
	if covered := SumTexts(s.covered, s.Currency, text.MoneyExact); covered != "" {
		says += " " + covered + " of the total covered processing fees."
	}
	if len(s.totals) > 1 {
		says += " Each currency has its own total."
	}
	return says
}
