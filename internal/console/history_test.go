package console_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/rig"
	"donorbook/internal/store"
)

var (
	giftAddress = regexp.MustCompile(`/gifts/[0-9A-Za-z]{16}`)
	undoForm    = regexp.MustCompile(`action="([^"]+/history/\d+/undo)"`)
)

// change changes a contact as a program does.
func (s *site) change(p *person, contact int64, body string) {
	s.t.Helper()
	ctx := store.By(s.t.Context(), history.APIChannel, "API key Website")
	must(s.store.UpdateContact(ctx, p.account.Number, contact, rig.Input(s.t, body)))(s.t)
}

// A contact's page tells what has happened to it, takes notes, and undoes a change.
func TestAContactHasATimeline(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Zoë", "Smith", reachable("zoe@example.org", "212-555-0100"))
	id := s.contacts(p.account)[0].ID
	newest := func() string { return undoForm.FindStringSubmatch(p.get(path).body)[1] }
	p.follow(path+"/tags/add", "tag", "board").sees(p.user.Name + " added tag “board”.")
	s.change(p, id, `{"last_name":"Jones"}`)
	p.get(path).sees("The API key Website changed last name from “Smith” to “Jones”.", "· API")
	undo := newest()
	p.follow(undo).sees("Change undone.", "undid an earlier change: changed last name from “Jones” to “Smith”.")
	p.follow(undo).sees("There is nothing left to undo in this change.")
	s.change(p, id, `{"last_name":"Brown","company":"Acme","title":"Dr"}`)
	p.get(path).sees("The API key Website made 3 changes.", "Set company to “Acme”.")
	undo = newest()
	s.change(p, id, `{"company":"Other"}`)
	p.follow(undo).sees("Change partly undone.", "Someone has changed company since then, so that was left as is.")
	if c := s.contacts(p.account)[0]; c.LastName != "Smith" || c.Title != "" || c.Company != "Other" {
		t.Errorf("undone: %+v", c)
	}
	p.follow(path+"/notes", "note_text", "Called.\r\nLikes <letters>.", "note_date", "2026-01-31").
		sees(p.user.Name+" wrote a note.", "Likes <letters>.", "Jan 31, 2026")
	p.post(path+"/notes", "note_text", "", "note_date", "2999-01-01").is(422).
		sees("is required.", "must not be in the future")
	p.follow(newest()).sees("wrote a note, which was removed.").hides("Likes")
	for range 6 {
		p.follow(path+"/notes", "note_text", "Again", "note_date", "")
	}
	p.get(path + "/history").sees("History of Zoë Smith")
	p.get(path + "/history?page=9").sees("This page is empty.")
	p.follow(path + "/archive")
	equal(t, len(undoForm.FindAllString(p.get(path).body, -1)), 1, "an archived contact offers")
	p.follow(newest()).sees("undid an earlier change: restored this contact.")
}

// Where the donor covered the fee, the timeline says of a gift what lists and receipts say: what was paid.
func TestATimelineAgreesWithTheListOfGifts(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Zoë", "Okafor")
	gift := p.give(path, "51.81", "2026-01-31", "fee_covered", "1.81")
	p.get("gifts").sees("$51.81 from Zoë Okafor", "$50 from 1 gift (covered fees not counted)")
	p.get(path).sees(p.user.Name + " recorded a gift of $51.81. View gift")
	ctx := store.By(t.Context(), history.ConsoleChannel, p.user.Email)
	must(s.store.RefundGift(ctx, p.account.Number, idIn(gift), nil, ""))(t)
	p.get(path).sees(p.user.Name + " recorded a refund of $51.81.")
}

// The history of the organization tells of a gift once, in words, and leads to gifts, plans and jobs.
func TestTheHistoryLeadsToGiftsPlansAndJobs(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	path := s.contact(p, "Zoë", "Okafor")
	p.follow(path+"/plans", "amount", "25", "frequency", "monthly", "method", "card", "start_at", "2026-01-31",
		"status", "active")
	gift := p.give(path, "50", "2026-01-31", "note", "Thanks")
	p.follow("contacts/bulk", "confirmed", "1", "action", "tag", "tag", "vip, board", "id", idIn(path))
	p.follow(gift, "transacted_at", "2026-02-01", "status", "succeeded")
	page := p.get("settings/history").sees(p.user.Name+" recorded a gift of $50. View gift",
		p.user.Name+" set up a recurring gift of $25 monthly. View recurring gift", "added the tags “vip”, “board”.",
		"Gift 0000000001").
		lacks("recorded this gift", "created this plan", "T12:00:00")
	found := regexp.MustCompile(`href="([^"]+/(?:gifts|plans|jobs)/\w+)"`).FindAllStringSubmatch(page.body, -1)
	for _, address := range found {
		p.get(address[1]).is(200)
	}
	if len(found) < 4 {
		t.Errorf("the history leads to %q alone", found)
	}
}

// Owners see every change of the organization.
func TestOwnersSeeTheHistory(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.makeKey("name", "Website", "permission", "contacts:read", "expires", "never")
	p.post("settings/people/invite", "role", "viewer", "email", "cy@example.org")
	p.post("campaigns", "title", "Gala")
	p.follow("settings/giving", "currency", "EUR", "address", "1 Quay", "tax_id", "")
	path := s.contact(p, "Zoë", "Okafor", tagged("old"))
	by := store.By(t.Context(), history.APIChannel, "API key Website")
	must(s.store.RenameTags(by, p.account.Number, "new", "old"))(t)
	succeed(t, s.store.UpdateAccount(by, p.account.Number, func(tx *store.Tx) error { // as up to release 0.10
		tx.Account(p.account.Number).Record(history.TagNoun, 0, history.DidUpdate, `{"name":["older","old"]}`)
		return nil
	}))
	p.get("settings/history").sees("added "+p.user.Email+" as owner", p.user.Name+" created the API key “Website”.",
		p.user.Name+" invited cy@example.org as viewer.", "Gala", "Changed currency from “USD” to “EUR”.", "Zoë Okafor",
		"Bulk change Removed tag “old”. Added tag “new”.", "The API key Website renamed the tag “older” to “old”.").
		has(`href="`+path+`"`).
		lacks("started this bulk change", "Set email to", "Set role to", "Set name to", "Set invitation to") // as well
}

// Every page of the history is full but the oldest one, and tells of each gift once, whichever way a person goes.
func TestPagesOfTheHistoryAreFull(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	contact := s.contact(p, "Zoë", "Okafor")
	for i := range 45 {
		p.give(contact, fmt.Sprint(i+1), "2026-01-31")
	}
	told := func(a answer) []string {
		return regexp.MustCompile(`recorded a gift of \$\d+\.`).FindAllString(a.words(), -1)
	}
	turn := func(a answer, rel string) answer {
		return p.get(regexp.MustCompile(`href="([^"]+)" rel="` + rel + `"`).FindStringSubmatch(a.body)[1])
	}
	newest := p.get("settings/history")
	older := turn(newest, "next").lacks("recorded this gift").hides(`rel="next"`)
	all := append(told(newest), told(older)...)
	if slices.Sort(all); len(told(newest)) != 40 || len(slices.Compact(all)) != 45 {
		t.Errorf("the first page tells of %d gifts, both of %d: %s", len(told(newest)), len(all), older.words())
	}
	equal(t, len(told(turn(older, "prev"))), 40, "the way back tells")
	p.get("settings/history?before=1").sees("This page is empty.")
}

// The history of a gift shows what has changed: the time where the day is the same.
func TestAHistoryShowsWhatIsDifferent(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	contact := s.newcomer(p.account, "Zoë", "Okafor").ID
	gift := s.donation(p.account, contact, `"amount":50,"method":"check","transacted_at":"2026-01-31T09:00:00Z"`)
	for _, moment := range []string{"2026-01-31T15:30:00Z", "2026-01-31T15:30:20Z"} {
		later := giving.GiftInput{GivenAt: &moment}
		succeed(t, later.Validate(nil, false, "US", now))
		must(s.store.UpdateGift(t.Context(), p.account.Number, gift.Code, later))(t)
	}
	for _, page := range []string{"gifts/" + gift.Code, "settings/history"} {
		p.get(page).sees("changed date from Jan 31, 2026, 9:00 AM UTC to Jan 31, 2026, 3:30 PM UTC.", "changed date.")
	}
}

// What a job or a program does to many contacts is one entry of the organization's history, and filters show a part of
// it.
func TestTheHistoryIsGroupedAndFiltered(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	key := store.By(t.Context(), history.APIChannel, "API key Website")
	ids := []string{"confirmed", "1", "action", "tag", "tag", "vip"}
	for i := range 12 {
		in := rig.Input(t, fmt.Sprintf(`{"first_name":"Ann","last_name":"Lee %d"}`, i))
		ids = append(ids, "id", fmt.Sprint(must(s.store.CreateContact(key, p.account.Number, in, crm.Force))(t).ID))
	}
	p.follow("contacts/bulk", ids...)
	p.post("campaigns", "title", "Gala")
	const path = "settings/history"
	page := p.get(path).sees("Today", "Add “vip” to 12 contacts "+p.user.Name+" tagged 12 contacts.",
		"Show the latest 5 of 12",
		"The API key Website added 12 contacts.", "Gala")
	equal(t, strings.Count(page.words(), "added tag “vip”."), 5, "the entry unfolds")
	if !regexp.MustCompile(`class="about" href="[^"]+/jobs/\d+">Add`).MatchString(page.body) {
		t.Error("nothing leads to the job")
	}
	all, _ := must2(s.store.Jobs(t.Context(), p.account.Number, hundred))(t)
	p.get(fmt.Sprint(path, "?before=", all[0].Last-3)).sees(p.user.Name+" started this bulk change.", "Show 5 changes")
	for query, want := range map[string][2]string{
		"about=campaigns": {"Gala", "Ann Lee"}, "who=API+key+Website": {"Ann Lee", "Gala"},
		"about=gifts":     {"No changes match.", "Gala"},
		"from=2999-01-01": {"No changes match.", "Gala"},
	} {
		p.get(path + "?" + query).sees(want[0]).lacks(want[1])
	}
	p.get(path + "?from=soon").is(422).sees("From must be a date")
	p.get(path + "?about=&who=&from=&to=").leads(p.org("/" + path))
}

// largeContact is a contact with 25 emails and 100 tags, all of which are others in each round.
func largeContact(round int) string {
	var emails, tags []string
	for i := range 100 {
		tags = append(tags, fmt.Sprintf(`"a tag of round %d with number %d"`, round, i))
		if i < 25 {
			emails = append(emails, fmt.Sprintf(`{"value":"somebody.with.a.long.name.%d.%d@example.org"}`, round, i))
		}
	}
	return `{"first_name":"Ada","emails":[` + strings.Join(emails, ",") + `],"tags":[` + strings.Join(tags, ",") + `]}`
}

// However much each change did, a page of a history is short. Whoever wants it all follows a link.
func TestAHistoryOfLargeChangesIsShort(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	path := s.contact(p, "Ada", "Lovelace")
	for round := range 45 {
		s.change(p, s.contacts(p.account)[0].ID, largeContact(round))
	}
	note := strings.TrimSpace(strings.Repeat("A long note. ", 700))
	p.follow(path+"/notes", "note_text", note, "note_date", "")
	for _, address := range []string{path + "/history", "settings/history"} {
		shown := p.get(address).sees("somebody.with.a.long.name.44.0@example.org", "“a tag of round 44 with number 0”").
			hides("name.44.24@").lacks(note)
		if len(shown.body) > 100_000 {
			t.Errorf("%s has %d bytes", address, len(shown.body))
		}
	}
	p.get(path + "/history?page=2").sees("added this contact.")
	links := regexp.MustCompile(`<a href="([^"]*)">Show the whole change`).
		FindAllStringSubmatch(p.get(path+"/history").body, -1)
	for i, link := range links {
		whole := []string{"History of Ada Lovelace", note}
		if i > 0 {
			whole = []string{fmt.Sprintf("name.%d.24@example.org", 45-i),
				fmt.Sprintf("“a tag of round %d with number 99”", 45-i)}
		}
		p.get(link[1]).sees(whole...)
	}
	equal(t, len(links), 40)
	p.get(path + "/history/999999").is(404)
}
