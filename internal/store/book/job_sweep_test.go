package book

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// TestRowsOfOldJobsAreForgotten: what an import has rejected is there for 30 days, and then nowhere. Jobs and newer rows stay.
func TestRowsOfOldJobsAreForgotten(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		clock := stopClock(s)
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		old := importFile(t, s, account, "First name,Email\nQuetzalina,q at secretxyz\n", jobs.MergeExisting)
		succeed(t, s.UpdateAccount(t.Context(), account, func(t *store.Tx) error {
			for i := range store.SweepUnit {
				jobs.NoteRow(t, &old.Job, jobs.JobRow{Number: int64(i + 10), Outcome: jobs.RowRejected, Data: jobs.JSONOf(jobs.RejectedRow{Reason: "why", Cells: []string{"Quetzalina", "q at secretxyz"}})})
			}
			return nil
		}))
		clock.move(20 * 24 * time.Hour)
		newer := importFile(t, s, other, "First name,Email\nDan,dan at keptxyz\n", jobs.MergeExisting)
		rejected := func(im jobs.Import) string {
			t.Helper()
			var file bytes.Buffer
			succeed(t, s.WriteRejected(t.Context(), &im, &file))
			return file.String()
		}
		clock.move(9 * 24 * time.Hour)
		if err := s.SweepJobs(t.Context()); err != nil || strings.Count(rejected(old), "secretxyz") != store.SweepUnit+1 {
			t.Errorf("after 29 days: %v", err)
		}
		clock.move(2 * 24 * time.Hour)
		if err := s.SweepJobs(t.Context()); err != nil {
			t.Error(err)
		}
		if text := rejected(old); strings.Contains(text, "secretxyz") {
			t.Errorf("after 31 days: %.200s", text)
		}
		if text := rejected(newer); !strings.Contains(text, "keptxyz") {
			t.Errorf("of the newer import: %q", text)
		}
		if im, err := s.Import(t.Context(), account, old.ID); err != nil || im.Progress.Rejected != 1 || im.State != jobs.JobDone {
			t.Errorf("%v: the old import is %+v", err, im.Progress)
		}
	})
}
