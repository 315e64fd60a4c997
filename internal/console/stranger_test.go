package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/console"
	"donorbook/internal/crm/access"
	"donorbook/internal/rig"
	"donorbook/internal/store/mails"
	"donorbook/internal/web"
)

// Without a base URL, what a page links to is what the visitor's browser named. So no proxy may show that page to somebody else; with one, the page is the same for everybody.
func TestAForgedHostReachesNobodyElse(t *testing.T) {
	for base, cached := range map[string]string{"": "private, max-age=60", "https://donors.example.org": "public, max-age=60"} {
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

// The mails of a demo hold links that let anyone in: they are for programs on this machine, and not for whom a proxy on this machine asks for.
func TestTheMailsOfADemoAreForThisMachine(t *testing.T) {
	s := anySite(t)
	s.store.UseRelay(new(mails.Shelf))
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
		if a := s.visitor().send(request); (a.status == 200) != c.seen {
			t.Errorf("%s: %d", name, a.status)
		}
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
