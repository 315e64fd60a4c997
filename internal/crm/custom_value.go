package crm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"donorbook/internal/crm/doc"
)

// CustomValue is the value that a contact has in a custom field. A stored contact names the field by its id alone: titles are put in when it
// is read (AppendCustomized), so that renaming a field touches no contact.
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

func appendCustom(dst []byte, c *Contact) []byte {
	dst = append(dst, '[')
	for i, v := range c.Custom {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"field_id":`...), v.Field, 10)
		dst = append(append(append(dst, `,"value":`...), v.Value...), '}')
	}
	return append(dst, ']')
}

// The values of a stored document stand between these. No text holds them: its quotes are escaped.
const (
	customBegins = `,"custom_fields":[`
	customEnds   = `],"archived_at":`
)

var errNoCustom = errors.New("the stored document has no place for custom fields")

// AppendCustomized is AppendContact for a contact with custom fields: each value gets what its definition says, and those of fields that
// have ended are left out.
func AppendCustomized(dst []byte, id int64, body []byte, fields *CustomFields) ([]byte, error) {
	begin := bytes.Index(body, []byte(customBegins))
	if begin < 0 {
		return dst, errNoCustom
	}
	begin += len(customBegins) - 1
	end := bytes.Index(body[begin:], []byte(customEnds))
	if end < 0 {
		return dst, errNoCustom
	}
	end += begin + 1
	r := doc.NewReader("The stored document", body[begin:end])
	values := loadCustom(r)
	if err := r.End(); err != nil {
		return dst, fmt.Errorf("contact %d: the stored document is damaged: %v", id, err) //nolint:errorlint // no fault of a client
	}
	dst = append(AppendContact(dst, id, body[:begin]), '[')
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
	dst = append(dst, ']')
	return append(dst, body[end:]...), nil
}

// customValue is the value in a field, "" where there is none.
func customValue(values []CustomValue, field int64) string {
	if i := slices.IndexFunc(values, func(v CustomValue) bool { return v.Field == field }); i >= 0 {
		return values[i].Value
	}
	return ""
}

// CustomValue is what the contact has in a field, with an empty value where that is nothing.
func (c *Contact) CustomValue(field int64) CustomValue {
	return CustomValue{field, customValue(c.Custom, field)}
}

// putCustom gives the contact a value; "" takes it away. Values are kept in the order of their fields: the same ones are the same list.
func (c *Contact) putCustom(v CustomValue) {
	at, found := slices.BinarySearchFunc(c.Custom, v.Field, func(v CustomValue, id int64) int { return cmp.Compare(v.Field, id) })
	switch {
	case found && v.Value == "":
		c.Custom = slices.Delete(slices.Clone(c.Custom), at, at+1)
	case found:
		c.Custom = slices.Clone(c.Custom)
		c.Custom[at] = v
	case v.Value != "":
		c.Custom = slices.Insert(slices.Clone(c.Custom), at, v)
	}
}

// customFieldsField are the values in custom fields. They are changed one by one, and never replaced as a list.
func customFieldsField() doc.Field[*Contact, *ContactInput] {
	return doc.Field[*Contact, *ContactInput]{
		Stored: doc.Stored[*Contact]{
			Name: "custom_fields", Label: "Custom fields",
			Load:   func(r *doc.Reader, c *Contact) { c.Custom = loadCustom(r) },
			Append: appendCustom,
			Same:   func(a, b *Contact) bool { return slices.Equal(a.Custom, b.Custom) },
			Size: func(c *Contact) (n int) {
				for _, v := range c.Custom {
					n += len(v.Value) + 48
				}
				return n
			},
			Fill: func(c *Contact, _ doc.Place, set doc.Setter) {
				for _, v := range c.Custom {
					set("custom_fields."+fieldKey(v.Field), v.Text())
				}
			},
			Differ: customDifferences, Undo: undoCustom,
		},
		Read: readCustom,
		Take: takeCustom,
		Check: func(c *doc.Checker, _ doc.Place, in *ContactInput) {
			if in.Fields != nil {
				in.custom = in.Fields.check(&c.Invalid, in.Custom)
			}
		},
		Merge: func(c *Contact, in *ContactInput, _ time.Time) {
			for _, change := range in.custom {
				if change.Value != "" {
					c.putCustom(change.CustomValue)
				}
			}
		},
		Patch: func(c *Contact, in *ContactInput, _ time.Time) {
			for _, change := range in.custom {
				c.putCustom(change.CustomValue)
			}
		},
	}
}

// customDifferences are one for each value, so that one can be taken back without the others.
func customDifferences(was, is *Contact) (all doc.Differences) {
	add := func(field int64, before, now string) {
		if before != now {
			all = append(all, doc.Difference{Field: "custom_fields." + fieldKey(field), Before: rawOrNull(before), After: rawOrNull(now), At: -1})
		}
	}
	for _, v := range was.Custom {
		add(v.Field, v.Value, customValue(is.Custom, v.Field))
	}
	for _, v := range is.Custom {
		if customValue(was.Custom, v.Field) == "" {
			add(v.Field, "", v.Value)
		}
	}
	return all
}

func rawOrNull(value string) json.RawMessage { return json.RawMessage(cmp.Or(value, "null")) }

// undoCustom takes the change of a custom field back, and tells whether it was left alone because the value was changed since.
func undoCustom(c *Contact, d *doc.Difference, _ string) (left bool) {
	id := customOf(d)
	switch now := string(rawOrNull(customValue(c.Custom, id))); {
	case now == string(d.Before): // someone has done it before
	case now != string(d.After):
		return true
	case string(d.Before) == "null":
		c.putCustom(CustomValue{Field: id})
	default:
		c.putCustom(CustomValue{id, string(d.Before)})
	}
	return false
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

// FieldLabel is what people call a field of a contact, and a custom field among them. ok is false where it is none.
func (fields *CustomFields) FieldLabel(path string) (label string, ok bool) {
	if id := customOf(&doc.Difference{Field: path}); id != 0 {
		return fields.quotedTitle(id), true
	}
	return Label(path)
}

// keptText is a value of a custom field that the history keeps, as a person writes it.
func keptText(value json.RawMessage) string {
	if string(value) == "null" {
		return ""
	}
	return CustomValue{Value: string(value)}.Text()
}

// Changes lists what differs in the custom fields of two states of a contact.
func (fields *CustomFields) Changes(before, after *Contact) (changes []Change) {
	for _, f := range fields.active {
		was, is := before.CustomValue(f.ID), after.CustomValue(f.ID)
		if was != is {
			changes = append(changes, Change{f.Title, was.Text(), is.Text()})
		}
	}
	return changes
}
