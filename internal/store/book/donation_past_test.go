package book

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// everythingTyped is all that the tables of donations and events say.
func everythingTyped(t *testing.T, s *Book) (text string) {
	t.Helper()
	succeed(t, s.Read(t.Context(), func(c db.Conn) error {
		text = ""
		return c.Each(func(r db.Row) error { text += r.Text(0) + r.Text(1) + r.Text(2); return nil },
			`SELECT wish, email, fault FROM donation`)
	}))
	return text
}

// Who is erased is in no donation any more, neither in those that were paid nor in those that were only begun; a
// monthly gift that goes on is still in the books.
func TestAnErasureFindsWhatWasTypedOnPages(t *testing.T) {
	shop := newShop(t)
	monthly := wish(1)
	monthly.Frequency, monthly.Dedication = "monthly", &giving.Dedication{Type: "in_honor_of", Name: "Joe Quetzal"}
	d, session := shop.give(monthly)
	shop.stripe.Pay(session, stripetest.Card)
	_, otherSession := shop.give(wish(2))
	shop.stripe.Pay(otherSession, stripetest.Card)
	shop.give(wish(1)) // that is never paid
	shop.arrive()
	g := must(shop.GiftRecord(t.Context(), shop.Number, shop.look(d.ID).Gift))(t)
	erase(t, shop.Book, t.Context(), shop.Number, g.Contact)
	typed := everythingTyped(t, shop.Book)
	for _, said := range []string{"Lee1", "ann1@", "Quetzal"} {
		expect(t, said+" is still there", "false", strings.Contains(typed, said))
	}
	expect(t, "what someone else typed is there", "true", strings.Contains(typed, "ann2@"))
	shop.month()
	all := shop.allGifts()
	expect(t, "after a month there are", "3 false", len(all),
		slices.ContainsFunc(all, func(g giving.Gift) bool { return strings.Contains(g.Giver.Name(), "Lee1") }))
	shop.sound()
}

func TestWhatWasNeverPaidIsForgotten(t *testing.T) {
	shop := newShop(t)
	shop.set(donate.Settings{Check: "Clean Water"})
	paid := shop.paid(wish(1))
	debit, session := shop.give(wish(2))
	shop.stripe.Pay(session, stripetest.Debit)
	shop.arrive()
	begun, _ := shop.give(wish(3))
	w := byCheck(4)
	check, _ := shop.give(w)
	kept := func(days int) (ids []string) {
		t.Helper()
		succeed(t, shop.UpdateShared(t.Context(), shop.Number, func(tx *store.Tx) error {
			return tx.Run(`UPDATE donation SET created_at = $2, updated_at = $2 WHERE account_id = $1`,
				shop.Number, time.Now().AddDate(0, 0, -days).Unix())
		}))
		succeed(t, shop.SweepDonations(t.Context()))
		for _, d := range []donate.Donation{paid, debit, begun, check} {
			if _, err := shop.DonationByID(t.Context(), shop.Number, d.ID); err == nil {
				ids = append(ids, d.ID)
			}
		}
		return ids
	}
	for _, c := range []struct {
		days int
		want []string
	}{{29, []string{paid.ID, debit.ID, begun.ID, check.ID}}, {31, []string{paid.ID, debit.ID, check.ID}}, {91,
		[]string{paid.ID, debit.ID}}} {
		expect(t, "are left and not", "true", slices.Equal(kept(c.days), c.want))
	}
}

// A check was taken for that of a promise, months later, and was another one: the promise waits for its own as if it
// were new.
func TestAPromiseThatWaitsAgainIsNotForgotten(t *testing.T) {
	shop := newShop(t)
	shop.set(donate.Settings{Check: "Clean Water"})
	w := byCheck(1)
	d, _ := shop.give(w)
	shop.change(`UPDATE donation SET created_at = created_at - 100 * 86400, updated_at = updated_at - 100 * 86400 WHERE account_id = $1`, shop.Number)
	must(shop.Received(t.Context(), shop.Number, d.ID, "", nil))(t)
	must(shop.Unreceived(t.Context(), shop.Number, d.ID))(t)
	for _, wants := range []error{nil, crm.ErrNotFound} {
		succeed(t, shop.SweepDonations(t.Context()))
		refuses(t, "the promise", wants)(shop.DonationByID(t.Context(), shop.Number, d.ID))
		shop.change(`UPDATE donation SET updated_at = updated_at - 91 * 86400 WHERE account_id = $1`, shop.Number)
	}
}

// A check finds a payment that is in no gift.
func TestACheckFindsAPaymentThatIsInNoGift(t *testing.T) {
	shop := newShop(t)
	d := shop.paid(wish(1))
	set := func(payment string) {
		t.Helper()
		succeed(t, shop.UpdateShared(t.Context(), shop.Number, func(tx *store.Tx) error {
			return tx.Run(`UPDATE donation SET payment = $2 WHERE account_id = $1`, shop.Number, payment)
		}))
	}
	payment := shop.look(d.ID).Payment
	set("pi_lost")
	if found, _ := checkAll(t, shop.Book, false); len(found) != 1 ||
		!strings.Contains(found[0], "payment stripe pi_lost of donation "+d.ID) {
		t.Errorf("the check finds %q", found)
	}
	set(payment)
}

// An account that has moved to another server, where it has another id, has its plans and gifts with it, and no
// donations.
func TestMonthlyGiftsGoOnAfterAMove(t *testing.T) {
	shop := newShop(t)
	w := monthly(1)
	d := shop.paid(w)
	first := shop.allGifts()
	here := shop.Account
	move := func(id string) {
		t.Helper()
		succeed(t, shop.UpdateShared(t.Context(), here.Number, func(tx *store.Tx) error {
			return errors.Join(tx.Run(`DELETE FROM donation WHERE account_id = $1`, here.Number),
				tx.Run(`UPDATE account SET public_id = $2 WHERE account_id = $1`, here.Number, id))
		}))
		var err error
		if shop.Account, err = shop.AccountByNumber(t.Context(), here.Number); err != nil || shop.Account.ID != id {
			t.Fatalf("the account is %+v, %v", shop.Account, err)
		}
	}
	move("Moved4Elsewhere7")
	shop.stripe.Advance(32 * 24 * time.Hour)
	must(shop.stripe.Refund(d.Payment, 10_00))(t)
	shop.stripe.Fees()
	shop.arrive()
	expect(t, "wait for a person", "0", must(shop.Reviews(t.Context(), here.Number, 10))(t))
	move(here.ID)
	shop.sound()
	all := shop.allGifts()
	slices.SortFunc(all, func(a, b giving.Gift) int { return cmp.Compare(a.ID, b.ID) })
	if len(all) != 2 || len(first) != 1 || all[1].Campaign != first[0].Campaign ||
		all[1].Contact != first[0].Contact || all[1].Plan() != first[0].Plan() || all[1].Plan() == 0 ||
		all[0].Left() != 40_00 {
		t.Errorf("after the move, the gifts are %+v", all)
	}
}

// The books follow the provider also where the giver was merged with someone else, and where the merge was undone.
func TestPaymentsFollowAMergedGiver(t *testing.T) {
	shop := newShop(t)
	monthly := monthly(1)
	d := shop.paid(monthly)
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
		shop.sound()
	}
	d = shop.look(d.ID)
	first, survivor := giver(1), create(t, shop.Book, shop.Number,
		`{"first_name":"Anna","last_name":"Lee","emails":["anna@example.org"]}`).ID
	merge := mergeOf(t, shop.Book, shop.Number, survivor, first)
	refund()
	shop.stripe.Fees()
	shop.month()
	expect(t, "the second payment is from", "true", giver(2) == survivor)
	unmerge(t, shop.Book, shop.Number, merge, "US")
	refund()
	shop.stripe.Fees()
	shop.month()
	expect(t, "the third payment is from", "true", giver(3) == first)
	shop.sound()
	rejects(t, "a refund that the provider has paid out is undone")(shop.UndoRefund(t.Context(), shop.Number,
		d.Gift, nil, ""))
	shop.sound()
}

// Of what was begun on the page of a campaign a gift may come, so that the campaign stays until it is over.
func TestACampaignStaysWhileSomeoneGives(t *testing.T) {
	shop := newShop(t)
	d, _ := shop.give(wish(1))
	rejects(t, "a campaign that someone gives to is deleted")(shop.DeleteCampaign(t.Context(), shop.Account,
		shop.campaign.ID, ""))
	shop.stripe.Advance(2 * time.Hour)
	equal(t, must(shop.LookAtDonation(t.Context(), shop.Number, d.ID))(t).State, donate.Expired,
		"a page that was left")
	succeed(t, shop.DeleteCampaign(t.Context(), shop.Account, shop.campaign.ID, ""))
	expect(t, "the donation is", "0", shop.look(d.ID).Campaign)
	shop.sound()
}

// Nothing is merged into an archived contact: who gives again is a new contact, and a person is asked to look. The
// gifts of a plan stay with its contact.
func TestAnArchivedGiverIsListedForReview(t *testing.T) {
	shop := newShop(t)
	number := shop.Number
	pay := func(w donate.Wish) (donate.Donation, giving.Gift) {
		t.Helper()
		d := shop.paid(w)
		g := must(shop.GiftRecord(t.Context(), number, d.Gift))(t)
		return d, g.Gift
	}
	archive := func(contact int64) {
		t.Helper()
		succeed(t, shop.ArchiveContact(t.Context(), number, contact))
	}
	first, was := pay(wish(1))
	archive(was.Contact)
	again, is := pay(wish(1))
	expect(t, "who was archived as contact", "true archived false", first.Doubt == "", again.Doubt,
		is.Contact == was.Contact)
	if more, g := pay(wish(1)); more.Doubt != "" || g.Contact != is.Contact {
		t.Errorf("a third gift is of contact %d, in doubt of %q", g.Contact, more.Doubt)
	}
	// a first payment of a plan makes the contact with the plan
	for _, frequency := range []string{donate.Once, "monthly"} {
		w := wish(2)
		w.Frequency = frequency
		_, g := pay(w)
		archive(g.Contact)
		if d, _ := pay(w); d.Doubt != donate.Archived {
			t.Errorf("%s, who was archived gives again in doubt of %q", frequency, d.Doubt)
		}
		archive(shop.newest().Contact)
	}
	monthly := monthly(3)
	d, planned := pay(monthly)
	archive(planned.Contact)
	shop.month()
	paid := slices.DeleteFunc(shop.allGifts(), func(g giving.Gift) bool {
		return g.PlanCode != d.GiftPlan ||
			g.Contact != planned.Contact
	})
	expect(t, "that was archived has paid", "2 archived", len(paid), shop.look(d.ID).Doubt)
	must(shop.ResolveReview(t.Context(), number, d.ID, donate.Archived))(t)
	shop.month()
	expect(t, "what a person has decided about is asked again", "true", shop.look(d.ID).Doubt == "")
	shop.stripe.Fees()
	shop.arrive()
	shop.sound()
}

// newest is the gift that was recorded last.
func (shop *org) newest() giving.Gift {
	shop.Helper()
	return slices.MaxFunc(shop.allGifts(), func(a, b giving.Gift) int { return int(a.ID - b.ID) })
}

// A promise that is kept asks the same.
func TestAPromiseOfAnArchivedGiverIsListedForReview(t *testing.T) {
	shop := newShop(t)
	shop.set(donate.Settings{Check: "Clean Water"})
	contact := create(t, shop.Book, shop.Number,
		`{"first_name":"Ann","last_name":"Lee1","emails":["ann1@example.org"]}`).ID
	succeed(t, shop.ArchiveContact(t.Context(), shop.Number, contact))
	w := byCheck(1)
	d, _ := shop.give(w)
	expect(t, "a check of who was archived is", "archived",
		must(shop.Received(t.Context(), shop.Number, d.ID, "", nil))(t).Doubt)
}

// What strangers type fills what is empty in a contact, and changes nothing that is there. The gift keeps it as it
// was typed.
func TestAFormFillsOnlyWhatIsEmpty(t *testing.T) {
	shop := newShop(t)
	known := create(t, shop.Book, shop.Number, `{"first_name":"Ann","last_name":"Lee","company":"Harbor","do_not_email":true,"emails":["ann@example.org"],"addresses":[{"address_1":"1 Pier","city":"Boston"}]}`).ID
	before := recordOf(t, shop.Book, shop.Number, known)
	w := wish(1)
	w.FirstName, w.LastName, w.Company, w.Email, w.Phone = "Mallory", "Evil", "Evil Ltd", "ann@example.org", "617-555-0100"
	d, session := shop.give(w)
	is := recordOf(t, shop.Book, shop.Number, known)
	expect(t, "before money has arrived, the contact is", string(before.AppendBody(nil)),
		string(is.AppendBody(nil)))
	shop.stripe.Pay(session, stripetest.Card)
	shop.arrive()
	is = recordOf(t, shop.Book, shop.Number, known)
	if is.FirstName != "Ann" || is.LastName != "Lee" || is.Company != "Harbor" || !is.DoNotEmail ||
		len(is.Addresses) != 1 || is.Emails[0].Value != "ann@example.org" {
		t.Errorf("a form has made %+v", is)
	}
	expect(t, "a form has not filled the phone", "1", len(is.Phones))
	d = shop.look(d.ID)
	g := must(shop.GiftRecord(t.Context(), shop.Number, d.Gift))(t)
	expect(t, "the gift is", "true Evil name", g.Contact == known, g.Giver.LastName, d.Doubt)
}

// The days of a plan, and of its gifts, are those of the organization's clock, wherever the provider's is.
func TestAPlanHasTheDaysOfTheOrganization(t *testing.T) {
	s := newBook(t)
	// 25 hours apart, so that the day of one of them is not that of UTC
	for _, zone := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago"} {
		shop := newShopOn(t, s, true)
		succeed(t, s.SetAccountSettings(t.Context(), shop.Number, access.AccountSettingsInput{Timezone: &zone}))
		there := must(time.LoadLocation(zone))(t)
		succeed(t, s.SaveDonationSettings(t.Context(), shop.Number,
			donate.Settings{Cover: donate.OfferCover, Rate: donate.Rate{Points: 290, Fixed: 30}}))
		w := wish(1)
		w.Frequency, w.Cover = "monthly", true
		d := shop.paid(w)
		p, err := s.Plan(t.Context(), shop.Number, d.GiftPlan)
		succeed(t, err)
		equal(t, p.Amount, 51_81)
		equal(t, p.Covered, 1_81)
		begun, next := shop.stripe.Period(d.Plan)
		for what, days := range map[string][2]time.Time{"begins": {p.StartAt, begun},
			"is due": {p.NextBill, next}} {
			if got, want := days[0].Format(time.DateTime), days[1].In(there).Format(time.DateOnly)+" 00:00:00"; got != want {
				t.Errorf("in %s, a plan %s on %s and not on %s", zone, what, got, want)
			}
		}
		expect(t, "the gift is of", "true", shop.newest().Local.Format(time.DateOnly) == begun.In(there).Format(time.DateOnly))
		rows := openTable(t, "Date (UTC),Amount,First Name,Last Name,Email,Recurring ID\n2026-03-10 17:30:00,25,Mo,Nthly,mo@example.org,sub_1\n")
		must2(s.ImportFile(t.Context(), shop.Number, rows, giftImportOf(rows), 0, false,
			func(jobs.ImportProgress) {}))(t)
		filed := shop.newest()
		expect(t, "the plan of a file begins on", "true",
			must(s.Plan(t.Context(), shop.Number,
				filed.PlanCode))(t).StartAt.Equal(filed.Local.Truncate(24*time.Hour)))
	}
}
