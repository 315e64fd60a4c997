package custom

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"donorbook/internal/crm/doc"
)

// CheckImported finds values of no known field, and those that are not in the form in which a field keeps them. A field
// may have ended, and an option may be gone.
func (fields *Fields) CheckImported(v *doc.Invalid, values []Value) {
	last := int64(0)
	for _, value := range values {
		at := slices.IndexFunc(fields.All, func(f Field) bool { return f.ID == value.Field })
		if at < 0 || value.Field <= last {
			v.Add("custom_fields", doc.UnknownField)
			return
		}
		last = value.Field
		text, _ := value.Quoted()
		f, in := &fields.All[at], Input{Field: value.Field, said: jsontext.Value(value.Value).Kind(),
			text: cmp.Or(text, value.Value)}
		if kept, rule, args := f.value(&in); kept != value.Value {
			v.AddLabeled("custom_fields."+f.Key(), f.Title, cmp.Or(rule, "is not in the form in which it is kept"),
				args...)
		}
	}
}

// CheckImported refuses a definition that no one could have made beside the others.
func (f *Field) CheckImported(others *Fields) error {
	active := int64(0)
	for i := range others.All {
		if others.All[i].ID == f.ID {
			return doc.NewInvalid("id", doc.Taken)
		}
		if !others.All[i].Ended() {
			active++
		}
	}
	made, err := f.Revise(FieldInput{Title: f.Title, Description: f.Description, Options: f.Options}, others)
	switch {
	case err != nil:
		return err
	case f.ID <= 0 || f.ID > doc.MaxSeq:
		return doc.NewInvalid("id", doc.IDForm)
	case made.Title != f.Title || made.Description != f.Description || !slices.Equal(made.Options, f.Options):
		return doc.NewInvalid("title",
			"is not in the form in which it is kept, and neither may be the description and the options")
	case !f.Ended():
		err = fieldLimit.Check(active, 1)
	}
	return cmp.Or(err, allFieldsLimit.Check(int64(len(others.All)), 1))
}
