package console_test

import (
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
)

func living(street, zip string) func(*crm.ContactInput) {
	return func(in *crm.ContactInput) {
		in.Addresses = &[]crm.Address{{Line1: street, City: "Salem", State: "OR", Zipcode: zip}}
	}
}

// doubles are two people who are there twice, one of them surely, among others.
func doubles(s *site, p *person) (first, second string) {
	s.t.Helper()
	born := func(in *crm.ContactInput) { in.DOB = new("3/4/1955") }
	first = s.contact(p, "Thomas", "Abernathy", reachable("tom@example.org", "212-555-0101"), living("12 Oak Street", "97301"), born)
	second = s.contact(p, "Tom", "Abernathy", reachable("tom@example.org", "212-555-0101"), living("12 Oak St.", "97301"), born)
	s.contact(p, "Maria", "Quintero", living("9 Elm Street", "97302"))
	later := func(in *crm.ContactInput) { in.DOB = new("11/30/1971") }
	for range 2 { // another pair, which no one selects
		s.contact(p, "Ingeborg", "Lindqvist", reachable("ingeborg@example.org", "212-555-0144"), living("77 Harbor Road", "97305"), later)
	}
	for _, name := range strings.Fields("Underwood Vasquez Whitfield Xanthos Yamamoto Zeller Bakker") {
		s.contact(p, "Anna", name, reachable(name+"@example.org", "212-555-09"+string(rune('0'+len(name)))+string(name[0]%10+'0')))
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
	p.get("duplicates").sees("No duplicates", "The first results appear here in a moment.")
	thomas, tom := doubles(s, p)
	p.get("duplicates").sees("Certain 2", "Likely 0", "Not duplicates 0", "Last checked", "Check now", "Thomas Abernathy", "Tom Abernathy", "Compare", "Not a duplicate", "Merge all 2 certain matches").sees("Tom is short for Thomas", "ame phone").has(thomas + "/merge?with=" + idIn(tom))
	p.get("").sees("2 certain duplicates")
	p.get(thomas+"/merge").sees("Possible duplicates of Thomas Abernathy", "Tom Abernathy")

	viewer := s.member(p.account, access.Viewer)
	viewer.get(p.org("/duplicates")).sees("Tom Abernathy", "Compare").hides("Not a duplicate<", "Merge all")
	viewer.post(tom+"/distinct", "other", idIn(thomas)).is(403)

	told := p.follow(tom+"/distinct", "other", idIn(thomas), "level", "sure")
	told.sees("Tom Abernathy won't be shown as a duplicate again unless their details change.", "Certain 1", "Not duplicates 1")
	s.look(p)
	p.get("duplicates?level=dismissed").sees("Thomas Abernathy", "Show as duplicate")
	undo := between(t, told.body, `class="notice"`, `</form>`)
	p.follow(between(t, undo, `action="`, `"`)).sees("is shown as a possible duplicate again.", "Certain 2")
	p.post(tom+"/distinct", "other", "987654321").is(404)
	p.get("duplicates?level=nonsense").is(303)
}

func TestSureDuplicatesAreMergedTogether(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	thomas, tom := doubles(s, p)
	p.follow("duplicates/merge").sees("Nothing was merged. Select at least one match first.")
	for _, query := range []string{"?all=1", "?id=" + idIn(thomas)} {
		ask := p.get("duplicates/merge" + query)
		if ask.sees("Contacts to merge", "Tom Abernathy", "ame phone"); query == "?all=1" {
			ask.sees("Merge 2 certain matches?", "Ingeborg Lindqvist")
			continue
		}
		ask.sees("Merge 1 certain match?")
		a := p.post("duplicates/merge", ask.fields()...)
		a.is(303)
		p.done(a.location(), "Done")
		p.get(a.location()).sees("Merge certain matches", "1 contact merged into others.", "Undo this change")
		p.get(tom).leads(thomas)
		p.get("duplicates").sees("Certain 1", "Ingeborg Lindqvist")
		p.get(p.get("duplicates/merge" + query).location()).sees("There are no certain matches left to merge.")
	}
}

func TestAFormAsksAboutTheSameNameAndStreetOrBirthDate(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	doubles(s, p)
	maria := s.contact(p, "Marisol", "Featherstone", func(in *crm.ContactInput) { in.DOB = new("3/14/1961") })
	form := []string{"type", "individual", "first_name", "Maria", "last_name", "Quintero", "addresses.0.address_1", "9 Elm St", "addresses.0.city", "Salem", "addresses.0.state", "OR", "addresses.0.zipcode", "97302", "emails.0.value", "maria@example.org"}
	n := len(s.contacts(p.account))
	ask := p.post("contacts", form...)
	ask.is(409).sees("Is this Maria Quintero?", "Maria Quintero may be the same person:", "same address", "Email added maria@example.org", "Add to Maria Quintero", "Keep both", "Back to form")
	p.answerQuestion(p.org("/contacts"), ask, "back").is(200)
	added := p.answerQuestion(p.org("/contacts"), ask, "merge")
	added.is(303)
	p.get(added.location()).sees("What you typed was added to Maria Quintero.", "maria@example.org")
	if len(s.contacts(p.account)) != n {
		t.Error("a contact was added")
	}
	form[len(form)-1] = "other@example.org"
	ask = p.post("contacts", form...)
	kept := p.answerQuestion(p.org("/contacts"), ask, "keep")
	kept.is(303)
	p.get(kept.location()).sees("Maria Quintero was added.")

	other := s.contact(p, "Nobody", "Else")
	edit := p.get(other + "/edit")
	values := edit.fields()
	for i := 0; i < len(values); i += 2 {
		switch values[i] {
		case "first_name":
			values[i+1] = "Marisol"
		case "last_name":
			values[i+1] = "Featherstone"
		case "dob":
			values[i+1] = "1961-03-14"
		}
	}
	ask = p.post(other, values...)
	ask.is(409).sees("Is this Marisol Featherstone?", "may be the same person", "Save anyway", "Save and merge both")
	merge := p.answerQuestion(other, ask, "merge")
	if want := other + "/merge?with=" + idIn(maria); merge.location() != want {
		t.Errorf("it leads to %s, want %s: %s", merge.location(), want, merge.words())
	}
}

// A person who has just added contacts need not wait for the next look.
func TestDuplicatesAreCheckedOnDemand(t *testing.T) {
	s := anySite(t)

	org := s.organization("Harbor")
	p, viewer := s.member(org, access.Editor), s.member(org, access.Viewer)
	p.get("duplicates").sees("Check now")
	a := p.post("duplicates/check")
	p.get(a.location()).sees("Checking your contacts for duplicates.")
	viewer.get("duplicates").lacks("Check now")

}
