package book

import (
	"slices"
	"testing"

	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
)

// TestTwoFilesOfOneSystemInAnyOrder: the payments of a processor and what moved its balance are the same gifts, whichever file comes first: the second has under another heading what the first has called them.
func TestTwoFilesOfOneSystemInAnyOrder(t *testing.T) {
	payments := "id,Created (UTC),Amount,Amount Refunded,Currency,Status,Customer Email,Card Name,PaymentIntent ID\n" +
		"ch_3PkLm8Qa1,2026-06-01 14:02:11,50.00,0.00,usd,Paid,mona@example.org,Mona Field,pi_3PkLm8Q1\n" +
		"ch_3PkLm8Qb2,2026-06-02 09:12:00,120.00,120.00,usd,Refunded,nils@example.org,Nils Berg,pi_3PkLm8Q2\n"
	balance := "balance_transaction_id,Created (UTC),Currency,Gross,Fee,Net,Reporting Category,Source,Customer Email,Customer Name\n" +
		"txn_1PkLm8a1,2026-06-01 14:02,usd,50.00,1.75,48.25,charge,ch_3PkLm8Qa1,mona@example.org,Mona Field\n" +
		"txn_1PkLm8b2,2026-06-02 09:12,usd,120.00,3.78,116.22,charge,ch_3PkLm8Qb2,nils@example.org,Nils Berg\n" +
		"txn_1PkLm8r2,2026-06-03 09:12,usd,-120.00,0.00,-120.00,refund,re_3PkLm8Qb2,nils@example.org,Nils Berg\n" +
		"txn_1PkLm8p6,2026-06-08 00:00,usd,-48.25,0.00,-48.25,payout,po_1PkLm8,,\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		for _, files := range [][]string{{payments, balance}, {balance, payments}} {
			account := newAccount(t, s).Number
			var done [2]jobs.ImportCounts
			for i, file := range files {
				spec := giftImportOf(openTable(t, file))
				spec.Mapping = sheet.Gifts.Recognize(openTable(t, file).Header(), nil, lookAt(t, file))
				done[i] = importMoney(t, s, account, file, spec).Progress.ImportCounts
			}
			first, second := done[0], done[1]
			if first.Created != 2 || second.Created+second.Rejected != 0 {
				t.Errorf("the first file makes %+v, the second %+v", first, second)
			}
			left := int64(0)
			for _, g := range ledgerOf(t, s, account) {
				left += g.Net()
			}
			if left != 50_00 {
				t.Errorf("%d cents are left, want 5000", left)
			}
		}
		checked(t, s)
	})
}

// TestAPaymentFindsTheOnlyPledge: a payment of a pledge that its file does not name reduces the donor's only open pledge. Of two, no one can tell which, unless one is for the campaign of the payment.
func TestAPaymentFindsTheOnlyPledge(t *testing.T) {
	const header = "Donor Name,Email,Gift Type,Gift Date,Gift Amount,Campaign,Gift Id\n"
	const payment = "Roy Quill,roy@example.org,Pledge Payment,6/3/2026,50.00,Annual,3\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		for pledges, want := range map[string][]int64{
			"Roy Quill,roy@example.org,Pledge,6/2/2026,600.00,Annual,1\n":                                                          {550_00},
			"Roy Quill,roy@example.org,Pledge,6/2/2026,600.00,Annual,1\nRoy Quill,roy@example.org,Pledge,6/2/2026,90.00,Roof,2\n":  {550_00, 90_00},
			"Roy Quill,roy@example.org,Pledge,6/2/2026,600.00,Roof,1\nRoy Quill,roy@example.org,Pledge,6/2/2026,90.00,Roof,2\n":    {600_00, 90_00},
			"Roy Quill,roy@example.org,Pledge,6/2/2026,40.00,Annual,1\nAda Byron,ada@example.org,Pledge,6/2/2026,90.00,Annual,2\n": {40_00, 90_00},
			"Roy Quill,roy@example.org,Gift,6/2/2026,600.00,Annual,1\nRoy Quill,roy@example.org,Pledge,6/20/2026,90.00,Annual,2\n": {90_00},
			"Roy Quill,roy@example.org,Pledge,6/2/2026,50.00,Annual,1\n":                                                           nil,
		} {
			account := newAccount(t, s).Number
			imported(t, s, account, header+payment+pledges, false)
			again, _ := imported(t, s, account, header+payment+pledges, false)
			var open []int64
			for _, g := range ledgerOf(t, s, account) {
				if g.Status == giving.Pending {
					open = append(open, g.Payment().Amount)
				}
			}
			slices.Sort(open)
			slices.Sort(want)
			if !slices.Equal(open, want) || again.Unchanged != again.Rows {
				t.Errorf("%s: %v are open, want %v; again: %+v", pledges, open, want, again)
			}
		}
		checked(t, s)
	})
}
