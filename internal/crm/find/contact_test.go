package find

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// made is the contact that a body describes.
func made(t rapid.TB, body string) crm.Contact {
	t.Helper()
	in, faults, err := crm.DecodeContact([]byte(body))
	if err == nil {
		err = in.Validate(faults, false, "US", noon)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := crm.NewContact(in, noon)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// someContact is any contact, active or archived.
func someContact(t *rapid.T) crm.Contact {
	c := made(t, crmtest.SomeBody(t, rapid.Bool().Draw(t, "whole")))
	c.ID = doc.MakeID(1_000_000, rapid.Int64Range(1, doc.MaxSeq).Draw(t, "seq"))
	if rapid.Bool().Draw(t, "archived") {
		c = c.Archive(noon)
	}
	return c
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}
