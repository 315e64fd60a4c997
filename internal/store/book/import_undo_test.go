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

const toCampaigns = "amount,date,method,first_name,last_name,email,campaign\n"

// The undo of an import removes the campaigns that it has made, unless a gift of anyone else is for them or a person
// has changed them since: these are listed.
func TestUndoOfAnImportRemovesItsCampaigns(t *testing.T) {
	const file = toCampaigns +
		"5,2026-01-05,cash,Ada,Byron,ada@example.org,Gala\n6,2026-01-06,cash,Ada,Byron,ada@example.org,Winter\n7,2026-01-07,cash,Bo,Li,bo@example.org,Gala\n"
	const more = toCampaigns + "8,2026-01-08,cash,Cy,Fox,cy@example.org,Gala\n"
	for what, meanwhile := range map[string]struct {
		do            func(s *org, gala int64)
		stays, undone bool
	}{
		"nothing": {func(*org, int64) {}, false, true},
		"another import of gifts to it that was undone": {func(s *org, _ int64) {
			finishUndo(s, s.Book, s.Number, importGifts(s, s.Book, s.Number, more).ID)
		}, false, true},
		"a merge of a giver": {func(s *org, _ int64) {
			ada := must(s.ContactNamed(s.Context(), s.Number, "ada@example.org", "US"))(s)
			mergeOf(s, s.Book, s.Number, s.person(`{"first_name":"Adah","last_name":"Byron"}`), ada)
		}, false, true},
		"a gift to it": {func(s *org, gala int64) {
			s.given(fmt.Sprintf(`,"first_name":"Di","last_name":"Ray","campaign_id":%d`, gala))
		}, true, false},
		"a change of it": {func(s *org, gala int64) {
			must(s.UpdateCampaign(s.Context(), s.Account, gala, campaign.Input{Goal: ptr(int64(5000))}))(s)
		}, true, false},
		"its removal by a person": {func(s *org, gala int64) {
			for _, g := range ledgerOf(s, s.Book, s.Number) {
				if g.Campaign == gala {
					s.edit(g.Code, `{"campaign_id":null}`)
				}
			}
			succeed(s, s.DeleteCampaign(s.Context(), s.Account, gala, ""))
		}, false, false},
	} {
		t.Run(what, func(t *testing.T) {
			s := newOrg(t, newBook(t))
			parent := s.Account
			ada := newUser(t, s.Book, parent, access.Owner, "Ada")
			s.Account = must(s.CreateChapter(t.Context(), parent, ada.ID, parent.ID, "Chapter"))(t)
			s.campaignOf("Winter")
			im := importGifts(t, s.Book, s.Number, file)
			gala := must(s.CampaignNamed(t.Context(), s.Number, "Gala"))(t)
			meanwhile.do(s, gala)
			at, kept := finishUndo(t, s.Book, s.Number, im.ID)
			want := map[bool]string{true: "Gala Winter", false: "Winter"}[meanwhile.stays]
			equal(t, titlesOf(t, s.Book, s.Number, campaign.OwnCampaigns), want)
			equal(t, titlesOf(t, s.Book, parent.Number, campaign.ChapterCampaigns), want)
			isKept := slices.ContainsFunc(kept, func(row jobs.JobRow) bool { return row.Kept().Campaign == gala })
			expect(t, "listed, and undone", fmt.Sprint(meanwhile.stays, meanwhile.undone), isKept, at.Campaigns == 1)
			checked(t, s.Book)
			importGifts(t, s.Book, s.Number, file)
			equal(t, titlesOf(t, s.Book, s.Number, campaign.OwnCampaigns), "Gala Winter", "after the import again")
		})
	}
}

// After a merge, the undo of an import takes back the gifts that the merge has moved, as those that it has not. What
// a person gave to another contact stays.
func TestUndoOfAnImportTakesBackGiftsThatAMergeMoved(t *testing.T) {
	for _, many := range []int{3, merges.MovedAtOnce + 20} {
		t.Run(fmt.Sprint(many), func(t *testing.T) {
			s := newOrg(t, newBook(t))
			ada := s.person(`{"first_name":"Ada","last_name":"Byron","emails":[{"value":"ada@example.org"}]}`)
			other := s.person(`{"first_name":"Adah","last_name":"Byron"}`)
			own := s.given(fmt.Sprintf(`,"contact_id":%d`, ada)).Code
			file := "amount,date,method,email,external_id\n"
			for i := range many {
				file += fmt.Sprintf("1000,2026-01-05,cash,ada@example.org,g%d\n", i)
			}
			im := importGifts(t, s.Book, s.Number, file)
			merge := mergeOf(t, s.Book, s.Number, other, ada)
			finishJobs(t, s.Book)
			all := ledgerOf(t, s.Book, s.Number)
			moved := all[slices.IndexFunc(all, func(g giving.Gift) bool { return g.ExternalID == "g1" })].Code
			s.edit(moved, fmt.Sprintf(`{"contact_id":%d}`, s.person(`{"first_name":"Bo"}`)))
			at, kept := finishUndo(t, s.Book, s.Number, im.ID)
			expect(t, "undone, and left alone", fmt.Sprint(many-1, " 1 ", moved), at.Withdrawn, len(kept),
				kept[0].Kept().Gift)
			for _, g := range ledgerOf(t, s.Book, s.Number) {
				equal(t, g.Status != giving.Cancelled, g.Code == own || g.Code == moved, "gift %s stays", g.ExternalID)
			}
			checked(t, s.Book)
			must(s.UndoMerge(t.Context(), s.Number, merge, "US"))(t)
			finishJobs(t, s.Book)
			equal(t, must(s.ContactRecord(t.Context(), s.Number, ada))(t).Stats.TotalContributions, 50)
			checked(t, s.Book)
		})
	}
}

// Two nodes that are at the same rows make a campaign once.
func TestTwoNodesMakeACampaignOnce(t *testing.T) {
	a, b := twoNodes(t)
	account := newAccount(t, a).Number
	im := uploadOf(t, a, account, jobs.ImportGifts, toCampaigns+"5,2026-01-05,cash,Ada,Byron,ada@example.org,Gala\n")
	begin(t, a, im, false)
	var passed atomic.Bool
	b.Now = func() time.Time { // the other node is faster, once this one knows that there is no such campaign
		stack := string(debug.Stack())
		if strings.Contains(stack, "amp") && strings.Contains(stack, ".Make(") && !passed.Swap(true) {
			finishJobs(t, a)
		}
		return time.Now()
	}
	w := jobs.NewJobWorker(b.JobStore)
	workUntil(t, w, passed.Load)
	w.Forget(nil)
	equal(t, titlesOf(t, a, account, campaign.OwnCampaigns), "Gala")
	doneJob(t, a, account, im.ID)
	all := ledgerOf(t, a, account)
	equal(t, store.Collect(all, func(g giving.Gift) int64 { return g.Campaign }),
		[]int64{must(a.CampaignNamed(t.Context(), account, "Gala"))(t)})
}

// TestConcurrentImportIsErased: the undo of an import can erase those whom it has created, by two jobs, however many
// units of work erase them. Contacts that were there before, or were changed since, stay. It ends the custom fields
// that were made for it, where no other contact has a value in them.
func TestConcurrentImportIsErased(t *testing.T) {
	for _, isUsed := range []bool{false, true} {
		t.Run(fmt.Sprint(isUsed), func(t *testing.T) {
			s, account := newBookOf(t)
			fillBefore(t, s, account)
			before := peopleOf(t, s, account)
			file := "First name,Last name,Email,Shoe size,Title\nAna,Ruiz,ana@example.org,,Head\nDan,Wu,dan@example.org,,\n"
			for i := range 120 {
				file += fmt.Sprintf("Quetzalina,Moss %d,,38,\n", i)
			}
			im := upload(t, s, account, file)
			mapping, fields := must2(s.MakeFields(t.Context(), account,
				sheet.Contacts.WithUnknown(im.Spec.Mapping, nil, func(int) []string { return []string{"38"} })))(t)
			equal(t, len(fields), 1)
			must(s.BeginImport(t.Context(), account, im.ID,
				jobs.Choices{Mapping: mapping, Fields: fields, Mode: jobs.MergeExisting}))(t)
			finishJobs(t, s)
			want := "Kept"
			define(t, s, account, want, custom.TextField)
			changed := doc.MakeID(account, 3)
			must(s.UpdateContact(t.Context(), account, changed, input(t, `{"company":"C"}`)))(t)
			if isUsed {
				want = "Shoe size Kept"
				must(s.UpdateContact(t.Context(), account, doc.MakeID(account, 2),
					input(t, fmt.Sprintf(`{"custom_fields":[{"field_id":%d,"value":40}]}`, fields[0]))))(t)
			}
			undo := must(s.UndoJob(t.Context(), account, im.ID, "US", true))(t)
			finishJobs(t, s)
			rows := must(s.JobRows(t.Context(), account, undo.ID, 0, 10))(t)
			expect(t, "changed since", fmt.Sprint("1 ", changed), len(rows), rows[0].Contact)
			for seq := range int64(120) {
				c := recordOf(t, s, account, doc.MakeID(account, 4+seq))
				expect(t, "a contact that was created is", "true false", c.Erased(), c.FirstName == "Quetzalina")
			}
			if !isUsed {
				equal(t, peopleOf(t, s, account)[:2], before, "the contacts that were there before")
			}
			titles := store.Collect(must(s.CustomFields(t.Context(), account))(t).Active(),
				func(f *custom.Field) string { return f.Title })
			equal(t, strings.Join(titles, " "), want)
			// a slow machine makes smaller portions, but a job is never for one person
			notFound(t)(s.Job(t.Context(), account, undo.ID+30))
		})
	}
}

// finishUndo undoes a job unit by unit, each by a node that knows nothing of the one before.
func finishUndo(t testing.TB, s *Book, account, id int64) (at jobs.UndoProgress, kept []jobs.JobRow) {
	t.Helper()
	by := store.By(t.Context(), history.ConsoleChannel, "bob@example.org")
	undo := must(s.UndoJob(by, account, id, "US", false))(t)
	for workRound(t, jobs.NewJobWorker(s.JobStore)) {
	}
	undo = must(s.Job(t.Context(), account, undo.ID))(t)
	succeed(t, json.Unmarshal(undo.Progress, &at))
	equal(t, undo.State, jobs.JobDone)
	kept = must(s.JobRows(t.Context(), account, undo.ID, 0, 100))(t)
	equal(t, int64(len(kept)), at.Kept, "listed")
	return at, kept
}

// What an import has merged is a change since an earlier one, until its undo has come to an end: one that was stopped
// is none.
func TestConcurrentUndoThatWasStoppedKeepsContactsOfEarlierImports(t *testing.T) {
	s, account := newBookOf(t)
	var imports []int64
	for _, company := range []string{"", "Engines Ltd"} {
		file := "First name,Last name,Email,Company\nBob,Babbage,bob@example.org," + company + "\n"
		spec := importOf(openTable(t, file), jobs.MergeExisting)
		imports = append(imports, importAgain(t, s, account, file, spec).ID)
	}
	stopped := must(s.UndoJob(t.Context(), account, imports[1], "US", false))(t)
	must(s.CancelJob(t.Context(), account, stopped.ID))(t)
	_, kept := finishUndo(t, s, account, imports[0])
	expect(t, "left alone", fmt.Sprint("1 ", doc.MakeID(account, 1)), len(kept), kept[0].Contact)
	wantLists(t, s, account, []int64{1}, nil)
	at, kept := finishUndo(t, s, account, stopped.ID)
	expect(t, "the undo that goes on", "1 0", at.Undone, len(kept))
	checked(t, s)
}

// A contact whom someone has changed between two rows of an import was changed since the first of them.
func TestConcurrentContactThatWasChangedDuringAnImportStays(t *testing.T) {
	s, account := newBookOf(t)
	rows := openTable(t,
		"First name,Last name,Email,Company\nAda,Lovelace,ada@example.org,\nBob,Babbage,bob@example.org,\nCleo,Stone,cleo@example.org,\nDan,Wu,dan@example.org,\n"+
			"Eve,Long,eve@example.org,\nFay,Moss,fay@example.org,\nAda,Lovelace,ada@example.org,Engines Ltd\nBob,Babbage,bob@example.org,Engines Ltd\n")
	im, _ := must2(s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 8, false,
		func(p jobs.ImportProgress) {
			if p.Rows == 3 {
				must(s.AddTags(t.Context(), account, doc.MakeID(account, 1), []string{"kept"}))(t)
			}
		}))(t)
	equal(t, im.Progress.Merged, 2, "%v", im.Progress)
	_, kept := finishUndo(t, s, account, im.ID)
	expect(t, "left alone", fmt.Sprint("1 ", doc.MakeID(account, 1)), len(kept), kept[0].Contact)
	wantLists(t, s, account, []int64{1}, []int64{2, 3, 4, 5, 6})
	checked(t, s)
}

// newPlan makes a plan.
func newPlan(t testing.TB, s *Book, account int64, body string) giving.Plan {
	t.Helper()
	in, faults := must2(giving.DecodePlan(doc.NewBody([]byte(body))))(t)
	succeed(t, in.Validate(faults, true, "US", time.Now()))
	return must(s.CreatePlan(t.Context(), account, in))(t).Plan
}
