package console

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// listing describes a list: its columns, and what it is filtered by.
type listing struct {
	name    string // as its address has it
	things  string // what people call what it has; "" is its name
	columns []tableColumn
	order   string                                           // what it is sorted by where nothing is said
	fields  []filterField                                    // of its panel
	more    []string                                         // other parameters of its address
	alias   func(sent string) (parameter string, known bool) // what the API calls a parameter by another name
	passing []string                                         // parameters that are not remembered: they are about one search, one contact or one import
}

// filterField is one filter of a list: how the panel asks for it, which parameter of the address stands for it, and what is said while it is active. A
// filter without a label is one that only links ask for.
type filterField struct {
	name, label string
	group       string // below which heading of the panel it stands; "" is that of the one before
	parameter   string // "" is the name; of a detail, the one that a contact has or lacks
	kind        filterKind
	choices     []option
	ends        string                    // what is said of this field and the next one, which are the two ends of a stretch
	said        string                    // before a value
	word        func(value string) string // what a value is called; nil is the label of the choice
	joined      bool                      // all values are said together
}

type filterKind int

const (
	textAsked filterKind = iota
	customAsked
	amountAsked
	tagsAsked // several, between commas
	dayAsked
	lastDayAsked // the parameter is the day after
	detailAsked  // yes or no
	planAsked    // a status, or current for both of those in which gifts are expected
)

var filterAttributes = map[filterKind][]string{
	textAsked: {"maxlength=255", "autocomplete=off"}, customAsked: {"maxlength=255", "autocomplete=off", "placeholder=* for any value"},
	amountAsked: {"inputmode=decimal", "maxlength=40", "autocomplete=off"}, tagsAsked: {"maxlength=1000", "autocomplete=off", "placeholder=board, gala"},
	dayAsked: {"type=date"}, lastDayAsked: {"type=date"},
}

var currentPlans = []string{string(giving.ActivePlan), string(giving.PastDue)}

func (f *filterField) in() string { return cmp.Or(f.parameter, f.name) }

// ask adds the parameter that stands for what a person has entered.
func (f *filterField) ask(q url.Values, text string) {
	switch f.kind {
	case tagsAsked:
		for tag := range strings.SplitSeq(text, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				q.Add(f.parameter, tag)
			}
		}
	case lastDayAsked:
		if day, err := time.Parse(time.DateOnly, text); err == nil {
			text = day.AddDate(0, 0, 1).Format(time.DateOnly)
		}
		q.Set(f.parameter, text)
	case planAsked:
		if q[f.parameter] = []string{text}; text == "current" {
			q[f.parameter] = currentPlans
		}
	case detailAsked:
		if parameter := map[string]string{"yes": "has", "no": "lacks"}[text]; parameter != "" {
			q.Add(parameter, f.parameter)
		}
	case amountAsked:
		faults := new(doc.Invalid)
		if sent := giving.ParseMoney(faults, f.name, text, "", true); sent != nil && faults.Err() == nil { // people write $5,510.50
			text = strconv.FormatFloat(float64(*sent)/1e4, 'f', -1, 64)
		}
		q.Set(f.in(), text)
	default:
		q.Set(f.in(), text)
	}
}

// shown is what the field shows for the parameters of a query.
func (f *filterField) shown(q url.Values) string {
	switch {
	case f.kind == tagsAsked:
		return strings.Join(q[f.parameter], ", ")
	case f.kind == lastDayAsked:
		return lastDay(q.Get(f.parameter))
	case f.kind == planAsked && slices.Equal(q[f.parameter], currentPlans):
		return "current"
	case f.kind == detailAsked && slices.Contains(q["has"], f.parameter):
		return "yes"
	case f.kind == detailAsked && slices.Contains(q["lacks"], f.parameter):
		return "no"
	}
	return q.Get(f.in())
}

// asksFor tells whether the field asks for a parameter of the query.
func (f *filterField) asksFor(name, value string) bool {
	if f.kind == detailAsked {
		return (name == "has" || name == "lacks") && value == f.parameter
	}
	return name == f.in()
}

// say is what a value is called while the filter is active.
func (f *filterField) say(value string) string {
	if f.word != nil {
		return f.word(value)
	}
	return labelIn(f.choices, value, value)
}

// labelIn is what people call a choice.
func labelIn(choices []option, value, otherwise string) string {
	for _, o := range choices {
		if o.Value == value {
			return o.Label
		}
	}
	return otherwise
}

// stretch says which time or which amounts the field and the end after it ask for, "" for any.
func (f *filterField) stretch(end *filterField, q url.Values) string {
	from, to, since, until := f.shown(q), end.shown(q), " at least ", " at most "
	if f.kind == dayAsked {
		from, to, since, until = spokenDay(from), spokenDay(to), " since ", " on or before "
	}
	switch {
	case from != "" && to != "":
		return f.ends + " " + from + " – " + to
	case from != "":
		return f.ends + since + from
	case to != "":
		return f.ends + until + to
	}
	return ""
}

// lastDay is the last day before a time, which is the end of a filter.
func lastDay(end string) string {
	if at, _, ok := text.ParseMoment(end); ok {
		return at.Add(-time.Second).UTC().Format(time.DateOnly)
	}
	return end
}

// spokenDay is a day as people read it.
func spokenDay(sent string) string {
	if at, _, ok := text.ParseMoment(sent); ok {
		return shownDay(at)
	}
	return sent
}

// parameter is what a link calls a parameter of the list.
func (l *listing) parameter(sent string) (name string, known bool) {
	if l.alias != nil {
		if name, known = l.alias(sent); known {
			return name, true
		}
	}
	return sent, slices.Contains(l.more, sent) || slices.ContainsFunc(l.fields, func(f filterField) bool { return f.parameter == "" && f.name == sent })
}

// query turns what was sent to the list into the parameters of a link. clean tells whether it is that already.
func (l *listing) query(sent url.Values) (q url.Values, clean bool) {
	q, clean = url.Values{}, true
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		parameter, known := l.parameter(name)
		i := slices.IndexFunc(l.fields, func(f filterField) bool { return f.name == name })
		for _, value := range sent[name] {
			text := strings.TrimSpace(value)
			switch {
			case known && text != "":
				q.Add(parameter, value)
				clean = clean && name == parameter
			case known:
				clean = false
			case i >= 0:
				if clean = false; text != "" {
					l.fields[i].ask(q, text)
				}
			}
		}
	}
	return q, clean
}

// listPath is a list with the query of another page. What is no query of the list is left out.
func (r *request) listPath(l *listing, query string) string {
	values, _ := url.ParseQuery(query) // what cannot be read is left out
	q, _ := l.query(values)
	return withQuery(r.path("/"+l.name), q)
}

// clearParameter asks for a list without what is remembered of it, which is forgotten.
const clearParameter = "clear"

// asked is the query of a list, which is remembered. to is where the person goes instead: to the list as they left it where nothing is asked for, to the
// list itself where that is to be forgotten, by a link or by a form that was sent empty, and to an address that is as short as a link of ours.
func (r *request) asked(l *listing) (q url.Values, to string) {
	sent, path, m := r.URL.Query(), r.path("/"+l.name), r.remembered(l.name)
	q, clean := l.query(sent)
	kept := l.lasting(q).Encode()
	switch {
	case sent.Has(clearParameter), !clean && len(q) == 0:
		m.filter = ""
		r.keepList(l.name, m)
		return q, withQuery(path, q)
	case len(sent) == 0 && m.filter != "":
		return q, path + "?" + m.filter
	case kept != "" && kept != m.filter:
		m.filter = kept
		r.keepList(l.name, m)
	}
	if !clean {
		to = withQuery(path, q)
	}
	return q, to
}

// lasting is what is remembered of a query.
func (l *listing) lasting(q url.Values) url.Values { return dropped(q, l.passing...) }

// dropped is a query without some parameters.
func dropped(q url.Values, names ...string) url.Values {
	q = maps.Clone(q)
	for _, name := range names {
		q.Del(name)
	}
	return q
}

// filters are those of a list, as the panel and the chips show them.
type filters struct {
	of     *listing
	query  url.Values // of the list, without the page
	path   string
	fields []filterField
	Panel  *form
	Others []hidden // that the panel has no field for
	Export *exportForm
}

// hidden is a value that a form carries along.
type hidden struct{ Name, Value string }

// chip is a filter that is active, and the list without it.
type chip struct{ Label, Clear string }

// filters are those of a list with a query. more are fields that the organization has added.
func (r *request) filters(l *listing, q url.Values, more ...filterField) filters {
	v := filters{of: l, query: q, path: r.path("/" + l.name), fields: slices.Concat(l.fields, more), Panel: newForm()}
	for i := range v.fields {
		v.Panel.set(v.fields[i].name, v.fields[i].shown(q))
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		for _, value := range q[name] {
			if f := v.asking(name, value); name != searchParameter && (f == nil || f.label == "") {
				v.Others = append(v.Others, hidden{name, value})
			}
		}
	}
	v.Export = exportOf(q, v.path)
	return v
}

const searchParameter = "q"

// Filters are the filters themselves, for templates of pages that have them.
func (v *filters) Filters() *filters { return v }

// Of is what the list has, such as gifts.
func (v *filters) Of() string { return cmp.Or(v.of.things, v.of.name) }

// Action is the address that the panel is sent to.
func (v *filters) Action() string { return v.path }

// Link is the query of the list.
func (v *filters) Link() string { return v.query.Encode() }

// value is what is asked for by a parameter, without the spaces around it.
func (v *filters) value(name string) string { return strings.TrimSpace(v.query.Get(name)) }

// Clear is the list without filters.
func (v *filters) Clear() string { return v.forgetting(only(v.query, "scope")) }

// field is the filter of a name.
func (v *filters) field(name string) *filterField {
	return &v.fields[slices.IndexFunc(v.fields, func(f filterField) bool { return f.name == name })]
}

// asking is the filter that asks for a parameter, nil for none.
func (v *filters) asking(name, value string) *filterField {
	if i := slices.IndexFunc(v.fields, func(f filterField) bool { return f.asksFor(name, value) }); i >= 0 {
		return &v.fields[i]
	}
	return nil
}

// offerCampaigns lets people choose from the newest campaigns.
func (r *request) offerCampaigns(v *filters, name, none, currency string) (err error) {
	f := v.field(name)
	f.choices, err = r.campaignOptions(v.query.Get(name), none, currency)
	f.word = func(id string) string { return labelIn(f.choices, id, "campaign "+id) }
	return err
}

// refuse notes what is wrong with the filters, beside the fields of the panel.
func (v *filters) refuse(err error) error {
	if err := v.Panel.refuse(err); err != nil {
		return err
	}
	for i := range v.Panel.Faults {
		fault := &v.Panel.Faults[i]
		if f := v.asking(fault.Field, ""); f != nil {
			fault.Field, fault.Label = f.name, f.label
		}
	}
	return nil
}

// filterGroup is some controls of the panel below a heading, or without one.
type filterGroup struct {
	Title  string
	Fields []field
}

// Groups are the controls of the panel.
func (v *filters) Groups() (all []filterGroup) {
	for _, f := range v.fields {
		if f.label == "" {
			continue
		}
		if f.group != "" || all == nil {
			all = append(all, filterGroup{Title: f.group})
		}
		of := &all[len(all)-1].Fields
		if f.choices != nil {
			*of = append(*of, newSelect(v.Panel, f.name, f.label, f.choices, "form=find"))
		} else {
			*of = append(*of, newField(v.Panel, f.name, f.label, append([]string{"form=find"}, filterAttributes[f.kind]...)...))
		}
	}
	return all
}

// Chips are the filters that are active, in the order of the panel.
func (v *filters) Chips() (all []chip) {
	for i := 0; i < len(v.fields); i++ {
		f := &v.fields[i]
		values := v.query[f.in()]
		switch {
		case f.ends != "":
			i++
			if label := f.stretch(&v.fields[i], v.query); label != "" {
				all = append(all, chip{label, v.without("", f.in(), v.fields[i].in())})
			}
		case f.kind == detailAsked:
			if answer := f.shown(v.query); answer != "" {
				all = append(all, chip{map[string]string{"yes": "Has ", "no": "No "}[answer] + f.parameter, v.without(f.parameter, "has", "lacks")})
			}
		case f.joined && len(values) > 0:
			var words []string
			for _, value := range values {
				words = append(words, f.say(value))
			}
			all = append(all, chip{f.said + strings.Join(words, " or "), v.without("", f.in())})
		case !f.joined:
			for _, value := range values {
				all = append(all, chip{f.said + f.say(value), v.without(value, f.in())})
			}
		}
	}
	for _, other := range v.Others {
		if v.asking(other.Name, other.Value) == nil && other.Name != "scope" && other.Name != "sort" {
			all = append(all, chip{capital(strings.ReplaceAll(other.Name, "_", " ")) + " " + other.Value, v.without(other.Value, other.Name)})
		}
	}
	return all
}

// without is the list without some parameters; with a value, only that value is left out.
func (v *filters) without(value string, names ...string) string {
	q := maps.Clone(v.query)
	for _, name := range names {
		if q[name] = slices.DeleteFunc(slices.Clone(q[name]), func(v string) bool { return value == "" || v == value }); len(q[name]) == 0 {
			q.Del(name)
		}
	}
	return v.forgetting(q)
}

// forgetting is the address of the list with a query. Where no filter is left, it forgets the one before.
func (v *filters) forgetting(q url.Values) string {
	if len(v.of.lasting(q)) > 0 {
		return withQuery(v.path, q)
	}
	cleared := url.Values{clearParameter: {"1"}}
	maps.Copy(cleared, q)
	return withQuery(v.path, cleared)
}

// only is a query without all other parameters.
func only(q url.Values, names ...string) url.Values {
	kept := url.Values{}
	for _, name := range names {
		if q.Has(name) {
			kept[name] = q[name]
		}
	}
	return kept
}

// quickTimes are the times that people ask for most, with the other filters as they are. from and to are the fields of the first and the last day.
func (v *filters) quickTimes(from, to string, now time.Time) (links []tab) {
	year, month, _ := now.Date()
	day := func(year int, month time.Month, day int) string {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	for _, t := range [][3]string{
		{"This month", day(year, month, 1), day(year, month+1, 0)}, {"This year", day(year, 1, 1), day(year, 12, 31)},
		{"Last year", day(year-1, 1, 1), day(year-1, 12, 31)}, {"All time", "", ""},
	} {
		q := dropped(v.query, from, to)
		if t[1] != "" {
			q.Set(from, t[1])
			q.Set(to, t[2])
		}
		links = append(links, tab{Label: t[0], Address: v.forgetting(q), Current: v.query.Get(from) == t[1] && v.query.Get(to) == t[2]})
	}
	return links
}

// list is the page of the list that is asked for.
func (v *filters) list(r *request, perPage int64) list {
	l := r.list(v.path, pageParameter, perPage)
	l.query = maps.Clone(v.query)
	return l
}

// sorted adds the links that sort the list by its columns: the other way round where it is sorted by one already. Names begin with A, all else with the
// newest and the largest.
func (v *filters) sorted(columns []tableColumn) []tableColumn {
	columns = slices.Clone(columns)
	for i := range columns {
		c := &columns[i]
		if c.Sort == "" {
			continue
		}
		next := "-" + c.Sort
		switch cmp.Or(v.query.Get("sort"), v.of.order) {
		case c.Sort:
			c.Order = "ascending"
		case "-" + c.Sort:
			c.Order, next = "descending", c.Sort
		default:
			if c.Name == "name" {
				next = c.Sort
			}
		}
		q := dropped(v.query, "sort")
		if next != v.of.order {
			q.Set("sort", next)
		}
		c.Address = v.forgetting(q)
	}
	return columns
}
