package console_test

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/duplicates"
)

// idIn is the id at the end of an address.
func idIn(address string) string { return path.Base(address) }

func reachable(email, phone string) func(*crm.ContactInput) {
	return func(in *crm.ContactInput) {
		in.Emails, in.Phones = &[]crm.Email{{Value: email}}, &[]crm.Phone{{Value: phone}}
	}
}

// between is the text between two others.
func between(t *testing.T, text, start, end string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, start)
	inner, _, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("no %q before %q", start, end)
	}
	return inner
}

// twoThomases are one person twice: the first one says less.
func twoThomases(s *site, p *person) (short, long string) {
	short = s.contact(p, "Tom", "REILLY", reachable("tom@example.org", "212-555-0100"), func(in *crm.ContactInput) {
		in.Tags, in.Note, in.Title = &[]string{"vip"}, new("Met at the gala."), new("Chair")
	})
	long = s.contact(p, "Thomas", "Reilly", reachable("thomas@example.org", "212-555-0199"),
		func(in *crm.ContactInput) {
			in.Tags, in.Note, in.Title, in.Company = &[]string{"board"}, new("Prefers letters."), new("Treasurer"),
				new("Reilly Boats")
		})
	return short, long
}

func TestTwoContactsAreComparedPreviewedMergedAndTakenApart(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	tom, thomas := twoThomases(s, p)
	p.give(thomas, "50", "2026-01-31")
	p.get(tom+"/merge?q=thomas").sees("Thomas Reilly", "Reilly Boats")
	compare := p.get(tom+"/merge?with="+idIn(thomas)).is(200).
		sees("First name A Tom B Thomas", "Company Kept. A – B Reilly Boats", "Tags All are kept.")
	picked := pairs(compare.fields())
	for field, want := range map[string]string{"first_name": idIn(tom), "last_name": idIn(thomas), "title": idIn(tom),
		"note": "both", "stays": idIn(tom)} {
		equal(t, picked.Get(field), want, "%s", field)
	}
	picked.Set("first_name", idIn(thomas))
	picked.Set("preview", "1")
	preview := p.get(tom+"/merge?"+picked.Encode()).is(200).sees("Merge Thomas Reilly into Tom REILLY?",
		"First name Thomas Last name Reilly", "tom@example.org thomas@example.org",
		"1 gift of Thomas Reilly will move.",
		"Overwritten values First name Tom Thomas", "Title Treasurer Chair", "Met at the gala. Prefers letters.")
	if n := len(s.contacts(p.account)); n != 2 {
		t.Fatal("the preview changed something")
	}
	p.follow(thomas+"/tags/add", "tag", "new since")
	stale := p.post(tom+"/merge", preview.fields()...).is(422).sees("so nothing was merged.", "new since")
	p.follow(tom+"/merge", stale.fields()...).sees("Undo", "Thomas Reilly", "Chair",
		"merged Thomas Reilly into this contact", "$50")
	for _, end := range []string{"", "/edit", "/history", "/merge"} {
		p.get(thomas + end).leads(tom)
	}
	p.post(thomas + "/restore").leads(tom)
	p.get(tom+"/merge?with="+idIn(thomas)).is(422).sees("was merged into contact "+idIn(tom)+".", "Nothing was merged.")
	for _, scope := range []string{"archived", "all"} { // it is the other contact now, and nothing to restore
		p.get("contacts?scope=" + scope).sees("Active 1 Archived 0 All 1").
			hides(`name="id" value="` + idIn(thomas) + `"`)
	}
	p.follow(tom+"/tags/add", "tag", "later")
	p.follow(tom, append([]string{"first_name", "Tommy"}, p.get(tom+"/edit").fields()...)...)
	undo := between(t, between(t, p.get(tom).body, `merged Thomas Reilly into this contact`, `</form>`), `action="`,
		`"`)
	p.follow(undo).sees("is a separate contact again.",
		"Changed since the merge, so it stays with Tommy REILLY: first name.", "later")
	p.get(thomas).sees("Thomas Reilly", "Treasurer", "$50")
	list := p.get("merges").sees("Undone Merge again")
	p.follow(p.org("/merges/")+between(t, list.body, `action="`+p.org("/merges/"), `"`)).
		sees("The two contacts are merged again.", "Undo")
}

func TestTheOtherContactCanStay(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	tom, thomas := twoThomases(s, p)
	led := p.get(tom + "/merge?with=" + idIn(thomas) + "&stays=" + idIn(thomas) + "&title=" + idIn(tom) + "&preview=1").
		is(303)
	a := p.get(led.location()).sees("Merge Tom REILLY into Thomas Reilly?", "Title Chair")
	p.follow(thomas+"/merge", a.fields()...).sees("Merged Tom REILLY into Thomas Reilly.")
}

func TestWhatCannotBeMergedIsSaid(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	tom, thomas := twoThomases(s, p)
	company := s.contact(p, "", "", func(in *crm.ContactInput) {
		in.Company, in.IsCompany, in.FirstName, in.LastName = new("Boats"), new(true), nil, nil
	})
	gone := s.contact(p, "Gone", "Person")
	p.follow(gone + "/archive")
	for other, want := range map[string]string{
		tom: "can’t be merged with itself.", company: "a person and a company can’t be merged.",
		gone: "is archived. Restore it first.",
	} {
		p.get(tom+"/merge?with="+idIn(other)).is(422).sees(want, "Nothing was merged.")
		p.post(tom+"/merge", "with", idIn(other), "preview", "1", "seen", "x").is(422).sees(want)
	}
	p.get(p.get(gone + "/merge?with=" + idIn(tom)).location()).sees("Gone Person is archived, so it cannot be merged.")
	foreign := s.contact(s.member(s.organization("Other"), access.Editor), "Foreign", "Person")
	for _, other := range []string{idIn(foreign), "12345"} {
		p.get(tom + "/merge?with=" + other).is(404)
		p.post(tom+"/merge", "with", other).is(404)
	}
	p.post(tom+"/merge", "with", idIn(thomas)).is(422) // without a preview
	equal(t, len(s.contacts(p.account)), 4)
	p.give(thomas, "50", "2026-01-31") // of two that were selected, the one with gifts stays
	p.post("contacts/bulk", "action", "merge", "id", idIn(tom), "id", idIn(thomas)).
		leads(thomas + "/merge?with=" + idIn(tom))
	p.follow("contacts/bulk", "action", "merge", "id", idIn(tom)).sees("Select exactly two contacts to merge them.")
	p.follow("contacts/bulk", "action", "merge", "all", "1").sees("Select exactly two contacts to merge them.")
}

func TestAMergeThatContradictsIsReviewed(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	s.contact(p, "Ana", "Diaz", reachable("family@example.org", "212-555-0100"))
	for _, first := range []string{"Bob", "Zachary"} {
		in := crm.ContactInput{FirstName: &first, LastName: new("Unger")}
		reachable("family@example.org", "212-555-0100")(&in)
		succeed(t, in.Validate(nil, true, "US", now))
		must(s.store.CreateContact(t.Context(), p.account.Number, in, crm.Dedupe))(t)
	}
	button := func(what string) string {
		list := between(t, p.get("merges").body, `<ul class="review-list">`, `</ul>`)
		return regexp.MustCompile(`/merges/\d+/` + what).FindString(list)
	}
	p.get("merges").sees("Please review 2", "Zachary Unger was merged into Bob Unger",
		"Bob Unger was merged into Ana Diaz")
	p.follow(p.org(button("keep"))).sees("The merge stays.", "Please review 1")
	p.follow(p.org(button("undo"))).sees("The merge was undone.", "is a separate contact again.")
	p.get("merges").lacks("Please review")
	p.post("merges/999999/undo").is(404)
	p.post("merges/x/keep").is(404)
}

// answerQuestion sends the form of a question with the button that was pressed.
func (p *person) answerQuestion(path string, question answer, decision string) answer {
	p.site.t.Helper()
	return p.post(path, append(question.fields(), "decision", decision)...)
}

func TestANewContactWithAKnownEmailOrPhoneIsAskedAbout(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	marta := s.contact(p, "Marta", "Lopez", reachable("marta@example.org", "212-555-0100"))
	a := p.post("contacts", "first_name", "Ana", "last_name", "Diaz", "emails.0.value", "Marta@example.org",
		"emails.0.type", "work",
		"emails.1.value", "ana@example.org", "phones.0.value", "+1 (212) 555 0100", "tags.0", "vip, board",
		"note", "One\nTwo <&> \"three\"").is(409).sees("Is this Marta Lopez?", "Nothing was saved yet.",
		"Email added ana@example.org Note One Two", "The name stays Marta Lopez, not Ana Diaz.",
		"Tag added vip Tag added board").
		has(`href="` + marta + `" target="_blank"`)
	if c := s.contacts(p.account); len(c) != 1 || c[0].FirstName != "Marta" || len(c[0].Emails) != 1 {
		t.Fatalf("the question changed something: %+v", c)
	}
	back := p.answerQuestion("contacts", a, "back").is(200).has(`value="Ana"`, `value="Marta@example.org"`,
		`<option value="work" selected>`, `value="&#43;1 (212) 555 0100"`, `value="vip"`, `value="board"`,
		"One\nTwo &lt;&amp;&gt; &#34;three&#34;</textarea>")
	a = p.post("contacts", back.fields()...).is(409)
	kept := p.answerQuestion("contacts", a, "keep").is(303)
	asked, _ := must2(s.store.Pairs(t.Context(), p.account.Number, duplicates.Filter{Dismissed: true}, hundred))(t)
	if len(asked) != 1 || idIn(marta) != fmt.Sprint(asked[0].A) {
		t.Errorf("two contacts that were kept apart are asked about again: %v", asked)
	}
	p.get(kept.location()).sees("Ana Diaz was added.", "One Two <&>")
	// a form that is sent twice makes no third contact
	p.answerQuestion("contacts", a, "keep").is(303).leads(kept.location())
	equal(t, len(s.contacts(p.account)), 2)
	equal(t, s.created.Load(), 1)
	equal(t, s.merged.Load(), 0)
}

func TestAMergeIsDecidedAndSaysWhatChanged(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Amelia", "Okafor", reachable("amelia@example.org", "212-555-0100"))
	form := []string{"first_name", "Amelia", "last_name", "Okafor-Reyes", "emails.0.value", "AMELIA@example.org",
		"emails.1.value", "reyes@example.org", "tags.0", "vip"}
	a := p.post("contacts", form...)
	p.follow(path+"/tags/add", "tag", "new since") // by another user
	a = p.answerQuestion("contacts", a, "merge").is(409).sees("This contact changed while you were deciding.")
	p.get(p.answerQuestion("contacts", a, "merge").is(303).location()).
		sees("Email added reyes@example.org", "Tag added vip")
	if c := s.contacts(p.account); len(c) != 1 || c[0].LastName != "Okafor" {
		t.Errorf("the contact was renamed: %+v", c)
	}
	p.get("merges").sees("Amelia Okafor-Reyes into Amelia Okafor").lacks("Please review")
	a = p.post("contacts", form...)
	p.get(p.answerQuestion("contacts", a, "merge").location()).sees("Nothing changed.")
	equal(t, len(s.contacts(p.account)), 1)
	equal(t, s.merged.Load(), 2)
	p.follow(path + "/archive")
	gone := p.answerQuestion("contacts", a, "merge").is(422).sees("so nothing was added to it.")
	p.follow("contacts", gone.fields()...).sees("Amelia Okafor-Reyes was added.")
}

func TestAMergeThatIsTooMuchIsNotOffered(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	tags := []string{}
	for i := range 500 {
		tags = append(tags, fmt.Sprint("t", i))
	}
	s.contact(p, "Marta", "Lopez", reachable("marta@example.org", "212-555-0100"), tagged(tags...))
	p.post("contacts", "first_name", "Ana", "last_name", "Diaz", "emails.0.value", "marta@example.org", "tags.0",
		"one more").
		sees("Tags are limited to 500 per contact.", "Keep both").lacks("Add to Marta Lopez Keep both")
}

func TestAnEmailOrPhoneOfAnotherContactIsToldBeforeItIsSaved(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	marta := s.contact(p, "Marta", "Lopez", reachable("marta@example.org", "212-555-0100"))
	path := s.contact(p, "Ana", "Diaz", reachable("ana@example.org", "212-555-0199"))
	a := p.post(path, append([]string{"last_name", "Diaz-Ruiz", "phones.0.value", "(212) 555-0100"},
		p.get(path+"/edit").fields()...)...).
		is(409).sees("Nothing was saved yet. Marta Lopez already has the phone (212) 555-0100").lacks("Add to Marta").
		has(`href="` + marta + `" target="_blank"`)
	p.get(path).sees("Ana Diaz", "(212) 555-0199")
	p.answerQuestion(path, a, "back").is(200).has(`value="Diaz-Ruiz"`, `value="(212) 555-0100"`, `name="seen"`)
	s.contact(p, "Ana", "Diaz-Ruiz", reachable("twin@example.org", "212-555-0100")) // a better match, added meanwhile
	a = p.answerQuestion(path, a, "keep").is(409).sees("Please look again", "Ana Diaz-Ruiz already has the phone")
	p.get(p.answerQuestion(path, a, "keep").is(303).location()).
		sees("Changes saved.", "Ana Diaz-Ruiz", "(212) 555-0100")
	p.follow(path, p.get(path+"/edit").fields()...).sees("Changes saved.") // it has the phone by now
}

func living(street, zip string) func(*crm.ContactInput) {
	return func(in *crm.ContactInput) {
		in.Addresses = &[]crm.Address{{Line1: street, City: "Salem", State: "OR", Zipcode: zip}}
	}
}

func born(day string) func(*crm.ContactInput) { return func(in *crm.ContactInput) { in.DOB = &day } }

// doubles are two people who are there twice, one of them surely, among others.
func doubles(s *site, p *person) (first, second string) {
	s.t.Helper()
	tom := reachable("tom@example.org", "212-555-0101")
	first = s.contact(p, "Thomas", "Abernathy", tom, living("12 Oak Street", "97301"), born("3/4/1955"))
	second = s.contact(p, "Tom", "Abernathy", tom, living("12 Oak St.", "97301"), born("3/4/1955"))
	s.contact(p, "Maria", "Quintero", living("9 Elm Street", "97302"))
	for range 2 { // another pair, which no one selects
		s.contact(p, "Ingeborg", "Lindqvist", reachable("ingeborg@example.org", "212-555-0144"),
			living("77 Harbor Road", "97305"), born("11/30/1971"))
	}
	for i, name := range strings.Fields("Underwood Vasquez Whitfield Xanthos Yamamoto Zeller Bakker") {
		s.contact(p, "Anna", name, reachable(name+"@example.org", fmt.Sprint("212-555-091", i)))
	}
	s.look(p)
	return first, second
}

// look brings the duplicates up to date.
func (s *site) look(p *person) {
	s.t.Helper()
	succeed(s.t, s.store.FindDuplicates(s.t.Context(), p.account.Number, nil))
}

func TestDuplicatesAreShownDismissedAndBroughtBack(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	p.get("duplicates").sees("The first results appear here in a moment.")
	p.follow("duplicates/check").sees("Checking your contacts for duplicates.") // who has added contacts need not wait
	thomas, tom := doubles(s, p)
	p.get("duplicates").sees("Certain 2", "Likely 0", "Not duplicates 0", "Tom is short for Thomas", "ame phone").
		has(thomas + "/merge?with=" + idIn(tom))
	p.get("").sees("2 certain duplicates")
	p.get(thomas+"/merge").sees("Possible duplicates of Thomas Abernathy", "Tom Abernathy")
	told := p.follow(tom+"/distinct", "other", idIn(thomas), "level", "sure").sees("Certain 1", "Not duplicates 1")
	s.look(p)
	p.get("duplicates?level=dismissed").sees("Thomas Abernathy")
	undo := between(t, told.body, `class="notice"`, `</form>`)
	p.follow(between(t, undo, `action="`, `"`)).sees("is shown as a possible duplicate again.", "Certain 2")
	p.post(tom+"/distinct", "other", "987654321").is(404)
	p.get("duplicates?level=nonsense").is(303)
}

func TestSureDuplicatesAreMergedTogether(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	thomas, tom := doubles(s, p)
	p.follow("duplicates/merge").sees("Nothing was merged. Select at least one match first.")
	p.get("duplicates/merge?all=1").sees("Merge 2 certain matches?", "Tom Abernathy", "Ingeborg Lindqvist")
	one := "duplicates/merge?id=" + idIn(thomas)
	ask := p.get(one).sees("Merge 1 certain match?", "Tom Abernathy")
	p.done(p.post("duplicates/merge", ask.fields()...).is(303).location(), "Done", "1 contact merged into others.",
		"Undo this change")
	p.get(tom).leads(thomas)
	p.get("duplicates").sees("Certain 1", "Ingeborg Lindqvist")
	p.get(p.get(one).location()).sees("There are no certain matches left to merge.")
}

func TestAFormAsksAboutTheSameNameAndStreetOrBirthDate(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	doubles(s, p)
	maria := s.contact(p, "Marisol", "Featherstone", born("3/14/1961"))
	form := []string{"type", "individual", "first_name", "Maria", "last_name", "Quintero", "addresses.0.address_1",
		"9 Elm St",
		"addresses.0.city", "Salem", "addresses.0.state", "OR", "addresses.0.zipcode", "97302", "emails.0.value",
		"maria@example.org"}
	n := len(s.contacts(p.account))
	ask := p.post("contacts", form...).is(409).sees("Is this Maria Quintero?", "same address",
		"Email added maria@example.org")
	p.answerQuestion("contacts", ask, "back").is(200)
	p.get(p.answerQuestion("contacts", ask, "merge").is(303).location()).sees("maria@example.org")
	equal(t, len(s.contacts(p.account)), n, "a contact was added")
	form[len(form)-1] = "other@example.org"
	ask = p.post("contacts", form...)
	p.get(p.answerQuestion("contacts", ask, "keep").is(303).location()).sees("Maria Quintero was added.")

	other := s.contact(p, "Nobody", "Else")
	typed := append([]string{"first_name", "Marisol", "last_name", "Featherstone", "dob", "1961-03-14"},
		p.get(other+"/edit").fields()...)
	ask = p.post(other, typed...).is(409).sees("Is this Marisol Featherstone?", "Save and merge both")
	p.answerQuestion(other, ask, "merge").leads(other + "/merge?with=" + idIn(maria))
}
