package crm

import (
	"cmp"
	"slices"
	"strings"
)

// GuessColumns tells what the columns of a file mean by their names: those that our own export, Givebutter, Bloomerang, CiviCRM, Mailchimp, Salesforce and
// Google Contacts give them, and what people call them in English, German and French. A column with the title of a custom field becomes that one; fields
// may be nil. A column that no field is called like is skipped.
func GuessColumns(header []string, fields *CustomFields) Mapping {
	g := &guess{mapping: make(Mapping, len(header)), taken: map[string]bool{}}
	for i, name := range header {
		name = strings.TrimSpace(name)
		g.mapping[i] = Column{Name: name, Target: SkipColumn}
		if g.place(i, ownTarget(name)) {
			continue
		}
		if f := fields.headed(name); f != nil && g.place(i, CustomColumn(f.ID)) {
			continue
		}
		if g.place(i, fieldTargets[plainName(name)]) || slices.Contains(ownNames, plainName(name)) || isDerived(name) {
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

// fieldTargets are fields by their plain names.
var fieldTargets = func() map[string]string {
	targets := map[string]string{}
	for target, names := range fieldNames {
		for _, name := range strings.Fields(names) {
			targets[name] = target
		}
	}
	return targets
}()

// ownTarget is the target that a name says itself, as those of our own files do: emails.0.value. It is "" for other names.
func ownTarget(name string) string {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "tags.") {
		return oneTag
	}
	if t, ok := parseTarget(name); ok && t.field == 0 && t.name != SkipColumn && t.name != oneTag {
		return name
	}
	return ""
}

// isDerived tells paths of values in our JSON that follow from others, or that are read in another way.
func isDerived(name string) bool {
	name, _, isPath := strings.Cut(name, ".")
	return isPath && slices.Contains([]string{"primary_address", "stats", "custom_fields", "addresses", "emails", "phones"}, name)
}

// guess is what has been found out so far.
type guess struct {
	mapping Mapping
	taken   map[string]bool
	found   []foundHeading
}

type foundHeading struct {
	heading
	column int
}

// place gives a column its target, unless another one has it.
func (g *guess) place(column int, text string) bool {
	t, ok := parseTarget(text)
	if !ok || g.taken[text] && !t.repeats() {
		return false
	}
	g.taken[text] = true
	g.mapping[column].Target = text
	return true
}

// columnsOf is one of several emails, phones or addresses, with its columns by part.
type columnsOf struct {
	group   string
	number  int
	primary bool
	columns map[string]int
}

// typed places the columns of emails or phones. The primary one comes first.
func (g *guess) typed(part, list string) {
	var all []*columnsOf
	for _, h := range g.found {
		if !h.has(part) || part == "phone" && h.has("email") || h.has("code") {
			continue
		}
		name := "value"
		if h.has("type") {
			name = "type"
		}
		i := slices.IndexFunc(all, func(e *columnsOf) bool {
			_, taken := e.columns[name]
			return e.group == h.group && e.number == h.number && !taken
		})
		if i < 0 {
			i = len(all)
			all = append(all, &columnsOf{group: h.group, number: h.number, columns: map[string]int{}})
		}
		all[i].columns[name] = h.column
		all[i].primary = all[i].primary || h.primary
	}
	all = slices.DeleteFunc(all, func(e *columnsOf) bool { _, ok := e.columns["value"]; return !ok })
	slices.SortStableFunc(all, func(a, b *columnsOf) int { return cmp.Compare(first(a.primary), first(b.primary)) })
	free := 0
	for _, e := range all {
		for g.taken[elementOf(list, free).field("value")] { // a column says itself where it goes
			free++
		}
		for name, column := range e.columns {
			g.place(column, elementOf(list, free).field(name))
		}
		free++
	}
}

func first(yes bool) int {
	if yes {
		return 0
	}
	return 1
}

// addresses places the columns of addresses.
func (g *guess) addresses() {
	var all []*columnsOf
	for _, h := range g.found {
		if h.has("email") || h.has("phone") || h.has("type") {
			g.mapping[h.column].Unknown = h.has("code")
			continue
		}
		part, number := g.addressPart(h.heading)
		i := slices.IndexFunc(all, func(e *columnsOf) bool { return e.group == h.group && e.number == number })
		if i < 0 {
			i = len(all)
			all = append(all, &columnsOf{group: h.group, number: number, columns: map[string]int{}})
		}
		if _, taken := all[i].columns[part]; !taken {
			all[i].columns[part] = h.column
		} else if !(target{name: part}).repeats() || !g.extra(all[i], h.column) {
			g.mapping[h.column].Unknown = true
		}
		all[i].primary = all[i].primary || h.primary
	}
	slices.SortStableFunc(all, func(a, b *columnsOf) int { return cmp.Compare(first(a.primary), first(b.primary)) })
	free := 0
	for _, e := range all {
		e.settle(g.mapping)
		if len(e.columns) == 0 {
			continue
		}
		for g.taken[elementOf("addresses", free).field("address_1")] || g.taken[elementOf("addresses", free).field("city")] {
			free++
		}
		for part, column := range e.columns {
			g.place(column, elementOf("addresses", free).field(strings.TrimRight(part, "+")))
		}
		free++
	}
}

// extra keeps another column for the second line.
func (*guess) extra(e *columnsOf, column int) bool {
	name := "address_2"
	for ; ; name += "+" {
		if _, taken := e.columns[name]; !taken {
			e.columns[name] = column
			return true
		}
	}
}

// addressPart is the part of which address a column has. "Address 2" and "Street 2" are second lines, unless there is a second city.
func (g *guess) addressPart(h heading) (part string, number int) {
	number = h.number
	switch {
	case h.has("zip") && h.has("city"):
		return zipAndCity, number
	case h.has("zip"):
		return "zipcode", number
	case h.has("city"):
		return "city", number
	case h.has("country"):
		return "country", number
	case h.has("state"):
		return "state", number
	case h.has("whole"):
		return wholeAddress, number
	case h.has("extra"):
		if !g.hasCity(h.group, number) {
			number = 0
		}
		return "address_2", number
	case h.has("house") && !h.has("street"):
		return houseNumber, number
	}
	line := h.line
	if number > 0 && !g.hasCity(h.group, number) {
		number, line = 0, number
	}
	switch {
	case line > 1:
		return "address_2", number
	case line == 0 && !h.has("street") && !g.hasCity(h.group, number):
		return wholeAddress, number
	}
	return "address_1", number
}

// hasCity tells whether an address has a column for its city or its postal code.
func (g *guess) hasCity(group string, number int) bool {
	return slices.ContainsFunc(g.found, func(h foundHeading) bool {
		return (h.has("city") || h.has("zip")) && h.group == group && h.number == number
	})
}

// settle leaves out what does not belong into an address: all of it again, and the state and the country beside it where a program has guessed them
// from a network address. A state alone is no address.
func (e *columnsOf) settle(m Mapping) {
	_, whole := e.columns[wholeAddress]
	_, street := e.columns["address_1"]
	_, city := e.columns["city"]
	_, both := e.columns[zipAndCity]
	_, zip := e.columns["zipcode"]
	isPlace := street || city || both || zip
	for part, column := range e.columns {
		switch {
		case part == wholeAddress && isPlace:
			delete(e.columns, part)
		case part == "country" && !whole:
		case part != wholeAddress && !isPlace:
			delete(e.columns, part)
			m[column].Unknown = true
		}
	}
}
