package book

import (
	"encoding/json"
	"testing"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// finishUndo undoes a job unit by unit, each by a node that knows nothing of the one before.
func finishUndo(t testing.TB, s *Book, account, id int64) (at jobs.UndoProgress, kept []jobs.JobRow) {
	t.Helper()
	undo, err := s.UndoJob(store.By(t.Context(), history.ConsoleChannel, "bob@example.org"), account, id, "US", false)
	if err != nil {
		t.Fatal(err)
	}
	for busy := true; busy; {
		if busy, err = jobs.NewJobWorker(s.JobStore).Round(t.Context(), func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
	}
	if undo, err = s.Job(t.Context(), account, undo.ID); err == nil {
		err = json.Unmarshal(undo.Progress, &at)
	}
	if err != nil || undo.State != jobs.JobDone {
		t.Fatal(undo.State, err)
	}
	if kept, err = s.JobRows(t.Context(), account, undo.ID, 0, 100); err != nil || int64(len(kept)) != at.Kept {
		t.Errorf("%v: %d are listed, and %d were left alone", err, len(kept), at.Kept)
	}
	return at, kept
}

// What an import has merged is a change since an earlier one, until its undo has come to an end: one that was stopped
// is none.
func TestConcurrentUndoThatWasStoppedKeepsContactsOfEarlierImports(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		var imports []int64
		for _, company := range []string{"", "Engines Ltd"} {
			rows := openTable(t, "First name,Last name,Email,Company\nBob,Babbage,bob@example.org,"+company+"\n")
			im, _ := must2(s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 1, true,
				func(jobs.ImportProgress) {}))(t)
			imports = append(imports, im.ID)
		}
		stopped, err := s.UndoJob(t.Context(), account, imports[1], "US", false)
		if err == nil {
			_, err = s.CancelJob(t.Context(), account, stopped.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, kept := finishUndo(t, s, account, imports[0]); len(kept) != 1 ||
			kept[0].Contact != doc.MakeID(account, 1) {
			t.Errorf("left alone: %+v", kept)
		}
		wantLists(t, s, account, []int64{1}, nil)
		if at, kept := finishUndo(t, s, account, stopped.ID); at.Undone != 1 || len(kept) != 0 {
			t.Errorf("the undo that goes on: %+v, left alone: %+v", at, kept)
		}
		checked(t, s)
	})
}

// A contact whom someone has changed between two rows of an import was changed since the first of them.
func TestConcurrentContactThatWasChangedDuringAnImportStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		rows := openTable(t, "First name,Last name,Email,Company\nAda,Lovelace,ada@example.org,\nBob,Babbage,bob@example.org,\nCleo,Stone,cleo@example.org,\nDan,Wu,dan@example.org,\n"+
			"Eve,Long,eve@example.org,\nFay,Moss,fay@example.org,\nAda,Lovelace,ada@example.org,Engines Ltd\nBob,Babbage,bob@example.org,Engines Ltd\n")
		im, _, err := s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 8, false,
			func(p jobs.ImportProgress) {
				if p.Rows == 3 {
					must(s.AddTags(t.Context(), account, doc.MakeID(account, 1), []string{"kept"}))(t)
				}
			})
		if err != nil || im.Progress.Merged != 2 {
			t.Fatalf("%v: %+v", err, im.Progress)
		}
		_, kept := finishUndo(t, s, account, im.ID)
		if len(kept) != 1 || kept[0].Contact != doc.MakeID(account, 1) {
			t.Errorf("left alone: %+v", kept)
		}
		wantLists(t, s, account, []int64{1}, []int64{2, 3, 4, 5, 6})
		checked(t, s)
	})
}

// newPlan makes a plan.
func newPlan(t testing.TB, s *Book, account int64, body string) giving.Plan {
	t.Helper()
	in, faults, err := giving.DecodePlan(doc.NewBody([]byte(body)))
	if err == nil {
		err = in.Validate(faults, true, "US", time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	made := must(s.CreatePlan(t.Context(), account, in))(t)
	return made.Plan
}
