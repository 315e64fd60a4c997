package book

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
	"donorbook/internal/table"
)

// fixtures are all files of other systems, by what their rows are.
var fixtures = map[string][]string{
	jobs.ImportContacts: {"testdata/people/*.csv", "../../crm/sheet/testdata/contacts/*.csv", "../../crm/sheet/testdata/systems/people/*.csv"},
	jobs.ImportGifts:    {"testdata/money/*.csv", "../../crm/sheet/testdata/gifts/*.csv", "../../crm/sheet/testdata/systems/gifts/*.csv"},
}

// TestAPreviewSaysWhatTheImportDoes: of each file of other systems, whose first rows are known already, the preview has the numbers of the import, which come true, and the same file again makes nothing. An undo restores exactly what was there before,
// and archives, cancels or ends what the import has made.
func TestAPreviewSaysWhatTheImportDoes(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		for of, patterns := range fixtures {
			for _, pattern := range patterns {
				files, err := filepath.Glob(pattern)
				if err != nil || len(files) == 0 {
					t.Fatal(pattern, err)
				}
				for _, file := range files {
					text := must(os.ReadFile(file))(t)
					previewIsTrue(t, s, file, of, string(text))
				}
			}
		}
		checked(t, s)
	})
}

func previewIsTrue(t *testing.T, s *Book, name, of, text string) {
	t.Helper()
	account := newAccount(t, s)
	open := func(text string) (*table.Reader, jobs.FileImport) {
		rows, err := table.OpenWith(strings.NewReader(text), int64(len(text)), "file.csv", table.Options{Header: sheet.FindHeader})
		if err != nil {
			t.Fatal(name, err)
		}
		survey, err := jobs.SurveyRows(t.Context(), rows)
		if err == nil {
			rows, err = table.OpenWith(strings.NewReader(text), int64(len(text)), "file.csv", table.Options{Header: sheet.FindHeader})
		}
		if err != nil {
			t.Fatal(name, err)
		}
		_, region, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".csv"), ".")
		spec := jobs.FileImport{Of: of, Name: name, SHA256: text, Region: strings.ToUpper(region), Days: survey.Days}
		if region == "" {
			spec.Region = "US"
		}
		if spec.Mapping = sheet.Gifts.Recognize(rows.Header(), nil, survey.Look); of == jobs.ImportContacts {
			spec.Mode, spec.Mapping = jobs.MergeExisting, sheet.Contacts.Recognize(rows.Header(), nil, survey.Look)
		}
		return rows, spec
	}
	run := func(text string) jobs.Import {
		rows, spec := open(text)
		im, _, err := s.ImportFile(t.Context(), account.Number, rows, spec, 0, true, func(jobs.ImportProgress) {})
		if err != nil {
			t.Fatal(name, err)
		}
		return im
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	run(strings.Join(lines[:len(lines)-max(1, len(lines)/3)], ""))
	before := recordsOf(t, s, account)
	rows, spec := open(text)
	tried, err := s.TryFile(t.Context(), account.Number, rows, spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
	if err != nil {
		t.Fatal(name, err)
	}
	expect(t, "the preview has changed", "true", cmp.Diff(before, recordsOf(t, s, account)) == "")
	im := run(text)
	expect(t, "the preview (-), the import (+)", "true", cmp.Diff(tried.ImportCounts, im.Progress.ImportCounts) == "")
	expect(t, "sums of the preview (-), of the import (+)", "true", cmp.Diff(tried.Counted, im.Progress.Counted) == "")
	again := run(text).Progress
	expect(t, "the same file again makes", "0 0", again.Created+again.Matches, again.Contacts)
	if done, err := s.Job(t.Context(), account.Number, im.ID); err != nil || !done.Undoable() {
		return // it has changed nothing
	}
	undo(t, s, account.Number, im.ID)
	after := recordsOf(t, s, account)
	for id, now := range after {
		if before[id] == nil && now["archived_at"] == nil && now["status"] != "cancelled" && now["status"] != "ended" {
			t.Errorf("%s: the undo leaves %s %v", name, id, now)
		}
		if before[id] == nil {
			delete(after, id)
		}
	}
	expect(t, "before (-), after the undo (+)", "true", cmp.Diff(before, after) == "")
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
			id := record["id"]
			delete(record, "updated_at")
			delete(record, "transactions") // of which none is taken back but by another one
			if kept, ok := record["kept"].(map[string]any); ok {
				delete(kept, "revision")
			}
			key, _ := json.Marshal(id)
			all[name+" "+string(key)] = record
		}
	}
	return all
}
