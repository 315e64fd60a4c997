package book

import (
	"testing"

	"donorbook/internal/store/jobs"
)

// TestAGiftIsKnownByAnyOfItsIDs: a file may have several ids of a gift, and another file one of them alone. Two columns may have the same number for two gifts.
func TestAGiftIsKnownByAnyOfItsIDs(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		const ada = ",ada@example.org,Ada,Byron\n"
		const head = ",Amount,Date,Email,First Name,Last Name\n"
		files := []struct {
			file string
			want jobs.ImportCounts
		}{
			{"Gift Id,Transaction Id" + head + "5,,80,2026-01-05" + ada, jobs.ImportCounts{Rows: 1, Created: 1, Contacts: 1}},
			{"Gift Id,Transaction Id" + head + "5,ch_1,80,2026-01-05" + ada, jobs.ImportCounts{Rows: 1, Unchanged: 1}}, // the second id came later
			{"Transaction Id" + head + "ch_1,80,2026-01-05" + ada, jobs.ImportCounts{Rows: 1, Unchanged: 1}},
			{"Gift #,Receipt No." + head + "7,5,20,2026-02-05" + ada + "8,7,30,2026-02-06" + ada, jobs.ImportCounts{Rows: 2, Created: 2}}, // of other gifts
			{"Receipt No." + head + "7,30,2026-02-06" + ada, jobs.ImportCounts{Rows: 1, Unchanged: 1}},
			{"Gift #,Receipt No." + head + "8,7,30,2026-02-06" + ada, jobs.ImportCounts{Rows: 1, Unchanged: 1}},
		}
		for _, f := range files {
			spec := giftImportOf(openTable(t, f.file))
			tried, _ := imported(t, s, account, f.file, true)
			im := importMoney(t, s, account, f.file, spec)
			if im.Progress.ImportCounts != f.want || tried != f.want {
				t.Errorf("%s: the import says %+v, the dry run %+v, want %+v", f.file, im.Progress.ImportCounts, tried, f.want)
			}
		}
		wantLeft(t, s, account, map[string]int64{"5": 80_00, "7": 20_00, "8": 30_00})
		checked(t, s)
		for id := int64(1); id <= 1; id++ {
			finishUndo(t, s, account, id)
		}
		if im := importMoney(t, s, account, files[1].file, giftImportOf(openTable(t, files[1].file))); im.Progress.Created != 1 {
			t.Errorf("after it was undone, the gift is not recorded again: %+v", im.Progress)
		}
		checked(t, s)
	})
}
