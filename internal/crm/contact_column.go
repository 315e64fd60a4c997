package crm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Column is a column of a file, and what becomes of it.
type Column struct {
	Name    string `json:"column"` // as the header has it
	Target  string `json:"target"` // first_name, emails.0.value, tags, custom.3, new:number, skip: see Targets and GiftTargets
	Unknown bool   `json:"-"`      // no field is called so; it may become a custom field
}

// Mapping is what the columns of a file mean, in their order.
type Mapping []Column

// Targets that are no field of a contact.
const (
	SkipColumn     = "skip"
	FullNameColumn = "full_name" // split into a first and a last name
	NewFieldPrefix = "new:"      // a custom field of the type that follows, which is made before the import
	customPrefix   = "custom."   // the id of a custom field follows
	oneTag         = "tag"       // a column that has one tag, and no separator
	wholeAddress   = "whole"     // of an address: all of it in one cell
	zipAndCity     = "zip_city"  // of an address: 10115 Berlin
	houseNumber    = "house"     // of an address: behind the street
)

// textTargets are the fields that take one cell.
var textTargets = []string{"first_name", "middle_name", "last_name", FullNameColumn, "dob", "company", "title", "note", "tags", oneTag, "twitter_url", "linkedin_url", "facebook_url"}

// CustomColumn is the target of a custom field.
func CustomColumn(field int64) string { return customPrefix + strconv.FormatInt(field, 10) }

// CustomField is the id of the custom field that a column goes to, 0 for none.
func (c *Column) CustomField() int64 {
	t, _ := parseTarget(c.Target)
	return t.field
}

// target is where a column goes, read from its text.
type target struct {
	list  string // emails, phones, addresses, custom; "" where name is a field of its own
	index int    // of an element of the list
	name  string // of the field or of the part
	field int64  // a custom field
}

// parseTarget reads a target; ok is false where it is none.
func parseTarget(text string) (t target, ok bool) {
	if text == SkipColumn || slices.Contains(textTargets, text) {
		return target{name: text}, true
	}
	if kind, found := strings.CutPrefix(text, NewFieldPrefix); found {
		return target{name: SkipColumn}, slices.Contains(FieldTypes, FieldType(kind))
	}
	list, rest, _ := strings.Cut(text, ".")
	number, part, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return t, false
	}
	t = target{list: list, index: int(n), name: part}
	switch list {
	case "custom":
		t.field = n
		return t, part == "" && n > 0
	case "emails", "phones":
		return t, n < maxEmails && (part == "value" || part == "type")
	case "addresses":
		return t, n < maxEmails && (addressTable.find(part) != nil || slices.Contains([]string{wholeAddress, zipAndCity, houseNumber}, part))
	}
	return t, false
}

// targetKnown tells whether a text is a target, and whether several columns may have it.
type targetKnown func(text string) (repeats, ok bool)

func contactTarget(text string) (repeats, ok bool) {
	t, ok := parseTarget(text)
	return t.repeats(), ok
}

// Check refuses a mapping with a target that is none, or that two columns have, and one without a name.
func (m Mapping) Check() error {
	v := new(Invalid)
	has := m.check(v, contactTarget, strings.Join(textTargets, ", ")+", emails.0.value, phones.0.value, addresses.0.city and the like, custom.ID, new:TYPE or skip")
	if len(v.Faults) == 0 && !has(FullNameColumn) && (!has("first_name") || !has("last_name")) {
		v.Add("", "No column has the first and the last name. Choose a column for the first name and one for the last name, or one for the full name.")
	}
	return v.Err()
}

// check adds a fault for each column whose target is none of the choices, or that of another column. has tells whether a column has a target.
func (m Mapping) check(v *Invalid, known targetKnown, choices string) (has func(target string) bool) {
	taken := map[string]string{}
	for _, c := range m {
		repeats, ok := known(c.Target)
		other, again := taken[c.Target]
		switch {
		case !ok:
			v.Add(c.Name, "cannot become %q: choose one of %v", c.Target, choices)
		case again && !repeats:
			v.Add(c.Name, "must not become %v, because the column %v does", c.Target, other)
		}
		taken[c.Target] = c.Name
	}
	return func(target string) bool { _, found := taken[target]; return found }
}

// repeats tells whether several columns may go there.
func (t target) repeats() bool {
	return t.list == "" && slices.Contains([]string{SkipColumn, "tags", oneTag, "note"}, t.name) || t.name == "address_2"
}

// Skipped are the names of the columns that are not imported.
func (m Mapping) Skipped() (names []string) {
	for _, c := range m {
		if c.Target == SkipColumn && c.Name != "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// With is the mapping with what a person says about some columns, such as "Spalte=first_name,Other=skip". A column is called by its name in
// any letter case, in quotes if it has a comma, or by its number: #3.
func (m Mapping) With(text string) (Mapping, error) { return m.with(text, contactTarget) }

// WithGifts is With for a file of gifts.
func (m Mapping) WithGifts(text string) (Mapping, error) { return m.with(text, giftTarget) }

func (m Mapping) with(text string, known targetKnown) (Mapping, error) {
	m = slices.Clone(m)
	for text != "" {
		name, rest, err := mapName(text)
		if err != nil {
			return nil, err
		}
		var to string
		to, text, _ = strings.Cut(rest, ",")
		to = strings.TrimSpace(to)
		i := m.find(name)
		repeats, ok := known(to)
		switch {
		case i < 0:
			return nil, invalid("", "The file has no column %q. Its columns are: %v.", name, strings.Join(m.names(), ", "))
		case !ok:
			return nil, invalid("", "The column %q cannot become %q.", name, to)
		}
		for j := range m { // what a person says counts more than what was guessed
			if m[j].Target == to && !repeats {
				m[j].Target = SkipColumn
			}
		}
		m[i].Target = to
	}
	return m, nil
}

// mapName takes the name of a column and the = after it from a text.
func mapName(text string) (name, rest string, err error) {
	text = strings.TrimSpace(text)
	found := false
	if quoted, isQuoted := strings.CutPrefix(text, `"`); isQuoted {
		name, rest, found = strings.Cut(quoted, `"=`)
	} else {
		name, rest, found = strings.Cut(text, "=")
	}
	if !found {
		return "", "", invalid("", "The mapping must be like Column=first_name,Other=skip. %q has no =.", text)
	}
	return strings.TrimSpace(name), rest, nil
}

// find is the place of the column with a name or a number, -1 where there is none.
func (m Mapping) find(name string) int {
	if i := slices.IndexFunc(m, func(c Column) bool { return strings.EqualFold(c.Name, name) }); i >= 0 {
		return i
	}
	if number, ok := strings.CutPrefix(name, "#"); ok {
		if n, err := strconv.Atoi(number); err == nil && 0 < n && n <= len(m) {
			return n - 1
		}
	}
	return -1
}

func (m Mapping) names() []string {
	names := make([]string, 0, len(m))
	for _, c := range m {
		names = append(names, c.Name)
	}
	return names
}

// TargetLabel is what people call a target.
func TargetLabel(text string) string {
	switch text {
	case SkipColumn:
		return "Do not import"
	case FullNameColumn:
		return "Full name"
	case oneTag:
		return "One tag"
	}
	if kind, ok := strings.CutPrefix(text, NewFieldPrefix); ok {
		return "New custom field: " + FieldType(kind).Label()
	}
	t, ok := parseTarget(text)
	if !ok {
		return text
	}
	switch {
	case t.name == "type":
		return fmt.Sprintf("%s %d type", map[string]string{"emails": "Email", "phones": "Phone"}[t.list], t.index+1)
	case t.name == wholeAddress:
		return fmt.Sprintf("Address %d, all in one", t.index+1)
	case t.name == zipAndCity:
		return fmt.Sprintf("Address %d postal code and city", t.index+1)
	case t.name == houseNumber:
		return fmt.Sprintf("Address %d house number", t.index+1)
	}
	label, _ := contactTable.label(text)
	return label
}

// Targets are what a person may choose for a column, in the order in which they are offered: so many emails, phones and addresses.
func Targets(emails, phones, addresses int) (targets []string) {
	targets = append(targets, SkipColumn)
	targets = append(targets, slices.DeleteFunc(slices.Clone(textTargets), func(name string) bool { return name == oneTag })...)
	for _, list := range []struct {
		name  string
		n     int
		parts []string
	}{
		{"emails", emails, []string{"value", "type"}}, {"phones", phones, []string{"value", "type"}},
		{"addresses", addresses, append(addressTable.names(), wholeAddress, zipAndCity, houseNumber)},
	} {
		for i := range list.n {
			for _, part := range list.parts {
				targets = append(targets, elementOf(list.name, i).field(part))
			}
		}
	}
	return targets
}
