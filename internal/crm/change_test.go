package crm

import (
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

func TestChangesSayWhatAMergeDid(t *testing.T) {
	before := made(t, `{"first_name":"Amelia","last_name":"Okafor","dob":"1/2/1980","company":"Acme","emails":[{"value":"amelia@x.org"}],"tags":["a"]}`)
	note := "Met in Rome."
	in := valid(t, `{"first_name":"Amelia","middle_name":"N","last_name":"Okafor-Reyes","dob":"1/3/1980","title":"Dr",
		"twitter_url":"https://t.example","linkedin_url":"https://l.example","facebook_url":"https://f.example",
		"emails":[{"value":"AMELIA@x.org"},{"value":"new@x.org","type":"work"}],"phones":[{"value":"212-555-0100"}],
		"addresses":[{"address_1":"1 Main St","city":"Rome","country":"ITA"}],"tags":["a","b"]}`)
	in.Note = &note
	after := assert.Must(before.Merge(in, hourLater))(t)
	want := []doc.Change{
		{Field: "Middle name", Before: "", After: "N"},
		{Field: "Last name", Before: "Okafor", After: "Okafor-Reyes"},
		{Field: "Date of birth", Before: "Jan 2, 1980", After: "Jan 3, 1980"},
		{Field: "Title", Before: "", After: "Dr"},
		{Field: "Twitter", Before: "", After: "https://t.example"},
		{Field: "LinkedIn", Before: "", After: "https://l.example"},
		{Field: "Facebook", Before: "", After: "https://f.example"},
		{Field: "Email added", Before: "", After: "new@x.org (work)"},
		{Field: "Phone added", Before: "", After: "212-555-0100"},
		{Field: "Note", Before: "", After: "Met in Rome."},
		{Field: "Address added", Before: "", After: "1 Main St, Rome, ITA"},
		{Field: "Tag added", Before: "", After: "b"},
	}
	assert.Same(t, want, Changes(before, after))
}

func TestChangesSayWhatIsGone(t *testing.T) {
	before := made(t, `{"first_name":"Ana","company":"Acme","dob":"1/2/1980","emails":[{"value":"a@x.org","type":"work"},{"value":"b@x.org"}],
		"phones":[{"value":"212-555-0100"}],"addresses":[{"city":"Rome"}],"tags":["a","b"]}`)
	after := assert.Must(before.Patch(valid(t, `{"company":null,"dob":"","emails":[{"value":"b@x.org"},{"value":"a@x.org","type":"personal"}],"phones":[],"addresses":[],"tags":["b"]}`), hourLater))(t)
	want := []doc.Change{
		{Field: "Date of birth", Before: "Jan 2, 1980", After: ""},
		{Field: "Company", Before: "Acme", After: ""},
		{Field: "Email removed", Before: "a@x.org (work)", After: ""},
		{Field: "Email added", Before: "", After: "a@x.org (personal)"},
		{Field: "Phone removed", Before: "212-555-0100", After: ""},
		{Field: "Address removed", Before: "Rome", After: ""},
		{Field: "Tag removed", Before: "a", After: ""},
	}
	assert.Same(t, want, Changes(before, after))
}

// Everything that a merge changes is reported, and nothing is reported if only the time has changed.
func TestEveryMergeThatChangesSomethingHasChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		merged := assert.Must(c.Merge(someInput(t, false), hourLater))(t)
		changed := bodyOf(merged) != bodyOf(c)
		assert.Equal(t, (len(Changes(c, merged)) > 0), changed, "from\n%s\nto\n%s", bodyOf(c), bodyOf(merged))
		if changes := Changes(merged, merged); len(changes) > 0 {
			t.Fatalf("a contact differs from itself: %v", changes)
		}
	})
}

// What a change says without another one is as if that had not been, and says nothing of what it has brought.
func TestAChangeWithoutWhatAnotherHasBrought(t *testing.T) {
	brought := `{"company":[null,"Theirs"],"note":["Mine","Mine\n\nTheirs"],"do_not_mail":[false,true],"tags":{"at":1,"out":[],"in":["theirs"]},` +
		`"emails":{"at":0,"out":[{"type":null,"value":"both@x.org"}],"in":[{"type":"work","value":"both@x.org"},{"type":null,"value":"theirs@x.org"}]},"addresses":{"at":0,"out":[],"in":[{"city":"Rome"}]}}`
	for _, test := range []struct{ says, want string }{
		{brought, `{"emails":{"at":0,"out":[{"type":null,"value":"both@x.org"}],"in":[{"type":"work","value":"both@x.org"}]}}`},
		{`{"title":["A","B"],"company":["Theirs","New"]}`, `{"title":["A","B"],"company":[null,"New"]}`},
		{`{"company":["Theirs","Theirs Ltd"],"do_not_mail":[true,false]}`, ``},
		{`{"note":["Mine\n\nTheirs","Mine\n\nTheirs\n\nMore"]}`, `{"note":["Mine","Mine\n\nMore"]}`},
		{`{"tags":{"at":0,"out":["mine","theirs"],"in":["new"]}}`, `{"tags":{"at":0,"out":["mine"],"in":["new"]}}`},
		{`{"emails":{"at":0,"out":[{"type":null,"value":"theirs@x.org"}],"in":[{"type":"home","value":"theirs@x.org"}]}}`, ``},
		{`{"addresses":{"at":0,"out":[{"city":"Rome"}],"in":[{"city":"Rome","zipcode":"1"}]}}`, ``},
	} {
		assert.Equal(t, doc.KnownDifferences(test.says).Without(doc.KnownDifferences(brought)).Text(), test.want,
			"%s says", test.says)
	}
}
