package book

import (
	"testing"

	"donorbook/internal/store/jobs"
)

// TestAnUndoOfPaymentsRaisesAPledgeThatCameLater: what the payments have made of a pledge of a later file is promised again, whether it was paid in full or in part.
func TestAnUndoOfPaymentsRaisesAPledgeThatCameLater(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		for promised, left := range map[string]float64{"100": 0, "130": 30} {
			account := newAccount(t, s)
			run := func(file string) jobs.Import {
				rows := openTable(t, file)
				im, _ := must2(s.ImportFile(t.Context(), account.Number, rows, giftImportOf(rows), 0, true, func(jobs.ImportProgress) {}))(t)
				return im
			}
			pending := func() (sum float64) {
				for _, record := range recordsOf(t, s, account) {
					if record["status"] == "pending" {
						sum += record["amount"].(float64)
					}
				}
				return sum
			}
			payments := run("Gift ID,Pledge ID,Name,Email,Date,Amount,Type\nG1,P1,Ana Ruiz,ana@example.org,2026-01-05,60,Pledge payment\nG2,P1,Ana Ruiz,ana@example.org,2026-02-05,40,Pledge payment\n")
			run("Gift ID,Name,Email,Date,Amount,Type\nP1,Ana Ruiz,ana@example.org,2026-01-01," + promised + ",Pledge\n")
			if got := pending(); got != left {
				t.Errorf("of %s, %v is promised after the payments, want %v", promised, got, left)
			}
			undo(t, s, account.Number, payments.ID)
			if got, want := pending(), left+100; got != want {
				t.Errorf("of %s, %v is promised after the undo, want %v", promised, got, want)
			}
		}
		checked(t, s)
	})
}

// TestPaymentsOfAnotherSystemLeaveAPledgeAlone: two systems count their pledges from one, and a payment is of the pledge of its own giver.
func TestPaymentsOfAnotherSystemLeaveAPledgeAlone(t *testing.T) {
	const header = "Gift ID,Pledge ID,Name,Email,Date,Amount,Type\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		run := func(file string) jobs.Import {
			rows := openTable(t, file)
			im, _ := must2(s.ImportFile(t.Context(), account.Number, rows, giftImportOf(rows), 0, true, func(jobs.ImportProgress) {}))(t)
			return im
		}
		wantPledge := func(after string, want float64) {
			t.Helper()
			for _, record := range recordsOf(t, s, account) {
				if record["external_id"] == "1" && (record["status"] != "pending" || record["amount"] != want) {
					t.Errorf("after %s, the pledge is %v of %v, want %v", after, record["status"], record["amount"], want)
				}
			}
		}
		run(header + "1,,Ana Ruiz,ana@example.org,2026-01-01,100,Pledge\n")
		run(header + "G1,1,Ana Ruiz,ana@example.org,2026-01-05,30,Pledge payment\n")
		wantPledge("a payment of Ana", 70)
		others := run(header + "G2,1,Bob Fir,bob@example.org,2026-01-06,50,Pledge payment\n")
		wantPledge("a payment of Bob", 70)
		run(header + "G3,1,Bob Fir,bob@example.org,2026-01-07,20,Write-off\n")
		wantPledge("a write-off of Bob", 70)
		undo(t, s, account.Number, others.ID)
		wantPledge("the undo of the payment of Bob", 70)
		checked(t, s)
	})
}
