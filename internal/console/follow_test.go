package console_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/store"
)

// oddTag has everything that means something in an address.
const oddTag = `R&D + 50%=x #1?`

// followed is an organization whose lists are longer than a page, and have rows that each kind of filter tells apart.
func (s *site) followed() *person {
	s.t.Helper()
	p := s.member(s.organization("Harbor"), access.Editor)
	gala := s.campaign(p.account, `{"title":"Gala & more","currency":"USD"}`)
	yes := true
	give := func(n int64, fields string) {
		s.donation(p.account, doc.MakeID(p.account.Number, n), `"transacted_at":"2025-03-0%d",%s`, 1+n%9, fields)
	}
	for i := range 55 {
		s.contact(p, "Guest", fmt.Sprintf("Number%02d", i), tagged("crowd"), func(in *crm.ContactInput) {
			in.Emails = &[]crm.Email{{Value: fmt.Sprintf("guest%02d@example.org", i)}}
		})
		give(int64(i+1), `"amount":10,"method":"card","thanks":"letter"`)
	}
	s.contact(p, "Ann & Co", "Abel", tagged("vip", oddTag), func(in *crm.ContactInput) {
		in.Emails, in.Addresses = &[]crm.Email{{Value: "ann+1@example.org"}},
			&[]crm.Address{{City: "San José", Zipcode: "95112"}}
	})
	s.contact(p, "Ben", "Bloom", tagged("vip", "crowd"), func(in *crm.ContactInput) {
		in.Phones, in.DoNotCall = &[]crm.Phone{{Value: "212-555-0100"}}, &yes
	})
	s.contact(p, "Old", "Orr", tagged("crowd"))
	give(56, fmt.Sprintf(`"amount":75.5,"method":"check","thanks":"waiting","campaign_id":%d`, gala.ID))
	give(57, `"amount":20,"method":"cash","thanks":"waiting"`)
	give(58, `"amount":30,"method":"cash","status":"pending"`)
	p.post(fmt.Sprintf("contacts/%d/archive", doc.MakeID(p.account.Number, 58)))
	s.plan(p.account, doc.MakeID(p.account.Number, 56), "monthly")
	s.plan(p.account, doc.MakeID(p.account.Number, 57), "yearly")
	for _, name := range []string{"Ada", "Eve"} {
		s.promise(p.account, gala, donate.Wish{FirstName: name, LastName: "Wish", Email: strings.ToLower(name) +
			"+a@example.org"})
	}
	return p
}

// lists are the lists of an organization with the addresses of filters of each kind, what a page of the list calls its
// rows in links, and the column of the file that names them; "" for a list without files.
var lists = []struct {
	path, row, column string
	queries           []string
}{
	{"/contacts", "/contacts/", "id", []string{
		"", "tag=vip", "tag=" + url.QueryEscape(oddTag), "tag=vip&tag=crowd", "tag_any=vip&tag_any=crowd",
		"tag_none=crowd", "q=guest", "q=ann+%26", "city=San+Jos%C3%A9", "zip=951",
		"has=email", "lacks=email&lacks=phone&scope=all", "gave_after=2025-03-02&gave_before=2025-03-05",
		"no_gift_after=2025-03-03", "total_contributions_min=15", "plan_status=active", "do_not_call=false",
		"type=individual",
		"created_after=2020-01-01", "scope=archived", "scope=all&sort=last_name&tag=crowd", "last_name=Abel",
		"first_name=Ann+%26+Co", "campaign_id=GALA", "primary_email=ann%2B1%40example.org",
	}},
	{"/gifts", "/gifts/", "id", []string{
		"", "from=2025-03-02&to=2025-03-04", "min=15", "max=15&sort=amount", "campaign=GALA", "method=card",
		"method=cash&status=succeeded", "status=counted", "thanks=waiting", "thanks=waiting&method=cash",
		"contact=CONTACT",
	}},
	{"/plans", "/plans/", "id", []string{"", "frequency=monthly", "status=active&sort=amount", "method=card",
		"contact_id=CONTACT"}},
	{"/donors", "/contacts/", "contact_id", []string{"year=2025", "year=2025&new=1", "campaign=GALA"}},
	{"/donations", "/donations/", "", []string{"", "state=promised", "find=ada%2Ba%40example.org", "campaign=GALA",
		"created_after=2020-01-01"}},
}

// TestEveryLinkOfAListIsAboutWhatTheListShows follows every link and form of every list with each kind of filter: the
// records that arrive are those that the page shows. A link that carries a filter and that this test does not know is
// a failure, too.
func TestEveryLinkOfAListIsAboutWhatTheListShows(t *testing.T) {
	s := anySite(t)
	p := s.followed()
	s.store.UseRelay(new(store.Shelf))
	gala := regexp.MustCompile(`/campaigns/(\d+)"`).FindStringSubmatch(p.get("campaigns").body)[1]
	fill := strings.NewReplacer("GALA", gala, "CONTACT", fmt.Sprint(doc.MakeID(p.account.Number, 56)))
	for _, list := range lists {
		for _, query := range list.queries {
			f := &follower{p: p, list: list.path, row: list.row, column: list.column, query: fill.Replace(query)}
			f.address = p.org(strings.TrimSuffix(list.path+"?"+f.query, "?"))
			if f.want = f.listed(f.address); len(f.want) == 0 {
				t.Errorf("%s shows nothing", f.address)
			}
			f.followAll()
		}
	}
}

// follower follows the links and forms of one list.
type follower struct {
	p                        *person
	list, row, column, query string
	address                  string
	want                     []string // the rows that the list shows, on all its pages
}

// listed are the rows of a list, on all its pages.
func (f *follower) listed(address string) []string {
	f.p.site.t.Helper()
	var all []string
	row := regexp.MustCompile(`<a class="main" href="` + f.p.org(f.row) + `(\w+)"`)
	for next := address; next != ""; {
		a := f.p.get(next)
		if a.status == 303 {
			a = f.p.get(a.location())
		}
		equal(f.p.site.t, a.status, 200, "%s (%v)", next, a.words())
		_, list, _ := strings.Cut(a.body, `id="list">`)
		for _, found := range row.FindAllStringSubmatch(list, -1) {
			all = append(all, found[1])
		}
		next = ""
		if strings.Contains(a.body, ">Next</a>") {
			next = a.link(f.p.site.t, "Next")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// same fails where a link or form is about other rows than the list.
func (f *follower) same(what string, got []string) {
	f.p.site.t.Helper()
	if slices.Sort(got); !slices.Equal(got, f.want) {
		f.p.site.t.Errorf("%s: %s is about %d rows, want %d", f.address, what, len(got), len(f.want))
	}
}

// element is a link or a form of a page, with where on the page it stands.
type element struct {
	node   *html.Node
	label  string // of the navigation or list around it
	words  string
	within map[string]bool // names of the elements around it
}

func (e element) attribute(name string) string { return attribute(e.node, name) }

// elementsOf are the links and forms of the main part of a page.
func elementsOf(t *testing.T, body string) (all []element) {
	t.Helper()
	root := must(html.Parse(strings.NewReader(body)))(t)
	var look func(n *html.Node, around element)
	look = func(n *html.Node, around element) {
		if n.Type == html.ElementNode {
			if label := attribute(n, "aria-label"); label != "" && n.Data != "a" {
				around.label = label
			}
			around.within = maps.Clone(around.within)
			around.within[n.Data] = true
			if (n.Data == "a" || n.Data == "form") && around.within["main"] {
				all = append(all, element{n, around.label, wordsOf(n), around.within})
			}
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			look(child, around)
		}
	}
	look(root, element{within: map[string]bool{}})
	return all
}

func wordsOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		b.WriteString(wordsOf(child))
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (f *follower) followAll() {
	t := f.p.site.t
	t.Helper()
	for _, e := range elementsOf(t, f.p.get(f.address).body) {
		target := e.attribute("href")
		if e.node.Data == "form" {
			target = e.attribute("action")
		}
		u := mustURL(t, target)
		path := strings.TrimPrefix(u.Path, f.p.org(""))
		switch sent := u.Query(); {
		case e.node.Data == "form":
			f.followForm(e, path)
		case path == "/contacts/print":
			f.printed(target)
		case path == "/gifts/thank":
			f.thanked(target)
		case len(sent) == 0: // the whole list, or another page
		case e.within["thead"]:
			f.same("the order by "+e.words, f.listed(target))
		case e.within["tbody"]: // about the row
		case e.label == "Active filters", strings.HasPrefix(e.words, "Clear filters"),
			strings.HasPrefix(e.words, "Show all"):
			if got := f.listed(target); !f.within(got) {
				t.Errorf("%s: without %q the list is shorter", f.address, e.words)
			}
		case e.label == "Pages": // which the rows of the list were found by
		case e.label == "Segments", path != f.list:
			f.understood(target)
		case e.label == "Which contacts" || e.label == "Which donors":
			f.carried(target, "scope", "new", "returning", "lapsed")
		case e.label == "Gifts and recurring gifts":
			f.understood(target)
		case e.label == "Time":
			f.carried(target, "from", "to")
		// offered by a search
		case slices.ContainsFunc(sent["tag"], func(tag string) bool { return strings.HasPrefix(e.words, tag) }):
		default:
			t.Errorf("%s: nobody says what the link %q to %s carries", f.address, e.words, target)
		}
	}
}

// within tells whether all rows of the list are in another one.
func (f *follower) within(others []string) bool {
	return !slices.ContainsFunc(f.want, func(row string) bool { return !slices.Contains(others, row) })
}

// carried fails where a link to the list has other parameters, but for some that it changes.
func (f *follower) carried(target string, but ...string) {
	f.p.site.t.Helper()
	mine, theirs := mustURL(f.p.site.t, f.address).Query(), mustURL(f.p.site.t, target).Query()
	for _, name := range but {
		mine.Del(name)
		theirs.Del(name)
	}
	equal(f.p.site.t, mine.Encode(), theirs.Encode(), "%s: the link to %s has another filter", f.address, target)
}

// understood fails where a page does not know a parameter of a link to it.
func (f *follower) understood(target string) {
	f.p.site.t.Helper()
	u := mustURL(f.p.site.t, target)
	equal(f.p.site.t, unknownParameters(strings.TrimPrefix(u.Path, f.p.org("")), u.Query()), "",
		"%s: the link to %s", f.address, target)
}

func (f *follower) followForm(e element, path string) {
	t, p := f.p.site.t, f.p
	t.Helper()
	sent := filled(e.node)
	get := func() answer { return p.get(p.org(path + "?" + sent.Encode())) }
	switch {
	case path == f.list: // the search and the filters
		f.same("the form of filters", f.listed(p.org(path+"?"+sent.Encode())))
	case strings.HasPrefix(path, "/columns/"):
		a := get()
		f.same("the choice of columns", f.listed(a.location()))
	case path == f.list+"/export":
		f.exported(get())
	case path == "/segments":
		sent.Set("name", fmt.Sprintf("Segment %d", len(p.get("segments").body)))
		a := p.do(http.MethodPost, p.org(path), sent, http.Header{"Sec-Fetch-Site": {"same-origin"}})
		f.same("the segment", f.listed(a.location()))
	case path == "/contacts/bulk":
		f.bulk(sent)
	case path == "/gifts/thank": // of those that are picked
		sent.Set("all", "1")
		f.thanked(p.org(path + "?" + sent.Encode()))
	case path == "/statements":
		get().sees(fmt.Sprintf("%d donor", len(f.want)))
	case path == "/donors", path == "/gifts", path == "/reports": // asks for another year
	default:
		t.Errorf("%s: nobody says what the form to %s carries", f.address, path)
	}
}

func (f *follower) exported(a answer) {
	f.p.site.t.Helper()
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(a.body, "\ufeff"))).ReadAll()
	if err != nil || len(rows) == 0 {
		f.p.site.t.Fatalf("%s: the file (%d) is %.100q, %v", f.address, a.status, a.body, err)
	}
	at := max(slices.Index(rows[0], f.column), 0)
	var got []string
	for _, row := range rows[1:] {
		got = append(got, row[at])
	}
	f.same("the file", got)
}

// bulk prints for and exports all that the list shows, tags it, and takes the tag away.
func (f *follower) bulk(sent url.Values) {
	t, p := f.p.site.t, f.p
	t.Helper()
	do := func(action string, pairs ...string) answer {
		form := maps.Clone(sent)
		form.Set("all", "1")
		form.Set("action", action)
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		return p.do(http.MethodPost, "contacts/bulk", form, http.Header{"Sec-Fetch-Site": {"same-origin"}})
	}
	f.printed(do("print").location())
	for _, e := range elementsOf(t, do("export").body) {
		if e.node.Data == "form" {
			f.exported(p.get(e.attribute("action") + "?" + filled(e.node).Encode()))
		}
	}
	if mustURL(t, f.address).Query().Get("scope") != "" { // those who are archived get no tags
		return
	}
	number := fmt.Sprint(len(f.want))
	do("tag", "tag", "followed", "confirmed", "1", "seen", number).is(303)
	f.same("the tag", f.listed(p.org("/contacts?tag=followed")))
	do("untag", "tag", "followed", "confirmed", "1", "seen", number).is(303)
}

// printed follows what leads to the page that prints: the numbers on it, its files, and the question before statements
// are sent.
func (f *follower) printed(target string) {
	t, p := f.p.site.t, f.p
	t.Helper()
	target += map[bool]string{true: "&", false: "?"}[strings.Contains(target, "?")] +
		"what=statements&year=2025&archived=1"
	a := p.get(target)
	a.sees("Print for " + page.Plural(int64(len(f.want)), "contact"))
	sends, asked := 0, 0
	for _, e := range elementsOf(t, a.body) {
		if e.node.Data != "form" {
			continue
		}
		sent := filled(e.node)
		kept := maps.Clone(sent)
		for _, own := range []string{"what", "year", "order", "paper", "archived"} {
			kept.Del(own)
		}
		f.same("the print form to "+e.attribute("action"), f.listed(p.org("/contacts?"+kept.Encode())))
		if !strings.HasSuffix(e.attribute("action"), "/print/send") {
			continue
		}
		sends++
		question := p.get(e.attribute("action") + "?" + sent.Encode())
		question.sees("Send giving statements for 2025?", "An example.")
		for _, ask := range elementsOf(t, question.body) {
			if ask.node.Data == "form" && ask.attribute("method") == "post" {
				asked++
				sent := filled(ask.node)
				equal(t, sent.Get("seen"), fmt.Sprint(len(f.want)),
					"%s: the question is about (%v)", f.address, len(f.want))
			}
		}
	}
	equal(t, sends, asked, "%s: statements are sent", f.address)
}

// thanked follows what leads to the page that thanks for many gifts.
func (f *follower) thanked(target string) {
	t, p := f.p.site.t, f.p
	t.Helper()
	for _, e := range elementsOf(t, p.get(target).body) {
		if e.node.Data != "form" {
			continue
		}
		sent := filled(e.node)
		equal(t, sent.Get("seen"), fmt.Sprint(len(f.want)),
			"%s: the question is about (%v)", f.address, len(f.want))
		f.same("the form of thanks", f.listed(p.org("/gifts?"+sent.Get("query"))))
	}
}

// Statements for more than one contact are sent after a question: how many, to whom, and what one of them says. What
// is confirmed is what was shown, and an action on a list that is not understood in full is about no one.
func TestStatementsGoToThoseWhoWereShown(t *testing.T) {
	s := anySite(t)
	p := s.followed()
	s.store.UseRelay(new(store.Shelf))
	s.contact(p, "Cy", "Crane", tagged("vip"),
		func(in *crm.ContactInput) { in.Emails = &[]crm.Email{{Value: "cy@example.org"}} })
	s.donation(p.account, doc.MakeID(p.account.Number, 59), `"amount":40,"method":"card","transacted_at":"2025-05-05"`)
	filter := []string{"tag", "vip", "has", "email", "what", "statements", "year", "2025"}
	address := p.org("/contacts/print/send?tag=vip&has=email&what=statements&year=2025")
	p.get(address).sees("Send giving statements for 2025?", "2 emails to: Active contacts · Tagged vip · Has email",
		"2 emails to send.", "To Ann & Co Abel",
		"Your giving statement for 2025 from Harbor", "$75.50", "Send 2 emails").lacks("pledges are not.Harbor")
	p.follow("contacts/print/send", filter...).sees("Nothing was sent yet.", "Send 2 emails")
	p.follow("contacts/print/send", append(filter, "seen", "58")...).
		sees("the list now has 2 contacts", "Send 2 emails")
	p.get("jobs").sees("No background work yet")
	for _, target := range []string{"/contacts/print?tag%3dvip", "/contacts/print/file?tag%3dvip",
		"/contacts/print/send?tag%3dvip", "/contacts/export?tag%3dvip", "/gifts/export?method%3dcash",
		"/gifts/thank?query=method%253dcash"} {
		if a := p.get(p.org(target)); a.status < 300 ||
			strings.Contains(a.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s is answered with %d", target, a.status)
		}
	}
	job := p.post("contacts/print/send", append(filter, "seen", "2")...)
	job.is(303)
	p.done(job.location(), "Done").sees("Giving statements 2025 for 2 contacts")
}
