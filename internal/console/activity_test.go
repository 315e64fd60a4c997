package console_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

var giftAddress = regexp.MustCompile(`/gifts/[0-9A-Za-z]{16}`)

var undoForm = regexp.MustCompile(`action="([^"]+/history/\d+/undo)"`)

// A contact's page tells what has happened to it, takes notes, and undoes a change.
func TestAContactHasATimeline(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	p.follow("contacts", "first_name", "Zoë", "last_name", "Smith", "emails.0.value", "zoe@example.org")
	id := s.contacts(p.account)[0].ID
	path := p.org(fmt.Sprintf("/contacts/%d", id))
	p.get(path).sees("History", p.user.Name+" added this contact.")
	p.follow(path+"/tags/add", "tag", "board")
	change := func(body string) {
		t.Helper()
		in, faults, err := crm.DecodeContact(doc.NewBody([]byte(body)))
		if err == nil {
			err = in.Validate(faults, false, "US", now)
		}
		if err == nil {
			_, err = s.store.UpdateContact(store.By(t.Context(), history.APIChannel, "API key Website"), p.account.Number, id, in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(`{"last_name":"Jones"}`)
	page := p.get(path)
	page.sees(p.user.Name+" added tag “board”.", "The API key Website changed last name from “Smith” to “Jones”.", "· API")
	undo := undoForm.FindStringSubmatch(page.body)[1] // the first one is that of the newest change
	p.follow(undo).sees("Change undone.", "undid an earlier change: changed last name from “Jones” to “Smith”.")
	p.follow(undo).sees("There is nothing left to undo in this change.")
	change(`{"last_name":"Brown","company":"Acme","title":"Dr"}`)
	page = p.get(path)
	page.sees("The API key Website made 3 changes.", "Changed last name from “Smith” to “Brown”.", "Set company to “Acme”.")
	undo = undoForm.FindStringSubmatch(page.body)[1]
	change(`{"company":"Other"}`)
	p.follow(undo).sees("Change partly undone.", "Someone has changed company since then, so that was left as is.")
	if c := s.contacts(p.account)[0]; c.LastName != "Smith" || c.Title != "" || c.Company != "Other" {
		t.Errorf("undone: %+v", c)
	}
	p.follow(path+"/notes", "note_text", "Called.\r\nLikes <letters>.", "note_date", "2026-01-31").sees("Note added.", p.user.Name+" wrote a note.", "Likes <letters>.", "Jan 31, 2026")
	p.post(path+"/notes", "note_text", "", "note_date", "2999-01-01").is(422).sees("Add a note is required.", "must not be in the future")
	page = p.get(path)
	p.follow(undoForm.FindStringSubmatch(page.body)[1]).sees("wrote a note, which was removed.")
	p.get(path).hides("Likes")
	for range 4 {
		p.follow(path+"/notes", "note_text", "Again", "note_date", "")
	}
	p.get(path).sees("All 13 changes")
	p.get(path+"/history").sees("History of Zoë Smith", p.user.Name+" added this contact.")
	p.get(path + "/history?page=9").sees("This page is empty.")
	p.follow(path + "/archive")
	page = p.get(path)
	if undos := undoForm.FindAllString(page.body, -1); len(undos) != 1 {
		t.Errorf("an archived contact offers %d changes to undo", len(undos))
	}
	p.follow(undoForm.FindStringSubmatch(page.body)[1]).sees("Change undone.", "undid an earlier change: restored this contact.")
	viewer := s.member(p.account, access.Viewer)
	viewer.get(path).hides("/undo", "/notes").sees("restored this contact.")

}

// Where the donor covered the fee, the timeline says of a gift what lists and receipts say: what was paid.
func TestATimelineAgreesWithTheListOfGifts(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Zoë", "Okafor")
	p.follow(path+"/gifts", "amount", "51.81", "fee_covered", "1.81", "transacted_at", "2026-01-31", "method", "card")
	p.get("gifts").sees("$51.81 from Zoë Okafor", "$50 from 1 gift (covered fees not counted)")
	page := p.get(path)
	page.sees(p.user.Name + " recorded a gift of $51.81. View gift")
	must(s.store.RefundGift(store.By(t.Context(), history.ConsoleChannel, p.user.Email), p.account.Number, strings.TrimPrefix(giftAddress.FindString(page.body), "/gifts/"), nil, ""))(t)
	p.get(path).sees(p.user.Name + " recorded a refund of $51.81.")
}

// The history of the organization tells of a gift once, in words, and leads to gifts, plans and jobs.
func TestTheHistoryLeadsToGiftsPlansAndJobs(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	path := s.contact(p, "Zoë", "Okafor")
	p.follow(path+"/plans", "amount", "25", "frequency", "monthly", "method", "card", "start_at", "2026-01-31", "status", "active")
	p.follow(path+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "check", "note", "Thanks")
	gift := giftAddress.FindString(p.get(path).body)
	p.follow("contacts/bulk", "confirmed", "1", "action", "tag", "tag", "vip, board", "id", idIn(path))
	p.follow(p.org(gift), "transacted_at", "2026-02-01", "status", "succeeded")
	page := p.get("settings/history")
	page.sees(p.user.Name+" recorded a gift of $50. View gift", p.user.Name+" set up a recurring gift of $25 monthly. View recurring gift",
		p.user.Name+" added the tags “vip”, “board”.", "Gift 0000000001").lacks("recorded this gift", "created this plan")
	p.get(path).sees(p.user.Name + " set up a recurring gift of $25 monthly. View recurring gift")
	page.lacks("T12:00:00")
	for _, address := range regexp.MustCompile(`href="([^"]+/(?:gifts|plans|jobs)/[^"]+)"`).FindAllStringSubmatch(page.body, -1) {
		p.get(address[1]).is(200)
	}
	if found := regexp.MustCompile(`/(gifts|plans|jobs)/\w+"`).FindAllString(page.body, -1); len(found) < 4 {
		t.Errorf("the history leads to %q alone", found)
	}

}

// Owners see every change of the organization, and decide how long changes are kept.
func TestOwnersSeeTheHistory(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.makeKey("name", "Website", "permission", "contacts:read", "expires", "never")
	p.post("settings/people/invite", "role", "viewer", "email", "cy@example.org")
	p.post("campaigns", "title", "Gala")
	p.follow("settings/giving", "currency", "EUR", "address", "1 Quay", "tax_id", "")
	p.follow("contacts", "first_name", "Zoë", "last_name", "Okafor", "tags.0", "old")
	must(s.store.RenameTag(store.By(t.Context(), history.APIChannel, "API key Website"), p.account.Number, "old", "new"))(t)
	name := p.user.Name
	p.get("settings/history").sees("Every change in Harbor", "added "+p.user.Email+" as owner", name+" created the API key “Website”.", name+" invited cy@example.org as viewer.",
		"Gala", name+" created this campaign.", name+" made 2 changes.", "Changed currency from “USD” to “EUR”.", "Zoë Okafor", name+" added this contact.",
		"The API key Website renamed the tag “old” to “new”.").lacks("started this bulk change").lacks("Set email to", "Set role to", "Set name to", "Set invitation to").has(`href="` + p.org(fmt.Sprintf("/contacts/%d", s.contacts(p.account)[0].ID)) + `"`)
	p.get("settings").sees("View history", "Leave blank to keep the history forever.")
	p.follow("settings/history", "history_days", "400").sees("Changes are now kept for 400 days.")
	p.get("settings").has(`value="400"`)
	p.post("settings/history", "history_days", "-1").is(422).sees("must be a whole number between 0 and 36,500")
	p.follow("settings/history", "history_days", "").sees("Changes are now kept forever.")
	editor := s.member(p.account, access.Editor)
	editor.get(p.org("/settings/history")).is(403)
	editor.get(p.org("/settings")).hides("/settings/history")

}

// Every page of the history is full but the oldest one, and tells of each gift once, whichever way a person goes.
func TestPagesOfTheHistoryAreFull(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	path := s.contact(p, "Zoë", "Okafor")
	for i := range 45 {
		p.follow(path+"/gifts", "amount", strconv.Itoa(i+1), "transacted_at", "2026-01-31", "method", "check")
	}
	told := regexp.MustCompile(`recorded a gift of \$\d+\.`)
	newest := p.get("settings/history")
	next := regexp.MustCompile(`href="([^"]+\?before=\d+)" rel="next"`).FindStringSubmatch(newest.body)
	if first := told.FindAllString(newest.words(), -1); len(first) != 40 || next == nil {
		t.Fatalf("the first page tells of %d gifts", len(first))
	}
	older := p.get(next[1])
	all := append(told.FindAllString(newest.words(), -1), told.FindAllString(older.words(), -1)...)
	slices.Sort(all)
	older.lacks("recorded this gift").hides(`rel="next"`)
	if len(slices.Compact(all)) != 45 {
		t.Errorf("both pages tell of %d gifts: %s", len(all), older.words())
	}
	back := regexp.MustCompile(`href="([^"]+\?after=\d+)" rel="prev"`).FindStringSubmatch(older.body)
	if back == nil || len(told.FindAllString(p.get(back[1]).words(), -1)) != 40 {
		t.Errorf("the way back is %q", back)
	}
	p.get("settings/history?before=1").sees("This page is empty.")

}

// The history of a gift shows what has changed: the time where the day is the same. Custom fields are called as people have called them.
func TestAHistoryShowsWhatIsDifferent(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	field := s.field(p, "Shirt Size", custom.TextField)
	path := s.contact(p, "Zoë", "Okafor")
	id, _ := strconv.ParseInt(idIn(path), 10, 64)
	amount, method, at := int64(500_000), "check", "2026-01-31T09:00:00Z"
	in := giving.GiftInput{Contact: &id, Amount: &amount, Method: &method, GivenAt: &at}
	ctx := store.By(t.Context(), history.ConsoleChannel, p.user.Email)
	succeed(t, in.Validate(nil, true, "US", now))
	gift := must(s.store.CreateGift(ctx, p.account.Number, in))(t)
	for _, moment := range []string{"2026-01-31T15:30:00Z", "2026-01-31T15:30:20Z"} {
		later := giving.GiftInput{GivenAt: &moment}
		succeed(t, later.Validate(nil, false, "US", now))
		must(s.store.UpdateGift(ctx, p.account.Number, gift.Code, later))(t)
	}
	p.get("gifts/"+gift.Code).sees("changed date from Jan 31, 2026, 9:00 AM UTC to Jan 31, 2026, 3:30 PM UTC.", "changed date.")
	p.get("settings/history").sees("changed date from Jan 31, 2026, 9:00 AM UTC to Jan 31, 2026, 3:30 PM UTC.", "changed date.")

	key := "custom_fields." + field.Key()
	for _, size := range []string{"M", "L"} {
		edit := p.get(path + "/edit")
		fields, _ := controls(edit, path)
		fields[key] = []string{size}
		p.follow(path, flat(fields)...)
	}
	p.get(path).sees("set “Shirt Size” to “M”.", "changed “Shirt Size” from “M” to “L”.")
}

// What a job or a program does to many contacts is one entry of the organization's history, and filters show a part of it.
func TestTheHistoryIsGroupedAndFiltered(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	key := store.By(t.Context(), history.APIChannel, "API key Website")
	ids := []string{"confirmed", "1", "action", "tag", "tag", "vip"}
	for i := range 12 {
		in, faults, err := crm.DecodeContact(doc.NewBody(fmt.Appendf(nil, `{"first_name":"Ann","last_name":"Lee %d"}`, i)))
		if err == nil {
			err = in.Validate(faults, false, "US", now)
		}
		if err != nil {
			t.Fatal(err)
		}
		made := must(s.store.CreateContact(key, p.account.Number, in, crm.Force))(t)
		ids = append(ids, "id", strconv.FormatInt(made.ID, 10))
	}
	p.follow("contacts/bulk", ids...)
	p.post("campaigns", "title", "Gala")
	path := p.org("/settings/history")
	page := p.get(path)
	page.sees("Today", "Add “vip” to 12 contacts "+p.user.Name+" tagged 12 contacts.", "Show the latest 5 of 12", "The API key Website added 12 contacts.", "Gala")
	if n := strings.Count(page.words(), "added tag “vip”."); n != 5 {
		t.Errorf("the entry unfolds %d changes", n)
	}
	if !regexp.MustCompile(`class="about" href="[^"]+/jobs/\d+">Add`).MatchString(page.body) {
		t.Error("nothing leads to the job")
	}
	jobs, _ := must2(s.store.Jobs(t.Context(), p.account.Number, crm.PageRequest{Page: 1, PerPage: 1}))(t)
	p.get(path+"?before="+strconv.FormatInt(jobs[0].Last-3, 10)).sees("Add “vip” to 12 contacts "+p.user.Name+" started this bulk change.", "Show 5 changes")
	for query, want := range map[string][2]string{
		"?about=campaigns": {"Gala", "Ann Lee"}, "?who=API+key+Website": {"Ann Lee", "Gala"}, "?about=gifts": {"No changes match.", "Gala"}, "?from=2999-01-01": {"No changes match.", "Gala"},
	} {
		p.get(path + query).sees(want[0]).lacks(want[1])
	}
	p.get(path + "?from=soon").is(422).sees("From must be a date")
	if to := p.get(path + "?about=&who=&from=&to=").location(); to != path {
		t.Errorf("empty filters lead to %s", to)
	}
}
