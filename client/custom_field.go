package client

import (
	"context"
	"iter"
)

// CustomField is the value that a contact has in one of the account's custom fields.
type CustomField struct {
	ID          int64  `json:"id"`
	FieldID     int64  `json:"field_id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Value       any    `json:"value"` // a string, a float64 or a bool
}

// CustomFieldInput is a value for a custom field: a string, a number or a bool, as its type says. A date is a string such as 2026-01-31. On a
// change, nil clears the value.
type CustomFieldInput struct {
	FieldID int64 `json:"field_id"`
	Value   any   `json:"value"`
}

// CustomFieldDefinition is a field that the organization has added to its contacts.
type CustomFieldDefinition struct {
	ID          int64    `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Type        string   `json:"type"`    // text, long_text, number, date, boolean or select
	Options     []string `json:"options"` // of a select
}

// CustomFields are the calls about custom fields.
type CustomFields struct{ c *Client }

const customFieldsPath = "/v1/custom-fields"

// List walks through all custom fields that are in use, in the order in which people see them.
func (s CustomFields) List(ctx context.Context) iter.Seq2[CustomFieldDefinition, error] {
	return all[CustomFieldDefinition](ctx, s.c, customFieldsPath, query{})
}

// Page reads one page of the custom fields that are in use, with their total.
func (s CustomFields) Page(ctx context.Context, number int) (Page[CustomFieldDefinition], error) {
	return page[CustomFieldDefinition](ctx, s.c, customFieldsPath, query{}, number)
}
