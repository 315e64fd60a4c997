package book

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/store/jobs"
)

// TestARefundWaitsForItsGift: a refund that comes before its gift is recorded so that nothing counts. When the gift comes in a later file, it has the refund, whatever the refund calls it and however many there are; both files again
// add nothing, and each undo restores what was there.
func TestARefundWaitsForItsGift(t *testing.T) {
	refunds := toldHeader + toldRow("re_1", "-80", "", "", "t1") + toldRow("re_2", "-20", "", "", "t2") + toldRow("re_3", "-30", "", "", "t2") + toldRow("t3", "-50", "", "", "")
	gifts := toldHeader + toldRow("t1", "80", "Paid", "", "") + toldRow("t2", "100", "Paid", "", "") + toldRow("t3", "50", "Refunded", "", "") + toldRow("t4", "7", "Paid", "", "")
	eachEngine(t, func(t *testing.T, s *Book) {
		owner := newAccount(t, s)
		account := owner.Number
		run := func(file string, want jobs.ImportCounts, counted int64) jobs.Import {
			t.Helper()
			spec := giftImportOf(openTable(t, file))
			tried, err := s.TryFile(t.Context(), account, openTable(t, file), spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
			im := importMoney(t, s, account, file, spec)
			if got := im.Progress; err != nil || tried.ImportCounts != want || got.ImportCounts != want || tried.Counted["USD"] != counted || got.Counted["USD"] != counted {
				t.Errorf("the preview says %+v %v, the import %+v %v, want %+v %d", tried.ImportCounts, tried.Counted, got.ImportCounts, got.Counted, want, counted)
			}
			return im
		}
		ledger := func(wait, stand int, donated float64) {
			t.Helper()
			for _, g := range ledgerOf(t, s, account) {
				if g.Waits() {
					wait--
				} else if g.Status == "succeeded" {
					stand, donated = stand-1, donated-float64(g.Net())/100
				}
			}
			if wait != 0 || stand != 0 || donated != 0 {
				t.Errorf("%d fewer wait, %d fewer gifts stand, %v less was given", wait, stand, donated)
			}
		}
		empty := recordsOf(t, s, owner)
		early := run(refunds, jobs.ImportCounts{Rows: 4, Created: 4, Contacts: 1, Waiting: 4}, 0)
		ledger(4, 0, 0)
		run(refunds, jobs.ImportCounts{Rows: 4, Unchanged: 4}, 0)
		before := recordsOf(t, s, owner)
		later := run(gifts, jobs.ImportCounts{Rows: 4, Created: 4}, 57_00)
		ledger(0, 4, 57)
		run(gifts, jobs.ImportCounts{Rows: 4, Unchanged: 4}, 0)
		run(refunds, jobs.ImportCounts{Rows: 4, Unchanged: 4}, 0)
		checked(t, s)
		undo(t, s, account, later.ID)
		ledger(4, 0, 0)
		after := recordsOf(t, s, owner)
		for id, record := range after {
			if before[id] == nil && record["status"] == "cancelled" {
				delete(after, id)
			}
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("before (-), after the undo (+):\n%s", diff)
		}
		again := run(gifts, jobs.ImportCounts{Rows: 4, Created: 4}, 57_00)
		undo(t, s, account, again.ID)
		undo(t, s, account, early.ID)
		ledger(0, 0, 0)
		for id, record := range recordsOf(t, s, owner) {
			if empty[id] == nil && record["status"] != "cancelled" && record["archived_at"] == nil {
				t.Errorf("%s is left: %v", id, record)
			}
		}
		checked(t, s)
	})
}

// TestARefundThatNamesNoGiftFindsItLater: it waits while no gift fits, or several do. The file of refunds again, after the gift has come, gives that one back.
func TestARefundThatNamesNoGiftFindsItLater(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		refund := toldHeader + "re_1,-30,2026-02-05,,,,,ada@example.org,Ada,Byron\n"
		for i, step := range []struct {
			file                      string
			counted, waiting, created int64
		}{{refund, 0, 1, 1}, {toldHeader + toldRow("t1", "30", "Paid", "", ""), 30_00, 0, 1}, {refund, -30_00, 0, 0}, {refund, 0, 0, 0}} {
			im := importMoney(t, s, account, step.file, giftImportOf(openTable(t, step.file))).Progress
			if im.Counted["USD"] != step.counted || im.Waiting != step.waiting || im.Created != step.created || im.Rejected != 0 {
				t.Errorf("step %d: %+v %v", i, im.ImportCounts, im.Counted)
			}
		}
		checked(t, s)
	})
}
