package crm

import (
	"testing"
)

func TestUndoTurnsCreatingAndArchivingRound(t *testing.T) {
	c := madeHistory(t, `{"first_name":"Ana"}`)
	archived, _, err := Undo(c, DidCreate, nil, "US", hourLaterHistory)
	if err != nil || !archived.Archived() {
		t.Errorf("undone a create: %v, %v", archived.ArchivedAt, err)
	}
	d := c.Differences(&archived)
	if restored, _, err := Undo(archived, Kind(d), d, "US", hourLaterHistory); err != nil || restored.Archived() {
		t.Errorf("undone an archive: %v, %v", restored.ArchivedAt, err)
	}
	if !DidUpdate.NeedsActive() || !DidTag.NeedsActive() || DidArchive.NeedsActive() || DidNote.NeedsActive() {
		t.Error("a contact must be restored for the wrong kinds of changes")
	}
	for _, kind := range []ChangeKind{DidGive, DidRefund, DidErase, DidLose} {
		if _, _, err := Undo(c, kind, nil, "US", hourLaterHistory); err == nil || kind.CanUndo() {
			t.Errorf("%s was undone", kind)
		}
	}
}
