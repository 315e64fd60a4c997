package find

import (
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// valid is the input of a body that must be accepted as a change.
func valid(t rapid.TB, body string) crm.ContactInput {
	t.Helper()
	in, faults := assert.Must2(crm.DecodeContact(doc.NewBody([]byte(body))))(t)
	assert.Succeed(t, in.Validate(faults, false, "US", noon))
	return in
}

// made is the contact that a body describes.
func made(t rapid.TB, body string) crm.Contact {
	t.Helper()
	return assert.Must(crm.NewContact(valid(t, body), noon))(t)
}

func someInput(t *rapid.T, whole bool) crm.ContactInput { return valid(t, crmtest.SomeBody(t, whole)) }

// someContact is a contact that can result from creating and merging.
func someContact(t *rapid.T) crm.Contact {
	c := made(t, crmtest.SomeBody(t, rapid.Bool().Draw(t, "whole")))
	if rapid.Bool().Draw(t, "merge") {
		c = assert.Must(c.Merge(someInput(t, false), noon))(t)
	}
	c.Note = crmtest.SomeText(50).Draw(t, "note")
	return c
}
