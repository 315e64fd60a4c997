package crm

// DonorFilter is which donors a list shows: those of a year, or of a campaign at any time.
type DonorFilter struct {
	Campaign int64 // 0 is all; a campaign has no year
	Year     int64
	Kind     DonorKind // of a year's
}

// DonorKind is a part of those who gave in a year.
type DonorKind string

const (
	AllDonors       DonorKind = ""
	NewDonors       DonorKind = "new"       // gave for the first time
	ReturningDonors DonorKind = "returning" // gave in the year before, too
	LapsedDonors    DonorKind = "lapsed"    // did not give in the year after
)

// DonorKinds are in the order in which pages offer them.
var DonorKinds = []DonorKind{AllDonors, NewDonors, ReturningDonors, LapsedDonors}

// Beside is the year whose sums of a contact tell whether the contact is of the kind; 0 is all time.
func (f DonorFilter) Beside() int64 {
	switch f.Kind {
	case ReturningDonors:
		return f.Year - 1
	case LapsedDonors:
		return f.Year + 1
	}
	return 0
}

// Keeps tells whether a contact who gave in the year is of the kind, by the sums of the contact in the year beside.
func (f DonorFilter) Keeps(beside Giving) bool {
	switch f.Kind {
	case NewDonors:
		return beside.FirstYear == f.Year
	case ReturningDonors:
		return beside.Gifts > 0
	case LapsedDonors:
		return beside.Gifts == 0
	}
	return true
}

// Count is how many donors the filter finds, by the sums of all contacts: in its year or campaign, and in the year after.
func (f DonorFilter) Count(sums, after Giving) int64 {
	switch f.Kind {
	case NewDonors:
		return sums.New
	case ReturningDonors:
		return sums.Retained
	case LapsedDonors:
		return sums.Donors - after.Retained
	}
	return sums.Donors
}

// IsMoney tells whether a gift was made in money. What a thing or a share is worth is for the giver to say, not for a receipt.
func (g *Gift) IsMoney() bool { return g.Method != "in_kind" && g.Method != "stock" }
