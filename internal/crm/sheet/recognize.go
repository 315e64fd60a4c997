package sheet

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm/custom"
)

// recognizeContacts knows the names that our own export, Givebutter, Bloomerang, CiviCRM, Mailchimp, Salesforce and Google Contacts give to columns.
func recognizeContacts(s *Sheet, header []string, fields *custom.Fields) Mapping {
	g := &recognition{sheet: s, mapping: make(Mapping, len(header)), taken: map[string]bool{}}
	for i, name := range header {
		g.mapping[i] = Column{Name: strings.TrimSpace(name), Target: Skip}
	}
	isOwn := s.isOwn(g.mapping)
	for i := range header {
		name := g.mapping[i].Name
		if isOwn && (g.place(i, s.ownHeading(name)) || s.onlyWritten(name)) {
			continue
		}
		if g.place(i, s.ownTarget(name)) {
			continue
		}
		if f := headed(fields, name); f != nil && g.place(i, CustomField(f.ID)) {
			continue
		}
		plain := plainName(name)
		if g.place(i, s.names[plain].target) || slices.Contains(s.written, plain) || isDerived(name) {
			continue
		}
		if h, ok := parseHeading(name); ok && !strings.HasPrefix(name, customMark) {
			g.found = append(g.found, foundHeading{h, i})
		} else {
			g.mapping[i].Unknown = name != ""
		}
	}
	g.placeFound()
	return g.mapping
}

// onlyWritten tells headings of our own files that no file gives: sums and times.
func (s *Sheet) onlyWritten(name string) bool {
	return slices.ContainsFunc(s.columns, func(c column) bool { return c.target == "" && c.heading == name })
}

// customMark stands before the title of a custom field that an import would take for another field. The tables of JSON Lines have it too.
const customMark = "Custom: "

// FieldTitle is the title of the custom field that becomes of a column.
func FieldTitle(column string) string { return strings.TrimPrefix(column, customMark) }

// headed is the custom field that a column is named for, nil for none.
func headed(fields *custom.Fields, name string) *custom.Field {
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
	if c, _, ok := s.find(name); ok && c.target != Skip && c.target != oneTag && c.target != ownID && c.target != customTarget {
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

// placeFound places the columns of emails, phones and addresses.
func (g *recognition) placeFound() {
	lists := map[string][]*element{}
	for _, h := range g.found {
		target, number := g.partOf(h.heading)
		if target == "" {
			g.mapping[h.column].Unknown = h.has("code")
			continue
		}
		list := g.sheet.byTarget[target].list
		i := slices.IndexFunc(lists[list], func(e *element) bool {
			return e.group == h.group && e.number == number && (list == "addresses" || !e.has(target))
		})
		if i < 0 {
			i = len(lists[list])
			lists[list] = append(lists[list], &element{group: h.group, number: number})
		}
		e := lists[list][i]
		if e.has(target) && target != line2 {
			g.mapping[h.column].Unknown = true
			continue
		}
		e.parts, e.primary = append(e.parts, foundPart{target, h.column}), e.primary || h.primary
	}
	for list, all := range lists {
		g.placeAll(list, all)
	}
}

// placeAll places elements of a list behind each other, the primary one first, where no column says itself that it goes there.
func (g *recognition) placeAll(list string, all []*element) {
	slices.SortStableFunc(all, func(a, b *element) int { return cmp.Compare(first(a.primary), first(b.primary)) })
	n := int64(0)
	for _, e := range all {
		for g.taken[numbered(list+".#", n)] {
			n++
		}
		for _, p := range e.settled(list, g.mapping) {
			g.place(p.column, numbered(p.target, n))
		}
	}
}

// partOf is the part of which email, phone or address a column has; the target is "" where it is none that is imported.
func (g *recognition) partOf(h heading) (target string, number int) {
	list := ""
	switch {
	case h.has("code") && (h.has("email") || h.has("phone") || h.has("type")):
		return "", 0
	case h.has("email"):
		list = "emails"
	case h.has("phone"):
		list = "phones"
	case h.has("type"):
		return "", 0
	default:
		return g.addressPart(h)
	}
	if h.has("type") {
		return list + ".#.type", h.number
	}
	return list + ".#.value", h.number
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

// settled leaves out what does not belong there: the type of no email, and of an address all of it again, or the state and the country alone, which
// programs guess from a network address.
func (e *element) settled(list string, m Mapping) []foundPart {
	hasValue, whole, isPlace := e.has(list+".#.value"), e.has(wholeAddress), e.has(street, city, zipAndCity, zipcode)
	return slices.DeleteFunc(e.parts, func(p foundPart) bool {
		switch {
		case list != "addresses":
			return !hasValue
		case p.target == wholeAddress:
			return isPlace
		case isPlace, p.target == country && !whole:
			return false
		}
		m[p.column].Unknown = true
		return true
	})
}
