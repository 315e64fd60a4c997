package book

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
)

// moneyOfSystems is what a person counts in the files of other systems: whose money has come, and stayed. Amounts are in cents.
var moneyOfSystems = []struct {
	file     string
	counts   jobs.ImportCounts
	counted  map[string]int64 // by currency
	contacts map[string]int64 // what is left of each giver, by email
	raised   map[string]int64 // by campaign
	promised int64
	fees     int64 // of gifts that were received, in USD
	plans    map[string]int
	rejected []string
}{
	{
		file: "givebutter", counts: jobs.ImportCounts{Rows: 9, Created: 9, Contacts: 7}, counted: map[string]int64{"USD": 180_00},
		contacts: map[string]int64{"ana@example.org": 115_00, "cleo@example.org": 25_00, "eve@example.org": 40_00},
		raised:   map[string]int64{"Winter Coat Drive": 165_00}, promised: 60_00, fees: 8_67, plans: map[string]int{"plan_77": 2},
	},
	{
		file: "stripe", counts: jobs.ImportCounts{Rows: 9, Created: 8, Unchanged: 1, Contacts: 8}, counted: map[string]int64{"USD": 145_00, "EUR": 15_00},
		contacts: map[string]int64{"kay@example.org": 25_00, "mia@example.org": 50_00, "pia@example.org": 70_00, "rita@example.org": 15_00},
		fees:     11_22,
	},
	{
		file: "paypal", counts: jobs.ImportCounts{Rows: 9, Created: 5, Merged: 2, Skipped: 2, Contacts: 5}, counted: map[string]int64{"USD": 105_00},
		contacts: map[string]int64{"uma@example.org": 20_00, "tia@example.org": 60_00, "sam@example.org": 25_00},
		promised: 30_00, fees: 6_87, plans: map[string]int{"I-ABC123": 1},
		rejected: []string{"4: The Type field says this row is not a gift.", "8: The Type field says this row is not a gift."},
	},
	{
		file: "civicrm", counts: jobs.ImportCounts{Rows: 9, Created: 9, Contacts: 8}, counted: map[string]int64{"USD": 174_00},
		contacts: map[string]int64{"chidi@example.org": 50_00, "quy@example.org": 24_00, "rae@example.org": 100_00},
		raised:   map[string]int64{"River Fund": 74_00}, promised: 15_00, fees: 6_41, plans: map[string]int{"9": 2},
	},
	{
		file: "salesforce", counts: jobs.ImportCounts{Rows: 6, Created: 6, Contacts: 5}, counted: map[string]int64{"USD": 810_00},
		contacts: map[string]int64{"priya@example.org": 560_00, "wade@example.org": 250_00},
		raised:   map[string]int64{"Spring Appeal": 560_00}, promised: 75_00,
	},
	{
		file: "bloomerang", counts: jobs.ImportCounts{Rows: 8, Created: 8, Contacts: 5}, counted: map[string]int64{"USD": 860_50},
		contacts: map[string]int64{"grace@example.org": 100_00, "hal@example.org": 200_00, "ivy@example.org": 25_00, "ludwig@example.org": 35_50, "jo@example.org": 500_00},
		raised:   map[string]int64{"Annual Giving": 800_00}, promised: 1025_00,
	},
	{
		file: "littlegreenlight", counts: jobs.ImportCounts{Rows: 6, Created: 5, Skipped: 1, Contacts: 4}, counted: map[string]int64{"USD": 300_00},
		contacts: map[string]int64{"ann@example.org": 50_00, "bob@example.org": 100_00, "cal@example.org": 120_00, "dee@example.org": 30_00},
		raised:   map[string]int64{"Roof": 150_00}, promised: 500_00,
		rejected: []string{"7: The Gift Type field says this row is not a gift."},
	},
	{
		file: "donorperfect", counts: jobs.ImportCounts{Rows: 6, Created: 6, Contacts: 4, Waiting: 1}, counted: map[string]int64{"USD": 290_00},
		contacts: map[string]int64{"fred@example.org": 25_00, "gia@example.org": 50_00, "hugo@example.org": 15_00, "iris@example.org": 200_00},
		raised:   map[string]int64{"ANNUAL": 290_00}, promised: 250_00,
	},
	{
		file: "raisersedge", counts: jobs.ImportCounts{Rows: 8, Created: 6, Merged: 2, Contacts: 4}, counted: map[string]int64{"USD": 360_00},
		contacts: map[string]int64{"lea@example.org": 250_00, "mia@example.org": 30_00, "nia@example.org": 80_00},
		raised:   map[string]int64{"Capital": 250_00}, promised: 680_00,
	},
	{
		file: "donorbox", counts: jobs.ImportCounts{Rows: 6, Created: 6, Contacts: 5}, counted: map[string]int64{"USD": 120_00, "EUR": 20_00},
		contacts: map[string]int64{"abe@example.org": 100_00, "dua@example.org": 20_00, "eda@example.org": 20_00},
		raised:   map[string]int64{"Green Fund": 120_00}, fees: 11_04, plans: map[string]int{"sub_1": 2},
	},
}

// lookAt is what the first rows of a file tell about its columns.
func lookAt(t testing.TB, file string) *sheet.Look {
	t.Helper()
	survey := must(jobs.SurveyRows(t.Context(), openTable(t, file)))(t)
	return survey.Look
}

// TestMoneyOfOtherSystems: a file of each system is imported without any mapping by hand, and counts what a person counts. The dry run says so before, and
// the same file again changes nothing.
func TestMoneyOfOtherSystems(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		for _, want := range moneyOfSystems {
			account := newAccount(t, s)
			text := must(os.ReadFile("testdata/money/" + want.file + ".csv"))(t)
			rows := openTable(t, string(text))
			spec := giftImportOf(rows)
			spec.Mapping = sheet.Gifts.Recognize(rows.Header(), nil, lookAt(t, string(text)))
			var told []string
			tried, err := s.TryFile(t.Context(), account.Number, rows, spec, func(row jobs.TrialRow) error {
				if row.Outcome == jobs.RowRejected || row.Outcome == jobs.RowSkipped {
					told = append(told, fmt.Sprintf("%d: %s", row.Line, row.Reason))
				}
				return nil
			}, func(jobs.ImportCounts) {})
			if err != nil || tried.ImportCounts != want.counts || !maps.Equal(tried.Counted, want.counted) || !slices.Equal(told, want.rejected) {
				t.Errorf("%s: %v: the dry run says %+v and\n%s", want.file, err, tried, strings.Join(told, "\n"))
			}
			im := importMoney(t, s, account.Number, string(text), spec)
			if im.Progress.ImportCounts != want.counts || !maps.Equal(im.Progress.Counted, want.counted) {
				t.Errorf("%s: the import says %+v, want %+v and %v", want.file, im.Progress, want.counts, want.counted)
			}
			contacts, plans, promised, fees := map[string]int64{}, map[string]int{}, int64(0), int64(0)
			for _, g := range ledgerOf(t, s, account.Number) {
				if g.Net() != 0 {
					contacts[g.Giver.Email] += g.Net()
				}
				if g.Status == giving.Pending {
					promised += g.Payment().Amount
				}
				if g.Status == giving.Succeeded && !g.Test && g.Currency == "USD" {
					fees += g.Payment().Fee
				}
				if g.PlanCode != "" {
					p := must(s.Plan(t.Context(), account.Number, g.PlanCode))(t)
					plans[p.ExternalID]++
				}
			}
			if diff := cmp.Diff(want.contacts, contacts); diff != "" || !maps.Equal(plans, want.plans) || promised != want.promised || fees != want.fees {
				t.Errorf("%s: promised are %d, fees %d, plans %v, and of contacts\n%s", want.file, promised, fees, plans, diff)
			}
			for title, raised := range want.raised {
				id, err := s.CampaignNamed(t.Context(), account.Number, title)
				if err != nil {
					t.Fatal(want.file, err)
				}
				if c, err := s.Campaign(t.Context(), account.Number, id); err != nil || c.Campaign.Raised() != raised {
					t.Errorf("%s: %v: %s has raised %d, want %d", want.file, err, title, c.Campaign.Raised(), raised)
				}
			}
			again := importMoney(t, s, account.Number, string(text), spec).Progress
			if kept := want.counts.Rows - want.counts.Rejected - want.counts.Skipped; again.Unchanged != kept || again.Created+again.Merged+again.Contacts != 0 || len(again.Counted) != 0 {
				t.Errorf("%s: the second import says %+v", want.file, again)
			}
		}
		checked(t, s)
	})
}

// TestConcurrentRefundsThatStandBeforeTheirGifts: an import that stops between any two units records the same as one without interruption, although refunds are
// recorded after all gifts of the file. An undo takes all of it back, plans included, and the file can be imported again.
func TestConcurrentRefundsThatStandBeforeTheirGifts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		text, err := os.ReadFile("testdata/money/paypal.csv")
		if err != nil {
			t.Fatal(err)
		}
		spec := giftImportOf(openTable(t, string(text)))
		var im jobs.Import
		for starts := 1; im.State != jobs.JobDone; starts++ {
			ctx, stop := context.WithCancel(t.Context())
			im, _, err = s.ImportFile(ctx, account, openTable(t, string(text)), spec, 9, true, func(jobs.ImportProgress) { stop() })
			stop()
			if err != nil && !errors.Is(err, context.Canceled) || starts > 9 {
				t.Fatal(starts, err)
			}
		}
		want := jobs.ImportCounts{Rows: 9, Created: 5, Merged: 2, Skipped: 2, Contacts: 5}
		if im.ID != 1 || im.Progress.ImportCounts != want || im.Progress.Counted["USD"] != 105_00 {
			t.Errorf("import %d says %+v", im.ID, im.Progress)
		}
		if at, kept := finishUndo(t, s, account, im.ID); at.Withdrawn != 5 || len(kept) != 0 {
			t.Errorf("undone were %+v, and %v stay", at, kept)
		}
		if left := countedOf(t, s, account); len(left) != 0 {
			t.Errorf("after the undo there is %q", left)
		}
		if again := importMoney(t, s, account, string(text), spec).Progress; again.Created != 5 || again.Merged != 2 || again.Counted["USD"] != 105_00 {
			t.Errorf("the second import says %+v", again)
		}
		checked(t, s)
	})
}

// TestACampaignIsMadeWhereThatIsWanted: a campaign that does not exist is made, and where a person does not want that, its gifts have none.
func TestACampaignIsMadeWhereThatIsWanted(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		succeed(t, s.SetCurrency(t.Context(), account, "EUR"))
		const file = "Gift ID,Amount,Date,Designation,Email,First Name,Last Name\n1,50,2026-01-05,Roof,ada@example.org,Ada,Byron\n2,30,2026-01-06,roof,ada@example.org,Ada,Byron\n"
		spec := giftImportOf(openTable(t, file))
		tried, err := s.TryFile(t.Context(), account, openTable(t, file), spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
		if err != nil || len(tried.Unknown) != 1 || tried.Unknown[0].Value != "Roof" {
			t.Errorf("the dry run asks about %+v, %v", tried.Unknown, err)
		}
		if im := importMoney(t, s, account, file, spec); im.Progress.Created != 2 || im.Progress.Counted["EUR"] != 80_00 {
			t.Errorf("the import says %+v", im.Progress)
		}
		other := newAccount(t, s).Number
		spec.Mode = jobs.LeaveCampaigns
		if im := importMoney(t, s, other, file, spec); im.Progress.Created != 2 || im.Progress.LeftOut != 2 || ledgerOf(t, s, other)[0].Campaign != 0 {
			t.Errorf("without a wish for campaigns the import says %+v", im.Progress)
		}
		id := must(s.CampaignNamed(t.Context(), account, "Roof"))(t)
		if c, err := s.Campaign(t.Context(), account, id); err != nil || c.Campaign.Raised() != 80_00 || c.Campaign.Currency != "EUR" || c.Campaign.Status != "draft" {
			t.Errorf("the campaign is %+v, %v", c.Campaign, err)
		}
		checked(t, s)
	})
}

func importMoney(t *testing.T, s *Book, account int64, file string, spec jobs.FileImport) jobs.Import {
	t.Helper()
	im, _, err := s.ImportFile(t.Context(), account, openTable(t, file), spec, 0, true, func(jobs.ImportProgress) {})
	if err != nil || im.State != jobs.JobDone {
		t.Fatal(im.State, err)
	}
	return im
}

// TestConcurrentFilesTellWhatBecameOfGifts: the same payment in another description is known. A later file that says it was paid, refunded, has failed or is disputed
// changes the gift, once. An undo takes back what its import has told, and the file can be imported again.
func TestConcurrentFilesTellWhatBecameOfGifts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		const header = "Transaction ID,Amount,Date,Status,Amount Refunded,Refund Date,Original Transaction ID,Email,First Name,Last Name,Note\n"
		const first = header + "t1,50,2026-01-05,Paid,,,,ada@example.org,Ada,Byron,\nt2,40,2026-01-06,Pending,,,,ada@example.org,Ada,Byron,\n" +
			"t3,30,2026-01-07,Paid,,,,bob@example.org,Bob,Babbage,\nt4,20,2026-01-08,Paid,,,,bob@example.org,Bob,Babbage,\nt5,60,2026-01-09,Paid,,,,cy@example.org,Cy,Dodd,\n"
		const later = header + "t1,50,2026-01-06,Paid,,,,ada@example.org,A.,Byron-King,Other words\nt2,40,2026-02-06,Paid,,,,ada@example.org,Ada,Byron,\n" +
			"t3,30,2026-01-07,Paid,10,2026-02-01,,bob@example.org,Bob,Babbage,\nt4,20,2026-01-08,Returned,,,,bob@example.org,Bob,Babbage,\n" +
			"r5,-25,2026-02-03,Completed,,,t5,cy@example.org,Cy,Dodd,\nr6,-5,2026-02-04,Completed,,,t5,cy@example.org,Cy,Dodd,\nr9,-5,2026-02-03,Completed,,,t9,cy@example.org,Cy,Dodd,\nt1,51,2026-01-05,Paid,,,,ada@example.org,Ada,Byron,\n"
		spec := giftImportOf(openTable(t, first))
		if im := importMoney(t, s, account, first, spec); im.Progress.Counted["USD"] != 160_00 || im.Progress.Created != 5 {
			t.Fatalf("the first file says %+v", im.Progress)
		}
		want := jobs.ImportCounts{Rows: 8, Created: 1, Waiting: 1, Merged: 5, Unchanged: 1, Rejected: 1}
		var told jobs.Import
		for i, counted := range []int64{-20_00, 0, -20_00} {
			wanted := want
			if i == 1 { // again: nothing new
				wanted.Created, wanted.Waiting, wanted.Merged, wanted.Unchanged = 0, 0, 0, 7
			}
			tried, err := s.TryFile(t.Context(), account, openTable(t, later), spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
			if err != nil || tried.ImportCounts != wanted || tried.Counted["USD"] != counted {
				t.Errorf("%d: the dry run says %+v, %v", i, tried, err)
			}
			im := importMoney(t, s, account, later, spec)
			if im.Progress.ImportCounts != wanted || im.Progress.Counted["USD"] != counted {
				t.Errorf("%d: the import says %+v", i, im.Progress)
			}
			if i == 0 {
				told = im
			}
			if i != 1 {
				continue
			}
			at, kept := finishUndo(t, s, account, told.ID)
			if at.Restored != 5 || at.Withdrawn != 1 || len(kept) != 0 {
				t.Errorf("undone were %+v, and %d stay", at, len(kept))
			}
		}
		wantLeft(t, s, account, map[string]int64{"t1": 50_00, "t2": 40_00, "t3": 20_00, "t4": 0, "t5": 30_00, "r9": 0, "": 0})
		checked(t, s)
	})
}

// wantLeft compares what counts of each gift, by external id.
func wantLeft(t *testing.T, s *Book, account int64, want map[string]int64) {
	t.Helper()
	left := map[string]int64{}
	for _, g := range ledgerOf(t, s, account) {
		left[g.ExternalID] = g.Net()
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
}

// TestAPaymentStandsBeforeItsPledge: what is left of a pledge is the same in whatever order a file lists its rows, and a payment counts when it comes.
func TestAPaymentStandsBeforeItsPledge(t *testing.T) {
	const header = "Gift ID,Amount,Date,Type,Gift Status,Pledge ID,Email,First Name,Last Name\n"
	rows := []string{
		"1,100,2026-01-05,Pledge,,1,ada@example.org,Ada,Byron\n", "2,30,2026-02-05,Pledge payment,Paid,1,ada@example.org,Ada,Byron\n",
		"3,20,2026-03-05,Pledge payment,Pending,1,ada@example.org,Ada,Byron\n", "4,50,2026-01-06,Pledge,,,bob@example.org,Bob,Babbage\n",
		"5,50,2026-02-06,Pledge payment,Paid,4,bob@example.org,Bob,Babbage\n",
	}
	eachEngine(t, func(t *testing.T, s *Book) {
		for range 2 {
			account := newAccount(t, s).Number
			file := header + strings.Join(rows, "")
			spec := giftImportOf(openTable(t, file))
			if im := importMoney(t, s, account, file, spec); im.Progress.Created != 4 || im.Progress.Skipped != 1 || im.Progress.Counted["USD"] != 80_00 {
				t.Errorf("the import says %+v", im.Progress)
			}
			wantPledges(t, s, account, map[string]int64{"1": 70_00}) // the installment that is to come is a part of it
			paid := strings.ReplaceAll(file, "Pending", "Paid")
			for range 2 { // again: nothing new
				importMoney(t, s, account, paid, spec)
				wantPledges(t, s, account, map[string]int64{"1": 50_00})
			}
			slices.Reverse(rows)
		}
		checked(t, s)
	})
}

// TestPledgesAreKeptAndGivenUp: a payment may come in a file before that of its pledge, a write-off gives up a pledge or a part of it, and the same files again change nothing. An undone file leaves
// no trace.
func TestPledgesAreKeptAndGivenUp(t *testing.T) {
	const header, ada = "Gift ID,Amount,Date,Type,Pledge ID,Email,First Name,Last Name\n", ",ada@example.org,Ada,Byron\n"
	const payments = header + "p1,30,2026-02-05,Pledge payment,1" + ada + "p2,20,2026-02-06,Pledge payment,1" + ada
	const pledges = header + "w2,15,2026-03-01,Write-off,2" + ada + "1,100,2026-01-05,Pledge," + ada + "2,40,2026-01-05,Pledge," + ada + "3,70,2026-01-05,Pledge," + ada
	const given = header + "w3,70,2026-03-02,Write off,3" + ada + "w1,10,2026-03-02,Write off,1" + ada + "w9,10,2026-03-02,Write off,9" + ada
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for i, step := range []struct {
			file string
			want jobs.ImportCounts
			left map[string]int64
		}{
			{payments, jobs.ImportCounts{Rows: 2, Created: 2, Contacts: 1}, map[string]int64{}},
			{pledges, jobs.ImportCounts{Rows: 4, Created: 3, Merged: 1}, map[string]int64{"1": 50_00, "2": 25_00, "3": 70_00}},
			{given, jobs.ImportCounts{Rows: 3, Created: 1, Merged: 2}, map[string]int64{"1": 40_00, "2": 25_00}},
			{pledges, jobs.ImportCounts{Rows: 4, Unchanged: 4}, map[string]int64{"1": 40_00, "2": 25_00}},
			{given, jobs.ImportCounts{Rows: 3, Unchanged: 3}, map[string]int64{"1": 40_00, "2": 25_00}},
		} {
			tried, _ := imported(t, s, account, step.file, true)
			im := importMoney(t, s, account, step.file, giftImportOf(openTable(t, step.file)))
			if im.Progress.ImportCounts != step.want || tried != step.want {
				t.Errorf("file %d: the import says %+v, the dry run %+v, want %+v", i, im.Progress.ImportCounts, tried, step.want)
			}
			wantPledges(t, s, account, step.left)
		}
		finishUndo(t, s, account, 3)
		wantPledges(t, s, account, map[string]int64{"1": 50_00, "2": 25_00, "3": 70_00})
		checked(t, s)
	})
}

// wantPledges compares what is promised, by external id.
func wantPledges(t *testing.T, s *Book, account int64, want map[string]int64) {
	t.Helper()
	promised := map[string]int64{}
	for _, g := range ledgerOf(t, s, account) {
		if g.Status == giving.Pending {
			promised[g.ExternalID] = g.Left()
		}
	}
	if diff := cmp.Diff(want, promised); diff != "" {
		t.Error(diff)
	}
}

// TestADisputeIsWon: the money counts again when a later file says so, but for what was refunded all the same. A file of before the dispute changes nothing,
// nor does any file change what a person has done about the money.
func TestADisputeIsWon(t *testing.T) {
	const header = "id,Created (UTC),Amount,Amount Refunded,Status,Disputed Amount,Dispute Status,Customer Email,Card Name\n"
	const before = header + "ch_1,2026-01-05,50,0,Paid,0,,ada@example.org,Ada Byron\nch_2,2026-01-06,40,10,Paid,0,,ada@example.org,Ada Byron\n"
	const during = header + "ch_1,2026-01-05,50,0,Paid,50,needs_response,ada@example.org,Ada Byron\nch_2,2026-01-06,40,10,Paid,30,needs_response,ada@example.org,Ada Byron\n" +
		"ch_3,2026-01-07,20,5,Paid,15,needs_response,bob@example.org,Bob Babbage\nch_4,2026-01-08,60,0,Paid,60,needs_response,bob@example.org,Bob Babbage\n"
	won := strings.ReplaceAll(during, "needs_response", "won")
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		spec := giftImportOf(openTable(t, during))
		for i, step := range []struct {
			file    string
			counted int64
		}{
			{before, 80_00}, {during, -80_00}, {before, 0}, {during, 0}, {won, 50_00 + 30_00 + 15_00}, {won, 0}, {during, 0}, {before, 0},
		} {
			if i == 4 { // a person knows more: half of it came, and a part of that went back
				for _, g := range ledgerOf(t, s, account) {
					if half, part := int64(30_0000), int64(10_0000); g.ExternalID == "ch_4" {
						_, undoErr := s.UndoRefund(t.Context(), account, g.Code, &half, "")
						if _, err := s.RefundGift(t.Context(), account, g.Code, &part, ""); errors.Join(undoErr, err) != nil {
							t.Fatal(undoErr, err)
						}
					}
				}
			}
			tried, err := s.TryFile(t.Context(), account, openTable(t, step.file), spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
			im := importMoney(t, s, account, step.file, spec)
			if err != nil || tried.Counted["USD"] != step.counted || im.Progress.Counted["USD"] != step.counted || im.Progress.Rejected != 0 {
				t.Errorf("%d: %v: the dry run says %+v, the import %+v", i, err, tried, im.Progress)
			}
		}
		wantLeft(t, s, account, map[string]int64{"ch_1": 50_00, "ch_2": 30_00, "ch_3": 15_00, "ch_4": 20_00})
		checked(t, s)
	})
}
