package book

import (
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
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

// newest is the gift that was recorded last.
func (shop *org) newest() giving.Gift {
	shop.Helper()
	return slices.MaxFunc(shop.allGifts(), func(a, b giving.Gift) int { return int(a.ID - b.ID) })
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
			if got, want := days[0].Format(time.DateTime),
				days[1].In(there).Format(time.DateOnly)+" 00:00:00"; got != want {
				t.Errorf("in %s, a plan %s on %s and not on %s", zone, what, got, want)
			}
		}
		expect(t, "the gift is of", "true",
			shop.newest().Local.Format(time.DateOnly) == begun.In(there).Format(time.DateOnly))
		rows := openTable(t, "Date (UTC),Amount,First Name,Last Name,Email,Recurring ID\n"+
			"2026-03-10 17:30:00,25,Mo,Nthly,mo@example.org,sub_1\n")
		must2(s.ImportFile(t.Context(), shop.Number, rows, giftImportOf(rows), 0, false,
			func(jobs.ImportProgress) {}))(t)
		filed := shop.newest()
		expect(t, "the plan of a file begins on", "true",
			must(s.Plan(t.Context(), shop.Number,
				filed.PlanCode))(t).StartAt.Equal(filed.Local.Truncate(24*time.Hour)))
	}
}
