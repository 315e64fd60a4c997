package crm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChangesOfCustomFieldsAreTold(t *testing.T) {
	fields := NewCustomFields(1, []CustomField{{ID: 1, Title: "Text", Type: TextField}, {ID: 3, Title: "Number", Type: NumberField}, {ID: 5, Title: "Yes or no", Type: BooleanField}})
	data := `{"custom_fields.field_1":["a","b"],"custom_fields.field_3":[1,null],"custom_fields.field_5":[null,true]}`
	activity := Activity{Noun: ContactNoun, Kind: DidUpdate, Data: data, Fields: fields}
	if diff := cmp.Diff([]Change{{"“Text”", "a", "b"}, {"“Number”", "1", ""}, {"“Yes or no”", "", "Yes"}}, activity.Changes()); diff != "" || !activity.OfCustomFields() {
		t.Error(diff)
	}
}
