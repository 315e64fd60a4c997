package crm

import "time"

// Decimal is a cell with a number that has decimals, such as 12.50.
type Decimal string

// Date is a cell with a day.
type Date time.Time

// giftTimeCell is when a gift was made, as far as it is known.
func giftTimeCell(at time.Time) any {
	if !at.IsZero() && IsDay(at) {
		return Date(at.UTC())
	}
	return momentCell(at)
}

// GiftHeader is the columns of a file of gifts. Those that an import of gifts reads have the names that it knows.
func GiftHeader() []string {
	return []string{"id", "number", "transacted_at", "amount", "currency", "method", "status", "contact_id", "first_name", "last_name", "company", "email", "phone",
		"address_1", "address_2", "city", "state", "zipcode", "country", "campaign_id", "campaign_code", "plan_id", "fee", "fee_covered", "donated", "payout", "refunded",
		"external_id", "check_number", "check_deposited_at", "note", "dedication_type", "dedication_name", "dedication_recipient_name", "dedication_recipient_email",
		"communication_opt_in", "livemode", "created_at"}
}

// GiftCells is the row of a gift; slug is that of its campaign.
func GiftCells(g *Gift, slug string) []any {
	money := func(amount int64) Decimal { return Decimal(MoneyInput(amount, g.Currency)) }
	a, d := g.Giver.Address, g.Dedication
	if a == nil {
		a = new(Address)
	}
	if d == nil {
		d = new(Dedication)
	}
	return []any{g.Code, GiftNumber(g.ID), giftTimeCell(g.At), money(g.amount()), g.Currency, g.Method, string(g.Status), g.Contact, g.Giver.FirstName, g.Giver.LastName, g.Giver.Company, g.Giver.Email, g.Giver.Phone,
		a.Line1, a.Line2, a.City, a.State, a.Zipcode, a.Country, idCell(g.Campaign), slug, g.PlanCode, money(g.fee()), money(g.feeCovered()), money(g.Donated()), money(g.payout()), money(g.Refunded()),
		g.ExternalID, g.Check, giftTimeCell(g.Deposited), g.Note, d.Type, d.Name, d.RecipientName, d.RecipientEmail,
		g.OptIn, !g.Test, momentCell(g.CreatedAt)}
}

// idCell is an id, or an empty cell.
func idCell(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}
