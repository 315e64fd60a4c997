package crm

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

// keptOf are the differences of two contacts as the history keeps them.
func keptOf(t rapid.TB, before, after Contact) doc.Differences {
	t.Helper()
	d := assert.Must(doc.ParseDifferences(before.Differences(&after).Text()))(t)
	return d
}

// someChange is a contact after a change of any kind.
func someChange(t *rapid.T, c Contact, now time.Time) Contact {
	var err error
	tags := rapid.SliceOfN(rapid.SampledFrom(crmtest.Tags), 1, 3).Draw(t, "tags")
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		c, err = c.Merge(someInput(t, false), now)
	case 1:
		c, err = c.AddTags(tags, now)
	case 2:
		c, err = c.RemoveTags(tags, now)
	case 3:
		c, err = c.SyncTags(tags, now)
	case 4:
		if c.Archived() {
			return c.Restore(now)
		}
		return c.Archive(now)
	default:
		c, err = c.Patch(someInput(t, false), now)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Undoing the newest change gives back the document, and undoing that makes the change again.
func TestUndoOfTheNewestChangeGivesBackTheDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := someContact(t)
		if before.Archived() {
			before = before.Restore(noon)
		}
		after := someChange(t, before, hourLater)
		undo := func(was, is Contact) Contact {
			t.Helper()
			d := keptOf(t, was, is)
			if len(d) == 0 {
				return was
			}
			undone, left := assert.Must2(is.TakeBack(d, "US", hourLater.Add(time.Hour)))(t)
			assert.Equal(t, left, nil, "%s", d.Text())
			undone.UpdatedAt = was.UpdatedAt
			assert.Equal(t, bodyOf(undone), bodyOf(was), "%v", d.Text())
			assert.Equal(t, undone.MatchKeys, was.MatchKeys, "%v", d.Text())
			return undone
		}
		if undone := undo(before, after); !undone.Archived() { // what archived contacts refuse is another test's
			undo(after, undone)
		}
	})
}

// What others have changed since is left alone and named.
func TestUndoLeavesAloneWhatWasChangedSince(t *testing.T) {
	before := made(t,
		`{"first_name":"Ana","last_name":"Smith","emails":["a@x.org"],"phones":["212-555-0100"],"tags":["a"]}`)
	after := assert.Must(before.Patch(valid(t,
		`{"last_name":"Jones","company":"Acme","emails":[{"value":"a@x.org","type":"work"},"b@x.org"],
		"phones":[],"tags":["b"]}`), hourLater))(t)
	since := assert.Must(after.Patch(valid(t,
		`{"last_name":"Brown","emails":[{"value":"a@x.org","type":"personal"},"b@x.org"],
		"tags":["b","c"]}`), hourLater))(t)
	d := keptOf(t, before, after)
	undone, left := assert.Must2(since.TakeBack(d, "US", hourLater))(t)
	assert.Equal(t, left, []string{"last_name", "emails"})
	want := made(t,
		`{"first_name":"Ana","last_name":"Brown","emails":[{"value":"a@x.org","type":"personal"}],"phones":["212-555-0100"],
		"tags":["a","c"]}`)
	want.UpdatedAt = undone.UpdatedAt
	assert.Equal(t, bodyOf(undone), bodyOf(want))
	assert.Equal(t, undone.MatchKeys, want.MatchKeys)
	_, _, err := undone.TakeBack(d, "US", hourLater)
	assert.Says(t, err, string(doc.NothingToUndo))
}
