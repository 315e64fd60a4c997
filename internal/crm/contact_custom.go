package crm

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
)

// CheckCustom checks what the input says about custom fields by their definitions.
func (in *ContactInput) CheckCustom(fields *custom.Fields) error {
	v := new(doc.Invalid)
	in.Fields = fields
	in.custom = fields.Check(v, in.Custom)
	return v.Err()
}

// CustomValues are the values that CheckCustom has found in the input.
func (in *ContactInput) CustomValues() (values []custom.Value) {
	for _, change := range in.custom {
		if change.To.Value != "" {
			values = append(values, change.To)
		}
	}
	return values
}

var errNoCustom = errors.New("the stored document has no place for custom fields")

// AppendCustomized is AppendContact for a contact with custom fields: each value gets what its definition says, and
// those of fields that have ended are left out.
func AppendCustomized(dst []byte, id int64, body []byte, fields *custom.Fields) ([]byte, error) {
	before, stored, after, found := doc.CutField(body, "custom_fields")
	if !found {
		return dst, errNoCustom
	}
	r := doc.NewReader("The stored document", stored)
	values := custom.LoadValues(r)
	if err := r.End(); err != nil {
		//nolint:errorlint // no fault of a client
		return dst, fmt.Errorf("contact %d: the stored document is damaged: %v", id, err)
	}
	dst = fields.AppendShown(append(appendStart(dst, id), before...), values)
	return appendEnd(dst, after), nil
}

// CustomValue is what the contact has in a field, with an empty value where that is nothing.
func (c *Contact) CustomValue(field int64) custom.Value { return custom.ValueIn(c.Custom, field) }

// customFieldsField are the values in custom fields. They are changed one by one, and never replaced as a list.
func customFieldsField() doc.Field[*Contact, *ContactInput] {
	return doc.Field[*Contact, *ContactInput]{
		Stored: doc.Stored[*Contact]{
			Name: "custom_fields", Label: "Custom fields",
			Load:   func(r *doc.Reader, c *Contact) { c.Custom = custom.LoadValues(r) },
			Append: func(dst []byte, c *Contact) []byte { return custom.AppendValues(dst, c.Custom) },
			Same:   func(a, b *Contact) bool { return slices.Equal(a.Custom, b.Custom) },
			Size: func(c *Contact) (n int) {
				for _, v := range c.Custom {
					n += len(v.Value) + 48
				}
				return n
			},
			Fill: func(c *Contact, _ doc.Place, set doc.Setter) {
				for _, v := range c.Custom {
					set("custom_fields."+custom.Key(v.Field), v.Text())
				}
			},
			Differ: func(was, is *Contact) doc.Differences { return custom.Differences(was.Custom, is.Custom) },
			Undo: func(c *Contact, d *doc.Difference, _ string) (left bool) {
				c.Custom, left = custom.TakeBack(c.Custom, d)
				return left
			},
			Redo: func(c *Contact, d *doc.Difference, undone *doc.Undone[*Contact], _ string) (conflict bool) {
				c.Custom, conflict = custom.Redo(c.Custom, d, doc.Within(undone,
					func(c *Contact) []custom.Value { return c.Custom }))
				return conflict
			},
		},
		Read: func(r *doc.Reader, in *ContactInput) { in.Custom = custom.ReadInputs(r, in.Custom, maxSent) },
		Take: func(form doc.Form, _ doc.Place, in *ContactInput) {
			in.Custom = custom.TakeInputs(form, in.Custom, maxSent)
		},
		Check: func(c *doc.Checker, _ doc.Place, in *ContactInput) {
			if in.Fields != nil {
				in.custom = in.Fields.Check(&c.Invalid, in.Custom)
			}
		},
		Merge: func(c *Contact, in *ContactInput, _ time.Time) {
			for _, change := range in.custom {
				if change.To.Value != "" {
					c.Custom = custom.Put(c.Custom, change.To)
				}
			}
		},
		Patch: func(c *Contact, in *ContactInput, _ time.Time) {
			for _, change := range in.custom {
				c.Custom = custom.Put(c.Custom, change.To)
			}
		},
	}
}
