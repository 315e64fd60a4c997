package book

import (
	"fmt"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// inZone is a store with a clock, and an account in a time zone.
func inZone(t *testing.T, s *Book, now, zone string) (account access.Account, contact int64) {
	t.Helper()
	at := must(time.Parse(time.RFC3339, now))(t)
	s.Now = func() time.Time { return at }
	account = newAccount(t, s)
	succeed(t, s.SetAccountSettings(t.Context(), account.Number, access.AccountSettingsInput{Timezone: &zone}))
	return account, create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
}

func giveAt(t *testing.T, s *Book, account access.Account, contact int64, at string) giving.Gift {
	t.Helper()
	in := giftInput(t, `{"amount":10,"method":"cash","transacted_at":"`+at+`","first_name":"A","last_name":"B"}`,
		true, s.Now().In(time.FixedZone("", 14*3600)))
	in.Contact = &contact
	made := must(s.CreateGift(t.Context(), account.Number, in))(t)
	return made.Gift
}

// giftsBetween is how many gifts the list has from one day on and up to another one.
func giftsBetween(t *testing.T, s *Book, account int64, from, to string) int64 {
	t.Helper()
	day := func(text string) time.Time {
		at := must(time.Parse(time.DateOnly, text))(t)
		return at
	}
	filter := giving.GiftFilter{From: day(from), To: day(to), Days: true}
	records, totals, err := s.GiftPage(t.Context(), account, filter, crm.PageRequest{Page: 1, PerPage: 10})
	if err != nil || int64(len(records)) != totals.Total {
		t.Errorf("%v: %d gifts of %d", err, len(records), totals.Total)
	}
	return totals.Gifts
}

// A gift at 11:37 PM on December 31 in New York belongs to that day, month and year, although it is the next year in
// UTC.
func TestAGiftBelongsToTheDayOfTheOrganization(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, contact := inZone(t, s, "2027-01-01T04:40:00Z", "America/New_York")
		giveAt(t, s, account, contact, "2027-01-01T04:37:00Z") // New Year's Eve
		giveAt(t, s, account, contact, "2026-11-17T04:37:00Z") // November 16
		giveAt(t, s, account, contact, "2027-01-01")           // a date is a date
		for _, c := range []struct {
			from, to string
			want     int64
		}{
			{"2026-01-01", "2027-01-01", 2}, {"2027-01-01", "2028-01-01", 1}, {"2026-12-01", "2027-01-01", 1},
			{"2026-12-31", "2027-01-01", 1}, {"2026-11-16", "2026-11-17", 1}, {"2027-01-01", "2027-01-02", 1},
		} {
			if got := giftsBetween(t, s, account.Number, c.from, c.to); got != c.want {
				t.Errorf("%d gifts from %s to %s, want %d", got, c.from, c.to, c.want)
			}
		}
		overview, err := s.GivingOverview(t.Context(), account.Number, s.Now()) // it is still 2026 in New York
		if err != nil || overview.ThisYear.Gifts != 2 || overview.Months[202612].Gifts != 1 {
			t.Errorf("%+v, %v", overview.ThisYear, err)
		}
		stated := 0
		for range s.CountedGifts(t.Context(), account.Number, contact, 2027) {
			stated++
		}
		if stated != 1 {
			t.Errorf("the statement of 2027 has %d gifts, want 1", stated)
		}
		record, err := s.ContactRecord(t.Context(), account.Number, contact)
		if err != nil || record.LastGift.Format(time.DateTime) != "2027-01-01 12:00:00" {
			t.Errorf("the last gift was on %v: %v", record.LastGift, err)
		}
	})
}

// Lists that people filter by days go by the organization's days; the API goes by times, wherever one is.
func TestDaysAndTimesFindGifts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, contact := inZone(t, s, "2026-11-17T04:40:00Z", "America/New_York")
		giveAt(t, s, account, contact, "2026-11-17T04:37:00Z") // November 16, 11:37 PM
		giveAt(t, s, account, contact, "2026-11-16T04:37:00Z") // November 15, 11:37 PM
		giveAt(t, s, account, contact, "2026-11-16")
		count := func(f giving.GiftFilter) int64 {
			t.Helper()
			_, totals := must2(s.GiftPage(t.Context(), account.Number, f, crm.PageRequest{Page: 1, PerPage: 10}))(t)
			_, found, err := s.Gifts(t.Context(), account.Number, campaign.OwnCampaigns, f,
				crm.PageRequest{Page: 1, PerPage: 10}, nil, nil)
			if err != nil || found.Total != totals.Total {
				t.Errorf("%+v: %d for people, %d for programs: %v", f, totals.Total, found.Total, err)
			}
			return totals.Total
		}
		day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
		for _, c := range []struct {
			filter giving.GiftFilter
			want   int64
		}{
			{giving.GiftFilter{From: day(16), To: day(17), Days: true}, 2},
			{giving.GiftFilter{From: day(15), To: day(16), Days: true}, 1},
			{giving.GiftFilter{From: day(17), Days: true}, 0},
			{giving.GiftFilter{From: day(16), To: day(17), Days: true, Method: "cash"}, 2},
			{giving.GiftFilter{From: day(16), To: day(17)}, 2}, // the second one and the date
			{giving.GiftFilter{From: day(17)}, 1},
			{giving.GiftFilter{From: day(16).Add(13 * time.Hour)}, 1},
			{giving.GiftFilter{From: day(16).Add(12 * time.Hour), To: day(16).Add(12*time.Hour + time.Second)}, 1},
			{giving.GiftFilter{To: day(16).Add(4*time.Hour + 37*time.Minute + time.Second)}, 1},
		} {
			if got := count(c.filter); got != c.want {
				t.Errorf("%+v finds %d, want %d", c.filter, got, c.want)
			}
		}
	})
}

// A change of the zone moves gifts that have a time, and leaves those that have only a date.
func TestConcurrentGiftsMoveWithTheTimeZone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, contact := inZone(t, s, "2026-11-17T12:00:00Z", "UTC")
		giveAt(t, s, account, contact, "2026-01-01T03:00:00Z")
		giveAt(t, s, account, contact, "2026-01-01")
		zone := "America/New_York"
		succeed(t, s.SetAccountSettings(t.Context(), account.Number, access.AccountSettingsInput{Timezone: &zone}))
		found, _, err := s.Jobs(t.Context(), account.Number, crm.PageRequest{Page: 1, PerPage: 10})
		if err != nil || len(found) != 1 || found[0].Kind != jobs.ZoneJob || found[0].Stoppable() {
			t.Fatalf("%+v, %v", found, err)
		}
		if _, err := s.CancelJob(t.Context(), account.Number, found[0].ID); err == nil {
			t.Error("the job can be stopped half-way")
		}
		wantSound(t, s)
		finishJobs(t, s)
		wantSound(t, s)
		for _, days := range [][2]string{{"2025-01-01", "2026-01-01"}, {"2025-12-31", "2026-01-01"},
			{"2026-01-01", "2026-01-02"}} {
			if got := giftsBetween(t, s, account.Number, days[0], days[1]); got != 1 {
				t.Errorf("%d gifts from %s to %s, want 1", got, days[0], days[1])
			}
		}
		bad := "Mars/Olympus"
		if err := s.SetAccountSettings(t.Context(), account.Number,
			access.AccountSettingsInput{Timezone: &bad}); err == nil {
			t.Error("a zone that does not exist is accepted")
		}
	})
}

// A filter by the time of a gift finds the same whether it has to wait for its turn, and begins again, or not.
func TestAHeavyFilterAsksForTheSameTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, contact := inZone(t, s, "2027-01-02T00:00:00Z", "America/New_York")
		giveAt(t, s, account, contact, "2027-01-01T04:37:00Z")
		s.Costs.Few = 0
		for _, s.Light = range []int64{store.LightRows, 0} {
			for query, want := range map[string]int64{"gave_after=2027-01-01T04:36:00Z": 1,
				"gave_after=2027-01-01T04:38:00Z": 0, "gave_before=2027-01-01T04:38:00Z": 1, "gave_before=2027-01-01T04:37:00Z": 0} {
				if _, n := filtered(t, s, account.Number, crm.Active, filterOf(t, query), 1, 20); n != want {
					t.Errorf("%s with %d light rows finds %d contacts, want %d", query, s.Light, n, want)
				}
			}
		}
	})
}

// Files that do not know when a gift was made may say that it was at the beginning of 1970, which the database has as
// 0. That is a time as any other.
func TestAGiftOfTheFirstSecondOf1970IsCounted(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		id := create(t, s, account, `{"first_name":"A"}`).ID
		body := fmt.Sprintf(`{"amount":10,"method":"card","transacted_at":"1970-01-01T00:00:00Z","contact_id":%d}`, id)
		made := must(s.CreateGift(t.Context(), account, giftInput(t, body, true, time.Now())))(t)
		wantSound(t, s)
		given, err := s.ContactGiving(t.Context(), account, id)
		if first := time.Unix(0, 0); err != nil || !given.First.Equal(first) || !given.Last.Equal(first) {
			t.Errorf("the contact gave from %s to %s: %v", given.First, given.Last, err)
		}
		must(s.RefundGift(t.Context(), account, made.Code, nil, ""))(t)
		wantSound(t, s)
	})
}
