package store

import (
	"testing"
	"time"

	"donorbook/internal/crm"
)

// inZone is a store with a clock, and an account in a time zone.
func inZone(t *testing.T, s *Store, now, zone string) (account crm.Account, contact int64) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return at }
	account = newAccount(t, s)
	if err := s.SetAccountSettings(t.Context(), account.Number, crm.AccountSettingsInput{Timezone: &zone}); err != nil {
		t.Fatal(err)
	}
	return account, create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
}

func giveAt(t *testing.T, s *Store, account crm.Account, contact int64, at string) crm.Gift {
	t.Helper()
	in := giftInput(t, `{"amount":10,"method":"cash","transacted_at":"`+at+`","first_name":"A","last_name":"B"}`, true, s.now().In(time.FixedZone("", 14*3600)))
	in.Contact = &contact
	made, err := s.CreateGift(t.Context(), account.Number, in)
	if err != nil {
		t.Fatal(err)
	}
	return made.Gift
}

// A gift at 11:37 PM on December 31 in New York belongs to that day, month and year, although it is the next year in UTC.
func TestAGiftBelongsToTheDayOfTheOrganization(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, contact := inZone(t, s, "2027-01-01T04:40:00Z", "America/New_York")
		giveAt(t, s, account, contact, "2027-01-01T04:37:00Z") // New Year's Eve
		giveAt(t, s, account, contact, "2026-11-17T04:37:00Z") // November 16
		giveAt(t, s, account, contact, "2027-01-01")           // a date is a date
		sums, err := s.Giving(t.Context(), account.Number, crm.Cell(0, 2026, "USD", 0), crm.Cell(0, 2027, "USD", 0), crm.Cell(0, 202612, "USD", 0), crm.Cell(0, 20261231, "USD", 0),
			crm.Cell(0, 20261116, "USD", 0), crm.Cell(0, 20270101, "USD", 0))
		if err != nil {
			t.Fatal(err)
		}
		for cell, want := range map[string]int64{crm.Cell(0, 2026, "USD", 0): 2, crm.Cell(0, 2027, "USD", 0): 1, crm.Cell(0, 202612, "USD", 0): 1,
			crm.Cell(0, 20261231, "USD", 0): 1, crm.Cell(0, 20261116, "USD", 0): 1, crm.Cell(0, 20270101, "USD", 0): 1} {
			if sums[cell].Gifts != want {
				t.Errorf("%s has %d gifts, want %d", cell, sums[cell].Gifts, want)
			}
		}
		overview, err := s.GivingOverview(t.Context(), account.Number, s.now()) // it is still 2026 in New York
		if err != nil || overview.ThisYear.Gifts != 2 || overview.Months[202612].Gifts != 1 {
			t.Errorf("%+v, %v", overview.ThisYear, err)
		}
		for range s.CountedGifts(t.Context(), account.Number, contact, 2027) {
			sums[""] = crm.Giving{Gifts: sums[""].Gifts + 1}
		}
		if sums[""].Gifts != 1 {
			t.Errorf("the statement of 2027 has %d gifts, want 1", sums[""].Gifts)
		}
		record, err := s.ContactRecord(t.Context(), account.Number, contact)
		if err != nil || record.LastGift.Format(time.DateTime) != "2027-01-01 12:00:00" {
			t.Errorf("the last gift was on %v: %v", record.LastGift, err)
		}
	})
}

// Lists that people filter by days go by the organization's days; the API goes by times, wherever one is.
func TestDaysAndTimesFindGifts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, contact := inZone(t, s, "2026-11-17T04:40:00Z", "America/New_York")
		giveAt(t, s, account, contact, "2026-11-17T04:37:00Z") // November 16, 11:37 PM
		giveAt(t, s, account, contact, "2026-11-16T04:37:00Z") // November 15, 11:37 PM
		giveAt(t, s, account, contact, "2026-11-16")
		count := func(f crm.GiftFilter) int64 {
			t.Helper()
			_, totals, err := s.GiftPage(t.Context(), account.Number, f, crm.PageRequest{Page: 1, PerPage: 10})
			if err != nil {
				t.Fatal(err)
			}
			_, found, err := s.Gifts(t.Context(), account.Number, crm.OwnCampaigns, f, crm.PageRequest{Page: 1, PerPage: 10}, nil, nil)
			if err != nil || found.Total != totals.Total {
				t.Errorf("%+v: %d for people, %d for programs: %v", f, totals.Total, found.Total, err)
			}
			return totals.Total
		}
		day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
		for _, c := range []struct {
			filter crm.GiftFilter
			want   int64
		}{
			{crm.GiftFilter{From: day(16), To: day(17), Days: true}, 2},
			{crm.GiftFilter{From: day(15), To: day(16), Days: true}, 1},
			{crm.GiftFilter{From: day(17), Days: true}, 0},
			{crm.GiftFilter{From: day(16), To: day(17), Days: true, Method: "cash"}, 2},
			{crm.GiftFilter{From: day(16), To: day(17)}, 2}, // the second one and the date
			{crm.GiftFilter{From: day(17)}, 1},
			{crm.GiftFilter{From: day(16).Add(13 * time.Hour)}, 1},
			{crm.GiftFilter{From: day(16).Add(12 * time.Hour), To: day(16).Add(12*time.Hour + time.Second)}, 1},
			{crm.GiftFilter{To: day(16).Add(4*time.Hour + 37*time.Minute + time.Second)}, 1},
		} {
			if got := count(c.filter); got != c.want {
				t.Errorf("%+v finds %d, want %d", c.filter, got, c.want)
			}
		}
	})
}

// A change of the zone moves gifts that have a time, and leaves those that have only a date.
func TestGiftsMoveWithTheTimeZone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, contact := inZone(t, s, "2026-11-17T12:00:00Z", "UTC")
		giveAt(t, s, account, contact, "2026-01-01T03:00:00Z")
		giveAt(t, s, account, contact, "2026-01-01")
		zone := "America/New_York"
		if err := s.SetAccountSettings(t.Context(), account.Number, crm.AccountSettingsInput{Timezone: &zone}); err != nil {
			t.Fatal(err)
		}
		jobs, _, err := s.Jobs(t.Context(), account.Number, crm.PageRequest{Page: 1, PerPage: 10})
		if err != nil || len(jobs) != 1 || jobs[0].Kind != ZoneJob || jobs[0].Stoppable() {
			t.Fatalf("%+v, %v", jobs, err)
		}
		if _, err := s.CancelJob(t.Context(), account.Number, jobs[0].ID); err == nil {
			t.Error("the job can be stopped half-way")
		}
		wantSound(t, s)
		finishJobs(t, s)
		wantSound(t, s)
		sums, err := s.Giving(t.Context(), account.Number, crm.Cell(0, 2025, "USD", contact), crm.Cell(0, 20251231, "USD", 0), crm.Cell(0, 20260101, "USD", 0))
		if err != nil || sums[crm.Cell(0, 2025, "USD", contact)].Gifts != 1 || sums[crm.Cell(0, 20251231, "USD", 0)].Gifts != 1 || sums[crm.Cell(0, 20260101, "USD", 0)].Gifts != 1 {
			t.Errorf("%+v, %v", sums, err)
		}
		bad := "Mars/Olympus"
		if err := s.SetAccountSettings(t.Context(), account.Number, crm.AccountSettingsInput{Timezone: &bad}); err == nil {
			t.Error("a zone that does not exist is accepted")
		}
	})
}

// A filter by the time of a gift finds the same whether it has to wait for its turn, and begins again, or not.
func TestAHeavyFilterAsksForTheSameTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, contact := inZone(t, s, "2027-01-02T00:00:00Z", "America/New_York")
		giveAt(t, s, account, contact, "2027-01-01T04:37:00Z")
		s.costs.few = 0
		for _, s.light = range []int64{lightRows, 0} {
			for query, want := range map[string]int64{"gave_after=2027-01-01T04:36:00Z": 1, "gave_after=2027-01-01T04:38:00Z": 0, "gave_before=2027-01-01T04:38:00Z": 1, "gave_before=2027-01-01T04:37:00Z": 0} {
				if _, n := filtered(t, s, account.Number, crm.Active, filterOf(t, query), 1, 20); n != want {
					t.Errorf("%s with %d light rows finds %d contacts, want %d", query, s.light, n, want)
				}
			}
		}
	})
}
