package giving

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
)

// Sums is the sums of some gifts in one currency: of a contact, of a campaign, of a contact to a campaign, or of a
// month.
type Sums struct {
	Entries   int64 // all gifts that were not voided, whatever became of them
	Gifts     int64 // that count: succeeded, with something left
	Amount    int64 // what was donated less refunds, in the smallest unit of the currency
	Recurring int64 // the part of it that belongs to plans
	Donors    int64 // of a campaign: contacts of whose gifts something is left
}

// Add adds what two sums have in common; donors are people, and those of two sums may be the same.
func (g *Sums) Add(more Sums) {
	g.Entries += more.Entries
	g.Gifts += more.Gifts
	g.Amount += more.Amount
	g.Recurring += more.Recurring
}

// Given is what a contact gave in a time, in all currencies.
type Given struct {
	Gifts int64            // that count
	Sums  map[string]int64 // by currency
}

// Others are the currencies beside one, in the order of their codes.
func (g Given) Others(than string) []string {
	return slices.DeleteFunc(CurrenciesOf(g.Sums, than), func(currency string) bool { return currency == than })
}

// CurrenciesOf are the currencies of sums: the organization's first, the others in the order of their codes.
func CurrenciesOf(sums map[string]int64, first string) []string {
	codes := slices.Sorted(maps.Keys(sums))
	if at := slices.Index(codes, first); at >= 0 {
		codes = slices.Insert(slices.Delete(codes, at, at+1), 0, first)
	}
	return codes
}

// SumTexts are sums of several currencies: $7, €5 and £6. The first one comes first. It is "" for none.
func SumTexts(sums map[string]int64, first string, money func(int64, string) string) string {
	texts := []string{}
	for _, currency := range CurrenciesOf(sums, first) {
		texts = append(texts, money(sums[currency], currency))
	}
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
	return strings.Join(texts, "")
}

// Cell names the sums of a campaign (0 is all), of a month (202611; 0 is all time) and of a contact (0 is all). Cells
// compare in this order.
func Cell(campaign, month int64, currency string, contact int64) string {
	cell := make([]byte, 0, 16+1+8+1+3+1+9)
	cell = append(appendDigits(cell, campaign, 16), '/')
	cell = append(appendDigits(cell, month, 8), '/')
	cell = append(append(cell, currency...), '/')
	return string(appendDigits(cell, doc.IDSeq(contact), 9))
}

// CampaignCell is where the gifts to a campaign in its currency are added up.
func CampaignCell(campaign int64, currency string) string { return Cell(campaign, 0, currency, 0) }

// appendDigits writes a number that is not negative with so many digits.
func appendDigits(dst []byte, n int64, digits int) []byte {
	start := len(dst)
	dst = append(dst, "0000000000000000"[:digits]...)
	for i := len(dst) - 1; i >= start; i-- {
		dst[i] = '0' + byte(n%10)
		n /= 10
	}
	return dst
}

// CellContact is the sequence number of the contact whose cell it is, 0 for all.
func CellContact(cell string) (seq int64) {
	for _, c := range []byte(cell[max(0, len(cell)-9):]) {
		seq = seq*10 + int64(c-'0')
	}
	return seq
}

// Year, Month and Day are what a time lies in, in UTC: 2026, 202611 and 20261115.
func Year(t time.Time) int64 { return int64(t.UTC().Year()) }

func Month(t time.Time) int64 { return Year(t)*100 + int64(t.UTC().Month()) }

func Day(t time.Time) int64 { return Month(t)*100 + int64(t.UTC().Day()) }

// CellParts is what a cell is about, as it was given to Cell; the contact is a sequence number.
func CellParts(cell string) (campaign, month int64, currency string, contact int64) {
	parts := strings.Split(cell, "/")
	if len(parts) != 4 {
		return 0, 0, "", 0
	}
	campaign, _ = strconv.ParseInt(parts[0], 10, 64)
	month, _ = strconv.ParseInt(parts[1], 10, 64)
	return campaign, month, parts[2], CellContact(cell)
}

// Share is what one gift adds to sums, as its columns say it.
type Share struct {
	Campaign, Contact int64
	Currency          string
	At                int64 // when it was given, by the organization's clock
	Net               int64
	Recurring         bool
	Voided            bool
}

func ShareOf(g *Gift) Share {
	return Share{g.Campaign, g.Contact, g.Currency, g.Local.Unix(), g.Net(), g.PlanCode != "", g.Status == Voided}
}

// Cells are the names of all sums that a gift is part of, none for one that was voided: what its contact gave in all,
// its month, what the contact gave to its campaign, and what everyone gave to that.
func (s Share) Cells() []string {
	month := Month(time.Unix(s.At, 0))
	switch {
	case s.Voided:
		return nil
	case s.Campaign == 0:
		return []string{Cell(0, 0, s.Currency, s.Contact), Cell(0, month, s.Currency, 0)}
	}
	return []string{Cell(0, 0, s.Currency, s.Contact), Cell(0, month, s.Currency, 0),
		Cell(s.Campaign, 0, s.Currency, s.Contact), CampaignCell(s.Campaign, s.Currency)}
}

// Adds is what a gift adds to each of its sums.
func (s Share) Adds() Sums {
	switch {
	case s.Net <= 0:
		return Sums{Entries: 1}
	case s.Recurring:
		return Sums{Entries: 1, Gifts: 1, Amount: s.Net, Recurring: s.Net}
	}
	return Sums{Entries: 1, Gifts: 1, Amount: s.Net}
}

// Last is when its contact gave by a gift, as it is kept of the contact: 0 where the gift does not count. A gift always
// has a time: 0 is the first second of 1970, as files have it that know no better.
func (s Share) Last() int64 {
	if s.Net <= 0 {
		return 0
	}
	return cmp.Or(s.At, 1)
}

// Minus is what is left of sums without others.
func (g Sums) Minus(less Sums) Sums {
	return Sums{g.Entries - less.Entries, g.Gifts - less.Gifts, g.Amount - less.Amount, g.Recurring - less.Recurring,
		g.Donors - less.Donors}
}
