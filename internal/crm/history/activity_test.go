package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
)

func TestChangesOfCustomFieldsAreTold(t *testing.T) {
	fields := custom.NewFields(1, []custom.Field{{ID: 1, Title: "Text", Type: custom.TextField},
		{ID: 3, Title: "Number", Type: custom.NumberField}, {ID: 5, Title: "Yes or no", Type: custom.BooleanField}})
	data := `{"custom_fields.field_1":["a","b"],"custom_fields.field_3":[1,null],"custom_fields.field_5":[null,true]}`
	activity := Activity{Noun: ContactNoun, Kind: DidUpdate, Data: data, Fields: fields}
	if diff := cmp.Diff([]doc.Change{{Field: "“Text”", Before: "a", After: "b"},
		{Field: "“Number”", Before: "1", After: ""}, {Field: "“Yes or no”", Before: "", After: "Yes"}},
		activity.Changes()); diff != "" || !activity.OfCustomFields() {
		t.Error(diff)
	}
}
