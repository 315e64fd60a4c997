package book

import (
	"fmt"
	"slices"
	"testing"

	"donorbook/internal/store/jobs"
)

const toldHeader = "Transaction ID,Amount,Date,Status,Amount Refunded,Original Transaction ID,Currency,Email,First Name,Last Name\n"

// toldRow is a row of Ada's.
func toldRow(id, amount, status, refunded, original string) string {
	return fmt.Sprintf("%s,%s,2026-01-05,%s,%s,%s,,ada@example.org,Ada,Byron\n", id, amount, status, refunded, original)
}

// TestRowsThatWaitHaveLittleRoom: what waits for the end of the file is bounded, however long its cells are.
func TestRowsThatWaitHaveLittleRoom(t *testing.T) {
	rows := openTable(t, toldHeader+toldRow("re_1", "-5", "", "", "t1")+toldRow("re_2", "-5", "", "", "t1")+toldRow("t1", "100", "Paid", "", ""))
	spec := giftImportOf(rows)
	waiting := must(new(jobs.JobStore).NewGiftRows(0, &spec, rows))(t)
	waiting.Room = 100 // for one of them
	var order []string
	for row, err := waiting.Next(); err == nil; row, err = waiting.Next() {
		order = append(order, *row.Gift.ExternalID)
	}
	expect(t, "rows come as", "true", slices.Equal(order, []string{"re_2", "t1", "re_1"}))
}

// TestAnImportMakesSomeCampaigns: a column that is none of campaigns would make one of each of its values.
func TestAnImportMakesSomeCampaigns(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		file := "Gift ID,Amount,Date,Designation,Email,First Name,Last Name\n"
		for i := range 103 {
			file += fmt.Sprintf("%d,1,2026-01-05,Fund %d,ada@example.org,Ada,Byron\n", i, i)
		}
		spec := giftImportOf(openTable(t, file))
		var reasons []string
		tried, err := s.TryFile(t.Context(), account, openTable(t, file), spec, func(row jobs.TrialRow) error {
			for _, left := range row.LeftOut {
				reasons = append(reasons, left.Column+" "+left.Value+" "+left.Reason)
			}
			return nil
		}, func(jobs.ImportCounts) {})
		im := importMoney(t, s, account, file, spec)
		want := "Designation Fund 102 names a campaign that does not exist, and an import creates at most 100. Create the campaign first, or check whether this column names campaigns"
		if err != nil || tried.Created != 103 || tried.LeftOut != 3 || im.Progress.Created != 103 || im.Progress.LeftOut != 3 || len(reasons) != 3 || reasons[2] != want {
			t.Errorf("%v: the dry run says %+v, the import %+v, and it leaves out %q", err, tried, im.Progress, reasons)
		}
	})
}
