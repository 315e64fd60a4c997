package book

import (
	"testing"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
)

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
