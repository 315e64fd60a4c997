package crm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var fieldNow = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// someFields are one field of each type, by their ids from 1: text, long text, number, date, yes or no, one of a list;
// and a text that has ended.
func someFields() *custom.Fields {
	var all []custom.Field
	for i, t := range custom.FieldTypes {
		all = append(all, custom.Field{ID: int64(i + 1), Title: t.Label(), Type: t, Place: int64(10 - i)})
	}
	all[5].Options = []string{"S", "M", "Größe L"}
	all[0].Description = `For "insiders"`
	all = append(all, custom.Field{ID: 7, Title: "Old", Type: custom.TextField, Place: 1, EndedAt: fieldNow})
	return custom.NewFields(9, all)
}

// sendCustom decodes, validates and applies a body of custom fields to a contact.
func sendCustom(t *testing.T, c Contact, fields *custom.Fields, custom string) (Contact, error) {
	t.Helper()
	in, faults := assert.Must2(DecodeContact(doc.NewBody([]byte(`{"custom_fields":` + custom + `}`))))(t)
	in.Fields = fields
	if err := in.Validate(faults, false, "US", fieldNow); err != nil {
		return c, err
	}
	return c.Patch(in, fieldNow)
}

func TestCustomValuesFollowTheirTypes(t *testing.T) {
	fields := someFields()
	sizes := strings.NewReplacer("LONGER", strings.Repeat("x", 10_001), "LONG", strings.Repeat("ä", 255))
	for _, c := range rows.Of[struct{ Field, Sent, Want, Fault string }](`
		field_1   "\" Blue \""                  "\"Blue\""                    ""
		field_1   "\"LONG\""                    "\"LONG\""                    ""
		field_1   "\"LONGa\""                   ""                            must not be longer than 255 characters
		field_1   5                             ""                            must be a string
		field_1   {"a":1}                       ""                            must be a string
		field_1   "\"a\\u0000b\""               ""                            must not contain NUL characters
		field_1   "\"],\\\"archived_at\\\":\""  "\"],\\\"archived_at\\\":\""  ""
		field_2   "\"LONGa\""                   "\"LONGa\""                   ""
		field_2   "\"LONGER\""                  ""                            must not be longer than 10000 characters
		field_3   12.50                         12.5                          ""
		field_3   -0.005e1                      -0.05                         ""
		field_3   1E3                           1000                          ""
		field_3   -0                            0                             ""
		field_3   999999999999999               999999999999999               ""
		field_3   9999999999999999              ""                            must be a number with at most 15 digits
		field_3   1e-20                         ""                            must be a number with at most 15 digits
		field_3   1e99999999999999999999        ""                            must be a number with at most 15 digits
		field_3   "\"12\""                      ""                            must be a number with at most 15 digits
		field_3   true                          ""                            must be a number with at most 15 digits
		field_4   "\"2026-02-28\""              "\"2026-02-28\""              ""
		field_4   "\"2026-02-30\""              ""                            must be a date such as 2026-01-31
		field_4   "\"2/28/2026\""               ""                            must be a date such as 2026-01-31
		field_4   "\"0099-01-01\""              ""                            must be a date such as 2026-01-31
		field_4   20260228                      ""                            must be a date such as 2026-01-31
		field_5   true                          true                          ""
		field_5   false                         false                         ""
		field_5   "\"yes\""                     ""                            must be true or false
		field_5   1                             ""                            must be true or false
		field_6   "\"Größe L\""                 "\"Größe L\""                 ""
		field_6   "\"größe l\""                 ""                            must be one of S, M, Größe L
		field_6   ["S"]                         ""                            must be a string
		field_7   "\"x\""                       ""                            is not one of the account's custom fields  // it has ended
		field_8   null                          ""                            is not one of the account's custom fields
		field_08  "\"x\""                       ""                            is not one of the account's custom fields
		Text      "\"x\""                       ""                            is not one of the account's custom fields
	`) {
		c.Sent, c.Want = sizes.Replace(c.Sent), sizes.Replace(c.Want)
		got, err := sendCustom(t, Contact{}, fields, `{"`+c.Field+`":`+c.Sent+`}`)
		if c.Fault != "" {
			c.Fault = "The custom_fields." + c.Field + " field " + c.Fault + "."
		}
		crmtest.WantFaults(t, c.Sent, err, c.Fault)
		if err == nil && (len(got.Custom) != 1 || got.Custom[0].Value != c.Want) {
			t.Errorf("%s: %s became %v", c.Field, c.Sent, got.Custom)
		}
	}
}

func TestCustomFieldsAreAListOrAnObject(t *testing.T) {
	fields := someFields()
	for sent, want := range map[string]string{
		`[{"field_id":3,"value":1},{"field_id":1,"value":"a","title":"ignored","id":9}]`: `[{"field_id":1,"value":"a"},{"field_id":3,"value":1}]`,
		`{"field_3":1,"field_1":"a"}`: `[{"field_id":1,"value":"a"},{"field_id":3,"value":1}]`,
		`[]`:                          `[]`,
		`{}`:                          `[]`,
		`null`:                        `[]`,
		`[{"field_id":3,"value":1},{"field_id":3,"value":1.0}]`: `[{"field_id":3,"value":1}]`,
		`"x"`:                            "The custom_fields field must be an array or an object.",
		`[5]`:                            "The custom_fields.0 field must be an object.",
		`[{"field_id":3}]`:               "The custom_fields.0.value field is required.",
		`[{"value":3}]`:                  "The custom_fields.0.field_id field is required.",
		`[{"field_id":"3","value":3}]`:   "The custom_fields.0.field_id field is not one of the account's custom fields.",
		`[{"field_id":99,"value":3}]`:    "The custom_fields.0.field_id field is not one of the account's custom fields.",
		`[{"field_id":3,"value":"six"}]`: "The custom_fields.0.value field must be a number with at most 15 digits.",
		`[{"field_id":3,"value":1},{"field_id":3,"value":2}]`: "The custom_fields.1.value field must not be sent twice with different values.",
		`[{"field_id":6,"value":"XL"}]`:                       "The custom_fields.0.value field must be one of S, M, Größe L.",
		`[` + strings.Repeat(`{"field_id":5,"value":true},`, 1000) +
			`{"field_id":5,"value":true}]`: "The custom_fields field must not have more than 1000 elements.",
	} {
		c, err := sendCustom(t, Contact{}, fields, sent)
		got := string(custom.AppendValues(nil, c.Custom))
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, want, "%.80s", sent)
	}
}

// Only the fields that were sent change; null and "" clear; a merge clears nothing; an option that is gone stays where
// it is.
func TestCustomValuesChangeOneByOne(t *testing.T) {
	fields, fewer := someFields(), someFields()
	fewer.Find(6).Options = []string{"S"}
	start := assert.Must(sendCustom(t, Contact{}, fields,
		`{"field_1":"a","field_3":1,"field_5":true,"field_6":"M"}`))(t)
	of := func(c Contact) string { return string(custom.AppendValues(nil, c.Custom)) }
	before := of(start)
	changed := assert.Must(sendCustom(t, start, fields, `{"field_1":null,"field_3":"","field_5":false}`))(t)
	assert.Equal(t, of(changed), `[{"field_id":5,"value":false},{"field_id":6,"value":"M"}]`)
	assert.Equal(t, of(start), before, "what was before is now")
	in := ContactInput{Custom: []custom.Input{custom.Written(1, ""), custom.Written(3, "2")}}
	assert.Succeed(t, in.CheckCustom(fields))
	rest := `{"field_id":5,"value":true},{"field_id":6,"value":"M"}]`
	assert.Equal(t, of(assert.Must(start.Merge(in, fieldNow))(t)),
		`[{"field_id":1,"value":"a"},{"field_id":3,"value":2},`+rest, "merged")
	kept := assert.Must(sendCustom(t, start, fewer, `{"field_6":"M","field_3":7}`))(t)
	assert.Equal(t, of(kept), `[{"field_id":1,"value":"a"},{"field_id":3,"value":7},`+rest, "sent back")
	_, err := sendCustom(t, Contact{}, fewer, `{"field_6":"M"}`)
	assert.Says(t, err, "The custom_fields.field_6 field must be one of S.", "a value that is no option any more")
}

// What people and files write is understood in the usual ways.
func TestWrittenCustomValues(t *testing.T) {
	fields := someFields()
	for _, c := range rows.Of[struct {
		Field      int64
		Text, Want string
	}](`
		1  " x "                 "\"x\""
		3  1,234.5               1234.5
		3  -7                    -7
		3  0.125                 0.125
		3  1.234,5               ""
		3  true                  ""
		3  "\"5\""               ""
		3  five                  ""
		4  2026-01-31            "\"2026-01-31\""
		4  1/31/2026             "\"2026-01-31\""
		4  31.1.2026             "\"2026-01-31\""
		4  2026-01-31T10:00:00Z  "\"2026-01-31\""
		4  2026-01-31 00:00:00   "\"2026-01-31\""
		4  31/1/2026             ""
		5  Yes                   true
		5  NEIN                  false
		5  perhaps               ""
		6  grösse l              "\"Größe L\""
		6  XL                    ""
	`) {
		in := ContactInput{Custom: []custom.Input{custom.Written(c.Field, c.Text)}}
		err := in.CheckCustom(fields)
		got, changeErr := Contact{}.Patch(in, fieldNow)
		if failed := err != nil || changeErr != nil; failed != (c.Want == "") || !failed &&
			got.CustomValue(c.Field).Value != c.Want {
			t.Errorf("%d: %s: %v, %v, %v", c.Field, c.Text, got.Custom, err, changeErr)
		}
	}
}

// A contact is shown with what the definitions say, in their order, without fields that have ended. What texts hold
// changes nothing.
func TestAContactIsShownWithItsCustomFields(t *testing.T) {
	c := Contact{ID: 5, FirstName: `,"custom_fields":[`, LastName: "B", Note: `],"archived_at":null`,
		Custom: []custom.Value{
			{Field: 1, Value: `"],\"archived_at\":"`}, {Field: 5, Value: "true"}, {Field: 7, Value: `"hidden"`},
			{Field: 8, Value: "1"},
		}}
	body := c.AppendBody(nil)
	const shown = `[{"id":5,"field_id":5,"title":"Yes or no","description":null,"type":"boolean","value":true},` +
		`{"id":1,"field_id":1,"title":"Text","description":"For \"insiders\"","type":"text","value":"],\"archived_at\":"}]`
	want := strings.Replace(string(AppendContact([]byte("before "), 5, body)),
		string(custom.AppendValues(nil, c.Custom)), shown, 1)
	assert.Equal(t, string(assert.Must(AppendCustomized([]byte("before "), 5, body, someFields()))(t)), want)
	again := assert.Must(ParseContact(5, body, nil))(t)
	assert.Equal(t, again.Custom, c.Custom)
}

// The history keeps a difference for each custom field, and each is taken back by itself.
func TestChangesOfCustomFieldsAreTakenBack(t *testing.T) {
	fields := someFields()
	before := Contact{Custom: []custom.Value{{Field: 1, Value: `"a"`}, {Field: 3, Value: "1"}}}
	after := assert.Must(sendCustom(t, before, fields, `{"field_1":"b","field_3":null,"field_5":true}`))(t)
	text := before.Differences(&after).Text()
	assert.Equal(t, text,
		`{"custom_fields.field_1":["a","b"],"custom_fields.field_3":[1,null],"custom_fields.field_5":[null,true]}`,
		"the history says")
	differences := assert.Must(doc.ParseDifferences(text))(t)
	since := assert.Must(sendCustom(t, after, fields, `{"field_1":"c"}`))(t)
	for _, test := range []struct {
		is          Contact
		first, left string
	}{{after, `"a"`, "[]"}, {since, `"c"`, "[custom_fields.field_1]"}} {
		back, left, err := test.is.TakeBack(differences, "US", fieldNow)
		assert.Succeed(t, err)
		assert.Equal(t, fmt.Sprint(left), test.left, "what was changed since")
		assert.Equal(t, back.Custom, []custom.Value{{Field: 1, Value: test.first}, {Field: 3, Value: "1"}})
	}
	assert.Equal(t, told(fields.Changes(before.Custom, after.Custom)), "Yes or no:  > Yes\nNumber: 1 > \nText: a > b\n")
}

// A contact with custom fields keeps to its size, and the fault names them.
func TestCustomFieldsTakeRoom(t *testing.T) {
	var all []custom.Field
	for i := range int64(20) {
		all = append(all, custom.Field{ID: i + 1, Title: fmt.Sprint("F", i), Type: custom.LongTextField})
	}
	var parts []string
	for _, f := range all {
		parts = append(parts, fmt.Sprintf(`"%s":"%s"`, f.Key(), strings.Repeat("x", 10_000)))
	}
	_, err := sendCustom(t, Contact{FirstName: "A", LastName: "B"}, custom.NewFields(1, all),
		"{"+strings.Join(parts, ",")+"}")
	assert.Says(t, err, "The custom_fields field is refused: the contact would be larger than 128 KiB.")
}
