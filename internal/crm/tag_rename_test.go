package crm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestARenamedTagKeepsThePlaceOfTheEarlier(t *testing.T) {
	then, now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC), time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC)
	for _, test := range rows.Of[struct{ Had, Becomes, Has string }](`
		a old z    new  a new z
		old        new  new
		old b new  new  new b
		new b old  new  new b
		a OLD      new  a OLD
		a old      OLD  a OLD
		a old z    ""   a z
		old        ""   ""
		a          ""   a
	`) {
		c := Contact{Tags: strings.Fields(test.Had), UpdatedAt: then}
		got := c.RenameTag("old", test.Becomes, now)
		if diff := cmp.Diff(strings.Fields(test.Has), got.Tags, cmpopts.EquateEmpty()); diff != "" ||
			!slices.Equal(c.Tags, strings.Fields(test.Had)) {
			t.Errorf("%q to %q: %q was %q", test.Had, test.Becomes, got.Tags, c.Tags)
		}
		assert.Equal(t, got.UpdatedAt.Equal(now), test.Had != test.Has,
			"%q to %q: updated at %v", test.Had, test.Becomes, got.UpdatedAt)
	}
}

// A rename goes through all contacts, so one that is full must not stop it.
func TestATagIsRenamedOnAContactThatIsFull(t *testing.T) {
	var c Contact
	for i := range maxTags {
		c.Tags = append(c.Tags, strings.Repeat("\x01", maxTag-4)+time.Duration(i).String())
	}
	if c.outgrown(&Contact{}) == "" {
		t.Fatal("the contact is not too large")
	}
	c.Tags[7] = "old"
	if got := c.RenameTag("old", strings.Repeat("n", maxTag), time.Now()); len(got.Tags) != maxTags ||
		got.Tags[7] != strings.Repeat("n", maxTag) {
		t.Errorf("it has %d tags, and the seventh is %q", len(got.Tags), got.Tags[7])
	}
}

func TestTheRangeOfAllTagsHasEveryName(t *testing.T) {
	all := TagRange("")
	for _, name := range []string{"a", "ÿ", "\U0010FFFF", strings.Repeat("\U0010FFFF", maxTag),
		strings.Repeat("💛", maxTag), "~"} {
		if !all.Has(FoldTag(name)) {
			t.Errorf("%q is not among all tags", name)
		}
	}
}
