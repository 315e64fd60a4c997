package rig

import (
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

func TestAFieldThatAContactDoesNotHaveIsFound(t *testing.T) {
	for body, want := range map[string]string{
		`{"first_name":"A","addresses":[{"address_1":"1 Elm Street","city":"Boston"}],"tags":["t"],"emails":[{"type":"work","value":"a@x.org"}]}`: "",
		`{"addresses":[{"address_1":"1 Elm Street"},{"line1":"2 Elm Street"}]}`:                                                                   "line1",
		`{"first_name":"A","nickname":"B"}`: "nickname",
	} {
		in, faults, err := crm.DecodeContact(doc.NewBody([]byte(body)))
		if err == nil {
			err = in.Validate(faults, false, "US", time.Now())
		}
		if err != nil {
			t.Fatal(err) // the API ignores a field that does not exist
		}
		assert.Equal(t, unknownField(t, body, in), want, "%s: the unknown field", body)
	}
}
