package sheet

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
)

// cellValue is an email or a phone with the place that its column gives it. A cell may hold several.
type cellValue struct {
	crm.Typed
	n      int64
	column string
}

// readValues takes the emails or phones of a cell. In our own files each has a cell of its own.
func readValues(split func(string) []string) func(*row, *cell, string) {
	return func(r *row, c *cell, text string) {
		values := []string{text}
		if !r.isOwn {
			values = split(text)
		}
		for _, value := range values {
			r.take(c, crm.Typed{Value: value, Type: c.valueType})
		}
	}
}

// readType takes a type that has a cell of its own, for the value of the same place.
func readType(r *row, c *cell, text string) { r.take(c, crm.Typed{Type: c.types[groupOf(text)]}) }

func (r *row) take(c *cell, value crm.Typed) {
	list := &r.emails
	if c.list == "phones" {
		list = &r.phones
	}
	*list = append(*list, cellValue{value, c.n, c.name})
}

// finish makes the input of what was taken.
func (r *row) finish() {
	in := &r.contact
	r.readPrimaryContact()
	if !r.isOwn || r.gift != nil {
		r.settleNames()
	}
	r.applyMarks()
	if r.takeSuffix(); r.fullName != "" {
		r.fillName()
	}
	if !r.isOwn || r.gift != nil {
		r.takeTitles()
		r.settleCase()
	}
	if list := r.typedList("emails", r.emails); list != nil {
		in.Emails = &list
	}
	country := ""
	if addresses := r.addresses(); addresses != nil {
		in.Addresses, country = &addresses, addresses[0].Country
	}
	if list := r.typedList("phones", r.phones); list != nil {
		for i := range list {
			if !r.isOwn {
				list[i].Value = text.PhoneAbroad(list[i].Value, country, r.region)
			}
		}
		in.Phones = &list
	}
	if r.tags != nil {
		in.Tags = &r.tags
	}
}

// takeSuffix takes the whole name from the cell of a first name that ends with a suffix, where the last name is missing: Kai Lum Jr.
func (r *row) takeSuffix() {
	in := &r.contact
	if r.fullName != "" || in.FirstName == nil || in.LastName != nil {
		return
	}
	if words := strings.Fields(*in.FirstName); len(words) > 2 && crm.IsSuffix(words[len(words)-1]) {
		r.fullName, in.FirstName = *in.FirstName, nil
	}
}

// fillName takes the first and the last name, or the one that has no cell of its own, from the full name.
func (r *row) fillName() {
	in := &r.contact
	prefix, whole := splitPrefix(r.fullName)
	switch r.fullName = whole; {
	case prefix == "":
	case in.Prefix == nil:
		in.Prefix = &prefix
	case !strings.Contains(*in.Prefix, prefix): // Frau, beside Dr. Sabine Groß
		in.Prefix = new(*in.Prefix + " " + prefix)
	}
	first, last := splitName(r.fullName)
	if prefix != "" && last == "" { // M. et Mme Martin
		first, last = "", first
	}
	if words := strings.Fields(last); in.Suffix == nil && len(words) > 1 && crm.IsSuffix(words[len(words)-1]) { // Fallon, Jr.
		last, in.Suffix = strings.TrimSuffix(strings.Join(words[:len(words)-1], " "), ","), &words[len(words)-1]
	}
	switch name := strings.Join(strings.Fields(r.fullName), " "); {
	case in.FirstName == nil && in.LastName == nil:
		in.FirstName, in.LastName = unlessEmpty(first), unlessEmpty(last)
	case in.FirstName == nil:
		if rest, found := strings.CutSuffix(" "+name, " "+*in.LastName); found {
			first = strings.TrimSpace(rest)
		} else if last == "" || !strings.EqualFold(last, *in.LastName) { // Nombre, beside Apellidos
			first = name
		}
		in.FirstName = unlessEmpty(first)
	case in.LastName == nil:
		if rest, found := strings.CutPrefix(name, *in.FirstName+" "); found {
			last = rest
		} else if !strings.EqualFold(first, *in.FirstName) { // Name, beside Vorname
			last = name
		}
		in.LastName = unlessEmpty(last)
	}
}

// takeTitles takes titles that stand before a first or a last name for the prefix, and gives a couple the salutation that its titles tell.
func (r *row) takeTitles() {
	in := &r.contact
	for _, name := range []**string{&in.FirstName, &in.LastName} {
		if *name == nil || in.Prefix != nil {
			continue
		}
		prefix, rest := splitPrefix(**name)
		if isPrefix(**name) && strings.ContainsAny(**name, " .") { // and not someone called Hon
			prefix, rest = **name, ""
		}
		if prefix != "" {
			in.Prefix, *name = &prefix, unlessEmpty(rest)
		}
	}
	name := in.PersonName()
	if isTwo := in.Prefix != nil && crm.IsCouple(*in.Prefix); !isTwo && !crm.IsCouple(name.First) || in.Company != nil || name.Last == "" {
		return
	} else if isTwo && in.Salutation == nil {
		dear := "Dear "
		if slices.ContainsFunc(strings.Fields(*in.Prefix), func(word string) bool { return word == "et" || word == "und" || word == "y" }) {
			dear = "" // which other languages say in other ways
		}
		in.Salutation = new(dear + *in.Prefix + " " + name.Last)
	}
	r.readAs(strings.TrimSpace(spoken(in.Prefix)+" "+name.String()), "is a couple")
}

// readAs notes a name that was understood by a rule.
func (r *row) readAs(name, reason string) {
	column := ""
	for _, target := range []string{FullName, "first_name", "last_name", "company"} {
		column = cmp.Or(column, r.columnOf(target, 0))
	}
	r.contact.ReadAs = append(r.contact.ReadAs, crm.LeftOut{Column: cmp.Or(column, "The name"), Value: name, Reason: reason})
}

func spoken(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func unlessEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// typedList is the values in the order of their places, each with the type that a column of its own or the name of its column tells.
func (r *row) typedList(name string, taken []cellValue) (list []crm.Typed) {
	slices.SortStableFunc(taken, func(a, b cellValue) int { return cmp.Compare(a.n, b.n) })
	for _, one := range taken {
		if one.Value == "" {
			continue
		}
		for _, other := range taken {
			if other.n == one.n && other.Value == "" && other.Type != "" {
				one.Type = other.Type
			}
		}
		if one.n != int64(len(list)) {
			r.callElement(name, len(list), "value", one.column)
		}
		list = append(list, one.Typed)
	}
	return list
}

// cellAddress is an address of which each part may be in a cell of its own.
type cellAddress struct {
	crm.Address
	n            int64
	house, whole string
}

// place is the address that a cell belongs to.
func (r *row) place(c *cell) *cellAddress {
	i := slices.IndexFunc(r.places, func(p cellAddress) bool { return p.n == c.n })
	if i < 0 {
		i = len(r.places)
		r.places = append(r.places, cellAddress{n: c.n})
	}
	return &r.places[i]
}

// readStreet takes the first line of an address. Further lines of the cell are the second one, unless that has a column of its own.
func readStreet(r *row, c *cell, text string) {
	p := r.place(c)
	if line, rest, isMore := strings.Cut(text, "\n"); isMore && r.columnOf(line2, c.n) == "" {
		text = strings.TrimSpace(line)
		p.addLine(strings.Join(strings.Fields(rest), " "))
	}
	p.Line1 = text
}

func readZipAndCity(r *row, c *cell, text string) {
	p := r.place(c)
	words := strings.Fields(text)
	last := len(words) - 1
	switch {
	case last > 0 && strings.ContainsAny(words[0], "0123456789"):
		p.Zipcode, p.City = words[0], strings.TrimLeft(strings.Join(words[1:], " "), "-, ")
	case last > 1 && isZip(words[last]) && len(words[last-1]) == 2: // Holyoke, MA 01040
		p.City, p.State, p.Zipcode = strings.TrimSuffix(strings.Join(words[:last-1], " "), ","), words[last-1], words[last]
	default:
		p.City = text
	}
}

// addLine adds to the second line of an address.
func (p *cellAddress) addLine(text string) {
	if p.Line2 != "" && text != "" {
		p.Line2 += ", "
	}
	p.Line2 += text
}

// zeroStates are those of the United States whose ZIP codes begin with 0, and with 00.
const zeroStates = "CT MA ME NH NJ RI VT PR VI"

// withZero gives a postal code back the zeros that a spreadsheet took for nothing, also one with four more digits: 7102-1234. The country or the state must tell that codes of the
// place have five digits.
func withZero(zip, state, country, region string) string {
	hasZero := state != "" && strings.Contains(zeroStates, state)
	isUS := country == "USA" || country == "" && hasZero
	if country == "" {
		country = map[string]string{"DE": "DEU", "FR": "FRA", "ES": "ESP", "IT": "ITA"}[region]
	}
	short, more, isLong := strings.Cut(zip, "-")
	if digits := len(zip); isUS && !isLong && digits == 8 && text.Digits(zip) == zip {
		short, more, isLong = zip[:4], zip[4:], true
	}
	isShort := text.Digits(short) == short && (len(short) == 4 || len(short) == 3 && isUS && hasZero) && (!isLong || isUS && len(more) == 4)
	if !isShort || !isUS && !slices.Contains([]string{"DEU", "FRA", "ESP", "ITA"}, country) {
		return zip
	}
	if short = "00"[:5-len(short)] + short; isLong {
		short += "-" + more
	}
	return short
}

// addresses are in the order of their places. A state or a country that we have no code for goes to the second line, so that nothing is lost
// and the row is not rejected.
func (r *row) addresses() (list []crm.Address) {
	slices.SortStableFunc(r.places, func(a, b cellAddress) int { return cmp.Compare(a.n, b.n) })
	for i := range r.places {
		p := &r.places[i]
		if p.whole != "" && p.Address == (crm.Address{}) {
			p.Address = splitAddress(p.whole)
		}
		if p.house != "" {
			p.Line1 = strings.TrimSpace(p.Line1 + " " + p.house)
		}
		code, known := text.FindCountry(p.Country)
		if !known {
			p.addLine(p.Country)
		}
		p.Country = code
		if code, known = text.FindState(p.State); !known && plainName(p.State) != plainName(p.City) {
			p.addLine(p.State)
		}
		p.State = code
		p.Zipcode = withZero(p.Zipcode, p.State, p.Country, r.region)
		if p.n != int64(i) || p.whole != "" {
			for _, part := range crm.AddressTexts {
				r.callElement("addresses", i, part.Name, cmp.Or(r.columnOf("addresses.#."+part.Name, p.n), r.columnOf(wholeAddress, p.n)))
			}
		}
		list = append(list, p.Address)
	}
	return list
}
