package sheet

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

// recognizeContacts knows the names that our own export, Givebutter, Bloomerang, CiviCRM, Mailchimp, Salesforce and Google Contacts give to columns.
func recognizeContacts(s *Sheet, header []string, fields *crm.CustomFields) Mapping {
	g := &recognition{sheet: s, mapping: make(Mapping, len(header)), taken: map[string]bool{}}
	for i, name := range header {
		name = strings.TrimSpace(name)
		g.mapping[i] = Column{Name: name, Target: Skip}
		if g.place(i, s.ownTarget(name)) {
			continue
		}
		if f := headed(fields, name); f != nil && g.place(i, CustomField(f.ID)) {
			continue
		}
		plain := plainName(name)
		if g.place(i, s.names[plain].target) || slices.Contains(s.written, plain) || slices.Contains(reasons, plain) || isDerived(name) {
			continue
		}
		if h, ok := parseHeading(name); ok && !strings.HasPrefix(name, customMark) {
			g.found = append(g.found, foundHeading{h, i})
		} else {
			g.mapping[i].Unknown = name != ""
		}
	}
	g.typed("email", "emails")
	g.typed("phone", "phones")
	g.addresses()
	return g.mapping
}

// reasons are the columns that files of rejected rows have.
var reasons = []string{"reason", crm.RejectedKey}

// customMark stands before the title of a custom field that an import would take for another field. The tables of JSON Lines have it too.
const customMark = "Custom: "

// FieldTitle is the title of the custom field that becomes of a column.
func FieldTitle(column string) string { return strings.TrimPrefix(column, customMark) }

// headed is the custom field that a column is named for, nil for none.
func headed(fields *crm.CustomFields, name string) *crm.CustomField {
	if fields == nil {
		return nil
	}
	if f := fields.ByTitle(FieldTitle(name)); f != nil {
		return f
	}
	return fields.ByTitle(name)
}

// ownTarget is the target that a name says itself, as those of our own files do: emails.0.value. It is "" for other names.
func (s *Sheet) ownTarget(name string) string {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "tags.") {
		return oneTag
	}
	if c, _, ok := s.find(name); ok && c.target != Skip && c.target != oneTag && c.target != customTarget {
		return name
	}
	return ""
}

// isDerived tells paths of values in our JSON that follow from others, or that are read in another way.
func isDerived(name string) bool {
	name, _, isPath := strings.Cut(name, ".")
	return isPath && slices.Contains([]string{"primary_address", "stats", "custom_fields", "addresses", "emails", "phones"}, name)
}

// recognition is what has been found out so far.
type recognition struct {
	sheet   *Sheet
	mapping Mapping
	taken   map[string]bool // targets, and elements of lists: emails.0
	found   []foundHeading
}

type foundHeading struct {
	heading
	column int
}

// place gives a column its target, unless another one has it.
func (g *recognition) place(column int, target string) bool {
	c, n, ok := g.sheet.find(target)
	if !ok || g.taken[target] && !c.repeats {
		return false
	}
	g.taken[target], g.taken[numbered(c.list+".#", n)] = true, true
	g.mapping[column].Target = target
	return true
}

// element is one of several emails, phones or addresses, with the columns of its parts.
type element struct {
	group   string
	number  int
	primary bool
	parts   []foundPart
}

type foundPart struct {
	target string
	column int
}

func (e *element) has(targets ...string) bool {
	return slices.ContainsFunc(e.parts, func(p foundPart) bool { return slices.Contains(targets, p.target) })
}

// elementFor is the element that a heading belongs to: the one of that group and number that may have it, or a new one.
func elementFor(all *[]*element, h heading, number int, may func(*element) bool) *element {
	for _, e := range *all {
		if e.group == h.group && e.number == number && may(e) {
			e.primary = e.primary || h.primary
			return e
		}
	}
	e := &element{group: h.group, number: number, primary: h.primary}
	*all = append(*all, e)
	return e
}

// placeAll places elements of a list behind each other, the primary one first, where no column says itself that it goes there.
func (g *recognition) placeAll(list string, all []*element) {
	slices.SortStableFunc(all, func(a, b *element) int { return cmp.Compare(first(a.primary), first(b.primary)) })
	n := int64(0)
	for _, e := range all {
		for g.taken[numbered(list+".#", n)] {
			n++
		}
		for _, p := range e.parts {
			g.place(p.column, numbered(p.target, n))
		}
	}
}

// typed places the columns of emails or phones.
func (g *recognition) typed(part, list string) {
	var all []*element
	for _, h := range g.found {
		if !h.has(part) || part == "phone" && h.has("email") || h.has("code") {
			continue
		}
		target := list + ".#.value"
		if h.has("type") {
			target = list + ".#.type"
		}
		e := elementFor(&all, h.heading, h.number, func(e *element) bool { return !e.has(target) })
		e.parts = append(e.parts, foundPart{target, h.column})
	}
	g.placeAll(list, slices.DeleteFunc(all, func(e *element) bool { return !e.has(list + ".#.value") }))
}

// addresses places the columns of addresses.
func (g *recognition) addresses() {
	var all []*element
	for _, h := range g.found {
		if h.has("email") || h.has("phone") || h.has("type") {
			g.mapping[h.column].Unknown = h.has("code")
			continue
		}
		target, number := g.addressPart(h.heading)
		e := elementFor(&all, h.heading, number, func(*element) bool { return true })
		if e.has(target) && target != line2 {
			g.mapping[h.column].Unknown = true
			continue
		}
		e.parts = append(e.parts, foundPart{target, h.column})
	}
	for _, e := range all {
		e.settle(g.mapping)
	}
	g.placeAll("addresses", slices.DeleteFunc(all, func(e *element) bool { return len(e.parts) == 0 }))
}

// addressPart is the part of which address a column has. "Address 2" and "Street 2" are second lines, unless there is a second city.
func (g *recognition) addressPart(h heading) (target string, number int) {
	number = h.number
	switch {
	case h.has("zip") && h.has("city"):
		return zipAndCity, number
	case h.has("zip"):
		return zipcode, number
	case h.has("city"):
		return city, number
	case h.has("country"):
		return country, number
	case h.has("state"):
		return state, number
	case h.has("whole"):
		return wholeAddress, number
	case h.has("extra"):
		if !g.hasCity(h.group, number) {
			number = 0
		}
		return line2, number
	case h.has("house") && !h.has("street"):
		return houseNumber, number
	}
	line := h.line
	if number > 0 && !g.hasCity(h.group, number) {
		number, line = 0, number
	}
	switch {
	case line > 1:
		return line2, number
	case line == 0 && !h.has("street") && !g.hasCity(h.group, number):
		return wholeAddress, number
	}
	return street, number
}

// hasCity tells whether an address has a column for its city or its postal code.
func (g *recognition) hasCity(group string, number int) bool {
	return slices.ContainsFunc(g.found, func(h foundHeading) bool {
		return (h.has("city") || h.has("zip")) && h.group == group && h.number == number
	})
}

// settle leaves out what does not belong into an address: all of it again, and the state and the country beside it where a program has guessed them
// from a network address. A state alone is no address.
func (e *element) settle(m Mapping) {
	whole, isPlace := e.has(wholeAddress), e.has(street, city, zipAndCity, zipcode)
	e.parts = slices.DeleteFunc(e.parts, func(p foundPart) bool {
		switch {
		case p.target == wholeAddress:
			return isPlace
		case isPlace, p.target == country && !whole:
			return false
		}
		m[p.column].Unknown = true
		return true
	})
}
