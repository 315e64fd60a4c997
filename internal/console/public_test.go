package console_test

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"donorbook/internal/console"
	"donorbook/internal/crm/access"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

const galaRow = `{"title":"Winter Gala",
	"subtitle":"An evening for the harbor",
	"description":"<p>Come &amp; <b>dine</b></p>",
	"goal":120000,"raised":64500.5,"donors":1148,
	"cover":{"url":"https://images.example.org/gala.jpg"},"logo":"https://images.example.org/logo.png",
	"end_at":"2127-04-30 23:59:00",
	"event":{"title":"Gala night",
	"type":"hybrid",
	"location_name":"Custom House Hall",
	"address_formatted":"3 McKinley Square",
	"timezone":"America/New_York",
	"start_at":"2127-04-24 22:00:00",
	"end_at":"2127-04-25 03:00:00",
	"details":"<p>Dinner and music</p>",
	"tickets_required":true,"livestream":{"url":"https://video.example.org/gala"}}}`

func TestEverybodySeesACampaignAtItsAddress(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor Light"), access.Owner)
	s.campaign(owner.account, galaRow)
	stranger := s.visitor()
	a := stranger.get("/winter-gala")
	a.is(200).sees("Winter Gala · Harbor Light", "An evening for the harbor", "Come & dine",
		"$64,500.50 raised of $120,000", "53%", "1,148 donors", "Ends Apr 30, 2127", "Share by email",
		"Gala night", "Apr 24, 2127, 6:00 PM (America/New_York)", "Apr 24, 2127, 11:00 PM (America/New_York)",
		"Custom House Hall", "3 McKinley Square", "In person and online, ticket required",
		"Dinner and music", "Watch the livestream").
		has(`<p>Come &amp; <b>dine</b></p>`, `src="https://images.example.org/gala.jpg" alt="Winter Gala"`,
			`src="https://images.example.org/logo.png"`, `href="https://video.example.org/gala"`,
			`<meta name="description" content="An evening for the harbor">`,
			`<meta property="og:title" content="Winter Gala">`,
			`<meta property="og:description" content="An evening for the harbor">`,
			`<meta property="og:image" content="https://images.example.org/gala.jpg">`,
			`<meta name="twitter:card" content="summary_large_image">`,
			`<meta property="og:url" content="`+s.http.URL+`/winter-gala">`,
			`href="mailto:?subject=Winter%20Gala&amp;body=https%3A%2F%2F`).lacks("Edit", "Sign", "Donate", "Tax ID")
	equal(t, owner.get("/winter-gala").body, a.body, "who is signed in sees another page")
	a.with("Cache-Control", "private, max-age=60", "Content-Type", "text/html; charset=utf-8", "Set-Cookie", "")
	guarded := owner.get("/console/profile").header
	for _, name := range []string{"Content-Security-Policy", "X-Frame-Options", "Referrer-Policy",
		"Cross-Origin-Opener-Policy", "X-Content-Type-Options"} {
		if got, want := a.header.Get(name), guarded.Get(name); got != want || want == "" {
			t.Errorf("%s is %q, that of the console is %q", name, got, want)
		}
	}
	head := stranger.do(http.MethodHead, "/winter-gala", nil, nil)
	head.is(200).with("Content-Length", a.header.Get("Content-Length"))
	equal(t, head.body, "", "HEAD: %d %v", head.status, head.header)
}

// A missing part leaves no empty heading.
func TestTheShortestCampaignHasAPage(t *testing.T) {
	s := anySite(t)
	s.campaign(s.organization("Harbor Light"), `{"title":"Coats"}`)
	p := s.visitor()
	a := p.get("/coats")
	a.is(200)
	equal(t, a.words(), "Coats · Harbor Light Harbor Light Coats Share page Copy link Share on WhatsApp "+
		"Share on Facebook Share on X Share on Bluesky Share on LinkedIn Share by email", "the page says")
	a.hides("<section", "<img", "<footer", `<ul class="facts`, `<fieldset`, `name="description"`, "og:description")
}

func TestAPublicPageShowsPicturesOfHTTPSAloneAndLinksFilms(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor Light")
	s.campaign(account, `{"title":"Plain"}`, plainPictures)
	s.campaign(account,
		`{"title":"Film","cover":{"type":"video","url":"https://video.example.org/a"},"end_at":"2020-01-01 00:00:00","goal":10,"raised":11,"description":"One\n\nTwo "}`)
	p := s.visitor()
	p.get("/plain").hides("<img")
	p.get("/film").sees("Watch the video", "Ended Jan 1, 2020", "Goal reached: 110%").
		has(`href="https://video.example.org/a"`).hides("<img").has("<p>One</p>\n<p>Two</p>", `content="One Two"`)
}

// The page says who asks, as statements of giving do, and counts the days while there are few.
func TestAPublicPageSaysWhoAsksAndHowLong(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor Light"), access.Owner)
	owner.follow("settings/organization", "name", owner.account.Name, "timezone", "America/New_York")
	owner.follow("settings/giving", "currency", "USD", "address", "12 Wharf Street\nBoston, MA 02110", "tax_id",
		"04-1234567")
	boston := must(time.LoadLocation("America/New_York"))(t)
	now := now.In(boston)
	for i, end := range []time.Time{time.Date(now.Year(), now.Month(), now.Day()+2, 23, 0, 0, 0, boston),
		now.AddDate(0, 0, 400)} {
		s.campaign(owner.account, fmt.Sprintf(`{"title":"Coats %d","end_at":"%s"}`, i, end.UTC().Format(time.DateTime)))
	}
	p := s.visitor()
	p.get("/coats-0").sees("2 days left · Ends ", "Harbor Light 12 Wharf Street Boston, MA 02110 Tax ID 04-1234567")
	p.get("/coats-1").lacks("left")
	s.campaign(owner.account, `{"title":"Secret","type":"event","event":{"title":"Secret","private":true}}`)
	p.get("/secret").lacks("Share") // an address that is not to be passed on
}

// Recent donors are told of only where the organization has chosen so, by first name and initial, and never once they
// are archived or erased.
func TestAPublicPageTellsOfDonorsWhereTheOrganizationAllows(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	coats := s.campaign(owner.account, `{"title":"Coats"}`)
	gives := func(first, last, status string) int64 {
		contact := s.newcomer(owner.account, first, last)
		s.donation(owner.account, contact.ID,
			`"amount":12.5,"method":"check","transacted_at":"2025-03-01","campaign_id":%d,"status":%q`, coats.ID,
			status)
		return contact.ID
	}
	gives("Ada", "byron", "succeeded")
	gives("Anonymous", "Donor", "succeeded")
	gives("Pia", "Pledged", "pending")
	succeed(t, s.store.ArchiveContact(t.Context(), owner.account.Number, gives("Gone", "Away", "succeeded")))
	must(s.store.EraseContact(t.Context(), owner.account.Number, gives("Erased", "Person", "succeeded")))(t)
	p := s.visitor()
	p.get("/coats").lacks("Recent donors", "Ada", "Anonymous")
	owner.post("settings/public", "email", "no", "website", "javascript:alert(1)", "public_donors", "all").is(422)
	owner.follow("settings/public", "email", "give@example.org", "website", "https://example.org", "public_donors",
		"names")
	p.get("/coats?names").sees("Recent donors", "Ada B.", "Anonymous", "give@example.org · https://example.org").
		lacks("byron", "Anonymous D", "$12.50 ", "Pia", "Gone", "Erased", "Away", "Person")
	owner.follow("settings/public", "public_donors", "amounts")
	p.get("/coats?amounts").sees("$12.50")
	owner.follow("settings/public", "public_donors", "")
	p.get("/coats?none").lacks("Recent donors", "Ada", "example.org")
	editor := s.member(owner.account, access.Editor)
	editor.post("settings/public", "public_donors", "names").is(403)
}

func TestAPrivateEventKeepsItsPlaceToItself(t *testing.T) {
	s := anySite(t)
	s.campaign(s.organization("Harbor Light"), strings.Replace(galaRow, `"tickets_required":true`,
		`"tickets_required":true,"private":true`, 1))
	p := s.visitor()
	p.get("/winter-gala").sees("Winter Gala", "Gala night", "This event is private.").
		hides("Custom House", "McKinley", "New_York", "2127-04-2", "Apr 24", "Dinner", "video.example.org", "ticket",
			"person")
}

// If a campaign is an event and the event is private, the page shows only the title; a campaign that only has a
// private event still shows its own content.
func TestACampaignThatIsAPrivateEventShowsItsTitleAlone(t *testing.T) {
	s := anySite(t)
	row := strings.Replace(galaRow, `"title":"Winter Gala"`, `"title":"Winter Gala","type":"event"`, 1)
	row = strings.Replace(strings.Replace(row, `"title":"Gala night"`, `"title":"Winter Gala"`, 1),
		`"tickets_required":true`, `"private":true`, 1)
	s.campaign(s.organization("Harbor Light"), row)
	p := s.visitor()
	a := p.get("/winter-gala")
	a.is(200)
	equal(t, a.words(), "Winter Gala · Harbor Light Harbor Light Winter Gala This event is private.",
		"the page says")
	a.hides("harbor\"", "images.example.org", "og:image", "og:description", `name="description"`, "dine", "2127",
		"64,500", "1,148")
}

// An address that is not a campaign's gets the same answer as without public pages, and a campaign's page only answers
// GET and HEAD.
func TestWhatIsNoCampaignStaysAJSONError(t *testing.T) {
	s := anySite(t)
	s.campaign(s.organization("Harbor Light"), `{"title":"Winter Gala"}`)
	p := s.visitor()
	for _, request := range []struct{ method, path string }{
		{"GET", "/nothing"}, {"GET", "/winter-gala/"}, {"GET", "/Winter-Gala"}, {"GET", "/winter-gala/more"},
		{"GET", "//winter-gala"}, {"GET", "/winter-gala%2F"}, {"GET", "/winter_gala"},
		{"POST", "/winter-gala"}, {"DELETE", "/winter-gala"}, {"POST", "/nothing"}, {"GET", "/v1/nothing"},
	} {
		a := p.do(request.method, request.path, nil, nil)
		a.is(404).with("Content-Type", "application/json", "Cache-Control", "no-store", "Content-Security-Policy", "")
		equal(t, a.body, `{"message":"Not found."}`,
			"%s %s: %d (%v)", request.method, request.path, a.status, a.header)
	}
}

const browserAccepts = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// A person who mistypes an address gets an explanation and a link; a program gets neither.
func TestAnUnknownAddressIsAPageForPeople(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	stranger := s.visitor()
	ask := func(who *person, method, path, accept string) answer {
		return who.do(method, path, nil, http.Header{"Accept": {accept}}).is(404)
	}
	page := ask(stranger, "GET", "/nothing", browserAccepts).has(`href="/console"`).
		sees("There’s no page at this address.").
		with("Content-Type", "text/html; charset=utf-8", "Cache-Control", "no-store",
			"Content-Security-Policy", owner.get("/console/profile").header.Get("Content-Security-Policy"))
	for _, path := range []string{"/winter-gala/more", "/" + owner.account.ID, "/v2", "/V1/contacts"} {
		for who, method := range map[*person]string{stranger: "GET", owner: "POST"} {
			equal(t, ask(who, method, path, browserAccepts).body, page.body, "%s %s", method, path)
		}
	}
	equal(t, ask(stranger, "HEAD", "/nothing", browserAccepts).body, "", "HEAD")
	for path, accepts := range map[string][]string{
		"/nothing": {"*/*", "application/json", "text/html;q=0, */*", "text/*"}, "/v1": {browserAccepts},
		"/v1/contacts/x": {browserAccepts},
		"/openapi.xml":   {browserAccepts}, "/healthz/more": {browserAccepts}, "/readyz/more": {browserAccepts},
	} {
		for _, accept := range accepts {
			equal(t, ask(stranger, "GET", path, accept).
				with("Content-Type", "application/json").body, `{"message":"Not found."}`, "%s for %s", path, accept)
		}
	}
	ask(owner, "GET", owner.org("/nothing"), browserAccepts).sees("Sign out")
	stranger.get("/console/nothing").has(`href="/console/signin">Sign in</a>`)
}

// The page does not keep the headers of the first handler's error; the log names the route, not the path.
func TestAPublicPageForgetsTheErrorBeforeItAndIsLoggedByItsRoute(t *testing.T) {
	s := anySite(t)
	s.campaign(s.organization("Harbor Light"), `{"title":"Winter Gala"}`)
	var log bytes.Buffer
	handler := fallback(t, s.store, &log, func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-RateLimit-Limit", "60")
		w.Header().Set("X-RateLimit-Remaining", "3")
		return web.NotFound()
	})
	page, nothing := httptest.NewRecorder(), httptest.NewRecorder()
	handler.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/winter-gala?from=ana@example.org", nil))
	handler.ServeHTTP(nothing, httptest.NewRequest(http.MethodGet, "/ana-smith", nil))
	h := page.Header()
	if page.Code != 200 || h.Get("Content-Type") != "text/html; charset=utf-8" ||
		h.Get("X-RateLimit-Remaining") != "" || h.Get("X-RateLimit-Limit") != "" {
		t.Errorf("%d %v", page.Code, h)
	}
	if nothing.Code != 404 || nothing.Header().Get("X-RateLimit-Remaining") != "3" {
		t.Errorf("%d %v", nothing.Code, nothing.Header())
	}
	lines := log.String()
	if !strings.Contains(lines, "route=/{campaign} status=200") || !strings.Contains(lines, "route=none status=404") ||
		strings.Contains(lines, "gala") || strings.Contains(lines, "ana") {
		t.Errorf("the log says %s", lines)
	}
}

// A page that cannot be looked up is not a page that is gone.
func TestAPublicPageIsAwayWhileTheDatabaseIs(t *testing.T) {
	s := must(book.Open(t.Context(), store.Options{Data: t.TempDir()}))(t)
	handler := fallback(t, s, &bytes.Buffer{}, web.NewMux().Serve)
	succeed(t, s.Close())
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/winter-gala", nil))
	if w.Code < 500 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// fallback puts the public pages behind a handler of the test.
func fallback(t *testing.T, s *book.Book, log *bytes.Buffer, next web.HandlerFunc) http.Handler {
	t.Helper()
	pages := must(console.New(s, console.Options{Region: "US"}))(t)
	plumbing := web.Plumbing{Log: slog.New(slog.NewTextHandler(log, nil))}
	return plumbing.Wrap(pages.Fallback(next))
}

// Browsers end lines with a carriage return as well.
func TestPlainTextOfTheFormBecomesParagraphs(t *testing.T) {
	s, editor := signedIn(t, access.Editor)
	page := editor.follow("campaigns", "title", "Gala", "type", "collect", "currency", "USD",
		"description", "Line one\r\n\r\nLine two\r\nwith <3", "event.details", "Come\r\n \r\nearly")
	for _, a := range []answer{page, s.visitor().get("/gala")} {
		a.has("<p>Line one</p>\n<p>Line two<br>with &lt;3</p>", "<p>Come</p>\n<p>early</p>")
	}
	page.has(`href="` + s.http.URL + `/gala" target="_blank" rel="noopener"`)
}

// Without a base URL, what a page links to is what the visitor's browser named. So no proxy may show that page to
// somebody else; with one, the page is the same for everybody.
func TestAForgedHostReachesNobodyElse(t *testing.T) {
	for base, cached := range map[string]string{"": "private, max-age=60",
		"https://donors.example.org": "public, max-age=60"} {
		proxies := must(web.NewProxies(nil, base))(t)
		s := siteOn(t, rig.SQLite, func(o *console.Options) { o.Proxies = proxies })
		s.campaign(s.organization("Harbor"), `{"title":"Gala"}`)
		for _, path := range []string{"/gala", "/gala/qr.svg"} {
			request := must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.http.URL+path, nil))(t)
			request.Host = "evil.example"
			a := s.visitor().send(request)
			a.is(200).with("Cache-Control", cached)
			if base != "" && strings.Contains(a.body, "evil.example") {
				t.Errorf("%s has the forged host", path)
			}
		}
	}
}

// The mails of a demo hold links that let anyone in: they are for programs on this machine, and not for whom a proxy
// on this machine asks for.
func TestTheMailsOfADemoAreForThisMachine(t *testing.T) {
	s := anySite(t)
	s.store.UseRelay(new(store.Shelf))
	member := s.member(s.organization("Harbor"), access.Viewer)
	for name, c := range map[string]struct {
		host   string
		header http.Header
		seen   bool
	}{
		"this machine":                       {"localhost:8443", nil, true},
		"a proxy that says nothing":          {"donors.example.org", nil, false},
		"a proxy that names the client":      {"localhost", http.Header{"X-Forwarded-For": {"203.0.113.9"}}, false},
		"a proxy that passes on what it got": {"localhost", http.Header{"X-Forwarded-For": {"127.0.0.1"}}, false},
		"a proxy with another header":        {"localhost", http.Header{"X-Forwarded-Host": {"localhost"}}, false},
	} {
		request := must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.http.URL+"/console/mails", nil))(t)
		request.Host = c.host
		for key, values := range c.header {
			request.Header[key] = values
		}
		equal(t, (s.visitor().send(request).status == 200), c.seen, "%s", name)
	}
	member.do(http.MethodGet, "/console/mails", nil, http.Header{"X-Forwarded-For": {"203.0.113.9"}}).is(200)
}

// Each address may look at public pages as often as anyone else may ask for something, and no more.
func TestLooksAtPublicPagesAreCounted(t *testing.T) {
	s := siteOn(t, rig.SQLite, func(o *console.Options) { o.RateLimit = 5 })
	account := s.organization("Harbor")
	s.campaign(account, `{"title":"Gala"}`)
	member := s.member(account, access.Viewer)
	for i, path := range []string{"/gala", "/gala/donate", "/gala/thanks", "/gala/qr.svg", "/nothing-here"} {
		look := func(address string) answer {
			return member.do(http.MethodGet, path, nil, http.Header{"X-Forwarded-For": {address}})
		}
		from := fmt.Sprintf("192.0.2.%d", i)
		for range 5 {
			if a := look(from); a.status == 429 {
				t.Errorf("%s: an address may not look 5 times", path)
			}
		}
		if a := look(from); a.status != 429 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: the sixth look is answered %d", path, a.status)
		}
		if a := look("198.51.100." + fmt.Sprint(i)); a.status == 429 {
			t.Errorf("%s: somebody else may not look", path)
		}
	}
}

// What a story costs is paid when it is saved: a look at a page does not search all of a long one.
func TestALongStoryIsNotSearchedAtEachLook(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor Light")
	look := func(slug, story string) float64 {
		s.campaign(account, fmt.Sprintf(`{"title":"Gala","slug":%q,"description":%q}`, slug, story))
		handler := s.http.Config.Handler
		return testing.AllocsPerRun(5, func() {
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/"+slug, nil))
		})
	}
	short := look("short", "w")
	for name, story := range map[string]string{
		"tags": strings.Repeat("<b>w</b>", 7_500), "lines": strings.Repeat("<b>w</b>\n", 6_600),
		"paragraphs": strings.Repeat("w\n\n", 15_000), "layout": "<p>" + strings.Repeat("w ", 30_000) + "</p>",
	} {
		if long := look(name, story); long > short+200 {
			t.Errorf("%s: %.0f pieces of memory, and %.0f for a short story", name, long, short)
		}
	}
}

func TestASummaryIsHowTheStoryBegins(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor Light")
	for i, test := range [][3]string{
		{"", "<p>Warm <b>coats</b>\n for&nbsp;all</p>", "Warm coats for all"}, {"", "a &lt;b&gt; c", "a &lt;b&gt; c"},
		{"", "<p>" + strings.Repeat("w ", 300), strings.TrimSpace(strings.Repeat("w ", 100)[:199]) + "…"},
		{"All winter", "<p>no</p>", "All winter"},
	} {
		s.campaign(account, fmt.Sprintf(`{"title":"Gala %d","subtitle":%q,"description":%q}`, i, test[0], test[1]))
		s.visitor().get(fmt.Sprint("/gala-", i)).has(`<meta name="description" content="` + test[2] + `">`)
	}
}

// readCode draws an image of a code, and reads it with another library.
func readCode(t *testing.T, svg string) string {
	t.Helper()
	const dot = 4
	number := func(digits string) int { return must(strconv.Atoi(digits))(t) }
	size := number(between(t, svg, `viewBox="0 0 `, " ")) * dot
	drawn := image.NewGray(image.Rect(0, 0, size, size))
	draw.Draw(drawn, drawn.Bounds(), image.White, image.Point{}, draw.Src)
	for _, bar := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(svg, -1) {
		x, y, width := number(bar[1]), number(bar[2]), number(bar[3])
		draw.Draw(drawn, image.Rect(x*dot, y*dot, (x+width)*dot, (y+1)*dot), image.Black, image.Point{}, draw.Src)
	}
	pure := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true} // it is no photograph
	bitmap := must(gozxing.NewBinaryBitmapFromImage(drawn))(t)
	return must(qrcode.NewQRCodeReader().Decode(bitmap, pure))(t).GetText()
}

func TestTheCodeOfACampaignIsReadByAnotherLibrary(t *testing.T) {
	proxies := must(web.NewProxies(nil, "https://give.example.org"))(t)
	s := siteOn(t, rig.SQLite, func(o *console.Options) { o.Proxies = proxies })
	account := s.organization("Harbor Light")
	for _, slug := range []string{"winter-gala", strings.Repeat("x", 255)} {
		s.campaign(account, fmt.Sprintf(`{"title":"Gala","slug":%q}`, slug))
		image := s.visitor().get("/" + slug + "/qr.svg").is(200).hides(slug)
		equal(t, readCode(t, image.body), "https://give.example.org/"+slug, "it is read")
	}
}
