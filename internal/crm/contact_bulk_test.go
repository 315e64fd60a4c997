package crm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
)

func TestABulkActionCountsWhatBecameOfContacts(t *testing.T) {
	tagged := Contact{FirstName: "A", Tags: []string{"a", "b"}, UpdatedAt: noon}
	archived := tagged.Archive(noon)
	full := Contact{FirstName: "F", UpdatedAt: noon}
	for i := range maxTags {
		full.Tags = append(full.Tags, fmt.Sprint("t", i))
	}
	for _, test := range []struct {
		action   BulkAction
		contact  Contact
		want     BulkCounts
		tags     string
		archived bool
	}{
		{BulkAction{Kind: BulkTag, Tags: []string{"b", "c"}}, tagged, BulkCounts{Changed: 1}, "a b c", false},
		{BulkAction{Kind: BulkTag, Tags: []string{"b"}}, tagged, BulkCounts{Already: 1}, "a b", false},
		{BulkAction{Kind: BulkTag, Tags: []string{"c"}}, archived, BulkCounts{Archived: 1}, "a b", true},
		{BulkAction{Kind: BulkTag, Tags: []string{"c"}}, full, BulkCounts{Refused: 1}, strings.Join(full.Tags, " "), false},
		{BulkAction{Kind: BulkUntag, Tags: []string{"a", "x"}}, tagged, BulkCounts{Changed: 1}, "b", false},
		{BulkAction{Kind: BulkUntag, Tags: []string{"x"}}, tagged, BulkCounts{Already: 1}, "a b", false},
		{BulkAction{Kind: BulkUntag, Tags: []string{"a"}}, archived, BulkCounts{Archived: 1}, "a b", true},
		{BulkAction{Kind: BulkArchive}, tagged, BulkCounts{Changed: 1}, "a b", true},
		{BulkAction{Kind: BulkArchive}, archived, BulkCounts{Already: 1}, "a b", true},
		{BulkAction{Kind: BulkRestore}, tagged, BulkCounts{Already: 1}, "a b", false},
		{BulkAction{Kind: BulkRestore}, archived, BulkCounts{Changed: 1}, "a b", false},
		{BulkAction{Kind: BulkRename, Tags: []string{"a", "b"}, Becomes: "B"}, archived, BulkCounts{Changed: 1, ChangedArchived: 1}, "B", true},
		{BulkAction{Kind: BulkRename, Tags: []string{"a"}}, tagged, BulkCounts{Changed: 1}, "b", false},
	} {
		var counts BulkCounts
		got := test.action.Apply(test.contact, hourLater, &counts)
		if counts != test.want || strings.Join(got.Tags, " ") != test.tags || got.Archived() != test.archived {
			t.Errorf("%+v of %q: %+v, %q, archived %v", test.action, test.contact.Tags, counts, got.Tags, got.Archived())
		}
		if changed := counts.Changed > 0; got.UpdatedAt.Equal(hourLater) != changed {
			t.Errorf("%+v: updated at %v", test.action, got.UpdatedAt)
		}
	}
}

func TestABulkActionThatMakesNoSenseIsRefused(t *testing.T) {
	for _, test := range []struct {
		kind BulkKind
		tags []string
		want crmtest.Said
	}{
		{BulkTag, nil, crmtest.Said{"tags", "The tags field must have at least one tag name."}},
		{BulkUntag, []string{"a", strings.Repeat("x", 65)}, crmtest.Said{"tags.1", "The tags.1 field must not be longer than 64 characters."}},
		{"drop", nil, crmtest.Said{"action", "The action field must be one of tag, untag, archive, restore."}},
		{BulkRename, []string{"a"}, crmtest.Said{"action", "The action field must be one of tag, untag, archive, restore."}},
	} {
		_, err := NewBulkAction(test.kind, test.tags)
		if faults := crmtest.FaultsOf(t, err); len(faults) != 1 || faults[0] != test.want {
			t.Errorf("%s %q: %v", test.kind, test.tags, faults)
		}
	}
	action, err := NewBulkAction(BulkArchive, []string{""})
	if err != nil || action.Kind != BulkArchive || len(action.Tags) != 0 {
		t.Errorf("%+v, %v", action, err)
	}
	action, err = NewBulkAction(BulkTag, []string{"a", "a", "b"})
	if err != nil || !slices.Equal(action.Tags, []string{"a", "b"}) {
		t.Errorf("%+v, %v", action, err)
	}
}
