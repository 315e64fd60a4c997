package book

import (
	"encoding/json"
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
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/sheet"
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
				equal(t, (at.Campaigns == 1), what != "its removal by a person" && !isLeft,
					"the undo says %+v", at)
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
			return must(store.Snapshot(t.Context(), s.Store,
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

// TestConcurrentImportIsErased: the undo of an import can erase those whom it has created, and ends the custom fields
// that were made for it. Contacts that were there before, or were changed since, stay.
func TestConcurrentImportIsErased(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillBefore(t, s, account)
		before := peopleOf(t, s, account)
		im := upload(t, s, account, "First name,Last name,Email,Shoe size,Title\nAna,Ruiz,ana@example.org,,Head\nQuetzalina,Moss,q@example.org,38,\nDan,Wu,dan@example.org,,\n")
		mapping, fields, err := s.MakeFields(t.Context(), account,
			sheet.Contacts.WithUnknown(im.Spec.Mapping, nil, func(int) []string { return []string{"38"} }))
		if err != nil || len(fields) != 1 {
			t.Fatal(fields, err)
		}
		must(s.BeginImport(t.Context(), account, im.ID,
			jobs.Choices{Mapping: mapping, Fields: fields, Mode: jobs.MergeExisting}))(t)
		finishJobs(t, s)
		must(s.DefineField(t.Context(), account, custom.FieldInput{Title: "Kept", Type: custom.TextField}))(t)
		must(s.UpdateContact(t.Context(), account, doc.MakeID(account, 4), input(t, `{"company":"C"}`)))(t)
		undo := must(s.UndoJob(t.Context(), account, im.ID, "US", true))(t)
		finishJobs(t, s)
		rows, err := s.JobRows(t.Context(), account, undo.ID, 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Contact != doc.MakeID(account, 4) {
			t.Errorf("%v: changed since: %+v", err, rows)
		}
		c := recordOf(t, s, account, doc.MakeID(account, 3))
		expect(t, "the contact that was created is", "true false", c.Erased(), c.FirstName == "Quetzalina")
		if after := peopleOf(t, s, account); after[0] != before[0] || after[1] != before[1] {
			t.Errorf("the contacts that were there before are %q, want %q", after[:2], before)
		}
		left, err := s.CustomFields(t.Context(), account)
		if err != nil || len(left.Active()) != 1 || left.Active()[0].Title != "Kept" {
			t.Errorf("%v: %d custom fields are left", err, len(left.Active()))
		}
	})
}

// TestFieldThatOthersUseStays: a custom field that was made for an import does not end with it where another contact
// has a value in it. A hundred and twenty people are erased by two jobs, however many units of work erase them.
func TestFieldThatOthersUseStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		other := create(t, s, account, `{"first_name":"Old","last_name":"Friend"}`)
		file := "First name,Last name,Shoe size\n"
		for i := range 120 {
			file += fmt.Sprintf("Quetzalina,Moss %d,38\n", i)
		}
		im := upload(t, s, account, file)
		mapping, fields := must2(s.MakeFields(t.Context(), account,
			sheet.Contacts.WithUnknown(im.Spec.Mapping, nil, func(int) []string { return []string{"38"} })))(t)
		must(s.BeginImport(t.Context(), account, im.ID,
			jobs.Choices{Mapping: mapping, Fields: fields, Mode: jobs.MergeExisting}))(t)
		finishJobs(t, s)
		must(s.UpdateContact(t.Context(), account, other.ID,
			input(t, fmt.Sprintf(`{"custom_fields":[{"field_id":%d,"value":40}]}`, fields[0]))))(t)
		undo := must(s.UndoJob(t.Context(), account, im.ID, "US", true))(t)
		finishJobs(t, s)
		expect(t, "custom fields are left", "1", len(must(s.CustomFields(t.Context(), account))(t).Active()))
		last := recordOf(t, s, account, doc.MakeID(account, 121))
		expect(t, "the last one is erased", "true", last.Erased())
		// a slow machine makes smaller portions, but a job is never for one person
		if next, err := s.Job(t.Context(), account, undo.ID+30); err == nil {
			t.Errorf("thirty jobs erase 120 people: %+v", next)
		}
	})
}

// finishUndo undoes a job unit by unit, each by a node that knows nothing of the one before.
func finishUndo(t testing.TB, s *Book, account, id int64) (at jobs.UndoProgress, kept []jobs.JobRow) {
	t.Helper()
	undo, err := s.UndoJob(store.By(t.Context(), history.ConsoleChannel, "bob@example.org"), account, id, "US", false)
	if err != nil {
		t.Fatal(err)
	}
	for busy := true; busy; {
		if busy, err = jobs.NewJobWorker(s.JobStore).Round(t.Context(), func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
	}
	if undo, err = s.Job(t.Context(), account, undo.ID); err == nil {
		err = json.Unmarshal(undo.Progress, &at)
	}
	succeed(t, err)
	equal(t, undo.State, jobs.JobDone)
	if kept, err = s.JobRows(t.Context(), account, undo.ID, 0, 100); err != nil || int64(len(kept)) != at.Kept {
		t.Errorf("%v: %d are listed, and %d were left alone", err, len(kept), at.Kept)
	}
	return at, kept
}

// What an import has merged is a change since an earlier one, until its undo has come to an end: one that was stopped
// is none.
func TestConcurrentUndoThatWasStoppedKeepsContactsOfEarlierImports(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		var imports []int64
		for _, company := range []string{"", "Engines Ltd"} {
			rows := openTable(t, "First name,Last name,Email,Company\nBob,Babbage,bob@example.org,"+company+"\n")
			im, _ := must2(s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 1, true,
				func(jobs.ImportProgress) {}))(t)
			imports = append(imports, im.ID)
		}
		stopped, err := s.UndoJob(t.Context(), account, imports[1], "US", false)
		if err == nil {
			_, err = s.CancelJob(t.Context(), account, stopped.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, kept := finishUndo(t, s, account, imports[0]); len(kept) != 1 ||
			kept[0].Contact != doc.MakeID(account, 1) {
			t.Errorf("left alone: %+v", kept)
		}
		wantLists(t, s, account, []int64{1}, nil)
		if at, kept := finishUndo(t, s, account, stopped.ID); at.Undone != 1 || len(kept) != 0 {
			t.Errorf("the undo that goes on: %+v, left alone: %+v", at, kept)
		}
		checked(t, s)
	})
}

// A contact whom someone has changed between two rows of an import was changed since the first of them.
func TestConcurrentContactThatWasChangedDuringAnImportStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		rows := openTable(t, "First name,Last name,Email,Company\nAda,Lovelace,ada@example.org,\nBob,Babbage,bob@example.org,\nCleo,Stone,cleo@example.org,\nDan,Wu,dan@example.org,\n"+
			"Eve,Long,eve@example.org,\nFay,Moss,fay@example.org,\nAda,Lovelace,ada@example.org,Engines Ltd\nBob,Babbage,bob@example.org,Engines Ltd\n")
		im, _, err := s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 8, false,
			func(p jobs.ImportProgress) {
				if p.Rows == 3 {
					must(s.AddTags(t.Context(), account, doc.MakeID(account, 1), []string{"kept"}))(t)
				}
			})
		succeed(t, err)
		equal(t, im.Progress.Merged, 2, "%v", im.Progress)
		_, kept := finishUndo(t, s, account, im.ID)
		if len(kept) != 1 || kept[0].Contact != doc.MakeID(account, 1) {
			t.Errorf("left alone: %+v", kept)
		}
		wantLists(t, s, account, []int64{1}, []int64{2, 3, 4, 5, 6})
		checked(t, s)
	})
}

// newPlan makes a plan.
func newPlan(t testing.TB, s *Book, account int64, body string) giving.Plan {
	t.Helper()
	in, faults, err := giving.DecodePlan(doc.NewBody([]byte(body)))
	if err == nil {
		err = in.Validate(faults, true, "US", time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	made := must(s.CreatePlan(t.Context(), account, in))(t)
	return made.Plan
}
