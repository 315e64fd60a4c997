package crm

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestABulkActionCountsWhatBecameOfContacts(t *testing.T) {
	tagged := Contact{FirstName: "A", Tags: []string{"a", "b"}, UpdatedAt: noon}
	archived := tagged.Archive(noon)
	full := Contact{FirstName: "F", UpdatedAt: noon}
	for i := range maxTags {
		full.Tags = append(full.Tags, fmt.Sprint("t", i))
	}
	contacts := map[string]Contact{"tagged": tagged, "archived": archived, "full": full}
	for _, test := range rows.Of[struct {
		Kind                      string
		Tags                      []string
		Becomes, Contact, Counted string
		Left                      []string
		Archived                  bool
	}](`
		tag      b c  ""  tagged    Changed                  a b c  false
		tag      b    ""  tagged    Already                  a b    false
		tag      c    ""  archived  Archived                 a b    true
		tag      c    ""  full      Refused                  full   false
		untag    a x  ""  tagged    Changed                  b      false
		untag    x    ""  tagged    Already                  a b    false
		untag    a    ""  archived  Archived                 a b    true
		archive  ""   ""  tagged    Changed                  a b    true
		archive  ""   ""  archived  Already                  a b    true
		restore  ""   ""  tagged    Already                  a b    false
		restore  ""   ""  archived  Changed                  a b    false
		rename   a b  B   archived  Changed ChangedArchived  B      true
		rename   a    ""  tagged    Changed                  b      false
	`) {
		c, action := contacts[test.Contact], BulkAction{Kind: BulkKind(test.Kind), Tags: test.Tags,
			Becomes: test.Becomes}
		if test.Contact == "full" {
			test.Left = c.Tags
		}
		var counts, want BulkCounts
		for name := range strings.FieldsSeq(test.Counted) {
			reflect.ValueOf(&want).Elem().FieldByName(name).SetInt(1)
		}
		got := action.Apply(c, hourLater, &counts)
		if counts != want || !slices.Equal(got.Tags, test.Left) || got.Archived() != test.Archived {
			t.Errorf("%+v of %q: %+v, %q, archived %v", action, c.Tags, counts, got.Tags, got.Archived())
		}
		assert.Equal(t, got.UpdatedAt.Equal(hourLater), counts.Changed > 0, "%+v: updated at %v", action, got.UpdatedAt)
	}
}

func TestABulkActionThatMakesNoSenseIsRefused(t *testing.T) {
	for _, test := range rows.Of[struct {
		Kind       string
		Tags       []string
		Want, Left string
	}](`
		tag      ""      The tags field must have at least one tag name.                    ""
		untag    a LONG  The tags.1 field must not be longer than 64 characters.            ""
		drop     ""      The action field must be one of tag, untag, archive, restore.      ""
		rename   a       The action field must be one of tag, untag, archive, restore.      ""
		archive  BLANK   ""                                                                 archive[]
		tag      a a b   ""                                                                 tag[a b]
	`) {
		for i, tag := range test.Tags {
			test.Tags[i] = strings.NewReplacer("LONG", strings.Repeat("x", 65), "BLANK", "").Replace(tag)
		}
		action, err := NewBulkAction(BulkKind(test.Kind), test.Tags)
		crmtest.WantFaults(t, test.Kind, err, test.Want)
		if test.Want == "" {
			assert.Equal(t, fmt.Sprint(action.Kind, action.Tags), test.Left, "%s", test.Kind)
		}
	}
}
