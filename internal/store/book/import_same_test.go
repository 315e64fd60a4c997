package book

import (
	"testing"

	"donorbook/internal/store/jobs"
)

// TestTheNextExportBringsNoOneTwice: a person without an email, a phone and an id is known by name and address in the next file from the same source, whether its rows are contacts or gifts.
// In a file from elsewhere they may be someone else.
func TestTheNextExportBringsNoOneTwice(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		const people = "First Name,Last Name,Organization,Street,City,ZIP,Notes\n"
		files := []struct {
			name, file string
			gifts      bool
			want       jobs.ImportCounts
		}{
			{"people", people + "Ada,Byron,,12 Elm St,Boston,02115,\nBen,King,,9 Oak Ave.,Newark,07102,\n,,Acme Foundation,1 Pier,Boston,02110,\n", false, jobs.ImportCounts{Rows: 3, Created: 3}},
			{"the next export, with a note, one who has moved and another one at home", people + "ADA,BYRON,,12 Elm St.,Boston,02115-1234,Called\nBen,King,,77 New Road,Newark,07102,\n,,Acme Foundation,1 Pier,Boston,02110,\nAnn,Byron,,12 Elm St,Boston,02115,\n", false,
				jobs.ImportCounts{Rows: 4, Created: 2, Merged: 1, Unchanged: 1}},
			{"a file from elsewhere", "Vorname,Nachname,Straße,Ort,PLZ\nAda,Byron,12 Elm St,Boston,02115\n", false, jobs.ImportCounts{Rows: 1, Created: 1}},
			{"gifts", "Name,Street,City,ZIP,Amount,Date\nAda Byron,12 Elm St,Boston,02115,10,2026-01-05\nZoe Okafor,3 Hill Rd,Boston,02116,20,2026-01-06\n", true, jobs.ImportCounts{Rows: 2, Created: 2, Contacts: 2}},
			{"gifts of the next month", "Name,Street,City,ZIP,Amount,Date\nZoe Okafor,3 Hill Rd,Boston,02116,30,2026-02-06\nZoe Okafor,3 Hill Rd,Boston,02116,31,2026-02-07\nZoe Okafor,4 Hill Rd,Boston,02116,32,2026-02-08\n", true, jobs.ImportCounts{Rows: 3, Created: 3}}, // one ZIP code is enough within a file
		}
		for _, f := range files {
			var done, tried jobs.ImportCounts
			if f.gifts {
				tried, _ = imported(t, s, account, f.file, true)
				im := importMoney(t, s, account, f.file, giftImportOf(openTable(t, f.file)))
				done = im.Progress.ImportCounts
			} else {
				tried = tryFile(t, s, account, f.file)
				done = importOnce(t, s, account, f.file)
			}
			if done != f.want || tried != f.want {
				t.Errorf("%s: the import says %+v, the dry run %+v, want %+v", f.name, done, tried, f.want)
			}
		}
		checked(t, s)
	})
}
