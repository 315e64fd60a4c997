package book

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/rig/drill"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
	"donorbook/internal/table"
)

func init() { jobs.UnitRows = 3 }

// peopleFile is a file that has everything: the account has Ana and Ben before.
const peopleFile = `First name,Last name,Email,Phone,Tags,Company
Ana,Ruiz,ANA@example.org,,"board; gala",
Cleo,Stone,cleo@example.org,(617) 555-0103,new,Stone Ltd
Cleo,Stone,,+1 617-555-0103,later,
,Nameless,n@example.org,,,
Dan,Wu,dan at example,,,
Dan,Wu,dan@example.org,,,,too many
Ben,King,ben@example.org,,,
Cleo,Stone,cleo@example.org,(617) 555-0103,new,Stone Ltd
Eve,Long,,,,
Eve,Long,,,,
Fay,Moss,fay@example.org,,x,
`

func fillBefore(t testing.TB, s *Book, account int64) {
	create(t, s, account,
		`{"first_name":"Ana","last_name":"Ruiz","emails":[{"value":"ana@example.org"}],"tags":["board"]}`)
	create(t, s, account, `{"first_name":"Ben","last_name":"King","emails":[{"value":"ben@example.org"}]}`)
}

func openTable(t testing.TB, text string) *table.Reader {
	t.Helper()
	return must(table.Open(strings.NewReader(text), int64(len(text)), "people.csv"))(t)
}

func importOf(rows *table.Reader, mode jobs.ImportMode) jobs.FileImport {
	return jobs.FileImport{Name: "people.csv", SHA256: "sum", Mode: mode, Region: "US",
		Mapping: sheet.Contacts.Recognize(rows.Header(), nil, nil)}
}

// giftImportOf is how a file of gifts is imported without a person who maps its columns.
func giftImportOf(rows *table.Reader) jobs.FileImport {
	return jobs.FileImport{
		Of: jobs.ImportGifts, Name: "gifts.csv", SHA256: "sum", Region: "US", JSON: rows.Format == "jsonl",
		Mapping: sheet.Gifts.Recognize(rows.Header(), nil, nil),
	}
}

// importFile imports a file of contacts as the command line does.
func importFile(t testing.TB, s *Book, account int64, text string, mode jobs.ImportMode) jobs.Import {
	t.Helper()
	rows := openTable(t, text)
	im, known, err := s.ImportFile(t.Context(), account, rows, importOf(rows, mode), 0, false,
		func(jobs.ImportProgress) {})
	succeed(t, err)
	equal(t, known, false)
	return im
}

// importAgain imports a file whether it was imported before or not.
func importAgain(t testing.TB, s *Book, account int64, file string, spec jobs.FileImport) jobs.Import {
	t.Helper()
	im, _ := must2(s.ImportFile(t.Context(), account, openTable(t, file), spec, 0, true,
		func(jobs.ImportProgress) {}))(t)
	return im
}

func importGifts(t testing.TB, s *Book, account int64, file string) jobs.Import {
	t.Helper()
	return importAgain(t, s, account, file, giftImportOf(openTable(t, file)))
}

// tried is what a dry run says. It tells about each row.
func tried(t testing.TB, s *Book, account int64, file string, spec jobs.FileImport,
	tell func(jobs.TrialRow)) jobs.ImportCounts {
	t.Helper()
	return must(s.TryFile(t.Context(), account, openTable(t, file), spec, func(row jobs.TrialRow) error {
		tell(row)
		return nil
	}, func(jobs.ImportCounts) {}))(t).ImportCounts
}

var someCode = regexp.MustCompile(`gift \w{16}`)

// imported imports a file of gifts, or tries it, and returns its report with the rejected rows: their lines and
// reasons.
func imported(t *testing.T, s *Book, account int64, file string, trial bool) (result jobs.ImportCounts,
	rejected []string) {
	t.Helper()
	reject := func(line int64, row jobs.RejectedRow) error {
		rejected = append(rejected, fmt.Sprintf("%d: %s", line, someCode.ReplaceAllString(row.Reason, "gift CODE")))
		return nil
	}
	if trial {
		return tried(t, s, account, file, giftImportOf(openTable(t, file)), func(row jobs.TrialRow) {
			if row.Outcome == jobs.RowRejected {
				succeed(t, reject(row.Line, jobs.RejectedRow{Reason: row.Reason}))
			}
		}), rejected
	}
	im := importGifts(t, s, account, file)
	succeed(t, s.RejectedRows(t.Context(), &im, reject))
	return im.Progress.ImportCounts, rejected
}

// importInPieces imports a file of gifts by a run that ends after each unit and is begun again, as a server that is
// killed begins again.
func importInPieces(t *testing.T, s *Book, account int64, file string,
	choose ...func(*jobs.FileImport)) jobs.ImportProgress {
	t.Helper()
	spec := giftImportOf(openTable(t, file))
	for _, choice := range choose {
		choice(&spec)
	}
	im, _ := pieces(t, s, account, file, spec)
	return im.Progress
}

func pieces(t *testing.T, s *Book, account int64, file string, spec jobs.FileImport) (im jobs.Import, runs int) {
	t.Helper()
	for ; im.State != jobs.JobDone && runs < 30; runs++ {
		ctx, stop := context.WithCancel(t.Context())
		var err error
		im, _, err = s.ImportFile(ctx, account, openTable(t, file), spec, 0, true, func(jobs.ImportProgress) { stop() })
		if stop(); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	return im, runs
}

// checked checks that a check finds nothing.
func checked(t *testing.T, s *Book) {
	t.Helper()
	report := must(s.Check(t.Context(),
		check.CheckOptions{Found: func(p check.Problem) { t.Errorf("the check found: %s", p) }}))(t)
	expect(t, "problems that the check found", "0", report.Problems)
}

// peopleOf is everything about the contacts of an account but when they were changed.
func peopleOf(t testing.TB, s *Book, account int64) (all []string) {
	t.Helper()
	succeed(t, s.Db.LongView(t.Context(), func(c db.Conn) error {
		return store.EachStored(c, account, func(row *store.StoredContact) error {
			c := row.Contact
			all = append(all, fmt.Sprint(doc.IDSeq(c.ID), c.Archived(), c.FirstName, c.LastName, c.Company, c.Emails,
				c.Phones, c.Tags, row.MatchKeys))
			return row.Damage
		}, func() error { return nil })
	}))
	return all
}

// upload uploads a file and begins to import it.
func upload(t testing.TB, s *Book, account int64, text string) jobs.Import {
	t.Helper()
	return uploadOf(t, s, account, jobs.ImportContacts, text)
}

// uploadOf uploads a file of contacts or of gifts.
func uploadOf(t testing.TB, s *Book, account int64, of, text string) jobs.Import {
	t.Helper()
	by := store.By(t.Context(), history.ConsoleChannel, "ana@example.org")
	im := must(s.UploadImport(by, account, of, "people.csv", "US", strings.NewReader(text)))(t)
	expect(t, "an upload", "mapping", im.State)
	return im
}

func begin(t testing.TB, s *Book, im jobs.Import, trial bool) {
	t.Helper()
	must(s.BeginImport(t.Context(), im.Account, im.ID,
		jobs.Choices{Mapping: im.Spec.Mapping, Mode: jobs.MergeExisting, Trial: trial}))(t)
}

// finished works until an import that was begun has come to its end.
func finished(t testing.TB, im jobs.Import, nodes ...*Book) jobs.Import {
	t.Helper()
	finishJobs(t, nodes...)
	return must(nodes[0].Import(t.Context(), im.Account, im.ID))(t)
}

func previewOf(t testing.TB, s *Book, im jobs.Import) [][]string {
	t.Helper()
	return must(s.Preview(t.Context(), &im))(t)
}

var importResults = map[jobs.ImportMode]jobs.ImportCounts{
	jobs.MergeExisting: {Rows: 11, Created: 6, Merged: 2, Unchanged: 2, Rejected: 1, LeftOut: 1},
	jobs.SkipExisting:  {Rows: 11, Created: 6, Unchanged: 4, Rejected: 1, LeftOut: 1},
	jobs.ForceCreate:   {Rows: 11, Created: 10, Rejected: 1, LeftOut: 1},
}

// An import decides about each row as a create does, and a dry run says so before and changes nothing.
func TestAnImportDecidesAsCreatesDo(t *testing.T) {
	s := newBook(t)
	for mode, want := range importResults {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		fillBefore(t, s, account)
		fillBefore(t, s, other)
		before := peopleOf(t, s, account)
		spec := importOf(openTable(t, peopleFile), mode)
		expect(t, "a dry run finds", fmt.Sprint(want),
			tried(t, s, account, peopleFile, spec, func(jobs.TrialRow) {}))
		expect(t, "after a dry run", "", gocmp.Diff(before, peopleOf(t, s, account)))
		im := importFile(t, s, account, peopleFile, mode)
		expect(t, "the import", fmt.Sprint(want, " done"), im.Progress.ImportCounts, im.State)
		succeed(t, s.RejectedRows(t.Context(), &im, func(line int64, row jobs.RejectedRow) error {
			expect(t, "rejected", "7 Wu", line, row.Cells[1])
			return nil
		}))
		createRows(t, s, other, mode)
		expect(t, "creates made (-), the import made (+)", "",
			gocmp.Diff(peopleOf(t, s, other), peopleOf(t, s, account)))
	}
}

// createRows creates the contacts of the rows that are not rejected, one by one.
func createRows(t testing.TB, s *Book, account int64, mode jobs.ImportMode) {
	t.Helper()
	rows := openTable(t, peopleFile)
	inputs := sheet.Contacts.Rows(sheet.Contacts.Recognize(rows.Header(), nil, nil), "US")
	for {
		cells, _, err := rows.Next()
		if errors.As(err, new(*table.RowError)) {
			continue
		}
		if errors.Is(err, io.EOF) {
			return
		}
		succeed(t, err)
		in := inputs.Input(cells)
		if _, err := in.ValidateRow(nil, "US", s.Now()); err == nil { // a create may leave a match as it is
			if _, err := s.CreateContact(t.Context(), account, in, jobs.CreateModes[mode]); err != nil &&
				!errors.As(err, new(*crm.Matched)) {
				t.Fatal(err)
			}
		}
	}
}

// An import that is interrupted between any two units of work goes on when it is started again, and nothing is done
// twice, also of gifts that are equal and have no external id. A file that was imported is known.
func TestAnImportGoesOnWhereItWas(t *testing.T) {
	s := newBook(t)
	account, whole := newAccount(t, s).Number, newAccount(t, s).Number
	gifts := "amount,date,method,first_name,last_name,email\n"
	for i := range 40 {
		name := fmt.Sprintf("Ann,P%d", i%12)
		if i >= 24 {
			name = "," // known by then
		}
		gifts += fmt.Sprintf("%d,2026-03-%02d,card,%s,p%d@example.org\n", 5+i%2, 1+i%3, name, i%12)
	}
	given := func(account int64) (all []string) {
		for _, g := range ledgerOf(t, s, account) {
			all = append(all, fmt.Sprint(g.At, g.Payment().Amount, g.Giver.Email, g.ExternalID, g.Status))
		}
		return slices.Sorted(slices.Values(all))
	}
	people := importOf(openTable(t, peopleFile), jobs.MergeExisting)
	fillBefore(t, s, account)
	fillBefore(t, s, whole)
	for _, c := range []struct {
		file string
		spec jobs.FileImport
		runs int
	}{{peopleFile, people, 4}, {gifts, giftImportOf(openTable(t, gifts)), 14}} {
		im, runs := pieces(t, s, account, c.file, c.spec)
		at := importAgain(t, s, whole, c.file, c.spec)
		expect(t, "runs, and what they did", fmt.Sprint(c.runs, at.ID, at.Progress.ImportCounts), runs, im.ID,
			im.Progress.ImportCounts)
		expect(t, "without interruption (-), with (+)", "",
			gocmp.Diff(peopleOf(t, s, whole), peopleOf(t, s, account)))
		expect(t, "gifts", "", gocmp.Diff(given(whole), given(account)))
	}
	im, known := must2(s.ImportFile(t.Context(), account, openTable(t, peopleFile), people, 11, false, nil))(t)
	expect(t, "the same file again is known", "1 true", im.ID, known)
	want := jobs.ImportCounts{Rows: 11, Created: 3, Unchanged: 7, Rejected: 1, LeftOut: 1}
	expect(t, "imported again", fmt.Sprint(want),
		importAgain(t, s, account, peopleFile, people).Progress.ImportCounts)
	checked(t, s)
}

// A file that was uploaded is tried and imported by any node. Undone, all is as before but for the new contacts,
// which are archived, and those that were changed since.
func TestConcurrentUploadIsTriedImportedAndUndone(t *testing.T) {
	a, b := twoNodes(t)
	account := newAccount(t, a).Number
	fillBefore(t, a, account)
	im := upload(t, a, account, peopleFile)
	im = must(b.Import(t.Context(), account, im.ID))(t)
	expect(t, "the preview", "Cleo", previewOf(t, b, im)[1][0])
	before := peopleOf(t, a, account)
	begin(t, a, im, true)
	im = finished(t, im, b, a)
	expect(t, "tried", fmt.Sprint("mapping ", importResults[jobs.MergeExisting]), im.State, *im.Progress.Tried)
	expect(t, "rows that the dry run lists", "4", len(must(a.JobRows(t.Context(), account, im.ID, 0, 100))(t)))
	expect(t, "after a dry run", "", gocmp.Diff(before, peopleOf(t, a, account)))
	begin(t, b, im, false)
	im = finished(t, im, a, b)
	expect(t, "imported", fmt.Sprint("done ", importResults[jobs.MergeExisting], " 11"), im.State,
		im.Progress.ImportCounts, im.Progress.Total)
	wantJob(t, a, account, im.ID, jobs.JobDone, 8)
	var file bytes.Buffer
	succeed(t, a.WriteRejected(t.Context(), &im, &file))
	header := openTable(t, file.String()).Header()
	survey := must(jobs.SurveyRows(t.Context(), openTable(t, file.String())))(t)
	expect(t, "columns of the rejected rows, the last of them, rows", "7 reason 1", len(header),
		header[len(header)-1], survey.Total)

	cleo := doc.MakeID(account, 3)
	must(a.AddTags(t.Context(), account, cleo, []string{"kept"}))(t)
	undo := must(a.UndoJob(t.Context(), account, im.ID, "US", false))(t)
	finishJobs(t, a, b)
	rows := must(a.JobRows(t.Context(), account, undo.ID, 0, 10))(t)
	expect(t, "changed since", fmt.Sprint("1 ", cleo), len(rows), rows[0].Contact)
	expect(t, "before the import (-) and after it was undone (+)", "",
		gocmp.Diff(before, peopleOf(t, a, account)[:2]))
	wantLists(t, a, account, []int64{1, 2, 3}, []int64{4, 5, 6, 7, 8})
}

// A file that changes one contact in every row is undone as a whole, in several units of work.
func TestImportIntoOneContactIsUndone(t *testing.T) {
	s := newBook(t)
	const rows = jobs.UndoUnit + 20
	account, file := newAccount(t, s).Number, "first_name,last_name,email,tags\n"
	for i := range rows {
		file += fmt.Sprintf("Amelia,Okafor,amelia@example.org,Tag %d\n", i)
	}
	im := upload(t, s, account, file)
	begin(t, s, im, false)
	finishJobs(t, s)
	at := undo(t, s, account, im.ID)
	expect(t, "undone and kept", fmt.Sprint(rows, " 0"), at.Undone, at.Kept)
	wantLists(t, s, account, nil, []int64{1})
}

// What a unit of work needs to know is asked once for all its changes, so that it is short where each question is a
// way over the network. Who was merged into another contact meanwhile stays.
func TestAnUndoAsksOnceForAllChanges(t *testing.T) {
	s := newBook(t)
	const rows = jobs.FirstUnit
	account, asked := newAccount(t, s).Number, make(map[int]int64)
	for _, n := range []int{5, rows} {
		file := "first_name,last_name,email\n"
		for i := range n {
			file += fmt.Sprintf("Amelia,Okafor,a%d.%d@example.org\n", n, i)
		}
		im := upload(t, s, account, file)
		begin(t, s, im, false)
		finishJobs(t, s)
		undo := must(s.UndoJob(t.Context(), account, im.ID, "US", false))(t)
		e := spyOn(t, s)
		var statements atomic.Int64
		e.wrote = func(string) { statements.Add(1) }
		e.asked = e.wrote
		must(jobs.NewJobWorker(s.JobStore).Step(t.Context(), &undo))(t)
		s.Db.Observe(&db.Observer{})
		asked[n] = statements.Load()
		finishJobs(t, s)
		contains(t, string(wantJob(t, s, account, undo.ID, jobs.JobDone, int64(n)).Progress),
			fmt.Sprintf(`"undone":%d`, n),
			"the undo says")
	}
	limit := asked[5] + 5
	if !strings.HasSuffix(t.Name(), "postgres") {
		limit = 3 * rows // lists are asked for one by one, in the same process
	}
	if asked[rows] > limit {
		t.Errorf("%d contacts take %d statements, 5 take %d", rows, asked[rows], asked[5])
	}
}

// The mapping of a file is remembered for the next one with the same columns, by what its rows are: the same header
// may be of contacts and of gifts.
func TestAMappingIsRemembered(t *testing.T) {
	s := newBook(t)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	im := upload(t, s, account, peopleFile)
	recognized := im.Spec.Mapping
	im.Spec.Mapping = must(sheet.Contacts.With(recognized, "Company=title"))(t)
	begin(t, s, im, true)
	for of, want := range map[int64]sheet.Mapping{account: im.Spec.Mapping, other: recognized} {
		expect(t, "the next file", "", gocmp.Diff(want, upload(t, s, of, peopleFile).Spec.Mapping,
			cmpopts.IgnoreUnexported(sheet.Column{})))
	}
	mapped := func(of string, header []string) sheet.Mapping {
		return must(s.ColumnMapping(t.Context(), account, of, header, nil))(t)
	}
	const file = "amount,date,first_name,last_name,note\n5,2026-01-31,Ada,Lovelace,x\n"
	im = uploadOf(t, s, account, jobs.ImportGifts, file)
	im.Spec.Mapping[4].Target = sheet.Skip
	begin(t, s, im, true)
	for of, want := range map[string]string{jobs.ImportGifts: sheet.Skip, jobs.ImportContacts: "note"} {
		expect(t, "the next file of "+of, want, mapped(of, im.Spec.Header)[4].Target)
	}
	objects := openTable(t,
		`{"amount":5,"date":"2026-01-31","first_name":"Ada","last_name":"Lovelace","method":"cash"}`)
	spec := jobs.FileImport{Of: jobs.ImportGifts, Name: "gifts.jsonl", Region: "US"}
	done, _ := must2(s.ImportFile(t.Context(), account, objects, spec, 1, true, func(jobs.ImportProgress) {}))(t)
	again := mapped(jobs.ImportGifts, objects.Header())
	expect(t, "objects, and a table with their names", "1 5 amount", done.Progress.Created, len(again),
		again[0].Target)
	im.Spec.Mapping[0].Target = sheet.Skip
	rejects(t, "a file without amounts")(s.BeginImport(t.Context(), account,
		uploadOf(t, s, account, jobs.ImportGifts, file).ID, jobs.Choices{Mapping: im.Spec.Mapping}))
	rejects(t, "a file of people")(s.UploadImport(t.Context(), account, "people", "x.csv", "US",
		strings.NewReader(file)))
}

// A column becomes a custom field, and rows that were read before someone changed the definitions are made by the new
// ones.
func TestAColumnBecomesACustomField(t *testing.T) {
	s, account := newBookOf(t)
	rows := openTable(t,
		"First name,Last name,Shoe size\nAna,Ruiz,38\nBen,King,\nCleo,Stone,big\nDan,Wu,44\nEve,Long,40.5\n")
	spec := importOf(rows, jobs.MergeExisting)
	mapping := must(sheet.Contacts.With(spec.Mapping, "Shoe size=new:number"))(t)
	for range 2 { // the second time it is there
		spec.Mapping, _ = must2(s.MakeFields(t.Context(), account, mapping))(t)
	}
	im, _ := must2(s.ImportFile(t.Context(), account, rows, spec, 5, false, func(p jobs.ImportProgress) {
		if p.Rows == 3 { // the next rows were read already
			must(s.DefineField(t.Context(), account,
				custom.FieldInput{Title: "Hat size", Type: custom.TextField}))(t)
		}
	}))(t)
	expect(t, "imported", fmt.Sprint(jobs.ImportCounts{Rows: 5, Created: 5, LeftOut: 1}), im.Progress.ImportCounts)
	for i, want := range []string{"38", "", "", "44", "40.5"} {
		c := recordOf(t, s, account, doc.MakeID(account, int64(i+1)))
		expect(t, "the shoe size of "+c.FirstName, want, c.CustomValue(1).Text())
	}
	expect(t, "fields", "2", len(must(s.CustomFields(t.Context(), account))(t).Active()))
	again := must(s.ColumnMapping(t.Context(), account, jobs.ImportContacts, rows.Header(), nil))(t)
	expect(t, "the next file", "custom.1", again[2].Target)
}

// Days are read as the whole file writes them: one with a day above 12 tells how all of them are meant, in birthdays
// and in custom fields.
func TestConcurrentFileTellsHowItsDaysAreWritten(t *testing.T) {
	const ana = "First,Last,Birthday,Joined\nAna,Ruiz,03/04/1980,05/06/2020\n"
	s := newBook(t)
	for file, want := range map[string]string{
		ana + "Ben,King,31/12/1981,\n":           "1980-04-03 2020-06-05",
		ana + "Ben,King,12/31/1981,\n":           "1980-03-04 2020-05-06",
		ana + "Ben,King,31/12/1981,12/31/2020\n": "1980-04-03 2020-05-06",
		ana:                                      "1980-03-04 2020-05-06",
	} {
		account := newAccount(t, s).Number
		must(s.DefineField(t.Context(), account, custom.FieldInput{Title: "Joined", Type: "date"}))(t)
		im := upload(t, s, account, file)
		for _, trial := range []bool{true, false} {
			begin(t, s, im, trial)
			finishJobs(t, s)
		}
		c := recordOf(t, s, account, doc.MakeID(account, 1))
		expect(t, file, want, c.DOB.Format(time.DateOnly), c.CustomValue(1).Text())
	}
}

// What an import remembers of rows without an external id is bounded, and so is what waits for the end of the file,
// however long its cells are.
func TestWhatAFileOfGiftsKeepsIsBounded(t *testing.T) {
	rows := openTable(t,
		"amount,date,method,contact_id,external_id\n1,2026-01-31,cash,7,\n2,2026-01-31,cash,7,\n3,2026-01-31,cash,7,\n"+
			"1,2026-01-31,cash,7,\n4,2026-01-31,cash,7,x4\n")
	spec := giftImportOf(rows)
	gifts := must(new(jobs.JobStore).NewGiftRows(0, &spec, rows))(t)
	gifts.Most = 4 // two keys of a row
	refusal := "The external_id field is required: a file can have at most 2 different rows without one. Split the file."
	for _, want := range []string{"", "", refusal, "", ""} {
		row := must(gifts.Next())(t)
		row.Gift.Check("US", time.Now())
		expect(t, fmt.Sprint("line ", row.Line), want, jobs.ReasonOf(row.Gift.Refused))
	}
	rows = openTable(t, toldHeader+toldRow("re_1", "-5", "", "", "t1")+toldRow("re_2", "-5", "", "",
		"t1")+toldRow("t1", "100", "Paid", "", ""))
	spec = giftImportOf(rows)
	waiting := must(new(jobs.JobStore).NewGiftRows(0, &spec, rows))(t)
	waiting.Room = 100 // for one of them
	for _, want := range []string{"re_2", "t1", "re_1"} {
		row := must(waiting.Next())(t)
		expect(t, "the next row", want, *row.Gift.ExternalID)
	}
}

const toldHeader = "Transaction ID,Amount,Date,Status,Amount Refunded,Original Transaction ID,Currency,Email,First Name,Last Name\n"

// toldRow is a row of Ada's.
func toldRow(id, amount, status, refunded, original string) string {
	return fmt.Sprintf("%s,%s,2026-01-05,%s,%s,%s,,ada@example.org,Ada,Byron\n", id, amount, status, refunded, original)
}

// A campaign is found by its title where no other one has it.
func TestACampaignIsNamedByItsTitle(t *testing.T) {
	s := newOrg(t, newBook(t))
	coats := s.campaignOf("Winter Coats")
	s.campaignOf("Gala")
	s.campaignOf("Gala")
	newOrg(t, s.Book).campaignOf("Spring")
	expect(t, "winter coats", fmt.Sprint(coats.ID), must(s.CampaignNamed(t.Context(), s.Number, "winter coats"))(t))
	says(t, "a title of two", "several campaigns")(s.CampaignNamed(t.Context(), s.Number, "Gala"))
	says(t, "another account's", "must be the id, the slug or the title")(s.CampaignNamed(t.Context(), s.Number,
		"Spring"))
}

// A column that is none of campaigns would make one of each of its values.
func TestAnImportMakesSomeCampaigns(t *testing.T) {
	s := newBook(t)
	account, file := newAccount(t, s).Number, "Gift ID,Amount,Date,Designation,Email,First Name,Last Name\n"
	for i := range 103 {
		file += fmt.Sprintf("%d,1,2026-01-05,Fund %d,ada@example.org,Ada,Byron\n", i, i)
	}
	var left []crm.LeftOut
	at := tried(t, s, account, file, giftImportOf(openTable(t, file)),
		func(row jobs.TrialRow) { left = append(left, row.LeftOut...) })
	done := importGifts(t, s, account, file).Progress.ImportCounts
	expect(t, "created and left out", "103 3 103 3", at.Created, at.LeftOut, done.Created, done.LeftOut)
	expect(t, left[2].Column+" "+left[2].Value,
		"names a campaign that does not exist, and an import creates at most 100. "+
			"Create the campaign first, or check whether this column names campaigns", left[2].Reason)
}

// A rejected row is written as it was, followed by the reason, and is the same row when it comes again.
func TestRejectedGifts(t *testing.T) {
	for file, want := range map[string]string{
		"amount,Date,method,Shoe size\n 5,2026-01-31,cash,\"4,4\"\n":    "amount,Date,method,Shoe size,rejected\n\" 5\",2026-01-31,cash,\"4,4\",\"No \"\"x\"\".\"\n",
		"amount,date,method,rejected\n5,2026-01-31,cash,Because.\n":     "amount,date,method,rejected\n5,2026-01-31,cash,\"No \"\"x\"\".\"\n",
		"amount,date,method,note\n5,2026-01-31\n":                       "amount,date,method,note,rejected\n5,2026-01-31,,,\"No \"\"x\"\".\"\n",
		`{"amount": 1.50, "rejected": "a", "x": {"y": [1]}}`:            `{"amount":1.50,"x":{"y": [1]},"rejected":"No \"x\"."}` + "\n",
		"{\"amount\": 1}\n{\"amount\": x}\n{\"date\":\"2026-01-31\"}\n": "",
	} {
		rows := openTable(t, file)
		spec := giftImportOf(rows)
		spec.Header, spec.JSON = rows.Header(), rows.Format == jobs.JSONLines
		gifts := must(new(jobs.JobStore).NewGiftRows(0, &spec, rows))(t)
		var out strings.Builder
		var keys []sheet.RowKey
		rejected := must(jobs.NewRejectedFile(&out, "", &spec))(t)
		row, err := gifts.Next()
		for ; err == nil; row, err = gifts.Next() {
			keys = append(keys, row.Gift.Key())
			succeed(t, rejected.Add(row.Rejected(`No "x".`)))
		}
		expect(t, "the end of the file", "EOF <nil>", err, rejected.Close())
		got := strings.TrimPrefix(out.String(), "\ufeff")
		expect(t, file, cmp.Or(want, got), got)
		again := openTable(t, got)
		spec.Mapping = sheet.Gifts.Recognize(again.Header(), nil, nil)
		gifts = must(new(jobs.JobStore).NewGiftRows(0, &spec, again))(t)
		for i, key := range keys {
			if row, err := gifts.Next(); err != nil || row.Gift.Key() != key && i != 1 { // the second one is no object
				t.Errorf("%v: %s is another row when it comes again", err, file)
			}
		}
	}
}

// A file of gifts that was exported records nothing in the account that it comes from: its rows say which gifts they
// are. Another account knows none.
func TestExportedGiftsAreKnown(t *testing.T) {
	s := newBook(t)
	account, _ := withGifts(t, s)
	before := ledgerOf(t, s, account.Number)
	n := int64(len(before))
	for _, format := range []string{"csv", "jsonl"} {
		for _, trial := range []bool{true, false} {
			got, rejected := imported(t, s, account.Number, exportedGifts(t, s, account.Number, format), trial)
			expect(t, format, fmt.Sprint(jobs.ImportCounts{Rows: n, Unchanged: n}, " []"), got, rejected)
		}
		expect(t, format+" leaves all as it was", "true", reflect.DeepEqual(before, ledgerOf(t, s, account.Number)))
	}
	file := strings.ReplaceAll(exportedGifts(t, s, account.Number, "csv"), "contact_id", "elsewhere")
	got, _ := imported(t, s, newAccount(t, s).Number, file, true)
	expect(t, "gifts that another account knows", "0", got.Unchanged)
}

// exportedGifts is a file of all gifts of an account.
func exportedGifts(t *testing.T, s *Book, account int64, format string) string {
	t.Helper()
	var file bytes.Buffer
	export := must(s.ExportGifts(t.Context(), account, giving.GiftFilter{}, move.ExportOptions{Format: format}))(t)
	succeed(t, export.Write(t.Context(), &file, func(int64, int64) {}))
	return file.String()
}

// Gifts that an earlier version has recorded without ids are known by all that their rows say.
func TestGiftsThatAnEarlierVersionHasRecordedWithoutIDs(t *testing.T) {
	s, account := newBookOf(t)
	for _, note := range []string{"note=5:first;", ""} {
		sum := sha256.Sum256([]byte("amount=2:20;email=15:dot@example.org;" + note +
			"transacted_at=10:2026-01-05;"))
		in := giving.GiftInput{
			Email: new("dot@example.org"), Amount: new(int64(200000)), Method: new("other"), GivenAt: new("2026-01-05"),
			ExternalID: new("import:" + hex.EncodeToString(sum[:16])), FromRow: true, Filed: new(giving.Filed),
		}
		succeed(t, in.Validate(new(doc.Invalid), true, "US", time.Now()))
		must(s.CreateGift(t.Context(), account, in))(t)
	}
	got, _ := imported(t, s, account,
		"date,email,amount,note\n2026-01-05,dot@example.org,20,first\n2026-01-05,dot@example.org,20,\n", false)
	expect(t, "imported", fmt.Sprint(jobs.ImportCounts{Rows: 2, Unchanged: 2}), got)
}

// crowdFile has people of whom each has a name of its own; phone tells the phone of a row.
func crowdFile(people int, phone func(i int) int) string {
	file := "First name,Last name,Phone\n"
	for i := range people {
		file += fmt.Sprintf("Person %d,Moss,+1 617 555 %04d\n", i, phone(i))
	}
	return file
}

func onePhone(int) int { return 100 }

// Many people on one phone cost what others do: the import and the dry run send as many statements as with a phone
// for each, and one to note each row, and one in each unit of work.
func TestManyPeopleOnOnePhoneCostWhatOthersDo(t *testing.T) {
	const people = 300
	units := int64(people/jobs.UnitRows + 1)
	s := newBook(t)
	spied := spyOn(t, s)
	var statements atomic.Int64
	count := func(string) { statements.Add(1) }
	spied.read, spied.wrote, spied.asked = count, count, count
	counted := func(trial bool, phone func(i int) int) int64 {
		account, file, before := newAccount(t, s).Number, crowdFile(people, phone), statements.Load()
		spec := importOf(openTable(t, file), jobs.MergeExisting)
		if trial {
			expect(t, "created", fmt.Sprint(people),
				tried(t, s, account, file, spec, func(jobs.TrialRow) {}).Created)
		} else {
			expect(t, "created", fmt.Sprint(people), importAgain(t, s, account, file, spec).Progress.Created)
		}
		return statements.Load() - before
	}
	for _, trial := range []bool{true, false} {
		if own, shared := counted(trial, func(i int) int { return i }), counted(trial,
			onePhone); shared > own+people+units+10 {
			t.Errorf("a dry run: %v. One phone takes %d statements, and a phone for each %d", trial, shared, own)
		}
	}
}

// Each of many on one phone is found again, within the file, by the dry run as by the import, and when the file comes
// again.
func TestEachOfManyOnOnePhoneIsFoundAgain(t *testing.T) {
	const people = 120
	s := newBook(t)
	account, once := newAccount(t, s).Number, crowdFile(people, onePhone)
	twice := once + strings.ToUpper(once[strings.IndexByte(once, '\n')+1:])
	spec := importOf(openTable(t, once), jobs.MergeExisting)
	at := tried(t, s, account, twice, spec, func(jobs.TrialRow) {})
	got := importAgain(t, s, account, twice, spec).Progress.ImportCounts
	want := jobs.ImportCounts{Rows: 2 * people, Created: people, Unchanged: people, OtherName: people - 1}
	expect(t, "the import and the dry run", fmt.Sprint(want, people, people-1), got, at.Created, at.OtherName)
	archive(t, s, account, 1)
	again := importAgain(t, s, account, once, spec).Progress
	expect(t, "after one was archived", fmt.Sprint(1, people-1, 1), again.Created, again.Unchanged, again.OtherName)
	expect(t, "and a dry run then", fmt.Sprint(people),
		tried(t, s, account, once, spec, func(jobs.TrialRow) {}).Unchanged)
}

// A dry run only reads, so that it goes on while a change of the same account is being made, and is in no one's way.
func TestConcurrentDryRunWaitsForNoOneWhoWrites(t *testing.T) {
	s, account := newBookOf(t)
	fillBefore(t, s, account)
	spy := spyOn(t, s)
	writing, written, done := make(chan struct{}), make(chan error), make(chan struct{})
	go func() {
		written <- s.UpdateAccount(t.Context(), account, func(x *store.Tx) error {
			x.Account(account).Touch()
			close(writing)
			<-done // a dry run that waits for this change never ends
			return nil
		})
	}()
	<-writing
	at := tried(t, s, account, peopleFile, importOf(openTable(t, peopleFile), jobs.MergeExisting),
		func(jobs.TrialRow) {})
	close(done)
	expect(t, "the dry run", fmt.Sprint(importResults[jobs.MergeExisting]), at)
	succeed(t, <-written)
	expect(t, "commits", "1", spy.commits.Load())
}

// A job notes that its dry run has begun, and what came of it, and between that its progress once a second.
func TestConcurrentDryRunWritesOnlyNowAndThen(t *testing.T) {
	s := newBook(t)
	stopClock(s)
	account, file := newAccount(t, s).Number, "first_name,last_name,email\n"
	for i := range 40 * jobs.UnitRows {
		file += fmt.Sprintf("Ana,Rossi,ana%d@example.org\n", i)
	}
	im := upload(t, s, account, file)
	begin(t, s, im, true)
	spy := spyOn(t, s)
	im = finished(t, im, s)
	expect(t, "created, and commits", fmt.Sprint(40*jobs.UnitRows, " 2"), im.Progress.Tried.Created,
		spy.commits.Load())
}

// A dry run that begins again forgets its first attempt: rows are decided about together, and all again where the
// connection is lost or, as here, custom fields have changed. What they were at first, such as merged into a contact
// who has another email now, does not count then.
func TestADryRunThatBeginsAgainForgetsItsFirstAttempt(t *testing.T) {
	s, account := newBookOf(t)
	ana := create(t, s, account, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`).ID
	define(t, s, account, "Size", custom.TextField)
	rows := openTable(t, "first_name,last_name,email,phone,Size\nA,B,bob@x.org,,\nA,B,cy@x.org,,\nA,B,dee@x.org,,\n"+
		"A,B,ana@x.org,+12125550101,\nA,B,eve@x.org,,XL\n")
	spec := importOf(rows, jobs.MergeExisting)
	spec.Mapping = sheet.Contacts.Recognize(rows.Header(), must(s.CustomFields(t.Context(), account))(t), nil)
	lent, decided, in := 0, int64(0), input(t, `{"emails":[{"value":"anne@x.org"}]}`)
	s.Db.Observe(&db.Observer{Lent: func() {
		if decided != 3 {
			return
		}
		if lent++; lent == 2 { // after the first attempt at the other rows
			if _, err := s.UpdateContact(t.Context(), account, ana, in); err != nil {
				t.Error(err)
			}
		}
	}})
	result := must(s.TryFile(t.Context(), account, rows, spec, func(jobs.TrialRow) error { return nil },
		func(r jobs.ImportCounts) {
			if r.Rows == 3 {
				define(t, s, account, "Color", custom.TextField)
			}
			decided = r.Rows
		}))(t)
	s.Db.Observe(new(db.Observer))
	expect(t, "the dry run, and that it began again", fmt.Sprint(jobs.ImportCounts{Rows: 5, Created: 5}, " true"),
		result.ImportCounts, lent >= 3)
}

// fixtures are all files of other systems, by what their rows are.
var fixtures = map[string][]string{
	"contacts": {"testdata/people/*.csv", "../../crm/sheet/testdata/contacts/*.csv",
		"../../crm/sheet/testdata/systems/people/*.csv"},
	"gifts": {"testdata/money/*.csv", "../../crm/sheet/testdata/gifts/*.csv",
		"../../crm/sheet/testdata/systems/gifts/*.csv"},
}

// Of each file of other systems, whose first rows are known already, the preview has the numbers of the import, which
// come true, and the same file again makes nothing. An undo restores exactly what was there before, and archives,
// cancels or ends what the import has made.
func TestAPreviewSaysWhatTheImportDoes(t *testing.T) {
	s := newBook(t)
	for of, patterns := range fixtures {
		for _, pattern := range patterns {
			files := must(filepath.Glob(pattern))(t)
			expect(t, pattern+" finds no file", "false", len(files) == 0)
			for i, file := range files {
				if drill.On || i%3 == 0 {
					previewIsTrue(t, s, of, file)
				}
			}
		}
	}
	checked(t, s)
}

func previewIsTrue(t *testing.T, s *Book, of, name string) {
	t.Helper()
	text := string(must(os.ReadFile(name))(t))
	_, region, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".csv"), ".")
	options := []string{"look", "whole", "region=" + cmp.Or(strings.ToUpper(region), "US")}
	x := &importScript{T: t, Book: s, account: newAccount(t, s)}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	x.read(of, options, strings.Join(lines[:len(lines)-max(1, len(lines)/3)], ""))
	x.noted = recordsOf(t, s, x.account)
	x.read(of, options, text)
	x.read(of, options, text)
	again := x.last.Progress
	equal(t, again.Created+again.Matches+again.Contacts, 0, "%s: the same file again makes", name)
	// else it has changed nothing
	if done := must(s.Job(t.Context(), x.account.Number, x.jobs[1]))(t); done.Undoable() {
		undo(t, s, x.account.Number, done.ID)
		expect(t, name, "as it was noted", strings.Join(x.compare(), "\n"))
	}
}

// recordsOf is what an account's file says about contacts, gifts and plans, but for when they were changed.
func recordsOf(t *testing.T, s *Book, account access.Account) map[string]map[string]any {
	t.Helper()
	all := make(map[string]map[string]any)
	files := exportAccount(t, s, account)
	for _, name := range []string{move.ContactFile, move.GiftFile, move.PlanFile} {
		for line := range bytes.Lines(files[name].Data) {
			var record map[string]any
			succeed(t, json.Unmarshal(line, &record))
			key := must(json.Marshal(record["id"]))(t)
			delete(record, "updated_at")
			delete(record, "transactions") // of which none is taken back but by another one
			if kept, ok := record["kept"].(map[string]any); ok {
				delete(kept, "revision")
			}
			all[name+" "+string(key)] = record
		}
	}
	return all
}

// countedOf is everything that is worked out from the gifts of an account, but for gifts that count nowhere.
func countedOf(t testing.TB, s *Book, account int64) (all []string) {
	t.Helper()
	for _, c := range must(store.List(t.Context(), s.Store, store.ScanCell, store.SQLGivingBetween, account, "",
		"~"))(t) {
		if c.Entries = 0; c.Sums != (giving.Sums{}) {
			all = append(all, fmt.Sprintf("%s %+v", c.Name, c.Sums))
		}
	}
	for _, g := range ledgerOf(t, s, account) {
		if g.Status != giving.Cancelled {
			all = append(all, fmt.Sprint(g.Code, g.Status, g.ExternalID))
		}
	}
	return all
}
