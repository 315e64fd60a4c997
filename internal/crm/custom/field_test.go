package custom

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var fieldNow = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// someFields are one field of each type, by their ids from 1: text, long text, number, date, yes or no, one of a list;
// and a text that has ended.
func someFields() *Fields {
	var all []Field
	for i, t := range FieldTypes {
		all = append(all, Field{ID: int64(i + 1), Title: t.Label(), Type: t, Place: int64(10 - i)})
	}
	all[5].Options = []string{"S", "M", "Größe L"}
	all[0].Description = `For "insiders"`
	all = append(all, Field{ID: 7, Title: "Old", Type: TextField, Place: 1, EndedAt: fieldNow})
	return NewFields(9, all)
}

func TestDefinitionsOfCustomFieldsAreChecked(t *testing.T) {
	fields := someFields()
	for _, c := range []struct {
		in   FieldInput
		want string
	}{
		{FieldInput{Title: " Shirt \n size ", Type: TextField}, ""},
		{FieldInput{Title: "Shirt", Type: SelectField, Options: rows.All(`" S "  ""  S  M`)}, ""},
		{FieldInput{Type: TextField}, "The title field is required."},
		{FieldInput{Title: "TEXT", Type: TextField}, "The title field is taken: choose another one."},
		{FieldInput{Title: "old", Type: TextField},
			"The title field belongs to an archived custom field: restore that field, or choose another title."},
		{FieldInput{Title: strings.Repeat("ä", 256), Type: TextField},
			"The title field must not be longer than 255 characters."},
		{FieldInput{Title: "a\x00b", Type: TextField}, "The title field must not contain NUL characters."},
		{FieldInput{Title: "A", Description: strings.Repeat("d", 256), Type: "color"},
			"The description field must not be longer than 255 characters. (and 1 more error)"},
		{FieldInput{Title: "A", Type: SelectField, Options: []string{" "}}, "Enter at least one option."},
		{FieldInput{Title: "A", Type: SelectField, Options: manyOptions(201)},
			"The options field must not have more than 200 elements."},
		{FieldInput{Title: "A", Type: SelectField, Options: []string{strings.Repeat("o", 256)}},
			"The options field must not be longer than 255 characters."},
	} {
		f, err := NewField(c.in, 8, fields, fieldNow)
		assert.Says(t, err, c.want, "%+v", c.in)
		if err == nil && (f.Title != singleLine(c.in.Title) || f.Place != 11 || f.ID != 8) {
			t.Errorf("%+v became %+v", c.in, f)
		}
	}
	f, err := NewField(FieldInput{Title: "Shirt", Type: SelectField, Options: rows.All(`" S "  ""  S  M`)}, 8, fields,
		fieldNow)
	if diff := cmp.Diff([]string{"S", "M"}, f.Options); err != nil || diff != "" {
		t.Errorf("%v: options: %s", err, diff)
	}
	revised, err := f.Revise(FieldInput{Title: "Size", Type: NumberField, Options: []string{"L"}}, fields)
	if err != nil || revised.Type != SelectField || revised.Options[0] != "L" || revised.Place != f.Place {
		t.Errorf("revised: %+v, %v", revised, err)
	}
}

func manyOptions(n int) (options []string) {
	for i := range n {
		options = append(options, fmt.Sprint("option ", i))
	}
	return options
}

func TestAnAccountHasAtMostAHundredCustomFields(t *testing.T) {
	var all []Field
	for i := range fieldLimit.Max {
		all = append(all, Field{ID: i + 1, Title: fmt.Sprint("F", i), Type: TextField})
	}
	in := FieldInput{Title: "More", Type: TextField}
	_, err := NewField(in, 200, NewFields(1, all), fieldNow)
	assert.Says(t, err, fieldLimit.Reached, "the 101st")
	all[3] = all[3].End(fieldNow)
	fields := NewFields(1, all)
	if _, err := NewField(in, 200, fields, fieldNow); err != nil {
		t.Errorf("one of 100 has ended: %v", err)
	}
	if back, err := all[3].Resume(fields); err != nil || back.Ended() {
		t.Errorf("brought back: %+v, %v", back, err)
	}
}

func TestTheTypeOfAColumnIsGuessed(t *testing.T) {
	for want, values := range map[FieldType][]string{
		NumberField: {"1", "", "2.5"}, DateField: {"1/31/2026", "2026-02-01"}, BooleanField: {"yes", "No"},
		TextField: {"a", "1"}, LongTextField: {"a\nb"},
	} {
		assert.Equal(t, GuessType(values), want, "%q", values)
	}
	assert.Equal(t, GuessType([]string{"007", "12"}), TextField, "a number with zeros before it is a")
	assert.Equal(t, GuessType([]string{"", ""}), TextField, "nothing is a")
}
