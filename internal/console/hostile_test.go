package console_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"donorbook/internal/console"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// estate is an organization with one of everything that an address can refer to.
type estate struct {
	account, chapter                 access.Account
	owner                            *person
	contact, archived, campaign, key int64
	change                           int64 // of the active contact
	upload                           int64 // an import that waits for its columns to be mapped
	job                              int64 // a change of many contacts
	segment                          int64
	merge                            int64 // of a contact into the active one
	field                            custom.Field
	invitation, gift, receipt, plan  string
	donation                         string // a promised one
}

func (s *site) estate(name string) estate {
	s.t.Helper()
	e := estate{account: s.organization(name)}
	e.owner = s.member(e.account, access.Owner)
	ctx, t, number := s.t.Context(), s.t, e.account.Number
	contact := func(first string) int64 {
		in := crm.ContactInput{FirstName: &first, LastName: &name, Tags: &[]string{name + " friends"},
			Custom: []custom.Input{custom.Written(e.field.ID, name)}}
		return s.create(e.account, in).ID
	}
	e.field = s.field(e.owner, name+" field", custom.SelectField, name)
	e.contact, e.archived = contact("Active"), contact("Archived")
	succeed(t, s.store.ArchiveContact(ctx, number, e.archived))
	e.change = s.latestChange(e)
	e.merge = must(s.store.Merge(ctx, number, e.contact, crm.MergeInput{Contact: contact("Twin")}, "US"))(t).Merge
	e.job = must(s.store.BulkChange(ctx, number, jobs.Selection{IDs: []int64{e.contact}},
		crm.BulkAction{Kind: crm.BulkTag, Tags: []string{name + " bulk"}}))(t).Job
	appeal := s.campaign(e.account, fmt.Sprintf(`{"title":%q}`, name+" appeal"))
	e.campaign = appeal.ID
	e.donation = s.promise(e.account, appeal,
		donate.Wish{FirstName: name, LastName: "Promised", Email: "promised@example.org"}).ID
	key, _ := must2(s.store.CreateKey(ctx, number,
		access.KeyInput{Name: name + " key", Permissions: access.AllPermissions}))(t)
	e.key = key.ID
	invitation, _ := must2(s.store.Invite(ctx, e.account, e.owner.user, access.Viewer, "guest@example.org"))(t)
	e.invitation = invitation.ID
	e.plan = s.plan(e.account, e.contact, "monthly")
	e.gift = s.donation(e.account, e.contact, `"campaign_id":%d,"plan_id":%q,"amount":50,"method":"card",`+
		`"transacted_at":"2026-01-31","note":%q`, e.campaign, e.plan, name).Code
	e.receipt = must(s.store.IssueReceipt(ctx, number, e.gift))(t).Receipt
	rows := strings.NewReader("first_name,last_name," + strings.ReplaceAll(name, `"`, "") + "\nAda,Lovelace,x\n")
	e.upload = must(s.store.UploadImport(ctx, number, jobs.ImportContacts, name+".csv", "US", rows))(t).ID
	segment := must(find.NewSegment(name, "first_name=Active", "US"))(t)
	e.segment = must(s.store.CreateSegment(ctx, number, segment))(t).ID
	e.chapter = s.chapter(e.owner, name+" North")
	return e
}

var hundred = crm.PageRequest{Page: 1, PerPage: 100}

// state is everything about an organization that a request could have changed.
func (s *site) state(e estate) string {
	s.t.Helper()
	ctx, t, number := s.t.Context(), s.t, e.account.Number
	contacts, _ := must2(s.store.Contacts(ctx, number, crm.All, hundred, nil, nil))(t)
	campaigns, _ := must2(s.store.Campaigns(ctx, number, campaign.AllCampaigns, hundred, "", nil, nil))(t)
	gifts, _ := must2(s.store.Gifts(ctx, number, campaign.OwnCampaigns, giving.GiftFilter{}, hundred, nil, nil))(t)
	plans, _ := must2(s.store.Plans(ctx, number, giving.PlanFilter{}, hundred))(t)
	given, _ := must2(s.store.Donations(ctx, number, donate.Filter{}, hundred))(t)
	members := must(s.store.Members(ctx, number))(t)
	for i := range members {
		members[i].SeenAt = time.Time{}
	}
	return fmt.Sprintf("%s\n%s\n%s\n%+v\n%+v\n%+v\n%+v\n%+v\n%+v\n%+v\n%+v\n%+v", contacts, campaigns, gifts, plans,
		given, members,
		must(s.store.Keys(ctx, number))(t), must(s.store.CustomFields(ctx, number))(t).All,
		must(s.store.Invitations(ctx, number))(t), must(s.store.Account(ctx, e.account.ID))(t),
		must(s.store.AccountSettings(ctx, number))(t), must(s.store.Chapters(ctx, e.account))(t))
}

// address fills in a pattern with the ids of an organization. A restore uses what is archived.
func address(pattern string, org string, e estate) string {
	_, path, _ := strings.Cut(pattern, " ")
	id := e.contact
	switch {
	case strings.Contains(path, "/restore"):
		id = e.archived
	case strings.Contains(path, "/campaigns/"):
		id = e.campaign
	case strings.Contains(path, "/api-keys/"):
		id = e.key
	case strings.Contains(path, "/segments/"):
		id = e.segment
	case strings.Contains(path, "/fields/"):
		id = e.field.ID
	}
	return strings.NewReplacer("{org}", org, "{id}", strconv.FormatInt(id, 10), "{chapter}", e.chapter.ID, "{gift}",
		e.gift, "{occasion}", "first", "{receipt}", e.receipt, "{plan}", e.plan, "{donation}", e.donation,
		"{list}", "gifts", "{merge}", strconv.FormatInt(e.merge, 10), "{import}", strconv.FormatInt(e.upload, 10),
		"{job}", strconv.FormatInt(e.job, 10),
		"{user}", strconv.FormatInt(e.owner.user.ID, 10), "{invitation}", e.invitation, "{change}",
		strconv.FormatInt(e.change, 10), "{session}", "0", "{token}", "x", "{file}", "console.css",
		"{status}", "closed", "{$}", "").Replace(path)
}

// valid are fields that every form accepts, so that only the permission to send it is missing.
var valid = []string{
	"first_name", "Mallory", "last_name", "Intruder", "tag", "stolen", "tags", "stolen", "title", "Stolen", "name",
	"Stolen", "parent", "",
	"role", "owner", "email", "mallory@example.org", "permission", "contacts:read", "expires", "never", "password",
	"long enough for all", "current_password", testPassword,
	"amount", "1", "transacted_at", "2026-01-31", "method", "card", "frequency", "monthly", "start_at", "2026-01-31",
	"status", "paused",
	"currency", "EUR", "address", "Stolen", "tax_id", "stolen", "note_text", "Stolen", "options", "Stolen",
	"action", "archive", "all", "1", "confirmed", "1", "seen", "1", "into", "Stolen",
}

func send(p *person, pattern, path string) answer {
	if strings.HasPrefix(pattern, "GET ") {
		return p.get(path)
	}
	return p.post(path, valid...)
}

// A member of one organization can neither see nor change another, whichever part of an address they replace.
func TestNobodyReachesAnotherOrganization(t *testing.T) {
	s := anySite(t)
	theirs := s.estate("Theirs")
	mine := s.estate("Mine")
	before := s.state(theirs)
	for _, route := range console.MemberRoutes() {
		// The address of the other organization, with its own ids.
		send(mine.owner, route.Pattern, address(route.Pattern, theirs.account.ID, theirs)).is(404).hides("Theirs")
		// The user's organization, with an id of the other one.
		if path := address(route.Pattern, mine.account.ID, theirs); path != address(route.Pattern, mine.account.ID,
			mine) {
			send(mine.owner, route.Pattern, path).is(404).hides("Theirs")
		}
	}
	equal(t, s.state(theirs), before, "something changed")
}

// TestEveryPageOpensOnEachEngine opens each page of a member, with content. An import that waits for its columns has
// no rejected rows yet.
func TestEveryPageOpensOnEachEngine(t *testing.T) {
	for _, engine := range rig.Both {
		t.Run(engine.Name, func(t *testing.T) {
			s := siteOn(t, engine)
			e := s.estate("Harbor")
			for _, route := range console.MemberRoutes() {
				if !strings.HasPrefix(route.Pattern, "GET ") || strings.HasSuffix(route.Pattern, "/rejected") {
					continue
				}
				if a := e.owner.get(address(route.Pattern, e.account.ID, e)); a.status != 200 && a.status != 303 {
					t.Errorf("%s: %d %s", route.Pattern, a.status, a.words())
				}
			}
		})
	}
}

// A link to another organization's data gets the same answer as a link to nothing.
func TestWhatIsForeignLooksLikeNothing(t *testing.T) {
	s := anySite(t)
	theirs, mine := s.estate("Theirs"), s.estate("Mine")
	nothing := theirs
	nothing.contact, nothing.archived, nothing.campaign, nothing.key = theirs.contact+77, theirs.contact+77,
		theirs.campaign+77, theirs.key+77
	nothing.chapter.ID, nothing.gift, nothing.plan = "0000000000000000", "0000000000000077", "0000000000000077"
	for _, route := range console.MemberRoutes() {
		for _, org := range []string{mine.account.ID, theirs.account.ID} {
			path, missing := address(route.Pattern, org, theirs), address(route.Pattern, org, nothing)
			if path == missing {
				continue
			}
			foreign, absent := send(mine.owner, route.Pattern, path), send(mine.owner, route.Pattern, missing)
			foreign.is(absent.status)
			equal(t, withoutNumbers(foreign), withoutNumbers(absent),
				"%s tells foreign (%d) from absent (%d)", route.Pattern, foreign.status, absent.status)
		}
	}
}

// withoutNumbers removes the request number.
func withoutNumbers(a answer) string {
	text, _, _ := strings.Cut(a.words(), "request number")
	return text
}

func TestRolesAreAskedByTheServer(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	people := map[access.Role]*person{access.Viewer: s.member(e.account, access.Viewer),
		access.Editor: s.member(e.account, access.Editor)}
	before := s.state(e)
	for _, route := range console.MemberRoutes() {
		for role, p := range people {
			if role >= route.Role {
				continue
			}
			send(p, route.Pattern, address(route.Pattern, e.account.ID, e)).is(403).
				sees("needs the role " + route.Role.String())
		}
	}
	equal(t, s.state(e), before, "something changed")
}

// Everybody may look, editors change what is about contacts, gifts and campaigns, and owners what is about the
// organization.
func TestEveryRouteHasItsRole(t *testing.T) {
	asks := regexp.MustCompile(`/(edit|new|void|thank|delete|rename|send)$|^GET /duplicates/merge$`)
	for _, route := range console.MemberRoutes() {
		method, path, _ := strings.Cut(strings.Replace(route.Pattern, "/console/o/{org}", "", 1), " ")
		want, settings := access.Viewer, strings.HasPrefix(path, "/settings/")
		if method == "POST" || asks.MatchString(method+" "+path) {
			want = access.Editor
		}
		switch {
		case path == "/settings/people", path == "/settings/integrations", path == "/settings/people/{id}/remove":
			want = access.Viewer
		case strings.HasPrefix(path, "/settings/thanks"):
			want = access.Editor
		case settings, strings.HasSuffix(path, "/erase"), method == "POST" && strings.HasPrefix(path, "/chapters"):
			want = access.Owner
		}
		equal(t, route.Role, want, "%s is for the role", route.Pattern)
	}
}

// No page offers a link or a form to a person who may not take it.
func TestNoPageOffersWhatARoleMayNotDo(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	roles, mux := map[string]access.Role{}, http.NewServeMux()
	for _, route := range console.MemberRoutes() {
		roles[route.Pattern] = route.Role
		mux.Handle(route.Pattern, http.NotFoundHandler())
	}
	for _, role := range []access.Role{access.Viewer, access.Editor} {
		p, offered := s.member(e.account, role), 0
		for pattern, needed := range roles {
			if !strings.HasPrefix(pattern, "GET ") || needed > role {
				continue
			}
			at := address(pattern, e.account.ID, e)
			for _, element := range elementsOf(t, p.get(at).body) {
				method, target := "GET", element.attribute("href")
				if element.node.Data == "form" {
					buttons := func(n *html.Node) bool { return n.Data == "button" }
					if !slices.ContainsFunc(slices.Collect(element.node.Descendants()), buttons) {
						continue // it cannot be sent
					}
					method, target = strings.ToUpper(cmp.Or(element.attribute("method"), "get")),
						element.attribute("action")
				}
				if !strings.HasPrefix(target, "/console/o/") {
					continue
				}
				_, taken := mux.Handler(httptest.NewRequest(method, target, nil))
				if offered++; roles[taken] > role && !strings.HasSuffix(target, fmt.Sprintf("/%d/remove", p.user.ID)) {
					t.Errorf("%s offers %s %s to the role %s", pattern, method, target, role)
				}
			}
		}
		if offered < 100 {
			t.Errorf("only %d links and forms were found for the role %s", offered, role)
		}
	}
}

// A viewer can leave the organization, but can do nothing else to its members.
func TestAViewerRemovesNobodyElse(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	viewer := s.member(e.account, access.Viewer)
	viewer.post("settings/people/" + strconv.FormatInt(e.owner.user.ID, 10) + "/remove").is(403)
	equal(t, len(must(s.store.Members(t.Context(), e.account.Number))(t)), 2)
}

func TestStrangersAreLedToTheSignInPage(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	before := s.state(e)
	for _, route := range append(console.MemberRoutes(), console.UserRoutes()...) {
		stranger := s.visitor()
		a := send(stranger, route.Pattern, address(route.Pattern, e.account.ID, e))
		led := a.status == 303 && strings.HasPrefix(a.location(), "/console/signin")
		if strings.HasPrefix(route.Pattern, "POST ") {
			led = a.status == 401 && strings.Contains(a.words(), "nothing was saved. Sign in")
		}
		a.hides("Harbor")
		if !led {
			t.Errorf("%s: %d to %q", route.Pattern, a.status, a.location())
		}
	}
	equal(t, s.state(e), before, "something changed")
}

// Another site can make a browser send a form with the cookies. The console refuses it, whatever the browser.
func TestFormsFromOtherSitesAreRefused(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	before := s.state(e)
	form := url.Values{}
	for i := 0; i < len(valid); i += 2 {
		form.Add(valid[i], valid[i+1])
	}
	forged := map[string]http.Header{
		"a new browser":             {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
		"a sibling of this host":    {"Sec-Fetch-Site": {"same-site"}, "Origin": {"https://other.example.com"}},
		"an old browser":            {"Origin": {"https://evil.example"}},
		"a page without an address": {"Origin": {"null"}},
		"an old browser, from a page of this host over plain HTTP": {"Origin": {strings.Replace(s.http.URL, "https:",
			"http:", 1)}},
	}
	e.owner.do(http.MethodPost, "/console/profile/name", url.Values{"name": {""}}, http.Header{"Origin": {s.http.URL}}).
		is(422)
	all := append(append(console.MemberRoutes(), console.UserRoutes()...), console.StrangerRoutes()...)
	posts := 0
	for _, route := range all {
		if !strings.HasPrefix(route.Pattern, "POST ") {
			continue
		}
		posts++
		for _, header := range forged {
			e.owner.do(http.MethodPost, address(route.Pattern, e.account.ID, e), form, header).is(403).
				sees("came from another site")
		}
	}
	if posts < 20 {
		t.Errorf("only %d forms were tried", posts)
	}
	equal(t, s.state(e), before, "something changed")
}

// Every answer has the headers that protect the browser: pages, redirects, errors and files.
func TestEveryAnswerIsGuarded(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	all := append(append(console.MemberRoutes(), console.UserRoutes()...), console.StrangerRoutes()...)
	check := func(what string, a answer) {
		t.Helper()
		csp := a.header.Get("Content-Security-Policy")
		for _, rule := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'",
			"frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
			contains(t, csp, rule, "%s: the policy lacks", what)
		}
		a.with("X-Frame-Options", "DENY", "X-Content-Type-Options", "nosniff", "Referrer-Policy", "same-origin")
		if strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %v", what, a.header)
		}
		if !strings.Contains(a.header.Get("Cache-Control"), "no-store") &&
			a.header.Get("Content-Type") != "text/css; charset=utf-8" {
			t.Errorf("%s may be kept by somebody: %q", what, a.header.Get("Cache-Control"))
		}
	}
	for _, route := range all {
		if strings.HasPrefix(route.Pattern, "GET ") {
			check(route.Pattern, e.owner.get(address(route.Pattern, e.account.ID, e)))
			check(route.Pattern+" by a stranger", s.visitor().get(address(route.Pattern, e.account.ID, e)))
		}
	}
	check("nothing", s.visitor().get("/console/nothing"))
	check("a wrong method", e.owner.get("contacts/1/archive"))
}

func TestTheSessionCookieIsForThisHostAlone(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor")
	in := access.UserInput{Name: "Ana", Email: "ana@example.org", Password: testPassword}
	must(s.store.CreateUser(t.Context(), account, access.Owner, in))(t)
	a := s.visitor().post("/console/signin", "email", "ANA@example.org ", "password", testPassword)
	cookie := a.header.Get("Set-Cookie")
	for _, part := range []string{"__Host-session=", "Path=/", "HttpOnly", "Secure", "SameSite=Lax", "Max-Age="} {
		contains(t, cookie, part, "the cookie lacks")
	}
	if strings.Contains(cookie, "Domain") {
		t.Error("the cookie is for other hosts too")
	}
}

// hostile are texts that would run, close a tag or an attribute, or begin a template if a page did not escape them.
var hostile = []string{
	`<script>window.pwned=1</script>`, `"><img src=x onerror=window.pwned=1>`, `' onmouseover='window.pwned=1`,
	`{{.User}}<svg onload=window.pwned=1>`,
	`</title><script>window.pwned=1</script>`, `javascript:window.pwned=1`,
}

// Stored text stays text on every page, in every field and however it came in.
func TestStoredScriptStaysText(t *testing.T) {
	s := anySite(t)
	for _, text := range hostile {
		e := s.hostileEstate(text)
		for _, route := range append(console.MemberRoutes(), console.UserRoutes()...) {
			if !strings.HasPrefix(route.Pattern, "GET ") {
				continue
			}
			path := address(route.Pattern, e.account.ID, e)
			a := e.owner.get(path)
			none := a.status == 404 && strings.HasSuffix(path, "/rejected") // of an import that has not begun
			if a.status != 200 && a.status != 303 && !none {
				t.Errorf("%s: %d", path, a.status)
			}
			if strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment;") { // a file, which no browser shows
				if kind := a.header.Get("Content-Type"); strings.Contains(kind, "html") ||
					a.header.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("%s is a file of the kind %q", path, kind)
				}
				continue
			}
			harmless(t, path, a.body)
		}
		for _, path := range []string{"/contacts?q=" + url.QueryEscape(text), "/contacts?tag=" + url.QueryEscape(text),
			"/tags?tag=" + url.QueryEscape(text), "/tags?q=" + url.QueryEscape(text), "/tags/rename?tag=" +
				url.QueryEscape(text), "/tags/delete?tag=" + url.QueryEscape(text), "/contacts?scope=" +
				url.QueryEscape(text),
			"/gifts?method=" + url.QueryEscape(text) + "&min=" + url.QueryEscape(text) + "&plan=" +
				url.QueryEscape(text) + "&from=" + url.QueryEscape(text)} {
			harmless(t, path, e.owner.get(e.owner.org(path)).body)
		}
		// Refused input comes back in the form.
		for _, path := range []string{"/contacts", "/campaigns", "/settings/integrations/api-keys",
			"/settings/people/invite", "/chapters", "/settings/fields", "/contacts/bulk", "/tags/rename"} {
			a := e.owner.post(e.owner.org(path), "action", "tag", "id", strconv.FormatInt(e.contact, 10), "query",
				"q="+url.QueryEscape(text), "tag", text, "name", text+"2", "first_name", text, "email", text,
				"emails.0.value", text, "subtitle", text, "description", text, "goal", text, "expires", text, "role",
				text, "parent", text)
			harmless(t, "POST "+path, a.body)
		}
		c, _ := s.stored(e.account, e.campaign)
		public := s.visitor().get("/" + c.Slug).is(200)
		harmless(t, c.Slug, public.body)
		if scripts := strings.Count(public.body, "<script"); strings.Count(public.body, "<title>") != 1 ||
			scripts != strings.Count(public.body, `<script src="/console/static/public.js?v=`) {
			t.Errorf("%q: %s", text, public.body)
		}
		harmless(t, "sign-in", s.visitor().post("/console/signin", "email", text, "password", "x", "next", text).body)
	}
}

// latestChange is the last change of the active contact.
func (s *site) latestChange(e estate) int64 {
	s.t.Helper()
	first := crm.PageRequest{Page: 1, PerPage: 1}
	changes, _ := must2(s.store.Timeline(s.t.Context(), e.account.Number, history.ContactNoun, e.contact, first))(s.t)
	return changes[0].Revision
}

// harmless fails if a page has a tag or an attribute that can only come from stored text.
func harmless(t *testing.T, where, body string) {
	t.Helper()
	for _, sign := range []string{"<script>window", "<img src=x", "<svg onload", "onerror=window.pwned=1>",
		`' onmouseover='`, `href="javascript:`, `action="javascript:`} {
		if strings.Contains(body, sign) {
			t.Errorf("%s: the page contains %s", where, sign)
		}
	}
}

// hostileEstate has the text everywhere that text can be stored.
func (s *site) hostileEstate(text string) estate {
	s.t.Helper()
	e := s.estate(text)
	ctx := s.t.Context()
	note := text
	in := crm.ContactInput{
		FirstName: &text, MiddleName: &text, LastName: &text, Company: &text, Title: &text, Note: &note,
		Emails: &[]crm.Email{{Value: "a@example.org"}}, Tags: &[]string{text, text + "2"},
		Addresses: &[]crm.Address{{Line1: text, Line2: text, City: text, Zipcode: text}},
		Custom:    []custom.Input{custom.Written(e.field.ID, text)},
	}
	succeed(s.t, in.Validate(nil, true, "US", now))
	d := must(s.store.CreateContact(ctx, e.account.Number, in, crm.Force))(s.t)
	e.contact = d.ID
	e.change = s.latestChange(e)
	address := "https://example.org/?" + url.QueryEscape(text)
	event := &campaign.Event{Title: text, LocationName: text, AddressFormatted: text, GooglePlaceID: text,
		Details:    text,
		Livestream: &campaign.Livestream{URL: address, Type: text, Location: text, Platform: text}}
	cover := &campaign.Cover{URL: address}
	title, subtitle, description := text, text, text
	c := campaign.Input{Title: &title, Subtitle: &subtitle, Description: &description, Event: &event, Cover: &cover,
		Logo: &address}
	succeed(s.t, c.Validate(nil, true))
	campaign := must(s.store.CreateCampaign(ctx, e.account, c))(s.t)
	e.campaign = campaign.ID
	succeed(s.t, s.store.RenameUser(ctx, e.owner.user.ID, text))
	return e
}

// Password guessing is slowed down, and the page does not reveal whether the email exists.
func TestGuessingIsThrottled(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor")
	in := access.UserInput{Name: "Ana", Email: "ana@example.org", Password: testPassword}
	must(s.store.CreateUser(t.Context(), account, access.Owner, in))(t)
	p := s.visitor()
	wrong := p.post("/console/signin", "email", "ana@example.org", "password", "wrong password")
	unknown := p.post("/console/signin", "email", "bob@example.org", "password", "wrong password")
	wrong.is(422)
	equal(t, wrong.words(), unknown.words(), "%d (%v)", wrong.status, unknown.status)
	for range 9 {
		p.post("/console/signin", "email", "ana@example.org", "password", "wrong password")
	}
	a := p.post("/console/signin", "email", "Ana@example.org", "password", testPassword)
	a.is(429).sees("Too many attempts. Try again in").lacks("Forgot")
	if a.header.Get("Retry-After") == "" {
		t.Errorf("it does not say how long to wait, or names an email that the server cannot send: %s", a.words())
	}
	s.store.UseRelay(new(store.Shelf))
	p.post("/console/signin", "email", "ana@example.org", "password", testPassword).
		sees("Or go back and choose “Forgot your password?”")
	p.post("/console/forgot", "email", "ana@example.org")
	s.send()
	_, link, _ := strings.Cut(p.get("/console/mails").body, `href="/console/reset/`)
	token, _, _ := strings.Cut(link, `"`)
	p.post("/console/reset/"+token, "password", "another good password").is(303)
	p.get("/console/profile").sees("ana@example.org")
}

// After signing in, the browser goes to a page of the console and nowhere else.
func TestNobodyIsLedAwayAfterSigningIn(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor")
	in := access.UserInput{Name: "Ana", Email: "ana@example.org", Password: testPassword}
	must(s.store.CreateUser(t.Context(), account, access.Owner, in))(t)
	for next, want := range map[string]string{
		"/console/profile": "/console/profile", "https://evil.example/": "/console",
		"//evil.example/console/": "/console", "/console/../../evil": "/console",
		`/\evil.example`: "/console", "/console\\@evil": "/console", "javascript:alert(1)": "/console", "": "/console",
	} {
		s.visitor().post("/console/signin", "email", "ana@example.org", "password", testPassword, "next", next).
			leads(want)
	}
}
