package sheet

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// readMoment takes a day or a time as people write it. What is none stays as it is, and is refused by Validate.
func readMoment(of func(*giving.GiftInput) **string) func(*row, *cell, string) {
	return func(r *row, c *cell, value string) { readDay(r, c, value, of(&r.gift.GiftInput)) }
}

func readDay(r *row, c *cell, value string, to **string) {
	if m, ok := text.ReadMoment(value, c.dayFirst); ok {
		isMidnight := m.At.Equal(m.At.Truncate(24 * time.Hour)) // which programs write for a day alone
		switch {
		case m.Zone != "":
			value = m.At.Format("2006-01-02T15:04:05") + m.Zone
		case c.zone != nil && !isMidnight:
			value = time.Date(m.At.Year(), m.At.Month(), m.At.Day(), m.At.Hour(), m.At.Minute(), m.At.Second(), 0, c.zone).Format(time.RFC3339)
		case isMidnight && !r.isOwn: // a workbook has midnight as a day, and ours has no days alone
			value = m.At.Format(time.DateOnly)
		default:
			value = m.At.Format(time.DateTime)
		}
	}
	*to = &value
}

func readID(of func(*giving.GiftInput) **int64) func(*row, *cell, string) {
	return func(r *row, c *cell, text string) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 0 {
			r.gift.faults.Add(c.target, doc.IDForm)
		}
		*of(&r.gift.GiftInput) = &id
	}
}

// readGiftID takes one of the ids that other systems have for the gift. The external id is the one of its column, or else the first one.
func readGiftID(r *row, c *cell, text string) {
	if c.target == "external_id" {
		r.gift.ExternalID = &text
	} else if r.gift.giftID == "" {
		r.gift.giftID = text
	}
	r.gift.Filed.IDs = append(r.gift.Filed.IDs, crm.ExternalID{Source: c.kind, Value: text})
}

// readGiverID takes the id that another system gives to the contact, with the source that a file of contacts has for it.
func readGiverID(r *row, c *cell, text string) {
	r.contact.AddedIDs = []crm.ExternalID{{Source: c.source, Value: text}}
}

// salesforceID is the id of a contact in Salesforce, which a Primary Contact may be instead of a name.
var salesforceID = regexp.MustCompile(`^003[0-9A-Za-z]{12}([0-9A-Za-z]{3})?$`)

// readPrimaryContact takes the id of a contact that stands where its name was expected.
func (r *row) readPrimaryContact() {
	if r.gift == nil || !salesforceID.MatchString(r.fullName) {
		return
	}
	if r.contact.AddedIDs == nil {
		r.contact.AddedIDs = []crm.ExternalID{{Source: systems["salesforce"], Value: r.fullName}}
	}
	r.fullName = ""
}

// readContactID takes an id of ours. A Contact ID may be one of another system, too, and no heading tells: the contact that has it as an external id comes first.
func readContactID(r *row, c *cell, text string) {
	if plainName(c.name) == "contactid" && c.name != c.target {
		readGiverID(r, c, text)
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return
		}
	}
	readID(func(in *giving.GiftInput) **int64 { return &in.Contact })(r, c, text)
}

const notNegative doc.Rule = "must not be negative"

// readMoney takes an amount as people write it.
func readMoney(of func(*giving.GiftInput) **int64) func(*row, *cell, string) {
	return func(r *row, c *cell, value string) {
		isNegative := r.readSum(c, value, of(&r.gift.GiftInput))
		if isNegative && c.target != "fee" { // PayPal writes fees so
			r.gift.faults.Add(c.target, notNegative)
		}
	}
}

// readSum takes an amount, and tells whether it is negative.
func (r *row) readSum(c *cell, value string, to **int64) (isNegative bool) {
	currency := ""
	if r.gift.Currency != nil {
		currency = *r.gift.Currency
	}
	amount, broken := text.ReadAmount(strings.TrimPrefix(value, "+"), currency, r.region)
	if amount.Sign != "" && r.gift.Sign == "" {
		r.gift.Sign = amount.Sign
		if codes := text.CurrenciesOf(amount.Sign); len(codes) == 1 && currency == "" {
			r.gift.Currency = &codes[0]
		}
	}
	if *to = new(int64); broken != "" {
		r.gift.faults.Add(c.target, doc.Rule(broken), value)
		return false
	}
	*to = giving.ParseMoney(&r.gift.faults, c.target, amount.Digits, currency, false)
	return amount.IsNegative
}

// readAmount takes what was paid. One below 0 went back.
func readAmount(r *row, c *cell, value string) {
	if r.gift.Currency == nil && c.currency != "" {
		r.gift.Currency = &c.currency
	}
	r.gift.Filed.IsRefund = r.readSum(c, value, &r.gift.Amount)
}

func readNet(r *row, c *cell, value string) {
	if isNegative := r.readSum(c, value, &r.gift.net); isNegative {
		r.gift.net = nil // of a refund
	}
}

// readCovered takes the part of the fee that the giver has added, or whether they have added all of it.
func readCovered(r *row, c *cell, value string) {
	if yes, ok := text.ReadYesNo(value); ok && strings.Trim(value, "0123456789") != "" {
		r.gift.coversFee = yes
		return
	}
	readMoney(func(in *giving.GiftInput) **int64 { return &in.FeeCovered })(r, c, value)
}

// readYes takes yes or no.
func (r *row) readYes(c *cell, value string) bool {
	yes, ok := text.ReadYesNo(value)
	if !ok {
		r.gift.LeftOut = append(r.gift.LeftOut, crm.LeftOut{Column: c.name, Value: value, Reason: "is neither yes nor no"})
	}
	return yes
}

// readTest takes whether a payment is one of a test, in whatever way the column asks.
func (r *row) readTest(c *cell, value string, isTest bool) {
	switch modes[plainWord(value)] {
	case "test":
		r.gift.Test = true
	case "":
		r.gift.Test = r.readYes(c, value) == isTest || r.gift.Test
	}
}

// modes are what systems call payments that are real, and those that are not.
var modes = byWord(map[string]string{"test": "test sandbox testmode", "live": "live production livemode"})

// readGone takes how much went back, or whether all of it did.
func readGone(of func(*GiftRow) (all *bool, part **int64)) func(*row, *cell, string) {
	return func(r *row, c *cell, value string) {
		all, part := of(r.gift)
		if yes, ok := text.ReadYesNo(value); ok && strings.Trim(value, "0123456789.,") != "" {
			*all = yes
			return
		}
		r.readSum(c, value, part) // some write what went back below 0
	}
}

// readDispute takes how a dispute stands. The money is gone until it is won.
func readDispute(r *row, _ *cell, value string) {
	switch plainWord(value) {
	case "won", "warningclosed", "prevented":
		r.gift.isWon, r.gift.Filed.Won = true, true
	case "none", "na":
		r.gift.isWon = true
	default:
		r.gift.isDisputed = true
	}
}

// readSoftCredit keeps who else is credited as a note.
func readSoftCredit(r *row, c *cell, value string) {
	what := "Soft credit"
	for _, part := range [...]string{"amount", "type"} {
		if strings.HasSuffix(plainName(c.name), part) {
			what += " " + part
		}
	}
	r.note(what + ": " + value)
}

// note adds a line to the note of a gift that no field has room for.
func (r *row) note(line string) { r.gift.lines = append(r.gift.lines, line) }

// readDedicated takes the name behind a heading that is the kind of the dedication.
func readDedicated(kind string) func(*row, *cell, string) {
	return func(r *row, _ *cell, value string) {
		d := &giving.Dedication{Type: kind, Name: value}
		r.gift.Dedication = &d
	}
}

// dedication is a column of a part of a dedication.
func dedication(c column, part func(*giving.Dedication) *string) column {
	c.read = func(r *row, _ *cell, text string) {
		if r.gift.Dedication == nil {
			d := new(giving.Dedication)
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
func money(of func(*giving.Gift) int64) func(*record, int) any {
	return func(r *record, _ int) any { return Decimal(text.MoneyInput(of(r.gift), r.gift.Currency)) }
}

// giftTime is when a gift was made, as far as it is known.
func giftTime(at time.Time) any {
	if !at.IsZero() && giving.IsDay(at) {
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

// plainWord is words without spaces, accents, punctuation and numbers: "Check #123" is check.
func plainWord(text string) string {
	words := slices.DeleteFunc(headingWords(text), func(word string) bool { return len(word) > 1 && strings.Trim(word, "0123456789") == "" })
	return strings.Join(words, "")
}

// currencyWord is the code of a currency, of which people also write the sign.
func currencyWord(_ *cell, value string) string {
	if codes := text.CurrenciesOf(value); len(codes) == 1 {
		return codes[0]
	}
	return strings.ToUpper(value)
}
