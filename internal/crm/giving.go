package crm

import (
	"strconv"
	"strings"
	"time"
)

// Giving is the sums of some gifts: those of a campaign or of all, of a time or of all times, in one currency, of a contact or of all.
type Giving struct {
	Entries   int64 // all gifts, whatever became of them
	Gifts     int64 // that count: succeeded, with something left
	Amount    int64 // what was donated less refunds, in the smallest unit of the currency
	Recurring int64 // the part of it that belongs to plans
	Donors    int64 // contacts of whose gifts something is left
	New       int64 // of them: who gave for the first time, in a year
	Retained  int64 // of them: who gave the year before as well
	FirstYear int64 // of a contact: the year of the first gift
}

// Cell names the sums of a campaign (0 is all), of a period (0 is all time, 2026 a year, 202611 a month, 20261115 a day) and of a contact
// (0 is all). Cells compare in this order, those of years before those of months and of days.
func Cell(campaign, period int64, currency string, contact int64) string {
	cell := make([]byte, 0, 16+1+8+1+3+1+9)
	cell = append(appendDigits(cell, campaign, 16), '/')
	cell = append(appendDigits(cell, period, 8), '/')
	cell = append(append(cell, currency...), '/')
	return string(appendDigits(cell, IDSeq(contact), 9))
}

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

// CellsBetween are the bounds of the cells of all contacts with a campaign, a period and a currency; the cell of all of them is before.
func CellsBetween(campaign, period int64, currency string) (after, before string) {
	cell := Cell(campaign, period, currency, 0)
	return cell, cell[:len(cell)-9] + ":" // after every digit
}

// CellContact is the sequence number of the contact whose cell it is, 0 for all.
func CellContact(cell string) (seq int64) {
	for _, c := range []byte(cell[max(0, len(cell)-9):]) {
		seq = seq*10 + int64(c-'0')
	}
	return seq
}

// Year, Month and Day are the periods that a time lies in, in UTC.
func Year(t time.Time) int64 { return int64(t.UTC().Year()) }

func Month(t time.Time) int64 { return Year(t)*100 + int64(t.UTC().Month()) }

func Day(t time.Time) int64 { return Month(t)*100 + int64(t.UTC().Day()) }

// CellParts is what a cell is about, as it was given to Cell; the contact is a sequence number.
func CellParts(cell string) (campaign, period int64, currency string, contact int64) {
	parts := strings.Split(cell, "/")
	if len(parts) != 4 {
		return 0, 0, "", 0
	}
	campaign, _ = strconv.ParseInt(parts[0], 10, 64)
	period, _ = strconv.ParseInt(parts[1], 10, 64)
	return campaign, period, parts[2], CellContact(cell)
}
