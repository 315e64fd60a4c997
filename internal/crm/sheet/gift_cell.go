package sheet

import (
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
)

// readMoment takes a day or a time as people write it. What is none stays as it is, and is refused by Validate.
func readMoment(of func(*crm.GiftInput) **string) func(*row, *cell, string) {
	return func(r *row, c *cell, text string) {
		if m, ok := crm.ReadMoment(text, c.dayFirst); ok && !m.HasZone {
			isMidnight := m.At.Equal(m.At.Truncate(24 * time.Hour)) // which programs write for a day alone
			if isMidnight && !r.isOwn {                             // a workbook has midnight as a day, and ours has no days alone
				text = m.At.Format(time.DateOnly)
			} else {
				text = m.At.Format(time.DateTime)
			}
		}
		*of(&r.gift.GiftInput) = &text
	}
}

func readID(of func(*crm.GiftInput) **int64) func(*row, *cell, string) {
	return func(r *row, c *cell, text string) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 0 {
			r.gift.faults.Add(c.target, crm.IDForm)
		}
		*of(&r.gift.GiftInput) = &id
	}
}

const notNegative crm.Rule = "is negative: leave the row out, or record the refund of a gift on the page of that gift"

// readMoney takes an amount as people write it.
func readMoney(of func(*crm.GiftInput) **int64) func(*row, *cell, string) {
	return func(r *row, c *cell, text string) {
		currency := ""
		if r.gift.Currency != nil {
			currency = *r.gift.Currency
		}
		amount, fault := crm.ReadAmount(text, currency, r.region)
		if fault == "" && amount.IsNegative && c.target != "fee" { // PayPal writes fees so
			fault = notNegative
		}
		if amount.Sign != "" && r.gift.Sign == "" {
			r.gift.Sign = amount.Sign
			if codes := crm.CurrenciesOf(amount.Sign); len(codes) == 1 && currency == "" {
				r.gift.Currency = &codes[0]
			}
		}
		if *of(&r.gift.GiftInput) = new(int64); fault != "" {
			r.gift.faults.Add(c.target, fault, text)
			return
		}
		*of(&r.gift.GiftInput) = crm.ParseMoney(&r.gift.faults, c.target, amount.Digits, currency, false)
	}
}

// readYes takes yes or no.
func (r *row) readYes(c *cell, text string) bool {
	yes, ok := crm.ReadYesNo(text)
	if !ok {
		r.gift.faults.Add(c.target, crm.Boolean)
	}
	return yes
}

// readRefunded refuses a gift that was refunded, since its refund would be lost.
func readRefunded(r *row, c *cell, text string) {
	if yes, ok := crm.ReadYesNo(text); strings.Trim(text, "0.,-") != "" && (yes || !ok) {
		r.gift.faults.Add(c.target, crm.RefundLost)
	}
}

// dedication is a column of a part of a dedication.
func dedication(c column, part func(*crm.Dedication) *string) column {
	c.read = func(r *row, _ *cell, text string) {
		if r.gift.Dedication == nil {
			d := new(crm.Dedication)
			r.gift.Dedication = &d
		}
		*part(*r.gift.Dedication) = text
	}
	c.write = func(of *record, _ int) any {
		if of.gift.Dedication == nil {
			return ""
		}
		return *part(of.gift.Dedication)
	}
	return c
}

// giverAddress writes a part of the address of a giver.
func giverAddress(part func(*crm.Address) string) func(*record, int) any {
	return func(of *record, _ int) any {
		if of.gift.Giver.Address == nil {
			return ""
		}
		return part(of.gift.Giver.Address)
	}
}

// money writes an amount of a gift.
func money(of func(*crm.Gift) int64) func(*record, int) any {
	return func(r *record, _ int) any { return Decimal(crm.MoneyInput(of(r.gift), r.gift.Currency)) }
}

// giftTime is when a gift was made, as far as it is known.
func giftTime(at time.Time) any {
	if !at.IsZero() && crm.IsDay(at) {
		return Date(at.UTC())
	}
	return moment(at)
}

// id is an id, or an empty cell.
func id(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}
