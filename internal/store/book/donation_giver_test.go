package book

import (
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store/jobs"
)

// Nothing is merged into an archived contact: who gives again is a new contact, and a person is asked to look. The gifts of a plan stay with its contact.
func TestAnArchivedGiverIsListedForReview(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		number := shop.account.Number
		pay := func(w donate.Wish) (donate.Donation, giving.Gift) {
			t.Helper()
			d, session := shop.give(w)
			shop.stripe.Pay(session, stripetest.Card)
			shop.arrive()
			d = shop.look(d.ID)
			g := must(s.GiftRecord(t.Context(), number, d.Gift))(t)
			return d, g.Gift
		}
		archive := func(contact int64) {
			t.Helper()
			succeed(t, s.ArchiveContact(t.Context(), number, contact))
		}
		first, was := pay(wish(1))
		archive(was.Contact)
		again, is := pay(wish(1))
		if first.Doubt != "" || again.Doubt != donate.Archived || is.Contact == was.Contact {
			t.Errorf("who was archived as contact %d gives again as %d, in doubt of %q", was.Contact, is.Contact, again.Doubt)
		}
		if more, g := pay(wish(1)); more.Doubt != "" || g.Contact != is.Contact {
			t.Errorf("a third gift is of contact %d, in doubt of %q", g.Contact, more.Doubt)
		}
		for _, frequency := range []string{donate.Once, "monthly"} { // a first payment of a plan makes the contact with the plan
			w := wish(2)
			w.Frequency = frequency
			_, g := pay(w)
			archive(g.Contact)
			if d, _ := pay(w); d.Doubt != donate.Archived {
				t.Errorf("%s, who was archived gives again in doubt of %q", frequency, d.Doubt)
			}
			archive(shop.newest().Contact)
		}
		monthly := wish(3)
		monthly.Frequency = "monthly"
		d, planned := pay(monthly)
		archive(planned.Contact)
		shop.stripe.Advance(32 * 24 * time.Hour)
		shop.arrive()
		paid := slices.DeleteFunc(shop.allGifts(), func(g giving.Gift) bool { return g.PlanCode != d.GiftPlan || g.Contact != planned.Contact })
		if len(paid) != 2 || shop.look(d.ID).Doubt != donate.Archived {
			t.Errorf("the plan of contact %d that was archived has paid %+v, in doubt of %q", planned.Contact, paid, shop.look(d.ID).Doubt)
		}
		must(s.ResolveReview(t.Context(), number, d.ID, donate.Archived))(t)
		shop.stripe.Advance(32 * 24 * time.Hour)
		shop.arrive()
		if now := shop.look(d.ID); now.Doubt != "" {
			t.Errorf("what a person has decided about is asked again: %q", now.Doubt)
		}
		shop.stripe.Fees()
		shop.arrive()
		shop.sound(s)
	})
}

// newest is the gift that was recorded last.
func (shop *giftShop) newest() giving.Gift {
	shop.t.Helper()
	return slices.MaxFunc(shop.allGifts(), func(a, b giving.Gift) int { return int(a.ID - b.ID) })
}

// A promise that is kept asks the same.
func TestAPromiseOfAnArchivedGiverIsListedForReview(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		succeed(t, s.SaveDonationSettings(t.Context(), shop.account.Number, donate.Settings{Check: "Clean Water"}))
		contact := create(t, s, shop.account.Number, `{"first_name":"Ann","last_name":"Lee1","emails":["ann1@example.org"]}`).ID
		succeed(t, s.ArchiveContact(t.Context(), shop.account.Number, contact))
		w := wish(1)
		w.Way = donate.ByCheck
		d, _ := shop.give(w)
		if d, err := s.Received(t.Context(), shop.account.Number, d.ID, "", nil); err != nil || d.Doubt != donate.Archived {
			t.Errorf("a check of who was archived is %+v, %v", d, err)
		}
	})
}

// What strangers type fills what is empty in a contact, and changes nothing that is there. The gift keeps it as it was typed.
func TestAFormFillsOnlyWhatIsEmpty(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		known := create(t, s, shop.account.Number, `{"first_name":"Ann","last_name":"Lee","company":"Harbor","do_not_email":true,"emails":["ann@example.org"],"addresses":[{"address_1":"1 Pier","city":"Boston"}]}`).ID
		before := recordOf(t, s, shop.account.Number, known)
		w := wish(1)
		w.FirstName, w.LastName, w.Company, w.Email, w.Phone = "Mallory", "Evil", "Evil Ltd", "ann@example.org", "617-555-0100"
		d, session := shop.give(w)
		if is := recordOf(t, s, shop.account.Number, known); string(is.AppendBody(nil)) != string(before.AppendBody(nil)) {
			t.Errorf("before money has arrived, the contact is %+v", is)
		}
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		is := recordOf(t, s, shop.account.Number, known)
		if is.FirstName != "Ann" || is.LastName != "Lee" || is.Company != "Harbor" || !is.DoNotEmail || len(is.Addresses) != 1 || is.Emails[0].Value != "ann@example.org" {
			t.Errorf("a form has made %+v", is)
		}
		if len(is.Phones) != 1 {
			t.Errorf("a form has not filled the phone: %+v", is.Phones)
		}
		d = shop.look(d.ID)
		g, err := s.GiftRecord(t.Context(), shop.account.Number, d.Gift)
		if err != nil || g.Contact != known || g.Giver.LastName != "Evil" || d.Doubt != donate.OtherName {
			t.Errorf("the gift is %+v of %+v, %v", g.Gift, d, err)
		}
	})
}

// The days of a plan, and of its gifts, are those of the organization's clock, wherever the provider's is.
func TestAPlanHasTheDaysOfTheOrganization(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		for _, zone := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago"} { // 25 hours apart, so that the day of one of them is not that of UTC
			shop := newGiftShop(t, s)
			succeed(t, s.SetAccountSettings(t.Context(), shop.account.Number, access.AccountSettingsInput{Timezone: &zone}))
			there := must(time.LoadLocation(zone))(t)
			succeed(t, s.SaveDonationSettings(t.Context(), shop.account.Number, donate.Settings{Cover: donate.OfferCover, Rate: donate.Rate{Points: 290, Fixed: 30}}))
			w := wish(1)
			w.Frequency, w.Cover = "monthly", true
			d, session := shop.give(w)
			shop.stripe.Pay(session, stripetest.Card)
			shop.arrive()
			d = shop.look(d.ID)
			p, err := s.Plan(t.Context(), shop.account.Number, d.GiftPlan)
			if err != nil || p.Amount != 51_81 || p.Covered != 1_81 {
				t.Fatalf("%d of %d cover the fee: %v", p.Covered, p.Amount, err)
			}
			begun, next := shop.stripe.Period(d.Plan)
			for what, days := range map[string][2]time.Time{"begins": {p.StartAt, begun}, "is due": {p.NextBill, next}} {
				if got, want := days[0].Format(time.DateTime), days[1].In(there).Format(time.DateOnly)+" 00:00:00"; got != want {
					t.Errorf("in %s, a plan %s on %s and not on %s", zone, what, got, want)
				}
			}
			if g := shop.newest(); g.Local.Format(time.DateOnly) != begun.In(there).Format(time.DateOnly) {
				t.Errorf("in %s, the gift is of %s", zone, g.Local)
			}
			rows := openTable(t, "Date (UTC),Amount,First Name,Last Name,Email,Recurring ID\n2026-03-10 17:30:00,25,Mo,Nthly,mo@example.org,sub_1\n")
			if _, _, err := s.ImportFile(t.Context(), shop.account.Number, rows, giftImportOf(rows), 0, false, func(jobs.ImportProgress) {}); err != nil {
				t.Fatal(err)
			}
			filed := shop.newest()
			if p, err := s.Plan(t.Context(), shop.account.Number, filed.PlanCode); err != nil || !p.StartAt.Equal(filed.Local.Truncate(24*time.Hour)) {
				t.Errorf("in %s, the plan of a file begins on %s, its first gift is of %s, %v", zone, p.StartAt, filed.Local, err)
			}
		}
	})
}
