package book

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

func giveNow(t *testing.T, s *Book, account int64, more string) store.GiftDocument {
	t.Helper()
	body := `{"amount":50,"method":"check","transacted_at":"` + s.Now().Format(time.DateOnly) + `"` + more + `}`
	by := store.By(t.Context(), history.APIChannel, "Website")
	return must(s.CreateGift(by, account, giftInput(t, body, true, s.Now())))(t)
}

func waiting(t *testing.T, s *Book, account int64) int64 {
	t.Helper()
	n := must(s.ToThank(t.Context(), account, 100))(t)
	page := crm.PageRequest{Page: 1, PerPage: 50}
	records, totals, err := s.GiftPage(t.Context(), account, giving.GiftFilter{Waiting: true}, page)
	succeed(t, err)
	equal(t, totals.Total, n)
	equal(t, int64(len(records)), n)
	return n
}

const ofAda = `,"first_name":"Ada","last_name":"Lovelace","email":"ada@example.org"`

var byMail = store.Thank{How: giving.ThankedMail}

// twoOffices are two nodes of an organization that sends email.
func twoOffices(t *testing.T) (*org, *Book) {
	t.Helper()
	a, b := twoNodes(t)
	s := newOrg(t, a)
	b.Now = a.Now
	a.UseRelay(s.office)
	b.UseRelay(s.office)
	return s, b
}

// byMany does something 64 times at once, on two nodes in turn. It may be refused.
func byMany(t *testing.T, a, b *Book, do func(i int, at *Book) error) (done int64) {
	var n atomic.Int64
	atOnce(64, func(i int) {
		switch err := do(i, []*Book{a, b}[i%2]); {
		case err == nil:
			n.Add(1)
		case !errors.As(err, new(*doc.Invalid)):
			t.Error(err)
		}
	})
	return n.Load()
}

// Sixty-four people thank for one gift at once, on two nodes: one mail goes out.
func TestConcurrentThanksAreOneMail(t *testing.T) {
	s, other := twoOffices(t)
	gift := s.given(ofAda)
	expect(t, "a new gift", "waiting 1", gift.Thanks.How, s.waiting())
	by := store.By(t.Context(), history.ConsoleChannel, "ada@harbor.example")
	done := byMany(t, s.Book, other, func(_ int, at *Book) error {
		_, err := at.ThankFor(by, s.Number, gift.Code, byMail)
		return err
	})
	s.office.sendAll(t, other)
	expect(t, "thanked, mails, gifts that wait", "1 1 0", done, s.sent(), s.waiting())
	l := s.office.last()
	for _, said := range []string{"Dear Ada,", "$50.00", "first gift"} {
		contains(t, l.Text(), said)
	}
	is := s.gift(gift.Code).Thanks
	expect(t, "thanks", "ada@example.org mail ada@harbor.example false", l.To, is.How, is.By, is.At.IsZero())
	must(s.thank(gift.Code, store.Thank{How: giving.ThankedMail, Again: true}))(t)
	expect(t, "mails to who asks for it again", "2", s.sent())
	wantSound(t, s.Book)
}

func TestThankYouTexts(t *testing.T) {
	s := newOrg(t, newBook(t))
	own := thanks.Template{Occasion: thanks.Large, Subject: "{amount}!", Body: "Dear {name}, you are a star.",
		Amount: 50_00}
	must(s.ChangeTemplate(t.Context(), s.Number, own.Occasion,
		thanks.TemplateInput{Subject: &own.Subject, Body: &own.Body, Amount: ptr(int64(50_0000))}))(t)
	gift := s.given(ofAda)
	y := must(s.ThankYou(t.Context(), s.Number, &gift.Gift, ""))(t)
	expect(t, "it says", "$50.00! Dear Ada Lovelace, you are a star.", y.Subject, y.Says[0])
	expect(t, "another one", "repeat", must(s.ThankYou(t.Context(), s.Number, &gift.Gift,
		thanks.Repeat))(t).Occasion)
	large := func(account int64) thanks.Template {
		all := must(s.Templates(t.Context(), account))(t)
		expect(t, "the first one is ours", "false", all[0].Own)
		return all[len(all)-2].Template
	}
	files := exportAccount(t, s.Book, s.Account)
	copied := importAccount(t, s.Book, files, "").Account.Number
	own.Own = true
	expect(t, "a copy has the text, and its gift waits", "true 1", large(copied) == own, waiting(t, s.Book, copied))
	says(t, "a text with an unknown field", "templates.jsonl, line 1")(
		s.ImportAccount(t.Context(), changedFile(t, files, move.TemplateFile, "{name}", "{nome}"),
			move.AccountImport{Progress: quiet}))
	succeed(t, s.ResetTemplate(t.Context(), s.Number, thanks.Large))
	expect(t, "ours again", "true", large(s.Number) == thanks.Default(thanks.Large))
	wantSound(t, s.Book)
}

// Gifts of a file wait for thanks only if someone wants that, and then as those that were typed: new ones that
// arrived lately. Undoing the import takes them off the list.
func TestAnImportCanAskForThanks(t *testing.T) {
	s := newOrg(t, newBook(t))
	s.given(ofAda)
	file := strings.ReplaceAll(`Amount,Date,Name,Email,Status,Gift ID
10,TODAY,Ada Lovelace,ada@example.org,Succeeded,g1
20,TODAY,Bo Lee,bo@example.org,Succeeded,g2
30,2001-02-03,Long Ago,long@example.org,Succeeded,g3
40,TODAY,Pat Promise,pat@example.org,Pending,g4
50,TODAY,Re Funded,re@example.org,Refunded,g5
60,TODAY,,,Succeeded,g6
`, "TODAY", s.Now().Format(time.DateOnly))
	imports := func(thank bool, wait int64) int64 {
		t.Helper()
		rows := openTable(t, file)
		spec := giftImportOf(rows)
		spec.Thanks = thank
		im, _ := must2(s.ImportFile(t.Context(), s.Number, rows, spec, 0, true, func(jobs.ImportProgress) {}))(t)
		expect(t, "rejected, and gifts that wait", fmt.Sprint("0 ", wait), im.Progress.Rejected, s.waiting())
		return im.ID
	}
	finishUndo(t, s.Book, s.Number, imports(false, 1))
	asking := imports(true, 3) // those of Ada and Bo
	imports(true, 3)
	finishUndo(t, s.Book, s.Number, asking)
	expect(t, "after the undo", "1", s.waiting())
	wantSound(t, s.Book)
}

// receiptsOf are all receipts of the year, the latest first. Their numbers have no gaps.
func receiptsOf(t *testing.T, s *Book, account int64) []thanks.Receipt {
	t.Helper()
	year := s.Now().Year()
	all, total, err := s.Receipts(t.Context(), account, year, crm.PageRequest{Page: 1, PerPage: 100})
	succeed(t, err)
	equal(t, int64(len(all)), total, "%v", len(all))
	for i, r := range all {
		expect(t, "the number of a receipt", fmt.Sprintf("%d-%05d", year, len(all)-i), r.Code())
	}
	return all
}

func issue(t *testing.T, s *Book, account int64, code string) store.GiftDocument {
	t.Helper()
	return must(s.IssueReceipt(t.Context(), account, code))(t)
}

// Sixty-four people make receipts for three gifts at once, on two nodes, alone and with a thank-you: each gift gets
// one, and numbers have no gaps.
func TestConcurrentReceiptsAreOnePerGift(t *testing.T) {
	s, other := twoOffices(t)
	codes := []string{s.given(ofAda).Code, s.given(ofAda).Code, s.given(ofAda).Code}
	byMany(t, s.Book, other, func(i int, at *Book) (err error) {
		switch code := codes[i%3]; i % 5 {
		case 0:
			_, err = at.ThankFor(t.Context(), s.Number, code, store.Thank{How: giving.ThankedLetter, Receipt: true})
		case 1:
			_, err = at.RefundGift(t.Context(), s.Number, code, ptr(int64(1_0000)), "")
		default:
			_, err = at.IssueReceipt(t.Context(), s.Number, code)
		}
		return err
	})
	valid := map[string]int{}
	for _, r := range s.receipts() {
		if r.VoidedAt.IsZero() {
			valid[r.GiftCode]++
		}
		expect(t, r.Code()+" is void, and nothing replaces it", "false", !r.VoidedAt.IsZero() && r.ReplacedBy == 0)
	}
	expect(t, "valid receipts", "1 1 1", valid[codes[0]], valid[codes[1]], valid[codes[2]])
	wantSound(t, s.Book)
}

// The files of an account have its receipts, and a copy goes on with their numbers. A check compares them with gifts.
func TestReceiptsAreCopiedAndChecked(t *testing.T) {
	s := newOrg(t, newBook(t))
	closeAfter(t, s.Book) // it is damaged in the end
	gift := s.given(ofAda)
	first := issue(t, s.Book, s.Number, gift.Code)
	s.refund(gift.Code, 20)
	bob := s.person(`{"first_name":"Bob","last_name":"Stone","emails":[{"value":"bob@example.org"}]}`)
	moved, all := s.edit(gift.Code, fmt.Sprintf(`{"contact_id":%d}`, bob)), s.receipts()
	files := exportAccount(t, s.Book, s.Account)
	copied := receiptsOf(t, s.Book, importAccount(t, s.Book, files, "").Account.Number)
	expect(t, "a copy", fmt.Sprint("3 false ", all[0].Lines()), len(copied), copied[0].GiftCode == "",
		copied[0].Lines())
	for _, broken := range [][3]string{
		{move.ReceiptFile, `"voided_at":0`, `"voided_at":1`}, {move.ReceiptFile, `00001,"gift_id"`, `00002,"gift_id"`},
		{move.GiftFile, moved.Receipt, first.Receipt},
	} {
		changed := changedFile(t, files, broken[0], broken[1], broken[2])
		says(t, broken[1], move.ReceiptFile)(s.ImportAccount(t.Context(), changed, move.AccountImport{Progress: quiet}))
	}
	for _, damage := range [][2]string{
		{`UPDATE receipt SET voided_at = 0 WHERE account_id = $1`,
			"the receipts that gifts name are not those that are valid"},
		{`DELETE FROM receipt WHERE account_id = $1 AND id % 10 = 2`, "only 2 are there"},
		{`UPDATE receipt SET gift_id = 7 WHERE account_id = $1 AND id % 10 = 1`, "is for a gift that does not exist"},
	} {
		damageKind{sql: damage[0], args: []any{s.Number}}.happen(t, s.Book, s.Number)
		found, _ := checkAll(t, s.Book, false)
		contains(t, strings.Join(found, "\n"), damage[1], "%s", damage[0])
	}
}

// The preview of a file that refunds or corrects gifts with receipts tells what the import does, and leaves the
// receipts alone.
func TestAPreviewLeavesReceiptsAlone(t *testing.T) {
	const head = "external_id,amount,date,method,first_name,last_name,email,type,refund_of,status\n"
	const given = head + "g1,50,2026-01-05,check,Ada,Byron,ada@example.org,gift,,paid\n" +
		"g2,20,2026-01-06,check,Ada,Byron,ada@example.org,gift,,paid\n"
	const later = head + "r1,-50,2026-01-09,check,Ada,Byron,ada@example.org,refund,g1,\n" +
		"g2,20,2026-01-06,check,Ada,Byron,ada@example.org,gift,,refunded\n"
	s := newOrg(t, newBook(t))
	imported(t, s.Book, s.Number, given, false)
	for _, g := range ledgerOf(t, s.Book, s.Number) {
		issue(t, s.Book, s.Number, g.Code)
	}
	for _, trial := range []bool{true, false} {
		done, rejected := imported(t, s.Book, s.Number, later, trial)
		expect(t, "merged and rejected", "2 0", done.Merged, len(rejected))
		for _, r := range s.receipts() {
			expect(t, fmt.Sprint("a preview: ", trial, ", receipt ", r.Code()), fmt.Sprint(trial),
				r.VoidedAt.IsZero())
		}
	}
	checked(t, s.Book)
}
