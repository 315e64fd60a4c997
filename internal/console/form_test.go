package console_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"donorbook/internal/console"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig"
)

func TestAFormWithTooManyFieldsIsNotRead(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	form := []string{"first_name", "Ana", "last_name", "Diaz"}
	for i := range 3_001 - len(form)/2 {
		form = append(form, fmt.Sprintf("tags.%d", i), "x")
	}
	p.post("contacts", form...).is(413).sees("Too much data",
		"The form has more than 3,000 fields. Nothing was changed.")
	equal(t, len(s.contacts(p.account)), 0)
	p.follow("contacts", form[:len(form)-2]...).sees("Ana Diaz was added.")
}

func TestAContactMayHaveAllThatTheRulesTake(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	form := []string{"first_name", "Ana", "last_name", "Diaz"}
	add := func(name string, i int, value string) { form = append(form, fmt.Sprintf(name, i), value) }
	for i := range 500 {
		add("tags.%d", i, fmt.Sprint(i))
	}
	for i := range 100 {
		add("emails.%d.value", i, fmt.Sprintf("a%d@example.org", i))
		add("emails.%d.type", i, "work")
		add("phones.%d.value", i, fmt.Sprintf("212555%04d", i))
		add("phones.%d.type", i, "cell")
		for _, part := range []string{"address_1", "address_2", "city", "zipcode"} {
			add("addresses.%d."+part, i, fmt.Sprint(i))
		}
		add("addresses.%d.state", i, "NY")
		add("addresses.%d.country", i, "USA")
	}
	p.follow("contacts", form...).sees("Ana Diaz was added.")
	c := s.contacts(p.account)[0]
	equal(t, len(c.Emails), 100)
	equal(t, len(c.Phones), 100)
	equal(t, len(c.Addresses), 100)
	equal(t, len(c.Tags), 500)
	path := fmt.Sprint("contacts/", c.ID)
	p.follow(p.org("/"+path), p.get(path+"/edit").fields()...).sees("Changes saved.")
	if after := s.contacts(p.account)[0]; after.Version() != c.Version() {
		t.Errorf("the edit lost something: %+v", after)
	}
}

func TestAFormOfAContactThatIsTooLargeSaysWhichFieldIsTooMuch(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	form := []string{"first_name", "Ana", "last_name", "Diaz"}
	for i := range 100 {
		for _, part := range []string{"address_1", "address_2", "city", "zipcode"} {
			form = append(form, fmt.Sprintf("addresses.%d.%s", i, part), fmt.Sprint(i, strings.Repeat("é", 200)))
		}
	}
	for _, path := range []string{"contacts", s.contact(p, "Ana", "Diaz")} {
		p.post(path, form...).is(422).sees("Addresses can’t be saved: this contact has too much data.")
	}
	all := s.contacts(p.account)
	equal(t, len(all), 1, "it changed something")
	equal(t, len(all[0].Addresses), 0, "it changed something")
}

// Clients that do not read the large pages of an organization delay each other, and no other requests.
func TestLargePagesWaitForTheirTurn(t *testing.T) {
	s := anySite(t)
	p, other := s.member(s.organization("Harbor"), access.Editor), s.member(s.organization("River"), access.Editor)
	large := func(in *crm.ContactInput) {
		in.Addresses = &[]crm.Address{}
		for i := range 100 {
			*in.Addresses = append(*in.Addresses, crm.Address{Line1: fmt.Sprint(i), City: "Boston"})
		}
	}
	page, otherPage := s.contact(p, "Ana", "Diaz", large)+"/edit", s.contact(other, "Ana", "Diaz", large)+"/edit"
	p.get(page).is(200)
	busy := http.Header{"X-Busy": {fmt.Sprint(p.account.Number)}}
	a := p.do("GET", page, nil, busy)
	a.is(503)
	equal(t, a.header.Get("Retry-After"), "1", "Retry-")
	p.do("GET", "contacts", nil, busy).is(200)
	other.do("GET", otherPage, nil, busy).is(200)
	p.get(page).is(200)
}

// Errors in a thousand rows are reported briefly and quickly.
func TestARefusedFormWithManyRowsStaysSmall(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	for list, says := range map[string][]string{
		"emails.%d.value": {"2,992 things need your attention.",
			"You entered 2,990 emails, more than this form can hold. Only the first 101 were kept.", "And 2,972 more."},
		"tags.%d": {"2,993 things need your attention.",
			"You entered 2,990 tags, more than this form can hold. Only the first 501 were kept.",
			"Tags are limited to 500.", "And 2,973 more."},
	} {
		form := []string{"first_name", "Ana"}
		for i := range 2_990 {
			form = append(form, fmt.Sprintf(list, i), fmt.Sprint(i, strings.Repeat("x", 64)))
		}
		a := p.post("contacts", form...)
		a.is(422)
		text := a.words()
		for _, words := range append(says, "Last name is required.") {
			contains(t, text, words, "%s: the page does not say", list)
		}
		if rows := strings.Count(a.body, `aria-invalid="true"`); rows > 502 || len(a.body) > 1<<20 {
			t.Errorf("%s: %d rows in %d bytes", list, rows, len(a.body))
		}
	}
}

func TestANoticeOfALongNameFitsIntoACookieAndSaysWhatWasDone(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	name := strings.Repeat("𝒜", 255)
	path := s.contact(p, name, name, func(in *crm.ContactInput) { in.MiddleName = &name })
	for change, says := range map[string]string{"/archive": "𝒜 was archived.", "/restore": "𝒜 was restored."} {
		p.get(path) // nothing is left to say
		a := p.post(path + change)
		a.is(303)
		if n := len(strings.Join(a.header.Values("Set-Cookie"), "")); n == 0 || n > 4<<10 {
			t.Errorf("%s: the cookies take %d bytes", change, n)
		}
		p.get(path).sees(says)
	}
}

// dial sends the headers of a form and the given part of its body.
func (s *site) dial(path, cookie string, length int, body string) *tls.Conn {
	s.t.Helper()
	config := s.http.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	conn := must(tls.Dial("tcp", s.http.Listener.Addr().String(), config))(s.t)
	s.t.Cleanup(func() { conn.Close() }) //nolint:errcheck // the test is over
	must(fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: example.com\r\nSec-Fetch-Site: same-origin\r\nCookie: %s\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", path, cookie, length,
		body))(s.t)
	return conn
}

// raw sends the headers of a form and the given part of its body, and only then reads the answer.
func (s *site) raw(path, cookie string, length int, body string) answer {
	s.t.Helper()
	response := must(http.ReadResponse(bufio.NewReader(s.dial(path, cookie, length, body)), nil))(s.t)
	defer response.Body.Close()
	page := must(io.ReadAll(response.Body))(s.t)
	return answer{s.t, response.StatusCode, response.Header, string(page)}
}

// A form from a client that is not signed in costs nothing: it is refused before its body arrives. An invalid session
// cookie makes no difference if the form is larger than anything that a person types.
func TestAStrangersFormIsNotRead(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	for _, route := range append(console.MemberRoutes(), console.UserRoutes()...) {
		if !strings.HasPrefix(route.Pattern, "POST ") {
			continue
		}
		for _, cookie := range []string{"x=y", "__Host-session=wrong"} {
			a := s.raw(address(route.Pattern, e.account.ID, e), cookie, 1<<20, "")
			a.is(401).sees("nothing was saved. Sign in")
			if len(a.body) > 8<<10 {
				t.Errorf("%s with %s: %d, %d bytes", route.Pattern, cookie, a.status, len(a.body))
			}
		}
	}
	for _, route := range console.StrangerRoutes() {
		if strings.HasPrefix(route.Pattern, "POST ") {
			s.raw(address(route.Pattern, e.account.ID, e), "__Host-session=wrong", 1<<20, "").is(413)
		}
	}
}

// A browser that sends a whole form before it reads gets its answer, no matter how large the form is.
func TestAFormThatIsTooLargeIsAnswered(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	cookie := p.client.Jar.Cookies(mustURL(t, s.http.URL))[0].String()
	form := strings.Repeat("a", 10<<20)
	s.raw(p.org("/contacts"), cookie, len(form), form).is(413).sees("larger than 1 MiB")
	s.raw(p.org("/contacts"), "x=y", len(form), form).is(401)
}

// The sign-in page keeps a form only for a browser that was signed in before.
func TestAStrangersFormIsNotRepeated(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	stranger := s.visitor()
	stranger.post(p.org("/contacts"), "first_name", "Amelia").is(401).hides("Amelia")
	large := strings.Repeat("n", 70_000)
	p.post("contacts", "first_name", "Amelia", "note", large).is(401).hides("Amelia").
		sees("Sign in, then fill in the form again.")
}

// The largest form that the sign-in page keeps arrives complete.
func TestALargeFormSurvivesTheEndOfTheSession(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	p.post("/console/signout").is(303) // in another tab
	form := []string{"first_name", "Amelia", "last_name", "Okafor", "note", strings.Repeat("n", 10_000)}
	for i := range 2_500 { // most rows are empty, as on a form with many rows
		form = append(form, fmt.Sprintf("tags.%d", i), strings.Repeat("t", max(0, 64-i)))
	}
	lost := p.post("contacts", form...)
	lost.is(401)
	again := p.post("/console/signin", append(hiddenFields(lost), "email", p.user.Email, "password", testPassword)...)
	again.is(200)
	p.resend(again, p.org("/contacts")).sees("Amelia Okafor was added")
}

// Forms of signed-in users are limited as well: most are small.
func TestFormsAreLimitedByWhatTheyAreFor(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	large := strings.Repeat("a", 65<<10)
	for path, status := range map[string]int{
		"/settings/organization": 413, "/settings/integrations/api-keys": 413, "/chapters": 413,
		"/contacts": 422, "/campaigns": 422,
	} {
		a := e.owner.post(e.owner.org(path), "name", large)
		a.is(status)
		if status == 413 {
			a.sees("The form is larger than 64 KiB. Nothing was changed.")
		}
	}
}

// The console limits the requests per minute of each user, and of each address that is not signed in. Files are not
// counted, so that every page gets its style sheet.
func TestTheConsoleIsRateLimited(t *testing.T) {
	s := siteOn(t, rig.SQLite, func(o *console.Options) { o.RateLimit = 5 })
	account := s.organization("Harbor")
	p, other, stranger := s.member(account, access.Owner), s.member(account, access.Viewer), s.visitor()
	for _, asker := range []struct {
		person *person
		path   string
		status int
	}{{p, "/console/profile", 200}, {stranger, "/console/signin", 200}} {
		for i := range 5 {
			a := asker.person.get(asker.path)
			a.is(asker.status)
			equal(t, a.header.Get("X-RateLimit-Remaining"), fmt.Sprint(4-i), "%s leaves", asker.path)
		}
		a := asker.person.get(asker.path)
		a.is(429).sees("Too many requests at once.", "Wait a moment")
		if wait := a.header.Get("Retry-After"); wait == "" ||
			!strings.Contains(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: Retry-After %q, %s", asker.path, wait, a.header.Get("Content-Type"))
		}
		asker.person.get("/console/static/console.css").is(200)
	}
	other.get("/console/profile").is(200)
	p.post("/console/profile/name", "name", "Somebody").is(429)
	s.visitor().get("/console/profile").is(429)
}

// A form that is refused comes back on the page it was sent from, with what was typed and what is wrong, on every page.
func TestARefusedFormIsAnsweredByThePageItCameFrom(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	long := strings.Repeat("n", 300)
	for path, c := range map[string]struct {
		form, sees []string
	}{
		"/console/profile/name": {[]string{"name", long},
			[]string{"Your profile", "Where you are signed in"}},
		e.owner.org("/settings/organization"): {[]string{"name", long},
			[]string{"Settings", "Public pages"}},
		e.owner.org("/settings/integrations/api-keys"): {[]string{"name", long},
			[]string{"New API key", "Permissions"}},
		e.owner.org("/settings/people/invite"): {[]string{"email", long, "role", "viewer"},
			[]string{"People", "Invite a colleague"}},
		e.owner.org("/chapters"): {[]string{"name", long},
			[]string{"Chapters", "New chapter"}},
		e.owner.org("/chapters/" + e.chapter.ID): {[]string{"name", long},
			[]string{"Chapters", "Structure"}},
		e.owner.org(fmt.Sprintf("/contacts/%d", e.contact)) +
			"/tags/add": {[]string{"tag", long}, []string{"Recurring gifts and pledges", "Add a tag"}},
	} {
		e.owner.post(path, c.form...).is(422).sees(c.sees...).has(`value="`+long+`"`, `aria-invalid="true"`)
	}
	e.owner.post(fmt.Sprintf("settings/people/%d/role", e.owner.user.ID), "role", "viewer").is(422).
		sees("People", "One thing needs your attention.", "Invite a colleague")
}

// things is how many there are of everything that a form can create.
func (s *site) things(e estate) string {
	s.t.Helper()
	ctx, t, number := s.t.Context(), s.t, e.account.Number
	_, contacts := must2(s.store.Contacts(ctx, number, crm.All, hundred, nil, nil))(t)
	_, campaigns := must2(s.store.Campaigns(ctx, number, campaign.AllCampaigns, hundred, "", nil, nil))(t)
	_, gifts := must2(s.store.Gifts(ctx, number, campaign.OwnCampaigns, giving.GiftFilter{}, hundred, nil, nil))(t)
	_, plans := must2(s.store.Plans(ctx, number, giving.PlanFilter{}, hundred))(t)
	_, activities := must2(s.store.Activities(ctx, number, e.contact, hundred, false, nil, nil))(t)
	return fmt.Sprintf("contacts %d, campaigns %d, gifts %d, plans %d, activities %d, keys %d, fields %d, "+
		"invitations %d, "+
		"chapters %d, segments %d", contacts.Total, campaigns.Total, gifts.Total, plans.Total, activities.Total,
		len(must(s.store.Keys(ctx, number))(t)), len(must(s.store.CustomFields(ctx, number))(t).All),
		len(must(s.store.Invitations(ctx, number))(t)), len(must(s.store.Chapters(ctx, e.account))(t)),
		len(must(s.store.Segments(ctx, number))(t)))
}

// creating are the forms that create something, as far as the test below must find them.
var creating = []string{
	"/contacts", "/contacts/{id}/gifts", "/contacts/{id}/plans", "/contacts/{id}/notes", "/campaigns", "/segments",
	"/chapters", "/settings/fields", "/settings/integrations/api-keys", "/settings/people/invite",
}

// Every form of the console that is sent twice, as by two clicks without scripts, creates one thing, and the second
// answer leads to a page as the first one does.
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
		equal(t, s.things(e), after,
			"%s, sent twice (%d, %d):\n%s became", route.Pattern, first.status, second.status, before)
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
			p.follow(path+"/notes", "attempt", fields["attempt"][0], "note_text", "before", "note_date", today).
				sees("Note added.")
		}
		p.follow(path+"/notes", "attempt", fields["attempt"][0], "note_text", note, "note_date", today).
			sees("Note added.")
	}
	_, found, err := s.store.Activities(t.Context(), p.account.Number, contact.ID,
		crm.PageRequest{Page: 1, PerPage: 100}, false, nil, nil)
	succeed(t, err)
	equal(t, found.Total, 5)
}
