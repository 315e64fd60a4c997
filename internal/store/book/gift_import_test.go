package book

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
	"donorbook/internal/table"
)

var someCode = regexp.MustCompile(`gift \w{16}`)

// giftImportOf is how a file of gifts is imported without a person who maps its columns.
func giftImportOf(rows *table.Reader) jobs.FileImport {
	return jobs.FileImport{Of: jobs.ImportGifts, Name: "gifts.csv", SHA256: "sum", Region: "US", JSON: rows.Format == "jsonl", Mapping: sheet.Gifts.Recognize(rows.Header(), nil, nil)}
}

// imported imports a CSV file, and returns its report with the rejected rows: their lines and reasons.
func imported(t *testing.T, s *Book, account int64, file string, trial bool) (result jobs.ImportCounts, rejected []string) {
	t.Helper()
	rows := openTable(t, file)
	reject := func(line int64, row jobs.RejectedRow) error {
		rejected = append(rejected, fmt.Sprintf("%d: %s", line, someCode.ReplaceAllString(row.Reason, "gift CODE")))
		return nil
	}
	if trial {
		result := must(s.TryFile(t.Context(), account, rows, giftImportOf(rows), func(row jobs.TrialRow) error {
			if row.Outcome != jobs.RowRejected {
				return nil
			}
			return reject(row.Line, jobs.RejectedRow{Reason: row.Reason})
		}, func(jobs.ImportCounts) {}))(t)
		return result.ImportCounts, rejected
	}
	im, known, err := s.ImportFile(t.Context(), account, rows, giftImportOf(rows), 0, true, func(jobs.ImportProgress) {})
	if err == nil {
		err = s.RejectedRows(t.Context(), &im, reject)
	}
	if err != nil || known || im.State != jobs.JobDone {
		t.Fatal(im.State, known, err)
	}
	return im.Progress.ImportCounts, rejected
}

// checked checks that a check finds nothing.
func checked(t *testing.T, s *Book) {
	t.Helper()
	report := must(s.Check(t.Context(), check.CheckOptions{Found: func(p check.Problem) { t.Errorf("the check found: %s", p) }}))(t)
	expect(t, "the check found", "0", report.Problems)
}

// TestAnImportOfGiftsGoesOn: an import that stops between any two units and is restarted records the same as one without interruption, also of
// rows that are equal and have no external id. A dry run of many rows counts each new contact once.
func TestAnImportOfGiftsGoesOn(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, whole := newAccount(t, s), newAccount(t, s)
		lines := []string{"amount,date,method,first_name,last_name,email"}
		for i := range 40 {
			name := fmt.Sprintf("Ann,P%d", i%12)
			if i >= 24 {
				name = "," // known by then
			}
			lines = append(lines, fmt.Sprintf("%d,2026-03-%02d,card,%s,p%d@example.org", 5+i%2, 1+i%3, name, i%12))
		}
		file := strings.Join(lines, "\n")
		want := jobs.ImportCounts{Rows: 40, Created: 40, Contacts: 12}
		if tried, _ := imported(t, s, account.Number, file, true); tried != want {
			t.Errorf("the trial says %+v, want %+v", tried, want)
		}
		if result, _ := imported(t, s, whole.Number, file, false); result != want {
			t.Errorf("the import says %+v, want %+v", result, want)
		}
		started := 0
		for ended := false; !ended; started++ {
			ctx, stop := context.WithCancel(t.Context())
			rows := openTable(t, file)
			im, _, err := s.ImportFile(ctx, account.Number, rows, giftImportOf(rows), 40, true, func(jobs.ImportProgress) { stop() })
			stop()
			switch {
			case started > 20:
				t.Fatal("it does not end")
			case err == nil:
				ended = true
				expect(t, "ended with", "1 true", im.ID, im.Progress.ImportCounts == want)
			case !errors.Is(err, context.Canceled):
				t.Fatal(err)
			}
		}
		if started != 14 { // units of three rows
			t.Errorf("it was started %d times", started)
		}
		expect(t, "without interruption (-), with (+)", "true", cmp.Diff(referencesOf(t, s, whole.Number), referencesOf(t, s, account.Number)) == "")
		checked(t, s)
	})
}

// referencesOf is what was given, and by which external ids.
func referencesOf(t testing.TB, s *Book, account int64) (all []string) {
	t.Helper()
	for _, g := range ledgerOf(t, s, account) {
		all = append(all, fmt.Sprint(g.At.Format(time.DateOnly), g.Payment().Amount, g.Giver.Email, g.ExternalID, g.Status))
	}
	slices.Sort(all)
	return all
}

// A file of gifts that was uploaded is tried and imported by any node. What the dry run tells is what the import does.
func TestConcurrentUploadOfGiftsIsTriedAndImported(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account, other := newAccount(t, a), newAccount(t, a)
		file := "Amount,Date,Method,First name,Last name,Email,External ID\n" +
			"50,2026-01-05,check,Ada,Lovelace,ada@example.org,a1\n25,2026-01-06,cash,,,ada@example.org,\n25,2026-01-06,cash,,,ada@example.org,\n" +
			"x,2026-01-06,cash,,,ada@example.org,\n10,2026-01-07,cash,Bob,Babbage,bob@example.org,b1\n10,2026-01-07,cash,Bob,Babbage,bob@example.org,k1\n"
		imported(t, a, account.Number, "amount,date,method,first_name,last_name,email,external_id\n10,2026-01-07,cash,Bob,Babbage,bob@example.org,k1\n", false)
		want := jobs.ImportCounts{Rows: 6, Created: 4, Unchanged: 1, Rejected: 1, Contacts: 1}
		im, err := a.UploadImport(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account.Number, jobs.ImportGifts, "gifts.csv", "US", strings.NewReader(file))
		if err != nil || im.State != jobs.JobMapping || im.Spec.Mapping[1].Target != "transacted_at" {
			t.Fatalf("%v: %+v", err, im)
		}
		refuses(t, "another account's import", crm.ErrNotFound)(b.Import(t.Context(), other.Number, im.ID))
		if rows := previewOf(t, b, im); len(rows) < 2 || rows[1][0] != "25" {
			t.Errorf("the preview is %q", rows)
		}
		begin(t, a, im, true)
		finishJobs(t, a, b)
		im, err = b.Import(t.Context(), account.Number, im.ID)
		if err != nil || im.State != jobs.JobMapping || im.Progress.Tried == nil || *im.Progress.Tried != want {
			t.Fatalf("%v: the dry run ended as %s with %+v", err, im.State, im.Progress)
		}
		expect(t, "the dry run has recorded", "1", len(ledgerOf(t, a, account.Number)))
		wantGiftsTold(t, b, im)
		begin(t, b, im, false)
		finishJobs(t, b, a)
		im = must(a.Import(t.Context(), account.Number, im.ID))(t)
		expect(t, "the import ended as", "done true 6", im.State, im.Progress.ImportCounts == want, im.Progress.Total)
		var rejected strings.Builder
		if err := a.WriteRejected(t.Context(), &im, &rejected); err != nil || !strings.Contains(rejected.String(), "\nx,2026-01-06,cash,,,ada@example.org,,\"The ") {
			t.Errorf("%v: rejected are %q", err, rejected.String())
		}
		expect(t, "gifts are there", "5", len(ledgerOf(t, a, account.Number)))
		checked(t, a)
	})
}

func wantGiftsTold(t *testing.T, s *Book, im jobs.Import) {
	t.Helper()
	rows, err := s.JobRows(t.Context(), im.Account, im.ID, 0, 10)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v: the dry run lists %d rows", err, len(rows))
	}
	for i, want := range []string{"5 would be rejected: The ", "7 is already recorded: gift CODE from Bob Babbage."} {
		tried, err := rows[i].Tried()
		if got := fmt.Sprint(tried.Line, " ", someCode.ReplaceAllString(tried.InWords(), "gift CODE")); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%v: a dry run tells %q, want %q", err, got, want)
		}
	}
}

// The mapping of a file is remembered by what its rows are: the same header may be of contacts and of gifts.
func TestAMappingOfGiftsIsRemembered(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		const file = "amount,date,first_name,last_name,note\n5,2026-01-31,Ada,Lovelace,x\n"
		im := must(s.UploadImport(t.Context(), account, jobs.ImportGifts, "gifts.csv", "US", strings.NewReader(file)))(t)
		im.Spec.Mapping[4].Target = sheet.Skip
		begin(t, s, im, true)
		for of, want := range map[string]string{jobs.ImportGifts: sheet.Skip, jobs.ImportContacts: "note"} {
			expect(t, "the next file of", "true", must(s.ColumnMapping(t.Context(), account, of, im.Spec.Header, nil))(t)[4].Target == want)
		}
		objects := openTable(t, `{"amount":5,"date":"2026-01-31","first_name":"Ada","last_name":"Lovelace","method":"cash"}`)
		spec := jobs.FileImport{Of: jobs.ImportGifts, Name: "gifts.jsonl", Region: "US"}
		if done, _, err := s.ImportFile(t.Context(), account, objects, spec, 1, true, func(jobs.ImportProgress) {}); err != nil || done.Progress.Created != 1 {
			t.Errorf("%v: objects: %+v", err, done.Progress)
		}
		if m, err := s.ColumnMapping(t.Context(), account, jobs.ImportGifts, objects.Header(), nil); err != nil || len(m) != 5 || m[0].Target != "amount" {
			t.Errorf("%v: a table with the names of objects is mapped as %+v", err, m)
		}
		im.Spec.Mapping[0].Target = sheet.Skip
		other := must(s.UploadImport(t.Context(), account, jobs.ImportGifts, "gifts.csv", "US", strings.NewReader(file)))(t)
		var refused *doc.Invalid
		if _, err := s.BeginImport(t.Context(), account, other.ID, jobs.Choices{Mapping: im.Spec.Mapping}); !errors.As(err, &refused) {
			t.Errorf("a file without amounts: %v", err)
		}
		if _, err := s.UploadImport(t.Context(), account, "people", "x.csv", "US", strings.NewReader(file)); !errors.As(err, &refused) {
			t.Errorf("a file of people: %v", err)
		}
	})
}

// What an import remembers of rows without an external id is bounded.
func TestRowsWithoutAnExternalIDAreBounded(t *testing.T) {
	rows := openTable(t, "amount,date,method,contact_id,external_id\n1,2026-01-31,cash,7,\n2,2026-01-31,cash,7,\n3,2026-01-31,cash,7,\n1,2026-01-31,cash,7,\n4,2026-01-31,cash,7,x4\n")
	spec := giftImportOf(rows)
	gifts := must(new(jobs.JobStore).NewGiftRows(0, &spec, rows))(t)
	gifts.Most = 4 // two keys of a row
	for line, want := range []string{2: "", 3: "", 4: "The external_id field is required: a file can have at most 2 different rows without one. Split the file.", 5: "", 6: ""} {
		if line < 2 {
			continue
		}
		row := must(gifts.Next())(t)
		if row.Gift.Check("US", time.Now()); jobs.ReasonOf(row.Gift.Refused) != want {
			t.Errorf("line %d: %v", row.Line, row.Gift.Refused)
		}
	}
}

// A campaign is found by its title where no other one has it.
func TestACampaignIsNamedByItsTitle(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s), newAccount(t, s)
		made := map[string]campaign.Campaign{}
		for _, c := range []struct {
			owner access.Account
			title string
		}{{account, "Winter Coats"}, {account, "Gala"}, {account, "Gala"}, {other, "Spring"}} {
			campaign := must(s.CreateCampaign(t.Context(), c.owner, campaign.Input{Title: &c.title}))(t)
			made[c.title] = campaign
		}
		expect(t, "campaign", "true", must(s.CampaignNamed(t.Context(), account.Number, "winter coats"))(t) == made["Winter Coats"].ID)
		for name, want := range map[string]string{"Gala ": "several campaigns", "Spring": "must be the id, the slug or the title"} {
			says(t, "it", want)(s.CampaignNamed(t.Context(), account.Number, strings.TrimSpace(name)))
		}
	})
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
		gifts, err := new(jobs.JobStore).NewGiftRows(0, &spec, rows)
		var out strings.Builder
		var keys []sheet.RowKey
		rejected, opening := jobs.NewRejectedFile(&out, "", &spec)
		for err = errors.Join(err, opening); err == nil; {
			var row jobs.ImportRow
			if row, err = gifts.Next(); err == nil {
				keys = append(keys, row.Gift.Key())
				err = rejected.Add(row.Rejected(`No "x".`))
			}
		}
		if closing := rejected.Close(); !errors.Is(err, io.EOF) || closing != nil {
			t.Fatal(err, closing)
		}
		got := strings.TrimPrefix(out.String(), "\ufeff")
		if want != "" && got != want {
			t.Errorf("%s became\n%s\nwant\n%s", file, got, want)
		}
		again := openTable(t, got)
		spec.Mapping = sheet.Gifts.Recognize(again.Header(), nil, nil)
		if gifts, err = new(jobs.JobStore).NewGiftRows(0, &spec, again); err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			if row, err := gifts.Next(); err != nil || row.Gift.Key() != key && i != 1 { // the second one is no object
				t.Errorf("%v: %s is another row when it comes again", err, file)
			}
		}
	}
}

// A file of gifts that was exported records nothing in the account that it comes from: its rows say which gifts they are. Those that were canceled
// since, as an undo does, are recorded anew.
func TestExportedGiftsAreKnown(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, _ := withGifts(t, s)
		for _, format := range []string{"csv", "jsonl"} {
			file := exportedGifts(t, s, account.Number, format)
			before := ledgerOf(t, s, account.Number)
			for _, trial := range []bool{true, false} {
				if got, rejected := imported(t, s, account.Number, file, trial); got != (jobs.ImportCounts{Rows: int64(len(before)), Unchanged: int64(len(before))}) {
					t.Errorf("%s: %+v, %q", format, got, rejected)
				}
			}
			expect(t, "the gifts are", "true", reflect.DeepEqual(before, ledgerOf(t, s, account.Number)))
		}
		other := newAccount(t, s).Number
		if got, _ := imported(t, s, other, strings.ReplaceAll(exportedGifts(t, s, account.Number, "csv"), "contact_id", "elsewhere"), true); got.Unchanged != 0 {
			t.Errorf("another account knows %d gifts", got.Unchanged)
		}
	})
}

// exportedGifts is a file of all gifts of an account.
func exportedGifts(t *testing.T, s *Book, account int64, format string) string {
	t.Helper()
	var file bytes.Buffer
	export, err := s.ExportGifts(t.Context(), account, giving.GiftFilter{}, move.ExportOptions{Format: format})
	if err == nil {
		err = export.Write(t.Context(), &file, func(int64, int64) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.String()
}
