package crm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"donorbook/internal/crm/doc"
)

// CustomValue is the value that a contact has in a custom field. A stored contact names the field by its id alone: titles are put in when it
// is read (crm.AppendCustomized), so that renaming a field touches no contact.
type CustomValue struct {
	Field int64
	Value string // as JSON: a text in quotes, a number, true or false
}

// Text is the value as a person writes it: a number and a date as in JSON, yes or no for true and false.
func (v CustomValue) Text() string {
	switch v.Value {
	case "true":
		return "Yes"
	case "false":
		return "No"
	}
	text, _ := v.quoted()
	return cmp.Or(text, v.Value)
}

// quoted is the text of a value that is one.
func (v CustomValue) quoted() (text string, ok bool) {
	if !strings.HasPrefix(v.Value, `"`) {
		return "", false
	}
	unquoted, err := jsontext.AppendUnquote(nil, v.Value)
	return string(unquoted), err == nil
}

// loadCustom reads the values of a stored contact.
func loadCustom(r *doc.Reader) (values []CustomValue) {
	r.List(maxStoredFields, func() {
		var v CustomValue
		r.Element(func(key string) {
			switch key {
			case "field_id":
				v.Field = r.Integer()
			case "value":
				v.Value = r.Raw()
			default:
				r.Skip()
			}
		})
		values = append(values, v)
	})
	return values
}

// maxStoredFields is how many values a contact may have: one in each field that there ever was.
var maxStoredFields = int(AllFieldsLimit.Max)

// appendCustom appends values as a stored contact has them.
func appendCustom(dst []byte, values []CustomValue) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"field_id":`...), v.Field, 10)
		dst = append(append(append(dst, `,"value":`...), v.Value...), '}')
	}
	return append(dst, ']')
}

// appendShown appends the values as clients see them: each gets what its definition says, and those of fields that have ended are left out.
func (fields *CustomFields) appendShown(dst []byte, values []CustomValue) []byte {
	dst = append(dst, '[')
	first := true
	for i, f := range fields.active {
		value := customValue(values, f.ID)
		if value == "" {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, fields.heads[i]...), value...), '}')
	}
	return append(dst, ']')
}

// customValue is the value in a field, "" where there is none.
func customValue(values []CustomValue, field int64) string {
	if i := slices.IndexFunc(values, func(v CustomValue) bool { return v.Field == field }); i >= 0 {
		return values[i].Value
	}
	return ""
}

func rawOrNull(value string) json.RawMessage { return json.RawMessage(cmp.Or(value, "null")) }

// valueOfField is the value in a field, empty where there is none.
func valueOfField(values []CustomValue, field int64) CustomValue {
	return CustomValue{field, customValue(values, field)}
}

// putValue gives a list a value; "" takes it away. Values are kept in the order of their fields: the same ones are the same list.
func putValue(values []CustomValue, v CustomValue) []CustomValue {
	at, found := slices.BinarySearchFunc(values, v.Field, func(v CustomValue, id int64) int { return cmp.Compare(v.Field, id) })
	switch {
	case found && v.Value == "":
		return slices.Delete(slices.Clone(values), at, at+1)
	case found:
		values = slices.Clone(values)
		values[at] = v
	case v.Value != "":
		return slices.Insert(slices.Clone(values), at, v)
	}
	return values
}

// valueDifferences are one for each value, so that one can be taken back without the others.
func valueDifferences(was, is []CustomValue) (all doc.Differences) {
	add := func(field int64, before, now string) {
		if before != now {
			all = append(all, doc.Difference{Field: "custom_fields." + fieldKey(field), Before: rawOrNull(before), After: rawOrNull(now), At: -1})
		}
	}
	for _, v := range was {
		add(v.Field, v.Value, customValue(is, v.Field))
	}
	for _, v := range is {
		if customValue(was, v.Field) == "" {
			add(v.Field, "", v.Value)
		}
	}
	return all
}

// takeBackValue takes the change of a value back, and tells whether it was left alone because the value was changed since.
func takeBackValue(values []CustomValue, d *doc.Difference) (before []CustomValue, left bool) {
	id := customOf(d)
	switch now := string(rawOrNull(customValue(values, id))); {
	case now == string(d.Before): // someone has done it before
	case now != string(d.After):
		return values, true
	case string(d.Before) == "null":
		values = putValue(values, CustomValue{Field: id})
	default:
		values = putValue(values, CustomValue{id, string(d.Before)})
	}
	return values, false
}

// customOf is the id of the custom field that a difference is about, 0 for none.
func customOf(d *doc.Difference) int64 {
	key, _ := strings.CutPrefix(d.Field, "custom_fields.")
	return parseFieldKey(key)
}

// told puts differences of custom fields into words. Without definitions, fields have no names.
func (fields *CustomFields) told(all doc.Differences) (changes []Change) {
	for i := range all {
		id := customOf(&all[i])
		if id == 0 {
			continue
		}
		changes = append(changes, Change{fields.quotedTitle(id), keptText(all[i].Before), keptText(all[i].After)})
	}
	return changes
}

// quotedTitle is what a field is called in a sentence: as people have written it.
func (fields *CustomFields) quotedTitle(id int64) string {
	if fields != nil {
		if at := slices.IndexFunc(fields.All, func(f CustomField) bool { return f.ID == id }); at >= 0 {
			return "“" + fields.All[at].Title + "”"
		}
	}
	return "Custom field"
}

// Label is what people call a field by its path, as people have written it; ok is false where it is no custom field.
func (fields *CustomFields) Label(path string) (label string, ok bool) {
	if id := customOf(&doc.Difference{Field: path}); id != 0 {
		return fields.quotedTitle(id), true
	}
	return "", false
}

// keptText is a value of a custom field that the history keeps, as a person writes it.
func keptText(value json.RawMessage) string {
	if string(value) == "null" {
		return ""
	}
	return CustomValue{Value: string(value)}.Text()
}

// Changes lists what differs between two states of a contact's values.
func (fields *CustomFields) Changes(before, after []CustomValue) (changes []Change) {
	for _, f := range fields.active {
		was, is := valueOfField(before, f.ID), valueOfField(after, f.ID)
		if was != is {
			changes = append(changes, Change{f.Title, was.Text(), is.Text()})
		}
	}
	return changes
}
