package crm

import (
	"slices"
	"strings"
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
		d := keptOf(t, before, after)
		if len(d) == 0 {
			return
		}
		undone, left, err := after.TakeBack(d, "US", hourLater.Add(time.Hour))
		if err != nil || len(left) > 0 {
			t.Fatalf("%s is not undone: %v, %v", d.Text(), left, err)
		}
		same := func(is, was Contact) {
			t.Helper()
			is.UpdatedAt = was.UpdatedAt
			assert.Equal(t, bodyOf(is), bodyOf(was), "%v", d.Text())
			assert.Equal(t, slices.Equal(is.MatchKeys, was.MatchKeys), true, "%v", d.Text())
		}
		same(undone, before)
		if undone.Archived() {
			return // what archived contacts refuse is another test's
		}
		d = keptOf(t, after, undone)
		again, left, err := undone.TakeBack(d, "US", hourLater.Add(2*time.Hour))
		if err != nil || len(left) > 0 {
			t.Fatalf("%s is not undone: %v, %v", d.Text(), left, err)
		}
		same(again, after)
	})
}

// What others have changed since is left alone and named.
func TestUndoLeavesAloneWhatWasChangedSince(t *testing.T) {
	before := made(t, `{"first_name":"Ana","last_name":"Smith","emails":[{"value":"a@x.org"}],"phones":[{"value":"212-555-0100"}],"tags":["a"]}`)
	after := assert.Must(before.Patch(valid(t, `{"last_name":"Jones","company":"Acme","emails":[{"value":"a@x.org","type":"work"},{"value":"b@x.org"}],"phones":[],"tags":["b"]}`), hourLater))(t)
	d := keptOf(t, before, after)
	since := assert.Must(after.Patch(valid(t, `{"last_name":"Brown","emails":[{"value":"a@x.org","type":"personal"},{"value":"b@x.org"}],"tags":["b","c"]}`), hourLater))(t)
	undone, left, err := since.TakeBack(d, "US", hourLater)
	if err != nil || !slices.Equal(left, []string{"last_name", "emails"}) {
		t.Errorf("left alone: %v, %v", left, err)
	}
	if undone.LastName != "Brown" || undone.Company != "" || len(undone.Emails) != 1 || undone.Emails[0].Type != "personal" ||
		len(undone.Phones) != 1 || !slices.Equal(undone.Tags, []string{"a", "c"}) || strings.Join(undone.MatchKeys, " ") != "e:a@x.org p:+12125550100" {
		t.Errorf("undone: %s, %v", bodyOf(undone), undone.MatchKeys)
	}
	if _, _, err = undone.TakeBack(d, "US", hourLater); err == nil || err.Error() != string(doc.NothingToUndo) {
		t.Errorf("undone again: %v", err)
	}
}
