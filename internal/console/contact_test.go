package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
)

// contacts are all contacts of an account, newest first.
func (s *site) contacts(account access.Account) []crm.Contact {
	s.t.Helper()
	contacts, _ := must2(s.store.ContactPage(s.t.Context(), account.Number, crm.All,
		crm.PageRequest{Page: 1, PerPage: 100}))(s.t)
	return contacts
}

// create makes a contact without the pages.
func (s *site) create(account access.Account, in crm.ContactInput) crm.Contact {
	s.t.Helper()
	succeed(s.t, in.Validate(nil, true, "US", now))
	made := must(s.store.CreateContact(s.t.Context(), account.Number, in, crm.Force))(s.t)
	return must(s.store.ContactRecord(s.t.Context(), account.Number, made.ID))(s.t)
}

// contact makes a contact, and returns the address of its page.
func (s *site) contact(p *person, first, last string, change ...func(*crm.ContactInput)) string {
	s.t.Helper()
	in := crm.ContactInput{FirstName: &first, LastName: &last}
	for _, c := range change {
		c(&in)
	}
	return p.org(fmt.Sprint("/contacts/", s.create(p.account, in).ID))
}

func tagged(tags ...string) func(*crm.ContactInput) {
	return func(in *crm.ContactInput) { in.Tags = &tags }
}

// live asks for a part of a page, as a script does.
func (p *person) live(path string) answer {
	p.site.t.Helper()
	return p.do(http.MethodGet, path, nil, http.Header{"Hx-Request": {"true"}})
}

func TestAContactIsAddedWithEverything(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	p.get("contacts").sees("Add your first contact")
	p.follow("contacts", "first_name", " Zoë ", "middle_name", "M", "last_name", "Okafor", "company", "Acme", "title",
		"Dr", "dob", "1980-02-29",
		"emails.0.value", "zoe@example.org", "emails.0.type", "work", "emails.1.value", "", "emails.1.type", "personal",
		"emails.4.value", "z@example.org", "phones.1.value", "(212) 555-0100 ext 5", "phones.1.type", "cell",
		"addresses.0.city", "",
		"addresses.1.address_1", "1 Main St", "addresses.1.address_2", "Flat 2", "addresses.1.city", "Boston",
		"addresses.1.state", "MA",
		"addresses.1.zipcode", "02110", "addresses.1.country", "USA", "tags.0", "", "tags.1", "major donor", "tags.2",
		"a, b,,a",
		"note", "Met in Rome.\r\nPrefers letters.", "twitter_url", "https://t.example/z", "linkedin_url",
		"https://l.example/z",
		"facebook_url", "https://f.example/z").
		sees("Zoë M Okafor was added.", "Dr · Acme", "zoe@example.org Work Primary", "(212) 555-0100 ext. 5 Cell",
			"1 Main St, Flat 2, Boston, MA 02110, United States", "major donor × a × b",
			"Met in Rome. Prefers letters.", "Feb 29, 1980").
		has(`href="mailto:zoe@example.org"`, `href="tel:2125550100"`,
			`href="https://t.example/z" rel="noopener nofollow noreferrer"`)
	want := []crm.Contact{{
		FirstName: "Zoë", MiddleName: "M", LastName: "Okafor", Company: "Acme", Title: "Dr",
		DOB:        time.Date(1980, 2, 29, 0, 0, 0, 0, time.UTC),
		TwitterURL: "https://t.example/z", LinkedinURL: "https://l.example/z", FacebookURL: "https://f.example/z",
		Emails: []crm.Email{{Type: "work", Value: "zoe@example.org"}, {Value: "z@example.org"}},
		Phones: []crm.Phone{{Type: "cell", Value: "(212) 555-0100 ext 5"}},
		Addresses: []crm.Address{{Line1: "1 Main St", Line2: "Flat 2", City: "Boston", State: "MA", Zipcode: "02110",
			Country: "USA"}},
		Tags: []string{"major donor", "a", "b"}, Note: "Met in Rome.\nPrefers letters.",
	}}
	diff := gocmp.Diff(want, s.contacts(p.account), cmpopts.IgnoreFields(crm.Contact{}, "ID", "CreatedAt", "UpdatedAt",
		"MatchKeys"),
		cmpopts.IgnoreFields(crm.Address{}, "CreatedAt", "UpdatedAt"))
	equal(t, diff, "")
}

func TestWrongInputComesBackWithWhatIsWrong(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	a := p.post("contacts", "first_name", "Zoë", "dob", "2999-01-01", "emails.0.value", "", "emails.3.value",
		"fine@example.org", "emails.5.value", "no sense",
		"phones.0.value", "12", "phones.0.type", "cell", "addresses.2.country", "Nowhere", "twitter_url",
		"javascript:1", "tags.1", strings.Repeat("x", 65), "note", "kept & safe")
	a.is(422).sees("7 things need your attention", "Last name is required.",
		"Date of birth must be a date between the year 1000 and today", "Email 2 must be a valid email address.",
		"Phone 1 must be a valid phone number",
		"Address 1 country isn’t a country that we know. Enter its name or its three-letter code, such as USA.",
		"Twitter must be a full link that starts with https:", "Tag 1 must not be longer than 64 characters.",
		"kept & safe")
	for _, jargon := range []string{" field ", "URL", "ISO", "m/d/Y", "where it is not"} {
		if text := a.words(); strings.Contains(text, jargon) {
			t.Errorf("the page says %q: %s", jargon, text)
		}
	}
	a.has(`name="emails.0.value" type="email" value="fine@example.org"`,
		`name="emails.1.value" type="email" value="no sense"`, `name="phones.0.value" type="tel" value="12"`,
		`<option value="cell" selected>`, `name="addresses.0.country" type="text" value="Nowhere"`,
		`href="#f-emails-1-value"`, `id="f-emails-1-value-fault"`, `value="2999-01-01"`)
	equal(t, len(s.contacts(p.account)), 0)
}

func TestAContactIsEdited(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Ana", "Diaz", tagged("kept"), func(in *crm.ContactInput) {
		company, note, dob := "Acme", "Old", "1/2/1980"
		in.Company, in.Note, in.DOB = &company, &note, &dob
		in.Emails = &[]crm.Email{{Type: "work", Value: "a@example.org"}, {Value: "b@example.org"}}
		in.Addresses = &[]crm.Address{{City: "Rome"}}
	})
	p.get(path+"/edit").has(`value="Ana"`, `value="Acme"`, `value="1980-01-02"`, `value="a@example.org"`,
		`<option value="work" selected>`, `value="b@example.org"`, `value="Rome"`, `>Old</textarea>`)
	p.post(path, "first_name", "", "last_name", "Diaz").is(422)
	p.follow(path, "first_name", "Anna", "last_name", "Diaz", "emails.0.value", "", "emails.1.value", "b@example.org").
		sees("Changes saved.", "Anna Diaz", "b@example.org", "Removed note “Old”.")
	c := s.contacts(p.account)[0]
	if c.Company != "" || c.Note != "" || !c.DOB.IsZero() || len(c.Emails) != 1 || len(c.Addresses) != 0 ||
		!slices.Equal(c.Tags, []string{"kept"}) {
		t.Errorf("after the edit: %+v", c)
	}
}

// A user does not overwrite another user's changes by accident: the form warns once, and then saves.
func TestAnOldFormDoesNotOverwriteUnawares(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Ana", "Diaz")
	typed := func(form answer, first, last string) []string {
		// the first value of a name counts
		return append([]string{"first_name", first, "last_name", last}, form.fields()...)
	}
	mine, theirs := p.get(path+"/edit"), p.get(path+"/edit")
	// within the second in which it was added
	p.follow(path, typed(theirs, "Ana", "Diaz-Ruiz")...).sees("Changes saved.")
	// an invalid form does not make an old one new
	mine = p.post(path, typed(mine, "", "Diaz")...)
	mine.is(422)
	a := p.post(path, typed(mine, "Anna", "Diaz")...)
	a.is(422).sees("Someone else changed this contact after you opened the form. Open the contact in another tab",
		"One thing needs your attention.",
		"What saving will change First name Ana Anna Last name Diaz-Ruiz Diaz View the current contact")
	if c := s.contacts(p.account)[0]; c.FirstName != "Ana" || c.LastName != "Diaz-Ruiz" ||
		!strings.Contains(a.body, `value="Anna"`) {
		t.Error("it was saved, or what was typed is gone")
	}
	p.follow(path, a.fields()...).sees("Changes saved.", "Anna Diaz")
	p.post(path, a.fields()...).is(422)
}

// A company is called by its name everywhere, and what most contacts do not have is edited, shown and filtered by.
func TestACompanyHasNoPersonsName(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	p.post("contacts", "type", "company", "prefix", "Dr.").sees("Company is required.")
	p.follow("contacts", "type", "company", "company", "Quill & Co", "salutation", "Dear friends", "do_not_mail", "yes",
		"external_ids.0.value", "4711", "external_ids.0.source", "Bloomerang", "emails.0.value", "hello@quill.example").
		sees("Quill & Co was added.", "Do not mail", "Salutation Dear friends", "ID in Bloomerang 4711")
	page := p.org(fmt.Sprint("/contacts/", s.contacts(p.account)[0].ID))
	p.give(page, "50", "2026-01-31")
	s.contact(p, "Ana", "Lopez")
	for _, path := range []string{"contacts?type=company", "contacts?do_not_mail=true", "contacts?external_id=4711",
		"contacts?q=4711"} {
		p.get(path).sees("Quill & Co").lacks("Lopez")
	}
	p.get("gifts").sees("Quill & Co")
	// A form that was opened before there were these fields changes none of them.
	p.follow(page, "company", "Quill & Sons", "seen", s.version(p, page)).
		sees("Quill & Sons", "ID in Bloomerang 4711", "Do not mail")
	p.follow(page, "type", "company", "company", "Quill & Sons", "first_name", "Bo", "last_name", "Quill", "title",
		"Clerk",
		"external_ids.0.value", "", "external_ids.1.value", "88", "seen", s.version(p, page)).
		sees("Contact person Bo Quill Title Clerk External ID 88").lacks("Date of birth")
	if c := s.contacts(p.account)[1]; len(c.ExternalIDs) != 1 || c.DoNotMail || c.Salutation != "" {
		t.Errorf("what was cleared is still there: %+v", c)
	}
}

// version is the state of a contact that a form of it was opened in.
func (s *site) version(p *person, page string) string {
	s.t.Helper()
	for _, c := range s.contacts(p.account) {
		if strings.HasSuffix(page, fmt.Sprintf("/%d", c.ID)) {
			return c.Version()
		}
	}
	s.t.Fatal("no contact at " + page)
	return ""
}

func TestAContactIsArchivedAndRestored(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Ana", "Diaz", tagged("a"))
	p.follow(path+"/archive").sees("Ana Diaz was archived.", "Undo", "Archived on", "Restore it to make changes").
		has(`action="`+path+`/restore"`).hides("/edit", "tags/remove")
	p.get("contacts").sees("All contacts are archived")
	p.get("contacts?scope=archived").sees("Ana Diaz")
	for _, change := range []string{"", "/archive", "/tags/add", "/tags/remove"} {
		p.follow(path+change, "first_name", "X", "last_name", "Y", "tag", "a").
			sees("Ana Diaz is archived, so nothing was changed.")
	}
	p.get(p.get(path + "/edit").location()).sees("Restore the contact first.")
	p.follow(path + "/restore").sees("Ana Diaz was restored.")
	p.follow(path + "/restore").sees("Ana Diaz was restored.")
	p.get("contacts").sees("Ana Diaz")
}

func TestTagsAreAddedRemovedAndSuggested(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	s.contact(p, "Bo", "Ek", tagged("Volunteer", "vip", "Größe"))
	path := s.contact(p, "Ana", "Diaz", tagged("Volunteer"))
	p.follow(path+"/tags/add", "tag", "one, two,,Volunteer ,one").
		sees("“one” and “two” were added. “Volunteer” was already there.")
	for _, tag := range []string{" , ", "fine," + strings.Repeat("x", 65)} {
		p.post(path+"/tags/add", "tag", tag).is(422).sees("A tag must not be", "Ana Diaz")
	}
	// what is no tag was never there, and is not repeated in a cookie
	for _, tag := range []string{"", strings.Repeat("x", 100_000)} {
		p.post(path+"/tags/remove", "tag", tag).is(422).sees("A tag must not be", "one").with("Set-Cookie", "")
	}
	p.follow(path+"/tags/remove", "tag", "Volunteer")
	if got := s.contacts(p.account)[0].Tags; !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the tags are %q", got)
	}
	s.contact(p, "Cy", "Fox", tagged("vip, past"))
	for query, want := range map[string][]string{
		"tag=one,%20V": {"one, vip", "one, Volunteer"}, "tag=v": {"vip", "Volunteer"}, "tags.3=GRO": {"Größe"},
		"tag=zzz":       nil,
		"tags.NEXT=one": {"one"}, "tags.0=one,t": {"one,two"},
	} {
		options := ""
		for _, tag := range want {
			options += `<option value="` + tag + `">1 contact</option>`
		}
		equal(t, p.live(p.org("/tags?"+query)).body, options, "%s suggests", query)
	}
}

func TestTheListShowsFiftyContactsAPageNewestFirst(t *testing.T) {
	s, p := signedIn(t, access.Viewer)
	for i := range 53 {
		s.contact(p, "Number", fmt.Sprintf("N%02d", i), tagged("a", "b", "c", "d", "e"))
	}
	first, second := p.get("contacts"), p.get("contacts?page=2")
	first.sees("Active 53 Archived 0 All 53", "Number N52", "Number N03", "+3 more", "Next")
	second.sees("Number N02", "Number N00", "Previous")
	first.lacks("N02")
	second.lacks("N03")
	if strings.Index(first.body, "N52") > strings.Index(first.body, "N51") {
		t.Error("the pages are not in order")
	}
	p.get("contacts?page=99").sees("This page is empty")
	p.get("contacts?page=x&scope=all").sees("Number N52")
	p.get("contacts?scope=archived").sees("No archived contacts")
	p.get("contacts?scope=nonsense").leads(p.org("/contacts"))
}

func TestContactsAreSearched(t *testing.T) {
	s, p := signedIn(t, access.Viewer)
	s.contact(p, "Maria", "Smith", tagged("VIP", "volunteer"), reachable("boss@example.org", "212-555-0100"),
		living("1 Elm", "11201"))
	s.contact(p, "Bo", "Ek", tagged("vip"))
	for _, q := range []string{"smith mar", "BOSS@ex", "(212) 555", "11201", "tag:VIP", "#volunteer maria"} {
		for _, a := range []answer{p.get("contacts?q=" + url.QueryEscape(q)),
			p.live(p.org("/contacts?q=" + url.QueryEscape(q)))} {
			a.sees("Maria Smith").lacks("Bo Ek")
		}
	}
	p.get("contacts?q=vi").sees("2 contacts", "Maria Smith", "Bo Ek", "Tags: VIP 1 vip 1")
	p.live(p.org("/contacts?q=maria")).hides("<html").has(`id="found" hx-swap-oob="true">1 of 2 contacts found.`)
	p.live(p.org("/contacts?q=")).sees("Maria Smith", "Bo Ek", "Showing all contacts.")
	p.get("contacts?q=maria&page=nonsense&scope=all").sees("Maria Smith")
}

// link is the target of the link with these words.
func (a answer) link(t *testing.T, words string) string {
	t.Helper()
	before, _, found := strings.Cut(a.body, ">"+words+"</a>")
	at := strings.LastIndex(before, `href="`)
	if !found || at < 0 {
		t.Fatalf("there is no link %q: %s", words, a.words())
	}
	address, _, _ := strings.Cut(before[at+len(`href="`):], `"`)
	return strings.ReplaceAll(address, "&amp;", "&")
}

// States and countries may be typed by name: no field cuts what is typed to another state, and what is not understood
// is said.
func TestStatesAndCountriesAreTypedByName(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	state := regexp.MustCompile(`<input [^>]*name="addresses\.\d+\.(?:state|country)"[^>]*maxlength="(\d+)"`)
	for _, field := range state.FindAllStringSubmatch(p.get("contacts/new").body, -1) {
		if len(field[1]) < 3 {
			t.Errorf("the browser cuts what is typed: %s", field[0])
		}
	}
	save := func(state, country string) answer {
		return p.post("contacts", "first_name", "Ada", "last_name", state, "type", "individual",
			"addresses.0.address_1", "1 Quay", "addresses.0.state", state, "addresses.0.country", country)
	}
	for typed, kept := range map[[2]string][2]string{{"Maine", ""}: {"ME", ""}, {"N.Y.", "us"}: {"NY", "USA"},
		{"New Brunswick", "Canada"}: {"NB", "CAN"}} {
		save(typed[0], typed[1]).is(303)
		if a := s.contacts(p.account)[0].Addresses[0]; a.State != kept[0] || a.Country != kept[1] {
			t.Errorf("%q is kept as %+v, want %q", typed, a, kept)
		}
	}
	save("Bavaria", "Atlantis").is(422).sees("isn’t a state or province that we know.").has(`value="Bavaria"`)
}

// filterable is an organization with contacts that filters tell apart.
func (s *site) filterable(role access.Role) *person {
	p := s.member(s.organization("Harbor"), role)
	s.contact(p, "Ann", "Abel", tagged("vip", "board"), func(in *crm.ContactInput) {
		in.Emails, in.Addresses = &[]crm.Email{{Value: "ann@example.org"}},
			&[]crm.Address{{City: "San José", Zipcode: "95112"}}
	})
	s.contact(p, "Ben", "Bloom", tagged("vip"),
		func(in *crm.ContactInput) { in.Phones = &[]crm.Phone{{Value: "212-555-0100"}} })
	s.contact(p, "Cat", "Cole", tagged("press"))
	campaign := s.fund(p.account, "Gala", "USD")
	s.donation(p.account, doc.MakeID(p.account.Number, 1),
		`"amount":50,"method":"check","transacted_at":"2026-01-31","campaign_id":%s`, campaign)
	return p
}

func TestContactsAreFiltered(t *testing.T) {
	s := anySite(t)
	p := s.filterable(access.Viewer)
	for _, test := range []struct{ query, link, chip, names string }{
		{"tags_all=vip,+board", "tag=vip&tag=board", "Tagged vip × Tagged board ×", "Ann"},
		{"tags_any=board,press", "tag_any=board&tag_any=press", "Tagged board or press", "Ann Cat"},
		{"tags_none=vip&city=", "tag_none=vip", "Not tagged vip", "Cat"},
		{"city=SAN+JOSE&zip=", "city=SAN+JOSE", "City SAN JOSE", "Ann"},
		{"zip=951&gave_to=", "zip=951", "ZIP 951", "Ann"},
		{"has_email=yes&has_phone=", "has=email", "Has email", "Ann"},
		{"has_email=no&has_phone=no", "lacks=email&lacks=phone", "No phone", "Cat"},
		{"gave_from=2026-01-31&gave_to=2026-01-31", "gave_after=2026-01-31&gave_before=2026-02-01",
			"Gave Jan 31, 2026 – Jan 31, 2026", "Ann"},
		{"no_gift_from=2026-01-31", "no_gift_after=2026-01-31", "No gift since Jan 31, 2026", "Ben Cat"},
		{"no_gift_to=2026-01-30&gave_from=2026-01-31", "gave_after=2026-01-31&no_gift_before=2026-01-31",
			"No gift on or before Jan 30, 2026", "Ann"},
		{"plan=current", "plan_status=active&plan_status=past_due", "Recurring gift active or past due", ""},
		{"gave_from=2026-02-01", "gave_after=2026-02-01", "Gave since Feb 1, 2026", ""},
		{"total_contributions_min=50&tags_all=", "total_contributions_min=50", "Total given at least 50", "Ann"},
		{"added_to=2020-01-01", "created_before=2020-01-02", "Added on or before Jan 1, 2020", ""},
		{"changed_from=2020-01-01&q=", "updated_after=2020-01-01", "Changed since Jan 1, 2020", "Ann Ben Cat"},
		{"lastName=COLE", "last_name=COLE", "Last name COLE", "Cat"},
		{"sort=-last_name&scope=all&city=", "scope=all&sort=-last_name", "", "Ann Ben Cat"},
	} {
		a := p.get("contacts?" + test.query)
		if want := p.org("/contacts?" + test.link); a.location() != want {
			t.Errorf("%s leads to %s, want %s", test.query, a.location(), want)
			continue
		}
		for _, a := range []answer{p.get("contacts?" + test.link), p.live("contacts?" + test.query)} {
			a.sees(test.chip)
			var names []string
			for _, name := range []string{"Ann", "Ben", "Cat"} {
				if strings.Contains(a.body, ">"+name+" ") {
					names = append(names, name)
				}
			}
			equal(t, strings.Join(names, " "), test.names, "%s finds", test.query)
		}
		p.live("contacts?"+test.query).with("HX-Replace-Url", p.org("/contacts?"+test.link))
	}
	both := p.get("contacts?tag=vip&lacks=email")
	both.sees("1 of 3 contacts", "Ben Bloom")
	if got := both.link(t, "×"); got != p.org("/contacts?lacks=email") { // of the first chip
		t.Errorf("without the tag: %s", got)
	}
	p.get("contacts?gave_after=soon&has=fax").is(422).sees("Please fix 2 filters.", "Gave on or after must be a date").
		lacks("Ann Abel")
}

func TestAListIsSortedByItsColumns(t *testing.T) {
	s := anySite(t)
	p := s.filterable(access.Viewer)
	order := func(path string) (names string) {
		body := p.get(path).body
		for body != "" {
			var name string
			_, body, _ = strings.Cut(body, `<a class="main" `)
			_, name, _ = strings.Cut(body, ">")
			names += name[:min(1, len(name))]
		}
		return names
	}
	list := p.get("contacts")
	byName := list.link(t, "Name")
	for path, want := range map[string]string{
		p.org("/contacts?sort=-id"): "CBA", byName: "ABC", p.get(byName).
						link(t, "Name <span aria-hidden=\"true\">↑</span>"): "CBA",
		p.org("/contacts?sort=-total_contributions"): "ACB", p.org("/contacts?sort=last_gift"): "BCA",
		p.org("/contacts?sort=-last_gift&tag=vip"): "AB",
	} {
		equal(t, order(path), want, "%s", path)
	}
	p.get("columns/contacts?column=given&column=last-gift&column=nonsense&query=tag%3Dvip%26page%3D9%26evil%3D1").
		leads(p.org("/contacts?tag=vip"))
	p.get("contacts?tag=vip").sees("Total given", "Last gift", "Jan 31, 2026", "$50")
	p.get("contacts?tag=vip").lacks("ann@example.org")
}

func TestSegmentsOfTheConsole(t *testing.T) {
	s := anySite(t)
	p := s.filterable(access.Editor)
	viewer := s.member(p.account, access.Viewer)
	p.get("contacts?tag=vip").sees("Save as segment")
	viewer.get(p.org("/contacts?tag=vip")).lacks("Save as segment")
	viewer.post(p.org("/segments"), "name", "Mine", "query", "tag=vip").is(403)
	p.follow("segments", "name", "VIPs <b>", "query", "tag=vip&page=2").
		sees("Segment “VIPs <b>” saved.", "2 of 3 contacts")
	viewer.get(p.org("/contacts?tag=vip")).sees("VIPs <b>")
	viewer.get(p.org("/segments")).sees("VIPs <b> 2 ")
	p.post("segments", "name", "vips <B>", "query", "city=boston").is(422).
		sees("City boston", "Name of the segment is taken: choose another one.")
	p.post("segments", "name", "Wrong", "query", "has=fax").is(422)
	p.post("segments", "name", "Wrong", "query", "%zz").is(422)
	all, err := s.store.Segments(t.Context(), p.account.Number)
	if err != nil || len(all) != 1 || all[0].Actor != p.user.Email {
		t.Fatalf("%+v, %v", all, err)
	}
	path := p.org("/segments/" + fmt.Sprint(all[0].ID))
	p.follow(path, "name", "Friends").sees("Segment renamed to “Friends”.")
	p.post(path, "name", " ").sees("Name is required.")
	stranger := s.member(s.organization("Other"), access.Owner)
	stranger.post("segments/" + fmt.Sprint(all[0].ID) + "/delete").is(404)
	p.follow(path+"/delete").sees("Segment “Friends” deleted.", "No segments yet")
}

// A filter lives in the address and in segments and nowhere else: a list that was filtered opens on all. What a person
// has chosen are the columns, for themselves alone and in the console alone.
func TestAListOpensOnAllWithTheChosenColumns(t *testing.T) {
	s := anySite(t)
	p := s.filterable(access.Viewer)
	contacts := p.org("/contacts")
	for _, list := range []string{
		"/contacts?tag=vip&sort=last_name", "/gifts?method=cash&sort=amount", "/gifts?thanks=waiting",
		"/plans?status=ended", "/donations?find=ann@example.org",
	} {
		p.get(p.org(list))
		path, _, _ := strings.Cut(list, "?")
		p.get(p.org(path)).is(200).lacks("Filtered:", "To thank Record")
	}
	p.get(contacts).sees("Ann Abel", "Ben Bloom", "Cat Cole")
	list := p.get(contacts + "?sort=last_name&tag=vip")
	for _, all := range []string{list.link(t, "Show all contacts"), contacts + "?tags_all=&city="} {
		a := p.get(all)
		if a.status == 303 {
			a = p.get(a.location())
		}
		a.sees("Cat Cole").lacks("Filtered:")
	}
	chosen := p.get("columns/gifts?query=method%3Dcheck&column=how&column=amount")
	chosen.leads(p.org("/gifts?method=check"))
	cookie := chosen.header.Get("Set-Cookie")
	equal(t, strings.Contains(cookie, "check"), false, "the browser keeps")
	contains(t, cookie, "Path=/console;", "the browser keeps")
	p.get("gifts").has(`<th scope="col" class="how">`).hides(`<th scope="col" class="what">`)
	other, console := s.member(p.account, access.Viewer), mustURL(t, s.http.URL+"/console")
	for _, kept := range p.client.Jar.Cookies(console) {
		if strings.HasPrefix(kept.Name, "__Secure-columns-") { // as in the same browser
			other.client.Jar.SetCookies(console, []*http.Cookie{{Name: kept.Name, Value: kept.Value, Path: "/console",
				Secure: true}})
		}
	}
	other.get(p.org("/gifts")).has(`<th scope="col" class="what">`)
	p.get("columns/keys?column=how").is(404)
}

func TestReportsAreListsOfContacts(t *testing.T) {
	s := anySite(t)
	p := s.filterable(access.Editor)
	id := func(n int64) int64 { return doc.MakeID(p.account.Number, n) }
	s.donation(p.account, id(2), `"amount":80,"method":"cash","transacted_at":"2024-05-01"`)
	s.donation(p.account, id(3), `"amount":20,"method":"cash","transacted_at":"2025-05-01"`)
	p.follow(fmt.Sprintf("%s/contacts/%d/plans", p.org(""), id(3)), "amount", "25", "frequency", "monthly", "method",
		"card", "start_at", "2026-01-31")
	page := p.get("reports?year=2026")
	page.sees("Gave in 2025, not in 2026 Last year’s donors who haven’t given again. 1", "Gave before, not in 2026",
		"First gift in 2026")
	for report, want := range map[string]string{
		"Gave in 2025, not in 2026": "Cat Cole", "Gave before, not in 2026": "Ben Bloom Cat Cole",
		"First gift in 2026": "Ann Abel", "Recurring donors": "Cat Cole",
		"Largest donors": "Ben Bloom Ann Abel Cat Cole",
	} {
		list := p.get(page.link(t, report))
		list.sees("Last gift", "Total given", "Save as segment", "Add tags", "Export")
		_, rows, _ := strings.Cut(list.body, "<tbody>")
		got := []string{}
		for _, part := range strings.Split(rows, `<a class="main"`)[1:] {
			_, name, _ := strings.Cut(part, ">")
			name, _, _ = strings.Cut(name, "<")
			got = append(got, name)
		}
		equal(t, strings.Join(got, " "), want, "%s: %s", report, got)
	}
	p.get("reports?year=2025").sees("Gave in 2024, not in 2025 Last year’s donors who haven’t given again. 1")
	p.get("reports?year=x").is(422)
}

// field adds a custom field without the pages.
func (s *site) field(p *person, title string, kind custom.FieldType, options ...string) custom.Field {
	s.t.Helper()
	f := must(s.store.DefineField(s.t.Context(), p.account.Number,
		custom.FieldInput{Title: title, Type: kind, Options: options}))(s.t)
	return f
}

func TestOwnersManageCustomFields(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	const path = "settings/fields"
	p.get(path).sees("No custom fields yet")
	p.follow(path, "title", " Shirt size ", "description", "For the run", "type", "select", "options",
		"S\r\n\r\nM\r\nS").
		sees("Shirt size For the run One of a list 2 options")
	p.follow(path, "title", "Age", "type", "number", "options", "ignored")
	p.get("settings").sees("Custom fields 2 in use")
	p.post(path, "title", "shirt SIZE", "type", "select", "options", "\n").is(422).
		sees("Title is taken: choose another one.", "Enter at least one option.").has(`value="shirt SIZE"`)
	fields := must(s.store.CustomFields(t.Context(), p.account.Number))(t).Active()
	if len(fields) != 2 {
		t.Fatalf("%+v", fields)
	}
	shirt, age := fmt.Sprint(path, "/", fields[0].ID), fmt.Sprint(path, "/", fields[1].ID)
	p.get(shirt).sees("Can’t be changed").has(">S\nM</textarea>")
	p.follow(shirt, "title", "T-shirt", "options", "S\nXL").sees("T-shirt")
	if page := p.follow(age+"/up").sees("Age Number", "T-shirt One of a list 2 options").
		words(); strings.Index(page, "Age Number") > strings.Index(page, "T-shirt") {
		t.Error("the field has not moved up")
	}
	p.follow(shirt+"/end").sees("contacts keep their values.", "Restore field T-shirt")
	p.post(path, "title", "t-shirt", "type", "text").sees("Title belongs to an archived custom field")
	p.follow(shirt + "/resume").sees("restored, with its values.")
	p.get("settings/history").sees("restored the custom field", "Changed title from “Shirt size” to “T-shirt”.")
	p.get(path + "/999").is(404)
	p.post(path+"/999", "title", "x").is(404)
}

func TestCustomFieldsAreFilledIn(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	shirt, age := s.field(p, "Shirt size", custom.SelectField, "S", "M"), s.field(p, "Age", custom.NumberField)
	since, member, about := s.field(p, "Since", custom.DateField), s.field(p, "Member", custom.BooleanField),
		s.field(p, "About", custom.LongTextField)
	name := func(f custom.Field) string { return "custom_fields." + f.Key() }
	form := func(more ...string) []string {
		shown := strings.Join([]string{shirt.Key(), age.Key(), since.Key(), member.Key(), about.Key()}, " ")
		return append([]string{"first_name", "Zoë", "last_name", "Okafor", "custom_fields.shown", shown}, more...)
	}
	p.post("contacts", form(name(age), "forty", name(since), "someday", name(about), "kept")...).is(422).
		sees("Age must be a number with at most 15 digits.", "Since must be a date.", "kept").
		has(`href="#f-custom_fields-` + age.Key() + `"`)
	p.post("contacts", form(name(shirt), "XXL")...).sees("Shirt size must be one of S, M.")
	p.follow("contacts", form(name(shirt), "M", name(age), "1,041.5", name(since), "2020-01-31", name(member), "Yes",
		name(about),
		"Line one\r\nline two")...).
		sees("Shirt size M Age 1041.5 Since Jan 31, 2020 Member Yes About Line one line two")
	path := p.org(fmt.Sprint("/contacts/", s.contacts(p.account)[0].ID))
	p.get(path+"/edit").has(`value="1041.5"`, `value="2020-01-31"`, `<option value="M" selected>`,
		`<option value="Yes" selected>`,
		">Line one\nline two</textarea>")
	version := func() string { return s.version(p, path) }
	save := func(seen string, more ...string) answer {
		return p.post(path, append([]string{"seen", seen, "first_name", "Zoë", "last_name", "Okafor",
			"custom_fields.shown"}, more...)...)
	}
	// A form that does not show a field leaves it alone; an option that is gone stays until it is changed.
	succeed(t, s.store.ReviseField(t.Context(), p.account.Number, shirt.ID,
		custom.FieldInput{Title: "Shirt size", Options: []string{"S"}}))
	p.get(path + "/edit").has(`<option value="M" selected>`)
	save(version(), shirt.Key()+" "+age.Key(), name(shirt), "M", name(age), "").is(303)
	p.get(path).sees("Custom fields Shirt size M Since Jan 31, 2020 Member Yes")
	// Another person has changed it since.
	old := version()
	save(old, age.Key(), name(age), "7").is(303)
	save(old, age.Key(), name(age), "8").sees("What saving will change", "Age 7 8")
	// An owner has ended a field meanwhile.
	succeed(t, s.store.EndField(t.Context(), p.account.Number, member.ID))
	p.post(path, append([]string{"seen", version()}, form(name(member), "No")...)...).
		sees("Custom fields have changed: an owner archived one.")
	p.get(path).lacks("Member Yes")
	p.get(path+"/history").sees("set “Age” to “7”", "removed “Age” “1041.5”")
	p.get("contacts?q=line+two").sees("Zoë Okafor")
}

func TestASearchFindsContactsCampaignsAndGifts(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	other := s.member(s.organization("Elsewhere"), access.Owner)
	for i := range 9 {
		s.contact(p, "Winter", "Number"+strconv.Itoa(i))
	}
	s.contact(other, "Winter", "Stranger")
	s.campaign(p.account, `{"title":"Winter Coat Drive"}`)
	page := p.get("search?q=winter")
	page.sees("See all 9 contacts that match", "Winter Number8", "Winter Coat Drive").lacks("Stranger", "Number0")
	p.get(page.link(t, "See all 9 contacts that match")).sees("9 contacts", "Winter Number0")
	p.get("search?q=coat-drive").sees("Winter Coat Drive")
	p.get("search?q=nothing+of+the+kind").sees("Nothing found")
	p.get("search").sees("Find a contact by name")
}

// A typing error finds no one. Both searches offer what was probably meant, and that finds the contact.
func TestASearchOffersWhatWasMeant(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	s.contact(p, "Mary", "Fitzgerald")
	for _, list := range []string{"/search", "/contacts"} {
		page := p.get(p.org(list + "?q=mary+Fitzgereld"))
		page.sees("Did you mean mary Fitzgerald")
		p.get(page.link(t, "mary Fitzgerald")).sees("Mary Fitzgerald")
		page = p.get(p.org(list + "?q=Zebra"))
		page.lacks("Did you mean")
	}
	p.get("contacts?scope=archived&q=Fitzgereld").lacks("Did you mean")
}

func TestASearchForAnIDLeadsToIt(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	other := s.member(s.organization("Elsewhere"), access.Owner)
	contact := s.contact(p, "Ida", "Lund")
	gift := p.give(contact, "75", "2026-01-31", "external_id", "row-7")
	for _, query := range []string{path.Base(gift), "row-7", "0000000001"} {
		equal(t, p.get("search?q="+query).location(), gift, "a search for %s leads", query)
		other.get("search?q=" + query).sees("Nothing found")
	}
	if to := p.get("search?q=" + path.Base(contact)).location(); to != contact && path.Base(contact) != "1" {
		t.Errorf("a search for the contact's ID leads to %q, want %s", to, contact)
	}
	// A number that a contact and a gift have leads to neither.
	p.get("search?q=1").is(200).sees("Ida Lund", "$75")
}
