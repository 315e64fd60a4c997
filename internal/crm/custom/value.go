package custom

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"donorbook/internal/crm/doc"
)

// Value is the value that a contact has in a custom field. A stored contact names the field by its id alone: titles are
// put in when it is read (crm.AppendCustomized), so that renaming a field touches no contact.
type Value struct {
	Field int64
	Value string // as JSON: a text in quotes, a number, true or false
}

// Text is the value as a person writes it: a number and a date as in JSON, yes or no for true and false.
func (v Value) Text() string {
	switch v.Value {
	case "true":
		return "Yes"
	case "false":
		return "No"
	}
	text, _ := v.Quoted()
	return cmp.Or(text, v.Value)
}

// Quoted is the text of a value that is one.
func (v Value) Quoted() (text string, ok bool) {
	if !strings.HasPrefix(v.Value, `"`) {
		return "", false
	}
	unquoted, err := jsontext.AppendUnquote(nil, v.Value)
	return string(unquoted), err == nil
}

// LoadValues reads the values of a stored contact.
func LoadValues(r *doc.Reader) (values []Value) {
	r.List(maxStoredFields, func() {
		var v Value
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
var maxStoredFields = int(allFieldsLimit.Max)

// AppendValues appends values as a stored contact has them.
func AppendValues(dst []byte, values []Value) []byte {
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

// AppendShown appends the values as clients see them: each gets what its definition says, and those of fields that have
// ended are left out.
func (fields *Fields) AppendShown(dst []byte, values []Value) []byte {
	dst = append(dst, '[')
	first := true
	for i, f := range fields.active {
		value := rawIn(values, f.ID)
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

// rawIn is the value in a field, "" where there is none.
func rawIn(values []Value, field int64) string {
	if i := slices.IndexFunc(values, func(v Value) bool { return v.Field == field }); i >= 0 {
		return values[i].Value
	}
	return ""
}

func rawOrNull(value string) json.RawMessage { return json.RawMessage(cmp.Or(value, "null")) }

// ValueIn is the value in a field, empty where there is none.
func ValueIn(values []Value, field int64) Value {
	return Value{field, rawIn(values, field)}
}

// Put gives a list a value; "" takes it away. Values are kept in the order of their fields: the same ones are the same
// list.
func Put(values []Value, v Value) []Value {
	at, found := slices.BinarySearchFunc(values, v.Field,
		func(v Value, id int64) int { return cmp.Compare(v.Field, id) })
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

// Differences are one for each value, so that one can be taken back without the others.
func Differences(was, is []Value) (all doc.Differences) {
	add := func(field int64, before, now string) {
		if before != now {
			all = append(all, doc.Difference{Field: "custom_fields." + Key(field), Before: rawOrNull(before),
				After: rawOrNull(now), At: -1})
		}
	}
	for _, v := range was {
		add(v.Field, v.Value, rawIn(is, v.Field))
	}
	for _, v := range is {
		if rawIn(was, v.Field) == "" {
			add(v.Field, "", v.Value)
		}
	}
	return all
}

// TakeBack are the values as they were before a change of one. It is left alone where it was changed since.
func TakeBack(values []Value, d *doc.Difference) (before []Value, left bool) {
	id := fieldOf(d)
	switch now := string(rawOrNull(rawIn(values, id))); {
	case now == string(d.Before): // someone has done it before
	case now != string(d.After):
		return values, true
	case string(d.Before) == "null":
		values = Put(values, Value{Field: id})
	default:
		values = Put(values, Value{id, string(d.Before)})
	}
	return values, false
}

// Redo are the values as a change of one has left them in another state. One that takes a change back gives back what
// that has taken here, from the values before it to those after it.
func Redo(values []Value, d *doc.Difference, undone *doc.Undone[[]Value]) (is []Value, conflict bool) {
	id := fieldOf(d)
	now := rawIn(values, id)
	switch {
	case undone == nil:
		after := string(d.After)
		if after == "null" {
			after = ""
		}
		return Put(values, Value{id, after}), string(rawOrNull(now)) != string(d.Before)
	case now == rawIn(undone.Is, id):
		return Put(values, Value{id, rawIn(undone.Was, id)}), false
	}
	return values, false
}

// fieldOf is the id of the custom field that a difference is about, 0 for none.
func fieldOf(d *doc.Difference) int64 {
	key, _ := strings.CutPrefix(d.Field, "custom_fields.")
	return ParseKey(key)
}

// Told puts differences of custom fields into words. Without definitions, fields have no names.
func (fields *Fields) Told(all doc.Differences) (changes []doc.Change) {
	for i := range all {
		id := fieldOf(&all[i])
		if id == 0 {
			continue
		}
		changes = append(changes, doc.Change{Field: fields.quotedTitle(id), Before: keptText(all[i].Before),
			After: keptText(all[i].After)})
	}
	return changes
}

// quotedTitle is what a field is called in a sentence: as people have written it.
func (fields *Fields) quotedTitle(id int64) string {
	if fields != nil {
		if at := slices.IndexFunc(fields.All, func(f Field) bool { return f.ID == id }); at >= 0 {
			return "“" + fields.All[at].Title + "”"
		}
	}
	return "Custom field"
}

// Label is what people call a field by its path, as people have written it; ok is false where it is no custom field.
func (fields *Fields) Label(path string) (label string, ok bool) {
	if id := fieldOf(&doc.Difference{Field: path}); id != 0 {
		return fields.quotedTitle(id), true
	}
	return "", false
}

// keptText is a value of a custom field that the history keeps, as a person writes it.
func keptText(value json.RawMessage) string {
	if string(value) == "null" {
		return ""
	}
	return Value{Value: string(value)}.Text()
}

// Changes lists what differs between two states of a contact's values.
func (fields *Fields) Changes(before, after []Value) (changes []doc.Change) {
	for _, f := range fields.active {
		was, is := ValueIn(before, f.ID), ValueIn(after, f.ID)
		if was != is {
			changes = append(changes, doc.Change{Field: f.Title, Before: was.Text(), After: is.Text()})
		}
	}
	return changes
}
