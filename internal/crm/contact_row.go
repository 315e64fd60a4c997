package crm

import (
	"cmp"
	"slices"
	"strings"
)

// ContactRows makes inputs of the rows of a file. What the columns say about all rows was read once.
type ContactRows struct {
	mapping Mapping
	columns []rowColumn
	region  string // where phone numbers without + belong; it tells how days are written
	isOwn   bool   // the file is an export of ours: every cell is meant as it stands
}

// rowColumn is a column of a file with what its name tells.
type rowColumn struct {
	target
	column    string
	known     bool   // it goes somewhere
	valueType string // of emails and phones
	dayFirst  bool
}

// Rows reads what the columns mean.
func (m Mapping) Rows(region string) *ContactRows {
	r := &ContactRows{mapping: m, columns: make([]rowColumn, len(m)), region: region, isOwn: m.isOwn()}
	for i, c := range m {
		t, known := parseTarget(c.Target)
		r.columns[i] = rowColumn{target: t, column: c.Name, known: known, dayFirst: region != "US" || isForeignDay(c.Name)}
		if t.list == "emails" || t.list == "phones" {
			r.columns[i].valueType = t.typeOf(c.Name)
		}
	}
	return r
}

// typeOf is the type of an email or a phone that words tell.
func (t target) typeOf(words string) string {
	if t.list == "emails" {
		return emailType(words)
	}
	return phoneType(words)
}

// rowReader makes an input of the cells of a row.
type rowReader struct {
	*ContactRows
	in       ContactInput
	fullName string
	emails   []cellValue
	phones   []cellValue
	places   []cellAddress
	tags     []string
	names    map[string]string // of columns, by the path that they went to
}

// cellValue is an email or a phone with the place that its column gives it. A cell may hold several.
type cellValue struct {
	Typed
	index  int
	column string
}

type cellAddress struct {
	Address
	index        int
	house, whole string
	columns      map[string]string // by part
}

// Input is what a row says. Empty cells say nothing, and what is wrong is found by Validate, which calls fields as the columns are called.
func (rows *ContactRows) Input(row []string) ContactInput {
	r := &rowReader{ContactRows: rows, names: make(map[string]string, len(rows.columns))}
	for i := range min(len(row), len(rows.columns)) {
		c := &rows.columns[i]
		r.nameRequired(c)
		if text := strings.TrimSpace(row[i]); text != "" && c.known {
			r.take(c, text)
		}
	}
	r.finish()
	r.in.sentAs = r.names
	return r.in
}

// nameRequired remembers which column has the names, which are required: a fault must name it even if its cell is empty.
func (r *rowReader) nameRequired(c *rowColumn) {
	switch c.name {
	case "first_name", "last_name":
		r.names[c.name] = c.column
	case FullNameColumn:
		for _, part := range [...]string{"first_name", "last_name"} {
			if r.names[part] == "" {
				r.names[part] = c.column + " (" + strings.ReplaceAll(part, "_", " ") + ")"
			}
		}
	}
}

func (r *rowReader) take(c *rowColumn, text string) {
	switch c.list {
	case "custom":
		r.in.Custom = append(r.in.Custom, WrittenCustom(c.field, text))
		r.names["custom_fields."+fieldKey(c.field)] = c.column
	case "emails":
		r.emails = c.takeValues(r.emails, text, r.split(splitEmails))
	case "phones":
		r.phones = c.takeValues(r.phones, text, r.split(splitPhones))
	case "addresses":
		r.takePlace(c.target, c.column, text)
	default:
		r.takeText(c, text)
	}
}

func (r *rowReader) takeText(c *rowColumn, text string) {
	switch c.name {
	case SkipColumn:
		return
	case FullNameColumn:
		r.fullName = text
		return
	case "tags":
		r.tags = append(r.tags, splitTags(text)...)
		return
	case oneTag:
		r.tags = append(r.tags, text)
		return
	case "note":
		if r.in.Note != nil {
			text = *r.in.Note + "\n\n" + text
		}
	case "dob":
		if text = birthDay(text, c.dayFirst); text == "" {
			return
		}
	case "company":
		if isHousehold(c.column, text) {
			return
		}
	case "twitter_url":
		text = profileURL(text, "https://twitter.com/")
	case "linkedin_url":
		text = profileURL(text, "https://www.linkedin.com/in/")
	case "facebook_url":
		text = profileURL(text, "https://www.facebook.com/")
	}
	*r.in.textOf(c.name) = &text
	r.names[c.name] = c.column
}

// textOf is the field of an input that takes one text. What no field is called goes nowhere, and not into another field.
func (in *ContactInput) textOf(name string) **string {
	switch name {
	case "first_name":
		return &in.FirstName
	case "middle_name":
		return &in.MiddleName
	case "last_name":
		return &in.LastName
	case "dob":
		return &in.DOB
	case "company":
		return &in.Company
	case "title":
		return &in.Title
	case "twitter_url":
		return &in.TwitterURL
	case "linkedin_url":
		return &in.LinkedinURL
	case "facebook_url":
		return &in.FacebookURL
	case "note":
		return &in.Note
	}
	return new(*string)
}

// isOwn tells by columns that no other system has that a file is an export of ours.
func (m Mapping) isOwn() bool {
	return m.find("recurring_contributions") >= 0 && m.find("archived_at") >= 0
}

// split is how a cell with several values is divided. In our own files each has a cell of its own.
func (r *rowReader) split(several func(string) []string) func(string) []string {
	if r.isOwn {
		return func(cell string) []string { return []string{cell} }
	}
	return several
}

// takeValues adds the values of a cell, or the type of those that have the same place.
func (c *rowColumn) takeValues(list []cellValue, text string, split func(string) []string) []cellValue {
	if c.name == "type" {
		return append(list, cellValue{Typed: Typed{Type: c.typeOf(text)}, index: c.index})
	}
	for _, value := range split(text) {
		list = append(list, cellValue{Typed: Typed{Value: value, Type: c.valueType}, index: c.index, column: c.column})
	}
	return list
}

// finish makes the lists of what was taken.
func (r *rowReader) finish() {
	if r.in.FirstName == nil && r.in.LastName == nil && r.fullName != "" {
		first, last := splitName(r.fullName)
		r.in.FirstName, r.in.LastName = &first, &last
	}
	if list := r.typedList("emails", r.emails); list != nil {
		r.in.Emails = &list
	}
	if addresses := r.addresses(); addresses != nil {
		r.in.Addresses = &addresses
	}
	if list := r.typedList("phones", r.phones); list != nil {
		country := ""
		if r.in.Addresses != nil {
			country = (*r.in.Addresses)[0].Country
		}
		for i := range list {
			if !r.isOwn {
				list[i].Value = abroad(list[i].Value, country, r.region)
			}
		}
		r.in.Phones = &list
	}
	if r.tags != nil {
		r.in.Tags = &r.tags
	}
}

// typedList is the values in the order of their places, each with the type that a column of its own or the name of its column tells.
func (r *rowReader) typedList(name string, taken []cellValue) (list []Typed) {
	slices.SortStableFunc(taken, func(a, b cellValue) int { return cmp.Compare(a.index, b.index) })
	for i, one := range taken {
		if one.Value == "" {
			continue
		}
		for _, other := range taken {
			if other.index == one.index && other.Value == "" && other.Type != "" {
				one.Type = other.Type
			}
		}
		r.names[elementOf(name, len(list)).field("value")] = taken[i].column
		list = append(list, one.Typed)
	}
	return list
}

func (r *rowReader) takePlace(t target, column, text string) {
	i := slices.IndexFunc(r.places, func(p cellAddress) bool { return p.index == t.index })
	if i < 0 {
		i = len(r.places)
		r.places = append(r.places, cellAddress{index: t.index, columns: map[string]string{}})
	}
	p := &r.places[i]
	p.columns[t.name] = column
	switch t.name {
	case wholeAddress:
		p.whole = text
	case houseNumber:
		p.house = text
	case zipAndCity:
		if zip, city, found := strings.Cut(text, " "); found && strings.ContainsAny(zip, "0123456789") {
			p.Zipcode, p.City = zip, strings.TrimSpace(city)
		} else {
			p.City = text
		}
	case "address_2":
		p.Line2 = joinLines(p.Line2, text)
	default:
		if line, rest, isMore := strings.Cut(text, "\n"); isMore && t.name == "address_1" && !r.has(elementOf("addresses", t.index).field("address_2")) {
			text = strings.TrimSpace(line)
			p.Line2 = joinLines(p.Line2, strings.Join(strings.Fields(rest), " "))
		}
		*addressPart(&p.Address, t.name) = text
	}
}

// has tells whether a column goes there.
func (r *rowReader) has(target string) bool {
	return slices.ContainsFunc(r.mapping, func(c Column) bool { return c.Target == target })
}

// addressPart is the part of an address that takes one text, as textOf is for an input.
func addressPart(a *Address, name string) *string {
	switch name {
	case "address_1":
		return &a.Line1
	case "city":
		return &a.City
	case "state":
		return &a.State
	case "zipcode":
		return &a.Zipcode
	case "country":
		return &a.Country
	}
	return new(string)
}

func joinLines(line, more string) string {
	if line == "" || more == "" {
		return line + more
	}
	return line + ", " + more
}

// addresses are in the order of their places. A state or a country that we have no code for goes to the second line, so that nothing is lost
// and the row is not rejected.
func (r *rowReader) addresses() (list []Address) {
	slices.SortStableFunc(r.places, func(a, b cellAddress) int { return cmp.Compare(a.index, b.index) })
	for i := range r.places {
		p := &r.places[i]
		if p.whole != "" && addressTable.size(&p.Address) == 0 {
			p.Address = splitAddress(p.whole)
		}
		if p.house != "" {
			p.Line1 = strings.TrimSpace(p.Line1 + " " + p.house)
		}
		a := p.Address
		code, known := countryCode(a.Country)
		if !known {
			a.Line2 = joinLines(a.Line2, a.Country)
		}
		a.Country = code
		if code, known = stateCode(a.State); !known && fold(a.State) != fold(a.City) {
			a.Line2 = joinLines(a.Line2, a.State)
		}
		a.State = code
		for j := range addressTable {
			part := addressTable[j].name
			if column := cmp.Or(p.columns[part], p.columns[wholeAddress]); column != "" {
				r.names[elementOf("addresses", len(list)).field(part)] = column
			}
		}
		list = append(list, a)
	}
	return list
}
