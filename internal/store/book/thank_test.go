package book

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

func giveNow(t *testing.T, s *Book, account int64, more string) gifts.GiftDocument {
	t.Helper()
	body := `{"amount":50,"method":"check","transacted_at":"` + s.Now().Format(time.DateOnly) + `"` + more + `}`
	made := must(s.CreateGift(store.By(t.Context(), history.APIChannel, "Website"), account, giftInput(t, body, true, s.Now())))(t)
	return made
}

func waiting(t *testing.T, s *Book, account int64) int64 {
	t.Helper()
	n := must(s.ToThank(t.Context(), account, 100))(t)
	records, totals, err := s.GiftPage(t.Context(), account, giving.GiftFilter{Waiting: true}, crm.PageRequest{Page: 1, PerPage: 50})
	if err != nil || totals.Total != n || int64(len(records)) != n {
		t.Fatalf("%d gifts are counted, and %d listed: %v", n, totals.Total, err)
	}
	return n
}

const ofAda = `,"first_name":"Ada","last_name":"Lovelace","email":"ada@example.org"`

// Sixty-four people thank for one gift at once, on two nodes: one mail goes out.
func TestConcurrentThanksAreOneMail(t *testing.T) {
	eachPair(t, func(t *testing.T, s, other *Book) {
		office := new(postOffice)
		s.UseRelay(office)
		other.UseRelay(office)
		account := newAccount(t, s).Number
		gift := giveNow(t, s, account, ofAda)
		if gift.Thanks.How != giving.ToThank || waiting(t, s, account) != 1 {
			t.Fatalf("%+v", gift.Thanks)
		}
		var done atomic.Int64
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				_, err := []*Book{s, other}[i%2].ThankFor(store.By(t.Context(), history.ConsoleChannel, "ada@harbor.example"), account, gift.Code, gifts.Thank{How: giving.ThankedMail})
				switch {
				case err == nil:
					done.Add(1)
				case !errors.As(err, new(*doc.Invalid)):
					t.Error(err)
				}
			})
		}
		all.Wait()
		office.sendAll(t, s)
		office.sendAll(t, other)
		if done.Load() != 1 || len(office.taken) != 1 || waiting(t, s, account) != 0 {
			t.Fatalf("%d thanked, %d mails, %d wait", done.Load(), len(office.taken), waiting(t, s, account))
		}
		if l := office.last(); l.To.String() != "ada@example.org" || !strings.Contains(l.Text(), "Dear Ada,") || !strings.Contains(l.Text(), "$50.00") || !strings.Contains(l.Text(), "first gift") {
			t.Error(l.Text())
		}
		is := must(s.GiftRecord(t.Context(), account, gift.Code))(t)
		expect(t, "it", "mail ada@harbor.example false", is.Thanks.How, is.Thanks.By, is.Thanks.At.IsZero())
		must(s.ThankFor(t.Context(), account, gift.Code, gifts.Thank{How: giving.ThankedMail, Again: true}))(t)
		if office.sendAll(t, s); len(office.taken) != 2 {
			t.Errorf("who asks for it again gets %d mails", len(office.taken))
		}
		wantSound(t, s)
	})
}

// A gift waits for thanks from when it arrives until someone has thanked, or it is given back.
func TestWhichGiftsWaitForThanks(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		gift := giveNow(t, s, account, ofAda+`,"send_receipt":true`) // no relay: someone has to decide
		promise := giveNow(t, s, account, ofAda+`,"status":"pending"`)
		giveNow(t, s, account, ofAda+`,"livemode":false`)
		giveNow(t, s, account, `,"anonymous":true`)
		giveNow(t, s, account, ofAda+`,"thanks":"letter"`)
		old := giftInput(t, `{"amount":5,"method":"cash","transacted_at":"2020-01-31"`+ofAda+`}`, true, s.Now())
		must(s.CreateGift(t.Context(), account, old))(t)
		if n := waiting(t, s, account); n != 1 {
			t.Fatalf("%d gifts wait", n)
		}
		change := func(code, body string) {
			t.Helper()
			must(s.UpdateGift(t.Context(), account, code, giftInput(t, body, false, s.Now())))(t)
		}
		change(promise.Code, `{"status":"succeeded"}`)
		expect(t, "gifts wait after a promise was kept", "2", waiting(t, s, account))
		must(s.RefundGift(t.Context(), account, gift.Code, nil, ""))(t)
		expect(t, "gifts wait after a refund", "1", waiting(t, s, account))
		must(s.UndoRefund(t.Context(), account, gift.Code, nil, ""))(t)
		change(gift.Code, `{"thanks":"other"}`)
		change(promise.Code, `{"thanks":"none"}`)
		expect(t, "gifts wait after all", "0", waiting(t, s, account))
		change(gift.Code, `{"thanks":"waiting"}`)
		expect(t, "gifts wait again", "1", waiting(t, s, account))
		wantSound(t, s)
	})
}

// Mails go only to people who can be written to, and a gift whose mail was refused waits again.
func TestThanksThatDoNotArrive(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		office := new(postOffice)
		s.UseRelay(office)
		account := newAccount(t, s).Number
		for i, mark := range []string{`"do_not_email":true,"emails":[{"value":"a@example.org"}]`, `"deceased":true,"emails":[{"value":"b@example.org"}]`, `"emails":[]`} {
			made := create(t, s, account, `{"first_name":"Bo","last_name":"No`+string(rune('a'+i))+`",`+mark+`}`)
			in := giftInput(t, `{"amount":5,"method":"cash","transacted_at":"`+s.Now().Format(time.DateOnly)+`","send_receipt":true}`, false, s.Now())
			in.Contact = &made.ID
			gift, err := s.CreateGift(t.Context(), account, in)
			if err != nil || gift.Thanks.How != giving.ToThank {
				t.Errorf("%s: %v %+v", mark, err, gift.Thanks)
			}
			rejects(t, "it")(s.ThankFor(t.Context(), account, gift.Code, gifts.Thank{How: giving.ThankedMail}))
			must(s.ThankFor(t.Context(), account, gift.Code, gifts.Thank{How: giving.ThankedNone}))(t)
		}
		refused := giveNow(t, s, account, `,"first_name":"No","last_name":"Body","email":"nobody@example.org","send_receipt":true`)
		taken := giveNow(t, s, account, ofAda+`,"send_receipt":true`)
		test := giveNow(t, s, account, ofAda+`,"send_receipt":true,"livemode":false`)
		expect(t, "a gift of test mode is thanked for", "true true", test.Thanks.How == "", test.Receipt == "")
		expect(t, "it", "mail Website", refused.Thanks.How, taken.Thanks.By)
		if office.sendAll(t, s); len(office.taken) != 1 {
			t.Fatalf("%d mails", len(office.taken))
		}
		is := must(s.GiftRecord(t.Context(), account, refused.Code))(t)
		expect(t, "it", "true", is.Awaits())
		told, err := s.MailAbout(t.Context(), account, gifts.AboutGift(refused.ID))
		if err != nil || told == nil || told.State() != mail.Failed || !strings.Contains(told.Error, "550 no such user") {
			t.Errorf("%v %+v", err, told)
		}
		// Their contact says that the email bounced: the next mail does not go there, until someone says that it works, or has another one.
		nobody := everyContact(t, s, account)[refused.Contact]
		expect(t, "it", "nobody@example.org", nobody.BouncedEmail)
		if _, err := s.ThankFor(t.Context(), account, refused.Code, gifts.Thank{How: giving.ThankedMail}); err == nil || !strings.Contains(err.Error(), "bounced") {
			t.Error(err)
		}
		must(s.UpdateContact(t.Context(), account, refused.Contact, input(t, `{"emails":[{"value":"found@example.org"}]}`)))(t)
		must(s.ThankFor(t.Context(), account, refused.Code, gifts.Thank{How: giving.ThankedMail}))(t)
		// An erased person is in no mail, and had it in their own file before.
		data := must(s.ContactData(t.Context(), account, taken.Contact))(t)
		var file strings.Builder
		if err := data.Write(t.Context(), &file); err != nil || !strings.Contains(file.String(), `"mails":[{"kind":"thanks","to":"ada@example.org"`) {
			t.Errorf("%v %s", err, file.String())
		}
		erase(t, s, context.Background(), account, taken.Contact)
		if told, err := s.MailAbout(t.Context(), account, gifts.AboutGift(taken.ID)); err != nil || told != nil {
			t.Errorf("%v %+v", err, told)
		}
	})
}

func TestThankYouTexts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		own := thanks.Template{Occasion: thanks.Large, Subject: "{amount}!", Body: "Dear {name}, you are a star.", Amount: 50_00}
		must(s.ChangeTemplate(t.Context(), account.Number, own.Occasion, thanks.TemplateInput{Subject: &own.Subject, Body: &own.Body, Amount: ptr(int64(50_0000))}))(t)
		gift := giveNow(t, s, account.Number, ofAda)
		y, err := s.ThankYou(t.Context(), account.Number, &gift.Gift, "")
		if err != nil || y.Subject.String() != "$50.00!" || y.Says[0].String() != "Dear Ada Lovelace, you are a star." {
			t.Errorf("%v %+v", err, y.Note)
		}
		if y, err = s.ThankYou(t.Context(), account.Number, &gift.Gift, thanks.Repeat); err != nil || y.Occasion != thanks.Repeat {
			t.Errorf("%v %+v", err, y.Note)
		}
		files := exportAccount(t, s, account)
		made := importAccount(t, s, files, "")
		all, err := s.Templates(t.Context(), made.Account.Number)
		own.Own = true
		if err != nil || all[len(all)-2].Template != own || all[0].Own {
			t.Errorf("%v %+v", err, all)
		}
		if waiting(t, s, made.Account.Number) != 1 {
			t.Error("a gift that was moved does not wait any more")
		}
		says(t, "a text with an unknown field", "templates.jsonl, line 1")(s.ImportAccount(t.Context(), changedFile(t, files, move.TemplateFile, "{name}", "{nome}"), move.AccountImport{Progress: quiet}))
		succeed(t, s.ResetTemplate(t.Context(), account.Number, thanks.Large))
		if all, err := s.Templates(t.Context(), account.Number); err != nil || all[len(all)-2].Template != thanks.Default(thanks.Large) {
			t.Errorf("%v %+v", err, all)
		}
		wantSound(t, s)
	})
}

// Gifts of a file wait for thanks only if someone wants that, and then as those that were typed: new ones that arrived lately. Undoing the import takes them off the list.
func TestAnImportCanAskForThanks(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		giveNow(t, s, account, ofAda)
		file := strings.ReplaceAll("Amount,Date,Name,Email,Status,Gift ID\n10,TODAY,Ada Lovelace,ada@example.org,Succeeded,g1\n20,TODAY,Bo Lee,bo@example.org,Succeeded,g2\n"+
			"30,2001-02-03,Long Ago,long@example.org,Succeeded,g3\n40,TODAY,Pat Promise,pat@example.org,Pending,g4\n50,TODAY,Re Funded,re@example.org,Refunded,g5\n60,TODAY,,,Succeeded,g6\n", "TODAY", s.Now().Format(time.DateOnly))
		imports := func(thank bool) int64 {
			t.Helper()
			rows := openTable(t, file)
			spec := giftImportOf(rows)
			spec.Thanks = thank
			im, _, err := s.ImportFile(t.Context(), account, rows, spec, 0, true, func(jobs.ImportProgress) {})
			if err != nil || im.Progress.Rejected != 0 {
				t.Fatal(err, im.Progress)
			}
			return im.ID
		}
		plain := imports(false)
		expect(t, "gifts wait after an import that asks for no thanks", "1", waiting(t, s, account))
		finishUndo(t, s, account, plain)
		asking := imports(true)
		expect(t, "gifts of the file wait, want those of Ada and Bo", "3", waiting(t, s, account))
		imports(true)
		expect(t, "gifts wait after the same file again", "3", waiting(t, s, account))
		finishUndo(t, s, account, asking)
		expect(t, "gifts wait after the undo", "1", waiting(t, s, account))
		wantSound(t, s)
	})
}
