package book

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/doc"
	"donorbook/internal/store/jobs"
)

// householdFile has people who share a landline or the email of their spouse. The account has Ana and Ben before.
const householdFile = `First name,Last name,Email,Phone,Company
A.,Ruiz,ana@example.org,(617) 555-0100,Ruiz Ltd
Juan,Ruiz,ana@example.org,,
Carla,Ruiz,,617-555-0100,
CARLA,RUIZ,,617-555-0100,
Ben,King,ben@example.org,,
Zoe,King,zoe@example.org,617-555-0100,
`

func importHousehold(t testing.TB, s *Book, account int64, sum string, change func(*jobs.FileImport)) (jobs.Import, []string) {
	t.Helper()
	rows := openTable(t, householdFile)
	spec := importOf(rows, jobs.MergeExisting)
	spec.SHA256 = sum
	change(&spec)
	var pairs []string
	tried := must(s.TryFile(t.Context(), account, rows, spec, func(row jobs.TrialRow) error {
		if row.OtherName {
			pairs = append(pairs, fmt.Sprintf("%d %s: %s", row.Line, row.Outcome, strings.ReplaceAll(row.InWords(), fmt.Sprint("contact ", row.Contact), "contact N")))
		}
		return nil
	}, func(jobs.ImportCounts) {}))(t)
	rows = openTable(t, householdFile)
	im, known, err := s.ImportFile(t.Context(), account, rows, spec, 0, false, func(jobs.ImportProgress) {})
	if err != nil || known {
		t.Fatal(known, err)
	}
	if got := im.Progress.ImportCounts; got.OtherName != tried.OtherName || got.Skipped != tried.Skipped || got.Created != tried.Created {
		t.Errorf("a dry run has found %+v, and the import %+v", tried, got)
	}
	return im, pairs
}

// An import never renames a person: a row with the email or phone of a contact of another name is a contact of its own, and the same file again finds each of
// them.
func TestAnImportNeverRenamesAPerson(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillBefore(t, s, account)
		im, pairs := importHousehold(t, s, account, "1", func(*jobs.FileImport) {})
		if want := (jobs.ImportCounts{Rows: 6, Created: 3, Merged: 1, Unchanged: 2, OtherName: 3}); im.Progress.ImportCounts != want {
			t.Errorf("imported %+v, want %+v", im.Progress.ImportCounts, want)
		}
		want := []string{
			"3 created: Juan Ruiz shares ana@example.org with Ana Ruiz, contact N: a new contact.",
			"4 created: Carla Ruiz shares 617-555-0100 with Ana Ruiz, contact N: a new contact.",
			"7 created: Zoe King shares 617-555-0100 with Ana Ruiz, contact N: a new contact.",
		}
		if diff := cmp.Diff(want, pairs); diff != "" {
			t.Errorf("want pairs (-), told (+):\n%s", diff)
		}
		people := peopleOf(t, s, account)
		names := make([]string, 0, len(people))
		for _, one := range people {
			names = append(names, one[:min(len(one), 16)])
		}
		if want := []string{"1 falseAnaRuizRu", "2 falseBenKing[{", "3 falseJuanRuiz[", "4 falseCarlaRuiz", "5 falseZoeKing[{"}; !slices.Equal(names, want) {
			t.Errorf("the contacts are %q", people)
		}
		again, _ := importHousehold(t, s, account, "2", func(*jobs.FileImport) {})
		if want := (jobs.ImportCounts{Rows: 6, Unchanged: 6}); again.Progress.ImportCounts != want {
			t.Errorf("the same file again: %+v, want %+v", again.Progress.ImportCounts, want)
		}
		if diff := cmp.Diff(people, peopleOf(t, s, account)); diff != "" {
			t.Errorf("the same file again has changed:\n%s", diff)
		}
	})
}

// A person may choose to merge those who share an email or a phone, or to leave their rows out. Even then no one gets the name of another.
func TestAPersonChoosesAboutOtherNames(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		for mode, want := range map[jobs.ImportMode]jobs.ImportCounts{
			jobs.MergeExisting: {Rows: 6, Merged: 2, Unchanged: 4, OtherName: 4},
			jobs.SkipExisting:  {Rows: 6, Merged: 1, Unchanged: 1, Skipped: 4, OtherName: 4},
		} {
			for _, isRight := range []bool{false, true} {
				account := newAccount(t, s).Number
				fillBefore(t, s, account)
				im, _ := importHousehold(t, s, account, "1", func(spec *jobs.FileImport) { spec.OtherName, spec.FileIsRight = mode, isRight })
				if im.Progress.ImportCounts != want {
					t.Errorf("%s: imported %+v, want %+v", mode, im.Progress.ImportCounts, want)
				}
				first := "Ana"
				if isRight {
					first = "A."
				}
				people := peopleOf(t, s, account)
				if len(people) != 2 || !strings.HasPrefix(people[0], "1 false"+first+"RuizRuiz Ltd") || !strings.HasPrefix(people[1], "2 falseBenKing[") {
					t.Errorf("%s: the contacts are %q", mode, people)
				}
			}
		}
	})
}

// What is merged only fills what is empty, unless the file is right, and a dry run says what would change in whom.
func TestAnImportOnlyFillsWhatIsEmpty(t *testing.T) {
	const file = "First name,Last name,Email,Company,Title,Tags\nANA,Ruiz,ana@example.org,New Ltd,Head,gala\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		for isRight, want := range map[bool]string{
			false: "Title: Head. Tag added: gala.",
			true:  "First name: ANA instead of Ana. Company: New Ltd instead of Old Ltd. Title: Head. Tag added: gala.",
		} {
			account := newAccount(t, s).Number
			ana := create(t, s, account, `{"first_name":"Ana","last_name":"Ruiz","company":"Old Ltd","emails":[{"value":"ana@example.org"}]}`)
			rows := openTable(t, file)
			spec := importOf(rows, jobs.MergeExisting)
			spec.FileIsRight = isRight
			told := ""
			must(s.TryFile(t.Context(), account, rows, spec, func(row jobs.TrialRow) error {
				told = row.InWords()
				return nil
			}, func(jobs.ImportCounts) {}))(t)
			if want := fmt.Sprintf("would be merged into Ana Ruiz, contact %d, by ana@example.org. %s", ana.ID, want); told != want {
				t.Errorf("a dry run tells %q, want %q", told, want)
			}
			rows = openTable(t, file)
			if _, _, err := s.ImportFile(t.Context(), account, rows, spec, 0, false, func(jobs.ImportProgress) {}); err != nil {
				t.Fatal(err)
			}
			c, err := s.ContactRecord(t.Context(), account, ana.ID)
			if isNew := c.Company == "New Ltd"; err != nil || isNew != isRight || (c.FirstName == "ANA") != isRight || c.Title != "Head" || doc.IDSeq(c.ID) != 1 {
				t.Errorf("the file is right: %t, and the contact is %+v, %v", isRight, c, err)
			}
		}
	})
}
