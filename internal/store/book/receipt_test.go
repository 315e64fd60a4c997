package book

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/move"
)

// receiptsOf are all receipts of the year, the latest first. Their numbers have no gaps.
func receiptsOf(t *testing.T, s *Book, account int64) []thanks.Receipt {
	t.Helper()
	year := s.Now().Year()
	all, total, err := s.Receipts(t.Context(), account, year, crm.PageRequest{Page: 1, PerPage: 100})
	if err != nil || int64(len(all)) != total {
		t.Fatalf("%v: %d receipts of %d", err, len(all), total)
	}
	for i, r := range all {
		if r.Code() != fmt.Sprintf("%d-%05d", year, len(all)-i) {
			t.Fatalf("receipt %d of %d is %s", i, len(all), r.Code())
		}
	}
	return all
}

func issue(t *testing.T, s *Book, account int64, code string) gifts.GiftDocument {
	t.Helper()
	made := must(s.IssueReceipt(t.Context(), account, code))(t)
	return made
}

// Sixty-four people make receipts for three gifts at once, on two nodes, alone and with a thank-you: each gift gets one, and numbers have no gaps.
func TestConcurrentReceiptsAreOnePerGift(t *testing.T) {
	eachPair(t, func(t *testing.T, s, other *Book) {
		account := newAccount(t, s).Number
		var codes []string
		for range 3 {
			codes = append(codes, giveNow(t, s, account, ofAda).Code)
		}
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				at, code := []*Book{s, other}[i%2], codes[i%3]
				var err error
				switch i % 5 {
				case 0:
					_, err = at.ThankFor(t.Context(), account, code, gifts.Thank{How: giving.ThankedLetter, Receipt: true})
				case 1:
					_, err = at.RefundGift(t.Context(), account, code, ptr(int64(1_0000)), "")
				default:
					_, err = at.IssueReceipt(t.Context(), account, code)
				}
				if err != nil && !errors.As(err, new(*doc.Invalid)) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		valid := map[string]int{}
		for _, r := range receiptsOf(t, s, account) {
			if r.VoidedAt.IsZero() {
				valid[r.GiftCode]++
			} else if r.ReplacedBy == 0 {
				t.Errorf("%s is void, and nothing replaces it", r.Code())
			}
		}
		for _, code := range codes {
			expect(t, "valid receipts", "1", valid[code])
		}
		wantSound(t, s)
	})
}

// A receipt says what the gift was on the day it was made. When the gift changes, it is void and the next one replaces it, as long as anything is left.
func TestReceiptsFollowTheirGift(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		closeAfter(t, s) // it is damaged in the end
		account := newAccount(t, s)
		number := account.Number
		tax, address := "12-3456789", "1 River Road\nRiverton, OR 97001"
		succeed(t, s.SetAccountSettings(t.Context(), number, access.AccountSettingsInput{TaxID: &tax, Address: &address}))
		gift := giveNow(t, s, number, ofAda+`,"benefit":"Dinner","benefit_value":12.5`)
		promise := giveNow(t, s, number, ofAda+`,"status":"pending"`)
		if _, err := s.IssueReceipt(t.Context(), number, promise.Code); !errors.As(err, new(*doc.Invalid)) || !strings.Contains(err.Error(), "has not arrived") {
			t.Errorf("a promise has a receipt: %v", err)
		}
		first := issue(t, s, number, gift.Code)
		if again := issue(t, s, number, gift.Code); first.Receipt == "" || !first.Created || again.Receipt != first.Receipt || again.Created {
			t.Fatalf("%q, then %q", first.Receipt, again.Receipt)
		}
		r, err := s.Receipt(t.Context(), number, first.Receipt)
		said := fmt.Sprint(r.Lines(), r.Text.From)
		if err != nil || !strings.Contains(said, "estimated value of $12.50") || !strings.Contains(said, "more than this value: $37.50") || !strings.Contains(said, tax) || !strings.Contains(said, "Riverton") {
			t.Fatalf("%v %s", err, said)
		}
		must(s.RefundGift(t.Context(), number, gift.Code, ptr(int64(20_0000)), ""))(t)
		all := receiptsOf(t, s, number)
		if len(all) != 2 || all[1].VoidedAt.IsZero() || all[1].ReplacedBy != all[0].ID || all[0].Amount != 30_00 || !strings.Contains(fmt.Sprint(all[0].Lines()), "replaces receipt "+first.Receipt) {
			t.Fatalf("%+v", all)
		}
		bob := create(t, s, number, `{"first_name":"Bob","last_name":"Stone","emails":[{"value":"bob@example.org"}]}`)
		in := giftInput(t, fmt.Sprintf(`{"contact_id":%d}`, bob.ID), false, s.Now())
		moved, err := s.UpdateGift(t.Context(), number, gift.Code, in)
		if all = receiptsOf(t, s, number); err != nil || len(all) != 3 || moved.Receipt != all[0].Code() || !strings.Contains(fmt.Sprint(all[0].Text.To), "Bob Stone") {
			t.Fatalf("%v %+v", err, all[0])
		}
		note := giftInput(t, `{"note":"By phone"}`, false, s.Now())
		expect(t, "a note makes", "true", must(s.UpdateGift(t.Context(), number, gift.Code, note))(t).Receipt == moved.Receipt)

		// The files of the account have everything, and the numbers go on.
		files := exportAccount(t, s, account)
		copied := importAccount(t, s, files, "").Account.Number
		if is := receiptsOf(t, s, copied); len(is) != 3 || is[0].GiftCode == "" || fmt.Sprint(is[0].Lines()) != fmt.Sprint(all[0].Lines()) {
			t.Errorf("%+v", is)
		}
		for _, broken := range []struct{ file, old, changed string }{{move.ReceiptFile, `"voided_at":0`, `"voided_at":1`}, {move.ReceiptFile, `00001,"gift_id"`, `00002,"gift_id"`}, {move.GiftFile, moved.Receipt, first.Receipt}} {
			says(t, "it", move.ReceiptFile)(s.ImportAccount(t.Context(), changedFile(t, files, broken.file, broken.old, broken.changed), move.AccountImport{Progress: quiet}))
		}

		// Who is erased leaves the receipts, also one for a gift that is someone else's now. Numbers and amounts stay.
		data := must(s.ContactData(t.Context(), number, bob.ID))(t)
		var file strings.Builder
		if err := data.Write(t.Context(), &file); err != nil || !strings.Contains(file.String(), `"receipts":[{"id":`) {
			t.Errorf("%v %s", err, file.String())
		}
		erase(t, s, context.Background(), number, gift.Contact)
		all = receiptsOf(t, s, number)
		if len(all) != 3 || all[0].Text.Title == "" || all[1].Text.Title != "" || all[2].Text.Title != "" || all[2].Amount != 50_00 {
			t.Errorf("%+v", all)
		}
		must(s.RefundGift(t.Context(), number, gift.Code, nil, ""))(t)
		if all = receiptsOf(t, s, number); len(all) != 3 || all[0].VoidedAt.IsZero() || all[0].ReplacedBy != 0 {
			t.Errorf("%+v", all)
		}
		wantSound(t, s)

		for _, damage := range []struct{ sql, says string }{
			{`UPDATE receipt SET voided_at = 0 WHERE account_id = $1`, "the receipts that gifts name are not those that are valid"},
			{`DELETE FROM receipt WHERE account_id = $1 AND id % 10 = 2`, "only 2 are there"},
			{`UPDATE receipt SET gift_id = 7 WHERE account_id = $1 AND id % 10 = 1`, "is for a gift that does not exist"},
		} {
			damageKind{sql: damage.sql, args: []any{number}}.happen(t, s, number)
			if found, _ := checkAll(t, s, false); !strings.Contains(strings.Join(found, "\n"), damage.says) {
				t.Errorf("%s: %q", damage.sql, found)
			}
		}
	})
}

// A Canadian receipt says what to fill in where something is missing, and has all that it needs afterwards. A refund goes through all the same.
func TestCanadianReceipts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		set := func(in access.AccountSettingsInput) {
			t.Helper()
			succeed(t, s.SetAccountSettings(t.Context(), account, in))
		}
		set(access.AccountSettingsInput{Receipts: &thanks.Wording{Form: thanks.Canada}})
		gift := giveNow(t, s, account, `,"first_name":"Zoé","last_name":"Roy","email":"zoe@example.org","address":{"address_1":"5 Rue Saint-Paul","city":"Montréal","state":"QC","zip":"H2Y 1H1","country":"CAN"}`)
		_, err := s.IssueReceipt(t.Context(), account, gift.Code)
		for _, needs := range []string{"postal address of your organization", "registration number", "place where receipts are issued", "who signs"} {
			if err == nil || !strings.Contains(err.Error(), needs) {
				t.Errorf("%v does not say %q", err, needs)
			}
		}
		set(access.AccountSettingsInput{Receipts: &thanks.Wording{Form: thanks.Canada, Place: "Montréal, QC", Signer: "A. Tremblay"}, TaxID: ptr("12345 6789 RR0001"), Address: ptr("1 Rue Notre-Dame\nMontréal QC H2Y 1B6")})
		made := issue(t, s, account, gift.Code)
		r, err := s.Receipt(t.Context(), account, made.Receipt)
		said := fmt.Sprint(r.Lines())
		for _, has := range []string{"Official receipt for income tax purposes", r.Code(), "Charity registration number: 12345 6789 RR0001", "Zoé Roy", "5 Rue Saint-Paul", "Eligible amount of gift for tax purposes: $50.00",
			"Value of advantage: $0.00", "Location issued: Montréal, QC", "Authorized signature: A. Tremblay", "Date gift received: ", "Date receipt issued: ", "Canada Revenue Agency"} {
			if err != nil || !strings.Contains(strings.ReplaceAll(said, "\u200b", ""), has) {
				t.Errorf("%v: %q is not in %s", err, has, said)
			}
		}
		set(access.AccountSettingsInput{TaxID: ptr("")})
		refunded := must(s.RefundGift(t.Context(), account, gift.Code, ptr(int64(1_0000)), ""))(t)
		expect(t, "it", "true", refunded.Receipt == "")
		set(access.AccountSettingsInput{Receipts: &thanks.Wording{Form: thanks.OwnWording, Text: "{name} gave {amount} to {organization} ({receipt_number})."}})
		made = issue(t, s, account, gift.Code)
		expect(t, "it", "true", strings.Contains(fmt.Sprint(must(s.Receipt(t.Context(), account, made.Receipt))(t).Text.Says), "Zoé Roy gave $49.00 to"))
		says(t, "a text with an unknown field", "unknown field {nome}")(s.SetAccountSettings(t.Context(), account, access.AccountSettingsInput{Receipts: &thanks.Wording{Form: thanks.OwnWording, Text: "{nome}"}}))
		wantSound(t, s)
	})
}

// The preview of a file that refunds or corrects gifts with receipts tells what the import does, and leaves the receipts alone.
func TestAPreviewLeavesReceiptsAlone(t *testing.T) {
	const head = "external_id,amount,date,method,first_name,last_name,email,type,refund_of,status\n"
	const given = head + "g1,50,2026-01-05,check,Ada,Byron,ada@example.org,gift,,paid\ng2,20,2026-01-06,check,Ada,Byron,ada@example.org,gift,,paid\n"
	const later = head + "r1,-50,2026-01-09,check,Ada,Byron,ada@example.org,refund,g1,\ng2,20,2026-01-06,check,Ada,Byron,ada@example.org,gift,,refunded\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		imported(t, s, account, given, false)
		for _, g := range ledgerOf(t, s, account) {
			issue(t, s, account, g.Code)
		}
		tried, rejected := imported(t, s, account, later, true)
		for _, r := range receiptsOf(t, s, account) {
			expect(t, "the preview has voided", "true", r.VoidedAt.IsZero())
		}
		done, _ := imported(t, s, account, later, false)
		expect(t, "and the import did", "true 2 0", tried == done, done.Merged, len(rejected))
		for _, r := range receiptsOf(t, s, account) {
			expect(t, "after the refunds, receipt", "false", r.VoidedAt.IsZero())
		}
		checked(t, s)
	})
}
