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
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// TestLongRejectedRowsAreReadInPieces: a page that lists rejected rows takes little memory, however long they are,
// and their file has all of them.
func TestLongRejectedRowsAreReadInPieces(t *testing.T) {
	s, account := newBookOf(t)
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
}

// TestThePreviewOfAnUploadIsSmall: it is kept with the import, because a workbook would have to be unpacked for each
// view of the page. A file whose rows are all broken is not read to its end to find one that is not.
func TestThePreviewOfAnUploadIsSmall(t *testing.T) {
	s, account := newBookOf(t)
	long := strings.Repeat("é", 1_000)
	kept := previewOf(t, s, upload(t, s, account, "first_name,last_name,note\nAna,Rossi,"+long+
		"\n\"Jo\nEva,Meyer,x,y\n"+
		strings.Repeat("Zoé,Müller,x\n", 9)))
	expect(t, "the preview", fmt.Sprint(jobs.PreviewRows, " Ana Müller"), len(kept), kept[0][0], kept[1][1])
	contains(t, long, kept[0][2])
	if size := len(kept[0][2]); size < 2*256 || size > jobs.PreviewCell {
		t.Errorf("the preview has %d bytes of a note", size)
	}
	wide := strings.TrimSuffix(strings.Repeat(long+",", 900), ",")
	size := len(fmt.Sprint(previewOf(t, s, upload(t, s, account,
		strings.TrimSuffix(strings.Repeat("note,", 900), ",")+"\n"+wide+"\n"+wide+"\n"))))
	if size < 50_000 || size > jobs.PreviewBytes+2000 {
		t.Errorf("the preview of a wide file has %d bytes", size)
	}
	rows := openTable(t, "first_name,last_name\n"+strings.Repeat("Ana,Rossi,x\n", 2*jobs.PreviewLook))
	first, _ := must2(jobs.Preview(rows))(t)
	_, line, _ := rows.Next()
	expect(t, "the preview of a broken file, and the next line", fmt.Sprint("[] ", jobs.PreviewLook+2), first, line)
}

// TestConcurrentImportsOfAnAccountTakeTurns: each of them has a file open, and a workbook may take 100 MB of memory.
func TestConcurrentImportsOfAnAccountTakeTurns(t *testing.T) {
	s := newBook(t)
	file := "first_name,last_name\n" + strings.Repeat("Ana,Rossi\n", jobs.UnitRows+1) // more than one unit of work
	want := make(map[jobs.JobOf]bool)
	for i := range jobs.OpenFiles + 1 {
		account := newAccount(t, s).Number
		for turn := range 2 {
			im := upload(t, s, account, file)
			begin(t, s, im, false)
			if turn == 0 && i < jobs.OpenFiles {
				want[im.Of()] = true
			}
		}
	}
	w := jobs.NewJobWorker(s.JobStore)
	workRound(t, w)
	open := make(map[jobs.JobOf]bool)
	for of := range w.Runs {
		open[of] = true
	}
	equal(t, open, want, "files are open")
	w.Forget(nil)
	finishJobs(t, s) // the others follow at once: a worker that waited for its next look would take minutes
}

func TestUploadsAreBounded(t *testing.T) {
	s, account := newBookOf(t)
	send := func(file io.Reader) error {
		return errOf(s.UploadImport(t.Context(), account, jobs.ImportContacts, "x.csv", "US", file))
	}
	for _, text := range []string{"", "\x89PNG\r\n\x1a\n\x00\x00", "%PDF-1.7\n"} {
		wantRefused(t, text, send(strings.NewReader(text)), "file")
	}
	says(t, "nothing", "The file is empty.")(send(strings.NewReader("")))
	var last jobs.Import
	for range jobs.OpenImports {
		last = upload(t, s, account, peopleFile)
	}
	refused := new(doc.Invalid)
	equal(t, errors.As(send(strings.NewReader(peopleFile)), &refused), true, "one file too many")
	equal(t, refused.Faults[0].Rule, jobs.TooManyImports)
	large := uploading(t, s, account)
	_, _, err := s.KeepParts(t.Context(), &large, io.LimitReader(zeros{}, 3*jobs.PartSize), 2*jobs.PartSize)
	equal(t, errors.As(err, &refused), true, "a file that is too large")
	equal(t, refused.Faults[0].Rule, jobs.UploadTooLarge)
	for _, id := range []int64{last.ID, large.ID} {
		must(s.CancelJob(t.Context(), account, id))(t)
	}
	refuses(t, "an upload that breaks off", context.Canceled)(send(io.MultiReader(strings.NewReader(peopleFile),
		failing{context.Canceled})))
	left := upload(t, s, account, peopleFile)
	imports, _ := must2(s.Imports(t.Context(), account, 1<<60, 100))(t)
	equal(t, imports[0].ID, left.ID)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// uploading is an import whose file is on the way.
func uploading(t testing.TB, s *Book, account int64) (j jobs.Job) {
	t.Helper()
	succeed(t, s.UpdateAccount(t.Context(), account, func(t *store.Tx) error {
		made := jobs.NewJob(t.Account(account), jobs.ImportJob, jobs.JobUploading,
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
	s, account := newBookOf(t)
	clock := stopClock(s)
	slow := uploading(t, s, account)
	for number := range int64(3) {
		clock.move(jobs.JobUpload - time.Minute)
		succeed(t, s.KeepPart(t.Context(), &slow, number, []byte("part")))
		workRound(t, jobs.NewJobWorker(s.JobStore))
	}
	clock.move(jobs.JobUpload + time.Minute)
	workRound(t, jobs.NewJobWorker(s.JobStore))
	changedSince(t)(s.KeepPart(t.Context(), &slow, 3, []byte("part")))
	equal(t, keptParts(t, s, slow.Of()), 0, "parts are left")
}

// TestACanceledDryRunHasDoneNothing: an import that was canceled while it was tried does not say that it has created
// contacts. One that has come to its end holds no file: a person may think about its result for days.
func TestACanceledDryRunHasDoneNothing(t *testing.T) {
	s, account := newBookOf(t)
	im := upload(t, s, account, peopleFile)
	w := jobs.NewJobWorker(s.JobStore)
	defer w.Forget(nil)
	begin(t, s, im, true)
	workUntil(t, w, func() bool { return stateOf(t, s, im) == jobs.JobMapping })
	workRound(t, w)
	im = must(s.Import(t.Context(), account, im.ID))(t)
	expect(t, "it was tried, and files that are open", "true 0", im.Progress.Tried != nil, len(w.Runs))
	begin(t, s, im, true)
	workUntil(t, w, func() bool { return rowsOf(t, s, im) > 0 })
	must(s.CancelJob(t.Context(), account, im.ID))(t)
	im = must(s.Import(t.Context(), account, im.ID))(t)
	expect(t, "what was done", fmt.Sprint(jobs.ImportCounts{}, 11), im.Progress.ImportCounts, im.Progress.Total)
}

// TestConcurrentFileThatTakesLongIsReadAfterTheAnswer: the worker reads it, and says what is wrong with it.
func TestConcurrentFileThatTakesLongIsReadAfterTheAnswer(t *testing.T) {
	s, account := newBookOf(t)
	s.Files.Patience = 0
	send := func(text string) jobs.Import {
		im := must(s.UploadImport(t.Context(), account, jobs.ImportContacts, "people.csv", "US",
			strings.NewReader(text)))(t)
		expect(t, "an upload", "waiting true", im.State, im.Spec.Unread)
		changedSince(t)(s.BeginImport(t.Context(), account, im.ID, jobs.Choices{Mode: jobs.MergeExisting}))
		return im
	}
	good, bad := send("first_name,last_name\nAna,Rossi\n"), send("%PDF-1.7")
	good, bad = finished(t, good, s), finished(t, bad, s)
	expect(t, "it", "mapping false [first_name last_name] [[Ana Rossi]]", good.State, good.Spec.Unread,
		good.Spec.Header,
		previewOf(t, s, good))
	equal(t, bad.State, jobs.JobFailed)
	contains(t, bad.Progress.Error, "This is a PDF document")
	begin(t, s, good, false)
	good = finished(t, good, s)
	expect(t, "it", "done 1", good.State, good.Progress.Created)
}

// TestConcurrentPreviewIsKeptNoLongerThanItsImport, and is not in what the worker reads of each job that is open. A
// person who was erased leaves it.
func TestConcurrentPreviewIsKeptNoLongerThanItsImport(t *testing.T) {
	s, account := newBookOf(t)
	const file = "first_name,last_name,email\nSecret,Person,secret@example.org\nOtto,Bystander,otto@example.org\n"
	person := create(t, s, account,
		`{"first_name":"Secret","last_name":"Person","emails":[{"value":"secret@example.org"}]}`)
	canceled, done := upload(t, s, account, file), upload(t, s, account, file)
	spy := spyOn(t, s)
	var read []string
	spy.read = func(sql string) { read = append(read, sql) }
	workRound(t, jobs.NewJobWorker(s.JobStore))
	expect(t, "statements of a worker without work", "1 false", len(read), strings.Contains(fmt.Sprint(read), "spec"))
	spy.read = nil
	expect(t, "the preview", "[[Secret Person secret@example.org] [Otto Bystander otto@example.org]] false",
		previewOf(t, s, canceled), strings.Contains(string(canceled.Job.Spec), "Secret"))
	erase(t, s, store.By(t.Context(), history.ConsoleChannel, "owner@example.org"), account, person.ID)
	expect(t, "the preview", "[[Otto Bystander otto@example.org]]", previewOf(t, s, canceled))
	must(s.CancelJob(t.Context(), account, canceled.ID))(t)
	begin(t, s, done, false)
	finishJobs(t, s)
	for _, im := range []jobs.Import{canceled, done} {
		expect(t, "parts, and the preview, of an import that has ended", "0 []", keptParts(t, s, im.Of()),
			previewOf(t, s, im))
	}
}

// keptParts is how many parts of a job are kept.
func keptParts(t testing.TB, s *Book, of jobs.JobOf) int {
	t.Helper()
	return len(must(store.List(t.Context(), s.Store, store.Number, jobs.SQLParts, of.Account, of.ID, int64(1000)))(t))
}

// TestALargeFileIsRemovedInUnits, so that others can write meanwhile, also where the server was killed before it was
// removed.
func TestALargeFileIsRemovedInUnits(t *testing.T) {
	s, account := newBookOf(t)
	clock := stopClock(s)
	file := "first_name,last_name\n" + strings.Repeat("Ana,"+strings.Repeat("x", 1000)+"\n", 40*jobs.PartSize/1005)
	canceled, killed := upload(t, s, account, file), upload(t, s, account, file)
	spy := spyOn(t, s)
	must(s.CancelJob(t.Context(), account, canceled.ID))(t)
	equal(t, spy.commits.Load(), 4, "a file of 40 parts was removed in")
	succeed(t, s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
		j, err := store.FindIn(tx.Conn, crm.ErrNotFound, jobs.ScanJob, jobs.SQLJob, account, killed.ID)
		if err == nil {
			err = jobs.EndJob(tx, &j, jobs.JobCanceled)
		}
		jobs.SaveJob(tx, &j)
		return err
	}))
	equal(t, keptParts(t, s, killed.Of()), 40, "parts are left of the file of a server that was killed")
	clock.move(time.Hour)
	succeed(t, s.SweepJobs(t.Context()))
	equal(t, keptParts(t, s, killed.Of())+keptParts(t, s, canceled.Of()), 0)
}

// sharedWorkbook is a workbook of contacts whose texts are shared, each about as long as this.
func sharedWorkbook(t testing.TB, rows, length int) []byte {
	t.Helper()
	var texts, sheet strings.Builder
	sheet.WriteString(`<row><c t="str"><v>first_name</v></c><c t="str"><v>last_name</v></c><c t="str"><v>email</v></c><c t="str"><v>skipped</v></c></row>`)
	for i := range rows {
		fmt.Fprintf(&texts, `<si><t>ana%d@example.org</t></si><si><t>%s</t></si>`, i, strings.Repeat("x", length))
		fmt.Fprintf(&sheet,
			`<row><c t="str"><v>Ana</v></c><c t="str"><v>Rossi</v></c><c t="s"><v>%d</v></c><c t="s"><v>%d</v></c></row>`, 2*i, 2*i+1)
	}
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for _, part := range [][2]string{
		{"_rels/.rels",
			`<Relationships><Relationship Id="r" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="One" r:id="s"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels",
			`<Relationships><Relationship Id="s" Type="x/worksheet" Target="s.xml"/><Relationship Id="t" Type="x/sharedStrings" Target="t.xml"/></Relationships>`},
		{"xl/t.xml", "<sst>" + texts.String() + "</sst>"},
		{"xl/s.xml", "<worksheet><sheetData>" + sheet.String() + "</sheetData></worksheet>"},
	} {
		must(io.WriteString(must(archive.Create(part[0]))(t), part[1]))(t)
	}
	succeed(t, archive.Close())
	return file.Bytes()
}

// TestOneLargeWorkbookIsOpenAtATime: each may have 100 MB of texts in memory. Another one waits for its turn, and
// small files do not wait.
func TestOneLargeWorkbookIsOpenAtATime(t *testing.T) {
	workbook := sharedWorkbook(t, 1000, 2*jobs.SmallTexts/1000)
	s := newBook(t)
	account, other, third := newAccount(t, s).Number, newAccount(t, s).Number, newAccount(t, s).Number
	send := func(account int64, want jobs.JobState) jobs.Import {
		im := must(s.UploadImport(t.Context(), account, jobs.ImportContacts, "people.xlsx", "US",
			bytes.NewReader(workbook)))(t)
		equal(t, im.State, want, "%v", im)
		return im
	}
	first := send(account, jobs.JobMapping)
	begin(t, s, first, false)
	w := jobs.NewJobWorker(s.JobStore)
	defer w.Forget(nil)
	workUntil(t, w, func() bool { return rowsOf(t, s, first) > 0 })
	second := send(other, jobs.JobWaiting) // while a large workbook is open, another one is not read
	upload(t, s, third, "first_name,last_name\nEva,Meyer\n")
	workRound(t, w)
	await(t, "the second workbook waits", func() bool { return s.Files.Waiting.Load() > 0 })
	run := w.Runs[first.Of()].(*jobs.ImportRun)
	u := <-run.Ahead // whatever is prepared waits there, so that nothing is read
	run.Ahead <- u
	run.Opening, run.Beside.Opened = 0, time.Now().Add(-2*jobs.LargeTurn) // it has been open for long
	workUntil(t, w, func() bool {
		return stateOf(t, s, first) == jobs.JobDone && stateOf(t, s, second) == jobs.JobMapping
	})
	equal(t, must(s.Import(t.Context(), account, first.ID))(t).Progress.ImportCounts,
		jobs.ImportCounts{Rows: 1000, Created: 1000})
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
	s := newBook(t)
	const rows = 60
	var long []jobs.Import
	for range jobs.OpenFiles {
		im := upload(t, s, newAccount(t, s).Number, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", rows))
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
	isDone := func(im jobs.Import) bool { return stateOf(t, s, im) == jobs.JobDone }
	equal(t, slices.ContainsFunc(long, isDone), false, "a long import is done when the small one is")
	for _, im := range long {
		workUntil(t, w, func() bool {
			w.LookAgain()
			return isDone(im)
		})
		equal(t, rowsOf(t, s, im), rows, "were imported")
	}
}
