package book

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store"
)

// everythingTyped is all that the tables of donations and events say.
func everythingTyped(t *testing.T, s *Book) (text string) {
	t.Helper()
	succeed(t, s.Read(t.Context(), func(c db.Conn) error {
		text = ""
		return c.Each(func(r db.Row) error { text += r.Text(0) + r.Text(1) + r.Text(2); return nil }, `SELECT wish, email, fault FROM donation`)
	}))
	return text
}

// Who is erased is in no donation any more, neither in those that were paid nor in those that were only begun; a monthly gift that goes on is still in the books.
func TestAnErasureFindsWhatWasTypedOnPages(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		monthly := wish(1)
		monthly.Frequency, monthly.Dedication = "monthly", &giving.Dedication{Type: "in_honor_of", Name: "Joe Quetzal"}
		d, session := shop.give(monthly)
		shop.stripe.Pay(session, stripetest.Card)
		other, otherSession := shop.give(wish(2))
		shop.stripe.Pay(otherSession, stripetest.Card)
		shop.give(wish(1)) // that is never paid
		shop.arrive()
		g := must(s.GiftRecord(t.Context(), shop.account.Number, shop.look(d.ID).Gift))(t)
		erase(t, s, t.Context(), shop.account.Number, g.Contact)
		typed := everythingTyped(t, s)
		for _, said := range []string{"Lee1", "ann1@", "Quetzal"} {
			if strings.Contains(typed, said) {
				t.Errorf("%q is still in %s", said, typed)
			}
		}
		if !strings.Contains(typed, "ann2@") {
			t.Errorf("donation %s of someone else is gone: %s", other.ID, typed)
		}
		shop.stripe.Advance(32 * 24 * time.Hour)
		shop.arrive()
		if all := shop.allGifts(); len(all) != 3 || slices.ContainsFunc(all, func(g giving.Gift) bool { return strings.Contains(g.Giver.Name(), "Lee1") }) {
			t.Errorf("after a month there are %+v", all)
		}
		shop.sound(s)
	})
}

func TestWhatWasNeverPaidIsForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		succeed(t, s.SaveDonationSettings(t.Context(), shop.account.Number, donate.Settings{Check: "Clean Water"}))
		paid, session := shop.give(wish(1))
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		debit, session := shop.give(wish(2))
		shop.stripe.Pay(session, stripetest.Debit)
		shop.arrive()
		begun, _ := shop.give(wish(3))
		w := wish(4)
		w.Way = donate.ByCheck
		check, _ := shop.give(w)
		kept := func(days int) (ids []string) {
			t.Helper()
			succeed(t, s.UpdateShared(t.Context(), shop.account.Number, func(tx *store.Tx) error {
				return tx.Run(`UPDATE donation SET created_at = $2, updated_at = $2 WHERE account_id = $1`, shop.account.Number, time.Now().AddDate(0, 0, -days).Unix())
			}))
			succeed(t, s.SweepDonations(t.Context()))
			for _, d := range []donate.Donation{paid, debit, begun, check} {
				if _, err := s.DonationByID(t.Context(), shop.account.Number, d.ID); err == nil {
					ids = append(ids, d.ID)
				}
			}
			return ids
		}
		for _, c := range []struct {
			days int
			want []string
		}{{29, []string{paid.ID, debit.ID, begun.ID, check.ID}}, {31, []string{paid.ID, debit.ID, check.ID}}, {91, []string{paid.ID, debit.ID}}} {
			if got := kept(c.days); !slices.Equal(got, c.want) {
				t.Errorf("after %d days, %v are left and not %v", c.days, got, c.want)
			}
		}
	})
}

// A check was taken for that of a promise, months later, and was another one: the promise waits for its own as if it were new.
func TestAPromiseThatWaitsAgainIsNotForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		succeed(t, s.SaveDonationSettings(t.Context(), shop.account.Number, donate.Settings{Check: "Clean Water"}))
		w := wish(1)
		w.Way = donate.ByCheck
		d, _ := shop.give(w)
		shop.change(`UPDATE donation SET created_at = created_at - 100 * 86400, updated_at = updated_at - 100 * 86400 WHERE account_id = $1`, shop.account.Number)
		must(s.Received(t.Context(), shop.account.Number, d.ID, "", nil))(t)
		must(s.Unreceived(t.Context(), shop.account.Number, d.ID))(t)
		for _, wants := range []error{nil, crm.ErrNotFound} {
			succeed(t, s.SweepDonations(t.Context()))
			if _, err := s.DonationByID(t.Context(), shop.account.Number, d.ID); !errors.Is(err, wants) {
				t.Errorf("the promise: %v, want %v", err, wants)
			}
			shop.change(`UPDATE donation SET updated_at = updated_at - 91 * 86400 WHERE account_id = $1`, shop.account.Number)
		}
	})
}

// A check finds a payment that is in no gift.
func TestACheckFindsAPaymentThatIsInNoGift(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		d, session := shop.give(wish(1))
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		set := func(payment string) {
			t.Helper()
			succeed(t, s.UpdateShared(t.Context(), shop.account.Number, func(tx *store.Tx) error {
				return tx.Run(`UPDATE donation SET payment = $2 WHERE account_id = $1`, shop.account.Number, payment)
			}))
		}
		payment := shop.look(d.ID).Payment
		set("pi_lost")
		if found, _ := checkAll(t, s, false); len(found) != 1 || !strings.Contains(found[0], "payment stripe pi_lost of donation "+d.ID) {
			t.Errorf("the check finds %q", found)
		}
		set(payment)
	})
}

// An account that has moved to another server, where it has another id, has its plans and gifts with it, and no donations.
func TestMonthlyGiftsGoOnAfterAMove(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		w := wish(1)
		w.Frequency = "monthly"
		d, session := shop.give(w)
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		d = shop.look(d.ID)
		first := shop.allGifts()
		here := shop.account
		move := func(id string) {
			t.Helper()
			succeed(t, s.UpdateShared(t.Context(), here.Number, func(tx *store.Tx) error {
				return errors.Join(tx.Run(`DELETE FROM donation WHERE account_id = $1`, here.Number), tx.Run(`UPDATE account SET public_id = $2 WHERE account_id = $1`, here.Number, id))
			}))
			var err error
			if shop.account, err = s.AccountByNumber(t.Context(), here.Number); err != nil || shop.account.ID != id {
				t.Fatalf("the account is %+v, %v", shop.account, err)
			}
		}
		move("Moved4Elsewhere7")
		shop.stripe.Advance(32 * 24 * time.Hour)
		must(shop.stripe.Refund(d.Payment, 10_00))(t)
		shop.stripe.Fees()
		shop.arrive()
		if waiting, err := s.Reviews(t.Context(), here.Number, 10); err != nil || waiting != 0 {
			t.Errorf("%v wait for a person, %v", waiting, err)
		}
		move(here.ID)
		shop.sound(s)
		all := shop.allGifts()
		slices.SortFunc(all, func(a, b giving.Gift) int { return cmp.Compare(a.ID, b.ID) })
		if len(all) != 2 || len(first) != 1 || all[1].Campaign != first[0].Campaign || all[1].Contact != first[0].Contact || all[1].Plan() != first[0].Plan() || all[1].Plan() == 0 || all[0].Left() != 40_00 {
			t.Errorf("after the move, the gifts are %+v", all)
		}
	})
}

// The books follow the provider also where the giver was merged with someone else, and where the merge was undone.
func TestPaymentsFollowAMergedGiver(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		monthly := wish(1)
		monthly.Frequency = "monthly"
		d, session := shop.give(monthly)
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		giver := func(n int) int64 {
			t.Helper()
			all := shop.allGifts()
			slices.SortFunc(all, func(a, b giving.Gift) int { return cmp.Compare(a.ID, b.ID) })
			if len(all) != n {
				t.Fatalf("there are %d gifts, not %d", len(all), n)
			}
			return all[n-1].Contact
		}
		refund := func() {
			t.Helper()
			must(shop.stripe.Refund(d.Payment, 10_00))(t)
			shop.arrive()
			shop.sound(s)
		}
		d = shop.look(d.ID)
		first, survivor := giver(1), create(t, s, shop.account.Number, `{"first_name":"Anna","last_name":"Lee","emails":["anna@example.org"]}`).ID
		merge := mergeOf(t, s, shop.account.Number, survivor, first)
		refund()
		shop.stripe.Advance(32 * 24 * time.Hour)
		shop.stripe.Fees()
		shop.arrive()
		if got := giver(2); got != survivor {
			t.Errorf("the second payment is from %d and not from %d", got, survivor)
		}
		unmerge(t, s, shop.account.Number, merge, "US")
		refund()
		shop.stripe.Advance(32 * 24 * time.Hour)
		shop.stripe.Fees()
		shop.arrive()
		if got := giver(3); got != first {
			t.Errorf("the third payment is from %d and not from %d", got, first)
		}
		shop.sound(s)
		if _, err := s.UndoRefund(t.Context(), shop.account.Number, d.Gift, nil, ""); !errors.As(err, new(*doc.Invalid)) {
			t.Errorf("a refund that the provider has paid out is undone: %v", err)
		}
		shop.sound(s)
	})
}

// Of what was begun on the page of a campaign a gift may come, so that the campaign stays until it is over.
func TestACampaignStaysWhileSomeoneGives(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		d, _ := shop.give(wish(1))
		if err := s.DeleteCampaign(t.Context(), shop.account, shop.campaign.ID, ""); faultsOf(err) == nil {
			t.Errorf("a campaign that someone gives to is deleted: %v", err)
		}
		shop.stripe.Advance(2 * time.Hour)
		if now, err := s.LookAtDonation(t.Context(), shop.account.Number, d.ID); err != nil || now.State != donate.Expired {
			t.Fatalf("a page that was left is %+v, %v", now, err)
		}
		if err := s.DeleteCampaign(t.Context(), shop.account, shop.campaign.ID, ""); err != nil {
			t.Errorf("a campaign that no one gave to stays: %v", err)
		}
		if now := shop.look(d.ID); now.Campaign != 0 {
			t.Errorf("the donation is %+v", now)
		}
		shop.sound(s)
	})
}
