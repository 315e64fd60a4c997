package book

import (
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// A transfer or a check that was promised on a page is the gift of who promised it, whatever the bank calls the payer.
func TestAPromisedGiftIsKnownByItsReference(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		number := shop.account.Number
		set := donate.Settings{Bank: donate.Bank{Name: "Clean Water", IBAN: "DE89 3704 0044 0532 0130 00"}, Check: "Clean Water\nBox 1"}
		succeed(t, s.SaveDonationSettings(t.Context(), number, set))
		promise := func(n int, way donate.Way) donate.Donation {
			t.Helper()
			w := wish(n)
			w.Way = way
			d, session := shop.give(w)
			if !d.IsPromise() || d.IsConfirmed() || session != "" || d.Provider != "" {
				t.Fatalf("a promise begins as %+v", d)
			}
			return d
		}
		first, second, check := promise(1, donate.ByTransfer), promise(2, donate.ByTransfer), promise(3, donate.ByCheck)
		today := time.Now().UTC().Format(time.DateOnly)
		if _, err := s.Received(t.Context(), number, second.ID, "2026-11-02", nil); len(faultsOf(err)) != 1 {
			t.Errorf("it arrived before it was promised: %v", err)
		}
		received, err := s.Received(t.Context(), number, second.ID, today, nil)
		if err != nil || received.State != donate.Paid || received.Gift == "" {
			t.Fatalf("what has arrived is %+v, %v", received, err)
		}
		if _, err := s.Received(t.Context(), number, second.ID, "", nil); faultsOf(err) == nil {
			t.Errorf("it arrived twice: %v", err)
		}
		statement := "Date,Amount,Name,Details\n" +
			today + ",50.00,LEE A,SEPA credit " + strings.ToLower(donate.Groups(first.Reference())) + " thank you\n" +
			today + ",50.00,A B LEE2,ref " + second.Reference() + "\n" +
			today + ",20.00,Someone Else,RF18000000 no reference of ours\n"
		rows := openTable(t, statement)
		spec := giftImportOf(rows)
		im, _ := must2(s.ImportFile(t.Context(), number, rows, spec, 0, false, func(jobs.ImportProgress) {}))(t)
		if at := im.Progress; at.Created != 2 || at.Unchanged != 1 {
			t.Errorf("the statement has brought %+v", at)
		}
		d := shop.look(first.ID)
		g, err := s.GiftRecord(t.Context(), number, d.Gift)
		if err != nil || d.State != donate.Paid || g.Giver.Email != "ann1@example.org" || g.Campaign != shop.campaign.ID || g.Giver.LastName != "Lee1" {
			t.Errorf("a transfer is %+v of %+v, %v", g.Gift, d, err)
		}
		if n, waits := len(shop.allGifts()), shop.look(check.ID); n != 3 || !waits.IsPromise() {
			t.Errorf("there are %d gifts, and the check is %+v", n, waits)
		}
		shop.change(`UPDATE donation SET created_at = created_at - 100 * 86400, updated_at = updated_at - 100 * 86400 WHERE account_id = $1 AND id = '`+first.ID+`'`, number)
		finishUndo(t, s, number, im.Job.ID)
		if err := s.SweepDonations(t.Context()); err != nil { // it waits as long as a new one
			t.Fatal(err)
		}
		if d := shop.look(first.ID); d.State != donate.Processing || d.Gift != "" {
			t.Errorf("after the import was undone, the promise is %+v", d)
		}
		open, _, err := s.Donations(t.Context(), number, donate.Filter{State: donate.Processing}, crm.PageRequest{Page: 1, PerPage: 10})
		if err != nil || len(open) != 1 { // the money of which had come; the check is not confirmed
			t.Errorf("%d promises are open: %v", len(open), err)
		}
		succeeded := 0
		for _, g := range shop.allGifts() {
			if g.Status == giving.Succeeded {
				succeeded++
			}
		}
		if succeeded != 1 {
			t.Errorf("%d gifts are left", succeeded)
		}
	})
}

// A dispute of a gift in another name is a second reason to look: neither replaces the other, and what is decided about one leaves the other. Once the last one is decided, the thanks go out.
func TestADisputeDoesNotHideAnotherName(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		account := shop.account.Number
		create(t, s, account, `{"first_name":"Ada","last_name":"Byron","emails":[{"value":"home@example.org"}]}`)
		give := func() (donate.Donation, string) {
			t.Helper()
			w := wish(1)
			w.Email = "home@example.org"
			d, session := shop.give(w)
			shop.stripe.Pay(session, stripetest.Card)
			shop.arrive()
			d = shop.look(d.ID)
			dispute := shop.stripe.Dispute(d.Payment)
			shop.arrive()
			return d, dispute
		}
		wants := func(id string, doubt donate.Doubt, mails int) {
			t.Helper()
			if now, got := shop.look(id), shop.mails("home@example.org"); now.Doubt != doubt || len(got) != mails {
				t.Errorf("a person is asked for %q, want %q; the mails are %q", now.Doubt, doubt, got)
			}
		}
		resolve := func(id string, reason donate.Doubt) {
			t.Helper()
			must(s.ResolveReview(t.Context(), account, id, reason))(t)
		}
		both := donate.OtherName.And(donate.Disputed)
		won, dispute := give()
		wants(won.ID, both, 0)
		shop.stripe.CloseDispute(dispute, true)
		shop.arrive()
		wants(won.ID, donate.OtherName, 0)
		resolve(won.ID, donate.OtherName)
		wants(won.ID, "", 1)

		later, dispute := give()
		resolve(later.ID, "something else")
		wants(later.ID, both, 1)
		resolve(later.ID, donate.OtherName)
		wants(later.ID, donate.Disputed, 1)
		shop.stripe.CloseDispute(dispute, true)
		shop.arrive()
		wants(later.ID, "", 2)
		shop.sound(s)
	})
}

// Someone gives with the email of a contact of another name: nothing is mailed about the gift, and no receipt made, until a person has looked. Then the thanks go to whom the gift is from.
func TestNoThanksGoOutInAnotherName(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		account := shop.account.Number
		ada := create(t, s, account, `{"first_name":"Ada","last_name":"Byron","emails":[{"value":"home@example.org"}]}`)
		ann := create(t, s, account, `{"first_name":"Ann","last_name":"Lee","emails":[{"value":"ann@example.org"}]}`)
		give := func(frequency string) donate.Donation {
			t.Helper()
			w := wish(1)
			w.Email, w.Frequency = "home@example.org", frequency
			d, session := shop.give(w)
			shop.stripe.Pay(session, stripetest.Card)
			shop.arrive()
			return shop.look(d.ID)
		}
		once, monthly := give(donate.Once), give("monthly")
		shop.stripe.Advance(32 * 24 * time.Hour)
		shop.arrive()
		if once.Doubt != donate.OtherName || monthly.Doubt != donate.OtherName || len(shop.allGifts()) != 3 {
			t.Fatalf("%+v, %+v, %d gifts", once, monthly, len(shop.allGifts()))
		}
		if got := shop.mails("home@example.org"); len(got) != 0 || len(receiptsOf(t, s, account)) != 0 || waiting(t, s, account) != 0 {
			t.Errorf("before anyone has looked: the mails %q, the receipts %v, %d gifts to thank for", got, receiptsOf(t, s, account), waiting(t, s, account))
		}
		must(s.UpdateGift(t.Context(), account, once.Gift, giving.GiftInput{Contact: &ann.ID}))(t)
		for range 2 {
			for _, d := range []donate.Donation{once, monthly} {
				must(s.ResolveReview(store.By(t.Context(), history.ConsoleChannel, "dana@example.org"), account, d.ID, donate.OtherName))(t)
			}
			if a, b := shop.mails("ann@example.org"), shop.mails("home@example.org"); len(a) != 1 || len(b) != 2 {
				t.Errorf("after someone has looked: %q to the donor who was chosen, %q for the monthly gift", a, b)
			}
		}
		if g, err := s.GiftRecord(t.Context(), account, once.Gift); err != nil || g.Thanks.How != giving.ThankedMail || g.Thanks.By != "dana@example.org" {
			t.Errorf("the gift says %+v: %v", g.Thanks, err)
		}
		give(donate.Once)
		data, err := s.ContactData(t.Context(), account, ada.ID)
		var own strings.Builder
		if err == nil {
			err = data.Write(t.Context(), &own)
		}
		if err != nil || strings.Count(own.String(), `"typed":`) != 2 || strings.Count(own.String(), `"kind":"thanks"`) != 2 {
			t.Errorf("%v: what is known of Ada is %s", err, own.String())
		}
		shop.sound(s)
	})
}
