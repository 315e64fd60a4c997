package book

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/store/jobs"
)

// TestANumberOfTwoSystemsNamesTwoPeople: what another system calls 77 is not whom the first one calls so, with a source or without. The pair is listed, and a
// person may merge the row or leave it out. A dry run says the same.
func TestANumberOfTwoSystemsNamesTwoPeople(t *testing.T) {
	const first, second = "Account Number,Name,Email\n77,Ada Byron,ada@example.org\n", "Contact ID,Name,Email\n77,Bob King,bob@example.org\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		for mode, want := range map[jobs.ImportMode]struct {
			outcome, told string
			people        []string
		}{
			jobs.KeepBoth:      {jobs.RowCreated, "a new contact. Left out: Contact ID \"77\" is the ID of Ada Byron.", []string{"Ada Byron | ada@example.org | import:77", "Bob King | bob@example.org"}},
			jobs.MergeExisting: {jobs.RowMerged, "merged into that contact. Email added: bob@example.org.", []string{"Ada Byron | ada@example.org | bob@example.org | import:77"}},
			jobs.SkipExisting:  {jobs.RowSkipped, "skipped.", []string{"Ada Byron | ada@example.org | import:77"}},
		} {
			account := newAccount(t, s).Number
			importOnce(t, s, account, first)
			rows := openTable(t, second)
			spec := importOf(rows, jobs.MergeExisting)
			spec.OtherName = mode
			must(s.TryFile(t.Context(), account, rows, spec, func(row jobs.TrialRow) error {
				if told := fmt.Sprintf("Bob King has the external ID of Ada Byron, contact %d: %s", row.Contact, want.told); row.Outcome != want.outcome || row.InWords() != told {
					t.Errorf("%s: %s %s", mode, row.Outcome, cmp.Diff(told, row.InWords()))
				}
				return nil
			}, func(jobs.ImportCounts) {}))(t)
			if _, _, err := s.ImportFile(t.Context(), account, openTable(t, second), spec, 0, false, func(jobs.ImportProgress) {}); err != nil {
				t.Fatal(err)
			}
			if people := toldPeople(t, s, account); !slices.Equal(people, want.people) {
				t.Errorf("%s: the contacts are %q", mode, people)
			}
		}
		account := newAccount(t, s).Number
		for range 2 {
			for system, file := range map[string]string{"First": first, "Second": second} {
				rows := openTable(t, file)
				spec := importOf(rows, jobs.MergeExisting)
				spec.Mapping = spec.Mapping.From(system)
				im, _, err := s.ImportFile(t.Context(), account, rows, spec, 0, true, func(jobs.ImportProgress) {})
				if err != nil || im.Progress.OtherName > 0 {
					t.Errorf("%v: %+v", err, im.Progress)
				}
			}
		}
		people := toldPeople(t, s, account)
		if slices.Sort(people); !slices.Equal(people, []string{"Ada Byron | ada@example.org | First:77", "Bob King | bob@example.org | Second:77"}) {
			t.Errorf("the contacts are %q", people)
		}
	})
}

// TestASystemThatIsNamedLaterFindsItsContacts: an id that came from a file without a system is that of the system of the next file, if the name is the same.
func TestASystemThatIsNamedLaterFindsItsContacts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		importOnce(t, s, account, "Donor ID,Name\n7,Ana Ruiz\n8,Ben King\n")
		importOnce(t, s, account, "Bloomerang Account Number,Name,Title\n7,Ana Ruiz,Head\n8,Zoe Wu,\n")
		if people := toldPeople(t, s, account); !slices.Equal(people, []string{"Ana Ruiz | Head | import:7 | Bloomerang:7", "Ben King | import:8", "Zoe Wu | Bloomerang:8"}) {
			t.Errorf("the contacts are %q", people)
		}
	})
}

// TestAnInitialIsOneOfAHousehold: on one phone, J Smith may be any of them; with one email it is the same person.
func TestAnInitialIsOneOfAHousehold(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		const file = "First name,Last name,Phone,Email\nJ,Smith,617-555-0100,\nJohn,Smith,617-555-0100,\nJane,Smith,617-555-0100,\nAna,Ruiz,,ana@example.org\nA.,Ruiz,,ana@example.org\n"
		if tried := tryFile(t, s, account, file); tried.Created != 4 || tried.OtherName != 2 {
			t.Errorf("the dry run tells %+v", tried)
		}
		for range 2 {
			importOnce(t, s, account, file)
		}
		if people := toldPeople(t, s, account); len(people) != 4 {
			t.Errorf("the contacts are %q", people)
		}
	})
}

// TestConcurrentFileComesInAgainAfterItsUndo: whom the import had made is archived and has no external id any more, so that the next one may have it.
func TestConcurrentFileComesInAgainAfterItsUndo(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		const file = "Constituent ID,Name,Email\n77,Ada Byron,ada@example.org\n"
		im := importFile(t, s, account, file, jobs.MergeExisting)
		must(s.UndoJob(t.Context(), account, im.ID, "US", false))(t)
		finishJobs(t, s)
		if again := importFile(t, s, account, file, jobs.MergeExisting); again.Progress.Created != 1 {
			t.Errorf("the file again: %+v", again.Progress)
		}
		gone := create(t, s, account, `{"first_name":"Old","last_name":"Friend","external_ids":[{"source":"import","value":"3"}]}`)
		archive(t, s, account, gone.ID)
		im = importFile(t, s, account, "Constituent ID,Name\n3,Old Friend\n", jobs.MergeExisting)
		if err := s.RejectedRows(t.Context(), &im, func(_ int64, row jobs.RejectedRow) error {
			if row.Reason != fmt.Sprintf("Constituent ID 3 belongs to contact %d.", gone.ID) {
				t.Error(row.Reason)
			}
			return nil
		}); err != nil || im.Progress.Rejected != 1 {
			t.Errorf("%v: %+v", err, im.Progress)
		}
	})
}
