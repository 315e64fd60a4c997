package find

import (
	"testing"
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
	in, faults, err := crm.DecodeContact(doc.NewBody([]byte(body)))
	if err == nil {
		err = in.Validate(faults, false, "US", noon)
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// made is the contact that a body describes.
func made(t rapid.TB, body string) crm.Contact {
	t.Helper()
	c := assert.Must(crm.NewContact(valid(t, body), noon))(t)
	return c
}

func someInput(t *rapid.T, whole bool) crm.ContactInput { return valid(t, crmtest.SomeBody(t, whole)) }

// someContact is a contact that can result from creating, merging and changing.
func someContact(t *rapid.T) crm.Contact {
	now := noon
	c, err := crm.NewContact(someInput(t, rapid.Bool().Draw(t, "whole")), now)
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "pause")) * time.Second)
		if in := someInput(t, false); err == nil && rapid.Bool().Draw(t, "merge") {
			c, err = c.Merge(in, now)
		} else if err == nil {
			c, err = c.Patch(in, now)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	c.ID = doc.MakeID(1_000_000, rapid.Int64Range(1, doc.MaxSeq).Draw(t, "seq"))
	c.Note = crmtest.SomeText(50).Draw(t, "note")
	c.Stats = crm.Stats{RecurringContributions: rapid.Int64().Draw(t, "recurring"), TotalContributions: rapid.Int64().Draw(t, "total")}
	if rapid.Bool().Draw(t, "archived") {
		c = c.Archive(now)
	}
	return c
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment := assert.Must(time.Parse(time.RFC3339, text))(t)
	return moment
}
