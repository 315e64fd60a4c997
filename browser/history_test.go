package browser_test

import "testing"

// A person reads what has happened to a contact, writes a note and undoes a change; an owner sees everything.
func TestHistoryIsReadAndUndone(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Zoë","last_name":"Okafor","emails":[{"value":"zoe@example.org"}]}`)
	p.in(".side").click("Contacts")
	p.click("Zoë Okafor")
	p.sees("History", "added this contact.")
	p.fill("Add a tag", "board")
	p.click("Add tag")
	p.sees("added tag “board”.")
	p.fill("Add a note", "Called about the gala.")
	p.fill("Date of the note", "2026-01-31")
	p.click("Add note")
	p.sees("The note was added.", "wrote a note.", "Called about the gala.", "Jan 31, 2026")
	p.audit()
	p.in(".timeline > li:nth-child(2)").click("Undo")
	p.sees("The change was undone.", "No tags yet", "undid an earlier change: removed tag “board”.", "Undone")
	p.audit()
	p.in(".side").click("Settings")
	p.audit()
	p.click("View history")
	p.sees("Every change in", "Zoë Okafor", "added this contact.")
	p.audit()
}
