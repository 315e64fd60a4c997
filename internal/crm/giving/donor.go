package giving

import "time"

// Who a donor is, wherever donors are counted or listed: a contact of whose gifts something is left, in whatever
// currency it gave. An archived donor still is one, as the money is still there; a contact that was merged into another
// has no gifts of its own any more. Money is summed up currency by currency.

// DonorFilter is which donors a list shows: those of a year, or of a campaign at any time.
type DonorFilter struct {
	// 0 is all; a campaign has no year. Its donors are those of what it has raised, which is in its currency
	Campaign int64
	Year     int64
	Kind     DonorKind // of a year's
}

// DonorKind is a part of those who gave in a year, or of those who gave no more.
type DonorKind string

const (
	AllDonors       DonorKind = ""
	NewDonors       DonorKind = "new"       // gave for the first time
	ReturningDonors DonorKind = "returning" // gave in the year before, too
	LapsedDonors    DonorKind = "lapsed"    // gave in the year before, and not in the year
)

// DonorKinds are in the order in which pages offer them.
var DonorKinds = []DonorKind{AllDonors, NewDonors, ReturningDonors, LapsedDonors}

// GaveIn is the year in which the contacts of a filter gave.
func (f DonorFilter) GaveIn() int64 {
	if f.Kind == LapsedDonors {
		return f.Year - 1
	}
	return f.Year
}

// Gave is when the contacts of a filter gave: in one year, or at any time for a campaign. The end is exclusive.
func (f DonorFilter) Gave() (from, to time.Time) {
	if f.Campaign != 0 {
		return yearBegin(1), yearBegin(9999)
	}
	return yearBegin(f.GaveIn()), yearBegin(f.GaveIn() + 1)
}

// Also is another time in which those of the filter's kind gave, too, or did not.
func (f DonorFilter) Also() (from, to time.Time, gave bool) {
	switch f.Kind {
	case NewDonors:
		return yearBegin(1), yearBegin(f.Year), false
	case ReturningDonors:
		return yearBegin(f.Year - 1), yearBegin(f.Year), true
	case LapsedDonors:
		return yearBegin(f.Year), yearBegin(f.Year + 1), false
	}
	return from, from, false // no one gave in no time
}

func yearBegin(year int64) time.Time { return time.Date(int(year), 1, 1, 0, 0, 0, 0, time.UTC) }

// IsMoney tells whether a gift was made in money. What a thing or a share is worth is for the giver to say, not for a
// receipt.
func (g *Gift) IsMoney() bool { return g.Method != InKind && g.Method != "stock" }
