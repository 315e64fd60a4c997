package book

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
)

// titlesOf are the titles of campaigns that an account lists, in their order.
func titlesOf(t testing.TB, s *Book, account int64, scope campaign.Scope) string {
	t.Helper()
	all, _ := must2(s.CampaignPage(t.Context(), account, scope, crm.PageRequest{Page: 1, PerPage: 100}))(t)
	titles := store.Collect(all, func(c campaign.Campaign) string { return c.Title })
	slices.Sort(titles)
	return strings.Join(titles, " ")
}

func campaignTitled(t testing.TB, s *Book, account int64, title string) int64 {
	t.Helper()
	id := must(s.CampaignNamed(t.Context(), account, title))(t)
	return id
}

const toCampaigns = "amount,date,method,first_name,last_name,email,campaign\n"

// The undo of an import removes the campaigns that it has made, unless a gift of anyone else is for them or a person
// has changed them since: these are listed.
func TestUndoOfAnImportRemovesItsCampaigns(t *testing.T) {
	const file = toCampaigns + "5,2026-01-05,cash,Ada,Byron,ada@example.org,Gala\n6,2026-01-06,cash,Ada,Byron,ada@example.org,Winter\n7,2026-01-07,cash,Bo,Li,bo@example.org,Gala\n"
	const more = toCampaigns + "8,2026-01-08,cash,Cy,Fox,cy@example.org,Gala\n"
	for what, meanwhile := range map[string]struct {
		do   func(t *testing.T, s *Book, account access.Account, gala int64)
		left string
	}{
		"nothing": {func(*testing.T, *Book, access.Account, int64) {}, "Winter"},
		"another import of gifts to it that was undone": {func(t *testing.T, s *Book, account access.Account, _ int64) {
			finishUndo(t, s, account.Number, importGifts(t, s, account.Number, more).ID)
		}, "Winter"},
		"a merge of a giver": {func(t *testing.T, s *Book, account access.Account, _ int64) {
			ada := must(s.ContactNamed(t.Context(), account.Number, "ada@example.org", "US"))(t)
			mergeOf(t, s, account.Number, create(t, s, account.Number,
				`{"first_name":"Adah","last_name":"Byron"}`).ID, ada)
		}, "Winter"},
		"a gift to it": {func(t *testing.T, s *Book, account access.Account, gala int64) {
			giveNow(t, s, account.Number, fmt.Sprintf(`,"first_name":"Di","last_name":"Ray","campaign_id":%d`, gala))
		}, "Gala Winter"},
		"a change of it": {func(t *testing.T, s *Book, account access.Account, gala int64) {
			goal := int64(5000)
			must(s.UpdateCampaign(t.Context(), account, gala, campaign.Input{Goal: &goal}))(t)
		}, "Gala Winter"},
		"its removal by a person": {func(t *testing.T, s *Book, account access.Account, gala int64) {
			for _, g := range ledgerOf(t, s, account.Number) {
				if g.Campaign != gala {
					continue
				}
				must(s.UpdateGift(t.Context(), account.Number, g.Code,
					giftInput(t, `{"campaign_id":null}`, false, time.Now())))(t)
			}
			succeed(t, s.DeleteCampaign(t.Context(), account, gala, ""))
		}, "Winter"},
	} {
		t.Run(what, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *Book) {
				parent := newAccount(t, s)
				account := must(s.CreateChapter(t.Context(), parent, newUser(t, s, parent, access.Owner, "Ada").ID,
					parent.ID, "Chapter"))(t)
				winter := "Winter"
				must(s.CreateCampaign(t.Context(), account, campaign.Input{Title: &winter}))(t)
				im := importGifts(t, s, account.Number, file)
				gala := campaignTitled(t, s, account.Number, "Gala")
				meanwhile.do(t, s, account, gala)
				at, kept := finishUndo(t, s, account.Number, im.ID)
				expect(t, "the campaigns are", "true",
					titlesOf(t, s, account.Number, campaign.OwnCampaigns) == meanwhile.left)
				expect(t, "the parent lists", "true",
					titlesOf(t, s, parent.Number, campaign.ChapterCampaigns) == meanwhile.left)
				isLeft := strings.Contains(meanwhile.left, "Gala")
				expect(t, "that the campaign stays is listed", "true",
					slices.ContainsFunc(kept, func(row jobs.JobRow) bool { return row.Kept().Campaign == gala }) == isLeft)
				if removed := what != "its removal by a person" && !isLeft; (at.Campaigns == 1) != removed {
					t.Errorf("the undo says %+v", at)
				}
				checked(t, s)
				importGifts(t, s, account.Number, file)
				expect(t, "after the import again the campaigns are", "Gala Winter",
					titlesOf(t, s, account.Number, campaign.OwnCampaigns))
			})
		})
	}
}

// After a merge, the undo of an import takes back the gifts that the merge has moved, as those that it has not. What
// a person gave to another contact stays.
func TestUndoOfAnImportTakesBackGiftsThatAMergeMoved(t *testing.T) {
	for _, many := range []int{3, merges.MovedAtOnce + 20} {
		t.Run(fmt.Sprint(many), func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *Book) {
				account := newAccount(t, s).Number
				ada := create(t, s, account, `{"first_name":"Ada","last_name":"Byron","emails":[{"value":"ada@example.org"}]}`).ID
				other := create(t, s, account, `{"first_name":"Adah","last_name":"Byron"}`).ID
				own := giveNow(t, s, account, fmt.Sprintf(`,"contact_id":%d`, ada)).Code
				var file strings.Builder
				file.WriteString("amount,date,method,email,external_id\n")
				for i := range many {
					fmt.Fprintf(&file, "1000,2026-01-05,cash,ada@example.org,g%d\n", i)
				}
				im := importGifts(t, s, account, file.String())
				merge := mergeOf(t, s, account, other, ada)
				finishJobs(t, s)
				bo := create(t, s, account, `{"first_name":"Bo"}`).ID
				var moved string
				for _, g := range ledgerOf(t, s, account) {
					if g.ExternalID == "g1" {
						moved = g.Code
						must(s.UpdateGift(t.Context(), account, g.Code,
							giftInput(t, fmt.Sprintf(`{"contact_id":%d}`, bo), false, time.Now())))(t)
					}
				}
				at, kept := finishUndo(t, s, account, im.ID)
				if at.Withdrawn != int64(many-1) || len(kept) != 1 || kept[0].Kept().Gift != moved {
					t.Errorf("undone %+v, left alone %+v", at, kept)
				}
				for _, g := range ledgerOf(t, s, account) {
					if stays := g.Code == own || g.Code == moved; stays == (g.Status == giving.Cancelled) {
						t.Errorf("gift %s of %d is %s", g.ExternalID, g.Payment().Amount, g.Status)
					}
				}
				checked(t, s)
				must(s.UndoMerge(t.Context(), account, merge, "US"))(t)
				finishJobs(t, s)
				expect(t, "after the merge was undone, Ada has given", "50",
					must(s.ContactRecord(t.Context(), account, ada))(t).Stats.TotalContributions)
				checked(t, s)
			})
		})
	}
}

// What an undo has yet to take back is not forgotten, however old it is: the undo does all that it says.
func TestAnUndoKeepsTheHistoryThatItNeeds(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		clock := stopClock(s)
		account := newAccount(t, s).Number
		const many = 2*jobs.FirstUnit + 20
		var file strings.Builder
		file.WriteString("First,Last\n")
		for i := range many {
			fmt.Fprintf(&file, "P%d,Q\n", i)
		}
		rows := openTable(t, file.String())
		im, _ := must2(s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 0, false,
			func(jobs.ImportProgress) {}))(t)
		undo := must(s.UndoJob(store.By(t.Context(), history.ConsoleChannel, "bob@example.org"), account, im.ID, "US",
			false))(t)
		step(t, s, 1)
		days := "30"
		succeed(t, s.SetAccountSettings(t.Context(), account, access.AccountSettingsInput{HistoryDays: &days}))
		clock.move(31 * 24 * time.Hour)
		succeed(t, s.SweepHistory(t.Context()))
		finishJobs(t, s)
		doneJob(t, s, account, undo.ID)
		read := func() store.Tally {
			return must(store.Snapshot(t.Context(), s.Base,
				func(c db.Conn) (store.Tally, error) { return store.ReadTally(c, account) }))(t)
		}
		expect(t, "contacts that were imported and are still there", "0", read().ContactActive)
		clock.move(time.Hour)
		succeed(t, s.SweepHistory(t.Context()))
		expect(t, "the history that the undo has held back stays", "false", read().Oldest <= im.Last)
	})
}

// Two nodes that are at the same rows make a campaign once.
func TestTwoNodesMakeACampaignOnce(t *testing.T) {
	const file = toCampaigns + "5,2026-01-05,cash,Ada,Byron,ada@example.org,Gala\n"
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a).Number
		im := must(a.UploadImport(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account,
			jobs.ImportGifts, "gifts.csv", "US", strings.NewReader(file)))(t)
		begin(t, a, im, false)
		var passed atomic.Bool
		b.Now = func() time.Time { // the other node is faster, once this one knows that there is no such campaign
			if strings.Contains(string(debug.Stack()), "amp") && strings.Contains(string(debug.Stack()), ".Make(") &&
				!passed.Swap(true) {
				finishJobs(t, a)
			}
			return time.Now()
		}
		w := jobs.NewJobWorker(b.JobStore)
		for !passed.Load() {
			busy := must(w.Round(t.Context(), func(err error) { t.Error(err) }))(t)
			if !busy && !passed.Load() {
				<-w.Ready
			}
		}
		w.Forget(nil)
		expect(t, "the campaigns are", "Gala", titlesOf(t, a, account, campaign.OwnCampaigns))
		doneJob(t, a, account, im.ID)
		if all := ledgerOf(t, a, account); len(all) != 1 || all[0].Campaign != campaignTitled(t, a, account, "Gala") {
			t.Errorf("the gifts are %+v", all)
		}
	})
}
