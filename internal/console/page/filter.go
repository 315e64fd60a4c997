package page

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

// Listing describes a list: its columns, and what it is filtered by.
type Listing struct {
	Name    string // as its address has it
	Things  string // what people call what it has; "" is its name
	Columns []Column
	Order   string                                           // what it is sorted by where nothing is said
	Fields  []Filter                                         // of its panel
	More    []string                                         // other parameters of its address
	Alias   func(sent string) (parameter string, known bool) // what the API calls a parameter by another name
}

// Filter is one filter of a list: how the panel asks for it, which parameter of the address stands for it, and what is said while it is active. A
// filter without a label is one that only links ask for.
type Filter struct {
	Name, Label string
	Group       string // below which heading of the panel it stands; "" is that of the one before
	Parameter   string // "" is the name; of a detail, the one that a contact has or lacks
	Kind        filterKind
	Choices     []Option
	Ends        string                    // what is said of this field and the next one, which are the two ends of a stretch
	Said        string                    // before a value
	Word        func(value string) string // what a value is called; nil is the label of the choice
	Joined      bool                      // all values are said together
}

type filterKind int

const (
	textAsked filterKind = iota
	CustomAsked
	AmountAsked
	tagsAsked // several, between commas
	DayAsked
	LastDayAsked // the parameter is the day after
	detailAsked  // yes or no
	planAsked    // a status, or current for both of those in which gifts are expected
)

var filterAttributes = map[filterKind][]string{
	textAsked: {"maxlength=255", "autocomplete=off"}, CustomAsked: {"maxlength=255", "autocomplete=off", "placeholder=* for any value"},
	AmountAsked: {"inputmode=decimal", "maxlength=40", "autocomplete=off"}, tagsAsked: {"maxlength=1000", "autocomplete=off", "placeholder=board, gala"},
	DayAsked: {"type=date"}, LastDayAsked: {"type=date"},
}

var currentPlans = []string{string(giving.ActivePlan), string(giving.PastDue)}

func (f *Filter) in() string { return cmp.Or(f.Parameter, f.Name) }

// ask adds the parameter that stands for what a person has entered.
func (f *Filter) ask(q url.Values, text string) {
	switch f.Kind {
	case tagsAsked:
		for tag := range strings.SplitSeq(text, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				q.Add(f.Parameter, tag)
			}
		}
	case LastDayAsked:
		if day, err := time.Parse(time.DateOnly, text); err == nil {
			text = day.AddDate(0, 0, 1).Format(time.DateOnly)
		}
		q.Set(f.Parameter, text)
	case planAsked:
		if q[f.Parameter] = []string{text}; text == "current" {
			q[f.Parameter] = currentPlans
		}
	case detailAsked:
		if parameter := map[string]string{"yes": "has", "no": "lacks"}[text]; parameter != "" {
			q.Add(parameter, f.Parameter)
		}
	case AmountAsked:
		faults := new(doc.Invalid)
		if sent := giving.ParseMoney(faults, f.Name, text, "", true); sent != nil && faults.Err() == nil { // people write $5,510.50
			text = strconv.FormatFloat(float64(*sent)/1e4, 'f', -1, 64)
		}
		q.Set(f.in(), text)
	default:
		q.Set(f.in(), text)
	}
}

// shown is what the field shows for the parameters of a query.
func (f *Filter) shown(q url.Values) string {
	switch {
	case f.Kind == tagsAsked:
		return strings.Join(q[f.Parameter], ", ")
	case f.Kind == LastDayAsked:
		return lastDay(q.Get(f.Parameter))
	case f.Kind == planAsked && slices.Equal(q[f.Parameter], currentPlans):
		return "current"
	case f.Kind == detailAsked && slices.Contains(q["has"], f.Parameter):
		return "yes"
	case f.Kind == detailAsked && slices.Contains(q["lacks"], f.Parameter):
		return "no"
	}
	return q.Get(f.in())
}

// asksFor tells whether the field asks for a parameter of the query.
func (f *Filter) asksFor(name, value string) bool {
	if f.Kind == detailAsked {
		return (name == "has" || name == "lacks") && value == f.Parameter
	}
	return name == f.in()
}

// say is what a value is called while the filter is active.
func (f *Filter) say(value string) string {
	if f.Word != nil {
		return f.Word(value)
	}
	return LabelIn(f.Choices, value, value)
}

// LabelIn is what people call a choice.
func LabelIn(choices []Option, value, otherwise string) string {
	for _, o := range choices {
		if o.Value == value {
			return o.Label
		}
	}
	return otherwise
}

// stretch says which time or which amounts the field and the end after it ask for, "" for any.
func (f *Filter) stretch(end *Filter, q url.Values) string {
	from, to, since, until := f.shown(q), end.shown(q), " at least ", " at most "
	if f.Kind == DayAsked {
		from, to, since, until = spokenDay(from), spokenDay(to), " since ", " on or before "
	}
	switch {
	case from != "" && to != "":
		return f.Ends + " " + from + " – " + to
	case from != "":
		return f.Ends + since + from
	case to != "":
		return f.Ends + until + to
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
		return Day(at)
	}
	return sent
}

// parameter is what a link calls a parameter of the list.
func (l *Listing) parameter(sent string) (name string, known bool) {
	if l.Alias != nil {
		if name, known = l.Alias(sent); known {
			return name, true
		}
	}
	return sent, slices.Contains(l.More, sent) || slices.ContainsFunc(l.Fields, func(f Filter) bool { return f.Parameter == "" && f.Name == sent })
}

// Query turns what was sent to the list into the parameters of a link. clean tells whether it is that already.
func (l *Listing) Query(sent url.Values) (q url.Values, clean bool) {
	q, clean = url.Values{}, true
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		parameter, known := l.parameter(name)
		i := slices.IndexFunc(l.Fields, func(f Filter) bool { return f.Name == name })
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
					l.Fields[i].ask(q, text)
				}
			}
		}
	}
	return q, clean
}

// Whole is the query of an action on what a list shows. own are the action's own parameters. What is not understood is refused,
// unless it says where in the list a page is: without it, the action would be about more than was meant.
func (l *Listing) Whole(sent url.Values, own ...string) (q url.Values, err error) {
	var unknown doc.Invalid
	for name := range sent {
		_, known := l.parameter(name)
		isField := slices.ContainsFunc(l.Fields, func(f Filter) bool { return f.Name == name })
		if !known && !isField && !slices.Contains(own, name) && !slices.Contains(placeParameters, name) {
			unknown.Add(name, "is not a filter of this list")
		}
	}
	q, _ = l.Query(sent)
	return q, unknown.Err()
}

// ListPath is a list with the query of another page. What is no query of the list is left out.
func (r *Request) ListPath(l *Listing, query string) string {
	values, _ := url.ParseQuery(query) // what cannot be read is left out
	q, _ := l.Query(values)
	return WithQuery(r.Path("/"+l.Name), q)
}

// Asked is the query of a list. to is where the person goes instead: to an address that is as short as a link of ours.
func (r *Request) Asked(l *Listing) (q url.Values, to string) {
	q, clean := l.Query(r.URL.Query())
	if !clean {
		to = WithQuery(r.Path("/"+l.Name), q)
	}
	return q, to
}

// dropped is a query without some parameters.
func dropped(q url.Values, names ...string) url.Values {
	q = maps.Clone(q)
	for _, name := range names {
		q.Del(name)
	}
	return q
}

// Filters are those of a list, as the panel and the chips show them.
type Filters struct {
	of     *Listing
	Asked  url.Values // of the list, without the page
	Base   string
	fields []Filter
	Panel  *Form
	Others []hidden // that the panel has no field for
	Export *ExportForm
}

// hidden is a value that a form carries along.
type hidden struct{ Name, Value string }

// chip is a filter that is active, and the list without it.
type chip struct{ Label, Clear string }

// Filters are those of a list with a query. more are fields that the organization has added.
func (r *Request) Filters(l *Listing, q url.Values, more ...Filter) Filters {
	v := Filters{of: l, Asked: q, Base: r.Path("/" + l.Name), fields: slices.Concat(l.Fields, more), Panel: NewForm()}
	for i := range v.fields {
		v.Panel.Set(v.fields[i].Name, v.fields[i].shown(q))
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		for _, value := range q[name] {
			if f := v.asking(name, value); name != SearchParameter && (f == nil || f.Label == "") {
				v.Others = append(v.Others, hidden{name, value})
			}
		}
	}
	v.Export = ExportOf(q, v.Base)
	return v
}

const SearchParameter = "q"

// Filters are the filters themselves, for templates of pages that have them.
func (v *Filters) Filters() *Filters { return v }

// Of is what the list has, such as gifts.
func (v *Filters) Of() string { return cmp.Or(v.of.Things, v.of.Name) }

// Action is the address that the panel is sent to.
func (v *Filters) Action() string { return v.Base }

// Below is the address of a page below the list's, about what the list shows.
func (v *Filters) Below(rest string) string { return WithQuery(v.Base+rest, v.Asked) }

// Link is the query of the list.
func (v *Filters) Link() string { return v.Asked.Encode() }

// Value is what is asked for by a parameter, without the spaces around it.
func (v *Filters) Value(name string) string { return strings.TrimSpace(v.Asked.Get(name)) }

// Clear is the list without filters.
func (v *Filters) Clear() string { return WithQuery(v.Base, only(v.Asked, "scope")) }

// Field is the filter of a name.
func (v *Filters) Field(name string) *Filter {
	return &v.fields[slices.IndexFunc(v.fields, func(f Filter) bool { return f.Name == name })]
}

// asking is the filter that asks for a parameter, nil for none.
func (v *Filters) asking(name, value string) *Filter {
	if i := slices.IndexFunc(v.fields, func(f Filter) bool { return f.asksFor(name, value) }); i >= 0 {
		return &v.fields[i]
	}
	return nil
}

// OfferCampaigns lets people choose from the newest campaigns.
func (r *Request) OfferCampaigns(v *Filters, name, none string) (err error) {
	f := v.Field(name)
	f.Choices, err = r.CampaignOptions(v.Asked.Get(name), none, r.Currency())
	f.Word = func(id string) string { return LabelIn(f.Choices, id, "campaign "+id) }
	return err
}

// Refuse notes what is wrong with the filters, beside the fields of the panel.
func (v *Filters) Refuse(err error) error {
	if err := v.Panel.Refuse(err); err != nil {
		return err
	}
	for i := range v.Panel.Faults {
		fault := &v.Panel.Faults[i]
		if f := v.asking(fault.Field, ""); f != nil {
			fault.Field, fault.Label = f.Name, f.Label
		}
	}
	return nil
}

// filterGroup is some controls of the panel below a heading, or without one.
type filterGroup struct {
	Title  string
	Fields []Field
}

// Groups are the controls of the panel.
func (v *Filters) Groups() (all []filterGroup) {
	for _, f := range v.fields {
		if f.Label == "" {
			continue
		}
		if f.Group != "" || all == nil {
			all = append(all, filterGroup{Title: f.Group})
		}
		of := &all[len(all)-1].Fields
		if f.Choices != nil {
			*of = append(*of, NewSelect(v.Panel, f.Name, f.Label, f.Choices, "form=find"))
		} else {
			*of = append(*of, NewField(v.Panel, f.Name, f.Label, append([]string{"form=find"}, filterAttributes[f.Kind]...)...))
		}
	}
	return all
}

// Chips are the filters that are active, in the order of the panel.
func (v *Filters) Chips() (all []chip) {
	for i := 0; i < len(v.fields); i++ {
		f := &v.fields[i]
		values := v.Asked[f.in()]
		switch {
		case f.Ends != "":
			i++
			if label := f.stretch(&v.fields[i], v.Asked); label != "" {
				all = append(all, chip{label, v.without("", f.in(), v.fields[i].in())})
			}
		case f.Kind == detailAsked:
			if answer := f.shown(v.Asked); answer != "" {
				all = append(all, chip{map[string]string{"yes": "Has ", "no": "No "}[answer] + f.Parameter, v.without(f.Parameter, "has", "lacks")})
			}
		case f.Joined && len(values) > 0:
			var words []string
			for _, value := range values {
				words = append(words, f.say(value))
			}
			all = append(all, chip{f.Said + strings.Join(words, " or "), v.without("", f.in())})
		case !f.Joined:
			for _, value := range values {
				all = append(all, chip{f.Said + f.say(value), v.without(value, f.in())})
			}
		}
	}
	for _, other := range v.Others {
		if v.asking(other.Name, other.Value) == nil && other.Name != "scope" && other.Name != "sort" {
			all = append(all, chip{Capital(strings.ReplaceAll(other.Name, "_", " ")) + " " + other.Value, v.without(other.Value, other.Name)})
		}
	}
	return all
}

// Words are what the list is filtered by, "" for nothing.
func (v *Filters) Words() string {
	var all []string
	if text := v.Value(SearchParameter); text != "" {
		all = append(all, "Search “"+text+"”")
	}
	for _, c := range v.Chips() {
		all = append(all, c.Label)
	}
	return strings.Join(all, " · ")
}

// without is the list without some parameters; with a value, only that value is left out.
func (v *Filters) without(value string, names ...string) string {
	q := maps.Clone(v.Asked)
	for _, name := range names {
		if q[name] = slices.DeleteFunc(slices.Clone(q[name]), func(v string) bool { return value == "" || v == value }); len(q[name]) == 0 {
			q.Del(name)
		}
	}
	return WithQuery(v.Base, q)
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

// QuickTimes are the times that people ask for most, with the other filters as they are. from and to are the fields of the first and the last day.
func (v *Filters) QuickTimes(from, to string, now time.Time) (links []Tab) {
	year, month, _ := now.Date()
	day := func(year int, month time.Month, day int) string {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	for _, t := range [][3]string{
		{"This month", day(year, month, 1), day(year, month+1, 0)}, {"This year", day(year, 1, 1), day(year, 12, 31)},
		{"Last year", day(year-1, 1, 1), day(year-1, 12, 31)}, {"All time", "", ""},
	} {
		q := dropped(v.Asked, from, to)
		if t[1] != "" {
			q.Set(from, t[1])
			q.Set(to, t[2])
		}
		links = append(links, Tab{Label: t[0], Address: WithQuery(v.Base, q), Current: v.Asked.Get(from) == t[1] && v.Asked.Get(to) == t[2]})
	}
	return links
}

// List is the page of the list that is asked for.
func (v *Filters) List(r *Request, perPage int64) list {
	l := r.List(v.Base, PageParameter, perPage)
	l.query = maps.Clone(v.Asked)
	return l
}

// Sorted adds the links that sort the list by its columns: the other way round where it is sorted by one already. Names begin with A, all else with the
// newest and the largest.
func (v *Filters) Sorted(columns []Column) []Column {
	columns = slices.Clone(columns)
	for i := range columns {
		c := &columns[i]
		if c.Sort == "" {
			continue
		}
		next := "-" + c.Sort
		switch cmp.Or(v.Asked.Get("sort"), v.of.Order) {
		case c.Sort:
			c.Order = "ascending"
		case "-" + c.Sort:
			c.Order, next = "descending", c.Sort
		default:
			if c.Name == "name" {
				next = c.Sort
			}
		}
		q := dropped(v.Asked, "sort")
		if next != v.of.Order {
			q.Set("sort", next)
		}
		c.Address = WithQuery(v.Base, q)
	}
	return columns
}
