package book

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
)

// A value that no contact can have is left out and listed as the file has it, and the person comes in. Rows are counted as a spreadsheet counts them.
func TestABadCellDoesNotRejectItsRow(t *testing.T) {
	const file = "First,Last,Full name,Email,Email 2,Phone,Birthday,State,City,Twitter,Note,Shoe size,Joined\n" +
		"Ana,Ruiz,,ana@example.org,broken@,call me,04/17,Nowhere,Rome,not a link,\"two\nlines\",large,soon\n" +
		",Long,Eve Maria Long,,,,,,,,,41,\n" +
		"Zoe,,Zoe van Dyke,,,,1980-01-31,,,,,,\n" +
		",,,someone@example.org,,,,,,,,,\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for _, f := range []custom.FieldInput{{Title: "Shoe size", Type: custom.NumberField}, {Title: "Joined", Type: "date"}} {
			must(s.DefineField(t.Context(), account, f))(t)
		}
		fields := must(s.CustomFields(t.Context(), account))(t)
		rows := openTable(t, file)
		spec := importOf(rows, jobs.MergeExisting)
		spec.Mapping = sheet.Contacts.Recognize(rows.Header(), fields, nil)
		im, _, err := s.ImportFile(t.Context(), account, rows, spec, 0, false, func(jobs.ImportProgress) {})
		if want := (jobs.ImportCounts{Rows: 4, Created: 4, LeftOut: 6}); err != nil || im.Progress.ImportCounts != want {
			t.Errorf("%v: imported %+v, want %+v", err, im.Progress.ImportCounts, want)
		}
		var noted []string
		succeed(t, s.NotedRows(t.Context(), &im, func(row jobs.TrialRow) error {
			for _, left := range row.LeftOut {
				noted = append(noted, fmt.Sprintf("%d %s=%s", row.Line, left.Column, left.Value))
			}
			if row.Outcome == jobs.RowRejected {
				noted = append(noted, fmt.Sprintf("%d %s", row.Line, row.Outcome))
			}
			return nil
		}))
		want := []string{"2 Birthday=04/17", "2 Twitter=not a link", "2 Email 2=broken@", "2 Phone=call me", "2 Joined=soon", "2 Shoe size=large"}
		if diff := cmp.Diff(want, noted); diff != "" {
			t.Errorf("want (-), left out (+):\n%s", diff)
		}
		people := peopleOf(t, s, account)
		for i, name := range []string{"AnaRuiz[{ ana@example.org}] [] []", "Eve MariaLong", "Zoevan Dyke", "someone@example.org"} {
			if len(people) != 4 || !strings.Contains(people[i], name) {
				t.Errorf("the contacts are %q, want %s", people, name)
			}
		}
	})
}

// Days are read as the whole file writes them: one with a day above 12 tells how all of them are meant, in birthdays and in custom fields.
func TestConcurrentFileTellsHowItsDaysAreWritten(t *testing.T) {
	const head = "First,Last,Birthday,Joined\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		for file, want := range map[string]string{
			head + "Ana,Ruiz,03/04/1980,05/06/2020\nBen,King,31/12/1981,\n":           "1980-04-03 2020-06-05",
			head + "Ana,Ruiz,03/04/1980,05/06/2020\nBen,King,12/31/1981,\n":           "1980-03-04 2020-05-06",
			head + "Ana,Ruiz,03/04/1980,05/06/2020\nBen,King,31/12/1981,12/31/2020\n": "1980-04-03 2020-05-06",
			head + "Ana,Ruiz,03/04/1980,05/06/2020\n":                                 "1980-03-04 2020-05-06",
		} {
			account := newAccount(t, s).Number
			must(s.DefineField(t.Context(), account, custom.FieldInput{Title: "Joined", Type: "date"}))(t)
			im := upload(t, s, account, file)
			begin(t, s, im, true)
			finishJobs(t, s)
			begin(t, s, im, false)
			finishJobs(t, s)
			c, err := s.ContactRecord(t.Context(), account, doc.MakeID(account, 1))
			if got := c.DOB.Format("2006-01-02") + " " + c.CustomValue(1).Text(); err != nil || got != want {
				t.Errorf("%q: %s, want %s: %v", file, got, want, err)
			}
		}
	})
}
