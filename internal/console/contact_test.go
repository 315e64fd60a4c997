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

	gocmp "github.com/google/go-cmp/cmp"
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
	p.follow("contacts", "first_name", " Zoë ", "middle_name", "M", "last_name", "Okafor", "company", "Acme", "title", "Dr", "dob", "1980-02-29",
		"emails.0.value", "zoe@example.org", "emails.0.type", "work", "emails.1.value", "", "emails.1.type", "personal",
		"emails.4.value", "z@example.org", "phones.1.value", "(212) 555-0100 ext 5", "phones.1.type", "cell", "addresses.0.city", "",
		"addresses.1.address_1", "1 Main St", "addresses.1.address_2", "Flat 2", "addresses.1.city", "Boston", "addresses.1.state", "MA",
		"addresses.1.zipcode", "02110", "addresses.1.country", "USA", "tags.0", "", "tags.1", "major donor", "tags.2", "a, b,,a",
		"note", "Met in Rome.\r\nPrefers letters.", "twitter_url", "https://t.example/z", "linkedin_url", "https://l.example/z",
		"facebook_url", "https://f.example/z").
		sees("Zoë M Okafor was added.", "Dr · Acme", "zoe@example.org Work Primary", "(212) 555-0100 ext. 5 Cell",
			"1 Main St, Flat 2, Boston, MA 02110, United States", "major donor × a × b", "Met in Rome. Prefers letters.", "Feb 29, 1980").
		has(`href="mailto:zoe@example.org"`, `href="tel:2125550100"`, `href="https://t.example/z" rel="noopener nofollow noreferrer"`)
	want := []crm.Contact{{
		FirstName: "Zoë", MiddleName: "M", LastName: "Okafor", Company: "Acme", Title: "Dr", DOB: time.Date(1980, 2, 29, 0, 0, 0, 0, time.UTC),
		TwitterURL: "https://t.example/z", LinkedinURL: "https://l.example/z", FacebookURL: "https://f.example/z",
		Emails:    []crm.Email{{Type: "work", Value: "zoe@example.org"}, {Value: "z@example.org"}},
		Phones:    []crm.Phone{{Type: "cell", Value: "(212) 555-0100 ext 5"}},
		Addresses: []crm.Address{{Line1: "1 Main St", Line2: "Flat 2", City: "Boston", State: "MA", Zipcode: "02110", Country: "USA"}},
		Tags:      []string{"major donor", "a", "b"}, Note: "Met in Rome.\nPrefers letters.",
	}}
	diff := gocmp.Diff(want, s.contacts(p.account), cmpopts.IgnoreFields(crm.Contact{}, "ID", "CreatedAt", "UpdatedAt", "MatchKeys"),
		cmpopts.IgnoreFields(crm.Address{}, "CreatedAt", "UpdatedAt"))
	if diff != "" {
		t.Error(diff)
	}
}

func TestWrongInputComesBackWithWhatIsWrong(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	a := p.post("contacts", "first_name", "Zoë", "dob", "2999-01-01", "emails.0.value", "", "emails.3.value", "fine@example.org", "emails.5.value", "no sense",
		"phones.0.value", "12", "phones.0.type", "cell", "addresses.2.country", "Nowhere", "twitter_url", "javascript:1", "tags.1", strings.Repeat("x", 65), "note", "kept & safe")
	a.is(422).sees("7 things need your attention", "Last name is required.", "Date of birth must be a date between the year 1000 and today", "Email 2 must be a valid email address.", "Phone 1 must be a valid phone number",
		"Address 1 country isn’t a country that we know. Enter its name or its three-letter code, such as USA.", "Twitter must be a full link that starts with https:", "Tag 1 must not be longer than 64 characters.", "kept & safe")
	for _, jargon := range []string{" field ", "URL", "ISO", "m/d/Y", "where it is not"} {
		if text := a.words(); strings.Contains(text, jargon) {
			t.Errorf("the page says %q: %s", jargon, text)
		}
	}
	a.has(`name="emails.0.value" type="email" value="fine@example.org"`, `name="emails.1.value" type="email" value="no sense"`, `name="phones.0.value" type="tel" value="12"`, `<option value="cell" selected>`, `name="addresses.0.country" type="text" value="Nowhere"`, `href="#f-emails-1-value"`, `id="f-emails-1-value-fault"`, `value="2999-01-01"`)
	if contacts := s.contacts(p.account); len(contacts) != 0 {
		t.Errorf("%d contacts were made", len(contacts))
	}

}

func TestAContactIsEdited(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Ana", "Diaz", tagged("kept"), func(in *crm.ContactInput) {
		company, note, dob := "Acme", "Old", "1/2/1980"
		in.Company, in.Note, in.DOB = &company, &note, &dob
		in.Emails = &[]crm.Email{{Type: "work", Value: "a@example.org"}, {Value: "b@example.org"}}
		in.Addresses = &[]crm.Address{{City: "Rome"}}
	})
	p.get(path+"/edit").has(`value="Ana"`, `value="Acme"`, `value="1980-01-02"`, `value="a@example.org"`, `<option value="work" selected>`, `value="b@example.org"`, `value="Rome"`, `>Old</textarea>`)
	p.post(path, "first_name", "", "last_name", "Diaz").is(422)
	p.follow(path, "first_name", "Anna", "last_name", "Diaz", "emails.0.value", "", "emails.1.value", "b@example.org").sees("Changes saved.", "Anna Diaz", "b@example.org", "Removed note “Old”.")
	c := s.contacts(p.account)[0]
	if c.Company != "" || c.Note != "" || !c.DOB.IsZero() || len(c.Emails) != 1 || len(c.Addresses) != 0 || !slices.Equal(c.Tags, []string{"kept"}) {
		t.Errorf("after the edit: %+v", c)
	}

}

// A user does not overwrite another user's changes by accident: the form warns once, and then saves.
func TestAnOldFormDoesNotOverwriteUnawares(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Ana", "Diaz")
	typed := func(form answer, first, last string) []string {
		return append([]string{"first_name", first, "last_name", last}, form.fields()...) // the first value of a name counts
	}
	mine, theirs := p.get(path+"/edit"), p.get(path+"/edit")
	p.follow(path, typed(theirs, "Ana", "Diaz-Ruiz")...).sees("Changes saved.") // within the second in which it was added
	mine = p.post(path, typed(mine, "", "Diaz")...)                             // an invalid form does not make an old one new
	mine.is(422)
	a := p.post(path, typed(mine, "Anna", "Diaz")...)
	a.is(422).sees("Someone else changed this contact after you opened the form. Open the contact in another tab", "One thing needs your attention.",
		"What saving will change First name Ana Anna Last name Diaz-Ruiz Diaz View the current contact")
	if c := s.contacts(p.account)[0]; c.FirstName != "Ana" || c.LastName != "Diaz-Ruiz" || !strings.Contains(a.body, `value="Anna"`) {
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
	for _, path := range []string{"contacts?type=company", "contacts?do_not_mail=true", "contacts?external_id=4711", "contacts?q=4711"} {
		p.get(path).sees("Quill & Co").lacks("Lopez")
	}
	p.get("gifts").sees("Quill & Co")
	// A form that was opened before there were these fields changes none of them.
	p.follow(page, "company", "Quill & Sons", "seen", s.version(p, page)).sees("Quill & Sons", "ID in Bloomerang 4711", "Do not mail")
	p.follow(page, "type", "company", "company", "Quill & Sons", "first_name", "Bo", "last_name", "Quill", "title", "Clerk",
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
	p.follow(path+"/archive").sees("Ana Diaz was archived.", "Undo", "Archived on", "Restore it to make changes").has(`action="`+path+`/restore"`).hides("/edit", "tags/remove")
	p.get("contacts").sees("All contacts are archived")
	p.get("contacts?scope=archived").sees("Ana Diaz")
	for _, change := range []string{"", "/archive", "/tags/add", "/tags/remove"} {
		p.follow(path+change, "first_name", "X", "last_name", "Y", "tag", "a").sees("Ana Diaz is archived, so nothing was changed.")
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
	p.follow(path+"/tags/add", "tag", "one, two,,Volunteer ,one").sees("“one” and “two” were added. “Volunteer” was already there.")
	for _, tag := range []string{" , ", "fine," + strings.Repeat("x", 65)} {
		p.post(path+"/tags/add", "tag", tag).is(422).sees("A tag must not be", "Ana Diaz")
	}
	for _, tag := range []string{"", strings.Repeat("x", 100_000)} { // what is no tag was never there, and is not repeated in a cookie
		p.post(path+"/tags/remove", "tag", tag).is(422).sees("A tag must not be", "one").with("Set-Cookie", "")
	}
	p.follow(path+"/tags/remove", "tag", "Volunteer")
	if got := s.contacts(p.account)[0].Tags; !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the tags are %q", got)
	}
	s.contact(p, "Cy", "Fox", tagged("vip, past"))
	for query, want := range map[string][]string{
		"tag=one,%20V": {"one, vip", "one, Volunteer"}, "tag=v": {"vip", "Volunteer"}, "tags.3=GRO": {"Größe"}, "tag=zzz": nil,
		"tags.NEXT=one": {"one"}, "tags.0=one,t": {"one,two"},
	} {
		options := ""
		for _, tag := range want {
			options += `<option value="` + tag + `">1 contact</option>`
		}
		if a := p.live(p.org("/tags?" + query)); a.body != options {
			t.Errorf("%s suggests %s", query, a.body)
		}
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
	s.contact(p, "Maria", "Smith", tagged("VIP", "volunteer"), reachable("boss@example.org", "212-555-0100"), living("1 Elm", "11201"))
	s.contact(p, "Bo", "Ek", tagged("vip"))
	for _, q := range []string{"smith mar", "BOSS@ex", "(212) 555", "11201", "tag:VIP", "#volunteer maria"} {
		for _, a := range []answer{p.get("contacts?q=" + url.QueryEscape(q)), p.live(p.org("/contacts?q=" + url.QueryEscape(q)))} {
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

// States and countries may be typed by name: no field cuts what is typed to another state, and what is not understood is said.
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
	for typed, kept := range map[[2]string][2]string{{"Maine", ""}: {"ME", ""}, {"N.Y.", "us"}: {"NY", "USA"}, {"New Brunswick", "Canada"}: {"NB", "CAN"}} {
		save(typed[0], typed[1]).is(303)
		if a := s.contacts(p.account)[0].Addresses[0]; a.State != kept[0] || a.Country != kept[1] {
			t.Errorf("%q is kept as %+v, want %q", typed, a, kept)
		}
	}
	save("Bavaria", "Atlantis").is(422).sees("isn’t a state or province that we know.").has(`value="Bavaria"`)
}
