// Package sheet knows the columns of files: what the headings of a spreadsheet mean, how its cells become inputs, and
// how documents become cells. Each noun has one table with a line for each column: contact.go, gift.go, campaign.go.
// Everything else is shared.
//
// The rules about what a cell may say are those of crm. The package must not know the store, the formats of files, or
// HTTP.
package sheet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
)

// Sheet is the files of one noun.
type Sheet struct {
	columns  []column
	byTarget map[string]*column
	context  []string // meanings that go without saying
	written  []string // plain names of columns that our files have and no file gives
	own      []string // pairs of headings that no other system has
	readable bool     // headings are labels, unless a column has a heading of its own
	more     string   // targets that are not offered, in the words of a fault

	recognize func(s *Sheet, header []string, fields *custom.Fields, look *Look) Mapping
	check     func(s *Sheet, has func(target string) bool) (missing string)
}

// column is one line of a table. What a field has in the table of fields of crm need not be repeated.
type column struct {
	target  string // what a mapping calls it, with # for which of several; "" where it is only written
	label   string // what people call it, with %d for which of several
	means   string // the meanings that its headings have together (words.go), the best ones first
	kind    kind   // what its values look like
	path    string // what faults call it, where that is not the target
	giver   string // of a gift: what it is in a file of contacts
	repeats bool   // several columns may go there
	first   bool   // it tells how others are read
	isDay   bool   // it has days, or may have them
	late    bool   // of a gift: an earlier version did not know it, and has recorded rows by what else they say
	changes bool   // of a gift: a later file may say it otherwise of the same gift

	clean func(c *cell, text string) string  // makes what the field takes of what people write; "" says nothing
	read  func(r *row, c *cell, text string) // takes a cell that is not empty
	types map[string]string                  // of an email or a phone: what we call those that its heading may tell

	// in our own files, where that is not the target, with # for which of several, but for the first
	heading string
	before  string                      // the heading that our files had before, with # for which of several
	write   func(of *record, i int) any // makes a cell; nil where our files do not have it
	list    string                      // emails, phones, addresses or custom

	patterns []pattern // of means
}

// complete gives the lines of a table what the fields of the noun say, and fields that no line is about a line behind
// the others.
func complete(table, fields []column) []column {
	last := 0
	for _, f := range fields {
		i := slices.IndexFunc(table, func(c column) bool { return c.target == f.target })
		if i < 0 {
			last++
			table = slices.Insert(table, last, f)
			continue
		}
		c := &table[i]
		last = max(last, i)
		c.label = cmp.Or(c.label, f.label)
		if c.read == nil && c.giver == "" {
			c.read = f.read
		}
		if c.write == nil {
			c.write = f.write
		}
	}
	return table
}

func newSheet(s Sheet) *Sheet {
	s.byTarget = map[string]*column{}
	for i := range s.columns {
		c := &s.columns[i]
		if before, _, isList := strings.Cut(c.target, ".#"); isList {
			c.list = before
		}
		if s.readable && c.list == "" && c.heading == "" {
			c.heading, c.before = c.label, cmp.Or(c.before, c.target)
		}
		c.heading = cmp.Or(c.heading, c.target)
		if c.target == "" {
			s.written = append(s.written, plainName(cmp.Or(c.before, c.heading)))
			continue
		}
		if s.byTarget[c.target] = c; c.target == ownID {
			s.written = append(s.written, c.before)
		}
		c.patterns = parsePatterns(c.means)
	}
	return &s
}

// Column is a column of a file, and what becomes of it.
type Column struct {
	Name string `json:"column"` // as the header has it
	// first_name, emails.0.value, tags, custom.3, new:number, skip: see Sheet.Targets
	Target  string `json:"target"`
	Unknown bool   `json:"-"`               // no field is called so; it may become a custom field
	Doubt   string `json:"doubt,omitempty"` // of a column that is skipped: the target that it may be meant for

	score int // how likely its target is

	// of ids: the system that the file comes from, as a person has said
	Source string `json:"source,omitempty"`
	// what a person has said about values of the column, in small letters
	Values map[string]string `json:"values,omitempty"`
}

// Mapping is what the columns of a file mean, in their order.
type Mapping []Column

// Targets of every noun, or of no field.
const (
	Skip           = "skip"
	FullName       = "full_name" // split into a first and a last name
	NewFieldPrefix = "new:"      // a custom field of the type that follows, which is made before the import
	customTarget   = "custom.#"  // # is the id of a custom field
)

// CustomField is the target of a custom field.
func CustomField(id int64) string { return numbered(customTarget, id) }

func numbered(target string, n int64) string {
	return strings.Replace(target, "#", strconv.FormatInt(n, 10), 1)
}

// CustomField is the id of the custom field that a column goes to, 0 for none.
func (c *Column) CustomField() int64 {
	if number, ok := strings.CutPrefix(c.Target, "custom."); ok {
		id, _ := strconv.ParseInt(number, 10, 64)
		return id
	}
	return 0
}

// find is the line of a target, and which of several it is; ok is false where the target is none.
func (s *Sheet) find(target string) (c *column, n int64, ok bool) {
	if kind, isNew := strings.CutPrefix(target, NewFieldPrefix); isNew {
		return s.byTarget[Skip], 0, s.byTarget[customTarget] != nil &&
			slices.Contains(custom.FieldTypes, custom.FieldType(kind))
	}
	if c = s.byTarget[target]; c != nil {
		return c, 0, c.list == ""
	}
	list, rest, _ := strings.Cut(target, ".")
	number, part, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	if c = s.byTarget[strings.TrimSuffix(list+".#."+part, ".")]; c == nil || err != nil {
		return nil, 0, false
	}
	if list == "custom" {
		return c, n, n > 0
	}
	_, _, limit := crm.ContactList(list)
	return c, n, 0 <= n && n < int64(limit)
}

// offered is how many of each list a person may choose from. Those that are recognized may be more. Each column of a
// file lists all of them, so more would make the page long.
var offered = map[string]int{"": 1, "emails": 2, "phones": 2, "addresses": 1}

// Targets are what a person may choose for a column, in the order in which they are offered. Custom fields come after
// them.
func (s *Sheet) Targets() (targets []string) {
	s.each(offered, func(c *column, i int) {
		if c.target != "" && c.target != oneTag && c.target != ownID {
			targets = append(targets, numbered(c.target, int64(i)))
		}
	})
	return targets
}

// each goes through the lines of the table. Those of a list come again for each of its elements.
func (s *Sheet) each(lengths map[string]int, do func(c *column, i int)) {
	for rest := s.columns; len(rest) > 0; {
		list, n := rest[0].list, 1
		for list != "" && n < len(rest) && rest[n].list == list {
			n++
		}
		for i := range lengths[list] {
			for j := range rest[:n] {
				do(&rest[j], i)
			}
		}
		rest = rest[n:]
	}
}

// Label is what people call a target.
func (s *Sheet) Label(target string) string {
	if kind, ok := strings.CutPrefix(target, NewFieldPrefix); ok {
		return "New custom field: " + custom.FieldType(kind).Label()
	}
	c, n, ok := s.find(target)
	switch {
	case !ok:
		return target
	case c.list == "":
		return c.label
	case c.label != "":
		return fmt.Sprintf(c.label, n+1)
	}
	label, _ := crm.ContactTable.Label(target)
	return label
}

// Recognize tells what the columns of a file mean: by the words of their headings, in English, German, French and
// Spanish, and by what their values look like, where look has seen some. A column with the title of a custom field
// becomes that one; fields may be nil. A column that no field fits is skipped.
func (s *Sheet) Recognize(header []string, fields *custom.Fields, look *Look) Mapping {
	return s.recognize(s, header, fields, look)
}

// Check refuses a mapping with a target that is none, or that two columns have, and one that lacks what each row needs.
func (s *Sheet) Check(m Mapping) error {
	v := new(doc.Invalid)
	taken := map[string]string{}
	for _, c := range m {
		to, _, ok := s.find(c.Target)
		other, again := taken[c.Target]
		switch {
		case !ok:
			v.Add(c.Name, "cannot become %q: choose one of %v", c.Target, strings.Join(s.Targets(), ", ")+s.more)
		case again && !to.repeats:
			v.Add(c.Name, "must not become %v, because the column %v does", c.Target, other)
		}
		taken[c.Target] = c.Name
	}
	if missing := s.check(s, func(target string) bool {
		_,
			found := taken[target]
		return found
	}); len(v.Faults) == 0 && missing != "" {
		v.Add("", "%v", missing)
	}
	return v.Err()
}

// With is a mapping with what a person says about some columns, such as "Spalte=first_name,Other=skip". A column is
// called by its name in any letter case, in quotes if it has a comma, or by its number: #3. Behind its name and a
// colon, one of its values gets a meaning: "Paid by:Bitcoin=other".
func (s *Sheet) With(m Mapping, text string) (Mapping, error) {
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
		if of, value := m.findValue(name); i < 0 && of >= 0 {
			m[of] = m[of].Meaning(value, to)
			continue
		}
		c, _, ok := s.find(to)
		switch {
		case i < 0:
			return nil, fault("The file has no column %q. Its columns are: %v.", name, strings.Join(m.names(), ", "))
		case !ok:
			return nil, fault("The column %q cannot become %q.", name, to)
		}
		for j := range m { // what a person says counts more than what was recognized
			if m[j].Target == to && !c.repeats {
				m[j].Target = Skip
			}
		}
		m[i].Target = to
	}
	return m, nil
}

func fault(rule doc.Rule, args ...any) error {
	v := new(doc.Invalid)
	v.Add("", rule, args...)
	return v
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
		return "", "", fault("The mapping must be like Column=first_name,Other=skip. %q has no =.", text)
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

// findValue is the place of the column that a name and a colon begin with, -1 where there is none, and the value behind
// it.
func (m Mapping) findValue(name string) (at int, value string) {
	for i, r := range name {
		if at := m.find(strings.TrimSpace(name[:i])); r == ':' && at >= 0 {
			return at, strings.TrimSpace(name[i+1:])
		}
	}
	return -1, ""
}

// Meaning is the column with what one of its values means. With "" no one has said it.
func (c Column) Meaning(value, meaning string) Column {
	values, key := maps.Clone(c.Values), strings.ToLower(strings.TrimSpace(value))
	if values == nil {
		values = map[string]string{}
	}
	if values[key] = meaning; meaning == "" {
		delete(values, key)
	}
	c.Values = values
	return c
}

// has tells whether a column goes to one of the targets.
func (m Mapping) has(targets ...string) bool {
	return slices.ContainsFunc(m, func(c Column) bool { return slices.Contains(targets, c.Target) })
}

// isOwn tells by its headings that a file is an export of ours.
func (s *Sheet) isOwn(m Mapping) bool {
	for pair := range slices.Chunk(s.own, 2) {
		if m.find(pair[0]) >= 0 && m.find(pair[1]) >= 0 {
			return true
		}
	}
	return false
}

// headingOf is the heading of a column in our own files. That of the first of several has no number.
func headingOf(heading string, i int) string {
	if i == 0 {
		return strings.Replace(heading, " #", "", 1)
	}
	return numbered(heading, int64(i+1))
}

// ownHeading is the target of a column of an export of ours, "" for none.
func (s *Sheet) ownHeading(name string) string {
	for i := range s.columns {
		c := &s.columns[i]
		if c.write == nil || c.target == "" || c.list == "custom" {
			continue
		}
		most := 1
		if c.list != "" {
			_, _, most = crm.ContactList(c.list)
		}
		for n := range most {
			if strings.EqualFold(name, headingOf(c.heading, n)) || c.before != "" &&
				strings.EqualFold(name, numbered(c.before, int64(n+1))) {
				return numbered(c.target, int64(n))
			}
		}
	}
	return ""
}

func (m Mapping) names() []string {
	names := make([]string, 0, len(m))
	for _, c := range m {
		names = append(names, c.Name)
	}
	return names
}

// WithUnknown is the mapping in which each column that is skipped, and that no field is called like, becomes a custom
// field of the type that fits the first values of the column.
func (s *Sheet) WithUnknown(m Mapping, fields *custom.Fields, values func(column int) []string) Mapping {
	m = slices.Clone(m)
	for i, c := range s.Recognize(m.names(), fields, nil) {
		if c.Unknown && m[i].Target == Skip && s.byTarget[customTarget] != nil {
			m[i].Target = NewFieldPrefix + string(custom.GuessType(values(i)))
		}
	}
	return m
}
