package crm

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ContactFilter is which contacts a list shows, and in which order. What is empty filters nothing.
type ContactFilter struct {
	Email, Phone, PrimaryEmail string // match keys
	Tags                       []string
	Search                     Search
	Created, Updated           Window
	FirstName, LastName        string // compared without regard to letter case and marks
	Given                      Bounds // of the total of contributions
	None                       bool   // a value was asked for that no contact can have
	Sort                       ContactSort
}

// Window is a stretch of time. Its end does not belong to it; a zero time is no bound.
type Window struct{ From, To time.Time }

// IsEmpty tells whether every time is in the window.
func (w Window) IsEmpty() bool { return w == Window{} }

// Has tells whether a time is in the window.
func (w Window) Has(t time.Time) bool {
	return !t.Before(w.From) && (w.To.IsZero() || t.Before(w.To))
}

// Bounds are the least and the greatest number, both included; nil is no bound.
type Bounds struct{ Min, Max *int64 }

// IsEmpty tells whether every number is within the bounds.
func (b Bounds) IsEmpty() bool { return b == Bounds{} }

// Has tells whether a number is within the bounds.
func (b Bounds) Has(n int64) bool {
	return (b.Min == nil || n >= *b.Min) && (b.Max == nil || n <= *b.Max)
}

// ContactSort is the order of a list of contacts. Those that are equal are in the order of their ids; descending is the exact reverse of
// ascending.
type ContactSort struct {
	By         SortField
	Descending bool
}

// SortField is what contacts are sorted by.
type SortField string

// What contacts can be sorted by; "" is the id.
const (
	ByID       SortField = ""
	ByCreation SortField = "created_at"
	ByUpdate   SortField = "updated_at"
	ByName     SortField = "last_name"
)

// Compare tells which of two contacts comes first.
func (s ContactSort) Compare(a, b *Contact) int {
	n := 0
	switch s.By {
	case ByCreation:
		n = a.CreatedAt.Compare(b.CreatedAt)
	case ByUpdate:
		n = a.UpdatedAt.Compare(b.UpdatedAt)
	case ByName:
		n = strings.Compare(a.SortName(), b.SortName())
	}
	if n = cmp.Or(n, cmp.Compare(a.ID, b.ID)); s.Descending {
		return -n
	}
	return n
}

// Keys are the match keys that a contact must have.
func (f *ContactFilter) Keys() []string {
	return withoutEmpty([]string{f.Email, f.Phone, f.PrimaryEmail})
}

// ByKeyAlone tells whether a contact that has the one match key of the filter passes.
func (f *ContactFilter) ByKeyAlone() bool {
	rest := *f
	rest.Email, rest.Phone = "", ""
	return (f.Email == "") != (f.Phone == "") && rest.passesAll()
}

// ByTagAlone is the one tag that the filter names, where it names nothing else and sorts by id.
func (f *ContactFilter) ByTagAlone() (tag string, ok bool) {
	rest := *f
	rest.Tags = nil
	if len(f.Tags) != 1 || f.Sort.By != ByID || !rest.passesAll() {
		return "", false
	}
	return f.Tags[0], true
}

// IsEmpty tells whether the list is that of all contacts, oldest first.
func (f *ContactFilter) IsEmpty() bool { return f.Sort == ContactSort{} && f.passesAll() }

// passesAll tells whether every contact passes.
func (f *ContactFilter) passesAll() bool {
	return !f.None && f.Email == "" && f.Phone == "" && f.PrimaryEmail == "" && len(f.Tags) == 0 && f.Search.IsEmpty() &&
		f.Created.IsEmpty() && f.Updated.IsEmpty() && f.FirstName == "" && f.LastName == "" && f.Given.IsEmpty()
}

// Matches tells whether a contact passes. It is the rule that the store follows.
func (f *ContactFilter) Matches(c *Contact) bool {
	has := func(key string) bool { return key == "" || containsSorted(c.MatchKeys, key) }
	return !f.None && has(f.Email) && has(f.Phone) &&
		(f.PrimaryEmail == "" || len(c.Emails) > 0 && f.PrimaryEmail == emailPrefix+foldCase(c.Emails[0].Value)) &&
		(f.FirstName == "" || fold(f.FirstName) == fold(c.FirstName)) && (f.LastName == "" || fold(f.LastName) == fold(c.LastName)) &&
		f.Created.Has(c.CreatedAt) && f.Updated.Has(c.UpdatedAt) && f.Given.Has(c.Stats.TotalContributions) &&
		!slices.ContainsFunc(f.Tags, func(tag string) bool { return !slices.Contains(c.Tags, tag) }) &&
		(f.Search.IsEmpty() || f.Search.Finds(c.SearchWords()))
}

// Names is the sort names of all contacts with the last name, and with the first name where there is one. Where it is not exact, there
// may be others in it.
func (f *ContactFilter) Names() (names KeyRange, exact bool) {
	first, last := sortable(f.FirstName), sortable(f.LastName)
	exact = len(last)+len(first) < maxSortName && !strings.Contains(last+first, "\x02") && (first != "" || f.FirstName == "")
	return NameRange(f.LastName, f.FirstName), exact
}

// MayBeFirstName tells whether a contact with a sort name can have the first name.
func (f *ContactFilter) MayBeFirstName(sortName string) bool {
	return strings.HasSuffix(sortName, betweenNames+sortable(f.FirstName)) || len(sortName) > maxSortName-utf8.UTFMax
}

// FirstNameSearch finds the contacts that have all words of the first name somewhere; ok is false where it has no word.
func (f *ContactFilter) FirstNameSearch() (s Search, ok bool) {
	for _, word := range words(f.FirstName) {
		s.add(SearchTerm{{{Text: searchWord(word)}}})
	}
	return s, len(s.Terms) > 0
}

// The limits of a filter.
const (
	maxFilterTags   = 20 // each costs a look at a set
	maxFilterDigits = 15 // which every client holds exactly
)

// contactParameter is a query parameter of the list of contacts. Every one is known by its name in camel case, too.
type contactParameter struct {
	name    string
	aliases []string
	read    func(r *filterReader, name, text string)
	many    bool // it may be sent again with another value
	empty   bool // an empty value counts as omitted
}

var contactParameters = []contactParameter{
	{name: "email", read: func(r *filterReader, _, text string) { r.Email = r.email(text) }},
	{name: "phone", read: func(r *filterReader, _, text string) { r.Phone = r.phone(text) }},
	{name: "tag", aliases: tagLists(), read: (*filterReader).tag, many: true},
	{name: "q", read: (*filterReader).search},
	{name: "created_after", read: func(r *filterReader, name, text string) { r.Created.From = filterTime(&r.Invalid, name, text) }},
	{name: "created_before", read: func(r *filterReader, name, text string) { r.Created.To = filterTime(&r.Invalid, name, text) }},
	{name: "updated_after", read: func(r *filterReader, name, text string) { r.Updated.From = filterTime(&r.Invalid, name, text) }},
	{name: "updated_before", read: func(r *filterReader, name, text string) { r.Updated.To = filterTime(&r.Invalid, name, text) }},
	{name: "first_name", read: func(r *filterReader, _, text string) { r.FirstName = r.personName(text) }},
	{name: "last_name", read: func(r *filterReader, _, text string) { r.LastName = r.personName(text) }},
	{name: "primary_email", read: func(r *filterReader, _, text string) { r.PrimaryEmail = r.email(text) }},
	{name: "total_contributions_min", read: func(r *filterReader, name, text string) { r.Given.Min = r.number(name, text) }},
	{name: "total_contributions_max", read: func(r *filterReader, name, text string) { r.Given.Max = r.number(name, text) }},
	{name: "sort", aliases: []string{"sortBy", sortDescending}, read: (*filterReader).sort, empty: true},
}

// tagLists are the names under which some libraries send a list of tags.
func tagLists() []string {
	names := []string{"tag[]"}
	for i := range maxFilterTags + 1 {
		names = append(names, fmt.Sprintf("tag[%d]", i))
	}
	return names
}

// sortDescending sorts in descending order without a sign.
const sortDescending = "sortByDesc"

// contactParameterNames finds a parameter by each of its names.
var contactParameterNames = func() map[string]int {
	names := map[string]int{}
	for i, p := range contactParameters {
		for _, name := range append(p.aliases, p.name, camelCase(p.name)) {
			names[name] = i
		}
	}
	return names
}()

// ContactParameters are the names of the query parameters by which a list of contacts is filtered and sorted.
func ContactParameters() []string {
	names := make([]string, 0, len(contactParameterNames))
	for name := range contactParameterNames {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// camelCase is created_after as createdAfter.
func camelCase(name string) string {
	parts := strings.Split(name, "_")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "")
}

// ParseContactFilter reads the query parameters of a list of contacts, in the order in which they were sent. Nothing that is wrong is
// ignored: a list of all contacts must never be taken for the answer. Phone numbers without + are those of the region.
func ParseContactFilter(sent iter.Seq2[string, string], region string) (ContactFilter, error) {
	var r filterReader
	r.region = region
	for name, value := range sent {
		if i, ok := contactParameterNames[name]; ok {
			r.take(i, name, value)
		}
	}
	return r.ContactFilter, r.Err()
}

// filterReader reads a filter, and notes what is wrong with it.
type filterReader struct {
	ContactFilter
	Invalid
	region string
	seen   map[int]sentParameter
	spaced bool // the value that is read began with a space, which may be a + that was not escaped
}

// sentParameter is a parameter as it was first sent.
type sentParameter struct{ name, value string }

func (r *filterReader) take(i int, name, value string) {
	p := &contactParameters[i]
	if name == sortDescending && value != "" { // as sort writes it
		value = "-" + value
	}
	text := strings.TrimSpace(value)
	if text == "" {
		if !p.empty {
			r.add(place{}, name, FilterEmpty)
		}
		return
	}
	if broken := textRule(text); broken != "" {
		r.add(place{}, name, broken)
		return
	}
	if first, again := r.seen[i]; again && !p.many {
		switch {
		case first.value == value:
		case first.name == name:
			r.add(place{}, name, SentTwice)
		default:
			r.add(place{}, name, SentAs, first.name, name)
		}
		return
	}
	if r.seen == nil {
		r.seen = map[int]sentParameter{}
	}
	r.seen[i] = sentParameter{name, value}
	r.spaced = strings.HasPrefix(value, " ")
	p.read(r, name, text)
}

// email is the match key of an email. A text that is none belongs to no contact.
func (r *filterReader) email(text string) string {
	normal, ok := normalEmail(strings.ReplaceAll(text, " ", "+")) // a + that was not escaped
	if !ok {
		r.None = true
		return ""
	}
	return emailPrefix + normal
}

// phone is the match key of a phone number. A text that is none belongs to no contact, nor does a number without its area code.
func (r *filterReader) phone(text string) string {
	normal := ""
	if r.spaced {
		normal, _ = normalPhone("+"+text, r.region)
	}
	if normal == "" {
		normal, _ = normalPhone(text, r.region)
	}
	if normal == "" {
		r.None = true
		return ""
	}
	return phonePrefix + normal
}

// tag adds a tag, unless there are too many already. One that no contact can have is not looked for.
func (r *filterReader) tag(name, text string) {
	if r.None = r.None || !IsTagName(text); r.None || len(r.Tags) > maxFilterTags {
		return
	}
	if r.Tags = distinct(append(r.Tags, text)); len(r.Tags) > maxFilterTags {
		r.add(place{}, name, SentTooOften, maxFilterTags)
	}
}

// personName is a name, unless it is longer than that of any contact.
func (r *filterReader) personName(text string) string {
	r.None = r.None || isLonger(text, maxText)
	return cut(text, utf8.UTFMax*maxText)
}

func (r *filterReader) search(_, text string) {
	r.Search = ParseSearch(text, r.region)
	r.None = r.None || len(r.Search.Terms) == 0 // nothing in it can be searched for
}

func (r *filterReader) number(name, text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(strings.TrimLeft(text, "+-")) > maxFilterDigits {
		r.add(place{}, name, WholeNumber, maxFilterDigits)
	}
	return &n
}

func (r *filterReader) sort(name, text string) {
	field, descending := strings.CutPrefix(text, "-")
	for _, by := range []SortField{"id", ByCreation, ByUpdate, ByName} {
		if field == string(by) || field == camelCase(string(by)) {
			if by == "id" {
				by = ByID
			}
			r.Sort = ContactSort{by, descending}
			return
		}
	}
	if name == sortDescending {
		r.add(place{}, name, OneOf, "id, created_at, updated_at, last_name")
		return
	}
	r.add(place{}, name, SortRule)
}
