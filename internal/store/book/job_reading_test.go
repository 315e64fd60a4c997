package book

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/store/jobs"
)

// workUntil works on jobs as a server does, one round after the other.
func workUntil(t testing.TB, w *jobs.JobWorker, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !reached(); {
		busy, err := w.Round(t.Context(), func(err error) { t.Error(err) })
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%v: what was waited for has not come", err)
		}
		if !busy {
			select {
			case <-w.Ready:
			case <-time.After(time.Second):
			}
		}
	}
}

func stateOf(t testing.TB, s *Book, im jobs.Import) jobs.JobState {
	t.Helper()
	now := must(s.Import(t.Context(), im.Account, im.ID))(t)
	return now.State
}

func rowsOf(t testing.TB, s *Book, im jobs.Import) int64 {
	t.Helper()
	now := must(s.Import(t.Context(), im.Account, im.ID))(t)
	return now.Progress.Rows
}

// slowWorkbook takes seconds to be counted: a million of its rows are empty.
func slowWorkbook(t testing.TB) []byte {
	t.Helper()
	return rig.Workbook(t, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", jobs.PreviewRows)+strings.Repeat(",\n", 1_000_000)+"Jo,Doe")
}

// TestASmallImportDoesNotWaitForALargeFile: the file of another account, which was begun before, is still being counted when it is done.
// The large one can be canceled meanwhile, and the server stopped.
func TestASmallImportDoesNotWaitForALargeFile(t *testing.T) {
	file := slowWorkbook(t)
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		large := must(s.UploadImport(t.Context(), account, jobs.ImportContacts, "people.xlsx", "US", bytes.NewReader(file)))(t)
		small := upload(t, s, other, "first_name,last_name\nEva,Meyer\n")
		begin(t, s, large, false)
		begin(t, s, small, true)
		w := jobs.NewJobWorker(s.JobStore)
		workUntil(t, w, func() bool { return stateOf(t, s, small) == jobs.JobMapping })
		begin(t, s, small, false)
		workUntil(t, w, func() bool { return stateOf(t, s, small) == jobs.JobDone })
		if state := stateOf(t, s, large); state != jobs.JobWaiting {
			t.Errorf("the large import is %s when the small one is done", state)
		}
		must(s.CancelJob(t.Context(), account, large.ID))(t)
		run := w.Runs[large.Of()].(*jobs.ImportRun)
		if _, err := w.Round(t.Context(), func(err error) { t.Error(err) }); err != nil || len(w.Runs) != 0 {
			t.Errorf("%v: %d files are open after the import was canceled", err, len(w.Runs))
		}
		if run.Total > jobs.PreviewRows {
			t.Error("the file was read to its end after the import was canceled")
		}
	})
}

// TestAnImportThatAPersonThoughtAboutGoesOnAtOnce: the worker has seen it before it was begun, and has other work all the time.
func TestAnImportThatAPersonThoughtAboutGoesOnAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		long := upload(t, s, account, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", 100*jobs.UnitRows))
		small := upload(t, s, other, "first_name,last_name\nEva,Meyer\n")
		begin(t, s, long, false)
		w := jobs.NewJobWorker(s.JobStore)
		defer w.Forget(nil)
		workUntil(t, w, func() bool { return stateOf(t, s, long) == jobs.JobRunning })
		begin(t, s, small, false)
		workUntil(t, w, func() bool { return stateOf(t, s, small) == jobs.JobDone })
		if state := stateOf(t, s, long); state != jobs.JobRunning {
			t.Errorf("the long import is %s when the small one is done", state)
		}
	})
}

// TestConcurrentNodeThatWasOvertakenImportsNothingTwice: it has read the first rows while another node has imported them.
func TestConcurrentNodeThatWasOvertakenImportsNothingTwice(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account, rows, file := newAccount(t, a).Number, int64(2*jobs.UnitRows+1), "first_name,last_name,email\n"
		for i := range rows {
			file += fmt.Sprintf("Ana,Rossi,ana%d@example.org\n", i)
		}
		im := upload(t, a, account, file)
		begin(t, a, im, false)
		late := jobs.NewJobWorker(b.JobStore)
		defer late.Forget(nil)
		must(late.Round(t.Context(), func(err error) { t.Error(err) }))(t)
		<-late.Ready
		first := jobs.NewJobWorker(a.JobStore)
		workUntil(t, first, func() bool { return rowsOf(t, a, im) > 0 })
		first.Forget(nil) // it was killed
		workUntil(t, late, func() bool { late.LookAgain(); return stateOf(t, b, im) == jobs.JobDone })
		im, err := b.Import(t.Context(), account, im.ID)
		if want := (jobs.ImportCounts{Rows: rows, Created: rows}); err != nil || im.Progress.ImportCounts != want {
			t.Errorf("%v: %+v, want %+v", err, im.Progress, want)
		}
	})
}

// TestConcurrentImportFollowsOneThatFailed: a file that turns out to be broken leaves its place to the next one of the account.
func TestConcurrentImportFollowsOneThatFailed(t *testing.T) {
	file := rig.Workbook(t, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", jobs.PreviewRows)+"<Jo,Doe")
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		broken := must(s.UploadImport(t.Context(), account, jobs.ImportContacts, "people.xlsx", "US", bytes.NewReader(file)))(t)
		next := upload(t, s, account, "first_name,last_name\nEva,Meyer\n")
		begin(t, s, broken, false)
		begin(t, s, next, false)
		start := time.Now()
		finishJobs(t, s)
		if took := time.Since(start); took > jobs.JobLook/2 {
			t.Errorf("the worker has waited for its next look: %v", took)
		}
		if first, second := stateOf(t, s, broken), stateOf(t, s, next); first != jobs.JobFailed || second != jobs.JobDone || rowsOf(t, s, broken) != 0 {
			t.Errorf("the broken import is %s, the next one %s", first, second)
		}
	})
}
