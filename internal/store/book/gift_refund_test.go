package book

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
)

// TestMoneyBesideAGift: what a company adds in the row of a gift is a gift of the company, and a refund that names no gift is one of the only gift of the payer that fits. The dry run says both before, the file again
// changes nothing, and an undo takes everything back.
func TestMoneyBesideAGift(t *testing.T) {
	const matches = "Donor Name,Email,Employer,Date,Donation Amount,Employer Match,Match Status\n" +
		"Ann Lee,ann@example.org,Globex,2026-01-05,50,50,Paid\nBo Li,bo@example.org,Globex,2026-01-06,20,40,In review\nCy Fox,cy@example.org,,2026-01-07,10,10,Paid\nCy Fox,cy@example.org,Acme,2026-01-08,10,,\n"
	const refunds = "Transaction ID,Payment ID,Date,Amount,Type,Customer Name,Customer Email,Description\n" +
		"x5,p-1111,2026-02-05,-60,Refund,Dee Ray,dee@example.org,\nx6,p-2222,2026-02-06,-15,Refund,,,Refund of charge ch_222222\nx7,p-3333,2026-02-07,-25,Refund,Eli Orr,eli@example.org,\n" +
		"x8,p-4444,2026-02-08,-70,Refund,Dee Ray,dee@example.org,\nx9,p-5555,2026-02-09,-5,Chargeback,Nobody Known,,\nx0,p-6666,2026-02-09,12,Dispute reversal,Dee Ray,dee@example.org,\n" +
		"x1,p-0001,2026-01-05,60,Charge,Dee Ray,dee@example.org,\nch_222222,p-0002,2026-01-06,40,Charge,Fay Hu,fay@example.org,\nx3,p-0003,2026-01-07,25,Charge,Eli Orr,eli@example.org,\nx4,p-0004,2026-01-08,25,Charge,Eli Orr,eli@example.org,\n"
	const later = "Transaction ID,Payment ID,Date,Amount,Type,Customer Name,Customer Email,Description\nx10,p-0002,2026-03-05,-25,Refund,Fay Hu,,\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for _, f := range []struct {
			file     string
			want     jobs.ImportCounts
			counted  map[string]int64
			rejected []string
		}{
			{matches, jobs.ImportCounts{Rows: 4, Created: 4, Contacts: 5, Matches: 3, Anonymous: 1}, map[string]int64{"USD": 50_00 + 50_00 + 20_00 + 10_00 + 10_00 + 10_00}, nil},
			{refunds, jobs.ImportCounts{Rows: 10, Created: 7, Merged: 2, Rejected: 1, Contacts: 4, Waiting: 3}, map[string]int64{"USD": 40_00 - 15_00 + 50_00}, []string{
				"7: The Type field says \"Dispute reversal\", which is unknown: choose what it means, one of gift, pledge, payment, refund, write off, no gift.",
			}},
			{later, jobs.ImportCounts{Rows: 1, Merged: 1}, map[string]int64{"USD": -25_00}, nil},
		} {
			rows := openTable(t, f.file)
			spec := giftImportOf(rows)
			spec.Mapping = sheet.Gifts.Recognize(rows.Header(), nil, lookAt(t, f.file))
			var told []string
			tried := must(s.TryFile(t.Context(), account, rows, spec, func(row jobs.TrialRow) error {
				if row.Outcome == jobs.RowRejected {
					told = append(told, fmt.Sprintf("%d: %s", row.Line, row.Reason))
				}
				return nil
			}, func(jobs.ImportCounts) {}))(t)
			im := importMoney(t, s, account, f.file, spec)
			if im.Progress.ImportCounts != f.want || tried.ImportCounts != f.want || !cmp.Equal(im.Progress.Counted, f.counted) || !cmp.Equal(tried.Counted, f.counted) {
				t.Errorf("the import says %+v %v, the dry run %+v %v, want %+v %v", im.Progress.ImportCounts, im.Progress.Counted, tried.ImportCounts, tried.Counted, f.want, f.counted)
			}
			if diff := cmp.Diff(f.rejected, told); diff != "" {
				t.Errorf("want (-), rejected (+):\n%s", diff)
			}
			if again := importMoney(t, s, account, f.file, spec).Progress; again.Created+again.Merged+again.Matches+again.Contacts != 0 || again.Counted != nil {
				t.Errorf("the same file again gives %+v %v", again.ImportCounts, again.Counted)
			}
			undo(t, s, account, im.ID)
			if again := importMoney(t, s, account, f.file, spec).Progress; !cmp.Equal(again.Counted, f.counted) {
				t.Errorf("after an undo the file gives %+v %v", again.ImportCounts, again.Counted)
			}
		}
		checked(t, s)
	})
}
