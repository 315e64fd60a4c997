package book

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/pay/stripetest"
)

// letters are what one person was sent with a word in its subject: the subject and everything that it says.
func (shop *giftShop) letters(to, word string) (all []string) {
	shop.t.Helper()
	shop.mails(to)
	for _, l := range shop.office.taken {
		if l.To.String() == to && strings.Contains(l.Message.Subject.String(), word) {
			all = append(all, l.Message.Subject.String()+"\n"+l.Text())
		}
	}
	return all
}

// Whose gift was refunded hears of it once, whether the money goes back through the provider, by its dashboard, or by hand.
func TestADonorHearsOfARefund(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		account := shop.account.Number
		paid := func(n int) donate.Donation {
			t.Helper()
			d, session := shop.give(wish(n))
			shop.stripe.Pay(session, stripetest.Card)
			shop.arrive()
			return shop.look(d.ID)
		}
		hears := func(to string, words ...string) {
			t.Helper()
			all := shop.letters(to, "refund")
			if len(all) != len(words) {
				t.Fatalf("%s hears of %d refunds, want %d: %q", to, len(all), len(words), all)
			}
			for i, said := range words {
				if !strings.Contains(all[i], said) {
					t.Errorf("%s reads %s\nwithout %q", to, all[i], said)
				}
			}
		}
		back := func(code string, amount *int64) {
			t.Helper()
			must(s.RefundGift(t.Context(), account, code, amount, ""))(t)
		}
		here, there, disputed := paid(1), paid(2), paid(3)
		back(here.Gift, ptr(int64(10_0000)))
		hears("ann1@example.org", "$10.00 of your gift of $50.00")
		back(here.Gift, nil)
		shop.arrive()
		shop.arrive()
		hears("ann1@example.org", "$10.00 of your gift", "refunded your gift of $50.00")
		must(shop.stripe.Refund(there.Payment, 50_00))(t)
		shop.arrive()
		hears("ann2@example.org", "refunded your gift of $50.00")
		shop.stripe.Dispute(disputed.Payment)
		shop.arrive()
		hears("ann3@example.org")

		ann := must(s.GiftRecord(t.Context(), account, here.Gift))(t)
		data, err := s.ContactData(t.Context(), account, ann.Contact)
		var own strings.Builder
		if err == nil {
			err = data.Write(t.Context(), &own)
		}
		if err != nil || strings.Count(own.String(), `"kind":"refunded"`) != 2 {
			t.Errorf("%v: what is known of Ann is %s", err, own.String())
		}
		byHand := func(n string, more string) giving.Gift {
			return giveNow(t, s, account, `,"first_name":"Bob","last_name":"`+n+`","email":"bob`+n+`@example.org"`+more).Gift
		}
		noted := byHand("One", "")
		back(noted.Code, nil)
		hears("bobOne@example.org", "refunded your gift of $50.00")
		undone := byHand("Two", "")
		back(undone.Code, nil)
		must(s.UndoRefund(t.Context(), account, undone.Code, nil, ""))(t)
		hears("bobTwo@example.org")
		erased := byHand("Three", "")
		back(erased.Code, nil)
		must(s.EraseContact(t.Context(), account, erased.Contact))(t)
		finishJobs(t, s)
		hears("bobThree@example.org")
		test := byHand("Four", `,"livemode":false`)
		back(test.Code, nil)
		hears("bobFour@example.org")
		quiet := byHand("Five", "")
		must(s.UpdateContact(t.Context(), account, quiet.Contact, input(t, `{"do_not_email":true}`)))(t)
		back(quiet.Code, nil)
		hears("bobFive@example.org")
		shop.sound(s)
	})
}

// Who ends a monthly gift needs no mail but the thank-you, and gets one that says so. So does whose gift the staff or the
// provider ends.
func TestADonorEndsAMonthlyGiftByItsThankYou(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		begin := func(n int) donate.Donation {
			t.Helper()
			w := wish(n)
			w.Frequency = donate.Monthly
			d, session := shop.give(w)
			shop.stripe.Pay(session, stripetest.Card)
			shop.arrive()
			return shop.look(d.ID)
		}
		ended := func(to string, times int) {
			t.Helper()
			shop.arrive()
			all := shop.letters(to, "has ended")
			if len(all) != times || times > 0 && !strings.Contains(all[0], "$50.00") {
				t.Errorf("%s was told %d times that the gift has ended: %q", to, len(all), all)
			}
		}
		d := begin(1)
		if n := len(shop.mails("ann1@example.org")); n != 1 {
			t.Fatalf("%d mails about a monthly gift", n)
		}
		link := strings.TrimPrefix(shop.office.last().Path, donate.ManagePath)
		if m, err := s.ManagedPlan(t.Context(), link); err != nil || m.Plan.Code != d.GiftPlan {
			t.Fatalf("the link of the thank-you shows %+v: %v", m.Plan, err)
		}
		if _, err := s.ManagedPlan(t.Context(), link[:len(link)-1]); !errors.Is(err, crm.ErrNotFound) {
			t.Errorf("a link that was guessed opens the gift: %v", err)
		}
		if _, err := s.ChangePlan(t.Context(), link, donate.NewAmount, 500_00); !errors.Is(err, crm.ErrNotFound) {
			t.Errorf("a link that lasts changes the amount: %v", err)
		}
		if m, err := s.ChangePlan(t.Context(), link, donate.CancelPlan, 0); err != nil || m.Plan.Status != giving.Ended {
			t.Fatalf("the end is %+v: %v", m.Plan, err)
		}
		ended("ann1@example.org", 1)
		if all := shop.mails("ann1@example.org"); len(all) != 2 {
			t.Errorf("to end a monthly gift took the mails %q", all)
		}
		byStaff := begin(2)
		status := string(giving.Ended)
		must(s.UpdatePlan(t.Context(), shop.account.Number, byStaff.GiftPlan, giving.PlanInput{
			GiftInput: giving.GiftInput{Status: &status},
		}))(t)
		ended("ann2@example.org", 1)
		begin(3)
		ended("ann3@example.org", 0)
		shop.sound(s)
	})
}

// The thank-you for a monthly gift says once how to end it: by its link, or by us where no provider takes the gift.
func TestTheThankYouOfAMonthlyGiftSaysOnceHowToEndIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		account := shop.account.Number
		w := wish(1)
		w.Frequency = donate.Monthly
		_, session := shop.give(w)
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		shop.mails("ann1@example.org")
		byCard := shop.office.last()
		bob := create(t, s, account, `{"first_name":"Bob","emails":["bob@example.org"]}`).ID
		plan := newPlan(t, s, account,
			fmt.Sprintf(`{"contact_id":%d,"amount":50,"method":"check","frequency":"monthly","start_at":"2026-01-05"}`, bob))
		giveNow(t, s, account, fmt.Sprintf(`,"contact_id":%d,"plan_id":%q,"send_receipt":true`, bob, plan.Code))
		shop.mails("bob@example.org")
		byCheck := shop.office.last()
		for letter, contact := range map[*mail.Letter]int{byCard: 0, byCheck: 1} {
			said := letter.Text()
			if strings.Contains(said, "let us know") || strings.Count(said, "contact us") != contact ||
				(letter.Path == "") != (contact == 1) || !strings.Contains(said, "recurring gift") {
				t.Errorf("%s reads %s\nand has the link %q", letter.To, said, letter.Path)
			}
		}
	})
}

// A promise is told to the email address that was typed, and listed for as long as it may be confirmed. What nobody has
// confirmed is still known by its reference.
func TestAPromiseIsConfirmedByItsEmail(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		number := shop.account.Number
		set := donate.Settings{Bank: donate.Bank{Name: "Clean Water", IBAN: "DE89 3704 0044 0532 0130 00"}, Check: "Clean Water\nBox 1"}
		succeed(t, s.SaveDonationSettings(t.Context(), number, set))
		promise := func(n int, way donate.Way) (donate.Donation, string) {
			t.Helper()
			w := wish(n)
			w.Way, w.FirstName = way, "Win a prize"
			d, _ := shop.give(w)
			shop.mails(w.Email)
			l := shop.office.last()
			if l.To.String() != w.Email {
				t.Fatalf("the last mail goes to %s", l.To)
			}
			for _, said := range append([]string{"$50.00", donate.Groups(d.Reference())}, map[donate.Way][]string{
				donate.ByCheck: {"Clean Water", "Box 1"}, donate.ByTransfer: {"DE89 3704 0044 0532 0130 00"},
			}[way]...) {
				if !strings.Contains(l.Text(), said) {
					t.Errorf("a promise by %s is told as %s\nwithout %q", way, l.Text(), said)
				}
			}
			if strings.Contains(l.Text(), "prize") {
				t.Errorf("the mail repeats what anyone may have typed: %s", l.Text())
			}
			return d, strings.TrimPrefix(l.Path, donate.ManagePath)
		}
		listed := func(f donate.Filter, want ...donate.Donation) {
			t.Helper()
			found, result, err := s.Donations(t.Context(), number, f, crm.PageRequest{Page: 1, PerPage: 10})
			var ids, wanted []string
			for i := range found {
				ids = append(ids, found[i].ID)
			}
			for i := range want {
				wanted = append(wanted, want[i].ID)
			}
			slices.Sort(ids)
			if slices.Sort(wanted); err != nil || !slices.Equal(ids, wanted) || result.Total != int64(len(want)) {
				t.Errorf("%+v lists %v (%d), want %v: %v", f, ids, result.Total, wanted, err)
			}
		}
		check, link := promise(1, donate.ByCheck)
		stale, _ := promise(2, donate.ByTransfer)
		kept, _ := promise(3, donate.ByTransfer)
		listed(donate.Filter{}, check, stale, kept)
		if _, err := s.ConfirmPromise(t.Context(), link+"x"); !errors.Is(err, crm.ErrNotFound) {
			t.Errorf("a link that was guessed confirms: %v", err)
		}
		for range 2 {
			if d, err := s.ConfirmPromise(t.Context(), link); err != nil || !d.IsConfirmed() {
				t.Errorf("confirmed is %+v: %v", d, err)
			}
		}
		if _, err := s.ManagedPlan(t.Context(), link); !errors.Is(err, crm.ErrNotFound) {
			t.Errorf("the link of a promise opens a monthly gift: %v", err)
		}
		now := time.Now()
		s.Now = func() time.Time { return now.Add(donate.ConfirmTime + time.Hour) }
		listed(donate.Filter{}, check)
		listed(donate.Filter{Promised: true}, check)
		listed(donate.Filter{Find: stale.Reference()}, stale)
		if d, err := s.Received(t.Context(), number, kept.ID, "", nil); err != nil || d.State != donate.Paid {
			t.Errorf("a promise that no one confirmed is received as %+v: %v", d, err)
		}
		listed(donate.Filter{}, check, kept)
		if g, err := s.GiftRecord(t.Context(), number, shop.look(kept.ID).Gift); err != nil || g.Left() != 50_00 {
			t.Errorf("its gift is %+v: %v", g.Gift, err)
		}
		shop.sound(s)
	})
}

// Strangers who type the address of someone else send them a few mails at most. Where no mail is sent, promises need none.
func TestFewMailsGoToWhoConfirmsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		succeed(t, s.SaveDonationSettings(t.Context(), shop.account.Number, donate.Settings{Check: "Clean Water\nBox 1"}))
		w := wish(1)
		w.Way = donate.ByCheck
		for range 6 {
			shop.give(w)
		}
		if all := shop.mails(w.Email); len(all) != 3 {
			t.Errorf("%d mails to someone who asked for none", len(all))
		}
		w.Email = "ann@xn--bcher-kva.example" // which is kept in another spelling
		for range 6 {
			shop.give(w)
		}
		if all := shop.mails(w.Email); len(all) != 3 {
			t.Errorf("%d mails to an international address", len(all))
		}
		s.UseRelay(nil)
		if d, _ := shop.give(w); !d.IsConfirmed() {
			t.Errorf("without mail, a promise waits for a confirmation: %+v", d)
		}
		if m := (mail.Mail{Kind: mail.Promised}); !m.GoesToDonor() {
			t.Error("staff take the mail for one of theirs")
		}
	})
}
