package sheet

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/crm/custom"
)

// recognizeContacts knows the names that our own export, the systems whose files the tests have, Mailchimp and Google Contacts give to columns.
func recognizeContacts(s *Sheet, header []string, fields *custom.Fields) Mapping {
	g := &recognition{sheet: s, mapping: make(Mapping, len(header)), taken: map[string]bool{}}
	for i, name := range header {
		g.mapping[i] = Column{Name: strings.TrimSpace(name), Target: Skip}
	}
	isOwn := s.isOwn(g.mapping)
	for i := range header {
		name := g.mapping[i].Name
		if s.isPrefix(name, header) && g.place(i, "prefix") {
			continue
		}
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

// isPrefix tells that Title or Salutation is Mr. or Dr., because jobs or greetings have a column of their own.
func (s *Sheet) isPrefix(name string, header []string) bool {
	name = strings.ToLower(name)
	return (name == "title" || name == "salutation") && slices.ContainsFunc(header, func(other string) bool {
		plain := plainName(other)
		return s.names[plain].target == name && plain != name
	})
}

// onlyWritten tells headings of our own files that no file gives: sums and times.
func (s *Sheet) onlyWritten(name string) bool {
	return slices.ContainsFunc(s.columns, func(c column) bool { return c.target == "" && (c.heading == name || c.before == name) })
}

// customMark stands before the title of a custom field that an import would take for another field. The tables of JSON Lines have it too.
const customMark = "Custom: "

// FieldTitle is the title of the custom field that becomes of a column. GENDER and nick_name are names for programs, and become Gender and Nick name.
func FieldTitle(column string) string {
	title := strings.TrimPrefix(column, customMark)
	isUpper := len(title) > 3 && title == strings.ToUpper(title)
	if strings.Contains(title, " ") || !isUpper && !strings.Contains(title, "_") {
		return title
	}
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(title, "__c"), "_", " ")))
	if len(words) == 0 {
		return title
	}
	first, size := utf8.DecodeRuneInString(words[0])
	words[0] = string(unicode.ToUpper(first)) + words[0][size:]
	return strings.Join(words, " ")
}

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
	all = slices.DeleteFunc(all, func(e *element) bool { return g.isRepeated(e, all) })
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
