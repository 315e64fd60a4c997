package store

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig"
)

// workUntil works on jobs as a server does, one round after the other.
func workUntil(t testing.TB, w *jobWorker, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !reached(); {
		busy, err := w.round(t.Context(), func(err error) { t.Error(err) })
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%v: what was waited for has not come", err)
		}
		if !busy {
			select {
			case <-w.ready:
			case <-time.After(time.Second):
			}
		}
	}
}

func stateOf(t testing.TB, s *Store, im Import) JobState {
	t.Helper()
	now, err := s.Import(t.Context(), im.Account, im.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now.State
}

func rowsOf(t testing.TB, s *Store, im Import) int64 {
	t.Helper()
	now, err := s.Import(t.Context(), im.Account, im.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now.Progress.Rows
}

// slowWorkbook takes seconds to be counted: a million of its rows are empty.
func slowWorkbook(t testing.TB) []byte {
	t.Helper()
	return rig.Workbook(t, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", previewRows)+strings.Repeat(",\n", 1_000_000)+"Jo,Doe")
}

// TestASmallImportDoesNotWaitForALargeFile: the file of another account, which was begun before, is still being counted when it is done.
// The large one can be canceled meanwhile, and the server stopped.
func TestASmallImportDoesNotWaitForALargeFile(t *testing.T) {
	file := slowWorkbook(t)
	eachEngine(t, func(t *testing.T, s *Store) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		large, err := s.UploadImport(t.Context(), account, ImportContacts, "people.xlsx", "US", bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		small := upload(t, s, other, "first_name,last_name\nEva,Meyer\n")
		begin(t, s, large, false)
		begin(t, s, small, true)
		w := newJobWorker(s.JobStore)
		workUntil(t, w, func() bool { return stateOf(t, s, small) == JobMapping })
		begin(t, s, small, false)
		workUntil(t, w, func() bool { return stateOf(t, s, small) == JobDone })
		if state := stateOf(t, s, large); state != JobWaiting {
			t.Errorf("the large import is %s when the small one is done", state)
		}
		if _, err := s.CancelJob(t.Context(), account, large.ID); err != nil {
			t.Fatal(err)
		}
		run := w.runs[large.of()].(*importRun)
		if _, err := w.round(t.Context(), func(err error) { t.Error(err) }); err != nil || len(w.runs) != 0 {
			t.Errorf("%v: %d files are open after the import was canceled", err, len(w.runs))
		}
		if run.total > previewRows {
			t.Error("the file was read to its end after the import was canceled")
		}
	})
}

// TestAnImportThatAPersonThoughtAboutGoesOnAtOnce: the worker has seen it before it was begun, and has other work all the time.
func TestAnImportThatAPersonThoughtAboutGoesOnAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		long := upload(t, s, account, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", 100*unitRows))
		small := upload(t, s, other, "first_name,last_name\nEva,Meyer\n")
		begin(t, s, long, false)
		w := newJobWorker(s.JobStore)
		defer w.forget(nil)
		workUntil(t, w, func() bool { return stateOf(t, s, long) == JobRunning })
		begin(t, s, small, false)
		workUntil(t, w, func() bool { return stateOf(t, s, small) == JobDone })
		if state := stateOf(t, s, long); state != JobRunning {
			t.Errorf("the long import is %s when the small one is done", state)
		}
	})
}

// TestANodeThatWasOvertakenImportsNothingTwice: it has read the first rows while another node has imported them.
func TestANodeThatWasOvertakenImportsNothingTwice(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Store) {
		account, rows, file := newAccount(t, a).Number, int64(2*unitRows+1), "first_name,last_name,email\n"
		for i := range rows {
			file += fmt.Sprintf("Ana,Rossi,ana%d@example.org\n", i)
		}
		im := upload(t, a, account, file)
		begin(t, a, im, false)
		late := newJobWorker(b.JobStore)
		defer late.forget(nil)
		if _, err := late.round(t.Context(), func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
		<-late.ready
		first := newJobWorker(a.JobStore)
		workUntil(t, first, func() bool { return rowsOf(t, a, im) > 0 })
		first.forget(nil) // it was killed
		workUntil(t, late, func() bool { late.lookAgain(); return stateOf(t, b, im) == JobDone })
		im, err := b.Import(t.Context(), account, im.ID)
		if want := (ImportCounts{Rows: rows, Created: rows}); err != nil || im.Progress.ImportCounts != want {
			t.Errorf("%v: %+v, want %+v", err, im.Progress, want)
		}
	})
}

// TestAnImportFollowsOneThatFailed: a file that turns out to be broken leaves its place to the next one of the account.
func TestAnImportFollowsOneThatFailed(t *testing.T) {
	file := rig.Workbook(t, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", previewRows)+"<Jo,Doe")
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s).Number
		broken, err := s.UploadImport(t.Context(), account, ImportContacts, "people.xlsx", "US", bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		next := upload(t, s, account, "first_name,last_name\nEva,Meyer\n")
		begin(t, s, broken, false)
		begin(t, s, next, false)
		start := time.Now()
		finishJobs(t, s)
		if took := time.Since(start); took > jobLook/2 {
			t.Errorf("the worker has waited for its next look: %v", took)
		}
		if first, second := stateOf(t, s, broken), stateOf(t, s, next); first != JobFailed || second != JobDone || rowsOf(t, s, broken) != 0 {
			t.Errorf("the broken import is %s, the next one %s", first, second)
		}
	})
}
