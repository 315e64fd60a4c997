package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/mails"
)

// newcomer creates a contact with tags.
func (s *site) newcomer(account access.Account, first, last string, tags ...string) crm.Contact {
	s.t.Helper()
	email := []crm.Email{{Value: strings.ToLower(first+"."+last) + "@example.org"}}
	return s.create(account, crm.ContactInput{FirstName: &first, LastName: &last, Emails: &email, Tags: &tags})
}

func TestHomeShowsOneOrganizationAtAGlance(t *testing.T) {
	s := anySite(t)
	ours, theirs := s.organization("Ours"), s.organization("Theirs")
	for i := range 8 {
		s.newcomer(ours, "Ada", fmt.Sprint("Number", i), "newsletter")
	}
	gone := s.newcomer(ours, "Gone", "Away", "newsletter", "board")
	succeed(t, s.store.ArchiveContact(t.Context(), ours.Number, gone.ID))
	s.newcomer(ours, "Zed", "Newest", "R&D <b>")
	s.campaign(ours, `{"title": "Winter Coats", "goal": 18000, "raised": 4500.5, "donors": 1, "end_at": "2025-01-31 23:59:59"}`)
	s.campaign(ours, `{"title": "No Goal", "raised": 10, "donors": 1200}`)
	s.newcomer(theirs, "Secret", "Stranger", "secret tag")
	s.campaign(theirs, `{"title": "Secret Campaign"}`)

	p := s.member(ours, access.Viewer)
	p.get("").is(200).sees("Active contacts 9 1 archived", "New this month 9 0 last month", "Campaigns 2 Run by you", "9 in 12 months",
		"November 2026 (to date) 9", "newsletter 8 contacts", "R&D <b> 1 contact",
		"Winter Coats $4,500.50 of $18,000 25% of the goal · 1 donor · ended Jan 31, 2025", "No Goal $10 No goal · 1,200 donors",
		"Zed Newest", "Ada Number7", "Ada Number3").hides("Ada Number2", "Gone Away", ">board<", "Secret", "secret", "/contacts/new", "/campaigns/new").has(`/contacts?tag=R%26D&#43;%3Cb%3E"`)
}

func TestHomeCountsNewContactsByMonth(t *testing.T) {
	s := anySite(t)
	ours := s.organization("Ours")
	year, month, _ := now.Date()
	first := func(ago int) time.Time { return time.Date(year, month-time.Month(ago), 1, 0, 0, 0, 0, time.UTC) }
	for i, at := range []time.Time{first(12), first(11).Add(-time.Second), first(11), first(3), first(2).Add(-time.Second), first(0)} {
		s.now = at
		s.newcomer(ours, "Ada", fmt.Sprint("Number", i))
	}
	s.now = now
	p := s.member(ours, access.Editor)
	p.get("").sees("4 in 12 months", "New this month 1 0 last month",
		first(11).Format("January 2006")+" 1", first(10).Format("January 2006")+" 0", first(3).Format("January 2006")+" 2", "No tags yet").lacks(first(12).Format("January 2006"))
}

func TestHomeLeadsThroughTheFirstSteps(t *testing.T) {
	s := anySite(t)
	ours := s.organization("Ours")
	owner, editor, viewer := s.member(ours, access.Owner), s.member(ours, access.Editor), s.member(ours, access.Viewer)
	editor.get("").sees("First steps 0 of 3 done", "Add your contacts", "Import gifts", "Create your first campaign", "Hide first steps")
	for _, a := range []answer{editor.get(""), viewer.get("")} {
		if words := a.words(); strings.Contains(words, "Invite a colleague") || strings.Contains(words, "Set up") || strings.Contains(words, "Create an API key") || strings.Contains(words, "Active contacts") {
			t.Errorf("a step that the person may not do, or an empty page: %s", words)
		}
	}
	viewer.get("").sees("No data yet", "Contacts, gifts and campaigns appear here when an editor or owner adds them.")
	if words := viewer.get("").words(); strings.Contains(words, "First steps") {
		t.Errorf("a viewer is led through steps: %s", words)
	}

	// The colleagues are there already. Each step is ticked when it is done.
	owner.get("").sees("First steps 1 of 7 done", "Take gifts on your campaign pages", "Set up taking money", "Set up mail", "Invite a colleague (done)", "Create API key")
	ada := s.newcomer(ours, "Ada", "Berg")
	owner.get("").sees("2 of 7 done", "Add your contacts (done)", "Choose contact", "Active contacts 1", "Campaigns 0 None yet")
	s.campaign(ours, `{"title": "Winter Coats"}`)
	owner.post("settings/integrations/api-keys", "name", "Website", "permission", "contacts:read", "expires", "90d")
	owner.follow("settings/donations", "check", "Ours, 1 Main Street")
	owner.get("").sees("Take gifts on your campaign pages (done)", "Set up mail")
	s.store.UseRelay(new(mails.Shelf))
	s.donation(ours, ada.ID, `"amount":25,"method":"cash","transacted_at":"2026-01-15"`)
	if words := owner.get("").words(); strings.Contains(words, "First steps") || !strings.Contains(words, "Raised this year") {
		t.Errorf("all steps are done: %s", words)
	}
}

func TestFirstStepsAreHiddenForOneOrganization(t *testing.T) {
	s := anySite(t)
	ours := s.organization("Ours")
	p := s.member(ours, access.Owner)
	p.get("").sees("First steps 0 of 7 done", "Invite colleague")
	if words := p.follow("first-steps/hide").words(); strings.Contains(words, "First steps") || !strings.Contains(words, "Active contacts 0") || !strings.Contains(words, "No gifts yet.") {
		t.Errorf("the steps are not hidden, or the usual page is missing: %s", words)
	}
	p.account = s.organization("Other")
	must(s.store.AddMember(t.Context(), p.account, access.Owner, p.user.Email))(t)
	p.get("").sees("First steps 0 of 7 done")
}
