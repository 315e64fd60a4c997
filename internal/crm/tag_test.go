package crm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestDecodeTags(t *testing.T) {
	long := strings.NewReplacer("LONG", strings.Repeat("é", 65), `"MOST"`, strings.Trim(listed(500, `"t%d"`), "[]"))
	for body, want := range rows.Pairs(`
		{"tags":["a"]}                          [a]
		{"tags":["b","a","b"," a "]}            [b a]
		{"tags":["A","a"],"other":{"x":[null]}}  [A a]
		{"tags":[]}                             The tags field must be an array with at least one tag name.
		{"tags":null}                           The tags field must be an array with at least one tag name.
		{}                                      The tags field must be an array with at least one tag name.
		{"Tags":["a"]}                          The tags field must be an array with at least one tag name.
		{"tags":"a"}                            The tags field must be an array.
		{"tags":[3,"","a\u0000"]}               The tags.0 field must be a string. The tags.1 field must not be empty. The tags.2 field must not contain NUL characters.
		{"tags":["",3]}                         The tags.0 field must not be empty. The tags.1 field must be a string.
		{"tags":["LONG"]}                       The tags.0 field must not be longer than 64 characters.
		{"tags":["MOST","x"]}                   The tags field must not have more than 500 elements.
	`) {
		tags, err := DecodeTags(doc.NewBody([]byte(long.Replace(body))))
		fault := want
		if want[0] == '[' {
			fault = ""
		} else {
			want = "[]"
		}
		crmtest.WantFaults(t, body, err, fault)
		assert.Equal(t, fmt.Sprint(tags), want, "%s", body)
	}
	tags := assert.Must(DecodeTags(doc.NewBody([]byte(long.Replace(`{"tags":["MOST"]}`)))))(t)
	assert.Equal(t, len(tags), 500)
	assert.Equal(t, tags[499], "t499")
	for want, tags := range map[string][]string{ // what was typed
		"": {"a", "b", "a"},
		"The tags field must have at least one tag name.":         nil,
		"The tags.0 field must not be empty.":                     {""},
		"The tags.1 field must not be longer than 64 characters.": {"a", strings.Repeat("é", 65)},
	} {
		names, err := CheckTags(tags)
		crmtest.WantFaults(t, want, err, want)
		assert.Equal(t, err != nil || slices.Equal(names, []string{"a", "b"}), true, "%q", names)
	}
}

func TestTagsAreAddedSyncedAndRemoved(t *testing.T) {
	changes := map[string]func(Contact, []string, time.Time) (Contact, error){
		"add": Contact.AddTags, "sync": Contact.SyncTags, "remove": Contact.RemoveTags,
	}
	for _, test := range rows.Of[struct {
		Change           string
		Have, Sent, Want []string
	}](`
		add     ""     a      a
		add     b a    c a A  b a c A
		add     a      a      a
		sync    a b    c a    c a
		sync    a b    b a    b a
		sync    a      a      a
		remove  a b c  b x    a c
		remove  a      A      a
		remove  a      a      ""
		remove  ""     a      ""
	`) {
		c := Contact{FirstName: "A", LastName: "B", Tags: slices.Clone(test.Have), CreatedAt: noon, UpdatedAt: noon}
		got, err := changes[test.Change](c, test.Sent, hourLater)
		if diff := cmp.Diff(test.Want, got.Tags, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s %q to %q: %v\n%s", test.Change, test.Sent, test.Have, err, diff)
		}
		if updated := !got.UpdatedAt.Equal(noon); updated == slices.Equal(test.Have, test.Want) {
			t.Errorf("%s %q to %q: updated is %v", test.Change, test.Sent, test.Have, updated)
		}
		if !slices.Equal(c.Tags, test.Have) {
			t.Errorf("%s changed the tags in place: %q", test.Change, c.Tags)
		}
	}
}

func TestAContactHasAtMost500Tags(t *testing.T) {
	c := made(t, `{"first_name":"A","last_name":"B","tags":`+listed(499, `"t%d"`)+`}`)
	full, err := c.AddTags([]string{"x", "t1"}, noon)
	assert.Succeed(t, err)
	assert.Equal(t, len(full.Tags), 500)
	_, err = full.AddTags([]string{"y"}, noon)
	crmtest.WantFaults(t, "one more", err, "The tags field is refused: the contact would have more than 500 tags.")
	assert.Equal(t, len(assert.Must(full.RemoveTags([]string{"t0"}, noon))(t).Tags), 499)
}

func FuzzDecodeTags(f *testing.F) {
	for _, body := range rows.All(`
		{"tags":["a","a"," b "]}  {"tags":[]}  {"tags":[1,"",null]}  {"tags":"a"}  []  {"tags":["\u0000"]}
	`) {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		tags, err := DecodeTags(doc.NewBody(body))
		if err != nil {
			if tags != nil || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q: %q, %v", body, tags, err)
			}
			return
		}
		if len(tags) == 0 || len(tags) > 500 {
			t.Fatalf("%q: %d tags", body, len(tags))
		}
		seen := map[string]bool{}
		for _, tag := range tags {
			if tag == "" || tag != strings.TrimSpace(tag) || utf8.RuneCountInString(tag) > 64 ||
				strings.Contains(tag, "\x00") || seen[tag] {
				t.Fatalf("%q: the tag %q", body, tag)
			}
			seen[tag] = true
		}
		c := assert.Must(Contact{FirstName: "A", LastName: "B"}.SyncTags(tags, noon))(t)
		stored := c.AppendBody(nil)
		got, err := ParseContact(7, stored, nil)
		if err != nil || !json.Valid(AppendContact(nil, 7, stored)) || !slices.Equal(got.Tags, tags) {
			t.Fatalf("%q: %v, %q became %q", body, err, tags, got.Tags)
		}
	})
}

func TestFoldTagForgetsCaseAndMarksAndIsBounded(t *testing.T) {
	if FoldTag("Große Spénder") != "grosse spender" || len(FoldTag(strings.Repeat("\ufdfa", 64))) > 200 {
		t.Errorf("%q, %d bytes", FoldTag("Große Spénder"), len(FoldTag(strings.Repeat("\ufdfa", 64))))
	}
	if r := TagRange(" GROSSE sp"); !r.Has(FoldTag("Große Spénder")) || r.Has("grosse s") {
		t.Errorf("%q", r)
	}
}
