package history

import (
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

func TestUndoTurnsCreatingAndArchivingRound(t *testing.T) {
	c := made(t, `{"first_name":"Ana"}`)
	archived, _, err := Undo(c, DidCreate, nil, "US", hourLater)
	if err != nil || !archived.Archived() {
		t.Errorf("undone a create: %v, %v", archived.ArchivedAt, err)
	}
	d := c.Differences(&archived)
	if restored, _, err := Undo(archived, KindOf(d), d, "US", hourLater); err != nil || restored.Archived() {
		t.Errorf("undone an archive: %v, %v", restored.ArchivedAt, err)
	}
	if !DidUpdate.NeedsActive() || !DidTag.NeedsActive() || DidArchive.NeedsActive() || DidNote.NeedsActive() {
		t.Error("a contact must be restored for the wrong kinds of changes")
	}
	for _, kind := range []Kind{DidGive, DidRefund, DidErase, DidLose} {
		if _, _, err := Undo(c, kind, nil, "US", hourLater); err == nil || kind.CanUndo() {
			t.Errorf("%s was undone", kind)
		}
	}
}

// Every kind that a change of a contact is called by can be undone, and gives back the document.
func TestUndoOfEachKindGivesBackTheDocument(t *testing.T) {
	before := made(t, `{"first_name":"Ana","last_name":"Smith","company":"Acme","tags":["a"]}`)
	must := func(c crm.Contact, err error) crm.Contact {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	empty := ""
	archived := before.Archive(hourLater)
	for kind, states := range map[Kind][2]crm.Contact{
		DidUpdate:  {before, must(before.Patch(crm.ContactInput{Company: &empty}, hourLater))},
		DidTag:     {before, must(before.AddTags([]string{"b"}, hourLater))},
		DidUntag:   {before, must(before.RemoveTags([]string{"a"}, hourLater))},
		DidArchive: {before, archived},
		DidRestore: {archived, archived.Restore(hourLater.Add(time.Hour))},
	} {
		was, is := states[0], states[1]
		d, err := doc.ParseDifferences(was.Differences(&is).Text())
		assert.Succeed(t, err)
		assert.Equal(t, KindOf(d), kind)
		undone, left, err := Undo(is, KindOf(d), d, "US", hourLater.Add(2*time.Hour))
		undone.UpdatedAt = was.UpdatedAt
		if got, want := string(undone.AppendBody(nil)), string(was.AppendBody(nil)); err != nil || len(left) > 0 ||
			got != want {
			t.Errorf("%s: %v, %v\n%s\n%s", kind, left, err, got, want)
		}
	}
}
