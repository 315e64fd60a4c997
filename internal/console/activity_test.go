package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		p.follow(p.org("/contacts"), "first_name", "Zoë", "last_name", "Smith", "emails.0.value", "zoe@example.org")
		id := s.contacts(p.account)[0].ID
		path := p.org(fmt.Sprintf("/contacts/%d", id))
		p.sees(p.get(path), "History", p.user.Name+" added this contact.")
		p.follow(path+"/tags/add", "tag", "board")
		change := func(body string) {
			t.Helper()
			in, faults, err := crm.DecodeContact(doc.NewBody([]byte(body)))
			if err == nil {
				err = in.Validate(faults, false, "US", time.Now())
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
		p.sees(page, p.user.Name+" added tag “board”.", "The API key Website changed last name from “Smith” to “Jones”.", "· API")
		undo := undoForm.FindStringSubmatch(page.body)[1] // the first one is that of the newest change
		p.sees(p.follow(undo), "Change undone.", "undid an earlier change: changed last name from “Jones” to “Smith”.")
		p.sees(p.follow(undo), "There is nothing left to undo in this change.")
		change(`{"last_name":"Brown","company":"Acme","title":"Dr"}`)
		page = p.get(path)
		p.sees(page, "The API key Website made 3 changes.", "Changed last name from “Smith” to “Brown”.", "Set company to “Acme”.")
		undo = undoForm.FindStringSubmatch(page.body)[1]
		change(`{"company":"Other"}`)
		p.sees(p.follow(undo), "Change partly undone.", "Someone has changed company since then, so that was left as is.")
		if c := s.contacts(p.account)[0]; c.LastName != "Smith" || c.Title != "" || c.Company != "Other" {
			t.Errorf("undone: %+v", c)
		}
		p.sees(p.follow(path+"/notes", "note_text", "Called.\r\nLikes <letters>.", "note_date", "2026-01-31"), "Note added.", p.user.Name+" wrote a note.", "Likes <letters>.", "Jan 31, 2026")
		wrong := p.post(path+"/notes", "note_text", "", "note_date", "2999-01-01")
		p.wantStatus(wrong, http.StatusUnprocessableEntity)
		p.sees(wrong, "Add a note is required.", "must not be in the future")
		page = p.get(path)
		p.sees(p.follow(undoForm.FindStringSubmatch(page.body)[1]), "wrote a note, which was removed.")
		if strings.Contains(p.get(path).body, "Likes") {
			t.Error("a note that was removed is shown")
		}
		for range 4 {
			p.follow(path+"/notes", "note_text", "Again", "note_date", "")
		}
		p.sees(p.get(path), "All 13 changes")
		p.sees(p.get(path+"/history"), "History of Zoë Smith", p.user.Name+" added this contact.")
		p.sees(p.get(path+"/history?page=9"), "This page is empty.")
		p.follow(path + "/archive")
		page = p.get(path)
		if undos := undoForm.FindAllString(page.body, -1); len(undos) != 1 {
			t.Errorf("an archived contact offers %d changes to undo", len(undos))
		}
		p.sees(p.follow(undoForm.FindStringSubmatch(page.body)[1]), "Change undone.", "undid an earlier change: restored this contact.")
		viewer := s.member(p.account, access.Viewer)
		if page := viewer.get(path); strings.Contains(page.body, "/undo") || strings.Contains(page.body, "/notes") || !strings.Contains(page.words(), "restored this contact.") {
			t.Error("a viewer is offered changes, or does not see the history")
		}
	})
}

// Gifts stand in the timeline of their giver and lead to their pages.
func TestATimelineHasGifts(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	path := s.contact(p, "Zoë", "Okafor")
	p.follow(path+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "check")
	page := p.get(path)
	p.sees(page, p.user.Name+" recorded a gift of $50. View gift")
	gift := giftAddress.FindString(page.body)
	amount := int64(200_000)
	must(s.store.RefundGift(store.By(t.Context(), history.ConsoleChannel, p.user.Email), p.account.Number, strings.TrimPrefix(gift, "/gifts/"), &amount, ""))(t)
	p.sees(p.get(path), p.user.Name+" recorded a refund of $20.")
}

// Where the donor covered the fee, the timeline says of a gift what lists and receipts say: what was paid.
func TestATimelineAgreesWithTheListOfGifts(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	path := s.contact(p, "Zoë", "Okafor")
	p.follow(path+"/gifts", "amount", "51.81", "fee_covered", "1.81", "transacted_at", "2026-01-31", "method", "card")
	p.sees(p.get(p.org("/gifts")), "$51.81 from Zoë Okafor", "$50 from 1 gift (covered fees not counted)")
	page := p.get(path)
	p.sees(page, p.user.Name+" recorded a gift of $51.81. View gift")
	must(s.store.RefundGift(store.By(t.Context(), history.ConsoleChannel, p.user.Email), p.account.Number, strings.TrimPrefix(giftAddress.FindString(page.body), "/gifts/"), nil, ""))(t)
	p.sees(p.get(path), p.user.Name+" recorded a refund of $51.81.")
}

// The history of the organization tells of a gift once, in words, and leads to gifts, plans and jobs.
func TestTheHistoryLeadsToGiftsPlansAndJobs(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		path := s.contact(p, "Zoë", "Okafor")
		p.follow(path+"/plans", "amount", "25", "frequency", "monthly", "method", "card", "start_at", "2026-01-31", "status", "active")
		p.follow(path+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "check", "note", "Thanks")
		gift := giftAddress.FindString(p.get(path).body)
		p.follow(p.org("/contacts/bulk"), "confirmed", "1", "action", "tag", "tag", "vip, board", "id", path[strings.LastIndex(path, "/")+1:])
		p.follow(p.org(gift), "transacted_at", "2026-02-01", "status", "succeeded")
		page := p.get(p.org("/settings/history"))
		p.sees(page, p.user.Name+" recorded a gift of $50. View gift", p.user.Name+" set up a recurring gift of $25 monthly. View recurring gift",
			p.user.Name+" added the tags “vip”, “board”.", "Gift 0000000001")
		if strings.Contains(page.words(), "recorded this gift") || strings.Contains(page.words(), "created this plan") {
			t.Error("a gift or a plan is told of twice")
		}
		p.sees(p.get(path), p.user.Name+" set up a recurring gift of $25 monthly. View recurring gift")
		if strings.Contains(page.words(), "T12:00:00") {
			t.Error("a time is written as for programs")
		}
		for _, address := range regexp.MustCompile(`href="([^"]+/(?:gifts|plans|jobs)/[^"]+)"`).FindAllStringSubmatch(page.body, -1) {
			p.wantStatus(p.get(address[1]), http.StatusOK)
		}
		if found := regexp.MustCompile(`/(gifts|plans|jobs)/\w+"`).FindAllString(page.body, -1); len(found) < 4 {
			t.Errorf("the history leads to %q alone", found)
		}
	})
}

// Owners see every change of the organization, and decide how long changes are kept.
func TestOwnersSeeTheHistory(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		p.makeKey("name", "Website", "permission", "contacts:read", "expires", "never")
		p.post(p.org("/settings/people/invite"), "role", "viewer", "email", "cy@example.org")
		p.post(p.org("/campaigns"), "title", "Gala")
		p.follow(p.org("/settings/giving"), "currency", "EUR", "address", "1 Quay", "tax_id", "")
		p.follow(p.org("/contacts"), "first_name", "Zoë", "last_name", "Okafor", "tags.0", "old")
		must(s.store.RenameTag(store.By(t.Context(), history.APIChannel, "API key Website"), p.account.Number, "old", "new"))(t)
		name := p.user.Name
		page := p.get(p.org("/settings/history"))
		p.sees(page, "Every change in Harbor", "added "+p.user.Email+" as owner", name+" created the API key “Website”.", name+" invited cy@example.org as viewer.",
			"Gala", name+" created this campaign.", name+" made 2 changes.", "Changed currency from “USD” to “EUR”.", "Zoë Okafor", name+" added this contact.",
			"The API key Website renamed the tag “old” to “new”.")
		if strings.Contains(page.words(), "started this bulk change") {
			t.Error("a tag that was renamed is told of twice")
		}
		for _, again := range []string{"Set email to", "Set role to", "Set name to", "Set invitation to"} {
			if strings.Contains(page.words(), again) {
				t.Errorf("the history says the same twice: %s", again)
			}
		}
		if !strings.Contains(page.body, `href="`+p.org(fmt.Sprintf("/contacts/%d", s.contacts(p.account)[0].ID))+`"`) {
			t.Error("nothing leads to the contact")
		}
		settings := p.get(p.org("/settings"))
		p.sees(settings, "View history", "Leave blank to keep the history forever.")
		p.sees(p.follow(p.org("/settings/history"), "history_days", "400"), "Changes are now kept for 400 days.")
		if !strings.Contains(p.get(p.org("/settings")).body, `value="400"`) {
			t.Error("the number of days is not shown")
		}
		wrong := p.post(p.org("/settings/history"), "history_days", "-1")
		p.wantStatus(wrong, http.StatusUnprocessableEntity)
		p.sees(wrong, "must be a whole number between 0 and 36,500")
		p.sees(p.follow(p.org("/settings/history"), "history_days", ""), "Changes are now kept forever.")
		editor := s.member(p.account, access.Editor)
		editor.wantStatus(editor.get(p.org("/settings/history")), http.StatusForbidden)
		if strings.Contains(editor.get(p.org("/settings")).body, "/settings/history") {
			t.Error("an editor is offered the history")
		}
	})
}

// Every page of the history is full but the oldest one, and tells of each gift once, whichever way a person goes.
func TestPagesOfTheHistoryAreFull(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		path := s.contact(p, "Zoë", "Okafor")
		for i := range 60 {
			p.follow(path+"/gifts", "amount", strconv.Itoa(i+1), "transacted_at", "2026-01-31", "method", "check")
		}
		told := regexp.MustCompile(`recorded a gift of \$\d+\.`)
		newest := p.get(p.org("/settings/history"))
		next := regexp.MustCompile(`href="([^"]+\?before=\d+)" rel="next"`).FindStringSubmatch(newest.body)
		if first := told.FindAllString(newest.words(), -1); len(first) != 40 || next == nil {
			t.Fatalf("the first page tells of %d gifts", len(first))
		}
		older := p.get(next[1])
		all := append(told.FindAllString(newest.words(), -1), told.FindAllString(older.words(), -1)...)
		if slices.Sort(all); len(slices.Compact(all)) != 60 || strings.Contains(older.words(), "recorded this gift") || strings.Contains(older.body, `rel="next"`) {
			t.Errorf("both pages tell of %d gifts: %s", len(all), older.words())
		}
		back := regexp.MustCompile(`href="([^"]+\?after=\d+)" rel="prev"`).FindStringSubmatch(older.body)
		if back == nil || len(told.FindAllString(p.get(back[1]).words(), -1)) != 40 {
			t.Errorf("the way back is %q", back)
		}
		p.sees(p.get(p.org("/settings/history?before=1")), "This page is empty.")
	})
}

// The history of a gift shows what has changed: the time where the day is the same. Custom fields are called as people have called them.
func TestAHistoryShowsWhatIsDifferent(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Owner)
	field := s.field(p, "Shirt Size", custom.TextField)
	path := s.contact(p, "Zoë", "Okafor")
	id, _ := strconv.ParseInt(path[strings.LastIndex(path, "/")+1:], 10, 64)
	amount, method, at := int64(500_000), "check", "2026-01-31T09:00:00Z"
	in := giving.GiftInput{Contact: &id, Amount: &amount, Method: &method, GivenAt: &at}
	ctx := store.By(t.Context(), history.ConsoleChannel, p.user.Email)
	succeed(t, in.Validate(nil, true, "US", time.Now()))
	gift := must(s.store.CreateGift(ctx, p.account.Number, in))(t)
	for _, moment := range []string{"2026-01-31T15:30:00Z", "2026-01-31T15:30:20Z"} {
		later := giving.GiftInput{GivenAt: &moment}
		succeed(t, later.Validate(nil, false, "US", time.Now()))
		must(s.store.UpdateGift(ctx, p.account.Number, gift.Code, later))(t)
	}
	p.sees(p.get(p.org("/gifts/"+gift.Code)), "changed date from Jan 31, 2026, 9:00 AM UTC to Jan 31, 2026, 3:30 PM UTC.", "changed date.")
	history := p.get(p.org("/settings/history"))
	p.sees(history, "changed date from Jan 31, 2026, 9:00 AM UTC to Jan 31, 2026, 3:30 PM UTC.", "changed date.")

	key := "custom_fields." + field.Key()
	for _, size := range []string{"M", "L"} {
		edit := p.get(path + "/edit")
		fields, _ := controls(t, edit, path)
		fields[key] = []string{size}
		var pairs []string
		for name, values := range fields {
			for _, value := range values {
				pairs = append(pairs, name, value)
			}
		}
		p.follow(path, pairs...)
	}
	page := p.get(path)
	p.sees(page, "set “Shirt Size” to “M”.", "changed “Shirt Size” from “M” to “L”.")
}

// What a job or a program does to many contacts is one entry of the organization's history, and filters show a part of it.
func TestTheHistoryIsGroupedAndFiltered(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Owner)
	key := store.By(t.Context(), history.APIChannel, "API key Website")
	ids := []string{"confirmed", "1", "action", "tag", "tag", "vip"}
	for i := range 12 {
		in, faults, err := crm.DecodeContact(doc.NewBody(fmt.Appendf(nil, `{"first_name":"Ann","last_name":"Lee %d"}`, i)))
		if err == nil {
			err = in.Validate(faults, false, "US", time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		made := must(s.store.CreateContact(key, p.account.Number, in, crm.Force))(t)
		ids = append(ids, "id", strconv.FormatInt(made.ID, 10))
	}
	p.follow(p.org("/contacts/bulk"), ids...)
	p.post(p.org("/campaigns"), "title", "Gala")
	path := p.org("/settings/history")
	page := p.get(path)
	p.sees(page, "Today", "Add “vip” to 12 contacts "+p.user.Name+" tagged 12 contacts.", "Show the latest 5 of 12", "The API key Website added 12 contacts.", "Gala")
	if n := strings.Count(page.words(), "added tag “vip”."); n != 5 {
		t.Errorf("the entry unfolds %d changes", n)
	}
	if !regexp.MustCompile(`class="about" href="[^"]+/jobs/\d+">Add`).MatchString(page.body) {
		t.Error("nothing leads to the job")
	}
	jobs, _ := must2(s.store.Jobs(t.Context(), p.account.Number, crm.PageRequest{Page: 1, PerPage: 1}))(t)
	p.sees(p.get(path+"?before="+strconv.FormatInt(jobs[0].Last-3, 10)), "Add “vip” to 12 contacts "+p.user.Name+" started this bulk change.", "Show 5 changes")
	for query, want := range map[string][2]string{
		"?about=campaigns": {"Gala", "Ann Lee"}, "?who=API+key+Website": {"Ann Lee", "Gala"}, "?about=gifts": {"No changes match.", "Gala"}, "?from=2999-01-01": {"No changes match.", "Gala"},
	} {
		page := p.get(path + query)
		if p.sees(page, want[0]); strings.Contains(page.words(), want[1]) {
			t.Errorf("%s shows %q: %s", query, want[1], page.words())
		}
	}
	wrong := p.get(path + "?from=soon")
	p.wantStatus(wrong, http.StatusUnprocessableEntity)
	p.sees(wrong, "From must be a date")
	if to := p.get(path + "?about=&who=&from=&to=").location(); to != path {
		t.Errorf("empty filters lead to %s", to)
	}
}
