package book

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

const typedTwice = "Typed twice"

func voidGift(t *testing.T, s *Book, account int64, code string) gifts.GiftDocument {
	t.Helper()
	made := must(s.VoidGift(store.By(t.Context(), history.ConsoleChannel, "Dana Harper"), account, code, typedTwice,
		""))(t)
	return made
}

func undoVoid(t *testing.T, s *Book, account int64, code string) {
	t.Helper()
	must(s.UndoVoid(t.Context(), account, code, ""))(t)
}

// listedBy are the gifts that lists show with a filter, in each order, for people and for programs.
func listedBy(t *testing.T, s *Book, account int64, f giving.GiftFilter) (codes []string) {
	t.Helper()
	page := crm.PageRequest{Page: 1, PerPage: 100}
	records, totals, err := s.GiftPage(t.Context(), account, f, page)
	for i := range records {
		codes = append(codes, records[i].Code)
	}
	slices.Sort(codes)
	succeed(t, err)
	equal(t, totals.Total, int64(len(codes)), "%d gifts", len(codes))
	for _, f.Sort = range []giving.Sort{{}, {By: giving.ByID, Descending: true}, {By: giving.ByTime},
		{By: giving.ByAmount}} {
		list, found, err := s.Gifts(t.Context(), account, campaign.OwnCampaigns, f, page, nil, nil)
		var wire []struct{ ID string }
		succeed(t, errors.Join(err, json.Unmarshal([]byte("["+string(list)+"]"), &wire)))
		equal(t, found.Total, totals.Total)
		same := store.Collect(wire, func(g struct{ ID string }) string { return g.ID })
		if slices.Sort(same); !slices.Equal(same, codes) {
			t.Errorf("programs see %v in the order %+v, and people %v", same, f.Sort, codes)
		}
	}
	return codes
}

// TestAVoidedGiftCountsNowhere: what was typed by mistake is out of every sum and list, its receipt is void, its
// thank-you is not sent, and what it has paid for waits again. The undo brings all of it back.
func TestAVoidedGiftCountsNowhere(t *testing.T) {
	shop := newShop(t)
	number := shop.Number
	shop.set(donate.Settings{Check: "Clean Water\nBox 1"})
	ada := create(t, shop.Book, number, `{"first_name":"Ada","last_name":"Lovelace","emails":[{"value":"ada@example.org"}]}`).ID
	plan, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
		`{"contact_id":%d,"amount":50,"method":"check","frequency":"monthly","start_at":%q}`, ada, shop.Now().AddDate(0, 0, -3).Format(time.DateOnly))))
	succeed(t, errors.Join(err, plan.Validate(faults, true, "US", shop.Now())))
	monthly := must(shop.CreatePlan(t.Context(), number, plan))(t)
	kept := giveNow(t, shop.Book, number, ofAda)
	gift := giveNow(t, shop.Book, number, ofAda+fmt.Sprintf(`,"campaign_id":%d,"plan_id":%q,"external_id":"X1"`,
		shop.campaign.ID, monthly.Code))
	issue(t, shop.Book, number, gift.Code)
	run := func(file string) {
		t.Helper()
		if _, rejected := imported(t, shop.Book, number, file, false); len(rejected) > 0 {
			t.Fatal(rejected)
		}
	}
	run("Gift ID,Name,Email,Date,Amount,Type\nP1,Ana Ruiz,ana@example.org,2026-01-01,130,Pledge\nP2,Ana Ruiz,ana@example.org,2026-01-01,40,Pledge\n")
	run("Gift ID,Pledge ID,Name,Email,Date,Amount,Type\nG1,P1,Ana Ruiz,ana@example.org,2026-01-05,60,Pledge payment\nG2,P2,Ana Ruiz,ana@example.org,2026-02-05,40,Pledge payment\n")
	w := byCheck(1)
	promise, _ := shop.give(w)
	received := must(shop.Received(t.Context(), number, promise.ID, "", nil))(t)
	shop.office.sendAll(t, shop.Book)
	all, before := listedBy(t, shop.Book, number, giving.GiftFilter{}), recordsOf(t, shop.Book, shop.Account)
	sums := countedOf(t, shop.Book, number)
	codes := map[string]string{"gift": gift.Code, "promise": received.Gift}
	for _, code := range all {
		if g, err := shop.GiftRecord(t.Context(), number, code); err == nil &&
			strings.HasPrefix(g.ExternalID, "G") {
			codes[g.ExternalID] = code
		}
	}
	if len(codes) != 4 {
		t.Fatal(codes)
	}
	for _, code := range codes {
		is := voidGift(t, shop.Book, number, code)
		expect(t, "it is", "voided Typed twice Dana Harper false 0 true", is.Status, is.Void.Reason, is.Void.By,
			is.Void.At.IsZero(), is.Net(), is.Receipt == "")
	}
	wantLeft := slices.DeleteFunc(slices.Clone(all), func(code string) bool {
		return code == codes["gift"] || code == codes["promise"] || code == codes["G1"] || code == codes["G2"]
	})
	expect(t, "are listed of", "true", slices.Equal(listedBy(t, shop.Book, number, giving.GiftFilter{}), wantLeft))
	for _, f := range []giving.GiftFilter{{Contact: ada}, {Recurring: true}, {Campaign: shop.campaign.ID},
		{Method: "check"}, {From: time.Date(2020, 1, 1, 0, 0, 0, 0,
			time.UTC)}, {ExternalID: "X1"}, {Waiting: true}} {
		expect(t, "has it", "false", slices.Contains(listedBy(t, shop.Book, number, f), gift.Code))
	}
	expect(t, "are voided", "4", len(listedBy(t, shop.Book, number, giving.GiftFilter{Status: giving.Voided})))
	is := recordsOf(t, shop.Book, shop.Account)
	record := func(records map[string]map[string]any, file,
		id string) map[string]any {
		return records[file+" "+id]
	}
	stats := record(is, "contacts.jsonl", fmt.Sprint(ada))["stats"].(map[string]any)
	raised := must(shop.Campaign(t.Context(), number, shop.campaign.ID))(t)
	expect(t, "the campaign has", "0 0 true", raised.Campaign.Raised(), raised.Campaign.Donors(),
		stats["total_contributions"] == 50.0)
	expect(t, "the next gift is still due on", "false",
		record(is, "plans.jsonl", `"`+monthly.Code+`"`)["next_bill_date"] == record(before, "plans.jsonl",
			`"`+monthly.Code+`"`)["next_bill_date"])
	open := map[string]float64{}
	for _, r := range is {
		if r["status"] == "pending" {
			open[r["external_id"].(string)] = r["amount"].(float64)
		}
	}
	expect(t, "are promised, and the check is", "true true processing", open["P1"] == 130, open["P2"] == 40,
		shop.look(promise.ID).State)
	if r := receiptsOf(t, shop.Book, number); len(r) != 2 || r[0].VoidedAt.IsZero() || r[1].VoidedAt.IsZero() ||
		r[1].ReplacedBy != 0 {
		t.Errorf("the receipts are %+v", r)
	}
	if _, err := shop.Received(t.Context(), number, promise.ID, "", nil); faultsOf(err) == nil ||
		shop.look(promise.ID).Gift != "" {
		t.Errorf("the check was received again: %v", err)
	}
	note := giftInput(t, `{"note":"x"}`, false, shop.Now())
	rejects(t, "thanks for what was voided")(shop.ThankFor(t.Context(), number, gift.Code,
		gifts.Thank{How: giving.ThankedOther}))
	rejects(t, "a receipt for it")(shop.IssueReceipt(t.Context(), number, gift.Code))
	rejects(t, "a refund of it")(shop.RefundGift(t.Context(), number, gift.Code, nil, ""))
	rejects(t, "the undo of a gift that was not voided")(shop.UndoVoid(t.Context(), number, kept.Code, ""))
	rejects(t, "voided again")(shop.VoidGift(t.Context(), number, gift.Code, "again", ""))
	rejects(t, "a change of it")(shop.UpdateGift(t.Context(), number, gift.Code, note))
	wantSound(t, shop.Book)
	for _, code := range codes {
		undoVoid(t, shop.Book, number, code)
	}
	expect(t, "before (-), after the undo (+)", "", cmp.Diff(before, recordsOf(t, shop.Book, shop.Account)))
	expect(t, "the sums are", "true", slices.Equal(countedOf(t, shop.Book, number), sums))
	d := shop.look(promise.ID)
	expect(t, "the promise is", "paid true", d.State, d.Gift == received.Gift)
	if r := receiptsOf(t, shop.Book, number); len(r) != 2 || !r[0].VoidedAt.IsZero() || !r[1].VoidedAt.IsZero() {
		t.Errorf("the receipts are %+v", r)
	}
	wantSound(t, shop.Book)
}

// TestThanksForAVoidedGiftAreNotSent: the email waits in the outbox, and does not leave. After an undo someone thanks
// again; where that was done before the email was due, it leaves.
func TestThanksForAVoidedGiftAreNotSent(t *testing.T) {
	s := newBook(t)
	office := new(postOffice)
	s.UseRelay(office)
	account := newAccount(t, s).Number
	gift := giveNow(t, s, account, ofAda+`,"send_receipt":true`)
	if gift.Thanks.How != giving.ThankedMail || gift.Receipt == "" {
		t.Fatalf("%+v", gift.Gift)
	}
	other := giveNow(t, s, account, `,"first_name":"Bo","last_name":"Lee","email":"bo@example.org","send_receipt":true`)
	voidGift(t, s, account, other.Code)
	undoVoid(t, s, account, other.Code)
	voidGift(t, s, account, gift.Code)
	if office.sendAll(t, s); len(office.taken) != 1 || office.last().To.String() != "bo@example.org" ||
		waiting(t, s, account) != 0 {
		t.Errorf("%d emails went out, and %d gifts wait for thanks", len(office.taken), waiting(t, s, account))
	}
	undoVoid(t, s, account, gift.Code)
	expect(t, "wait for thanks", "true 1", must(s.GiftRecord(t.Context(), account,
		gift.Code))(t).Receipt == gift.Receipt, waiting(t, s, account))
}

// TestMoneyOfAProviderIsNotVoided: it has come. A refund gives it back.
func TestMoneyOfAProviderIsNotVoided(t *testing.T) {
	shop := newShop(t)
	shop.paid(wish(1))
	gift := shop.allGifts()[0]
	_, err := shop.VoidGift(t.Context(), shop.Number, gift.Code, typedTwice, "")
	if err == nil || !strings.Contains(err.Error(), "Refund it instead") {
		t.Errorf("it was voided: %v", err)
	}
}

// TestAVoidedGiftThatComesAgainStaysVoided: a file has it again, and so has a program.
func TestAVoidedGiftThatComesAgainStaysVoided(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	file := "Gift ID,Name,Email,Date,Amount\nG1,Ana Ruiz,ana@example.org,2026-01-05,60\nG2,Ana Ruiz,ana@example.org,2026-01-06,70\n"
	if at, rejected := imported(t, s, account.Number, file, false); at.Created != 2 || len(rejected) > 0 {
		t.Fatal(at, rejected)
	}
	gift := giving.Gift{}
	for _, g := range ledgerOf(t, s, account.Number) {
		if g.ExternalID == "G1" {
			gift = g
		}
	}
	voidGift(t, s, account.Number, gift.Code)
	for _, again := range []string{file, "\n" + strings.ReplaceAll(file, "G2", "G3"),
		exportedGifts(t, s, account.Number, "csv")} {
		rows := openTable(t, again)
		said := ""
		spec := giftImportOf(rows)
		spec.SHA256 = again
		at, err := s.TryFile(t.Context(), account.Number, rows, spec,
			func(row jobs.TrialRow) error { said += row.Reason; return nil }, func(jobs.ImportCounts) {})
		if has := strings.Contains(again, "G1"); err != nil || has != strings.Contains(said, typedTwice) ||
			has != (at.Skipped == 1) {
			t.Errorf("%v: a preview says %q of %+v", err, said, at.ImportCounts)
		}
		imported(t, s, account.Number, again, false)
	}
	in := giftInput(t, fmt.Sprintf(`{"amount":60,"method":%q,"transacted_at":"2026-01-05","external_id":"G1","status":"succeeded","email":"ana@example.org"}`, gift.Method), true, s.Now())
	made := must(s.CreateGift(t.Context(), account.Number, in))(t)
	expect(t, "a program records", "true voided", made.Existing, made.Status)
	expect(t, "there are", "2", len(ledgerOf(t, s, account.Number)))
	checked(t, s)
}

// TestAVoidedGiftMovesAndIsErased: a merge moves it, an account's files have it, and an erasure forgets what was said
// about it.
func TestAVoidedGiftMovesAndIsErased(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	gift := giveNow(t, s, account.Number, ofAda)
	voidGift(t, s, account.Number, gift.Code)
	copied := importAccount(t, s, exportAccount(t, s, account), "").Account
	expect(t, "the copy has", "1 0", len(listedBy(t, s, copied.Number, giving.GiftFilter{Status: giving.Voided})),
		len(ledgerOf(t, s, copied.Number)))
	other := create(t, s, account.Number, `{"first_name":"Augusta","last_name":"King"}`).ID
	merged := mergeOf(t, s, account.Number, other, gift.Contact)
	g := must(s.GiftRecord(t.Context(), account.Number, gift.Code))(t)
	expect(t, "after a merge it is", "true voided", g.Contact == other, g.Status)
	must(s.UndoMerge(t.Context(), account.Number, merged, "US"))(t)
	data := must(s.ContactData(t.Context(), account.Number, gift.Contact))(t)
	expect(t, "is known about the person", "1", len(data.Found["transactions"]))
	erase(t, s, t.Context(), account.Number, gift.Contact)
	if g, err := s.GiftRecord(t.Context(), account.Number, gift.Code); err != nil || g.Void == nil ||
		g.Void.Reason != "" {
		t.Errorf("%v: after the erasure it is %+v", err, g.Void)
	}
	undoVoid(t, s, account.Number, gift.Code)
	wantSound(t, s)
}
