package book

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/jobs"
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
	create(t, s, account, `{"first_name":"Ana","last_name":"Ruiz","emails":[{"value":"ana@example.org"}],"tags":["board"]}`)
	create(t, s, account, `{"first_name":"Ben","last_name":"King","emails":[{"value":"ben@example.org"}]}`)
}

func openTable(t testing.TB, text string) *table.Reader {
	t.Helper()
	rows := must(table.Open(strings.NewReader(text), int64(len(text)), "people.csv"))(t)
	return rows
}

func importOf(rows *table.Reader, mode jobs.ImportMode) jobs.FileImport {
	return jobs.FileImport{Name: "people.csv", SHA256: "sum", Mode: mode, Region: "US", Mapping: sheet.Contacts.Recognize(rows.Header(), nil, nil)}
}

// importFile imports a file as the command line does.
func importFile(t testing.TB, s *Book, account int64, text string, mode jobs.ImportMode) jobs.Import {
	t.Helper()
	rows := openTable(t, text)
	im, known, err := s.ImportFile(t.Context(), account, rows, importOf(rows, mode), 0, false, func(jobs.ImportProgress) {})
	if err != nil || known {
		t.Fatal(known, err)
	}
	return im
}

// peopleOf is everything about the contacts of an account but when they were changed.
func peopleOf(t testing.TB, s *Book, account int64) (all []string) {
	t.Helper()
	succeed(t, s.Db.LongView(t.Context(), func(c db.Conn) error {
		return contacts.EachStored(c, account, func(row *contacts.Stored) error {
			c := row.Contact
			all = append(all, fmt.Sprint(doc.IDSeq(c.ID), c.Archived(), c.FirstName, c.LastName, c.Company, c.Emails, c.Phones, c.Tags, row.MatchKeys))
			return row.Damage
		}, func() error { return nil })
	}))
	return all
}

var importResults = map[jobs.ImportMode]jobs.ImportCounts{
	jobs.MergeExisting: {Rows: 11, Created: 6, Merged: 2, Unchanged: 2, Rejected: 1, LeftOut: 1},
	jobs.SkipExisting:  {Rows: 11, Created: 6, Unchanged: 4, Rejected: 1, LeftOut: 1},
	jobs.ForceCreate:   {Rows: 11, Created: 10, Rejected: 1, LeftOut: 1},
}

// An import decides about each row as a create does, and a dry run says so before and changes nothing.
func TestAnImportDecidesAsCreatesDo(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		for mode, want := range importResults {
			account, other := newAccount(t, s).Number, newAccount(t, s).Number
			fillBefore(t, s, account)
			fillBefore(t, s, other)
			before := peopleOf(t, s, account)
			rows := openTable(t, peopleFile)
			var told []string
			tried := must(s.TryFile(t.Context(), account, rows, importOf(rows, mode), func(row jobs.TrialRow) error {
				if row.Told() {
					told = append(told, fmt.Sprintf("%d %s", row.Line, row.InWords()))
				}
				return nil
			}, func(jobs.ImportCounts) {}))(t)
			expect(t, "a dry run found", "true", tried.ImportCounts == want)
			expect(t, "a dry run has changed", "true", slices.Equal(before, peopleOf(t, s, account)))
			if mode == jobs.MergeExisting {
				wantTold(t, told)
			}
			im := importFile(t, s, account, peopleFile, mode)
			expect(t, "the import is", "true done", im.Progress.ImportCounts == want, im.State)
			var rejected []string
			succeed(t, s.RejectedRows(t.Context(), &im, func(line int64, row jobs.RejectedRow) error {
				rejected = append(rejected, fmt.Sprintf("%d %s", line, row.Cells[1]))
				return nil
			}))
			expect(t, "rejected", "true", slices.Equal(rejected, []string{"7 Wu"}))
			createRows(t, s, other, mode)
			expect(t, "creates made the contacts (-), and the import others (+)", "true", cmp.Diff(peopleOf(t, s, other), peopleOf(t, s, account)) == "")
		}
	})
}

func wantTold(t *testing.T, told []string) {
	t.Helper()
	want := []string{
		"2 would be merged into Ana Ruiz, contact ", "4 would be merged into the new contact of row 3, by +1 617-555-0103.",
		`6 would be a new contact. Left out: Email "dan at example" must be `, "7 would be rejected: ",
	}
	if len(told) != len(want) {
		t.Fatalf("a dry run tells %q", told)
	}
	for i := range want {
		expect(t, "a dry run tells", "true", strings.HasPrefix(told[i], want[i]))
	}
}

// createRows creates the contacts of the rows that are not rejected, one by one.
func createRows(t testing.TB, s *Book, account int64, mode jobs.ImportMode) {
	t.Helper()
	rows := openTable(t, peopleFile)
	mapping := sheet.Contacts.Recognize(rows.Header(), nil, nil)
	for {
		cells, _, err := rows.Next()
		var broken *table.RowError
		if errors.As(err, &broken) {
			continue
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		in := sheet.Contacts.Rows(mapping, "US").Input(cells)
		if _, err := in.ValidateRow(nil, "US", s.Now()); err == nil {
			var known *crm.Matched // a create that leaves a match as it is
			if _, err := s.CreateContact(t.Context(), account, in, jobs.CreateModes[mode]); err != nil && !errors.As(err, &known) {
				t.Fatal(err)
			}
		}
	}
}

// An import that is interrupted between any two units of work goes on when it is started again, and nothing is done twice.
func TestAnImportGoesOnWhereItWas(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, whole := newAccount(t, s).Number, newAccount(t, s).Number
		fillBefore(t, s, account)
		fillBefore(t, s, whole)
		importFile(t, s, whole, peopleFile, jobs.MergeExisting)
		started := 0
		for ended := false; !ended; started++ {
			ctx, stop := context.WithCancel(t.Context())
			rows := openTable(t, peopleFile)
			im, known, err := s.ImportFile(ctx, account, rows, importOf(rows, jobs.MergeExisting), 11, false, func(jobs.ImportProgress) { stop() })
			stop()
			switch {
			case known || started > 5:
				t.Fatalf("started %d times: known %v, %v", started, known, err)
			case err == nil:
				ended = true
				expect(t, "ended with", "1 true", im.ID, im.Progress.ImportCounts == importResults[jobs.MergeExisting])
			case !errors.Is(err, context.Canceled):
				t.Fatal(err)
			}
		}
		expect(t, "it was started", "4", started)
		expect(t, "without interruption (-), with (+)", "true", cmp.Diff(peopleOf(t, s, whole), peopleOf(t, s, account)) == "")
		rows := openTable(t, peopleFile)
		if im, known, err := s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 11, false, nil); err != nil || !known || im.ID != 1 {
			t.Errorf("the same file again: import %d, known %v, %v", im.ID, known, err)
		}
		rows = openTable(t, peopleFile)
		again, known, err := s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 11, true, func(jobs.ImportProgress) {})
		if want := (jobs.ImportCounts{Rows: 11, Created: 3, Unchanged: 7, Rejected: 1, LeftOut: 1}); err != nil || known || again.Progress.ImportCounts != want {
			t.Errorf("imported again: %+v, %v, %v", again.Progress, known, err)
		}
	})
}

// upload uploads a file and begins to import it.
func upload(t testing.TB, s *Book, account int64, text string) jobs.Import {
	t.Helper()
	im, err := s.UploadImport(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account, jobs.ImportContacts, "people.csv", "US", strings.NewReader(text))
	if err != nil || im.State != jobs.JobMapping {
		t.Fatalf("%v: %+v", err, im)
	}
	return im
}

func begin(t testing.TB, s *Book, im jobs.Import, trial bool) {
	t.Helper()
	must(s.BeginImport(t.Context(), im.Account, im.ID, jobs.Choices{Mapping: im.Spec.Mapping, Mode: jobs.MergeExisting, Trial: trial}))(t)
}

// A file that was uploaded is tried and imported by any node. Undone, all is as before but for the new contacts, which are archived, and those
// that were changed since.
func TestConcurrentUploadIsTriedImportedAndUndone(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a).Number
		fillBefore(t, a, account)
		im := upload(t, a, account, peopleFile)
		im, err := b.Import(t.Context(), account, im.ID)
		if rows := previewOf(t, b, im); err != nil || len(rows) != jobs.PreviewRows || rows[1][0] != "Cleo" {
			t.Errorf("%v: the preview is %q", err, rows)
		}
		before := peopleOf(t, a, account)
		begin(t, a, im, true)
		finishJobs(t, b, a)
		im, err = a.Import(t.Context(), account, im.ID)
		if err != nil || im.State != jobs.JobMapping || im.Progress.Tried == nil || *im.Progress.Tried != importResults[jobs.MergeExisting] {
			t.Fatalf("%v: tried: %s %+v", err, im.State, im.Progress)
		}
		told := must(a.JobRows(t.Context(), account, im.ID, 0, 100))(t)
		expect(t, "the dry run lists", "4", len(told))
		expect(t, "a dry run has changed", "true", slices.Equal(before, peopleOf(t, a, account)))
		begin(t, b, im, false)
		finishJobs(t, a, b)
		im, err = b.Import(t.Context(), account, im.ID)
		if err != nil || im.State != jobs.JobDone || im.Progress.ImportCounts != importResults[jobs.MergeExisting] || im.Progress.Total != 11 {
			t.Fatalf("%v: imported: %s %+v", err, im.State, im.Progress)
		}
		wantJob(t, a, account, im.ID, jobs.JobDone, 8)
		var file bytes.Buffer
		succeed(t, a.WriteRejected(t.Context(), &im, &file))
		rejected := openTable(t, file.String())
		header := rejected.Header()
		expect(t, "the columns of the rejected rows are", "reason 7", header[len(header)-1], len(header))
		expect(t, "rows are rejected", "1", must(jobs.SurveyRows(t.Context(), rejected))(t).Total)

		if _, err := a.AddTags(t.Context(), account, doc.MakeID(account, 3), []string{"kept"}); err != nil { // Cleo, who is new
			t.Fatal(err)
		}
		undo := must(a.UndoJob(t.Context(), account, im.ID, "US", false))(t)
		finishJobs(t, a, b)
		rows, err := a.JobRows(t.Context(), account, undo.ID, 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Contact != doc.MakeID(account, 3) {
			t.Errorf("%v: changed since: %+v", err, rows)
		}
		after := peopleOf(t, a, account)
		expect(t, "before the import (-) and after it was undone (+)", "true", cmp.Diff(before, after[:2]) == "")
		wantLists(t, a, account, []int64{1, 2, 3}, []int64{4, 5, 6, 7, 8})
	})
}

// A file that changes one contact in every row is undone as a whole, in several units of work.
func TestImportIntoOneContactIsUndone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		const rows = 2*jobs.UndoUnit + 50
		account := newAccount(t, s).Number
		file := new(strings.Builder)
		file.WriteString("first_name,last_name,email,tags\n")
		for i := range rows {
			fmt.Fprintf(file, "Amelia,Okafor,amelia@example.org,Tag %d\n", i)
		}
		im := upload(t, s, account, file.String())
		begin(t, s, im, false)
		finishJobs(t, s)
		at := undo(t, s, account, im.ID)
		expect(t, "undone", "250 0", at.Undone, at.Kept)
		wantLists(t, s, account, nil, []int64{1})
	})
}

// What a unit of work needs to know is asked once for all its changes, so that it is short where each question is a way over the network. Who was merged into another contact meanwhile stays.
func TestAnUndoAsksOnceForAllChanges(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		const rows = jobs.FirstUnit
		account := newAccount(t, s).Number
		asked := make(map[int]int)
		for _, n := range []int{5, rows} {
			file := new(strings.Builder)
			file.WriteString("first_name,last_name,email\n")
			for i := range n {
				fmt.Fprintf(file, "Amelia,Okafor,a%d.%d@example.org\n", n, i)
			}
			im := upload(t, s, account, file.String())
			begin(t, s, im, false)
			finishJobs(t, s)
			undo := must(s.UndoJob(t.Context(), account, im.ID, "US", false))(t)
			e := spyOn(t, s)
			var statements atomic.Int64
			count := func(string) { statements.Add(1) }
			e.wrote, e.asked = count, count
			must(jobs.NewJobWorker(s.JobStore).Step(t.Context(), &undo))(t)
			s.Db.Observe(&db.Observer{})
			asked[n] = int(statements.Load())
			finishJobs(t, s)
			expect(t, "the undo says", "true", strings.Contains(string(wantJob(t, s, account, undo.ID, jobs.JobDone, int64(n)).Progress), fmt.Sprintf(`"undone":%d`, n)))
		}
		limit := asked[5] + 5
		if !strings.HasSuffix(t.Name(), "postgres") {
			limit = 3 * rows // lists are asked for one by one, in the same process
		}
		if asked[rows] > limit {
			t.Errorf("%d contacts take %d statements, 5 take %d", rows, asked[rows], asked[5])
		}
	})
}

// The mapping of a file is remembered for the next one with the same columns.
func TestAMappingIsRemembered(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		im := upload(t, s, account, peopleFile)
		changed := must(sheet.Contacts.With(im.Spec.Mapping, "Company=title"))(t)
		must(s.BeginImport(t.Context(), account, im.ID, jobs.Choices{Mapping: changed, Mode: jobs.MergeExisting, Trial: true}))(t)
		expect(t, "the next file is mapped as", "true", cmp.Equal(upload(t, s, account, peopleFile).Spec.Mapping, changed, cmpopts.IgnoreUnexported(sheet.Column{})))
		expect(t, "another account's file is mapped as", "true", cmp.Equal(upload(t, s, other, peopleFile).Spec.Mapping, im.Spec.Mapping, cmpopts.IgnoreUnexported(sheet.Column{})))
	})
}

// A column becomes a custom field, and rows that were read before someone changed the definitions are made by the new ones.
func TestAColumnBecomesACustomField(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		rows := openTable(t, "First name,Last name,Shoe size\nAna,Ruiz,38\nBen,King,\nCleo,Stone,big\nDan,Wu,44\nEve,Long,40.5\n")
		spec := importOf(rows, jobs.MergeExisting)
		mapping, err := sheet.Contacts.With(spec.Mapping, "Shoe size=new:number")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it is there
			if spec.Mapping, _, err = s.MakeFields(t.Context(), account, mapping); err != nil {
				t.Fatal(err)
			}
		}
		im, _, err := s.ImportFile(t.Context(), account, rows, spec, 5, false, func(p jobs.ImportProgress) {
			if p.Rows == 3 { // the next rows were read already
				must(s.DefineField(t.Context(), account, custom.FieldInput{Title: "Hat size", Type: custom.TextField}))(t)
			}
		})
		if want := (jobs.ImportCounts{Rows: 5, Created: 5, LeftOut: 1}); err != nil || im.Progress.ImportCounts != want {
			t.Fatalf("%v: %+v", err, im.Progress)
		}
		for seq, want := range map[int64]string{1: "38", 2: "", 3: "", 4: "44", 5: "40.5"} {
			c, err := s.ContactRecord(t.Context(), account, doc.MakeID(account, seq))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(c.Custom) > 0 {
				got = c.Custom[0].Value
			}
			expect(t, "has the shoe size", "true", got == want)
		}
		fields := must(s.CustomFields(t.Context(), account))(t)
		expect(t, "fields are there", "2", len(fields.Active()))
		again := openTable(t, "First name,Last name,Shoe size\nFay,Moss,39\n")
		expect(t, "the next file is mapped as", "custom.1", must(s.ColumnMapping(t.Context(), account, jobs.ImportContacts, again.Header(), nil))(t)[2].Target)
	})
}
