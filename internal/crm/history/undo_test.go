package history

import (
	"testing"
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
