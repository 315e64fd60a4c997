package book

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// TestLongRejectedRowsAreReadInPieces: a page that lists rejected rows takes little memory, however long they are,
// and their file has all of them.
func TestLongRejectedRowsAreReadInPieces(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		long := strings.Repeat("x", 100_000)
		im := upload(t, s, account, "first_name,last_name,note\n"+strings.Repeat("Ana,,"+long+"\n", 12))
		begin(t, s, im, false)
		finishJobs(t, s)
		rows := must(s.JobRows(t.Context(), account, im.ID, 0, 100))(t)
		expect(t, "rows of 100 KB are read at once", "3", len(rows))
		var lines []int64
		succeed(t, s.RejectedRows(t.Context(), &im, func(line int64, row jobs.RejectedRow) error {
			lines = append(lines, line)
			expect(t, "the note", fmt.Sprint(long), row.Cells[2])
			return nil
		}))
		expect(t, "lines in the file", "[2 3 4 5 6 7 8 9 10 11 12 13]", lines)
	})
}

// TestThePreviewOfAnUploadIsSmall: it is kept with the import, because a workbook would have to be unpacked for each
// view of the page.
func TestThePreviewOfAnUploadIsSmall(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		long := strings.Repeat("é", 1_000)
		im := upload(t, s, account, "first_name,last_name,note\nAna,Rossi,"+long+"\n\"Jo\nEva,Meyer,x,y\n"+strings.Repeat("Zoé,Müller,x\n", 9))
		kept := previewOf(t, s, im)
		if len(kept) != jobs.PreviewRows || kept[0][0] != "Ana" || kept[1][1] != "Müller" {
			t.Fatalf("the preview is %.100q", kept)
		}
		if note := kept[0][2]; !strings.HasPrefix(long, note) || len(note) < 2*256 || len(note) > jobs.PreviewCell {
			t.Errorf("the preview has %d bytes of a note", len(note))
		}
		wide := strings.TrimSuffix(strings.Repeat(long+",", 900), ",")
		im = upload(t, s, account, strings.TrimSuffix(strings.Repeat("note,", 900), ",")+"\n"+wide+"\n"+wide+"\n")
		size := 0
		for _, row := range previewOf(t, s, im) {
			size += len(strings.Join(row, ""))
		}
		if size < 50_000 || size > jobs.PreviewBytes {
			t.Errorf("the preview of a wide file has %d bytes", size)
		}
	})
}

// TestConcurrentImportsOfAnAccountTakeTurns: each of them has a file open, and a workbook may take 100 MB of memory.
func TestConcurrentImportsOfAnAccountTakeTurns(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		file := "first_name,last_name\n" + strings.Repeat("Ana,Rossi\n", jobs.UnitRows+1) // more than one unit of work
		var imports []jobs.Import
		for range jobs.OpenFiles + 1 {
			account := newAccount(t, s).Number
			for range 2 {
				im := upload(t, s, account, file)
				begin(t, s, im, false)
				imports = append(imports, im)
			}
		}
		w := jobs.NewJobWorker(s.JobStore)
		must(w.Round(t.Context(), func(err error) { t.Error(err) }))(t)
		expect(t, "files are open", "4", len(w.Runs))
		for i, im := range imports {
			equal(t, (w.Runs[im.Of()] != nil), i%2 == 0 && i/2 < jobs.OpenFiles,
				"import %d of account %d: open", im.ID, im.Account)
		}
		w.Forget(nil)
		finishJobs(t, s) // the others follow at once: a worker that waited for its next look would take minutes
	})
}

// TestAnImportThatWaitsFollowsAtOnce: it does not wait for the long import of another account.
func TestAnImportThatWaitsFollowsAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		long := upload(t, s, other, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", 100*jobs.UnitRows))
		first, second := upload(t, s, account, "first_name,last_name\nJo,Doe\n"), upload(t, s, account,
			"first_name,last_name\nEva,Meyer\n")
		for _, im := range []jobs.Import{long, first, second} {
			begin(t, s, im, false)
		}
		w := jobs.NewJobWorker(s.JobStore)
		defer w.Forget(nil)
		workUntil(t, w, func() bool {
			return stateOf(t, s, first) == jobs.JobDone &&
				stateOf(t, s, second) == jobs.JobDone
		})
		expect(t, "the long import is", "false", stateOf(t, s, long) == jobs.JobDone)
	})
}

// TestADryRunThatHasEndedHoldsNoFile: a person may think about its result for days.
func TestADryRunThatHasEndedHoldsNoFile(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		im := upload(t, s, account, "first_name,last_name\nAna,Rossi\n")
		begin(t, s, im, true)
		w := jobs.NewJobWorker(s.JobStore)
		defer w.Forget(nil)
		workUntil(t, w, func() bool { return stateOf(t, s, im) == jobs.JobMapping })
		must(w.Round(t.Context(), func(err error) { t.Error(err) }))(t)
		im, err := s.Import(t.Context(), account, im.ID)
		if err != nil || im.Progress.Tried == nil || len(w.Runs) != 0 {
			t.Errorf("%v: %+v, %d files are open", err, im.Progress, len(w.Runs))
		}
	})
}

func TestUploadsAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for _, c := range []struct{ text, says string }{
			{"", "The file is empty."}, {"\x89PNG\r\n\x1a\n\x00\x00", ""}, {"%PDF-1.7\n", ""},
		} {
			_, err := s.UploadImport(t.Context(), account, jobs.ImportContacts, "x.csv", "US",
				strings.NewReader(c.text))
			var refused *doc.Invalid
			if !errors.As(err, &refused) || refused.Faults[0].Field != "file" ||
				!strings.Contains(refused.Error(), c.says) {
				t.Errorf("%q: %v", c.text, err)
			}
		}
		for range jobs.OpenImports {
			upload(t, s, account, peopleFile)
		}
		_, err := s.UploadImport(t.Context(), account, jobs.ImportContacts, "x.csv", "US",
			strings.NewReader(peopleFile))
		var refused *doc.Invalid
		if !errors.As(err, &refused) || refused.Faults[0].Rule != jobs.TooManyImports {
			t.Errorf("one file too many: %v", err)
		}
		j := must(s.Job(t.Context(), account, 4))(t)
		large := uploading(t, s, account)
		_, _, err = s.KeepParts(t.Context(), &large, io.LimitReader(zeros{}, 3*jobs.PartSize), 2*jobs.PartSize)
		if !errors.As(err, &refused) || refused.Faults[0].Rule != jobs.UploadTooLarge {
			t.Errorf("a file that is too large: %v", err)
		}
		for _, id := range []int64{j.ID, large.ID} {
			must(s.CancelJob(t.Context(), account, id))(t)
		}
		left := upload(t, s, account, peopleFile)
		broken := context.Canceled
		if _, err := s.UploadImport(t.Context(), account, jobs.ImportContacts, "x.csv", "US",
			io.MultiReader(strings.NewReader(peopleFile), failing{broken})); err == nil {
			t.Error("an upload that breaks off was taken")
		}
		if imports, _, err := s.Imports(t.Context(), account, 1<<60, 100); err != nil || imports[0].ID < left.ID {
			t.Errorf("%v: %+v", err, imports)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// uploading is an import whose file is on the way.
func uploading(t testing.TB, s *Book, account int64) (j jobs.Job) {
	t.Helper()
	succeed(t, s.UpdateAccount(t.Context(), account, func(t *store.Tx) error {
		made := jobs.NewJob(t, t.Accounts[account], jobs.ImportJob, jobs.JobUploading,
			jobs.FileImport{Name: "people.csv"})
		jobs.SaveJob(t, made)
		j = *made
		return nil
	}))
	return j
}

// TestACanceledUploadLeavesNothingBehind: what arrives after an import was canceled is not kept, since no one would
// remove it any more. A file that still arrives is not given up.
func TestACanceledUploadLeavesNothingBehind(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		clock := stopClock(s)
		account := newAccount(t, s).Number
		slow := uploading(t, s, account)
		look := func() {
			t.Helper()
			must(jobs.NewJobWorker(s.JobStore).Round(t.Context(), func(err error) { t.Error(err) }))(t)
		}
		for number := range int64(3) {
			clock.move(jobs.JobUpload - time.Minute)
			succeed(t, s.KeepPart(t.Context(), &slow, number, []byte("part")))
			look()
		}
		clock.move(jobs.JobUpload + time.Minute)
		look()
		changedSince(t)(s.KeepPart(t.Context(), &slow, 3, []byte("part")))
		if err := s.Read(t.Context(), func(c db.Conn) error {
			n, err := c.Int(`SELECT count(*) FROM job_part WHERE account_id = $1`, account)
			expect(t, "parts are left", "0", n)
			return err
		}); err != nil {
			t.Error(err)
		}
	})
}

// TestACanceledDryRunHasDoneNothing: an import that was canceled while it was tried does not say that it has created
// contacts.
func TestACanceledDryRunHasDoneNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		im := upload(t, s, account, peopleFile)
		begin(t, s, im, true)
		w := jobs.NewJobWorker(s.JobStore)
		defer w.Forget(nil)
		workUntil(t, w, func() bool { return rowsOf(t, s, im) > 0 })
		must(s.CancelJob(t.Context(), account, im.ID))(t)
		if im, err := s.Import(t.Context(), account, im.ID); err != nil ||
			im.Progress.ImportCounts != (jobs.ImportCounts{}) || im.Progress.Total != 11 {
			t.Errorf("%v: %+v", err, im.Progress)
		}
	})
}

// TestConcurrentFileThatTakesLongIsReadAfterTheAnswer: the worker reads it, and says what is wrong with it.
func TestConcurrentFileThatTakesLongIsReadAfterTheAnswer(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		s.Files.Patience = 0
		account := newAccount(t, s).Number
		send := func(text string) jobs.Import {
			im, err := s.UploadImport(t.Context(), account, jobs.ImportContacts, "people.csv", "US",
				strings.NewReader(text))
			if err != nil || im.State != jobs.JobWaiting || !im.Spec.Unread {
				t.Fatalf("%v: %+v", err, im)
			}
			refuses(t, "an import whose file was not read begins",
				crm.ErrChanged)(s.BeginImport(t.Context(), account, im.ID, jobs.Choices{Mode: jobs.MergeExisting}))
			return im
		}
		good, bad := send("first_name,last_name\nAna,Rossi\n"), send("%PDF-1.7")
		finishJobs(t, s)
		good = must(s.Import(t.Context(), account, good.ID))(t)
		expect(t, "it", "mapping false first_name last_name [[Ana Rossi]]", good.State, good.Spec.Unread,
			strings.Join(good.Spec.Header, " "), fmt.Sprint(previewOf(t, s, good)))
		bad = must(s.Import(t.Context(), account, bad.ID))(t)
		expect(t, "it", "failed true", bad.State, strings.Contains(bad.Progress.Error, "This is a PDF document"))
		begin(t, s, good, false)
		finishJobs(t, s)
		done := must(s.Import(t.Context(), account, good.ID))(t)
		expect(t, "it", "done 1", done.State, done.Progress.Created)
	})
}

// TestAPreviewLooksAtFewRows: a file whose rows are all broken is not read to its end to find one that is not.
func TestAPreviewLooksAtFewRows(t *testing.T) {
	rows := openTable(t, "first_name,last_name\n"+strings.Repeat("Ana,Rossi,x\n", 2*jobs.PreviewLook))
	first, _, err := jobs.Preview(rows)
	succeed(t, err)
	equal(t, len(first), 0, "%v", first)
	if _, line, _ := rows.Next(); line != jobs.PreviewLook+2 {
		t.Errorf("the preview was looked for up to line %d", line-1)
	}
}

// TestConcurrentPreviewIsKeptNoLongerThanItsImport, and is not in what the worker reads of each job that is open.
func TestConcurrentPreviewIsKeptNoLongerThanItsImport(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		canceled, done := upload(t, s, account, "first_name,last_name\nSecret,Person\n"), upload(t, s, account,
			"first_name,last_name\nSecret,Person\n")
		spy := spyOn(t, s)
		var read []string
		spy.read = func(sql string) { read = append(read, sql) }
		must(jobs.NewJobWorker(s.JobStore).Round(t.Context(), func(err error) { t.Error(err) }))(t)
		if len(read) != 1 || strings.Contains(read[0], "spec") {
			t.Errorf("where nothing is to be done, the worker reads %q", read)
		}
		spy.read = nil
		expect(t, "the job has", "false [[Secret Person]]", strings.Contains(string(canceled.Job.Spec), "Secret"),
			fmt.Sprint(previewOf(t, s, canceled)))
		must(s.CancelJob(t.Context(), account, canceled.ID))(t)
		begin(t, s, done, false)
		finishJobs(t, s)
		for _, im := range []jobs.Import{canceled, done} {
			if n := keptParts(t, s, im.Of()); n != 0 || previewOf(t, s, im) != nil {
				t.Errorf("import %d has ended, and %d parts of its file are kept", im.ID, n)
			}
		}
	})
}

// keptParts is how many parts of a job are kept.
func keptParts(t testing.TB, s *Book, of jobs.JobOf) int {
	t.Helper()
	parts := must(store.List(t.Context(), s.Base, store.Number, jobs.SQLParts, of.Account, of.ID, int64(1000)))(t)
	return len(parts)
}

// TestALargeFileIsRemovedInUnits, so that others can write meanwhile, also where the server was killed before it was
// removed.
func TestALargeFileIsRemovedInUnits(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		clock := stopClock(s)
		account := newAccount(t, s).Number
		file := "first_name,last_name\n" + strings.Repeat("Ana,"+strings.Repeat("x", 1000)+"\n", 40*jobs.PartSize/1005)
		canceled, killed := upload(t, s, account, file), upload(t, s, account, file)
		spy := spyOn(t, s)
		must(s.CancelJob(t.Context(), account, canceled.ID))(t)
		expect(t, "a file of 40 parts was removed in", "4", spy.commits.Load())
		err := s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
			j, err := store.FindIn(tx.Conn, crm.ErrNotFound, jobs.ScanJob, jobs.SQLJob, account, killed.ID)
			if err == nil {
				err = jobs.EndJob(tx, &j, jobs.JobCanceled)
			}
			jobs.SaveJob(tx, &j)
			return err
		})
		if n := keptParts(t, s, killed.Of()); err != nil || n != 40 {
			t.Fatalf("%v: %d parts are left of the file of a server that was killed", err, n)
		}
		clock.move(time.Hour)
		succeed(t, s.SweepJobs(t.Context()))
		for _, im := range []jobs.Import{canceled, killed} {
			expect(t, "parts of import", "0", keptParts(t, s, im.Of()))
		}
	})
}

// sharedWorkbook is a workbook of contacts whose texts are shared, each about as long as this.
func sharedWorkbook(t testing.TB, rows, length int) []byte {
	t.Helper()
	var texts, sheet strings.Builder
	sheet.WriteString(`<row><c t="str"><v>first_name</v></c><c t="str"><v>last_name</v></c><c t="str"><v>email</v></c><c t="str"><v>skipped</v></c></row>`)
	for i := range rows {
		fmt.Fprintf(&texts, `<si><t>ana%d@example.org</t></si><si><t>%s</t></si>`, i, strings.Repeat("x", length))
		fmt.Fprintf(&sheet, `<row><c t="str"><v>Ana</v></c><c t="str"><v>Rossi</v></c><c t="s"><v>%d</v></c><c t="s"><v>%d</v></c></row>`, 2*i, 2*i+1)
	}
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for _, part := range [][2]string{
		{"_rels/.rels", `<Relationships><Relationship Id="r" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="One" r:id="s"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="s" Type="x/worksheet" Target="s.xml"/><Relationship Id="t" Type="x/sharedStrings" Target="t.xml"/></Relationships>`},
		{"xl/t.xml", "<sst>" + texts.String() + "</sst>"},
		{"xl/s.xml", "<worksheet><sheetData>" + sheet.String() + "</sheetData></worksheet>"},
	} {
		w, err := archive.Create(part[0])
		if err == nil {
			_, err = io.WriteString(w, part[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, archive.Close())
	return file.Bytes()
}

// TestOneLargeWorkbookIsOpenAtATime: each may have 100 MB of texts in memory. Another one waits for its turn, and
// small files do not wait.
func TestOneLargeWorkbookIsOpenAtATime(t *testing.T) {
	file := sharedWorkbook(t, 1000, 2*jobs.SmallTexts/1000)
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other, third := newAccount(t, s).Number, newAccount(t, s).Number, newAccount(t, s).Number
		first, err := s.UploadImport(t.Context(), account, jobs.ImportContacts, "people.xlsx", "US",
			bytes.NewReader(file))
		succeed(t, err)
		equal(t, first.State, jobs.JobMapping, "%v", first)
		begin(t, s, first, false)
		w := jobs.NewJobWorker(s.JobStore)
		defer w.Forget(nil)
		workUntil(t, w, func() bool { return rowsOf(t, s, first) > 0 })
		second, err := s.UploadImport(t.Context(), other, jobs.ImportContacts, "people.xlsx", "US",
			bytes.NewReader(file))
		succeed(t, err)
		equal(t, second.State, jobs.JobWaiting,
			"while a large workbook is open, another one is read (%v)", second)
		upload(t, s, third, "first_name,last_name\nEva,Meyer\n")
		must(w.Round(t.Context(), func(err error) { t.Error(err) }))(t)
		run := w.Runs[first.Of()].(*jobs.ImportRun)
		for end := time.Now().Add(rig.Patience); s.Files.Waiting.Load() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the second workbook does not wait")
			}
		}
		u := <-run.Ahead // whatever is prepared waits there, so that nothing is read
		run.Ahead <- u
		run.Opening, run.Beside.Opened = 0, time.Now().Add(-2*jobs.LargeTurn) // it has been open for long
		workUntil(t, w, func() bool {
			return stateOf(t, s, first) == jobs.JobDone &&
				stateOf(t, s, second) == jobs.JobMapping
		})
		im, err := s.Import(t.Context(), account, first.ID)
		if want := (jobs.ImportCounts{Rows: 1000, Created: 1000}); err != nil || im.Progress.ImportCounts != want {
			t.Errorf("%v: %+v, want %+v", err, im.Progress, want)
		}
	})
}

// TestConcurrentFileThatGivesWayGoesOnWhereItWas: rows of contacts and of gifts come once each, whenever the file was
// closed meanwhile.
func TestConcurrentFileThatGivesWayGoesOnWhereItWas(t *testing.T) {
	s := openTest(t)
	account := newAccount(t, s).Number
	rows := 10*min(jobs.UnitRows, jobs.UnitGifts) + 3
	file := "first_name,last_name,amount,date,method\n" + strings.Repeat("Ana,Rossi,5,2026-01-02,cash\n", rows)
	for _, of := range []string{jobs.ImportContacts, jobs.ImportGifts} {
		im := must(s.UploadImport(t.Context(), account, of, "people.csv", "US", strings.NewReader(file)))(t)
		run := jobs.NewJobWorker(s.JobStore).OpenRun(t.Context(), &im.Job, im)
		seen := map[string]bool{}
		for n := range rows {
			u := <-run.Ahead
			if u.Err != nil {
				t.Fatal(u.Err)
			}
			for i := range u.Rows {
				key := fmt.Sprint(u.Rows[i].Line)
				if gift := u.Rows[i].Gift; gift != nil {
					key = *gift.ExternalID
				}
				if seen[key] {
					t.Fatalf("%q: row %s came twice", of, key)
				}
				seen[key] = true
			}
			if u.End {
				run.Ahead <- u
				break
			}
			if n%2 == 0 { // as if it were a large workbook that others wait for
				run.Opening, run.Beside.Opened = 0, time.Time{}
				s.Files.Large <- struct{}{}
				run.Beside.Large = func() { <-s.Files.Large }
				s.Files.Waiting.Add(1)
			}
			run.ReadOn(run.Prepare)
			u = <-run.Ahead
			run.Ahead <- u
			if n%2 == 0 {
				s.Files.Waiting.Add(-1)
			}
		}
		run.Close()
		expect(t, "places are held", "true 0", len(seen) == rows, len(s.Files.Large)+len(s.Files.Turn))
	}
}

// TestManyLargeImportsLeaveRoomForAnother: those that have been open for long give their places up by turns, and each
// row is imported once.
func TestManyLargeImportsLeaveRoomForAnother(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		rows := int64(20 * jobs.UnitRows)
		var long []jobs.Import
		for range jobs.OpenFiles {
			im := upload(t, s, newAccount(t, s).Number,
				"first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", int(rows)))
			begin(t, s, im, false)
			long = append(long, im)
		}
		w := jobs.NewJobWorker(s.JobStore)
		defer w.Forget(nil)
		workUntil(t, w, func() bool { return rowsOf(t, s, long[jobs.OpenFiles-1]) > 0 })
		small := upload(t, s, newAccount(t, s).Number, "first_name,last_name\nEva,Meyer\n")
		begin(t, s, small, false)
		for _, run := range w.Runs {
			run.(*jobs.ImportRun).Started = time.Now().Add(-2 * jobs.OpenTurn)
		}
		workUntil(t, w, func() bool { return stateOf(t, s, small) == jobs.JobDone })
		for _, im := range long {
			expect(t, "a long import is done when the small one is", "false", stateOf(t, s, im) == jobs.JobDone)
		}
		workUntil(t, w, func() bool {
			w.LookAgain()
			return !slices.ContainsFunc(long, func(im jobs.Import) bool { return stateOf(t, s, im) != jobs.JobDone })
		})
		for _, im := range long {
			expect(t, "were imported", "true", rowsOf(t, s, im) == rows)
		}
	})
}

// TestAnErasedPersonLeavesThePreviewOfAnOpenImport: the page of the import shows the other rows alone.
func TestAnErasedPersonLeavesThePreviewOfAnOpenImport(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		person := create(t, s, account, `{"first_name":"Quetzalina","last_name":"Vanderkwolf","emails":[{"value":"kwolf@example.org"}]}`)
		im := upload(t, s, account, "first_name,last_name,email\nQuetzalina,Vanderkwolf,kwolf@example.org\nOtto,Bystander,otto@example.org\n")
		erase(t, s, store.By(t.Context(), history.ConsoleChannel, "owner@example.org"), account, person.ID)
		expect(t, "the preview is", "[[Otto Bystander otto@example.org]]", fmt.Sprint(previewOf(t, s, im)))
	})
}
