// Package find has what contacts are listed and found by: filters, orders, searches, the words that an index keeps of a
// contact, and segments. It changes no contact.
package find

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// Filter is which contacts a list shows, and in which order. What is empty filters nothing.
type Filter struct {
	Email, Phone, PrimaryEmail string   // match keys
	Tags, AnyTag, NoTag        []string // all of them, at least one of them, none of them
	Search                     Search
	Created, Updated           Window
	FirstName, LastName        string       // compared without regard to letter case and marks
	City, Zip                  string       // search words of an address; a ZIP code may go on
	Has, Lacks                 []crm.Detail // of which a contact has at least one, or none
	Marked, Unmarked           []string     // marks that a contact has, or has not
	ExternalID                 string       // the value, of any source
	// of the total of contributions, in ten-thousandths until the currency is known (InMinor)
	Given  Bounds
	Gave   GaveFilter
	NoGift Window   // in which no gift counts
	Plans  []string // statuses, of which a plan has one
	Custom []FieldFilter
	Import int64 // those that an import has created, by its number; 0 for all
	Merged bool  // also contacts that were merged into others, which are among the archived ones
	None   bool  // a value was asked for that no contact can have
	Sort   Sort
}

// GaveFilter asks for contacts with a gift that counts: to a campaign, 0 for any, and in a stretch of time. One gift
// must be both.
type GaveFilter struct {
	Campaign int64
	When     Window
}

// IsEmpty tells whether gifts do not matter.
func (f GaveFilter) IsEmpty() bool { return f == GaveFilter{} }

// Has tells whether a gift is such as is asked for.
func (f GaveFilter) Has(g *giving.Gift) bool {
	return g.Net() > 0 && (f.Campaign == 0 || f.Campaign == g.Campaign) && f.When.Has(g.Local)
}

// AsksGiving tells whether gifts or plans matter, which are not in the document of a contact.
func (f *Filter) AsksGiving() bool {
	return !f.Gave.IsEmpty() || !f.NoGift.IsEmpty() || len(f.Plans) > 0
}

// Window is a stretch of time. Its end does not belong to it; a zero time is no bound.
type Window struct{ From, To time.Time }

// IsEmpty tells whether every time is in the window.
func (w Window) IsEmpty() bool { return w == Window{} }

// Has tells whether a time is in the window.
func (w Window) Has(t time.Time) bool {
	return !t.Before(w.From) && (w.To.IsZero() || t.Before(w.To))
}

// ByClock is the window as the clock of an organization shows its bounds. A bound at the first moment of a day in UTC
// is a day of the organization.
func (w Window) ByClock(zone *time.Location) Window {
	for _, bound := range []*time.Time{&w.From, &w.To} {
		if !bound.Equal(bound.Truncate(24 * time.Hour)) {
			*bound = text.WallClock(*bound, zone)
		}
	}
	return w
}

// OfDays is the window of a person who has named days: a bound at the first moment of a day in UTC is the first moment
// of that day in the zone.
func (w Window) OfDays(zone *time.Location) Window {
	for _, bound := range []*time.Time{&w.From, &w.To} {
		if !bound.IsZero() && bound.Equal(bound.Truncate(24*time.Hour)) {
			year, month, day := bound.UTC().Date()
			*bound = time.Date(year, month, day, 0, 0, 0, 0, zone).UTC()
		}
	}
	return w
}

// Bounds are the least and the greatest number, both included; nil is no bound.
type Bounds struct{ Min, Max *int64 }

// InMinor are bounds in ten-thousandths as those of amounts in the smallest unit of a currency.
func (b Bounds) InMinor(currency string) Bounds {
	step := text.ScaleOf(text.SentDecimals - text.Decimals(currency))
	down := func(n int64) *int64 { // rounded down, also below zero
		minor := n / step
		if n%step < 0 {
			minor--
		}
		return &minor
	}
	if b.Min != nil {
		low := down(*b.Min + step - 1)
		b.Min = low
	}
	if b.Max != nil {
		b.Max = down(*b.Max)
	}
	return b
}

// IsEmpty tells whether every number is within the bounds.
func (b Bounds) IsEmpty() bool { return b == Bounds{} }

// Has tells whether a number is within the bounds.
func (b Bounds) Has(n int64) bool {
	return (b.Min == nil || n >= *b.Min) && (b.Max == nil || n <= *b.Max)
}

// Sort is the order of a list of contacts. Those that are equal are in the order of their ids; descending is the exact
// reverse of ascending.
type Sort struct {
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
	ByTotal    SortField = "total_contributions"
	ByLastGift SortField = "last_gift"
)

// SortFields are all of them, as a list is asked to be sorted.
var SortFields = []SortField{"id", ByCreation, ByUpdate, ByName, ByTotal, ByLastGift}

// Compare tells which of two contacts comes first.
func (s Sort) Compare(a, b *crm.Contact) int {
	n := 0
	switch s.By {
	case ByCreation:
		n = a.CreatedAt.Compare(b.CreatedAt)
	case ByUpdate:
		n = a.UpdatedAt.Compare(b.UpdatedAt)
	case ByName:
		n = strings.Compare(SortName(a), SortName(b))
	case ByTotal:
		n = cmp.Compare(a.Given, b.Given)
	case ByLastGift:
		n = a.LastGift.Compare(b.LastGift) // of those who never gave it is the zero time
	}
	if n = cmp.Or(n, cmp.Compare(a.ID, b.ID)); s.Descending {
		return -n
	}
	return n
}

// Keys are the match keys that a contact must have.
func (f *Filter) Keys() []string {
	return crm.WithoutEmpty([]string{f.Email, f.Phone, f.PrimaryEmail})
}

// IsEmpty tells whether the list is that of all contacts, oldest first.
func (f *Filter) IsEmpty() bool {
	return f.Sort == Sort{} && !f.None && f.Email == "" && f.Phone == "" && f.PrimaryEmail == "" &&
		len(f.Tags)+len(f.AnyTag)+len(f.NoTag) == 0 && f.Search.IsEmpty() &&
		f.Created.IsEmpty() && f.Updated.IsEmpty() && f.FirstName == "" && f.LastName == "" && f.City == "" &&
		f.Zip == "" &&
		len(f.Has)+len(f.Lacks)+len(f.Custom)+len(f.Marked)+len(f.Unmarked) == 0 && f.ExternalID == "" &&
		f.Given.IsEmpty() && !f.AsksGiving() && f.Import == 0
}

// Matches tells whether a contact passes. gave tells whether its gifts and plans are such as the filter asks for. It is
// the rule that the store follows. Which import has created a contact is not in its document: the store leaves out the
// others before.
func (f *Filter) Matches(c *crm.Contact, gave bool) bool {
	has := func(key string) bool { return key == "" || crm.ContainsSorted(c.MatchKeys, key) }
	return !f.None && has(f.Email) && has(f.Phone) &&
		(f.PrimaryEmail == "" || len(c.Emails) > 0 && f.PrimaryEmail == crm.EmailPrefix+
			text.FoldEmail(c.Emails[0].Value)) &&
		f.matchesName(c) && f.matchesID(c) && f.matchesMarks(c) &&
		f.Created.Has(c.CreatedAt) && f.Updated.Has(c.UpdatedAt) && f.Given.Has(c.Given) && (gave || !f.AsksGiving()) &&
		f.matchesTags(c) && f.matchesPlace(c) && f.matchesDetails(c) && f.matchesCustom(c) &&
		(f.Search.IsEmpty() || f.Search.Finds(SearchWords(c)))
}

// matchesName compares the names of people. A company is found by the search.
func (f *Filter) matchesName(c *crm.Contact) bool {
	same := func(asked, is string) bool { return asked == "" || !c.IsCompany && text.Fold(asked) == text.Fold(is) }
	return same(f.FirstName, c.FirstName) && same(f.LastName, c.LastName)
}

func (f *Filter) matchesID(c *crm.Contact) bool {
	has := func(id crm.ExternalID) bool { return id.Value == f.ExternalID }
	return f.ExternalID == "" || slices.ContainsFunc(c.ExternalIDs, has)
}

func (f *Filter) matchesMarks(c *crm.Contact) bool {
	has := func(mark string) bool { return slices.Contains(c.Marked(), mark) }
	lacks := func(mark string) bool { return !has(mark) }
	return !slices.ContainsFunc(f.Marked, lacks) && !slices.ContainsFunc(f.Unmarked, has)
}

func (f *Filter) matchesTags(c *crm.Contact) bool {
	has := func(tag string) bool { return slices.Contains(c.Tags, tag) }
	lacks := func(tag string) bool { return !has(tag) }
	return !slices.ContainsFunc(f.Tags, lacks) && (len(f.AnyTag) == 0 || slices.ContainsFunc(f.AnyTag, has)) &&
		!slices.ContainsFunc(f.NoTag, has)
}

// matchesPlace compares city and ZIP code each with all addresses.
func (f *Filter) matchesPlace(c *crm.Contact) bool {
	city, zip := f.City == "", f.Zip == ""
	for i := range c.Addresses {
		city = city || cityWord(c.Addresses[i].City) == f.City
		zip = zip || strings.HasPrefix(zipWord(c.Addresses[i].Zipcode), f.Zip)
	}
	return city && zip
}

func (f *Filter) matchesDetails(c *crm.Contact) bool {
	lacks := func(d crm.Detail) bool { return !c.HasDetail(d) }
	return !slices.ContainsFunc(f.Has, lacks) && !slices.ContainsFunc(f.Lacks, c.HasDetail)
}

func (f *Filter) matchesCustom(c *crm.Contact) bool {
	var has []string
	for _, v := range c.Custom {
		word, _ := fieldValueWord(v.Field, v.Text())
		has = append(has, FieldWord(v.Field), word)
	}
	lacks := func(asked FieldFilter) bool {
		return !slices.ContainsFunc(asked.Words, func(word string) bool { return slices.Contains(has, word) })
	}
	return !slices.ContainsFunc(f.Custom, lacks)
}

// FieldFilter asks for contacts with a value in a custom field.
type FieldFilter struct {
	Field  int64
	Words  []string // of the value, of which a contact has one
	common bool     // they are common words, and no search words
}

// AnyValue is what asks for contacts that have any value in a custom field.
const AnyValue = "*"

// filterField asks for a value as it was sent.
func filterField(id int64, text string) FieldFilter {
	word, common := fieldValueWord(id, text)
	f := FieldFilter{id, []string{word}, common}
	switch {
	case text == AnyValue:
		f = FieldFilter{id, []string{FieldWord(id)}, true}
	case strings.EqualFold(text, "true"):
		f.also("Yes")
	case strings.EqualFold(text, "false"):
		f.also("No")
	}
	return f
}

// also takes another value, which is common as well.
func (f *FieldFilter) also(text string) {
	word, _ := fieldValueWord(f.Field, text)
	f.Words = append(f.Words, word)
}

// LongFirstName tells that contacts with other names may have the word of the first name.
func (f *Filter) LongFirstName() bool {
	return len(firstNameWord(f.FirstName)) > maxWord-utf8.UTFMax
}

// CommonWords are common words of which a contact must have one each: those of marks, the city and custom fields.
func (f *Filter) CommonWords() (all [][]string) {
	for _, mark := range f.Marked {
		all = append(all, []string{markWord(mark)})
	}
	if f.City != "" {
		all = append(all, []string{f.City})
	}
	for _, field := range f.Custom {
		if field.common {
			all = append(all, field.Words)
		}
	}
	return all
}

// AbsentWords are common words of which a contact must have none.
func (f *Filter) AbsentWords() (words []string) {
	for _, mark := range f.Unmarked {
		words = append(words, markWord(mark))
	}
	return words
}

// ZipArea is what one of the common words of a contact begins with where a ZIP code is asked for by its first digits
// alone.
func (f *Filter) ZipArea() (start string, ok bool) {
	return f.Zip, f.Zip != "" && len(f.Zip) <= maxArea
}

// WordSearch is what the search words of contacts answer: the search, a first name, a ZIP code and values of custom
// fields. It is one search, since a database compares its lists of words faster than it hands them out.
func (f *Filter) WordSearch() Search {
	all := Search{Text: f.Search.Text, Terms: slices.Clone(f.Search.Terms)}
	add := func(text string, word SearchWord) {
		all.Text, all.Terms = all.Text+text, append(all.Terms, SearchTerm{{word}})
	}
	if f.FirstName != "" && f.LastName == "" { // otherwise both are found by the sort name
		add(f.FirstName, SearchWord{Text: firstNameWord(f.FirstName)})
	}
	if len(f.Zip) > maxArea {
		add(f.Zip, SearchWord{Text: f.Zip, Prefix: true})
	}
	for _, field := range f.Custom {
		if !field.common {
			add(field.Words[0], SearchWord{Text: field.Words[0]})
		}
	}
	return all
}

// Names is the sort names of all contacts with the last name, and with the first name where there is one. Where it is
// not exact, there may be others in it.
func (f *Filter) Names() (names crm.KeyRange, exact bool) {
	first, last := sortable(f.FirstName), sortable(f.LastName)
	exact = len(last)+len(first) < maxSortName && !strings.Contains(last+first, "\x02") &&
		(first != "" || f.FirstName == "")
	return nameRange(f.LastName, f.FirstName), exact
}
