package crm

import (
	"fmt"
	"testing"
	"time"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// Whose value the merged contact gets, field by field.
func TestAMergeChoosesValues(t *testing.T) {
	const survivor, other = 1, 2
	s := Contact{ID: survivor, FirstName: "Thomas", LastName: "Reed", Company: "Reed Books", Note: "A", DoNotMail: true,
		Tags: []string{"a", "b"}, Custom: []custom.Value{{Field: 1, Value: `"x"`}}}
	o := Contact{ID: other, FirstName: "Tom", LastName: "Reed", Title: "Owner", Note: "B", Deceased: true,
		Tags: []string{"c", "a"}, Custom: []custom.Value{{Field: 1, Value: `"y"`}, {Field: 2, Value: "true"}}}
	fields := func(names ...string) MergeChoice {
		choice := MergeChoice{Fields: map[string]int64{}}
		for _, name := range names {
			choice.Fields[name] = other
		}
		return choice
	}
	for _, c := range []struct {
		choice MergeChoice
		want   string
	}{
		{MergeChoice{}, `Thomas Reed Books Owner "A\n\nB" true true [a b c] [{1 "x"} {2 true}]`},
		{MergeChoice{PreferOther: true}, `Tom Reed Books Owner "A\n\nB" true true [c a b] [{1 "y"} {2 true}]`},
		{fields("first_name", "note", "tags"), `Tom Reed Books Owner "B" true true [c a b] [{1 "x"} {2 true}]`},
		{fields("company", "do_not_mail", "custom_fields.field_1"),
			`Thomas  Owner "A\n\nB" false true [a b c] [{1 "y"} {2 true}]`},
	} {
		m, err := s.Absorb(&o, c.choice, "US", time.Now())
		if got := fmt.Sprintf("%s %s %s %q %v %v %v %v", m.FirstName, m.Company, m.Title, m.Note, m.DoNotMail,
			m.Deceased, m.Tags, m.Custom); err != nil || got != c.want {
			t.Errorf("%+v: %s, %v, want %s", c.choice, got, err, c.want)
		}
		again, err := m.Absorb(&o, MergeChoice{}, "US", time.Now())
		if err != nil || string(again.AppendBody(nil)) != string(m.AppendBody(nil)) {
			t.Errorf("%+v: merged twice is not merged once: %s", c.choice, again.AppendBody(nil))
		}
	}
}

// A contact that was merged stays in the archive, whatever is restored with it.
func TestABulkRestoreLeavesMergedContacts(t *testing.T) {
	now := time.Now()
	merged := (&Contact{ID: 2, FirstName: "Tom", ExternalIDs: []ExternalID{{"old",
		"1"}}}).WithDerivedKeys().MergeInto(1, now)
	var counts BulkCounts
	if c := (BulkAction{Kind: BulkRestore}).Apply(merged, now, &counts); !c.Archived() ||
		counts != (BulkCounts{Merged: 1}) {
		t.Errorf("%+v, %+v", c, counts)
	}
	if len(merged.ExternalIDs)+len(merged.MatchKeys) > 0 {
		t.Errorf("it keeps ids that are the survivor's: %+v", merged)
	}
	read, err := ParseContact(2, merged.AppendBody(nil), nil)
	if err != nil || read.MergedInto != 1 || !read.Archived() {
		t.Errorf("read back %+v, %v", read, err)
	}
	assert.Contains(t, string(AppendContact(nil, 2, merged.AppendBody(nil))), `"merged_into":1,"type":"individual"`,
		"shown")
}

// One fault is told once, in words for who sent it. Ids may be texts.
func TestAMergeTellsWhatIsWrongWithItsIDs(t *testing.T) {
	for body, want := range rows.Pairs(`
		{"contact_id":2,"prefer":"other","fields":{"company":1},"more":[]}      2 true map[company:1]
		{"contact_id":"12","fields":{"company":"12","note":"7"}}                12 false map[company:12 note:7]
		{"contact_id":"x"}                      The contact_id field must be an id, which is a whole number.
		{"contact_id":1.5}                      The contact_id field must be an id, which is a whole number.
		{"contact_id":"-1"}                     The contact_id field must be an id, which is a whole number.
		{"contact_id":true}                     The contact_id field must be a number.
		{"contact_id":""}                       The contact_id field is required.
		{"contact_id":2,"prefer":"best"}        The prefer field must be one of survivor, other.
		{"contact_id":2,"fields":[1]}           The fields field must be an object.
		{"contact_id":-1}                       The contact_id field must be an id, which is a whole number.
		{}                                      The contact_id field is required.
		{"contact_id":2,"fields":{"note":"x"}}  The fields.note field must be an id, which is a whole number.
		{"contact_id":2,"fields":{"note":1.5}}  The fields.note field must be an id, which is a whole number.
	`) {
		in, err := DecodeMerge(doc.NewBody([]byte(body)))
		got := fmt.Sprint(in.Contact, in.PreferOther, in.Fields)
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, want, "%s", body)
	}
}
