package custom

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Input is what was said about one custom field of a contact.
type Input struct {
	Field int64
	said  jsontext.Kind // in JSON: of text, number and so on; 0 was not said; written by a person
	text  string
	name  string // of the element or the member that says it
	part  bool   // it is an element, whose parts have names

	dayFirst bool // 3/4/2026 is the third of April
	inFile   bool // it was written by others: what cannot have the month first has the day first
}

// written is what a person or a file says, who know no types.
const written jsontext.Kind = 'w'

// Written is what a person has written into a custom field. Nothing clears it.
func Written(field int64, text string) Input {
	return Input{Field: field, said: written, text: strings.TrimSpace(text), name: "custom_fields." + Key(field)}
}

// DayFirst is the input with how a file writes days.
func (in Input) DayFirst(yes bool) Input {
	in.dayFirst, in.inFile = yes, true
	return in
}

// fieldName and valueName are what the client calls the field and its value.
func (in *Input) fieldName() string {
	if in.part {
		return in.name + ".field_id"
	}
	return in.name
}

func (in *Input) valueName() string {
	if in.part {
		return in.name + ".value"
	}
	return in.name
}

// Change is what becomes of one value of a contact.
type Change struct {
	To       Value // without a value it is cleared
	sent     *Input
	unlisted *Field // of which the value is no option: a contact that has it may keep it
}

// Check are the changes that an input asks for. What is wrong with it is added to v.
func (fields *Fields) Check(v *doc.Invalid, sent []Input) (changes []Change) {
	for i := range sent {
		in := &sent[i]
		f := fields.Find(in.Field)
		if f == nil {
			v.AddAt(doc.Place{}, in.fieldName(), doc.UnknownField)
			continue
		}
		value, rule, args := f.value(in)
		var unlisted *Field
		if rule == doc.OneOf {
			unlisted, rule = f, ""
		}
		switch known := slices.IndexFunc(changes, func(c Change) bool { return c.To.Field == f.ID }); {
		case rule != "":
			v.AddLabeled(in.valueName(), f.Title, rule, args...)
		case known < 0:
			changes = append(changes, Change{Value{f.ID, value}, in, unlisted})
		case changes[known].To.Value != value:
			v.AddLabeled(in.valueName(), f.Title, doc.SentTwice)
		}
	}
	return changes
}

// value is what a field keeps of what was said, as JSON; "" clears it. What breaks a rule is none. A text that is no
// option comes back together with that rule.
func (f *Field) value(in *Input) (value string, rule doc.Rule, args []any) {
	isText := in.said == '"' || in.said == written
	switch {
	case in.said == 0:
		return "", doc.Required, nil
	case in.said == 'n' || isText && in.text == "":
		return "", "", nil
	}
	var ok bool
	switch f.Type {
	case NumberField:
		value, ok = in.number()
		rule = doc.NumberDigits
	case BooleanField:
		value, ok = in.boolean()
		rule = doc.Boolean
	case DateField:
		value, ok = in.date()
		rule = doc.DateForm
	default:
		return f.textValue(in.text, isText, in.said == written)
	}
	if !ok {
		return "", rule, nil
	}
	return value, "", nil
}

func (f *Field) textValue(written string, isText, loose bool) (value string, rule doc.Rule, args []any) {
	limit := doc.MaxText
	if f.Type == LongTextField {
		limit = maxLongText
	}
	broken := doc.TextRule(written)
	switch {
	case !isText:
		return "", doc.Text, nil
	case broken != "":
		return "", broken, nil
	case doc.IsLonger(written, limit):
		return "", doc.TooLong, []any{limit}
	}
	if f.Type == SelectField && !slices.Contains(f.Options, written) {
		at := slices.IndexFunc(f.Options, func(option string) bool {
			return loose &&
				text.Fold(option) == text.Fold(written)
		})
		if at < 0 {
			return string(doc.AppendText(nil, written)), doc.OneOf, nil
		}
		written = f.Options[at]
	}
	return string(doc.AppendText(nil, written)), "", nil
}

func (in *Input) number() (string, bool) {
	switch in.said {
	case '0':
		return exactNumber(in.text)
	case written:
		digits, isNegative := strings.CutPrefix(text.PlainSigns.Replace(in.text), "-")
		if plain, fault := text.EnglishDigits(digits, numberDigits); fault == "" {
			digits = plain
		}
		if isNegative {
			digits = "-" + digits
		}
		return exactNumber(digits)
	}
	return "", false
}

const numberDigits = 15 // which every client holds exactly

// exactNumber is a JSON number in its shortest form: 12.50 is 12.5, and 1e3 is 1000.
func exactNumber(value string) (string, bool) {
	if !jsontext.Value(value).IsValid() || strings.ContainsAny(value[:1], `"tfn[{`) {
		return "", false
	}
	digits, negative := strings.CutPrefix(value, "-")
	for scale := range numberDigits {
		units, ok := text.ParseDecimal(digits, scale, numberDigits)
		if !ok {
			continue
		}
		if units == 0 {
			return "0", true
		}
		number := strconv.FormatInt(units, 10)
		if scale > 0 {
			number = strings.Repeat("0", max(0, scale+1-len(number))) + number
			number = number[:len(number)-scale] + "." + number[len(number)-scale:]
		}
		if negative {
			number = "-" + number
		}
		return number, true
	}
	return "", false
}

func (in *Input) boolean() (value string, ok bool) {
	switch in.said {
	case 't':
		return "true", true
	case 'f':
		return "false", true
	case written:
		yes, ok := text.ReadYesNo(in.text)
		return strconv.FormatBool(yes), ok
	}
	return "", false
}

// date takes what JSON says to the letter. People may write it in other ways, with the month first, and files with a
// time after it.
func (in *Input) date() (string, bool) {
	if in.said != '"' && in.said != written {
		return "", false
	}
	day, ok := text.ParseTime(in.text, time.DateOnly)
	if in.said == written && !ok {
		var m text.Moment
		if m, ok = text.ReadMoment(in.text, in.dayFirst); !ok && in.inFile {
			m, ok = text.ReadMoment(in.text, !in.dayFirst)
		}
		day = m.At
	}
	if !ok || day.Year() < 1000 {
		return "", false
	}
	return `"` + day.Format(time.DateOnly) + `"`, true
}

// GuessType is the type of field in which a column of a file loses nothing, by some of its values.
func GuessType(values []string) FieldType {
	long, any := false, false
	fits := map[FieldType]bool{BooleanField: true, NumberField: true, DateField: true}
	for _, text := range values {
		in := Written(0, text)
		if in.text == "" {
			continue
		}
		any, long = true, long || doc.IsLonger(in.text, doc.MaxText) || strings.Contains(in.text, "\n")
		for t := range fits {
			f := Field{Type: t}
			_, rule, _ := f.value(&in)
			// which may be female
			fits[t] = fits[t] && rule == "" && !losesZeros(in.text) && !strings.EqualFold(in.text, "f")
		}
	}
	for _, t := range [...]FieldType{NumberField, DateField, BooleanField} { // 0 and 1 are counted rather than answered
		if any && fits[t] {
			return t
		}
	}
	if long {
		return LongTextField
	}
	return TextField
}

// losesZeros tells whether a text is rather a number to call than to count with: 007.
func losesZeros(value string) bool {
	return len(value) > 1 && value[0] == '0' && text.IsDigit(value[1])
}

// ReadInputs takes custom fields as a list of {field_id, value}, or as an object of values by field, and adds them to a
// list. More than so many are a fault.
func ReadInputs(r *doc.Reader, list []Input, most int) []Input {
	if r.Next() == '{' {
		n := 0
		r.Object(func(key string) {
			if n++; n > most {
				r.Skip()
				return
			}
			one := Input{Field: ParseKey(key)}
			one.said, one.text = r.Scalar()
			one.name = r.Path()
			list = append(list, one)
		})
		if n > most {
			r.Wrong(doc.TooMany, most)
		}
		return list
	}
	if r.Next() != '[' && r.Next() != 'n' {
		r.Skip()
		r.Wrong(doc.ArrayOrObject)
		return list
	}
	r.List(most, func() {
		one := Input{part: true}
		faults, hasID := len(r.Fault.Faults), false
		r.Element(func(key string) {
			switch key {
			case "field_id":
				hasID = r.Next() != 'n'
				one.Field = fieldID(r)
			case "value":
				one.said, one.text = r.Scalar()
			default:
				r.Ignore()
			}
		})
		one.name = r.Path()
		if len(r.Fault.Faults) == faults && !hasID {
			r.Fault.Add(one.fieldName(), doc.Required)
		}
		if len(r.Fault.Faults) == faults {
			list = append(list, one)
		}
	})
	return list
}

// fieldID reads the id of a field; what is no id is one that no field has.
func fieldID(r *doc.Reader) int64 {
	kind, text := r.Scalar()
	id, err := strconv.ParseInt(text, 10, 64)
	if kind != '0' || err != nil {
		return 0
	}
	return id
}

// CheckListed refuses values that are no options of their fields, unless the contact has had them before.
func CheckListed(changes []Change, old []Value) error {
	v := new(doc.Invalid)
	for _, c := range changes {
		if c.unlisted != nil && rawIn(old, c.To.Field) != c.To.Value {
			v.AddLabeled(c.sent.valueName(), c.unlisted.Title, doc.OneOf, optionsText(c.unlisted.Options))
		}
	}
	return v.Err()
}

// optionsText names the options, or the first of many.
func optionsText(options []string) string {
	const shown = 20
	if more := len(options) - shown; more > 0 {
		return strings.Join(options[:shown], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(options, ", ")
}

// shownFields is the field of a form that names the custom fields that it shows: others stay as they are.
const shownFields = "custom_fields.shown"

// TakeInputs takes the custom fields of a form and adds them to a list, up to so many.
func TakeInputs(form doc.Form, list []Input, most int) []Input {
	for key := range strings.FieldsSeq(form.Value(shownFields)) {
		if id := ParseKey(key); id != 0 && len(list) < most {
			list = append(list, Written(id, form.Value("custom_fields."+key)))
		}
	}
	return list
}
