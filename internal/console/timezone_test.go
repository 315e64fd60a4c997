package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
)

// clockIn makes an organization whose clock is in a zone.
func (s *site) clockIn(zone string, role access.Role) *person {
	s.t.Helper()
	account := s.organization("Harbor")
	succeed(s.t, s.store.SetAccountSettings(s.t.Context(), account.Number, access.AccountSettingsInput{Timezone: &zone}))
	return s.member(account, role)
}

// At 11:37 PM on November 16 in New York it is November 16, although it is the 17th in UTC.
func TestTodayIsTheOrganizations(t *testing.T) {
	now := time.Date(2026, time.November, 17, 4, 37, 0, 0, time.UTC)
	s := siteAt(t, now)

	p := s.clockIn("America/New_York", access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	p.get(contact).has(`name="transacted_at" type="date" value="2026-11-16"`).sees("Nov 16, 2026, 11:37 PM EST") // when the contact was added
	p.post(contact+"/gifts", "amount", "5", "transacted_at", "2026-11-17", "method", "cash").is(422)
	p.get(p.give(contact, "5", "2026-11-16")).sees("Nov 16, 2026").lacks("Nov 17", "7:00 AM") // only the day is known
	p.get(contact).sees("Last gift Nov 16, 2026")
	if rows := p.csvOf("/gifts/export?format=csv", "harbor-gifts-2026-11-16"); rows[1][2] != "2026-11-16" {
		t.Errorf("the file says %q", rows[1][2])
	}
	if rows := p.csvOf("/contacts/export?format=csv", "harbor-contacts-2026-11-16"); !strings.Contains(fmt.Sprint(rows[1]), "2026-11-16T23:37:00-05:00") {
		t.Errorf("the file says %q", rows[1])
	}
	p.get("contacts?created_after=2026-11-16&created_before=2026-11-17").sees("Zoë Okafor")
	p.get("contacts?created_after=2026-11-17").lacks("Zoë Okafor")
	p.get(contact + "/plans/new").has(`name="start_at" type="date" value="2026-11-16"`)

}

// On New Year's Eve in New York this year is the old one, and what is given now belongs to its statement.
func TestTheYearIsTheOrganizations(t *testing.T) {
	now := time.Date(2027, time.January, 1, 4, 37, 0, 0, time.UTC)
	s := siteAt(t, now)

	p := s.clockIn("America/New_York", access.Editor)
	contact := s.newcomer(p.account, "Amelia", "Okafor").ID
	for _, at := range []string{"2027-01-01T04:30:00Z", "2026-12-31", "2025-03-01"} {
		in, faults, err := giving.DecodeGift(doc.NewBody(fmt.Appendf(nil, `{"contact_id":%d,"amount":40,"method":"cash","transacted_at":"%s"}`, contact, at)))
		if err == nil {
			err = in.Validate(faults, true, "US", now)
		}
		if err == nil {
			_, err = s.store.CreateGift(t.Context(), p.account.Number, in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p.get("").sees("Raised this year $80")
	p.get("donors").sees("Donors of 2026", "Amelia Okafor amelia.okafor@example.org 2 $80")
	p.get("statements?year=2026").sees("Dec 31, 2026 General Cash $40.00 Dec 31, 2026 General Cash $40.00", "Total $80.00")
	p.get("statements?year=2027").sees("Year must be between 1900 and 2026.")
	p.get("gifts?from=2026-12-31&to=2026-12-31").sees("2 gifts")
	p.get(fmt.Sprintf("contacts/%d", contact)).sees("Last gift Dec 31, 2026")
	p.get(fmt.Sprintf("contacts/%d/statement", contact)).sees("Giving statement for 2025", "Date Dec 31, 2026")

}

// A payment provider tells the time of the next gift of a plan, which is the day before in New York. A day that people have chosen stays that day.
func TestTheDaysOfAPlanAreTheOrganizations(t *testing.T) {
	s := anySite(t)

	p := s.clockIn("America/New_York", access.Viewer)
	contact := s.newcomer(p.account, "Amelia", "Okafor").ID
	for at, want := range map[string][]string{`"start_at":"2026-09-19T01:00:00Z","next_bill_date":"2026-12-19T01:00:00Z"`: {"Start Sep 18, 2026", "Next gift Dec 18, 2026"}, `"start_at":"2026-09-19"`: {"Start Sep 19, 2026", "Next gift Sep 19, 2026"}} {
		in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil, `{"contact_id":%d,"amount":7.50,"method":"card","frequency":"monthly",%s}`, contact, at)))
		if err == nil {
			err = in.Validate(faults, true, "US", now)
		}
		if err != nil {
			t.Fatal(err)
		}
		made := must(s.store.CreatePlan(t.Context(), p.account.Number, in))(t)
		p.get("plans/" + made.Code).sees(want...)
		day := strings.TrimPrefix(want[1], "Next gift ")
		p.get("plans").sees(day)
		p.get(fmt.Sprintf("contacts/%d", contact)).sees("Next gift " + day)
		next := "2026-12-25T01:00:00Z"
		change := giving.PlanInput{NextBill: &next}
		succeed(t, change.Validate(nil, false, "US", now))
		must(s.store.UpdatePlan(t.Context(), p.account.Number, made.Code, change))(t)
		p.get("plans/" + made.Code).sees("changed next gift from " + day + " to Dec 24, 2026")
	}

}

// A gift of yesterday waits for a day, although it is two days in UTC.
func TestAGiftWaitsByTheClockOfTheOrganization(t *testing.T) {
	now := time.Date(2026, time.November, 17, 4, 37, 0, 0, time.UTC)
	s := siteAt(t, now)

	p := s.clockIn("America/New_York", access.Editor)
	p.give(s.contact(p, "Zoë", "Okafor"), "5", "2026-11-15")
	p.get("gifts?thanks=waiting").sees("To thank", "1 day")
	viewer := s.member(p.account, access.Viewer)
	viewer.get(p.org("/gifts?thanks=waiting")).hides("/thank\"")

}

// In Sydney it is tomorrow already.
func TestTodayInSydneyIsAccepted(t *testing.T) {
	now := time.Date(2026, time.November, 16, 22, 0, 0, 0, time.UTC)
	s := siteAt(t, now)

	p := s.clockIn("Australia/Sydney", access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	p.get(p.give(contact, "5", "2026-11-17")).sees("Nov 17, 2026")
	p.post(contact+"/gifts", "amount", "5", "transacted_at", "2026-11-18", "method", "cash").is(422)
	p.follow(contact+"/notes", "note_text", "Called.", "note_date", "2026-11-17").sees("Note added.", "Nov 17, 2026, 9:00 AM AEDT")

}

// An owner changes the zone. Gifts that have a time move to their day in it, and the page says so.
func TestOwnersSetTheTimeZone(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	contact := s.newcomer(p.account, "Amelia", "Okafor").ID
	s.donation(p.account, contact, `"amount":10,"method":"cash","transacted_at":"2026-11-16T03:00:00Z"`)
	p.post("settings/organization", "name", "Harbor", "timezone", "Mars/Olympus").is(422).sees("Time zone must be a time zone, such as America/New_York")
	p.follow("settings/organization", "name", "Harbor", "timezone", "America/New_York").sees("Organization saved.", "Gift dates are being updated to America/New_York.")
	p.get("gifts").sees("Nov 16, 2026")
	p.done("jobs", "Update gift dates for the new time zone")
	p.done("jobs", "1 gift moved.")
	p.get("gifts").sees("Nov 15, 2026")
	p.get("settings").lacks("Gift dates are being updated")
	p.get("settings/history").sees("America/New_York")
	chapter := s.chapter(p, "North")
	if settings, err := s.store.AccountSettings(t.Context(), chapter.Number); err != nil || settings.Timezone != "America/New_York" {
		t.Errorf("a chapter begins in %q: %v", settings.Timezone, err)
	}
	editor := s.member(p.account, access.Editor)
	editor.post(p.org("/settings/organization"), "name", "Harbor", "timezone", "UTC").is(403)

}

// The owner's browser tells the zone; without a script it is UTC.
func TestTheFirstOwnersBrowserTellsTheZone(t *testing.T) {
	for sent, want := range map[string]string{"Australia/Sydney": "Australia/Sydney", "": "UTC", "Mars/Olympus": "UTC"} {
		s := anySite(t)
		token := must(s.store.SetupToken(t.Context()))(t)
		link, p := "/console/setup/"+token, s.visitor()
		p.get(link).has(`<input type="hidden" name="timezone" data-timezone>`)
		p.post(link, "organization", "Harbor", "name", "Ana", "email", "ana@example.org", "password", testPassword, "timezone", sent).is(303)
		accounts, err := s.store.Accounts(t.Context())
		if err != nil || len(accounts) != 1 {
			t.Fatal(accounts, err)
		}
		if settings, err := s.store.AccountSettings(t.Context(), accounts[0].Number); err != nil || settings.Timezone != want {
			t.Errorf("%q: the zone is %q: %v", sent, settings.Timezone, err)
		}
	}
}

// An event without a zone is in that of the organization, on every page and in the form.
func TestAnEventTakesTheOrganizationsZone(t *testing.T) {
	s := anySite(t)

	p := s.clockIn("America/New_York", access.Editor)
	from := s.campaign(p.account, `{"title":"Ball","type":"event","end_at":"2027-04-25 03:59:00","event":{"start_at":"2027-04-24 22:00:00"}}`)
	for _, page := range []string{p.campaignAddress(from), "/" + from.Slug} {
		p.get(page).sees("Apr 24, 2027, 6:00 PM EDT", "Ends Apr 24, 2027")
	}
	p.get(p.campaignAddress(from)+"/edit").has(`name="event.timezone" type="text" value="America/New_York"`, `value="2027-04-24T18:00"`, `name="end_at" type="datetime-local" value="2027-04-24T23:59"`)
	p.follow("campaigns", "title", "Gala", "type", "event", "currency", "USD", "event.title", "Gala night", "event.start_at", "2027-04-24T18:00", "end_at", "2027-04-24T23:59").sees("Apr 24, 2027, 6:00 PM (America/New_York)", "Apr 24, 2027, 11:59 PM EDT")

}
