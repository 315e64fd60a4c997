package book

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
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
	succeed(t, err)
	equal(t, int64(len(records)), totals.Total, "%v", len(records))
	return totals.Gifts
}

// A gift at 11:37 PM on December 31 in New York belongs to that day, month and year, although it is the next year in
// UTC.
func TestAGiftBelongsToTheDayOfTheOrganization(t *testing.T) {
	s := newBook(t)
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
		equal(t, giftsBetween(t, s, account.Number, c.from, c.to), c.want, "%v (%v)", c.from, c.to)
	}
	overview, err := s.GivingOverview(t.Context(), account.Number, s.Now()) // it is still 2026 in New York
	if err != nil || overview.ThisYear.Gifts != 2 || overview.Months[202612].Gifts != 1 {
		t.Errorf("%+v, %v", overview.ThisYear, err)
	}
	stated := 0
	for range s.CountedGifts(t.Context(), account.Number, contact, 2027) {
		stated++
	}
	equal(t, stated, 1, "the statement of 2027")
	record, err := s.ContactRecord(t.Context(), account.Number, contact)
	succeed(t, err)
	equal(t, record.LastGift.Format(time.DateTime), "2027-01-01 12:00:00",
		"the last gift was on %v", record.LastGift)
}

// A filter by the time of a gift finds the same whether it has to wait for its turn, and begins again, or not.
func TestAHeavyFilterAsksForTheSameTime(t *testing.T) {
	s := newBook(t)
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
}

func TestACheckFindsAWrongLastGift(t *testing.T) {
	s := newBook(t)
	account, contacts := withGifts(t, s)
	damage(t, s, `UPDATE contact SET last_gift = 86400 WHERE id = $1`, contacts[0])
	damage(t, s, `UPDATE contact SET last_gift = 86400 WHERE id = $1`, contacts[2])
	for i, want := range []int{2, 0} {
		var told []string
		_, err := s.Check(t.Context(), check.CheckOptions{Repair: true,
			Found: func(p check.Problem) { told = append(told, p.String()) }})
		if err != nil || len(told) != want || want > 0 &&
			!strings.Contains(told[1], "last_gift is 86400, and should be 0") {
			t.Errorf("check %d of account %s: %q, %v", i+1, account.ID, told, err)
		}
	}
}

// giversOf are the contacts of an account with what they gave.
func giversOf(t *testing.T, s *Book, account int64) (people []string) {
	t.Helper()
	contacts, _ := must2(s.ContactPage(t.Context(), account, crm.Active, crm.PageRequest{Page: 1, PerPage: 100}))(t)
	slices.Reverse(contacts) // the newest came first
	ledger := ledgerOf(t, s, account)
	for i := range contacts {
		c := &contacts[i]
		n, sum, ids := 0, int64(0), []string{}
		for j := range ledger {
			if ledger[j].Contact == c.ID {
				n, sum = n+1, sum+ledger[j].Net()
			}
		}
		for k := range c.ExternalIDs {
			ids = append(ids, c.ExternalIDs[k].Written())
		}
		people = append(people, fmt.Sprintf("%s %v: %d gifts, %d.%02d", c.PersonName(), ids, n, sum/100, sum%100))
	}
	return people
}
