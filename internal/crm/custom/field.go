// Package custom has the fields that an organization adds to its contacts: their definitions, what may be said about
// them, and the values that are kept. It does not know what else a contact has.
package custom

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// FieldType is what the values of a custom field are. The names are stored.
type FieldType string

// The types of custom fields.
const (
	TextField     FieldType = "text"
	LongTextField FieldType = "long_text"
	NumberField   FieldType = "number"
	DateField     FieldType = "date"
	BooleanField  FieldType = "boolean"
	SelectField   FieldType = "select"
)

// FieldTypes are all types, in the order in which people are offered them.
var FieldTypes = []FieldType{TextField, LongTextField, NumberField, DateField, BooleanField, SelectField}

// Label is what people call a type.
func (t FieldType) Label() string {
	switch t {
	case TextField:
		return "Text"
	case LongTextField:
		return "Long text"
	case NumberField:
		return "Number"
	case DateField:
		return "Date"
	case BooleanField:
		return "Yes or no"
	case SelectField:
		return "One of a list"
	}
	return string(t)
}

const (
	maxLongText = 10_000 // characters of a long text
	maxOptions  = 200
	maxOption   = doc.MaxText
)

// Field is a field of contacts that an owner has defined. The values that contacts have in it stay when it is ended.
type Field struct {
	ID          int64
	Title       string
	Description string // "" is none
	Type        FieldType
	Options     []string // of a select, in the order in which people choose
	Place       int64    // fields are shown in this order
	CreatedAt   time.Time
	EndedAt     time.Time // zero while it is in use
}

// Ended tells whether the field is no longer in use.
func (f *Field) Ended() bool { return !f.EndedAt.IsZero() }

// Key is what the field is called in an object of values, and in faults: field_3.
func (f *Field) Key() string { return Key(f.ID) }

const fieldKeyPrefix = "field_"

// Key is what a field is called by its id: field_3.
func Key(id int64) string { return fieldKeyPrefix + strconv.FormatInt(id, 10) }

// ParseKey reads what Key writes. It is 0 for anything else.
func ParseKey(key string) int64 {
	digits, ok := strings.CutPrefix(key, fieldKeyPrefix)
	id, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || Key(id) != key {
		return 0
	}
	return id
}

// FieldInput is what an owner says about a field. The type of a field that exists stays as it is.
type FieldInput struct {
	Title, Description string
	Type               FieldType
	Options            []string // of a select
}

// NewField is the field that an input describes, at the end of the others.
func NewField(in FieldInput, id int64, others *Fields, now time.Time) (f Field, err error) {
	f = Field{ID: id, Type: in.Type, Place: 1, CreatedAt: now.UTC().Truncate(time.Second)}
	for i := range others.All {
		f.Place = max(f.Place, others.All[i].Place+1)
	}
	if f, err = f.Revise(in, others); err != nil {
		return f, err
	}
	if err := fieldLimit.Check(int64(len(others.active)), 1); err != nil {
		return f, err
	}
	return f, allFieldsLimit.Check(int64(len(others.All)), 1)
}

// Revise is the field with what an input says about it.
func (f Field) Revise(in FieldInput, others *Fields) (Field, error) {
	v := new(doc.Invalid)
	f.Title = singleLine(in.Title)
	f.Description = singleLine(in.Description)
	f.Options = nil
	v.CheckText(doc.Place{}, "title", f.Title, doc.MaxText)
	if f.Title == "" {
		v.AddAt(doc.Place{}, "title", doc.Required)
	}
	others.checkTitle(v, &f)
	v.CheckText(doc.Place{}, "description", f.Description, doc.MaxText)
	switch {
	case !slices.Contains(FieldTypes, f.Type):
		v.Add("type", doc.OneOf, joinTypes())
	case f.Type == SelectField:
		f.Options = checkOptions(v, in.Options)
	}
	return f, v.Err()
}

func joinTypes() string {
	names := make([]string, len(FieldTypes))
	for i, t := range FieldTypes {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

// singleLine is a text without line breaks, and with single spaces.
func singleLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// checkOptions are the options that a person may choose from, each once.
func checkOptions(v *doc.Invalid, sent []string) (options []string) {
	var seen text.Set
	for _, option := range sent {
		option = singleLine(option)
		if option == "" || !seen.Add(option) {
			continue
		}
		v.CheckText(doc.Place{}, "options", option, maxOption)
		if options = append(options, option); len(options) > maxOptions {
			v.AddAt(doc.Place{}, "options", doc.TooMany, maxOptions)
			return nil
		}
	}
	if len(options) == 0 {
		v.AddAt(doc.Place{}, "options", doc.NoOptions)
	}
	return options
}

// End and Resume take a field out of use and bring it back.
func (f Field) End(now time.Time) Field {
	f.EndedAt = now.UTC().Truncate(time.Second)
	return f
}

func (f Field) Resume(others *Fields) (Field, error) {
	f.EndedAt = time.Time{}
	return f, fieldLimit.Check(int64(len(others.active)), 1)
}

// Differences compares a field with what it became, but for its end, which is a kind of change. That of a new one
// begins with the zero value.
func (f *Field) Differences(after *Field) (all doc.Differences) {
	add := func(name string, before, now []byte) {
		if string(before) != string(now) {
			all = append(all, doc.Difference{Field: name, Before: before, After: now, At: -1})
		}
	}
	add("title", doc.AppendText(nil, f.Title), doc.AppendText(nil, after.Title))
	add("description", doc.AppendText(nil, f.Description), doc.AppendText(nil, after.Description))
	add("type", doc.AppendText(nil, string(f.Type)), doc.AppendText(nil, string(after.Type)))
	add("options", doc.AppendTexts(nil, f.Options), doc.AppendTexts(nil, after.Options))
	if f.Place != 0 {
		add("place", strconv.AppendInt(nil, f.Place, 10), strconv.AppendInt(nil, after.Place, 10))
	}
	return all
}

// Named is a difference that changes nothing: it says which field a change is about.
func (f *Field) Named() doc.Difference {
	return doc.Difference{Field: "title", Before: doc.AppendText(nil, f.Title), After: doc.AppendText(nil, f.Title),
		At: -1}
}

// Append appends the wire form.
func (f *Field) Append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), f.ID, 10)
	dst = append(f.appendAbout(dst), `,"options":`...)
	return append(doc.AppendTexts(dst, f.Options), '}')
}

// appendAbout appends what the list of fields and the values of contacts both say about a field.
func (f *Field) appendAbout(dst []byte) []byte {
	dst = doc.AppendText(append(dst, `,"title":`...), f.Title)
	dst = doc.AppendText(append(dst, `,"description":`...), f.Description)
	return doc.AppendText(append(dst, `,"type":`...), string(f.Type))
}

// Fields are the definitions of an account's custom fields as they are at one moment.
type Fields struct {
	Seq int64   // counts the changes of the definitions
	All []Field // in their order, those that have ended included

	active []*Field
	heads  []string // of the active ones: what stands before the value of a contact
	size   int      // bytes of all heads
}

// NewFields are definitions that were read.
func NewFields(seq int64, all []Field) *Fields {
	slices.SortFunc(all, func(a, b Field) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID)) })
	fields := &Fields{Seq: seq, All: all}
	for i := range all {
		f := &all[i]
		if f.Ended() {
			continue
		}
		head := strconv.AppendInt([]byte(`{"id":`), f.ID, 10)
		head = strconv.AppendInt(append(head, `,"field_id":`...), f.ID, 10)
		head = append(f.appendAbout(head), `,"value":`...)
		fields.active, fields.heads = append(fields.active, f), append(fields.heads, string(head))
		fields.size += len(head)
	}
	return fields
}

// Active are the fields in use, in their order.
func (fields *Fields) Active() []*Field { return fields.active }

// Size is how much longer the documents of contacts can become by the definitions, in bytes.
func (fields *Fields) Size() int { return fields.size }

// Find is a field in use, nil where there is none with that id.
func (fields *Fields) Find(id int64) *Field {
	if i := slices.IndexFunc(fields.active, func(f *Field) bool { return f.ID == id }); i >= 0 {
		return fields.active[i]
	}
	return nil
}

// ByTitle is a field in use, found without regard to letter case; nil where there is none.
func (fields *Fields) ByTitle(title string) *Field {
	title = text.FoldCase(singleLine(title))
	if i := slices.IndexFunc(fields.active, func(f *Field) bool { return text.FoldCase(f.Title) == title }); i >= 0 {
		return fields.active[i]
	}
	return nil
}

// checkTitle finds a title that another field has.
func (fields *Fields) checkTitle(v *doc.Invalid, f *Field) {
	for i := range fields.All {
		switch other := &fields.All[i]; {
		case other.ID == f.ID || text.FoldCase(other.Title) != text.FoldCase(f.Title):
		case other.Ended():
			v.AddAt(doc.Place{}, "title", doc.TakenByEnded)
		default:
			v.AddAt(doc.Place{}, "title", doc.Taken)
		}
	}
}

// Neighbor is the field in use before or after another one, nil where there is none.
func (fields *Fields) Neighbor(id int64, by int) *Field {
	i := slices.IndexFunc(fields.active, func(f *Field) bool { return f.ID == id })
	if i < 0 || i+by < 0 || i+by >= len(fields.active) {
		return nil
	}
	return fields.active[i+by]
}

// fieldLimit counts the fields in use.
var fieldLimit = doc.Limit{Max: 100,
	Reached: "This organization has 100 custom fields, the most it can have. End one that is no longer used, then add the new one."}

// allFieldsLimit counts those that have ended, too: contacts still have values in them.
var allFieldsLimit = doc.Limit{Max: 1_000,
	Reached: "This organization has had 1,000 custom fields, the most it can have. Restore an archived one and rename it."}
