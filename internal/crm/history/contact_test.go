package history

import (
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

var (
	noon      = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	hourLater = noon.Add(time.Hour)
)

// made is the contact that a body describes.
func made(t testing.TB, body string) crm.Contact {
	t.Helper()
	in, faults, err := crm.DecodeContact(doc.NewBody([]byte(body)))
	if err == nil {
		err = in.Validate(faults, false, "US", noon)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := assert.Must(crm.NewContact(in, noon))(t)
	return c
}
