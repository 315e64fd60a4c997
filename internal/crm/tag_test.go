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
)

func TestDecodeTags(t *testing.T) {
	for body, want := range map[string][]string{
		`{"tags":["a"]}`:                          {"a"},
		`{"tags":["b","a","b"," a "]}`:            {"b", "a"},
		`{"tags":["A","a"],"other":{"x":[null]}}`: {"A", "a"},
		`{"tags":` + listed(500, `"t%d"`) + `}`: func() (all []string) {
			for i := range 500 {
				all = append(all, fmt.Sprintf("t%d", i))
			}
			return all
		}(),
	} {
		got, err := DecodeTags(doc.NewBody([]byte(body)))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%.60s: %v\n%s", body, err, diff)
		}
	}
}

func TestDecodeTagsRefuses(t *testing.T) {
	none := crmtest.Said{"tags", "The tags field must be an array with at least one tag name."}
	for _, test := range []struct {
		body string
		want []crmtest.Said
	}{
		{`{"tags":[]}`, []crmtest.Said{none}},
		{`{"tags":null}`, []crmtest.Said{none}},
		{`{}`, []crmtest.Said{none}},
		{`{"Tags":["a"]}`, []crmtest.Said{none}},
		{`{"tags":"a"}`, []crmtest.Said{{"tags", "The tags field must be an array."}}},
		{`{"tags":[3,"","a\u0000"]}`, []crmtest.Said{
			{"tags.0", "The tags.0 field must be a string."},
			{"tags.1", "The tags.1 field must not be empty."},
			{"tags.2", "The tags.2 field must not contain NUL characters."}}},
		{`{"tags":["",3]}`, []crmtest.Said{{"tags.0", "The tags.0 field must not be empty."}, {"tags.1", "The tags.1 field must be a string."}}},
		{`{"tags":["` + strings.Repeat("é", 65) + `"]}`, []crmtest.Said{{"tags.0", "The tags.0 field must not be longer than 64 characters."}}},
		{`{"tags":` + listed(501, `"t%d"`) + `}`, []crmtest.Said{{"tags", "The tags field must not have more than 500 elements."}}},
	} {
		got, err := DecodeTags(doc.NewBody([]byte(test.body)))
		if diff := cmp.Diff(test.want, crmtest.FaultsOf(t, err)); diff != "" || got != nil {
			t.Errorf("%.60s: %v\n%s", test.body, got, diff)
		}
	}
}

func TestTagsAreAddedSyncedAndRemoved(t *testing.T) {
	type change func(Contact, []string, time.Time) (Contact, error)
	const add, sync, remove = "add", "sync", "remove"
	changes := map[string]change{add: Contact.AddTags, sync: Contact.SyncTags, remove: Contact.RemoveTags}
	for _, test := range []struct {
		change           string
		have, sent, want []string
	}{
		{add, nil, []string{"a"}, []string{"a"}},
		{add, []string{"b", "a"}, []string{"c", "a", "A"}, []string{"b", "a", "c", "A"}},
		{add, []string{"a"}, []string{"a"}, []string{"a"}},
		{sync, []string{"a", "b"}, []string{"c", "a"}, []string{"c", "a"}},
		{sync, []string{"a", "b"}, []string{"b", "a"}, []string{"b", "a"}},
		{sync, []string{"a"}, []string{"a"}, []string{"a"}},
		{remove, []string{"a", "b", "c"}, []string{"b", "x"}, []string{"a", "c"}},
		{remove, []string{"a"}, []string{"A"}, []string{"a"}},
		{remove, []string{"a"}, []string{"a"}, nil},
		{remove, nil, []string{"a"}, nil},
	} {
		c := Contact{FirstName: "A", LastName: "B", Tags: slices.Clone(test.have), CreatedAt: noon, UpdatedAt: noon}
		got, err := changes[test.change](c, test.sent, hourLater)
		if diff := cmp.Diff(test.want, got.Tags, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s %q to %q: %v\n%s", test.change, test.sent, test.have, err, diff)
		}
		if updated := !got.UpdatedAt.Equal(noon); updated == slices.Equal(test.have, test.want) {
			t.Errorf("%s %q to %q: updated is %v", test.change, test.sent, test.have, updated)
		}
		if !slices.Equal(c.Tags, test.have) {
			t.Errorf("%s changed the tags in place: %q", test.change, c.Tags)
		}
	}
}

func TestAContactHasAtMost500Tags(t *testing.T) {
	c := made(t, `{"first_name":"A","last_name":"B","tags":`+listed(499, `"t%d"`)+`}`)
	full, err := c.AddTags([]string{"x", "t1"}, noon)
	if err != nil || len(full.Tags) != 500 {
		t.Errorf("%d tags: %v", len(full.Tags), err)
	}
	_, err = full.AddTags([]string{"y"}, noon)
	want := []crmtest.Said{{"tags", "The tags field is refused: the contact would have more than 500 tags."}}
	if diff := cmp.Diff(want, crmtest.FaultsOf(t, err)); diff != "" {
		t.Error(diff)
	}
	if less, err := full.RemoveTags([]string{"t0"}, noon); err != nil || len(less.Tags) != 499 {
		t.Errorf("%d tags: %v", len(less.Tags), err)
	}
}

func FuzzDecodeTags(f *testing.F) {
	for _, body := range []string{`{"tags":["a","a"," b "]}`, `{"tags":[]}`, `{"tags":[1,"",null]}`, `{"tags":"a"}`, `[]`, `{"tags":["\u0000"]}`} {
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
			if tag == "" || tag != strings.TrimSpace(tag) || utf8.RuneCountInString(tag) > 64 || strings.Contains(tag, "\x00") || seen[tag] {
				t.Fatalf("%q: the tag %q", body, tag)
			}
			seen[tag] = true
		}
		c, err := Contact{FirstName: "A", LastName: "B"}.SyncTags(tags, noon)
		if err != nil {
			t.Fatal(err)
		}
		stored := c.AppendBody(nil)
		got, err := ParseContact(7, stored, nil)
		if err != nil || !json.Valid(AppendContact(nil, 7, stored)) || !slices.Equal(got.Tags, tags) {
			t.Fatalf("%q: %v, %q became %q", body, err, tags, got.Tags)
		}
	})
}

func TestTagsThatWereTypedAreCheckedLikeThoseThatWereSent(t *testing.T) {
	names, err := CheckTags([]string{"a", "b", "a"})
	if err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%v: %q", err, names)
	}
	for _, test := range []struct {
		Strings []string
		want    crmtest.Said
	}{
		{nil, crmtest.Said{"tags", "The tags field must have at least one tag name."}},
		{[]string{""}, crmtest.Said{"tags.0", "The tags.0 field must not be empty."}},
		{[]string{"a", strings.Repeat("é", 65)}, crmtest.Said{"tags.1", "The tags.1 field must not be longer than 64 characters."}},
	} {
		_, err := CheckTags(test.Strings)
		if faults := crmtest.FaultsOf(t, err); len(faults) != 1 || faults[0] != test.want {
			t.Errorf("%q: %v", test.Strings, faults)
		}
	}
}

func TestFoldTagForgetsCaseAndMarksAndIsBounded(t *testing.T) {
	if FoldTag("Große Spénder") != "grosse spender" || len(FoldTag(strings.Repeat("\ufdfa", 64))) > 200 {
		t.Errorf("%q, %d bytes", FoldTag("Große Spénder"), len(FoldTag(strings.Repeat("\ufdfa", 64))))
	}
	if r := TagRange(" GROSSE sp"); !r.Has(FoldTag("Große Spénder")) || r.Has("grosse s") {
		t.Errorf("%q", r)
	}
}
