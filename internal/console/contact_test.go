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
	p.get("contacts").sees("No contacts yet", "Add your first contact")
	p.get("contacts/new").sees("New contact", "Email 2", "Separate several tags with commas.")
	p.follow("contacts", "first_name", " Zoë ", "middle_name", "M", "last_name", "Okafor", "company", "Acme", "title", "Dr", "dob", "1980-02-29",
		"emails.0.value", "zoe@example.org", "emails.0.type", "work", "emails.1.value", "", "emails.1.type", "personal", "emails.4.value", "z@example.org",
		"phones.1.value", "(212) 555-0100 ext 5", "phones.1.type", "cell",
		"addresses.0.city", "", "addresses.1.address_1", "1 Main St", "addresses.1.address_2", "Flat 2", "addresses.1.city", "Boston", "addresses.1.state", "MA", "addresses.1.zipcode", "02110", "addresses.1.country", "USA",
		"tags.0", "", "tags.1", "major donor", "tags.2", "a, b,,a", "note", "Met in Rome.\r\nPrefers letters.",
		"twitter_url", "https://t.example/z", "linkedin_url", "https://l.example/z", "facebook_url", "https://f.example/z").sees("Zoë M Okafor was added.", "Dr · Acme", "zoe@example.org Work Primary", "z@example.org", "(212) 555-0100 ext. 5 Cell", "1 Main St, Flat 2, Boston, MA 02110, United States",
		"major donor × a × b", "Met in Rome. Prefers letters.", "Feb 29, 1980", "https://l.example/z").has(`href="mailto:zoe@example.org"`, `href="tel:2125550100"`, `href="https://t.example/z" rel="noopener nofollow noreferrer"`)
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
	p.get("contacts/new").sees("The first and the last name are those of your contact person there.", "Do not mail", "The IDs of this contact in other systems.")
	p.post("contacts", "type", "company", "prefix", "Dr.").sees("Company is required.")
	p.follow("contacts", "type", "company", "company", "Quill & Co", "salutation", "Dear friends", "do_not_mail", "yes",
		"external_ids.0.value", "4711", "external_ids.0.source", "Bloomerang", "emails.0.value", "hello@quill.example").sees("Quill & Co was added.", "Do not mail", "Salutation Dear friends", "ID in Bloomerang 4711")
	page := p.org(fmt.Sprintf("/contacts/%d", s.contacts(p.account)[0].ID))
	p.follow(page+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "cash").sees("$50")
	s.contact(p, "Ana", "Lopez")
	for _, path := range []string{"/contacts?type=company", "/contacts?do_not_mail=true", "/contacts?external_id=4711", "/contacts?q=4711", "/gifts", ""} {
		p.get(p.org(path)).sees("Quill & Co")
	}
	p.get("contacts?type=company&do_not_mail=true").lacks("Lopez").sees("Type company")
	// A form that was opened before there were these fields changes none of them.
	p.follow(page, "company", "Quill & Sons", "seen", s.version(p, page))
	p.get(page).sees("Quill & Sons", "ID in Bloomerang 4711", "Do not mail")
	p.follow(page, "type", "company", "company", "Quill & Sons", "first_name", "Bo", "last_name", "Quill", "title", "Clerk", "external_ids.0.value", "", "external_ids.1.value", "88", "seen", s.version(p, page)).sees("Contact person Bo Quill Title Clerk External ID 88").lacks("Date of birth")
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
	path := s.contact(p, "Ana", "Diaz")
	p.follow(path+"/tags/add", "tag", " Volunteer ").sees("“Volunteer” was added.")
	p.follow(path+"/tags/add", "tag", "one, two,,Volunteer ,one").sees("“one” and “two” were added. “Volunteer” was already there.")
	for tag, says := range map[string]string{"": "A tag must not be empty.", " , ": "A tag must not be empty.", strings.Repeat("x", 65): "A tag must not be longer than 64 characters.", "fine," + strings.Repeat("x", 65): "A tag must not be longer than 64 characters."} {
		p.post(path+"/tags/add", "tag", tag).is(422).sees(says, "Ana Diaz")
	}
	p.follow(path+"/tags/remove", "tag", "Volunteer").sees("“Volunteer” was removed.")
	if got := s.contacts(p.account)[0].Tags; !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the tags are %q", got)
	}
	s.contact(p, "Cy", "Fox", tagged("vip, past"))
	for query, want := range map[string]string{"tag=one, V": `<option value="one, vip">1 contact</option><option value="one, Volunteer">1 contact</option>`, "tag=v": `<option value="vip">1 contact</option><option value="Volunteer">1 contact</option>`, "tags.3=GRO": `<option value="Größe">1 contact</option>`, "tag=zzz": "", "tags.NEXT=one": `<option value="one">1 contact</option>`, "tags.0=one,t": `<option value="one,two">1 contact</option>`} {
		if a := p.live("tags?" + strings.ReplaceAll(query, " ", "%20")); a.body != want {
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
	s.contact(p, "Maria", "Smith", tagged("VIP", "volunteer"), func(in *crm.ContactInput) {
		in.Emails, in.Phones = &[]crm.Email{{Value: "boss@example.org"}}, &[]crm.Phone{{Value: "212-555-0100"}}
		in.Addresses = &[]crm.Address{{City: "Brooklyn", Zipcode: "11201"}}
	})
	s.contact(p, "Bo", "Ek", tagged("vip"))
	for _, q := range []string{"maria", "smith mar", "BOSS@ex", "(212) 555", "0100", "@example.org", "brookl", "11201", "tag:VIP", "#volunteer maria", "volun"} {
		for _, a := range []answer{p.get("contacts?q=" + url.QueryEscape(q)), p.live("contacts?q=" + url.QueryEscape(q))} {
			a.sees("Maria Smith").lacks("Bo Ek")
		}
	}
	p.get("contacts?tag=vip").sees("Tagged vip", "1 of 2 contacts", "Bo Ek", "Show all contacts")
	p.get("contacts?q=vi").sees("2 contacts", "Maria Smith", "Bo Ek", "Tags: VIP 1 vip 1")
	p.get("contacts?q=nobody&scope=archived").sees("No archived contacts match.")
	live := p.live("contacts?q=maria")
	live.hides("<html").has(`id="found" hx-swap-oob="true">1 of 2 contacts found.`)
	p.live("contacts?q=").sees("Maria Smith", "Bo Ek", "Showing all contacts.")
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
	form := p.get("contacts/new").body
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
		a := p.post("contacts", "first_name", "Ada", "last_name", fmt.Sprintf("Number%d", i), "type", "individual",
			"addresses.0.address_1", "1 Quay", "addresses.0.state", test.typed.state, "addresses.0.country", test.typed.country)
		if test.kept == (address{}) {
			a.is(422).sees("isn’t a state or province that we know. Enter its name or its two-letter code, such as NY.").has(`value="` + test.typed.state + `"`)
			continue
		}
		if a.is(303); a.status != 303 {
			continue
		}
		made := s.contacts(p.account)[0]
		if got := (address{made.Addresses[0].State, made.Addresses[0].Country}); got != test.kept {
			t.Errorf("%q is kept as %q, want %q", test.typed, got, test.kept)
		}
	}

}
