package book

import (
	"slices"
	"testing"

	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
)

// TestAnOptOutInAFileOfGiftsMarksTheContact: a donor who does not want to hear from the organization is not mailed, whether a file of people or of gifts says so, and whether the contact or the gift is
// new or not. The preview counts it, an undo takes it back, and a yes takes back nothing that a person has set.
func TestAnOptOutInAFileOfGiftsMarksTheContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		owned := newAccount(t, s)
		account := owned.Number
		importOnce(t, s, account, "First name,Last name,Email,Do not email\nAna,Ruiz,ana@example.org,\nCy,Fox,cy@example.org,yes\n")
		run := func(file string, marked, created int64) jobs.Import {
			t.Helper()
			spec := giftImportOf(openTable(t, file))
			spec.Mapping = sheet.Gifts.Recognize(openTable(t, file).Header(), nil, lookAt(t, file))
			tried, err := s.TryFile(t.Context(), account, openTable(t, file), spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
			im := importMoney(t, s, account, file, spec)
			if got := im.Progress; err != nil || tried.Marked != marked || got.Marked != marked || tried.Created != created || got.Created != created || tried.ImportCounts != got.ImportCounts {
				t.Errorf("%s\nthe preview says %+v\nthe import %+v", file, tried.ImportCounts, got.ImportCounts)
			}
			return im
		}
		want := func(people ...string) {
			t.Helper()
			var marked []string
			for _, record := range recordsOf(t, s, owned) {
				if record["do_not_email"] == true && record["archived_at"] == nil {
					marked = append(marked, record["first_name"].(string))
				}
			}
			if slices.Sort(marked); !slices.Equal(marked, people) {
				t.Errorf("not to be mailed are %v, want %v", marked, people)
			}
		}
		file := "Gift ID,Date,Amount,First name,Last name,Email,Further contact\nG1,2026-01-05,10,Ana,Ruiz,ana@example.org,No\nG2,2026-01-05,20,Ben,King,ben@example.org,no\nG3,2026-01-05,30,Cy,Fox,cy@example.org,Yes\nG4,2026-01-05,30,Dee,Lind,dee@example.org,\n"
		first := run(file, 2, 4)
		want("Ana", "Ben", "Cy")
		run(file, 0, 0)
		later := run("Gift ID,Date,Amount,First name,Last name,Email,Email Status\nG4,2026-01-05,30,Dee,Lind,dee@example.org,Unsubscribed\nG1,2026-01-05,10,Ana,Ruiz,ana@example.org,Subscribed\n", 1, 0)
		want("Ana", "Ben", "Cy", "Dee")
		undo(t, s, account, later.ID)
		want("Ana", "Ben", "Cy")
		undo(t, s, account, first.ID)
		want("Cy")
		checked(t, s)
	})
}
