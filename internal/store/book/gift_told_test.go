package book

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store/jobs"
)

// toldFile is one of the files that tell of the same money, one after the other.
type toldFile struct {
	rows     string // columns by toldHeader
	counted  int64  // cents that it adds, by the dry run and by the import
	rejected int64
}

const toldHeader = "Transaction ID,Amount,Date,Status,Amount Refunded,Original Transaction ID,Currency,Email,First Name,Last Name\n"

// toldRow is a row of Ada's.
func toldRow(id, amount, status, refunded, original string) string {
	return fmt.Sprintf("%s,%s,2026-01-05,%s,%s,%s,,ada@example.org,Ada,Byron\n", id, amount, status, refunded, original)
}

// TestARefundIsTakenOffOnce: however often, and in whatever way, files and people tell of it.
func TestARefundIsTakenOffOnce(t *testing.T) {
	paid, halfBack := toldRow("t1", "100", "Paid", "", ""), toldRow("t1", "100", "Paid", "50", "")
	cases := map[string][]toldFile{
		"a column and a row with the same id":     {{halfBack + toldRow("t1", "-50", "", "", ""), 50_00, 0}},
		"the row stands first":                    {{toldRow("t1", "-50", "", "", "") + halfBack, 50_00, 0}},
		"a column, then a row in another file":    {{halfBack, 50_00, 0}, {toldRow("re_1", "-50", "", "", "t1"), 0, 0}},
		"a column, then two rows":                 {{halfBack, 50_00, 0}, {toldRow("re_1", "-20", "", "", "t1") + toldRow("re_2", "-30", "", "", "t1"), 0, 0}},
		"a row, then a column":                    {{paid + toldRow("re_1", "-50", "", "", "t1"), 50_00, 0}, {halfBack, 0, 0}},
		"a second refund of the same amount":      {{halfBack, 50_00, 0}, {toldRow("re_1", "-50", "", "", "t1"), 0, 0}, {toldRow("re_2", "-50", "", "", "t1"), -50_00, 0}},
		"both in one file":                        {{halfBack, 50_00, 0}, {toldRow("re_1", "-50", "", "", "t1") + toldRow("re_2", "-50", "", "", "t1"), -50_00, 0}},
		"more refunds than money":                 {{paid + toldRow("re_1", "-60", "", "", "t1") + toldRow("re_2", "-60", "", "", "t1") + toldRow("re_3", "-41", "", "", "t1"), 40_00, 2}},
		"a refund that failed, of a refunded one": {{toldRow("t1", "100", "Refunded", "", "") + toldRow("re_1", "-100", "Failed", "", "t1"), 0, 0}},
		"a dispute, then its row":                 {{toldRow("t1", "100", "Disputed", "", ""), 0, 0}, {toldRow("re_1", "-100", "", "", "t1"), 0, 0}},
		"another currency":                        {{paid, 100_00, 0}, {"re_1,-50,2026-01-06,,,t1,EUR,ada@example.org,Ada,Byron\n", 0, 1}},
		"pending, then paid, in one file":         {{toldRow("t1", "100", "Pending", "", "") + paid, 100_00, 0}},
		"paid, then refunded, in one file":        {{paid + toldRow("t1", "100", "Refunded", "", ""), 0, 0}},
		"two amounts in one file":                 {{paid + toldRow("t1", "101", "Paid", "", ""), 100_00, 1}},
	}
	eachEngine(t, func(t *testing.T, s *Book) {
		for name, files := range cases {
			account := newAccount(t, s).Number
			for again := range int64(2) { // the second time, nothing is new
				for i, f := range files {
					file := toldHeader + f.rows
					spec := giftImportOf(openTable(t, file))
					tried, err := s.TryFile(t.Context(), account, openTable(t, file), spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
					im := importMoney(t, s, account, file, spec).Progress
					if counted := f.counted * (1 - again); err != nil || tried.Counted["USD"] != counted || im.Counted["USD"] != counted || tried.Rejected != f.rejected || im.Rejected != f.rejected {
						t.Errorf("%s: file %d, %d before: %v: the dry run says %+v\nthe import %+v\nwant %d", name, i, again, err, tried, im, counted)
					}
				}
			}
		}
		checked(t, s)
	})
}

// TestARefundByHandIsKnownInAFile: what a person has entered before the file came is not entered again, even if it was undone since.
func TestARefundByHandIsKnownInAFile(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		file := toldHeader + toldRow("t1", "100", "Paid", "", "") + toldRow("t2", "100", "Paid", "", "")
		spec := giftImportOf(openTable(t, file))
		importMoney(t, s, account, file, spec)
		half := int64(50_0000)
		for _, g := range ledgerOf(t, s, account) {
			_, err := s.RefundGift(t.Context(), account, g.Code, &half, "")
			if err == nil && g.ExternalID == "t2" {
				_, err = s.UndoRefund(t.Context(), account, g.Code, nil, "")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		refunds := toldHeader + toldRow("re_1", "-50", "", "", "t1") + toldRow("re_2", "-50", "", "", "t2")
		if im := importMoney(t, s, account, refunds, spec); im.Progress.Unchanged != 2 {
			t.Errorf("the import says %+v", im.Progress)
		}
		wantLeft(t, s, account, map[string]int64{"t1": 50_00, "t2": 100_00})
		for _, g := range ledgerOf(t, s, account) {
			changes, _, err := s.Timeline(t.Context(), account, history.GiftNoun, g.ID, crm.PageRequest{Page: 1, PerPage: 9})
			if want := map[string]int{"t1": 2, "t2": 3}[g.ExternalID]; err != nil || len(changes) != want {
				t.Errorf("%v: the history of %s tells %+v", err, g.ExternalID, changes)
			}
		}
		checked(t, s)
	})
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
	if !slices.Equal(order, []string{"re_2", "t1", "re_1"}) {
		t.Errorf("rows come as %q", order)
	}
}

// TestAnIDOfAnotherGiver: two systems may have the same id for the gifts of two people.
func TestAnIDOfAnotherGiver(t *testing.T) {
	const header = "Gift ID,Amount,Date,Email,First Name,Last Name,Company\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		const first = header + "1,50,2026-01-05,ada@example.org,Ada,Byron,\n"
		spec := giftImportOf(openTable(t, first))
		importMoney(t, s, account, first, spec)
		var said []string
		for row, known := range map[string]bool{
			"1,50,2026-01-07,ada@example.org,Augusta,King,": true, "1,50,2026-01-07,new@example.org,Ada,Byron,": true, "1,50,2026-01-07,ADA@example.org,,,": true,
			"1,50,2026-01-07,bob@example.org,Bob,King,": false, "1,50,2026-01-07,,Bob,King,": false, "1,50,2026-01-07,bob@example.org,,,": false,
		} {
			file := header + row + "\n"
			im, tried := imported(t, s, account, file, false)
			if known != (im.Unchanged == 1) || known != (im.Rejected == 0) {
				t.Errorf("%s: %+v", row, im)
			}
			said = append(said, tried...)
		}
		slices.Sort(said)
		if want := "2: The Gift ID field belongs to gift CODE, which is from a different donor."; !slices.Equal(slices.Compact(said), []string{want}) {
			t.Errorf("rejected were\n%s", strings.Join(said, "\n"))
		}
		wantLeft(t, s, account, map[string]int64{"1": 50_00})
	})
}

// TestConcurrentWhatAnImportHasToldIsUndone: gifts that were there are as they were before, and the file can be imported again.
func TestConcurrentWhatAnImportHasToldIsUndone(t *testing.T) {
	const header = "Gift ID,Amount,Date,Type,Gift Status,Amount Refunded,Dispute Status,Refund of,Pledge ID,Email,First Name,Last Name\n"
	const ada = ",ada@example.org,Ada,Byron\n"
	const first = header + "1,100,2026-01-05,Gift,Paid,,,," + ada + "2,100,2026-01-05,Pledge,,,,," + ada + "3,40,2026-03-05,Pledge,,,,," + ada +
		"4,30,2026-01-05,Gift,Pending,,,," + ada + "5,20,2026-01-05,Gift,Paid,,needs_response,," + ada + "6,10,2026-01-05,Gift,Pending,,,," + ada
	const later = header + "r1,-40,2026-02-05,Refund,,,,1," + ada + "r2,-20,2026-02-06,Refund,,,,1," + ada +
		"p1,40,2026-02-05,Pledge payment,Paid,,,,2" + ada + "p2,25,2026-02-06,Pledge payment,Paid,,,,2" + ada + "p3,40,2026-02-06,Pledge payment,Paid,,,,3" + ada +
		"4,30,2026-02-08,Gift,Paid,10,,," + ada + "5,20,2026-01-05,Gift,Paid,,won,," + ada + "6,10,2026-01-05,Gift,Failed,,,," + ada
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		spec := giftImportOf(openTable(t, first))
		importMoney(t, s, account, first, spec)
		before, people := countedOf(t, s, account), peopleOf(t, s, account)
		for range 2 {
			im := importMoney(t, s, account, later, spec)
			if im.Progress.Rejected != 0 || im.Progress.Counted["USD"] != -60_00+40_00+25_00+40_00+20_00+20_00 {
				t.Errorf("the import says %+v", im.Progress)
			}
			wantPledges(t, s, account, map[string]int64{"2": 35_00})
			at, kept := finishUndo(t, s, account, im.ID)
			if at.Withdrawn != 3 || at.Restored != 8 || len(kept) != 0 {
				t.Errorf("undone were %+v, and %+v stay", at, kept)
			}
			wantPledges(t, s, account, map[string]int64{"2": 100_00, "3": 40_00, "4": 30_00, "6": 10_00})
			if after := countedOf(t, s, account); !slices.Equal(before, after) {
				t.Errorf("there was %q\nand is %q", before, after)
			}
			if after := peopleOf(t, s, account); !slices.Equal(people, after) {
				t.Errorf("there were %q\nand are %q", people, after)
			}
			for _, g := range ledgerOf(t, s, account) {
				if g.ExternalID == "3" && (g.Note != "" || g.At.Format("2006-01-02") != "2026-03-05") || g.Status == giving.Pending && !g.Payment().CapturedAt.IsZero() {
					t.Errorf("a promise became %+v", g)
				}
			}
		}
		checked(t, s)
	})
}

// TestAPledgeAndItsPaymentWithoutIDs: they differ only in the type, and may stand in any order in the next file.
func TestAPledgeAndItsPaymentWithoutIDs(t *testing.T) {
	const header, pledge, payment = "Amount,Date,Type,Email,First Name,Last Name\n", "50,2026-01-05,Pledge,ada@example.org,Ada,Byron\n", "50,2026-01-05,Pledge payment,ada@example.org,Ada,Byron\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for i, file := range []string{header + pledge + payment, header + payment + pledge} {
			im := importMoney(t, s, account, file, giftImportOf(openTable(t, file)))
			if want := int64(50_00 * (1 - i)); im.Progress.Counted["USD"] != want {
				t.Errorf("%d: the import says %+v", i, im.Progress)
			}
		}
	})
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
