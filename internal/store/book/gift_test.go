package book

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
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

// A gift at 11:37 PM on December 31 in New York belongs to that day, month and year, although it is the next year in
// UTC.
func TestAGiftBelongsToTheDayOfTheOrganization(t *testing.T) {
	s := newOrg(t, newBook(t))
	var contact int64
	s.Account, contact = inZone(t, s.Book, "2027-01-01T04:40:00Z", "America/New_York")
	s.gave(contact, "2027-01-01T04:37:00Z", "")                    // New Year's Eve
	s.gave(contact, "2026-11-17T04:37:00Z", "")                    // November 16
	s.gave(contact, "2027-01-01", "")                              // a date is a date
	o := must(s.GivingOverview(t.Context(), s.Number, s.Now()))(t) // it is still 2026 in New York
	expect(t, "this year, and in December", "2 1", o.ThisYear.Gifts, o.Months[202612].Gifts)
	stated := 0
	for range s.CountedGifts(t.Context(), s.Number, contact, 2027) {
		stated++
	}
	record := must(s.ContactRecord(t.Context(), s.Number, contact))(t)
	expect(t, "the statement of 2027, and the last gift", "1 2027-01-01 12:00:00", stated,
		record.LastGift.Format(time.DateTime))
}

// A filter by the time of a gift finds the same whether it has to wait for its turn, and begins again, or not.
func TestAHeavyFilterAsksForTheSameTime(t *testing.T) {
	s := newBook(t)
	account, contact := inZone(t, s, "2027-01-02T00:00:00Z", "America/New_York")
	giveAt(t, s, account, contact, "2027-01-01T04:37:00Z")
	s.Costs.Few = 0
	for _, s.Light = range []int64{store.LightRows, 0} {
		for query, want := range rows.Pairs(`
			gave_after=2027-01-01T04:36:00Z   1
			gave_after=2027-01-01T04:38:00Z   0
			gave_before=2027-01-01T04:38:00Z  1
			gave_before=2027-01-01T04:37:00Z  0`) {
			_, n := filtered(t, s, account.Number, crm.Active, filterOf(t, query), 1, 20)
			expect(t, fmt.Sprint(query, " with light rows: ", s.Light), want, n)
		}
	}
}

func TestACheckFindsAWrongLastGift(t *testing.T) {
	s := newBook(t)
	_, contacts := withGifts(t, s)
	damage(t, s, `UPDATE contact SET last_gift = 86400 WHERE id = $1`, contacts[0])
	damage(t, s, `UPDATE contact SET last_gift = 86400 WHERE id = $1`, contacts[2])
	found, _ := checkAll(t, s, true)
	expect(t, "wrong are", "2", len(found))
	contains(t, found[1], "last_gift is 86400, and should be 0")
	checked(t, s)
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
