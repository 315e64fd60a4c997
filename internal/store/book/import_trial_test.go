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
		succeed(t, s.ArchiveContact(t.Context(), account, gone.ID))
		const file = "first_name,last_name,email,phone\nAna,Ruiz,ana@example.org,+1 617-555-0100\nEve,Long,eve@example.org,\nZoe,Fox,,+1 617-555-0101\n" + // two units
			"A.,Ruiz,,+1 617-555-0100\nOld,Friend,old@example.org,\nBen,King,ben@example.org,\nEve,Long,eve@example.org,+1 617-555-0102\nEVE,long,,+1 617-555-0102\nC,D,,+1 617-555-0102\n"
		var told []string
		rows := openTable(t, file)
		_, err := s.TryFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), func(row jobs.TrialRow) error {
			told = append(told, fmt.Sprintf("%d %s %d %d %s", row.Line, row.Outcome, doc.IDSeq(max(1, row.Contact)), row.Row, strings.Join(row.By, " ")))
			return nil
		}, func(jobs.ImportCounts) {})
		want := []string{"2 merged 1 0 ana@example.org", "3 created 1 0 ", "4 created 1 0 ", "5 created 1 0 +1 617-555-0100", "6 created 1 0 ", "7 unchanged 2 0 ben@example.org",
			"8 merged 1 3 eve@example.org", "9 unchanged 1 3 +1 617-555-0102", "10 created 1 3 +1 617-555-0102"}
		if diff := cmp.Diff(want, told); err != nil || diff != "" {
			t.Errorf("%v: want (-), told (+):\n%s", err, diff)
		}
	})
}

// TestAnImportKnowsContactsByTheirExternalIDs: the id of another system beats an email, and with an email also a name, which stays as it is; one of an archived
// contact is taken; a company is never the person whose email it has. A dry run says the same.
func TestAnImportKnowsContactsByTheirExternalIDs(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		ana := create(t, s, account, `{"first_name":"Ana","last_name":"Lopez","emails":[{"value":"ana@example.org"}],"external_ids":[{"source":"import","value":"1"}]}`)
		create(t, s, account, `{"first_name":"Bob","last_name":"Ray","emails":[{"value":"bob@example.org"}]}`)
		gone := create(t, s, account, `{"first_name":"Old","last_name":"Friend","external_ids":[{"source":"import","value":"3"}]}`)
		archive(t, s, account, gone.ID)
		const file = "Donor ID,First,Last,Email,Do Not Mail,Type,Company\n1,Ana,Lopez-Ruiz,ana@example.org,yes,,\n2,Cleo,Marsh,cleo@example.org,,,\n2,Cleo,Marsh-Fox,cleo@example.org,yes,,\n3,Old,Friend,,,,\n4,,,bob@example.org,,Organization,Acme\n"
		want := jobs.ImportCounts{Rows: 5, Created: 2, Merged: 2, Rejected: 1, OtherName: 1, LeftOut: 2, Marked: 2} // two names that the id overrules
		rows := openTable(t, file)
		tried, err := s.TryFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
		if err != nil || tried.ImportCounts != want {
			t.Errorf("%v: tried %+v, want %+v", err, tried, want)
		}
		if done := importFile(t, s, account, file, jobs.MergeExisting).Progress.ImportCounts; done != want {
			t.Errorf("imported %+v, want %+v", done, want)
		}
		record, err := s.ContactRecord(t.Context(), account, ana.ID)
		if err != nil || record.LastName != "Lopez" || !record.DoNotMail {
			t.Errorf("%v: %+v", err, record)
		}
	})
}

// TestAnImportNeverRenamesACompany: neither by an external id nor where the file is right, and a company is not merged into a person, or a person into a company,
// though rows with another name are. An external id that no contact can have is left out.
func TestAnImportNeverRenamesACompany(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		acme := create(t, s, account, `{"type":"company","company":"Acme","emails":[{"value":"office@example.org"}],"external_ids":[{"source":"import","value":"1"}]}`)
		create(t, s, account, `{"first_name":"Bob","last_name":"Ray","emails":[{"value":"bob@example.org"}]}`)
		file := "Donor ID,First,Last,Email,Prefix,Type,Company\n1,,,office@example.org,,Company,Ajax\n,Ann,Lee,office@example.org,Dr.,,Acme\n,,,bob@example.org,,Company,Bobs\n,Rob,Ray,bob@example.org,,,\n" +
			strings.Repeat("9", 300) + ",Zoe,King,,,,\n1,Ana,Ruiz,,,,\n"
		want := jobs.ImportCounts{Rows: 6, Created: 4, Unchanged: 2, OtherName: 4, LeftOut: 3} // an id that is too long, the id of a company, and the name Ajax
		rows := openTable(t, file)
		spec := importOf(rows, jobs.MergeExisting)
		spec.OtherName, spec.FileIsRight = jobs.MergeExisting, true
		tried, err := s.TryFile(t.Context(), account, rows, spec, func(row jobs.TrialRow) error {
			for _, left := range row.LeftOut {
				if (row.Line != 6 || left.Column != "Donor ID" || len(left.Value) != 300) && (row.Line != 2 || left.Column != "Name" || left.Value != "Ajax") && (row.Line != 7 || left.Reason != "is the ID of Acme") {
					t.Errorf("left out %+v", left)
				}
			}
			return nil
		}, func(jobs.ImportCounts) {})
		if err != nil || tried.ImportCounts != want {
			t.Errorf("%v: tried %+v, want %+v", err, tried, want)
		}
		im, _, err := s.ImportFile(t.Context(), account, openTable(t, file), spec, 0, false, func(jobs.ImportProgress) {})
		if done := im.Progress.ImportCounts; err != nil || done != want {
			t.Errorf("%v: imported %+v, want %+v", err, done, want)
		}
		record, err := s.ContactRecord(t.Context(), account, acme.ID)
		if err != nil || record.Company != "Acme" || record.FirstName != "" || record.Prefix != "" {
			t.Errorf("%v: %+v", err, record)
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
