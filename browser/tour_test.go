package browser_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryPageThatLinksLeadToPassesTheAudit follows every link from the home page of the demo and checks one page of each kind,
// so that no page is forgotten.
func TestEveryPageThatLinksLeadToPassesTheAudit(t *testing.T) {
	t.Parallel()
	p := demo(t)
	queue, seen := []string{p.path()}, map[string]bool{}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		kind := kindOf(path)
		if seen[kind] || !strings.HasPrefix(path, "/console") {
			continue
		}
		seen[kind] = true
		p.visit(path)
		if arrived := kindOf(p.path()); arrived != kind { // a link may lead to a page by another way
			if seen[arrived] {
				continue
			}
			seen[arrived] = true
		}
		if title := p.text("h1"); title == "" {
			t.Errorf("%s has no heading", path)
		}
		p.glance()
		queue = append(queue, p.links()...)
	}
	for _, kind := range []string{
		"/console/o/*", "/console/o/*/contacts", "/console/o/*/contacts/new", "/console/o/*/contacts/*", "/console/o/*/contacts/*/edit",
		"/console/o/*/contacts/*/erase", "/console/o/*/contacts/import", "/console/o/*/tags", "/console/o/*/jobs", "/console/o/*/segments",
		"/console/o/*/settings/fields", "/console/o/*/settings/history",
		"/console/o/*/gifts", "/console/o/*/plans", "/console/o/*/contacts/*/plans/*",
		"/console/o/*/campaigns", "/console/o/*/campaigns/new", "/console/o/*/campaigns/*", "/console/o/*/campaigns/*/edit",
		"/console/o/*/chapters", "/console/o/*/settings", "/console/o/*/settings/integrations/api-keys", "/console/o/*/settings/integrations/api-keys/new",
		"/console/o/*/settings/integrations/api-keys/*/revoke", "/console/o/*/settings/people", "/console/profile",
	} {
		if !seen[kind] {
			t.Errorf("no link leads to a page such as %s", kind)
		}
	}
}

// links are the addresses of pages that the page links to, without the server's own.
func (p *page) links() (paths []string) {
	p.t.Helper()
	links, err := evaluate[[]string](p, `[...document.querySelectorAll('a[href]:not([download])')].map((a) => new URL(a.getAttribute('href'), location).href.replace(/#.*/, ''))`)
	p.must("looking for links", err)
	slices.Sort(links)
	for _, link := range slices.Compact(links) {
		if path, ours := strings.CutPrefix(link, p.server.url); ours {
			paths = append(paths, path)
		}
	}
	return paths
}

var variable = regexp.MustCompile(`(/o|/gifts|/plans)/[^/?]+|/\d+|=[^&]*`)

// lists are the same page with any filter, which the tests of each list look at.
var lists = regexp.MustCompile(`/(contacts|campaigns|gifts|plans|donors|statements?)\?.*`)

// kindOf is an address without the parts that differ between pages of the same kind.
func kindOf(path string) string {
	path = lists.ReplaceAllString(path, "/$1")
	return variable.ReplaceAllStringFunc(path, func(part string) string {
		if strings.HasPrefix(part, "=") {
			return "="
		}
		return variable.FindStringSubmatch(part)[1] + "/*"
	})
}
