package sheet

import (
	"slices"
	"strings"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/giving"
)

// recognizeGifts knows the names that our own export, Givebutter, Bloomerang, Little Green Light, DonorPerfect, Salesforce, CiviCRM, Raiser's Edge, Stripe, PayPal and
// Donorbox give to columns. Who gave is told as in a
// file of contacts.
func recognizeGifts(s *Sheet, header []string, _ *custom.Fields) Mapping {
	m := make(Mapping, len(header))
	found := make([]named, len(header))
	giver := make([]string, len(header)) // the names of the columns that are not about the gift itself
	best := map[string]int{}             // ranks of the targets
	for i, name := range header {
		name = strings.TrimSpace(name)
		m[i] = Column{Name: name, Target: Skip, Aware: true}
		found[i] = s.giftName(name)
		if target := found[i].target; target == "" {
			giver[i] = giverName(name)
		} else if rank, taken := best[target]; !taken || found[i].rank < rank {
			best[target] = found[i].rank
		}
	}
	for i, f := range found {
		if c := s.byTarget[f.target]; c != nil && (c.repeats || f.rank == best[f.target]) {
			m[i].Target = f.target // two columns of the same name are refused by Check, since no one can tell which is meant
		}
	}
	s.recognizeGiver(m, giver)
	m.leaveForeignIDs()
	for i, c := range m {
		if isOwn := s.isOwn(m); c.Target == ownGift && (c.Name != ownGift && c.Name != s.byTarget[ownGift].heading || !isOwn) || c.Target == "net" && isOwn { // of another system, or what follows from others
			m[i].Target = Skip
		}
	}
	m.nameGift()
	m.tellKind()
	return m
}

// tellKind takes the type of a gift for how it was paid where another column has the kind of the row, as DonorPerfect has them.
func (m Mapping) tellKind() {
	is := func(name string) int {
		return slices.IndexFunc(m, func(c Column) bool { return plainName(c.Name) == name })
	}
	kind, method := is("recordtype"), is("gifttype")
	if kind < 0 || method < 0 || m[method].Target != "type" {
		return
	}
	m[kind].Target = "type"
	if m[method].Target = "method"; slices.ContainsFunc(m, func(c Column) bool { return c.Target == "method" && plainName(c.Name) != "gifttype" }) {
		m[method].Target = Skip
	}
}

// Renew is a mapping of gifts that was remembered, with what an earlier version could not know: where a column that was skipped has the kind of a row, a refund
// or a plan, its gifts would count what never came.
func (s *Sheet) Renew(m Mapping) Mapping {
	now := s.Recognize(m.names(), nil)
	for i := range m {
		if c := s.byTarget[now[i].Target]; !m[i].Aware && m[i].Target == Skip && c != nil && c.late && (c.repeats || !m.has(c.target)) {
			m[i].Target = c.target
		}
		m[i].Aware = now[i].Aware
	}
	return m
}

// nameGift takes the id that another system gives to gifts where no payment provider gives one.
func (m Mapping) nameGift() {
	if m.has("external_id") {
		return
	}
	for _, is := range []func(Column) bool{func(c Column) bool { return c.Target == "gift_id" }, func(c Column) bool { return strings.EqualFold(c.Name, ownGift) && c.Target == Skip }} {
		if i := slices.IndexFunc(m, is); i >= 0 {
			m[i].Target = "external_id"
			return
		}
	}
}

// giftName is what a name means; the target is "" where it means none, or where the columns beside it tell: an address may be a street or all of it.
func (s *Sheet) giftName(name string) named {
	if c := s.byTarget[strings.ToLower(name)]; c != nil && c.giver == "" && c.target != Skip {
		return named{target: c.target}
	}
	return s.names[plainName(name)]
}

// giverWords stand before what a column says about the giver: Donor First Name, Customer Email.
var giverWords = strings.Fields("donor supporter constituent contact giver payer sender from customer billing card spender spenderin donateur")

// giverName is the name of a column without such words. Where something is shipped to is not where the giver lives.
func giverName(name string) string {
	words := headingWords(name)
	if slices.Contains(words, "shipping") {
		return ""
	}
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(giverWords, word) })
	return strings.Join(words, " ")
}

// recognizeGiver places the columns that say who gave, as the columns of a file of contacts are.
func (s *Sheet) recognizeGiver(m Mapping, names []string) {
	for i, found := range Contacts.Recognize(names, nil) {
		at := slices.IndexFunc(s.columns, func(c column) bool { return c.giver != "" && c.giver == found.Target })
		if at < 0 || m[i].Target != Skip {
			continue
		}
		if c := &s.columns[at]; c.repeats || !m.has(c.target) {
			m[i].Target = c.target
		}
	}
}

// leaveForeignIDs takes a Contact ID for that of another system, and skips its Campaign ID, which would lead to the wrong contact or campaign of ours: those
// of a file that also has names or emails, or titles of campaigns. Columns that have exactly our names are ours; of our own export the code of the campaign is taken,
// since another account has the same code under another id.
func (m Mapping) leaveForeignIDs() {
	isNamed, isTitled := m.has("email", "phone", "first_name", "last_name", FullName), m.has("campaign")
	isOurs := func(c Column) bool { return c.Name == c.Target }
	for i, c := range m {
		switch {
		case c.Target == "contact_id" && isNamed && !isOurs(c):
			if other := slices.IndexFunc(m, func(c Column) bool { return c.Target == giving.GiverID }); other >= 0 {
				m[other].Target = Skip // such as an id of a third system
			}
			m[i].Target = giving.GiverID
		case c.Target == "campaign_id" && isTitled && (!isOurs(c) || m.find("campaign_code") >= 0):
			m[i].Target = Skip
		}
	}
}
