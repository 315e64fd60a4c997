package browser_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// noPages are the addresses of the console at which there is nothing to look at.
var noPages = map[string]string{
	"/console/{$}":                             "leads to the organization",
	"/console/o/{org}/search/suggestions":      "is a part of other pages",
	"/console/o/{org}/settings/integrations":   "has moved",
	"/console/o/{org}/settings/keys":           "has moved",
	"/console/o/{org}/settings/keys/{rest...}": "has moved",
	"/{campaign}/qr.svg":                       "is a picture",
}

// pagesOf are the pages of the console and of givers, as their tables have them.
func pagesOf(t *testing.T) (patterns []string) {
	t.Helper()
	table := string(must(os.ReadFile("../internal/console/console.go"))(t))
	for _, r := range regexp.MustCompile(`\{"GET", "(.*?)", ([\w.]+), (.*), nil\},`).FindAllStringSubmatch(table, -1) {
		path, isMembers := r[1], strings.HasPrefix(r[2], "access.")
		if isMembers {
			path = "/o/{org}" + path
		}
		if !strings.HasPrefix(r[3], "page.FromHere(") { // which makes a file, or leads back
			patterns = append(patterns, "/console"+path)
		}
	}
	all := strings.Count(table, `{"GET", "`) - strings.Count(table, "page.FromHere(")
	if all != len(patterns) || all < 70 {
		t.Fatalf("of %d pages in the table of the console, %d are understood", all, len(patterns))
	}
	table = string(must(os.ReadFile("../internal/console/public/gift.go"))(t))
	for _, r := range regexp.MustCompile(`"GET (\S+)":`).FindAllStringSubmatch(table, -1) {
		patterns = append(patterns, "/{campaign}/"+r[1])
	}
	return append(patterns, "/{campaign}", "/give/{token}", "/test-payment/{session}")
}

var variable = regexp.MustCompile(`\\\{\w+(\\\.)*\\\}`)

// kindOf is the pattern that an address fits best.
func kindOf(patterns []string, path string) (kind string) {
	path, _, _ = strings.Cut(path, "?")
	for _, pattern := range patterns {
		expression := "^" + variable.ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+") + "$"
		isBetter := kind == "" || strings.Count(pattern, "{") < strings.Count(kind, "{")
		if isBetter && regexp.MustCompile(expression).MatchString(path) {
			kind = pattern
		}
	}
	return kind
}

// links are the addresses of pages that the page links to, without the server's own.
func (p *page) links() (paths []string) {
	p.t.Helper()
	for _, link := range told[[]string](p, `[...document.querySelectorAll('a[href]:not([download])')]
		.map((a) => new URL(a.getAttribute('href'), location).href.replace(/#.*/, '')).sort()`) {
		if path, ours := strings.CutPrefix(link, p.server.url); ours {
			paths = append(paths, path)
		}
	}
	return slices.Compact(paths)
}

// link is the first address that the page links to and that a pattern fits.
func (p *page) link(pattern string) string {
	p.t.Helper()
	for _, link := range p.links() {
		if regexp.MustCompile(pattern).MatchString(link) {
			return link
		}
	}
	p.t.Fatalf("no link of %s leads to %s", p.path(), pattern)
	return ""
}

// TestEveryKindOfPagePassesTheAudit looks once at each page that the tables of routes have: it follows every link from
// the home page of the demo, and then does what leads to the pages and states that no link leads to. A page that is in
// a table and that it has not come to is a failure.
func TestEveryKindOfPagePassesTheAudit(t *testing.T) {
	t.Parallel()
	patterns, seen := pagesOf(t), map[string]bool{}
	look := func(p *page) {
		t.Helper()
		seen[kindOf(patterns, p.path())] = true
		p.audit()
	}
	p := demo(t)
	home := p.path()
	p.followLinks(patterns, seen, look)
	link := p.listedPages(home, look)
	p.server.strangersPages(link, look)
	newServersPages(t, look)
	for _, pattern := range patterns {
		if reason := noPages[pattern]; seen[pattern] == (reason != "") {
			t.Errorf("%s was looked at: %t, and noPages has %q for it", pattern, seen[pattern], reason)
		}
	}
}

// followLinks looks at the first page of each kind that links lead to.
func (p *page) followLinks(patterns []string, seen map[string]bool, look func(*page)) {
	p.t.Helper()
	for queue := []string{p.path()}; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		if kind := kindOf(patterns, path); noPages[kind] != "" || seen[kind] || !strings.HasPrefix(path, "/console") {
			continue
		}
		p.visit(path)
		seen[kindOf(patterns, path)] = true
		if arrived := kindOf(patterns, p.path()); arrived != kindOf(patterns, path) && seen[arrived] {
			continue // the link leads on
		}
		if p.text("h1") == "" {
			p.t.Errorf("%s has no heading", path)
		}
		look(p)
		queue = append(queue, p.links()...)
	}
}

// listedPages are those that a member comes to by forms. It returns the link of an invitation.
func (p *page) listedPages(home string, look func(*page)) (invitation string) {
	p.t.Helper()
	visit := func(path string) { p.t.Helper(); p.visit(home + path) }
	visit("/contacts?q=okafor") // few rows: the first page of the list has been looked at
	p.click("Filters")
	look(p)
	visit("/contacts?q=okafor")
	p.tick("Select all contacts on this page")
	look(p)
	p.in("#bulk").click("Add tags")
	look(p)
	p.fill("Tags", "spring gala")
	p.click("Add tags")
	visit("/jobs")
	p.visit(p.link(`/jobs/\d+$`))
	look(p)

	visit("/contacts/new")
	p.click(".more-fields > summary")
	p.fill("First name", "Zoë", "Email", "no sense")
	p.run(`document.querySelector("form.form").noValidate = true`) // as browsers without validation do
	p.expects(422)
	p.click("Add contact")
	look(p)
	p.fill("Last name", "Okafor", "Email", "zoe@example.org")
	p.click("Add contact")
	visit("/contacts/new")
	p.fill("First name", "Ana", "Last name", "Diaz", "Email", "zoe@example.org")
	p.expects(409)
	p.click("Add contact")
	look(p) // the question whether it is the same person
	p.click("Keep both")
	p.visit(p.path() + "/history")
	look(p)
	undo := told[string](p, `document.querySelector('form[action$="/undo"]').getAttribute("action")`)
	p.visit(strings.TrimSuffix(undo, "/undo"))
	look(p)
	p.expects(404)
	visit("/contacts/999999999")
	look(p)

	visit("/contacts/1")
	p.in(".drawer").click("Record gift")
	look(p)
	p.in(giftForm).fill("Amount", "420")
	p.in(giftForm).click("Record gift")
	p.in(".notice").click("View gift")
	gift := p.path()
	p.click("Make receipt")
	p.visit(gift)
	p.click("More actions")
	p.click("Refund gift")
	look(p)
	p.visit(gift)
	p.visit(p.link(`/receipts/[^/]+$`))
	look(p)
	visit("/gifts?sort=transacted_at&thanks=waiting")
	p.click("Thank for all")
	look(p)
	visit("/contacts/print?what=statements")
	p.in("main").click("Email statements")
	look(p)
	visit("/statements?year=" + lastYear)
	look(p)

	visit("/contacts/import")
	p.chooses("people.csv", imported)
	p.click("Upload file")
	look(p)
	p.click("Preview import")
	look(p)
	p.click("Import 5 rows")
	p.refreshUntil("Rejected rows")
	p.click("Undo import") // whose popup must not be cut off on a phone
	look(p)
	visit("/duplicates")
	p.visit(p.link(`/contacts/\d+/merge`))
	p.click("Preview merge")
	look(p)

	visit("/settings/fields/new")
	p.fill("Title", "Shirt size")
	p.in(".sticky-actions").click("Add field")
	p.visit(p.link(`/settings/fields/\d+$`))
	look(p)
	visit("/settings/integrations/api-keys/new")
	p.fill("Name", "Website form")
	p.click("Create key")
	look(p)
	visit("/settings/people")
	p.fill("Email", "vera@example.org")
	p.click("Create invitation link")
	look(p)
	return p.text("#link")
}

// strangersPages are those of people who have not signed in.
func (s *server) strangersPages(invitation string, look func(*page)) {
	s.t.Helper()
	p, owner := s.open(), s.open()
	owner.signInToDemo()
	home := owner.path()
	for _, path := range []string{"/console/signin", "/console/forgot", "/light-the-harbor", invitation} {
		p.visit(path)
		look(p)
	}
	p.expects(404)
	p.visit("/lighthous-gala")
	look(p)
	p.visit("/console/forgot")
	p.fill("Email", demoEmail)
	p.click("Send link")
	p.visit("/console/mails")
	p.refreshUntil("Set a new password")
	p.click("Set a new password")
	look(p)

	donate := func(query, first string) {
		s.t.Helper()
		p.visit("/light-the-harbor/donate" + query)
		p.fill("First name", first, "Last name", "Wader", "Email", strings.ToLower(first)+"@example.org")
	}
	donate("", "Chloe")
	p.click("Check by mail")
	p.click("Give $50.00")
	p.sees("One step is left")
	look(p)
	owner.visit(home + "/donations")
	owner.click("Chloe Wader")
	look(owner)
	donate("?amount=25&frequency=monthly", "Mona")
	look(p)
	p.click("Give $25.00 every month")
	look(p)
	p.click("Try a card that is declined")
	p.sees("Your card was declined")
	p.click("Pay $25.00 by test card")
	p.sees("Thank you!")
	look(p)
	p.visit(s.mailed("Change or end my gift"))
	look(p) // which only offers to send a fresh link
	p.click("Send me the link")
	p.visit(s.mailed("See my monthly gift"))
	look(p)
}

// newServersPages are those that only a new server has.
func newServersPages(t *testing.T, look func(*page)) {
	t.Helper()
	s := start(t)
	p := s.open()
	p.visit(s.prints(`(https://\S+/console/setup/\S+)`))
	look(p)
	p.setsUp()
	look(p)
	p.in(".side").click("Contacts")
	look(p)
}

// mailed waits for a mail with a link of these words, which a demo shows on a page, and returns where it leads.
func (s *server) mailed(words string) string {
	s.t.Helper()
	mails := s.open()
	mails.visit("/console/mails")
	mails.refreshUntil(words)
	return told[string](mails, fmt.Sprintf(
		`[...document.querySelectorAll("a")].find((a) => a.textContent.trim() === %q).getAttribute("href")`, words))
}

var lastYear = strconv.Itoa(time.Now().Year() - 1)
