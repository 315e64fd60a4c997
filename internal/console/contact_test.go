package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
)

// contacts are all contacts of an account, newest first.
func (s *site) contacts(account access.Account) []crm.Contact {
	s.t.Helper()
	contacts, _ := must2(s.store.ContactPage(s.t.Context(), account.Number, crm.All, crm.PageRequest{Page: 1, PerPage: 100}))(s.t)
	return contacts
}

// contact creates a contact without the pages, and returns the address of its page.
func (s *site) contact(p *person, first, last string, change ...func(*crm.ContactInput)) string {
	s.t.Helper()
	in := crm.ContactInput{FirstName: &first, LastName: &last}
	for _, c := range change {
		c(&in)
	}
	succeed(s.t, in.Validate(nil, true, "US", time.Now()))
	d := must(s.store.CreateContact(s.t.Context(), p.account.Number, in, crm.Force))(s.t)
	return p.org(fmt.Sprintf("/contacts/%d", d.ID))
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
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		p.sees(p.get(p.org("/contacts")), "No contacts yet", "Add your first contact")
		p.sees(p.get(p.org("/contacts/new")), "New contact", "Email 2", "Separate several tags with commas.")
		a := p.follow(p.org("/contacts"), "first_name", " Zoë ", "middle_name", "M", "last_name", "Okafor", "company", "Acme", "title", "Dr", "dob", "1980-02-29",
			"emails.0.value", "zoe@example.org", "emails.0.type", "work", "emails.1.value", "", "emails.1.type", "personal", "emails.4.value", "z@example.org",
			"phones.1.value", "(212) 555-0100 ext 5", "phones.1.type", "cell",
			"addresses.0.city", "", "addresses.1.address_1", "1 Main St", "addresses.1.address_2", "Flat 2", "addresses.1.city", "Boston", "addresses.1.state", "MA", "addresses.1.zipcode", "02110", "addresses.1.country", "USA",
			"tags.0", "", "tags.1", "major donor", "tags.2", "a, b,,a", "note", "Met in Rome.\r\nPrefers letters.",
			"twitter_url", "https://t.example/z", "linkedin_url", "https://l.example/z", "facebook_url", "https://f.example/z")
		p.sees(a, "Zoë M Okafor was added.", "Dr · Acme", "zoe@example.org Work Primary", "z@example.org", "(212) 555-0100 ext. 5 Cell", "1 Main St, Flat 2, Boston, MA 02110, United States",
			"major donor × a × b", "Met in Rome. Prefers letters.", "Feb 29, 1980", "https://l.example/z")
		for _, part := range []string{`href="mailto:zoe@example.org"`, `href="tel:2125550100"`, `href="https://t.example/z" rel="noopener nofollow noreferrer"`} {
			if !strings.Contains(a.body, part) {
				t.Errorf("the page lacks %s", part)
			}
		}
		got := s.contacts(p.account)
		if len(got) != 1 {
			t.Fatalf("%d contacts", len(got))
		}
		want := crm.Contact{
			FirstName: "Zoë", MiddleName: "M", LastName: "Okafor", Company: "Acme", Title: "Dr", DOB: time.Date(1980, 2, 29, 0, 0, 0, 0, time.UTC),
			TwitterURL: "https://t.example/z", LinkedinURL: "https://l.example/z", FacebookURL: "https://f.example/z",
			Emails: []crm.Email{{Type: "work", Value: "zoe@example.org"}, {Value: "z@example.org"}}, Phones: []crm.Phone{{Type: "cell", Value: "(212) 555-0100 ext 5"}},
			Addresses: []crm.Address{{Line1: "1 Main St", Line2: "Flat 2", City: "Boston", State: "MA", Zipcode: "02110", Country: "USA"}},
			Tags:      []string{"major donor", "a", "b"}, Note: "Met in Rome.\nPrefers letters.",
		}
		ignored := cmpopts.IgnoreFields(crm.Contact{}, "ID", "CreatedAt", "UpdatedAt", "MatchKeys")
		if diff := cmp.Diff(want, got[0], ignored, cmpopts.IgnoreFields(crm.Address{}, "CreatedAt", "UpdatedAt")); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWrongInputComesBackWithWhatIsWrong(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		a := p.post(p.org("/contacts"), "first_name", "Zoë", "dob", "2999-01-01", "emails.0.value", "", "emails.3.value", "fine@example.org", "emails.5.value", "no sense",
			"phones.0.value", "12", "phones.0.type", "cell", "addresses.2.country", "Nowhere", "twitter_url", "javascript:1", "tags.1", strings.Repeat("x", 65), "note", "kept & safe")
		p.wantStatus(a, http.StatusUnprocessableEntity)
		p.sees(a, "7 things need your attention", "Last name is required.", "Date of birth must be a date between the year 1000 and today", "Email 2 must be a valid email address.", "Phone 1 must be a valid phone number",
			"Address 1 country isn’t a country that we know. Enter its name or its three-letter code, such as USA.", "Twitter must be a full link that starts with https:", "Tag 1 must not be longer than 64 characters.", "kept & safe")
		for _, jargon := range []string{" field ", "URL", "ISO", "m/d/Y", "where it is not"} {
			if text := a.words(); strings.Contains(text, jargon) {
				t.Errorf("the page says %q: %s", jargon, text)
			}
		}
		for _, part := range []string{
			`name="emails.0.value" type="email" value="fine@example.org"`, `name="emails.1.value" type="email" value="no sense"`, `name="phones.0.value" type="tel" value="12"`,
			`<option value="cell" selected>`, `name="addresses.0.country" type="text" value="Nowhere"`, `href="#f-emails-1-value"`, `id="f-emails-1-value-fault"`, `value="2999-01-01"`,
		} {
			if !strings.Contains(a.body, part) {
				t.Errorf("the form lacks %s", part)
			}
		}
		if contacts := s.contacts(p.account); len(contacts) != 0 {
			t.Errorf("%d contacts were made", len(contacts))
		}
	})
}

func TestAContactIsEdited(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		path := s.contact(p, "Ana", "Diaz", tagged("kept"), func(in *crm.ContactInput) {
			company, note, dob := "Acme", "Old", "1/2/1980"
			in.Company, in.Note, in.DOB = &company, &note, &dob
			in.Emails = &[]crm.Email{{Type: "work", Value: "a@example.org"}, {Value: "b@example.org"}}
			in.Addresses = &[]crm.Address{{City: "Rome"}}
		})
		a := p.get(path + "/edit")
		for _, part := range []string{`value="Ana"`, `value="Acme"`, `value="1980-01-02"`, `value="a@example.org"`, `<option value="work" selected>`, `value="b@example.org"`, `value="Rome"`, `>Old</textarea>`} {
			if !strings.Contains(a.body, part) {
				t.Errorf("the form lacks %s", part)
			}
		}
		p.wantStatus(p.post(path, "first_name", "", "last_name", "Diaz"), http.StatusUnprocessableEntity)
		p.sees(p.follow(path, "first_name", "Anna", "last_name", "Diaz", "emails.0.value", "", "emails.1.value", "b@example.org"), "Changes saved.", "Anna Diaz", "b@example.org", "Removed note “Old”.")
		c := s.contacts(p.account)[0]
		if c.Company != "" || c.Note != "" || !c.DOB.IsZero() || len(c.Emails) != 1 || len(c.Addresses) != 0 || !slices.Equal(c.Tags, []string{"kept"}) {
			t.Errorf("after the edit: %+v", c)
		}
	})
}

// A user does not overwrite another user's changes by accident: the form warns once, and then saves.
func TestAnOldFormDoesNotOverwriteUnawares(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		path := s.contact(p, "Ana", "Diaz")
		typed := func(form answer, first, last string) []string {
			return append([]string{"first_name", first, "last_name", last}, formValues(t, form.body)...) // the first value of a name counts
		}
		mine, theirs := p.get(path+"/edit"), p.get(path+"/edit")
		p.sees(p.follow(path, typed(theirs, "Ana", "Diaz-Ruiz")...), "Changes saved.") // within the second in which it was added
		mine = p.post(path, typed(mine, "", "Diaz")...)                                // an invalid form does not make an old one new
		p.wantStatus(mine, http.StatusUnprocessableEntity)
		a := p.post(path, typed(mine, "Anna", "Diaz")...)
		p.wantStatus(a, http.StatusUnprocessableEntity)
		p.sees(a, "Someone else changed this contact after you opened the form. Open the contact in another tab", "One thing needs your attention.",
			"What saving will change First name Ana Anna Last name Diaz-Ruiz Diaz View the current contact")
		if c := s.contacts(p.account)[0]; c.FirstName != "Ana" || c.LastName != "Diaz-Ruiz" || !strings.Contains(a.body, `value="Anna"`) {
			t.Error("it was saved, or what was typed is gone")
		}
		p.sees(p.follow(path, formValues(t, a.body)...), "Changes saved.", "Anna Diaz")
		p.wantStatus(p.post(path, formValues(t, a.body)...), http.StatusUnprocessableEntity)
	})
}

// A company is called by its name everywhere, and what most contacts do not have is edited, shown and filtered by.
func TestACompanyHasNoPersonsName(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		p.sees(p.get(p.org("/contacts/new")), "The first and the last name are those of your contact person there.", "Do not mail", "The IDs of this contact in other systems.")
		refused := p.post(p.org("/contacts"), "type", "company", "prefix", "Dr.")
		p.sees(refused, "Company is required.")
		a := p.follow(p.org("/contacts"), "type", "company", "company", "Quill & Co", "salutation", "Dear friends", "do_not_mail", "yes",
			"external_ids.0.value", "4711", "external_ids.0.source", "Bloomerang", "emails.0.value", "hello@quill.example")
		p.sees(a, "Quill & Co was added.", "Do not mail", "Salutation Dear friends", "ID in Bloomerang 4711")
		page := p.org(fmt.Sprintf("/contacts/%d", s.contacts(p.account)[0].ID))
		p.sees(p.follow(page+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "cash"), "$50")
		s.contact(p, "Ana", "Lopez")
		for _, path := range []string{"/contacts?type=company", "/contacts?do_not_mail=true", "/contacts?external_id=4711", "/contacts?q=4711", "/gifts", ""} {
			p.sees(p.get(p.org(path)), "Quill & Co")
		}
		if a := p.get(p.org("/contacts?type=company&do_not_mail=true")); strings.Contains(a.words(), "Lopez") || !strings.Contains(a.words(), "Type company") {
			t.Errorf("the filter shows %s", a.words())
		}
		// A form that was opened before there were these fields changes none of them.
		p.follow(page, "company", "Quill & Sons", "seen", s.version(p, page))
		p.sees(p.get(page), "Quill & Sons", "ID in Bloomerang 4711", "Do not mail")
		edited := p.follow(page, "type", "company", "company", "Quill & Sons", "first_name", "Bo", "last_name", "Quill", "title", "Clerk", "external_ids.0.value", "", "external_ids.1.value", "88", "seen", s.version(p, page))
		p.sees(edited, "Contact person Bo Quill Title Clerk External ID 88")
		if strings.Contains(edited.words(), "Date of birth") {
			t.Error("a company has a date of birth")
		}
		if c := s.contacts(p.account)[1]; len(c.ExternalIDs) != 1 || c.DoNotMail || c.Salutation != "" {
			t.Errorf("what was cleared is still there: %+v", c)
		}
	})
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
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		path := s.contact(p, "Ana", "Diaz", tagged("a"))
		a := p.follow(path + "/archive")
		p.sees(a, "Ana Diaz was archived.", "Undo", "Archived on", "Restore it to make changes")
		if !strings.Contains(a.body, `action="`+path+`/restore"`) || strings.Contains(a.body, "/edit") || strings.Contains(a.body, "tags/remove") {
			t.Error("an archived contact can be restored, and nothing else")
		}
		p.sees(p.get(p.org("/contacts")), "All contacts are archived")
		p.sees(p.get(p.org("/contacts?scope=archived")), "Ana Diaz")
		for _, change := range []string{"", "/archive", "/tags/add", "/tags/remove"} {
			p.sees(p.follow(path+change, "first_name", "X", "last_name", "Y", "tag", "a"), "Ana Diaz is archived, so nothing was changed.")
		}
		p.sees(p.get(p.get(path+"/edit").location()), "Restore the contact first.")
		p.sees(p.follow(path+"/restore"), "Ana Diaz was restored.")
		p.sees(p.follow(path+"/restore"), "Ana Diaz was restored.")
		p.sees(p.get(p.org("/contacts")), "Ana Diaz")
	})
}

func TestTagsAreAddedRemovedAndSuggested(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		s.contact(p, "Bo", "Ek", tagged("Volunteer", "vip", "Größe"))
		path := s.contact(p, "Ana", "Diaz")
		p.sees(p.follow(path+"/tags/add", "tag", " Volunteer "), "“Volunteer” was added.")
		p.sees(p.follow(path+"/tags/add", "tag", "one, two,,Volunteer ,one"), "“one” and “two” were added. “Volunteer” was already there.")
		for tag, says := range map[string]string{"": "A tag must not be empty.", " , ": "A tag must not be empty.", strings.Repeat("x", 65): "A tag must not be longer than 64 characters.", "fine," + strings.Repeat("x", 65): "A tag must not be longer than 64 characters."} {
			a := p.post(path+"/tags/add", "tag", tag)
			p.wantStatus(a, http.StatusUnprocessableEntity)
			p.sees(a, says, "Ana Diaz")
		}
		p.sees(p.follow(path+"/tags/remove", "tag", "Volunteer"), "“Volunteer” was removed.")
		if got := s.contacts(p.account)[0].Tags; !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("the tags are %q", got)
		}
		s.contact(p, "Cy", "Fox", tagged("vip, past"))
		for query, want := range map[string]string{"tag=one, V": `<option value="one, vip">1 contact</option><option value="one, Volunteer">1 contact</option>`, "tag=v": `<option value="vip">1 contact</option><option value="Volunteer">1 contact</option>`, "tags.3=GRO": `<option value="Größe">1 contact</option>`, "tag=zzz": "", "tags.NEXT=one": `<option value="one">1 contact</option>`, "tags.0=one,t": `<option value="one,two">1 contact</option>`} {
			if a := p.live(p.org("/tags?" + strings.ReplaceAll(query, " ", "%20"))); a.body != want {
				t.Errorf("%s suggests %s", query, a.body)
			}
		}
	})
}

func TestTheListShowsFiftyContactsAPageNewestFirst(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Viewer)
		for i := range 53 {
			s.contact(p, "Number", fmt.Sprintf("N%02d", i), tagged("a", "b", "c", "d", "e"))
		}
		first, second := p.get(p.org("/contacts")), p.get(p.org("/contacts?page=2"))
		p.sees(first, "Active 53 Archived 0 All 53", "Number N52", "Number N03", "+3 more", "Next")
		p.sees(second, "Number N02", "Number N00", "Previous")
		if strings.Contains(first.words(), "N02") || strings.Contains(second.words(), "N03") || strings.Index(first.body, "N52") > strings.Index(first.body, "N51") {
			t.Error("the pages are not in order")
		}
		p.sees(p.get(p.org("/contacts?page=99")), "This page is empty")
		p.sees(p.get(p.org("/contacts?page=x&scope=all")), "Number N52")
		p.sees(p.get(p.org("/contacts?scope=archived")), "No archived contacts")
		if a := p.get(p.org("/contacts?scope=nonsense")); a.location() != p.org("/contacts") {
			t.Errorf("a scope that is none: %d to %s", a.status, a.location())
		}
	})
}

func TestContactsAreSearched(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Viewer)
		s.contact(p, "Maria", "Smith", tagged("VIP", "volunteer"), func(in *crm.ContactInput) {
			in.Emails, in.Phones = &[]crm.Email{{Value: "boss@example.org"}}, &[]crm.Phone{{Value: "212-555-0100"}}
			in.Addresses = &[]crm.Address{{City: "Brooklyn", Zipcode: "11201"}}
		})
		s.contact(p, "Bo", "Ek", tagged("vip"))
		for _, q := range []string{"maria", "smith mar", "BOSS@ex", "(212) 555", "0100", "@example.org", "brookl", "11201", "tag:VIP", "#volunteer maria", "volun"} {
			for _, a := range []answer{p.get(p.org("/contacts?q=" + url.QueryEscape(q))), p.live(p.org("/contacts?q=" + url.QueryEscape(q)))} {
				p.sees(a, "Maria Smith")
				if strings.Contains(a.words(), "Bo Ek") {
					t.Errorf("%q finds everybody", q)
				}
			}
		}
		p.sees(p.get(p.org("/contacts?tag=vip")), "Tagged vip", "1 of 2 contacts", "Bo Ek", "Show all contacts")
		p.sees(p.get(p.org("/contacts?q=vi")), "2 contacts", "Maria Smith", "Bo Ek", "Tags: VIP 1 vip 1")
		p.sees(p.get(p.org("/contacts?q=nobody&scope=archived")), "No archived contacts match.")
		live := p.live(p.org("/contacts?q=maria"))
		if strings.Contains(live.body, "<html") || !strings.Contains(live.body, `id="found" hx-swap-oob="true">1 of 2 contacts found.`) {
			t.Errorf("the live part is %s", live.body)
		}
		p.sees(p.live(p.org("/contacts?q=")), "Maria Smith", "Bo Ek", "Showing all contacts.")
		p.sees(p.get(p.org("/contacts?q=maria&page=nonsense&scope=all")), "Maria Smith")
	})
}

func TestASearchIsPagedBothWays(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Viewer)
		for i := range 51 {
			s.contact(p, "Maria", fmt.Sprintf("N%02d", i), tagged("all"))
		}
		for _, query := range []string{"q=maria", "tag=all", "q=maria&scope=all"} {
			first := p.get(p.org("/contacts?" + query))
			second := p.get(first.link(t, "Next"))
			p.sees(first, "51 contacts", "Maria N50")
			p.sees(second, "51 contacts", "Maria N00")
			if strings.Contains(first.words(), "N00") || strings.Contains(second.words(), "N01") || strings.Contains(second.words(), "Next") {
				t.Errorf("%s: the pages overlap", query)
			}
			if back := p.get(second.link(t, "Previous")); back.words() != first.words() || strings.Contains(back.words(), "Previous") {
				t.Errorf("%s: the way back leads to %s", query, back.words())
			}
		}
	})
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

func TestAViewerSeesNoControlsOfContacts(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Viewer)
	p.sees(p.get(p.org("/contacts")), "No contacts yet")
	path := s.contact(p, "Ana", "Diaz", tagged("a"))
	for _, page := range []string{p.org("/contacts"), path} {
		body := p.get(page).body
		main := body[strings.Index(body, "<main"):]
		if strings.Contains(main, `method="post"`) || strings.Contains(main, "/new") || strings.Contains(main, "/edit") {
			t.Errorf("%s shows a viewer what only editors may do", page)
		}
	}
}

// States and countries may be typed by name: no field cuts what is typed to another state, and what is not understood is said.
func TestStatesAndCountriesAreTypedByName(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		form := p.get(p.org("/contacts/new")).body
		for _, field := range regexp.MustCompile(`<input [^>]*name="addresses\.\d+\.(?:state|country)"[^>]*>`).FindAllString(form, -1) {
			if longest := regexp.MustCompile(`maxlength="(\d+)"`).FindStringSubmatch(field); longest == nil || len(longest[1]) < 3 {
				t.Errorf("the browser cuts what is typed: %s", field)
			}
		}
		type address struct{ state, country string }
		for i, test := range []struct{ typed, kept address }{
			{address{"Maine", ""}, address{"ME", ""}}, {address{" missouri ", "USA"}, address{"MO", "USA"}}, {address{"Vermont", "united states"}, address{"VT", "USA"}},
			{address{"N.Y.", ""}, address{"NY", ""}}, {address{"ny", "us"}, address{"NY", "USA"}}, {address{"New Brunswick", "Canada"}, address{"NB", "CAN"}}, {address{"", "Germany"}, address{"", "DEU"}},
			{address{"Bavaria", "Atlantis"}, address{}}, {address{"Mas", ""}, address{}},
		} {
			a := p.post(p.org("/contacts"), "first_name", "Ada", "last_name", fmt.Sprintf("Number%d", i), "type", "individual",
				"addresses.0.address_1", "1 Quay", "addresses.0.state", test.typed.state, "addresses.0.country", test.typed.country)
			if test.kept == (address{}) {
				p.wantStatus(a, http.StatusUnprocessableEntity)
				p.sees(a, "isn’t a state or province that we know. Enter its name or its two-letter code, such as NY.")
				if !strings.Contains(a.body, `value="`+test.typed.state+`"`) {
					t.Errorf("%q is not left as it was typed", test.typed.state)
				}
				continue
			}
			if p.wantStatus(a, http.StatusSeeOther); a.status != http.StatusSeeOther {
				continue
			}
			made := s.contacts(p.account)[0]
			if got := (address{made.Addresses[0].State, made.Addresses[0].Country}); got != test.kept {
				t.Errorf("%q is kept as %q, want %q", test.typed, got, test.kept)
			}
		}
	})
}
