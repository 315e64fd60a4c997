package find

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// The limits of a filter.
const (
	maxFilterTags   = 20 // each costs a look at a set
	maxFilterFields = 20 // each costs a search
	maxFilterDigits = 15 // which every client holds exactly
)

// parameter is a query parameter of the list of contacts. Every one is known by its name in camel case, too.
type parameter struct {
	name    string
	aliases []string
	read    func(r *filterReader, name, text string)
	many    bool // it may be sent again with another value
}

var parameters = append([]parameter{
	{name: "email", read: func(r *filterReader, _, text string) { r.Email = r.email(text) }},
	{name: "phone", read: func(r *filterReader, _, text string) { r.Phone = r.phone(text) }},
	{name: "tag", aliases: tagLists("tag"), many: true, read: (*filterReader).everyTag},
	{name: "tags", aliases: tagLists("tags"), many: true, read: func(r *filterReader, name, text string) {
		for tag := range strings.SplitSeq(text, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				r.everyTag(name, tag)
			}
		}
	}},
	{name: "tag_any", aliases: tagLists("tag_any"), many: true, read: func(r *filterReader, name, text string) {
		r.anyTag = true
		r.AnyTag = r.tag(r.AnyTag, name, text)
	}},
	{name: "tag_none", aliases: tagLists("tag_none"), many: true,
		read: func(r *filterReader, name, text string) { r.NoTag = r.tag(r.NoTag, name, text) }},
	{name: "q", read: (*filterReader).search},
	{name: "created_after", read: func(r *filterReader, name,
		text string) {
		r.Created.From = giving.FilterTime(&r.Invalid, name, text)
	}},
	{name: "created_before", read: func(r *filterReader, name,
		text string) {
		r.Created.To = giving.FilterTime(&r.Invalid, name, text)
	}},
	{name: "updated_after", read: func(r *filterReader, name,
		text string) {
		r.Updated.From = giving.FilterTime(&r.Invalid, name, text)
	}},
	{name: "updated_before", read: func(r *filterReader, name,
		text string) {
		r.Updated.To = giving.FilterTime(&r.Invalid, name, text)
	}},
	{name: "first_name", read: func(r *filterReader, _, text string) { r.FirstName = r.personName(text) }},
	{name: "last_name", read: func(r *filterReader, _, text string) { r.LastName = r.personName(text) }},
	{name: "city", read: func(r *filterReader, _, text string) { r.City = r.place(cityWord(text)) }},
	{name: "zip", aliases: []string{"zipcode"}, read: func(r *filterReader, _,
		text string) {
		r.Zip = r.place(zipWord(text))
	}},
	{name: "has", many: true, read: func(r *filterReader, name, text string) { r.Has = r.detail(r.Has, name, text) }},
	{name: "lacks", many: true, read: func(r *filterReader, name, text string) {
		r.Lacks = r.detail(r.Lacks, name,
			text)
	}},
	{name: "campaign_id", read: func(r *filterReader, name, text string) {
		r.Gave.Campaign = giving.FilterID(&r.Invalid,
			name, text)
	}},
	{name: "gave_after", read: func(r *filterReader, name,
		text string) {
		r.Gave.When.From = giving.FilterTime(&r.Invalid, name, text)
	}},
	{name: "gave_before", read: func(r *filterReader, name,
		text string) {
		r.Gave.When.To = giving.FilterTime(&r.Invalid, name, text)
	}},
	{name: "no_gift_after", read: func(r *filterReader, name,
		text string) {
		r.NoGift.From = giving.FilterTime(&r.Invalid, name, text)
	}},
	{name: "no_gift_before", read: func(r *filterReader, name,
		text string) {
		r.NoGift.To = giving.FilterTime(&r.Invalid, name, text)
	}},
	{name: "plan_status", many: true, read: (*filterReader).planStatus},
	{name: "primary_email", read: func(r *filterReader, _, text string) { r.PrimaryEmail = r.email(text) }},
	{name: "total_contributions_min", read: func(r *filterReader, name, text string) {
		r.Given.Min = r.amount(name,
			text)
	}},
	{name: "total_contributions_max", read: func(r *filterReader, name, text string) {
		r.Given.Max = r.amount(name,
			text)
	}},
	{name: "sort", aliases: []string{"sort_by", "sortBy", "sort_by_desc", "sortByDesc"}, read: (*filterReader).sort},
	{name: "external_id", read: func(r *filterReader, _, text string) { r.ExternalID = text }},
	{name: "type", read: (*filterReader).contactType},
}, markParameters()...)

// markParameters ask for contacts that have a mark, or do not.
func markParameters() (all []parameter) {
	for _, mark := range append(slices.Clip(crm.Marks), crm.BouncedMark) {
		all = append(all, parameter{name: mark, read: func(r *filterReader, name, text string) {
			yes, err := strconv.ParseBool(strings.ToLower(text))
			if err != nil {
				r.AddAt(doc.Place{}, name, doc.Boolean)
			}
			r.mark(mark, yes)
		}})
	}
	return all
}

func (r *filterReader) contactType(name, text string) {
	if text != crm.Individual && text != crm.Company {
		r.AddAt(doc.Place{}, name, doc.OneOf, crm.Individual+", "+crm.Company)
	}
	r.mark(crm.Company, text == crm.Company)
}

func (r *filterReader) planStatus(name, sent string) {
	if !slices.Contains(giving.PlanStatuses, giving.PlanStatus(sent)) {
		r.AddAt(doc.Place{}, name, doc.OneOf, strings.Join(text.Strings(giving.PlanStatuses), ", "))
	} else if !slices.Contains(r.Plans, sent) {
		r.Plans = append(r.Plans, sent)
	}
}

func (r *filterReader) mark(name string, has bool) {
	if has {
		r.Marked = append(r.Marked, name)
	} else {
		r.Unmarked = append(r.Unmarked, name)
	}
}

// tagLists are the names under which some libraries send a list of tags.
func tagLists(name string) []string {
	names := []string{name + "[]"}
	for i := range maxFilterTags + 1 {
		names = append(names, fmt.Sprintf("%s[%d]", name, i))
	}
	return names
}

// parameterNames finds a parameter by each of its names.
var parameterNames = func() map[string]int {
	names := map[string]int{}
	for i, p := range parameters {
		for _, name := range append(p.aliases, p.name, camelCase(p.name)) {
			names[name] = i
		}
	}
	return names
}()

// Parameters are the names of the query parameters by which a list of contacts is filtered and sorted.
func Parameters() []string {
	names := make([]string, 0, len(parameterNames))
	for name := range parameterNames {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Parameter is the first name of a query parameter of the list of contacts. The one that sorts in descending order
// without a sign stays.
func Parameter(name string) (first string, ok bool) {
	i, ok := parameterNames[name]
	switch {
	case !ok:
		return name, name == giving.ImportParameter || custom.ParseKey(name) > 0
	case crm.IsDescending(name):
		return name, true
	}
	return parameters[i].name, true
}

// camelCase is created_after as createdAfter.
func camelCase(name string) string {
	parts := strings.Split(name, "_")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "")
}

// ParseFilter reads the query parameters of a list of contacts, in the order in which they were sent. One without a
// value counts as absent. Nothing that is wrong is ignored: a list of all contacts must never be taken for the answer.
// Phone numbers without + are those of the region.
func ParseFilter(sent iter.Seq2[string, string], region string) (Filter, error) {
	var r filterReader
	r.region = region
	for name, value := range sent {
		if i, ok := parameterNames[name]; ok {
			r.take(i, name, value)
		} else if id := custom.ParseKey(name); id > 0 {
			r.takeField(id, name, value)
		}
	}
	r.None = r.None || r.anyTag && len(r.AnyTag) == 0
	return r.Filter, r.Err()
}

// ParseQuery reads the query of a link to a list of contacts: its scope and its filter.
func ParseQuery(query, region string) (scope crm.ContactScope, f Filter, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return scope, f, &doc.Invalid{Faults: []doc.Fault{{Field: "query", Rule: "must be the query part of a link"}}}
	}
	scope, scopeErr := crm.ParseContactScope(values.Get("scope"))
	f, err = ParseFilter(eachValue(values), region)
	if text := values.Get(giving.ImportParameter); text != "" && err == nil {
		var v doc.Invalid
		f.Import = giving.FilterID(&v, giving.ImportParameter, text)
		err = v.Err()
	}
	if err == nil {
		err = scopeErr
	}
	return scope, f, err
}

// eachValue are the parameters of a query in the order of their names.
func eachValue(values url.Values) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			for _, value := range values[name] {
				if !yield(name, value) {
					return
				}
			}
		}
	}
}

// filterReader reads a filter, and notes what is wrong with it.
type filterReader struct {
	Filter
	doc.Invalid
	region string
	anyTag bool // one of several tags is asked for
	seen   map[int]sentParameter
	spaced bool // the value that is read began with a space, which may be a + that was not escaped
}

// sentParameter is a parameter as it was first sent.
type sentParameter struct{ name, value string }

func (r *filterReader) take(i int, name, value string) {
	p := &parameters[i]
	if crm.IsDescending(name) && value != "" { // as sort writes it
		value = "-" + value
	}
	text := strings.TrimSpace(value)
	if text == "" {
		return
	}
	if broken := doc.TextRule(text); broken != "" {
		r.AddAt(doc.Place{}, name, broken)
		return
	}
	if first, again := r.seen[i]; again && !p.many {
		switch {
		case first.value == value:
		case first.name == name:
			r.AddAt(doc.Place{}, name, doc.SentTwice)
		default:
			r.AddAt(doc.Place{}, name, doc.SentAs, first.name, name)
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

// takeField reads the filter by a custom field.
func (r *filterReader) takeField(id int64, name, value string) {
	text := strings.TrimSpace(value)
	asked := filterField(id, text)
	known := slices.IndexFunc(r.Custom, func(f FieldFilter) bool { return f.Field == id })
	switch broken := doc.TextRule(text); {
	case text == "":
	case broken != "":
		r.AddAt(doc.Place{}, name, broken)
	case known >= 0 && !slices.Equal(r.Custom[known].Words, asked.Words):
		r.AddAt(doc.Place{}, name, doc.SentTwice)
	case known >= 0:
	case len(r.Custom) == maxFilterFields:
		r.AddAt(doc.Place{}, name, "is refused: a list can be filtered by at most 20 custom fields")
	default:
		r.Custom = append(r.Custom, asked)
	}
}

// email is the match key of an email. A text that is none belongs to no contact.
func (r *filterReader) email(value string) string {
	normal, ok := text.NormalEmail(strings.ReplaceAll(value, " ", "+")) // a + that was not escaped
	if !ok {
		r.None = true
		return ""
	}
	return crm.EmailPrefix + normal
}

// phone is the match key of a phone number. A text that is none belongs to no contact, nor does a number without its
// area code.
func (r *filterReader) phone(value string) string {
	normal := ""
	if r.spaced {
		normal, _ = text.NormalPhone("+"+value, r.region)
	}
	if normal == "" {
		normal, _ = text.NormalPhone(value, r.region)
	}
	if normal == "" {
		r.None = true
		return ""
	}
	return crm.PhonePrefix + normal
}

// everyTag adds a tag that every contact must have.
func (r *filterReader) everyTag(name, value string) {
	r.None = r.None || !crm.IsTagName(value)
	r.Tags = r.tag(r.Tags, name, value)
}

// tag adds a tag to a list, unless there are too many already. One that no contact can have is not looked for.
func (r *filterReader) tag(tags []string, name, value string) []string {
	if !crm.IsTagName(value) || len(tags) > maxFilterTags {
		return tags
	}
	if tags = text.Distinct(append(tags, value)); len(tags) > maxFilterTags {
		r.AddAt(doc.Place{}, name, doc.SentTooOften, maxFilterTags)
	}
	return tags
}

// place is the word of a city or of a ZIP code. A text without one belongs to no address.
func (r *filterReader) place(word string) string {
	r.None = r.None || word == ""
	return word
}

func (r *filterReader) detail(list []crm.Detail, name, value string) []crm.Detail {
	if d := crm.Detail(value); slices.Contains(list, d) {
		return list
	} else if slices.Contains(crm.Details, d) {
		return append(list, d)
	}
	r.AddAt(doc.Place{}, name, doc.OneOf, strings.Join(text.Strings(crm.Details), ", "))
	return list
}

// personName is a name, unless it is longer than that of any contact.
func (r *filterReader) personName(value string) string {
	r.None = r.None || doc.IsLonger(value, doc.MaxText)
	return text.Cut(value, utf8.UTFMax*doc.MaxText)
}

func (r *filterReader) search(_, text string) {
	r.Search = ParseSearch(text, r.region)
	r.None = r.None || len(r.Search.Terms) == 0 // nothing in it can be searched for
}

// amount is an amount in ten-thousandths, which may be below zero. One that no one gives is as good as the greatest
// that can be written so.
func (r *filterReader) amount(name, value string) *int64 {
	unsigned, sign := strings.TrimPrefix(value, "+"), int64(1)
	if below, negative := strings.CutPrefix(value, "-"); negative {
		unsigned, sign = below, -1
	}
	whole, fraction, _ := strings.Cut(unsigned, ".")
	if strings.Trim(whole+fraction, "0123456789") != "" || whole+fraction == "" || len(whole) > maxFilterDigits ||
		len(fraction) > text.SentDecimals {
		r.AddAt(doc.Place{}, name, doc.AmountForm, maxFilterDigits)
		return nil
	}
	n, ok := text.ParseDecimal(unsigned, text.SentDecimals, 18)
	if !ok {
		n = math.MaxInt64 / 2
	}
	n *= sign
	return &n
}

func (r *filterReader) sort(name, value string) {
	by, descending := crm.ReadSort(&r.Invalid, name, value, text.Strings(SortFields)...)
	if by == "id" {
		by = ""
	}
	r.Sort = Sort{SortField(by), descending}
}
