package crm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestChangesSayWhatAMergeDid(t *testing.T) {
	before := made(t, `{"first_name":"Amelia","last_name":"Okafor","dob":"1/2/1980","company":"Acme","emails":[{"value":"amelia@x.org"}],"tags":["a"]}`)
	note := "Met in Rome."
	in := valid(t, `{"first_name":"Amelia","middle_name":"N","last_name":"Okafor-Reyes","dob":"1/3/1980","title":"Dr",
		"twitter_url":"https://t.example","linkedin_url":"https://l.example","facebook_url":"https://f.example",
		"emails":[{"value":"AMELIA@x.org"},{"value":"new@x.org","type":"work"}],"phones":[{"value":"212-555-0100"}],
		"addresses":[{"address_1":"1 Main St","city":"Rome","country":"ITA"}],"tags":["a","b"]}`)
	in.Note = &note
	after, err := before.Merge(in, hourLater)
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{"Middle name", "", "N"},
		{"Last name", "Okafor", "Okafor-Reyes"},
		{"Date of birth", "Jan 2, 1980", "Jan 3, 1980"},
		{"Title", "", "Dr"},
		{"Twitter", "", "https://t.example"},
		{"LinkedIn", "", "https://l.example"},
		{"Facebook", "", "https://f.example"},
		{"Email added", "", "new@x.org (work)"},
		{"Phone added", "", "212-555-0100"},
		{"Note", "", "Met in Rome."},
		{"Address added", "", "1 Main St, Rome, ITA"},
		{"Tag added", "", "b"},
	}
	if diff := cmp.Diff(want, Changes(before, after)); diff != "" {
		t.Error(diff)
	}
}

func TestChangesSayWhatIsGone(t *testing.T) {
	before := made(t, `{"first_name":"Ana","company":"Acme","dob":"1/2/1980","emails":[{"value":"a@x.org","type":"work"},{"value":"b@x.org"}],
		"phones":[{"value":"212-555-0100"}],"addresses":[{"city":"Rome"}],"tags":["a","b"]}`)
	after, err := before.Patch(valid(t, `{"company":null,"dob":"","emails":[{"value":"b@x.org"},{"value":"a@x.org","type":"personal"}],"phones":[],"addresses":[],"tags":["b"]}`), hourLater)
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{"Date of birth", "Jan 2, 1980", ""},
		{"Company", "Acme", ""},
		{"Email removed", "a@x.org (work)", ""},
		{"Email added", "", "a@x.org (personal)"},
		{"Phone removed", "212-555-0100", ""},
		{"Address removed", "Rome", ""},
		{"Tag removed", "a", ""},
	}
	if diff := cmp.Diff(want, Changes(before, after)); diff != "" {
		t.Error(diff)
	}
}

// Everything that a merge changes is reported, and nothing is reported if only the time has changed.
func TestEveryMergeThatChangesSomethingHasChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		merged, err := c.Merge(someInput(t, false), hourLater)
		if err != nil {
			t.Fatal(err)
		}
		changed := bodyOf(merged) != bodyOf(c)
		if changes := Changes(c, merged); (len(changes) > 0) != changed {
			t.Fatalf("from\n%s\nto\n%s\nis told as %v", bodyOf(c), bodyOf(merged), changes)
		}
		if changes := Changes(merged, merged); len(changes) > 0 {
			t.Fatalf("a contact differs from itself: %v", changes)
		}
	})
}
