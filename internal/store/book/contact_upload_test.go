package book

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
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
			if isFirst := i%2 == 0 && i/2 < jobs.OpenFiles; (w.Runs[im.Of()] != nil) != isFirst {
				t.Errorf("import %d of account %d: open is %v", im.ID, im.Account, !isFirst)
			}
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
		wantError(t, "a part that comes late", s.KeepPart(t.Context(), &slow, 3, []byte("part")), crm.ErrChanged)
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
