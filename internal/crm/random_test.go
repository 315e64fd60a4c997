package crm

import (
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

func someInput(t *rapid.T, whole bool) ContactInput {
	in := assert.Must(read(crmtest.SomeBody(t, whole), false))(t)
	return in
}

// someContact is a contact that can result from creating, merging and changing.
func someContact(t *rapid.T) Contact {
	now := noon
	c, err := NewContact(someInput(t, rapid.Bool().Draw(t, "whole")), now)
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
	c.Stats = Stats{rapid.Int64().Draw(t, "recurring"), rapid.Int64().Draw(t, "total")}
	if rapid.Bool().Draw(t, "archived") {
		c = c.Archive(now)
	}
	return c
}

// bodyOf is the stored body as text, to compare what a client would see.
func bodyOf(c Contact) string { return string(c.AppendBody(nil)) }
