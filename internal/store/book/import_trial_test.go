package book

import (
	"fmt"
	"testing"
	"time"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// TestConcurrentDryRunWaitsForNoOneWhoWrites: it only reads, so that it goes on while a change of the same account is being made, and is in no one's way.
func TestConcurrentDryRunWaitsForNoOneWhoWrites(t *testing.T) {
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
		if err != nil || result.ImportCounts != importResults[jobs.MergeExisting] {
			t.Errorf("%v: %+v", err, result)
		}
		if err := <-written; err != nil || spy.commits.Load() != 1 {
			t.Errorf("%v: %d commits", err, spy.commits.Load())
		}
	})
}

// TestConcurrentDryRunWritesOnlyNowAndThen: a job notes that its dry run has begun, and what came of it, and between that its progress once a second.
func TestConcurrentDryRunWritesOnlyNowAndThen(t *testing.T) {
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
		expect(t, "a dry run of 40 units has written", "2", spy.commits.Load())
	})
}

// TestADryRunThatBeginsAgainForgetsItsFirstAttempt: rows are decided about together, and all again where the connection is lost or, as here, custom fields
// have changed. What they were at first, such as merged into a contact who has another email now, does not count then.
func TestADryRunThatBeginsAgainForgetsItsFirstAttempt(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		ana := create(t, s, account, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`).ID
		define := func(title string) {
			must(s.DefineField(t.Context(), account, custom.FieldInput{Title: title, Type: "text"}))(t)
		}
		define("Size")
		fields := must(s.CustomFields(t.Context(), account))(t)
		rows := openTable(t, `first_name,last_name,email,phone,Size
A,B,bob@x.org,,
A,B,cy@x.org,,
A,B,dee@x.org,,
A,B,ana@x.org,+12125550101,
A,B,eve@x.org,,XL
`)
		spec := importOf(rows, jobs.MergeExisting)
		spec.Mapping = sheet.Contacts.Recognize(rows.Header(), fields, nil)
		lent, decided := 0, int64(0)
		s.Db.Observe(&db.Observer{Lent: func() {
			if decided != 3 {
				return
			}
			if lent++; lent == 2 { // after the first attempt at the other rows
				in := input(t, `{"emails":[{"value":"anne@x.org"}]}`)
				must(s.UpdateContact(t.Context(), account, ana, in))(t)
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
