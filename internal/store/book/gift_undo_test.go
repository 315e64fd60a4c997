package book

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

// countedOf is everything that is worked out from the gifts of an account, but for gifts that count nowhere.
func countedOf(t testing.TB, s *Book, account int64) (all []string) {
	t.Helper()
	cells := must(store.List(t.Context(), s.Base, gifts.ScanCell, gifts.SQLGivingBetween, account, "", "~"))(t)
	for _, c := range cells {
		if c.Entries = 0; c.Sums != (giving.Sums{}) {
			all = append(all, fmt.Sprintf("%s %+v", c.Name, c.Sums))
		}
	}
	for _, g := range ledgerOf(t, s, account) {
		if g.Status != giving.Cancelled {
			all = append(all, fmt.Sprint(g.Code, g.Status, g.ExternalID))
		}
	}
	return all
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
	if err != nil || undo.State != jobs.JobDone {
		t.Fatal(undo.State, err)
	}
	if kept, err = s.JobRows(t.Context(), account, undo.ID, 0, 100); err != nil || int64(len(kept)) != at.Kept {
		t.Errorf("%v: %d are listed, and %d were left alone", err, len(kept), at.Kept)
	}
	return at, kept
}

// An import of gifts that is undone leaves everything as it was but for gifts that count nowhere and contacts in the archive. The same file
// can be imported again.
func TestConcurrentImportOfGiftsIsUndone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s), newAccount(t, s)
		title := "Winter Coats"
		campaign := must(s.CreateCampaign(t.Context(), account, campaign.Input{Title: &title}))(t)
		ada := create(t, s, account.Number, `{"first_name":"Ada","last_name":"Lovelace","emails":[{"value":"ada@example.org"}]}`)
		plan := newPlan(t, s, account.Number, fmt.Sprintf(`{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","start_at":"2026-01-31"}`, ada.ID))
		for _, body := range []string{
			fmt.Sprintf(`{"amount":7,"method":"cash","transacted_at":"2025-05-05","contact_id":%d}`, ada.ID),
			fmt.Sprintf(`{"amount":8,"method":"cash","transacted_at":"2026-01-02","contact_id":%d,"campaign_id":%d}`, ada.ID, campaign.ID),
		} {
			must(s.CreateGift(t.Context(), account.Number, giftInput(t, body, true, time.Now())))(t)
		}
		file := "amount,date,method,first_name,last_name,email,phone,campaign,external_id,plan_id\n" +
			"50,2026-02-05,check,,,ada@example.org,617-555-0100,Winter Coats,a1,\n10,2026-01-31,card,,,ada@example.org,,,a2," + plan.Code + "\n" +
			"10,2026-02-28,card,,,ada@example.org,,,a3," + plan.Code + "\n20,2024-02-06,cash,Bob,Babbage,bob@example.org,,Winter Coats,,\n" +
			"20,2024-02-06,cash,Bob,Babbage,bob@example.org,,Winter Coats,,\n5,2026-02-06,cash,Cleo,Stone,cleo@example.org,,,,\nx,2026-02-06,cash,,,ada@example.org,,,,\n"
		imported(t, s, other.Number, "amount,date,method,first_name,last_name,email\n5,2026-02-06,cash,Cleo,Stone,cleo@example.org\n", false)
		counted, people, theirs := countedOf(t, s, account.Number), peopleOf(t, s, account.Number), countedOf(t, s, other.Number)
		for round := range int64(2) {
			rows := openTable(t, file)
			im, _, err := s.ImportFile(t.Context(), account.Number, rows, giftImportOf(rows), 7, true, func(jobs.ImportProgress) {})
			if want := (jobs.ImportCounts{Rows: 7, Created: 6, Rejected: 1, Contacts: 2}); err != nil || im.Progress.ImportCounts != want {
				t.Fatalf("round %d: %v: imported %+v", round, err, im.Progress)
			}
			at, kept := finishUndo(t, s, account.Number, im.ID)
			if at.Withdrawn != 6 || len(kept) != 0 {
				t.Errorf("round %d: undone %+v, left alone %+v", round, at, kept)
			}
			if diff := cmp.Diff(counted, countedOf(t, s, account.Number)); diff != "" {
				t.Errorf("round %d: before the import (-) and after it was undone (+):\n%s", round, diff)
			}
			after := peopleOf(t, s, account.Number)
			if diff := cmp.Diff(people, after[:1]); diff != "" {
				t.Errorf("round %d: contacts before the import (-) and after it was undone (+):\n%s", round, diff)
			}
			if now, err := s.Plan(t.Context(), account.Number, plan.Code); err != nil || !now.NextBill.Equal(plan.NextBill) {
				t.Errorf("round %d: %v: the plan waits for %s, and did for %s", round, err, now.NextBill, plan.NextBill)
			}
			checkGiving(t, s, account, []int64{ada.ID})
			checked(t, s)
		}
		wantLists(t, s, account.Number, []int64{1}, []int64{2, 3, 4, 5})
		if diff := cmp.Diff(theirs, countedOf(t, s, other.Number)); diff != "" {
			t.Errorf("gifts of another account (-) became (+):\n%s", diff)
		}
		wantWithdrawn(t, s, account.Number)
	})
}

// wantWithdrawn looks at the history of gifts that were withdrawn.
func wantWithdrawn(t *testing.T, s *Book, account int64) {
	t.Helper()
	n := 0
	for _, g := range ledgerOf(t, s, account) {
		if g.Status != giving.Cancelled {
			continue
		}
		n++
		changes, _, err := s.Timeline(t.Context(), account, history.GiftNoun, g.ID, crm.PageRequest{Page: 1, PerPage: 9})
		if err != nil || g.ExternalID != "" || len(changes) != 2 || changes[0].Who != "bob@example.org" {
			t.Errorf("%v: gift %+v has the history %+v", err, g, changes)
		}
	}
	if n != 12 {
		t.Errorf("%d gifts were withdrawn", n)
	}
}

// What was changed since stays as it is, and is listed.
func TestConcurrentGiftsThatWereChangedSinceStay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		lines := "amount,date,method,first_name,last_name,email\n"
		for i := range 7 {
			lines += fmt.Sprintf("%d,2026-02-06,cash,P%d,Q,p%d@example.org\n", 10+i, i, i)
		}
		rows := openTable(t, lines)
		im, _, err := s.ImportFile(t.Context(), account.Number, rows, giftImportOf(rows), 7, true, func(jobs.ImportProgress) {})
		if err != nil || im.Progress.Created != 7 {
			t.Fatalf("%v: %+v", err, im.Progress)
		}
		found := ledgerOf(t, s, account.Number)
		slices.SortFunc(found, func(a, b giving.Gift) int { return int(a.ID - b.ID) })
		ctx, number := t.Context(), account.Number
		contact := func(i int) int64 { return found[i].Contact }
		_, err0 := s.RefundGift(ctx, number, found[0].Code, nil, "")                                                                                                               // the gift and the contact
		_, err1 := s.UpdateGift(ctx, number, found[1].Code, giftInput(t, `{"note":"x"}`, false, time.Now()))                                                                       // the gift, which the contact still gives
		_, err2 := s.AddTags(ctx, number, contact(2), []string{"kept"})                                                                                                            // the contact
		_, err3 := s.CreateGift(ctx, number, giftInput(t, fmt.Sprintf(`{"amount":1,"method":"cash","transacted_at":"2026-03-01","contact_id":%d}`, contact(3)), true, time.Now())) // the contact
		newPlan(t, s, number, fmt.Sprintf(`{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","start_at":"2026-01-31"}`, contact(4)))                              // the contact
		_, err5 := s.UpdateGift(ctx, number, found[5].Code, giftInput(t, fmt.Sprintf(`{"contact_id":%d}`, contact(3)), false, time.Now()))                                         // the gift, and the contact who gave it
		merged, err6 := s.Merge(ctx, number, contact(2), crm.MergeInput{Contact: contact(6)}, "US")                                                                                // nothing: it is undone
		succeed(t, errors.Join(err0, err1, err2, err3, err5, err6))
		must(s.UndoMerge(ctx, number, merged.Merge, "US"))(t)
		at, kept := finishUndo(t, s, number, im.ID)
		var got []string
		for _, row := range kept {
			got = append(got, fmt.Sprintf("%s: contact %d, gift %s", row.Outcome, doc.IDSeq(row.Contact), row.Kept().Gift))
		}
		var want []string
		for i := range 6 {
			want = append(want, fmt.Sprintf("changed since: contact %d, gift ", i+1))
		}
		for i, contact := range []int64{1, 2, 4} {
			want = append(want, fmt.Sprintf("changed since: contact %d, gift %s", contact, found[[]int{0, 1, 5}[i]].Code))
		}
		if diff := cmp.Diff(want, got); diff != "" || at.Withdrawn != 4 {
			t.Errorf("%+v; left alone should be (-), and is (+):\n%s", at, diff)
		}
		wantLists(t, s, number, []int64{1, 2, 3, 4, 5, 6}, []int64{7})
		checkGiving(t, s, account, nil)
		checked(t, s)
	})
}

// A contact of an import who gives now stays, and is listed: a gift or a plan of someone in the archive would be lost from sight.
func TestConcurrentContactWhoGivesSinceAnImportStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		rows := openTable(t, "First name,Last name,Email,Company\nAda,Lovelace,ada@example.org,\nBob,Babbage,bob@example.org,\nCleo,Stone,cleo@example.org,\nDan,Wu,dan@example.org,\n"+
			"Dan,Wu,dan@example.org,Engines Ltd\n")
		im, _, err := s.ImportFile(t.Context(), account.Number, rows, importOf(rows, jobs.MergeExisting), 5, false, func(jobs.ImportProgress) {})
		if err != nil || im.Progress.Created != 4 {
			t.Fatalf("%v: %+v", err, im.Progress)
		}
		id := func(seq int64) int64 { return doc.MakeID(account.Number, seq) }
		gift := giftInput(t, fmt.Sprintf(`{"amount":1,"method":"cash","transacted_at":"2026-03-01","contact_id":%d}`, id(1)), true, time.Now())
		must(s.CreateGift(t.Context(), account.Number, gift))(t)
		for _, seq := range []int64{2, 4} {
			newPlan(t, s, account.Number, fmt.Sprintf(`{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","start_at":"2026-01-31"}`, id(seq)))
		}
		_, kept := finishUndo(t, s, account.Number, im.ID)
		var left []int64
		for _, row := range kept {
			if row.Outcome == jobs.ChangedSince {
				left = append(left, doc.IDSeq(row.Contact))
			}
		}
		if !slices.Equal(left, []int64{1, 2, 4}) {
			t.Errorf("left alone: %+v", kept)
		}
		wantLists(t, s, account.Number, []int64{1, 2, 4}, []int64{3})
		checked(t, s)
	})
}

// Two imports that are undone, the later one first, leave nothing behind: what the first undo has taken back is no change since.
func TestConcurrentImportsAreUndoneOneAfterTheOther(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		create(t, s, account, `{"first_name":"Ada","last_name":"Lovelace","emails":[{"value":"ada@example.org"}]}`)
		before := peopleOf(t, s, account)
		people := openTable(t, "First name,Last name,Email,Company\nAda,Lovelace,ada@example.org,Engines Ltd\nBob,Babbage,bob@example.org,\nCleo,Stone,cleo@example.org,\n")
		first, _ := must2(s.ImportFile(t.Context(), account, people, importOf(people, jobs.MergeExisting), 3, false, func(jobs.ImportProgress) {}))(t)
		gifts := openTable(t, "amount,date,method,email,phone\n10,2026-02-06,cash,ada@example.org,617-555-0100\n20,2026-02-06,cash,bob@example.org,617-555-0101\n")
		second, _, err := s.ImportFile(t.Context(), account, gifts, giftImportOf(gifts), 2, true, func(jobs.ImportProgress) {})
		if err != nil || second.Progress.Created != 2 {
			t.Fatalf("%v: %+v", err, second.Progress)
		}
		for _, job := range []int64{second.ID, first.ID} {
			if _, kept := finishUndo(t, s, account, job); len(kept) != 0 {
				t.Errorf("the undo of %d has left alone %+v", job, kept)
			}
		}
		if diff := cmp.Diff(before, peopleOf(t, s, account)[:1]); diff != "" {
			t.Errorf("before the imports (-) and after they were undone (+):\n%s", diff)
		}
		wantLists(t, s, account, []int64{1}, []int64{2, 3})
		checked(t, s)
	})
}

// What an import has merged is a change since an earlier one, until its undo has come to an end: one that was stopped is none.
func TestConcurrentUndoThatWasStoppedKeepsContactsOfEarlierImports(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		var imports []int64
		for _, company := range []string{"", "Engines Ltd"} {
			rows := openTable(t, "First name,Last name,Email,Company\nBob,Babbage,bob@example.org,"+company+"\n")
			im, _ := must2(s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 1, true, func(jobs.ImportProgress) {}))(t)
			imports = append(imports, im.ID)
		}
		stopped, err := s.UndoJob(t.Context(), account, imports[1], "US", false)
		if err == nil {
			_, err = s.CancelJob(t.Context(), account, stopped.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, kept := finishUndo(t, s, account, imports[0]); len(kept) != 1 || kept[0].Contact != doc.MakeID(account, 1) {
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
		im, _, err := s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 8, false, func(p jobs.ImportProgress) {
			if p.Rows == 3 {
				if _, err := s.AddTags(t.Context(), account, doc.MakeID(account, 1), []string{"kept"}); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil || im.Progress.Merged != 2 {
			t.Fatalf("%v: %+v", err, im.Progress)
		}
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
