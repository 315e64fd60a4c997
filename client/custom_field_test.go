package client_test

import (
	"testing"

	"donorbook/client"
	"donorbook/internal/rig/assert"
)

// TestCustomFieldsAreSentAndRead: a value has the type of its field, nil clears it, and a list that was not set is not
// sent.
func TestCustomFieldsAreSentAndRead(t *testing.T) {
	s := &script{answers: []reply{
		says(200,
			`{"id":7,"custom_fields":[{"id":3,"field_id":3,"title":"Shirt size","description":null,"type":"select","value":"M"},{"id":4,"field_id":4,"title":"Age","description":"In years","type":"number","value":41.5}]}`),
		says(200,
			`{"data":[{"id":3,"title":"Shirt size","description":null,"type":"select","options":["S","M"]}],"meta":{"last_page":1,"total":1}}`),
	}}
	c := newClient(t, s)
	contact, err := c.Contacts.Update(t.Context(), 7,
		client.ContactChange{CustomFields: []client.CustomFieldInput{{FieldID: 3, Value: "M"},
			{FieldID: 4, Value: 41.5}, {FieldID: 5}}})
	if err != nil || len(contact.CustomFields) != 2 || contact.CustomFields[0].Value != "M" ||
		contact.CustomFields[1].Value != 41.5 || contact.CustomFields[1].Description != "In years" {
		t.Errorf("%+v, %v", contact.CustomFields, err)
	}
	assert.Equal(t, s.seen[0].body,
		`{"custom_fields":[{"field_id":3,"value":"M"},{"field_id":4,"value":41.5},{"field_id":5,"value":null}]}`,
		"sent")
	for field, err := range c.CustomFields.List(t.Context()) {
		if err != nil || field.ID != 3 || field.Title != "Shirt size" || len(field.Options) != 2 ||
			s.seen[1].url != "/v1/custom-fields?page=1&per_page=100" {
			t.Errorf("%+v, %v by %s", field, err, s.seen[1].url)
		}
	}
}
