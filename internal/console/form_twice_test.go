package console_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"donorbook/internal/console"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
)

// things is how many there are of everything that a form can create.
func (s *site) things(e estate) string {
	s.t.Helper()
	ctx, t, number := s.t.Context(), s.t, e.account.Number
	_, contacts := must2(s.store.Contacts(ctx, number, crm.All, hundred, nil, nil))(t)
	_, campaigns := must2(s.store.Campaigns(ctx, number, campaign.AllCampaigns, hundred, "", nil, nil))(t)
	_, gifts := must2(s.store.Gifts(ctx, number, campaign.OwnCampaigns, giving.GiftFilter{}, hundred, nil, nil))(t)
	_, plans := must2(s.store.Plans(ctx, number, giving.PlanFilter{}, hundred))(t)
	_, activities := must2(s.store.Activities(ctx, number, e.contact, hundred, false, nil, nil))(t)
	return fmt.Sprintf("contacts %d, campaigns %d, gifts %d, plans %d, activities %d, keys %d, fields %d, invitations %d, "+
		"chapters %d, segments %d", contacts.Total, campaigns.Total, gifts.Total, plans.Total, activities.Total,
		len(must(s.store.Keys(ctx, number))(t)), len(must(s.store.CustomFields(ctx, number))(t).All),
		len(must(s.store.Invitations(ctx, number))(t)), len(must(s.store.Chapters(ctx, e.account))(t)),
		len(must(s.store.Segments(ctx, number))(t)))
}

// creating are the forms that create something, as far as the test below must find them.
var creating = []string{
	"/contacts", "/contacts/{id}/gifts", "/contacts/{id}/plans", "/contacts/{id}/notes", "/campaigns", "/segments", "/chapters", "/settings/fields", "/settings/integrations/api-keys", "/settings/people/invite",
}

// Every form of the console that is sent twice, as by two clicks without scripts, creates one thing, and the second answer leads to a page as the
// first one does.
func TestEveryFormCreatesOneThing(t *testing.T) {
	s := anySite(t)
	var created []string
	for i, route := range console.MemberRoutes() {
		if !strings.HasPrefix(route.Pattern, "POST ") || route.Button {
			continue
		}
		e := s.estate(fmt.Sprint("Harbor ", i))
		path := address(route.Pattern, e.account.ID, e)
		form := s.filledForm(e, path)
		if form == nil {
			continue // it is on its page only while there is something to do
		}
		before := s.things(e)
		first := e.owner.post(path, form...)
		after := s.things(e)
		second := e.owner.post(path, form...)
		if again := s.things(e); again != after {
			t.Errorf("%s, sent twice (%d, %d):\n%s became\n%s and\n%s", route.Pattern, first.status, second.status, before, after, again)
		}
		if _, end, _ := strings.Cut(route.Pattern, "{org}"); before != after && slices.Contains(creating, end) {
			created = append(created, end)
			first.is(303)
			second.is(303)
			e.owner.get(second.location()).is(200).sees(" was ")
		}
	}
	for _, end := range creating {
		if !slices.Contains(created, end) {
			t.Errorf("the form of %s created nothing", end)
		}
	}
}

// filledForm is the form on the page of a path with valid fields in it, nil where the page has none.
func (s *site) filledForm(e estate, path string) (pairs []string) {
	s.t.Helper()
	succeed(s.t, s.store.EndSessions(s.t.Context(), e.owner.user.ID, ""))
	typed := []string{"query", "tag=x", "seen", "", "note_date", today}
	for i := 0; i < len(valid); i += 2 {
		switch name := valid[i]; {
		case strings.Contains(name, "password"), name == "seen", name == "status", name == "parent":
		default:
			typed = append(typed, name, valid[i+1])
		}
	}
	switch {
	case strings.HasSuffix(path, "/contacts"):
		typed = append(typed, "type", "individual")
	case strings.HasSuffix(path, "/settings/fields"):
		typed = append(typed, "type", "text")
	}
	page := e.owner.signBackIn(e.owner.post(path, typed...))
	fields, found := controls(page, path)
	if !found {
		return nil
	}
	return flat(fields)
}

// Two that arrive at once create one thing, too.
func TestConcurrentFormCreatesOneThing(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	path := e.owner.org("/contacts")
	form := s.filledForm(e, path)
	before := s.things(e)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			e.owner.post(path, form...).is(303)
		})
	}
	all.Wait()
	if after := s.things(e); strings.Count(before, "contacts 3") != 1 || strings.Count(after, "contacts 4") != 1 {
		t.Errorf("%s became %s", before, after)
	}
}

// A form that was changed, or opened anew, is another one.
func TestAnotherFormCreatesAnotherThing(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.newcomer(p.account, "Amelia", "Okafor")
	path := p.org(fmt.Sprint("/contacts/", contact.ID))
	for i, note := range []string{"a", "a", "b"} {
		fields, _ := controls(p.get(path), path+"/notes")
		if i == 0 {
			p.follow(path+"/notes", "attempt", fields["attempt"][0], "note_text", "before", "note_date", today).sees("Note added.")
		}
		p.follow(path+"/notes", "attempt", fields["attempt"][0], "note_text", note, "note_date", today).sees("Note added.")
	}
	_, found, err := s.store.Activities(t.Context(), p.account.Number, contact.ID, crm.PageRequest{Page: 1, PerPage: 100}, false, nil, nil)
	if err != nil || found.Total != 5 {
		t.Errorf("%d activities, %v", found.Total, err)
	}
}
