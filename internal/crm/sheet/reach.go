package sheet

import (
	"cmp"
	"slices"
)

// A contact may have several emails, phones and addresses, whose parts are columns of their own.

type foundHeading struct {
	heading
	column int
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
	lists["addresses"] = joinHalves(lists["addresses"])
	for list, all := range lists {
		g.placeAll(list, all)
	}
}

// joinHalves makes one address of a street and a city whose headings do not say that they belong together, where there are no others: Mailing Address, City, State. What the street
// has as well is left out of the other half.
func joinHalves(all []*element) []*element {
	if len(all) != 2 {
		return all
	}
	lines, place := all[0], all[1]
	if !lines.has(street, wholeAddress) {
		lines, place = place, lines
	}
	if lines.has(city, zipAndCity) || place.has(street, wholeAddress, line2) || !place.has(city, zipcode, zipAndCity) || !lines.has(street, wholeAddress) {
		return all
	}
	lines.parts = append(lines.parts, slices.DeleteFunc(place.parts, func(p foundPart) bool { return lines.has(p.target) })...)
	for i := range lines.parts {
		if lines.parts[i].target == wholeAddress {
			lines.parts[i].target = street
		}
	}
	return []*element{lines}
}

// placeAll places elements of a list behind each other, the primary one first, where no column says itself that it goes there.
func (g *recognition) placeAll(list string, all []*element) {
	all = slices.DeleteFunc(all, func(e *element) bool { return g.isRepeated(e, all) })
	slices.SortStableFunc(all, func(a, b *element) int {
		return cmp.Or(cmp.Compare(first(a.primary), first(b.primary)), cmp.Compare(max(a.number, 1), max(b.number, 1)))
	})
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

// isRepeated tells that all of an element is the shipping address of PayPal in one cell, which other columns have in parts.
func (g *recognition) isRepeated(e *element, all []*element) bool {
	if e.group != "shipping " || !e.has(wholeAddress) || e.has(street, city) || !slices.ContainsFunc(all, func(other *element) bool { return other.has(street) }) {
		return false
	}
	for _, p := range e.parts {
		g.mapping[p.column].Unknown = true
	}
	return true
}

// partOf is the part of which email, phone or address a column has; the target is "" where it is none that is imported.
func (g *recognition) partOf(h heading) (target string, number int) {
	list := ""
	switch {
	case h.has("code") && h.has("email", "mail", "phone", "cell", "landline", "type", "tags", "country"), h.has("id") && !h.has("phone", "cell", "landline", "email", "street", "house"):
		return "", 0
	case h.has("email", "mail"):
		list = "emails"
	case h.has("phone", "cell", "landline"):
		list = "phones"
	case h.has("type", "tags"):
		return "", 0
	default:
		return g.addressPart(h)
	}
	if h.has("type", "tags") {
		return list + ".#.type", h.number
	}
	return list + ".#.value", h.number
}

// addressPart is the part of which address a column has. "Address 2" and "Street 2" are second lines, unless there is a second city.
func (g *recognition) addressPart(h heading) (target string, number int) {
	number = h.number
	if h.has("zip") && h.has("city") {
		return zipAndCity, number
	}
	for _, part := range [...]struct{ means, target string }{{"zip", zipcode}, {"city", city}, {"country", country}, {"state", state}, {"full", wholeAddress}} {
		if h.has(part.means) {
			return part.target, number
		}
	}
	switch {
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
	case line == 0 && !h.has("street") && (!g.hasCity(h.group, number) || g.hasStreet(h.group, number)): // Bill address, beside Bill street
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

// hasStreet tells whether an address has a column for its street alone.
func (g *recognition) hasStreet(group string, number int) bool {
	return slices.ContainsFunc(g.found, func(h foundHeading) bool {
		return h.has("street") && h.line == 0 && h.group == group && h.number == number
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
