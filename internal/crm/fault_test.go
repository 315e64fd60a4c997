package crm

import (
	"strings"
	"testing"

	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

func TestAFaultNamesItsFieldRuleAndLimit(t *testing.T) {
	_, err := read(`{"first_name":"`+strings.Repeat("x", 256)+
		`","emails":[{"value":"a b"}],"phones":[{"type":"fax","value":"1"}],"tags":7}`, true)
	want := []doc.Fault{
		{Field: "first_name", Rule: doc.TooLong, Args: []any{255}},
		{Field: "last_name", Rule: doc.Required},
		{Field: "emails.0.value", Rule: doc.EmailForm},
		{Field: "phones.0.type", Rule: doc.OneOf, Args: []any{"work, home, cell"}},
		{Field: "phones.0.value", Rule: doc.PhoneForm, Args: []any{"US"}},
		{Field: "tags", Rule: doc.Array},
	}
	assert.Same(t, want, err.(*doc.Invalid).Faults)
}

func TestAFaultInWordsForPrograms(t *testing.T) {
	for want, fault := range map[string]doc.Fault{
		"The goal field must be a number.": {Field: "goal", Rule: doc.Number},
		"The note field must not be longer than 10000 characters.": {Field: "note", Rule: doc.TooLong,
			Args: []any{10_000}},
		"The permission \"%d\" does not exist.": {Field: "permission",
			Rule: "The permission %q does not exist.", Args: []any{"%d"}},
		"100% of the row is wrong.": {Rule: "100% of the row is wrong."},
		"“x” is not the id of an organization here.": {Field: "beneficiaries",
			Rule: "“%v” is not the id of an organization here.", Args: []any{"x"}},
		"The event.end_at field must not be before event.start_at.": {Field: "event.end_at", Rule: doc.NotBefore,
			Args: []any{"event.start_at"}},
	} {
		assert.Equal(t, fault.String(), want)
	}
}
