package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/console"
	"donorbook/internal/console/campaigns"
	"donorbook/internal/console/giving"
	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
)

// code is an id in an address.
var code = regexp.MustCompile(`/(\d+|[0-9A-Za-z]{16})(/|$)`)

// ownParameters are what pages that are no lists are asked for.
var ownParameters = map[string][]string{
	"/statements": {"year", "new", "returning", "lapsed", "after", "before"}, "/reports": {"year"},
	"/reports/export": {"year"}, "/receipts": {"year", "page"},
	"/contacts/import": {"of", "page"}, "/duplicates": {"level", "page"}, "/duplicates/merge": {"page"},
	"/contacts/{id}": {"plan"}, "/contacts/{id}/merge": {"with", "q"},
	"/contacts/{id}/statement": {"year"}, "/search": {"q"}, "/jobs": {"page"}, "/segments": {"page"},
	"/tags": {"page", "q"}, "/tags/rename": {"tag"}, "/tags/delete": {"tag"},
	"/gifts/thank": {"query", "id", "all"}, "/settings/integrations/api-keys": {"page"},
	"/settings/people": {"page", "invited"}, "/chapters": {"page"}, "/merges": {"page"},
	"/contacts/{id}/history": {"page"}, "/jobs/{id}": {"page"}, "/contacts/new": {"gift"},
	"/gifts/{id}/thank": {"occasion"},
	"/settings/history": {"about", "who", "from", "to", "before", "after"},
}

// unknownParameters says which parameters of a link the page at a path does not know, "" for none.
func unknownParameters(path string, q url.Values) string {
	path = code.ReplaceAllString(path, "/{id}$2")
	listings := map[string]*page.Listing{
		"/contacts": page.ContactListing, "/gifts": giving.GiftListing, "/plans": giving.PlanListing,
		"/donors":    giving.DonorListing,
		"/donations": giving.DonationListing, "/campaigns": campaigns.Listing,
	}
	list, isFile := strings.CutSuffix(path, "/export")
	if strings.HasPrefix(path, "/contacts/print") {
		path = "/contacts"
	}
	if l := listings[path]; l != nil || isFile && listings[list] != nil {
		if l == nil {
			l = listings[list]
		}
		if _, err := l.Whole(q, "what", "year", "order", "paper", "archived", "anyway", "id"); err != nil {
			return err.Error()
		}
		return ""
	}
	for name := range q {
		if !slices.Contains(ownParameters[path], name) {
			return "nothing at " + path + " is called " + name
		}
	}
	return ""
}

// TestEveryLinkIsUnderstood follows the links of all pages that can be reached: the page at the other end knows each
// parameter.
func TestEveryLinkIsUnderstood(t *testing.T) {
	s := anySite(t)
	p := s.followed()
	editor := *p
	p = s.member(editor.account, access.Owner)
	seen := map[string]int{}
	waiting := []string{p.org(""), p.org("/contacts?tag=" + url.QueryEscape(oddTag)), p.org("/gifts?thanks=waiting")}
	for len(waiting) > 0 {
		at := waiting[0]
		waiting = waiting[1:]
		a := p.get(at)
		if a.status == 303 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			continue
		}
		a.is(200)
		for _, e := range elementsOf(t, a.body) {
			target := e.attribute("href")
			sent := url.Values{}
			if e.node.Data == "form" {
				if target = e.attribute("action"); e.attribute("method") != "post" {
					sent = filled(e.node)
				}
			}
			u := mustURL(t, target)
			path, ours := strings.CutPrefix(u.Path, p.org(""))
			if !ours || strings.HasPrefix(path, "/columns/") {
				continue
			}
			for name, values := range u.Query() {
				sent[name] = append(sent[name], values...)
			}
			if e.attribute("method") != "post" || path == "/contacts/bulk" {
				if said := unknownParameters(path, sent); said != "" && path != "/contacts/bulk" {
					t.Errorf("%s: the link %q to %s: %s", at, e.words, target, said)
				}
			}
			kind := fmt.Sprint(code.ReplaceAllString(path, "/{id}$2"), slices.Sorted(maps.Keys(sent)))
			if seen[kind]++; e.node.Data == "a" && seen[kind] <= 2 && !strings.Contains(path, "/export") &&
				len(target) < 2000 {
				waiting = append(waiting, target)
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d kinds of links were followed", len(seen))
	}
}

// An address in a template is one value that the program has made: what is written behind a "?" there is escaped for a
// place that it may not stand in.
func TestNoTemplateWritesAQuery(t *testing.T) {
	address := regexp.MustCompile(`(?:href|action|src|hx-get)="([^"{]*(?:\{\{(?:[^}"]|"[^"]*")*\}\}[^"{]*)*)"`)
	values := regexp.MustCompile(`\{\{(?:[^}"]|"[^"]*")*\}\}`)
	mixed := regexp.MustCompile(`\x00[?&]|[?&].*\x00`)
	files, err := filepath.Glob("*/*.html")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	found := 0
	for _, file := range files {
		template := must(os.ReadFile(file))(t)
		for _, match := range address.FindAllStringSubmatch(string(template), -1) {
			found++
			if mixed.MatchString(values.ReplaceAllString(match[1], "\x00")) {
				t.Errorf("%s writes a query of its own: %s", file, match[0])
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d addresses were found", found)
	}
}

// A link on another site opens pages and does nothing else: it starts no file of donors' data, and changes nothing
// that a person has chosen. An address that is typed or bookmarked does, and one in a browser that does not say where
// a link stands.
func TestALinkOnAnotherSiteOnlyOpensPages(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	files := 0
	for _, route := range console.MemberRoutes() {
		if !strings.HasPrefix(route.Pattern, "GET ") {
			continue
		}
		path := address(route.Pattern, e.account.ID, e)
		from := func(site string) answer {
			return e.owner.do(http.MethodGet, path, nil, http.Header{"Sec-Fetch-Site": {site}})
		}
		here := from("same-origin")
		starts := here.header.Get("Content-Disposition") != "" ||
			strings.Contains(here.header.Get("Set-Cookie"), "columns") ||
			slices.Contains([]string{"rejected", "letters", "file"}, idIn(path)) // of which the estate has none
		before := s.state(e)
		elsewhere := from("cross-site")
		equal(t, s.state(e), before, "%s changes something for a link on another site", route.Pattern)
		equal(t, elsewhere.status == 403, starts,
			"%s: a link on another site is answered with %d", route.Pattern, elsewhere.status)
		if starts {
			files++
			elsewhere.sees("A link on another site led here, so nothing was done.")
			for _, site := range []string{"none", "same-site"} {
				from(site).is(here.status)
			}
		}
	}
	if files < 10 {
		t.Errorf("only %d routes make files", files)
	}
}
