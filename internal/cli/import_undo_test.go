package cli

import (
	"testing"

	"donorbook/internal/store/jobs"
)

// TestAnImportThatIsBeingUndoneIsNotUndone: the list of imports says how far an undo has come.
func TestAnImportThatIsBeingUndoneIsNotUndone(t *testing.T) {
	for state, want := range map[jobs.JobState]importLine{
		jobs.JobRunning:  {Undo: "being undone (changes so far: 7)"},
		jobs.JobCanceled: {Undo: "undo stopped (changes so far: 7)"},
		jobs.JobDone:     {Undone: true, Undo: "undone"},
	} {
		var line importLine
		if line.tellUndo(&jobs.Job{Kind: jobs.UndoingJob, State: state, Progress: []byte(`{"undone":7}`)}); line != want {
			t.Errorf("%s: %+v, want %+v", state, line, want)
		}
	}
}
