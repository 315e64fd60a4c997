package book

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// TestADryRunWaitsForNoOneWhoWrites: it only reads, so that it goes on while a change of the same account is being made, and is in no one's way.
func TestADryRunWaitsForNoOneWhoWrites(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillBefore(t, s, account)
		spy := spyOn(t, s)
		writing, written := make(chan struct{}), make(chan error)
		tried := make(chan struct{})
		go func() {
			written <- s.UpdateAccount(t.Context(), account, func(x *store.Tx) error {
				x.Accounts[account].Touch(x)
				close(writing)
				select {
				case <-tried:
				case <-time.After(10 * time.Second):
					t.Error("the dry run waits for the change")
				}
				return nil
			})
		}()
		<-writing
		rows := openTable(t, peopleFile)
		result, err := s.TryFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
		close(tried)
		if err != nil || result.ImportCounts != triedResults[jobs.MergeExisting] {
			t.Errorf("%v: %+v", err, result)
		}
		if err := <-written; err != nil || spy.commits.Load() != 1 {
			t.Errorf("%v: %d commits", err, spy.commits.Load())
		}
	})
}

// TestADryRunWritesOnlyNowAndThen: a job notes that its dry run has begun, and what came of it, and between that its progress once a second.
func TestADryRunWritesOnlyNowAndThen(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		stopClock(s)
		account := newAccount(t, s).Number
		file := "first_name,last_name,email\n"
		for i := range 40 * jobs.UnitRows {
			file += fmt.Sprintf("Ana,Rossi,ana%d@example.org\n", i)
		}
		im := upload(t, s, account, file)
		begin(t, s, im, true)
		spy := spyOn(t, s)
		finishJobs(t, s)
		im, err := s.Import(t.Context(), account, im.ID)
		if err != nil || im.Progress.Tried == nil || im.Progress.Tried.Created != int64(40*jobs.UnitRows) {
			t.Fatalf("%v: %+v", err, im.Progress)
		}
		if n := spy.commits.Load(); n != 2 {
			t.Errorf("a dry run of 40 units has written %d times", n)
		}
	})
}

// A key that a row adds to a contact who exists leads later rows to that contact, and a contact that is archived is none.
func TestADryRunKnowsTheKeysOfEarlierRows(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillBefore(t, s, account)
		gone := create(t, s, account, `{"first_name":"Old","last_name":"Friend","emails":[{"value":"old@example.org"}]}`)
		if err := s.ArchiveContact(t.Context(), account, gone.ID); err != nil {
			t.Fatal(err)
		}
		const file = "first_name,last_name,email,phone\nAna,Ruiz,ana@example.org,+1 617-555-0100\nEve,Long,eve@example.org,\nZoe,Fox,,+1 617-555-0101\n" + // two units
			"A,B,,+1 617-555-0100\nOld,Friend,old@example.org,\nBen,King,ben@example.org,\nEve,Long,eve@example.org,+1 617-555-0102\nC,D,,+1 617-555-0102\n"
		var told []string
		rows := openTable(t, file)
		_, err := s.TryFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), func(row jobs.TrialRow) error {
			told = append(told, fmt.Sprintf("%d %s %d %d %s", row.Line, row.Outcome, doc.IDSeq(max(1, row.Contact)), row.Row, strings.Join(row.By, " ")))
			return nil
		}, func(jobs.ImportCounts) {})
		want := []string{"2 merged 1 0 ana@example.org", "3 created 1 0 ", "4 created 1 0 ", "5 merged 1 0 +1 617-555-0100", "6 created 1 0 ", "7 unchanged 2 0 ben@example.org",
			"8 merged 1 3 eve@example.org", "9 merged 1 3 +1 617-555-0102"}
		if diff := cmp.Diff(want, told); err != nil || diff != "" {
			t.Errorf("%v: want (-), told (+):\n%s", err, diff)
		}
	})
}

// TestADryRunThatBeginsAgainForgetsItsFirstAttempt: rows are decided about together, and all again where the connection is lost or, as here, custom fields
// have changed. What they were at first, such as merged into a contact who has another email now, does not count then.
func TestADryRunThatBeginsAgainForgetsItsFirstAttempt(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		ana := create(t, s, account, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`).ID
		define := func(title string) {
			if _, err := s.DefineField(t.Context(), account, custom.FieldInput{Title: title, Type: "text"}); err != nil {
				t.Error(err)
			}
		}
		define("Size")
		fields, err := s.CustomFields(t.Context(), account)
		if err != nil {
			t.Fatal(err)
		}
		rows := openTable(t, `first_name,last_name,email,phone,Size
A,B,bob@x.org,,
A,B,cy@x.org,,
A,B,dee@x.org,,
A,B,ana@x.org,+12125550101,
A,B,eve@x.org,,XL
`)
		spec := importOf(rows, jobs.MergeExisting)
		spec.Mapping = sheet.Contacts.Recognize(rows.Header(), fields)
		lent, decided := 0, int64(0)
		s.Db.Observe(&db.Observer{Lent: func() {
			if decided != 3 {
				return
			}
			if lent++; lent == 2 { // after the first attempt at the other rows
				in := input(t, `{"emails":[{"value":"anne@x.org"}]}`)
				if _, err := s.UpdateContact(t.Context(), account, ana, in); err != nil {
					t.Error(err)
				}
			}
		}})
		result, err := s.TryFile(t.Context(), account, rows, spec, func(jobs.TrialRow) error { return nil }, func(r jobs.ImportCounts) {
			if r.Rows == 3 {
				define("Color")
			}
			decided = r.Rows
		})
		s.Db.Observe(new(db.Observer))
		if want := (jobs.ImportCounts{Rows: 5, Created: 5}); err != nil || result.ImportCounts != want || lent < 3 {
			t.Errorf("a dry run found %+v, want %+v: %v", result, want, err)
		}
	})
}
