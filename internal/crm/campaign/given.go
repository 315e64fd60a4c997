package campaign

import (
	"bytes"
	"fmt"
	"strconv"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// The states of a campaign. Only colleagues see the page of a draft, and the page of a closed one does not ask for
// gifts.
const (
	Draft     = "draft"
	Published = "published"
	Closed    = "closed"
)

// OldSlugs is how many of its former slugs lead to a campaign.
const OldSlugs = 20

// Given is what the gifts to a campaign come to: those in its currency.
type Given struct {
	Amount int64 // in the smallest unit of the currency
	Donors int64
}

// cents is the amount in cents. What is less than a cent is left out.
func (g Given) cents(currency string) int64 {
	decimals := text.Decimals(currency)
	return g.Amount * text.ScaleOf(2-decimals) / text.ScaleOf(decimals-2) // of these two, one is 1
}

// Raised is what came in altogether, in cents.
func (c Campaign) Raised() int64 { return c.OpeningRaised + c.Given.cents(c.Currency) }

// Donors is how many people gave altogether.
func (c Campaign) Donors() int64 { return c.OpeningDonors + c.Given.Donors }

// DropTotals takes numbers out of an input that are what was shown of a campaign: they have its gifts in them, and are
// no opening balance.
func (in *Input) DropTotals(shown Campaign) {
	if in.Raised != nil && *in.Raised == shown.Raised() {
		in.Raised = nil
	}
	if in.Donors != nil && *in.Donors == shown.Donors() {
		in.Donors = nil
	}
}

// appendTo appends the rest of a stored body, from the slug in its URL on, with the gifts added to its numbers. The
// slug and the goal, which come before them, have nothing that could be taken for the name of a field. base is the base
// URL as JSON has it.
func (g Given) appendTo(dst, rest []byte, base string) []byte {
	if g == (Given{}) {
		return appendPictures(dst, rest, base)
	}
	before, raised, rest, _ := doc.CutField(rest, "raised")
	between, donors, rest, _ := doc.CutField(rest, "donors")
	_, currency, _, _ := doc.CutField(rest, "currency")
	cents, ok := text.ParseDecimal(string(raised), 2, text.CentDigits)
	people, err := strconv.ParseInt(string(donors), 10, 64)
	if !ok || err != nil {
		// its checksum was right
		panic(fmt.Sprintf("campaign: the stored numbers %q and %q of a campaign cannot be read", raised, donors))
	}
	dst = text.AppendCents(append(dst, before...), cents+g.cents(string(bytes.Trim(currency, `"`))))
	dst = strconv.AppendInt(append(dst, between...), people+g.Donors, 10)
	return appendPictures(dst, rest, base)
}

// Progress is how much of the goal has been raised, in whole percent and never rounded up, so that no page tells of a
// goal that is not reached yet. There is none without a goal.
func (c *Campaign) Progress() (percent int64, ok bool) {
	if c.Goal == 0 {
		return 0, false
	}
	return c.Raised() * 100 / c.Goal, true
}
