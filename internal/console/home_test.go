package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store"
	"donorbook/internal/store/mails"
)

// newcomer creates a contact with tags.
func (s *site) newcomer(account access.Account, first, last string, tags ...string) crm.Contact {
	s.t.Helper()
	email := []crm.Email{{Value: strings.ToLower(first+"."+last) + "@example.org"}}
	in := crm.ContactInput{FirstName: &first, LastName: &last, Emails: &email, Tags: &tags}
	succeed(s.t, in.Validate(nil, true, "US", time.Now()))
	made := must(s.store.CreateContact(s.t.Context(), account.Number, in, crm.Force))(s.t)
	contact := must(s.store.ContactRecord(s.t.Context(), account.Number, made.ID))(s.t)
	return contact
}

func TestHomeShowsOneOrganizationAtAGlance(t *testing.T) { onSite(t, homeAtAGlance) }

func homeAtAGlance(t *testing.T, s *site) {
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
	a := p.get(p.org(""))
	p.wantStatus(a, http.StatusOK)
	p.sees(a, "Active contacts 9 1 archived", "New this month 9 0 last month", "Campaigns 2 Run by you", "9 in 12 months",
		time.Now().UTC().Format("January 2006")+" (to date) 9", "newsletter 8 contacts", "R&D <b> 1 contact",
		"Winter Coats $4,500.50 of $18,000 25% of the goal · 1 donor · ended Jan 31, 2025", "No Goal $10 No goal · 1,200 donors",
		"Zed Newest", "Ada Number7", "Ada Number3")
	for _, not := range []string{"Ada Number2", "Gone Away", ">board<", "Secret", "secret", "/contacts/new", "/campaigns/new"} {
		if strings.Contains(a.body, not) {
			t.Errorf("a viewer's home says %q: %s", not, a.words())
		}
	}
	if !strings.Contains(a.body, `/contacts?tag=R%26D&#43;%3Cb%3E"`) {
		t.Errorf("the tag does not lead to its contacts")
	}
}

func TestHomeCountsNewContactsByMonth(t *testing.T) {
	clock := time.Now()
	s := newSite(t, store.Options{Data: t.TempDir(), Now: func() time.Time { return clock }})
	ours := s.organization("Ours")
	year, month, _ := time.Now().UTC().Date()
	first := func(ago int) time.Time { return time.Date(year, month-time.Month(ago), 1, 0, 0, 0, 0, time.UTC) }
	for i, at := range []time.Time{first(12), first(11).Add(-time.Second), first(11), first(3), first(2).Add(-time.Second), first(0)} {
		clock = at
		s.newcomer(ours, "Ada", fmt.Sprint("Number", i))
	}
	clock = time.Now()
	p := s.member(ours, access.Editor)
	a := p.get(p.org(""))
	p.sees(a, "4 in 12 months", "New this month 1 0 last month",
		first(11).Format("January 2006")+" 1", first(10).Format("January 2006")+" 0", first(3).Format("January 2006")+" 2", "No tags yet")
	if strings.Contains(a.words(), first(12).Format("January 2006")) {
		t.Error("the chart goes back more than twelve months")
	}
}

func TestHomeLeadsThroughTheFirstSteps(t *testing.T) { onSite(t, firstSteps) }

func firstSteps(t *testing.T, s *site) {
	ours := s.organization("Ours")
	owner, editor, viewer := s.member(ours, access.Owner), s.member(ours, access.Editor), s.member(ours, access.Viewer)
	editor.sees(editor.get(editor.org("")), "First steps 0 of 3 done", "Add your contacts", "Import gifts", "Create your first campaign", "Hide first steps")
	for _, a := range []answer{editor.get(editor.org("")), viewer.get(viewer.org(""))} {
		if words := a.words(); strings.Contains(words, "Invite a colleague") || strings.Contains(words, "Set up") || strings.Contains(words, "Create an API key") || strings.Contains(words, "Active contacts") {
			t.Errorf("a step that the person may not do, or an empty page: %s", words)
		}
	}
	viewer.sees(viewer.get(viewer.org("")), "No data yet", "Contacts, gifts and campaigns appear here when an editor or owner adds them.")
	if words := viewer.get(viewer.org("")).words(); strings.Contains(words, "First steps") {
		t.Errorf("a viewer is led through steps: %s", words)
	}

	// The colleagues are there already. Each step is ticked when it is done.
	owner.sees(owner.get(owner.org("")), "First steps 1 of 7 done", "Take gifts on your campaign pages", "Set up taking money", "Set up mail", "Invite a colleague (done)", "Create API key")
	ada := s.newcomer(ours, "Ada", "Berg")
	owner.sees(owner.get(owner.org("")), "2 of 7 done", "Add your contacts (done)", "Choose contact", "Active contacts 1", "Campaigns 0 None yet")
	s.campaign(ours, `{"title": "Winter Coats"}`)
	owner.post(owner.org("/settings/integrations/api-keys"), "name", "Website", "permission", "contacts:read", "expires", "90d")
	owner.follow(owner.org("/settings/donations"), "check", "Ours, 1 Main Street")
	owner.sees(owner.get(owner.org("")), "Take gifts on your campaign pages (done)", "Set up mail")
	s.store.UseRelay(new(mails.Shelf))
	s.donation(ours, ada.ID, `"amount":25,"method":"cash","transacted_at":"2026-01-15"`)
	if words := owner.get(owner.org("")).words(); strings.Contains(words, "First steps") || !strings.Contains(words, "Raised this year") {
		t.Errorf("all steps are done: %s", words)
	}
}

func TestFirstStepsAreHiddenForOneOrganization(t *testing.T) {
	s := anySite(t)
	ours := s.organization("Ours")
	p := s.member(ours, access.Owner)
	p.sees(p.get(p.org("")), "First steps 0 of 7 done", "Invite colleague")
	if words := p.follow(p.org("/first-steps/hide")).words(); strings.Contains(words, "First steps") || !strings.Contains(words, "Active contacts 0") || !strings.Contains(words, "No gifts yet.") {
		t.Errorf("the steps are not hidden, or the usual page is missing: %s", words)
	}
	p.account = s.organization("Other")
	must(s.store.AddMember(t.Context(), p.account, access.Owner, p.user.Email))(t)
	p.sees(p.get(p.org("")), "First steps 0 of 7 done")
}
