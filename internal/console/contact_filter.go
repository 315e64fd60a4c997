package console

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// The address of a list of contacts has the parameters of the API, so that a filter is a link, a segment and an export alike. The panel asks in
// words of its own: several tags in one field, the last day of a time, and a choice between having and lacking something.
var panelFields = []panelField{
	{"tags_all", "tag", tagsAsked}, {"tags_any", "tag_any", tagsAsked}, {"tags_none", "tag_none", tagsAsked},
	{"gave_from", "gave_after", firstDayAsked}, {"no_gift_from", "no_gift_after", firstDayAsked}, {"no_gift_to", "no_gift_before", lastDayAsked}, {"plan", "plan_status", planAsked},
	{"added_from", "created_after", firstDayAsked}, {"changed_from", "updated_after", firstDayAsked},
	{"gave_to", "gave_before", lastDayAsked}, {"added_to", "created_before", lastDayAsked}, {"changed_to", "updated_before", lastDayAsked},
	{"has_email", string(crm.EmailDetail), detailAsked}, {"has_phone", string(crm.PhoneDetail), detailAsked},
}

var currentPlans = []string{string(giving.ActivePlan), string(giving.PastDue)}

// panelField is a field of the panel that the API asks for in another way: its parameter, or the detail that has and lacks take.
type panelField struct {
	name, parameter string
	asks            panelKind
}

type panelKind int

const (
	tagsAsked panelKind = iota // several, between commas
	firstDayAsked
	lastDayAsked
	detailAsked // yes or no
	planAsked   // a status, or current for both of those in which gifts are expected
)

// shownFields are the parameters that the panel has fields of the same name for.
var shownFields = []string{"q", "campaign_id", "total_contributions_min", "total_contributions_max", "city", "zip", "type", "do_not_mail", "do_not_email", "do_not_call", "deceased", "external_id"}

// listQuery turns what was sent to the list into the parameters of a link. clean tells whether it is that already.
func listQuery(sent url.Values) (q url.Values, clean bool) {
	q, clean = url.Values{}, true
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		parameter, known := find.Parameter(name)
		if name == "scope" {
			parameter, known = name, true
		}
		for _, value := range sent[name] {
			text := strings.TrimSpace(value)
			switch {
			case known && text != "":
				q.Add(parameter, value)
				clean = clean && name == parameter
			case known:
				clean = false
			default:
				clean = !addPanelField(q, name, text) && clean
			}
		}
	}
	return q, clean
}

// addPanelField adds what a field of the panel asks for, and tells whether there is such a field.
func addPanelField(q url.Values, name, text string) bool {
	i := slices.IndexFunc(panelFields, func(f panelField) bool { return f.name == name })
	if i >= 0 && text != "" {
		panelFields[i].ask(q, text)
	}
	return i >= 0
}

// ask adds the parameter that stands for what a person has entered.
func (f panelField) ask(q url.Values, text string) {
	switch f.asks {
	case tagsAsked:
		for tag := range strings.SplitSeq(text, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				q.Add(f.parameter, tag)
			}
		}
	case firstDayAsked:
		q.Set(f.parameter, text)
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
		switch text {
		case "yes":
			q.Add("has", f.parameter)
		case "no":
			q.Add("lacks", f.parameter)
		}
	}
}

// shown is what the field shows for the parameters of a query.
func (f panelField) shown(q url.Values) string {
	switch f.asks {
	case tagsAsked:
		return strings.Join(q[f.parameter], ", ")
	case firstDayAsked:
		return q.Get(f.parameter)
	case lastDayAsked:
		return lastDay(q.Get(f.parameter))
	case planAsked:
		if slices.Equal(q[f.parameter], currentPlans) {
			return "current"
		}
		return q.Get(f.parameter)
	}
	switch {
	case slices.Contains(q["has"], f.parameter):
		return "yes"
	case slices.Contains(q["lacks"], f.parameter):
		return "no"
	}
	return ""
}

// asksFor tells whether the field asks for a parameter of the query.
func (f panelField) asksFor(name, value string) bool {
	if f.asks == detailAsked {
		return (name == "has" || name == "lacks") && value == f.parameter
	}
	return name == f.parameter
}

// contactFilters are the filters of the list, as the panel and the chips show them.
type contactFilters struct {
	query     url.Values // of the list, without the page
	path      string
	Panel     *form
	Others    []hidden // that the panel has no field for
	Campaigns []option
	Fields    []field // of custom fields
	Chips     []chip
	Clear     string // the list without filters
	Saving    *form  // of a segment
}

// hidden is a value that a form carries along.
type hidden struct{ Name, Value string }

// chip is a filter that is active, and the list without it.
type chip struct{ Label, Clear string }

// Link is the query of the list.
func (f *contactFilters) Link() string { return f.query.Encode() }

// refuse notes what is wrong with the filters, beside the fields of the panel.
func (f *contactFilters) refuse(err error) error {
	if err := f.Panel.refuse(err); err != nil {
		return err
	}
	for i, fault := range f.Panel.Faults {
		for _, asked := range panelFields {
			if asked.asksFor(fault.Field, "") {
				f.Panel.Faults[i].Field = asked.name
			}
		}
	}
	return nil
}

// fillFilters fills in the panel, the chips and the segments.
func (r *request) fillFilters(view *contactsView) (err error) {
	q := view.query
	view.Panel = panelOf(q)
	view.Clear = forgetting(view.path, only(q, "scope"), passingFilters)
	fields, err := r.store.CustomFields(r.Context(), r.account())
	if err != nil {
		return err
	}
	view.fillFields(fields)
	for _, name := range slices.Sorted(maps.Keys(q)) {
		for _, value := range q[name] {
			if !slices.Contains(shownFields, name) && !inPanel(name, value) && !view.hasField(name) {
				view.Others = append(view.Others, hidden{name, value})
			}
		}
	}
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	view.Currency = currency
	if view.Campaigns, err = r.campaignOptions(q.Get("campaign_id"), "Any campaign", currency); err != nil {
		return err
	}
	view.Chips = view.chips()
	return r.fillSegments(view)
}

// fillFields adds a field to the panel for each custom field.
func (f *contactFilters) fillFields(all *custom.Fields) {
	for _, definition := range all.Active() {
		name := definition.Key()
		f.Panel.set(name, f.query.Get(name))
		var choices []option
		switch definition.Type {
		case custom.BooleanField:
			choices = newOptions("yes=Yes", "no=No")
		case custom.SelectField:
			for _, choice := range definition.Options {
				choices = append(choices, option{choice, choice, false})
			}
		}
		if choices == nil {
			f.Fields = append(f.Fields, newField(f.Panel, name, definition.Title, "form=find", "maxlength=255", "autocomplete=off", "placeholder=* for any value"))
			continue
		}
		choices = append([]option{{"", "Any or none", false}}, append(choices, option{find.AnyValue, "Any value", false})...)
		f.Fields = append(f.Fields, newSelect(f.Panel, name, definition.Title, choices, "form=find"))
	}
}

// hasField tells whether the panel asks for a custom field by this parameter.
func (f *contactFilters) hasField(name string) bool {
	return slices.ContainsFunc(f.Fields, func(shown field) bool { return shown.Name == name })
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

// inPanel tells whether a field of the panel asks for a parameter.
func inPanel(name, value string) bool {
	return slices.ContainsFunc(panelFields, func(f panelField) bool { return f.asksFor(name, value) })
}

// panelOf is the panel for a query.
func panelOf(q url.Values) *form {
	f := newForm()
	for _, name := range shownFields {
		f.set(name, q.Get(name))
	}
	for _, field := range panelFields {
		f.set(field.name, field.shown(q))
	}
	return f
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

// chips are the filters that are active, in the order of the panel.
func (f *contactFilters) chips() (all []chip) {
	add := func(label string, names ...string) {
		if label != "" {
			all = append(all, chip{label, f.without("", names...)})
		}
	}
	each := func(name string, label func(value string) string) {
		for _, value := range f.query[name] {
			all = append(all, chip{label(value), f.without(value, name)})
		}
	}
	named := func(label string) func(string) string { return func(value string) string { return label + value } }
	each("tag", named("Tagged "))
	if tags := f.query["tag_any"]; len(tags) > 0 {
		add("Tagged "+strings.Join(tags, " or "), "tag_any")
	}
	each("tag_none", named("Not tagged "))
	each("campaign_id", func(id string) string { return "Gave to " + f.campaign(id) })
	add(f.time("Gave", "gave_after", "gave_before"), "gave_after", "gave_before")
	add(f.time("No gift", "no_gift_after", "no_gift_before"), "no_gift_after", "no_gift_before")
	if plans := f.query["plan_status"]; len(plans) > 0 {
		words := make([]string, 0, len(plans))
		for _, status := range plans {
			words = append(words, strings.ToLower(spoken(status)))
		}
		add("Plan "+strings.Join(words, " or "), "plan_status")
	}
	add(between("Total given", f.query.Get("total_contributions_min"), f.query.Get("total_contributions_max")), "total_contributions_min", "total_contributions_max")
	each("city", named("City "))
	each("zip", named("ZIP "))
	each("has", named("Has "))
	each("lacks", named("No "))
	each("type", named("Type "))
	for _, mark := range crm.Marks {
		each(mark, func(value string) string {
			if value == "false" {
				return crm.MarkLabel(mark) + ": no"
			}
			return crm.MarkLabel(mark)
		})
	}
	each("external_id", named("External ID "))
	add(f.time("Added", "created_after", "created_before"), "created_after", "created_before")
	add(f.time("Changed", "updated_after", "updated_before"), "updated_after", "updated_before")
	for _, shown := range f.Fields {
		each(shown.Name, func(value string) string {
			if value == find.AnyValue {
				return "Has " + shown.Label
			}
			return shown.Label + " " + value
		})
	}
	for _, other := range f.Others {
		if other.Name != "scope" && other.Name != "sort" {
			each(other.Name, named(capital(strings.ReplaceAll(other.Name, "_", " "))+" "))
		}
	}
	return all
}

// without is the list without some parameters; with a value, only that value is left out.
func (f *contactFilters) without(value string, names ...string) string {
	q := maps.Clone(f.query)
	for _, name := range names {
		if q[name] = slices.DeleteFunc(slices.Clone(q[name]), func(v string) bool { return value == "" || v == value }); len(q[name]) == 0 {
			q.Del(name)
		}
	}
	return forgetting(f.path, q, passingFilters)
}

// campaign is the title of a campaign that contacts gave to.
func (f *contactFilters) campaign(id string) string {
	for _, o := range f.Campaigns {
		if o.Value == id {
			return o.Label
		}
	}
	return "campaign " + id
}

// time says which stretch of time a filter asks for, "" for none.
func (f *contactFilters) time(verb, after, before string) string {
	return stretch(verb, spokenDay(f.query.Get(after)), " since ", spokenDay(lastDay(f.query.Get(before))), " until ")
}

// between says which numbers a filter asks for, "" for any.
func between(what, low, high string) string {
	return stretch(what, low, " at least ", high, " at most ")
}

func stretch(what, from, since, to, until string) string {
	switch {
	case from != "" && to != "":
		return what + " " + from + " – " + to
	case from != "":
		return what + since + from
	case to != "":
		return what + until + to
	}
	return ""
}

// Active is how many filters are active.
func (f *contactFilters) Active() int { return len(f.Chips) }
