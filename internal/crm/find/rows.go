package find

import (
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
)

// Rows is everything that follows from one record alone, beside the columns of its own row: what it is found, counted
// and added up by. It does not depend on the record's id, its times or other records. A change writes the difference of
// what followed from the record before and what follows from it now; a check, a repair and an upgrade add up what
// follows from all records. All of them ask here, so that they agree.
type Rows struct {
	Keys       []string // match keys that lead to it, sorted
	References []string // external ids that lead to it
	Sets       []string // that it is in, in one order
	Tags       []string // that count it
	Words      string   // that a search finds it by
	Active     int64    // what it adds to the number of active contacts
	Sums       []Sum    // what it adds to sums
	Last       int64    // when its contact gave by it, 0 for none
}

// Sum is what is added to the sums under a name.
type Sum struct {
	Cell string
	giving.Sums
}

// The sets of contacts. The archive is a set, those in it that were merged into others, and every tag, whatever the
// state of its contacts. So are those who lack an email, or a phone: most contacts have both, and are in neither. The
// sets of common words are called as these.
const (
	ArchiveSet = "archived"
	MergedSet  = "merged"
	TagSet     = "t:"
	LackingSet = "l:"
)

// SetNames are the names of the sets of tags, or of details.
func SetNames[T ~string](kind string, of []T) []string {
	names := make([]string, len(of), len(of)+8)
	for i, name := range of {
		names[i] = kind + string(name)
	}
	return names
}

// ContactRows is what follows from a contact of an account. Tags count active contacts.
func ContactRows(c *crm.Contact, account int64) *Rows {
	r := &Rows{Keys: c.MatchKeys, Sets: contactSets(c), Words: SearchDocument(c, account)}
	if !c.Archived() {
		r.Tags, r.Active = c.Tags, 1
	}
	return r
}

func contactSets(c *crm.Contact) []string {
	names := SetNames(TagSet, c.Tags)
	if c.Archived() {
		names = append(names, ArchiveSet)
	}
	if c.MergedInto != 0 {
		names = append(names, MergedSet)
	}
	for _, d := range crm.Details {
		if !c.HasDetail(d) {
			names = append(names, LackingSet+string(d))
		}
	}
	return append(names, CommonWords(c)...)
}

// UnreadableRows is what is still known of a contact whose document cannot be read, by what its row says beside that.
func UnreadableRows(matchKeys []string, archived bool) *Rows {
	if archived {
		return &Rows{Keys: matchKeys, Sets: []string{ArchiveSet}}
	}
	return &Rows{Keys: matchKeys, Active: 1}
}

// The kinds of external references.
const (
	GiftReference = "g:"
	PlanReference = "p:"

	paymentReference = "y:"
)

// GiftRows is what follows from a gift. Its month is that of the organization's clock.
func GiftRows(g *giving.Gift) *Rows {
	r := ShareRows(giving.ShareOf(g))
	r.References = references(GiftReference, g.ExternalID)
	for _, id := range g.IDs {
		if id.Source == giving.PledgeSource { // which has several payments
			r.References = append(r.References, PaymentReferences(id.Value)+g.Code)
			continue
		}
		r.References = append(r.References, IDReference(id))
	}
	slices.Sort(r.References)
	r.References = slices.Compact(r.References)
	return r
}

// IDReference leads to a gift by one of several ids that a file has for it. Two columns may have the same value for two
// gifts, unless the value tells by itself: other files of one system have it in a column of another name.
func IDReference(id crm.ExternalID) string {
	if giving.TellsAlone(id) {
		id.Source = ""
	}
	return GiftReference + id.Source + "\t" + id.Value
}

// PaymentReferences is what the references begin with that lead from what a pledge is called elsewhere to its payments.
func PaymentReferences(pledge string) string { return paymentReference + pledge + "\t" }

// ShareRows is what follows from the columns of a gift.
func ShareRows(s giving.Share) *Rows {
	cells, adds := s.Cells(), s.Adds()
	r := &Rows{Sums: make([]Sum, len(cells)), Last: s.Last()}
	for i, name := range cells {
		r.Sums[i] = Sum{name, adds}
	}
	return r
}

// PlanRows is what follows from a plan.
func PlanRows(p *giving.Plan) *Rows {
	return &Rows{References: references(PlanReference, p.ExternalID)}
}

func references(kind, external string) []string {
	if external == "" {
		return nil
	}
	return []string{kind + external}
}

// SumDifferences is what is added to each of the sums that do not stay as they are.
func SumDifferences(before, after []Sum) (all []Sum) {
	if len(before) == 0 {
		return after
	}
	named := func(name string) func(Sum) bool { return func(s Sum) bool { return s.Cell == name } }
	for _, s := range after {
		if i := slices.IndexFunc(before, named(s.Cell)); i >= 0 {
			s.Sums = s.Minus(before[i].Sums)
		}
		all = append(all, s)
	}
	for _, s := range before {
		if !slices.ContainsFunc(after, named(s.Cell)) {
			all = append(all, Sum{s.Cell, giving.Sums{}.Minus(s.Sums)})
		}
	}
	return slices.DeleteFunc(all, func(s Sum) bool { return s.Sums == giving.Sums{} })
}

// DonorSet is the beginning of the names of the sets of those who gave for a campaign, and of whose gifts something is
// left.
const DonorSet = "d:"

// CampaignDonors is the set of those who gave for a campaign.
func CampaignDonors(campaign int64) string { return DonorSet + strconv.FormatInt(campaign, 10) }

// GiftSets are the sets that the giver of a gift for a campaign is in.
func GiftSets(campaign int64) []string {
	if campaign == 0 {
		return nil
	}
	return []string{CampaignDonors(campaign)}
}

// DonorRows is what follows from the sums of a contact for a campaign: a contact of whose gifts something is left is a
// donor of the campaign in that currency, once, and in the set of those who gave for it. contact is its sequence
// number, 0 where the sums are no contact's or for no campaign.
func DonorRows(s Sum) (contact int64, r Rows) {
	campaign, _, currency, contact := giving.CellParts(s.Cell)
	if campaign == 0 || contact == 0 {
		return 0, r
	}
	if s.Gifts > 0 {
		r = Rows{Sets: GiftSets(campaign), Sums: []Sum{{giving.CampaignCell(campaign, currency),
			giving.Sums{Donors: 1}}}}
	}
	return contact, r
}
