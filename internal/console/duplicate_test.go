package console_test

import (
	"net/http"
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
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	p.sees(p.get(p.org("/duplicates")), "No duplicates", "The first results appear here in a moment.")
	thomas, tom := doubles(s, p)
	a := p.get(p.org("/duplicates"))
	p.sees(a, "Certain 2", "Likely 0", "Not duplicates 0", "Last checked", "Check now", "Thomas Abernathy", "Tom Abernathy", "Compare", "Not a duplicate", "Merge all 2 certain matches")
	if !strings.Contains(a.words(), "Tom is short for Thomas") || !strings.Contains(a.words(), "ame phone") {
		t.Errorf("no reasons: %s", a.words())
	}
	if !strings.Contains(a.body, thomas+"/merge?with="+idIn(tom)) {
		t.Error("no link leads to the comparison")
	}
	p.sees(p.get(p.org("")), "2 certain duplicates")
	p.sees(p.get(thomas+"/merge"), "Possible duplicates of Thomas Abernathy", "Tom Abernathy")

	viewer := s.member(p.account, access.Viewer)
	looks := viewer.get(p.org("/duplicates"))
	viewer.sees(looks, "Tom Abernathy", "Compare")
	if strings.Contains(looks.body, "Not a duplicate<") || strings.Contains(looks.body, "Merge all") {
		t.Error("a viewer may decide")
	}
	viewer.wantStatus(viewer.post(tom+"/distinct", "other", idIn(thomas)), http.StatusForbidden)

	told := p.follow(tom+"/distinct", "other", idIn(thomas), "level", "sure")
	p.sees(told, "Tom Abernathy won't be shown as a duplicate again unless their details change.", "Certain 1", "Not duplicates 1")
	s.look(p)
	gone := p.get(p.org("/duplicates?level=dismissed"))
	p.sees(gone, "Thomas Abernathy", "Show as duplicate")
	undo := between(t, told.body, `class="notice"`, `</form>`)
	p.sees(p.follow(between(t, undo, `action="`, `"`)), "is shown as a possible duplicate again.", "Certain 2")
	p.wantStatus(p.post(tom+"/distinct", "other", "987654321"), http.StatusNotFound)
	p.wantStatus(p.get(p.org("/duplicates?level=nonsense")), http.StatusSeeOther)
}

func TestSureDuplicatesAreMergedTogether(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	s.working()
	thomas, tom := doubles(s, p)
	p.sees(p.follow(p.org("/duplicates/merge")), "Nothing was merged. Select at least one match first.")
	for _, query := range []string{"?all=1", "?id=" + idIn(thomas)} {
		ask := p.get(p.org("/duplicates/merge" + query))
		if p.sees(ask, "Contacts to merge", "Tom Abernathy", "ame phone"); query == "?all=1" {
			p.sees(ask, "Merge 2 certain matches?", "Ingeborg Lindqvist")
			continue
		}
		p.sees(ask, "Merge 1 certain match?")
		a := p.post(p.org("/duplicates/merge"), formValues(t, ask.body)...)
		p.wantStatus(a, http.StatusSeeOther)
		p.until(a.location(), "Done")
		p.sees(p.get(a.location()), "Merge certain matches", "1 contact merged into others.", "Undo this change")
		if a := p.get(tom); a.location() != thomas {
			t.Errorf("the duplicate leads to %q", a.location())
		}
		p.sees(p.get(p.org("/duplicates")), "Certain 1", "Ingeborg Lindqvist")
		p.sees(p.get(p.get(p.org("/duplicates/merge"+query)).location()), "There are no certain matches left to merge.")
	}
}

func TestAFormAsksAboutTheSameNameAndStreetOrBirthDate(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	doubles(s, p)
	maria := s.contact(p, "Marisol", "Featherstone", func(in *crm.ContactInput) { in.DOB = new("3/14/1961") })
	form := []string{"type", "individual", "first_name", "Maria", "last_name", "Quintero", "addresses.0.address_1", "9 Elm St", "addresses.0.city", "Salem", "addresses.0.state", "OR", "addresses.0.zipcode", "97302", "emails.0.value", "maria@example.org"}
	n := len(s.contacts(p.account))
	ask := p.post(p.org("/contacts"), form...)
	p.wantStatus(ask, http.StatusConflict)
	p.sees(ask, "Is this Maria Quintero?", "Maria Quintero may be the same person:", "same address", "Email added maria@example.org", "Add to Maria Quintero", "Keep both", "Back to form")
	back := p.answerQuestion(p.org("/contacts"), ask, "back")
	p.wantStatus(back, http.StatusOK)
	added := p.answerQuestion(p.org("/contacts"), ask, "merge")
	p.wantStatus(added, http.StatusSeeOther)
	p.sees(p.get(added.location()), "What you typed was added to Maria Quintero.", "maria@example.org")
	if len(s.contacts(p.account)) != n {
		t.Error("a contact was added")
	}
	form[len(form)-1] = "other@example.org"
	ask = p.post(p.org("/contacts"), form...)
	kept := p.answerQuestion(p.org("/contacts"), ask, "keep")
	p.wantStatus(kept, http.StatusSeeOther)
	p.sees(p.get(kept.location()), "Maria Quintero was added.")

	other := s.contact(p, "Nobody", "Else")
	edit := p.get(other + "/edit")
	values := formValues(t, edit.body)
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
	p.wantStatus(ask, http.StatusConflict)
	p.sees(ask, "Is this Marisol Featherstone?", "may be the same person", "Save anyway", "Save and merge both")
	merge := p.answerQuestion(other, ask, "merge")
	if want := other + "/merge?with=" + idIn(maria); merge.location() != want {
		t.Errorf("it leads to %s, want %s: %s", merge.location(), want, merge.words())
	}
}

// A person who has just added contacts need not wait for the next look.
func TestDuplicatesAreCheckedOnDemand(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		org := s.organization("Harbor")
		p, viewer := s.member(org, access.Editor), s.member(org, access.Viewer)
		page := p.get(p.org("/duplicates"))
		p.sees(page, "Check now")
		a := p.post(p.org("/duplicates/check"))
		p.sees(p.get(a.location()), "Checking your contacts for duplicates.")
		if strings.Contains(viewer.get(viewer.org("/duplicates")).words(), "Check now") {
			t.Error("a viewer is offered a check")
		}
	})
}
