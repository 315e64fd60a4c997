package book

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
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

// Lists that people filter by days go by the organization's days; the API goes by times, wherever one is.
func TestDaysAndTimesFindGifts(t *testing.T) {
	s := newBook(t)
	account, contact := inZone(t, s, "2026-11-17T04:40:00Z", "America/New_York")
	giveAt(t, s, account, contact, "2026-11-17T04:37:00Z") // November 16, 11:37 PM
	giveAt(t, s, account, contact, "2026-11-16T04:37:00Z") // November 15, 11:37 PM
	giveAt(t, s, account, contact, "2026-11-16")
	count := func(f giving.GiftFilter) int64 {
		t.Helper()
		_, totals := must2(s.GiftPage(t.Context(), account.Number, f, crm.PageRequest{Page: 1, PerPage: 10}))(t)
		_, found, err := s.Gifts(t.Context(), account.Number, campaign.OwnCampaigns, f,
			crm.PageRequest{Page: 1, PerPage: 10}, nil, nil)
		succeed(t, err)
		equal(t, found.Total, totals.Total, "%+v", f)
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
		equal(t, count(c.filter), c.want, "%+v finds", c.filter)
	}
}

// A change of the zone moves gifts that have a time, and leaves those that have only a date.
func TestConcurrentGiftsMoveWithTheTimeZone(t *testing.T) {
	s := newBook(t)
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
		equal(t, giftsBetween(t, s, account.Number, days[0], days[1]), 1, "%v (%v)", days[0], days[1])
	}
	bad := "Mars/Olympus"
	if err := s.SetAccountSettings(t.Context(), account.Number,
		access.AccountSettingsInput{Timezone: &bad}); err == nil {
		t.Error("a zone that does not exist is accepted")
	}
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

// Files that do not know when a gift was made may say that it was at the beginning of 1970, which the database has as
// 0. That is a time as any other.
func TestAGiftOfTheFirstSecondOf1970IsCounted(t *testing.T) {
	s := newBook(t)
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
}

// Who gave in a stretch of time follows each change of a gift: a refund, another day, another giver.
func TestGiversFollowTheirGifts(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s).Number
	var ids []int64
	for _, name := range []string{"Ann", "Bob"} {
		ids = append(ids, createAs(t, s, account, `{"first_name":"`+name+`","last_name":"Lee"}`, crm.Force).ID)
	}
	s.Costs.Few, s.Costs.Document = 0, 1<<40 // by the indexes alone
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	give := func(contact int64, day string) string {
		made := must(s.CreateGift(t.Context(), account,
			giftInput(t, fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":%q,"contact_id":%d}`, day,
				contact), true, now)))(t)
		return made.Code
	}
	change := func(code, body string) {
		must(s.UpdateGift(t.Context(), account, code, giftInput(t, body, false, now)))(t)
	}
	want := func(after, before string, want ...int64) {
		t.Helper()
		query := "gave_after=" + after + "&gave_before=" + before
		if got, n := filtered(t, s, account, crm.Active, filterOf(t, query), 1, 20); n != int64(len(want)) ||
			fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s finds %v, want %v", query, got, want)
		}
	}
	first, second := give(ids[0], "2026-01-05"), give(ids[0], "2026-01-31")
	want("2026-01-01", "2026-02-01", ids[0])
	want("2025-01-01", "2026-01-05")
	want("2026-01-31", "2026-02-01", ids[0])
	must(s.RefundGift(t.Context(), account, first, nil, ""))(t)
	want("2026-01-01", "2026-02-01", ids[0]) // by the second gift
	change(second, `{"transacted_at":"2026-03-05"}`)
	want("2026-01-01", "2026-03-01")
	want("2026-03-01", "2026-04-01", ids[0])
	change(second, fmt.Sprintf(`{"contact_id":%d}`, ids[1]))
	want("2026-03-01", "2026-04-01", ids[1])
	give(ids[0], "2026-03-30")
	want("2026-03-01", "2026-04-01", ids...)
}

// Who has a plan, and who has given nothing in a stretch of time, is found by indexes and by documents alike.
func TestContactsAreFoundByTheirPlansAndByGiftsTheyDidNotGive(t *testing.T) {
	s := newBook(t)
	account, now := newAccount(t, s).Number, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	var ids []int64
	for _, name := range []string{"Ann", "Bob", "Cat"} {
		ids = append(ids, createAs(t, s, account, `{"first_name":"`+name+`","last_name":"Lee"}`, crm.Force).ID)
	}
	for contact, day := range map[int64]string{ids[0]: "2025-03-01", ids[1]: "2026-01-31"} {
		must(s.CreateGift(t.Context(), account,
			giftInput(t, fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":%q,"contact_id":%d}`, day,
				contact), true, now)))(t)
	}
	in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
		`{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly"}`, ids[2])))
	if err == nil {
		err = in.Validate(faults, true, "US", now)
	}
	if err == nil {
		_, err = s.CreatePlan(t.Context(), account, in)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, costs := range []contacts.FilterCosts{{Document: 1 << 40}, {Few: 100, Document: 0}} {
		s.Costs = costs
		for query, want := range map[string][]int64{
			"no_gift_after=2026-01-01": {ids[0], ids[2]}, "no_gift_before=2026-01-01": {ids[1],
				ids[2]}, "gave_before=2026-01-01&no_gift_after=2026-01-01": {ids[0]},
			"no_gift_after=2025-01-01&no_gift_before=2026-01-01": {ids[1],
				ids[2]}, "plan_status=active&plan_status=paused": {ids[2]}, "plan_status=ended": {}, "plan_status=active&gave_after=2025-01-01": {},
		} {
			if got, n := filtered(t, s, account, crm.Active, filterOf(t, query), 1, 20); n != int64(len(want)) ||
				fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v: %s finds %v, want %v", costs, query, got, want)
			}
		}
	}
}

// The last gift follows everything that becomes of gifts, also within one batch.
func TestTheLastGiftIsTheLastThatCounts(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s).Number
	ann, ben := create(t, s, account, `{"first_name":"Ann"}`).ID, create(t, s, account, `{"first_name":"Ben"}`).ID
	give := func(contact int64, day, more string) string {
		t.Helper()
		made := must(s.CreateGift(t.Context(), account,
			giftInput(t, fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":%q,"contact_id":%d%s}`, day,
				contact, more), true, time.Now())))(t)
		return made.Code
	}
	update := func(code, body string) {
		t.Helper()
		must(s.UpdateGift(t.Context(), account, code, giftInput(t, body, false, time.Now())))(t)
	}
	want := func(when string, contact int64, day string) {
		t.Helper()
		found := must(s.ContactRecord(t.Context(), account, contact))(t)
		got := ""
		if !found.LastGift.IsZero() {
			got = found.LastGift.Format(time.DateOnly)
		}
		equal(t, got, day, "%s, the last gift", when)
		ids, _ := filtered(t, s, account, crm.All, filterOf(t, "gave_after=1900-01-01&sort=-last_gift"), 1, 20)
		equal(t, slices.Contains(ids, contact), (day != ""), "%s, %v gave", when, ids)
	}
	want("at first", ann, "")
	old := give(ann, "1969-07-20", "")
	want("after one of long ago", ann, "1969-07-20")
	give(ann, "1970-01-01", "")
	want("after one of the first second", ann, "1970-01-01")
	last := give(ann, "2026-03-01", "")
	give(ann, "2025-01-01", "")
	promised := give(ann, "2026-05-01", `,"status":"pending"`)
	want("after an earlier and a promised one", ann, "2026-03-01")
	update(promised, `{"status":"succeeded"}`)
	want("after the promise was kept", ann, "2026-05-01")
	must(s.RefundGift(t.Context(), account, promised, nil, ""))(t)
	want("after a refund", ann, "2026-03-01")
	update(last, `{"transacted_at":"2024-01-01"}`)
	want("after it was found to be earlier", ann, "2025-01-01")
	update(old, fmt.Sprintf(`{"contact_id":%d}`, ben))
	want("after another one moved to Ben", ann, "2025-01-01")
	want("after one moved to him", ben, "1969-07-20")
	update(old, fmt.Sprintf(`{"contact_id":%d,"transacted_at":"2026-06-01"}`, ann))
	want("after it came back", ann, "2026-06-01")
	want("after it left him", ben, "")
	archive(t, s, account, ann)
	want("in the archive", ann, "2026-06-01")
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

// Gifts of people whom no one knows belong to one contact, whatever it is called since. While it is archived there is
// none for them; once it was erased, the next gift makes another one.
func TestAnonymousGiftsBelongToOneContact(t *testing.T) {
	s := newBook(t)
	account, ctx := newAccount(t, s).Number, t.Context()
	gives := func(more string) (gifts.GiftDocument, error) {
		body := `{"amount":5,"method":"cash","transacted_at":"2026-01-02","anonymous":true` + more + `}`
		return s.CreateGift(ctx, account, giftInput(t, body, true, s.Now()))
	}
	first, err := gives("")
	succeed(t, err)
	equal(t, first.NewGiver, true)
	must(s.EditContact(ctx, account, first.Contact, input(t, `{"first_name":"Collection","last_name":"Box"}`)))(t)
	next := must(gives(`,"external_id":"box-1"`))(t)
	expect(t, "the next gift is from", "true false", next.Contact == first.Contact, next.NewGiver)
	expect(t, "the same gift again", "true", must(gives(`,"external_id":"box-1"`))(t).Existing)
	named := must(gives(`,"first_name":"Ada","last_name":"Byron"`))(t)
	expect(t, "a gift of a person with a name is from", "false Ada Byron", named.Contact == first.Contact,
		named.Giver.Name())
	succeed(t, s.ArchiveContact(ctx, account, first.Contact))
	says(t, "while the contact is archived", "restore it")(gives(""))
	must(s.RestoreContact(ctx, account, first.Contact))(t)
	survivor := createAs(t, s, account, `{"first_name":"Anonymous","last_name":"Friends"}`, crm.Force)
	must(s.Merge(ctx, account, survivor.ID, crm.MergeInput{Contact: first.Contact}, "US"))(t)
	expect(t, "after a merge the gift is from", "true", must(gives(""))(t).Contact == survivor.ID)
	must(s.EraseContact(ctx, account, survivor.ID))(t)
	expect(t, "after it was erased", "true", must(gives(""))(t).NewGiver)
	checked(t, s)
}
