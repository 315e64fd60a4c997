package crm

import (
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestChangesSayWhatAMergeDid(t *testing.T) {
	before := made(t, `{"first_name":"Amelia","last_name":"Okafor","dob":"1/2/1980","company":"Acme","tags":["a","c"],
		"emails":[{"value":"amelia@x.org","type":"work"}],"phones":[{"value":"212-555-0199","type":"cell"}],"addresses":[{"city":"Oslo"}]}`)
	after := assert.Must(before.Merge(valid(t,
		`{"first_name":"Amelia","middle_name":"N","last_name":"Okafor-Reyes","dob":"1/3/1980",
		"title":"Dr","twitter_url":"https://t.example","linkedin_url":"https://l.example","facebook_url":"https://f.example",
		"emails":[{"value":"new@x.org","type":"work"},{"value":"AMELIA@x.org","type":"personal"}],"note":"Met in Rome.",
		"phones":["+1 212 555 0199","212-555-0100"],"company":null,"tags":["b","a"],
		"addresses":[{"city":"OSLO"},{"address_1":"1 Main St","city":"Rome","country":"ITA"}]}`), hourLater))(t)
	assert.Same(t, `Middle name:  > N
Last name: Okafor > Okafor-Reyes
Date of birth: Jan 2, 1980 > Jan 3, 1980
Title:  > Dr
Twitter:  > https://t.example
LinkedIn:  > https://l.example
Facebook:  > https://f.example
Email added:  > new@x.org (work)
Phone added:  > 212-555-0100
Note:  > Met in Rome.
Address added:  > 1 Main St, Rome, ITA
Tag added:  > b
`, told(Changes(before, after)))
	assert.Equal(t, after.UpdatedAt, hourLater)
	again := assert.Must(after.Merge(valid(t,
		`{"middle_name":null,"dob":"","company":"","title":" ","twitter_url":null,"note":"",
		"emails":[],"phones":null,"tags":[]}`), hourLater))(t)
	assert.Equal(t, bodyOf(again), bodyOf(after), "what is empty clears nothing")
}

func TestChangesSayWhatIsGone(t *testing.T) {
	before := made(t,
		`{"first_name":"Ana","company":"Acme","dob":"1/2/1980","emails":[{"value":"a@x.org","type":"work"},
		{"value":"b@x.org"}],"phones":[{"value":"212-555-0100"}],"addresses":[{"city":"Rome"}],"tags":["a","b"]}`)
	after := assert.Must(before.Patch(valid(t, `{"company":null,"dob":"","emails":[{"value":"b@x.org"},
		{"value":"a@x.org","type":"personal"}],"phones":[],"addresses":[],"tags":["b"]}`), hourLater))(t)
	assert.Same(t, `Date of birth: Jan 2, 1980 > 
Company: Acme > 
Email removed: a@x.org (work) > 
Email added:  > a@x.org (personal)
Phone removed: 212-555-0100 > 
Address removed: Rome > 
Tag removed: a > 
`, told(Changes(before, after)))
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
	brought := `{"company":[null,"Theirs"],"note":["Mine","Mine\n\nTheirs"],"do_not_mail":[false,true],` +
		`"tags":{"at":1,"out":[],"in":["theirs"]},"emails":{"at":0,"out":[{"type":null,"value":"both@x.org"}],` +
		`"in":[{"type":"work","value":"both@x.org"},{"type":null,"value":"theirs@x.org"}]},` +
		`"addresses":{"at":0,"out":[],"in":[{"city":"Rome"}]}}`
	for says, want := range rows.Pairs(`
		BROUGHT  {"emails":{"at":0,"out":[{"type":null,"value":"both@x.org"}],"in":[{"type":"work","value":"both@x.org"}]}}
		{"title":["A","B"],"company":["Theirs","New"]}  {"title":["A","B"],"company":[null,"New"]}
		{"company":["Theirs","Theirs Ltd"],"do_not_mail":[true,false]}  ""
		{"note":["Mine\n\nTheirs","Mine\n\nTheirs\n\nMore"]}  {"note":["Mine","Mine\n\nMore"]}
		{"tags":{"at":0,"out":["mine","theirs"],"in":["new"]}}  {"tags":{"at":0,"out":["mine"],"in":["new"]}}
		{"emails":{"at":0,"out":[{"type":null,"value":"theirs@x.org"}],"in":[{"type":"home","value":"theirs@x.org"}]}}  ""
		{"addresses":{"at":0,"out":[{"city":"Rome"}],"in":[{"city":"Rome","zipcode":"1"}]}}  ""
	`) {
		if says == "BROUGHT" {
			says = brought
		}
		left := doc.KnownDifferences(says).Without(doc.KnownDifferences(brought))
		assert.Equal(t, left.Text(), want, "%s says", says)
	}
}

// told are changes as lines.
func told(changes []doc.Change) (lines string) {
	for _, c := range changes {
		lines += c.Field + ": " + c.Before + " > " + c.After + "\n"
	}
	return lines
}
