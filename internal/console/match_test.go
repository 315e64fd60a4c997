package console_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/duplicates"
)

func reachable(email, phone string) func(*crm.ContactInput) {
	return func(in *crm.ContactInput) {
		in.Emails, in.Phones = &[]crm.Email{{Value: email}}, &[]crm.Phone{{Value: phone}}
	}
}

// answerQuestion sends the form of a question with the button that was pressed.
func (p *person) answerQuestion(path string, question answer, decision string) answer {
	p.site.t.Helper()
	return p.post(path, append(formValues(p.site.t, question.body), "decision", decision)...)
}

func TestANewContactWithAKnownEmailOrPhoneIsAskedAbout(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		marta := s.contact(p, "Marta", "Lopez", reachable("marta@example.org", "212-555-0100"))
		form := []string{"first_name", "Ana", "last_name", "Diaz", "emails.0.value", "Marta@example.org", "emails.0.type", "work", "emails.1.value", "ana@example.org",
			"phones.0.value", "+1 (212) 555 0100", "tags.0", "vip, board", "note", "One\nTwo <&> \"three\""}
		a := p.post(p.org("/contacts"), form...)
		p.wantStatus(a, http.StatusConflict)
		p.sees(a, "Is this Marta Lopez?", "Nothing was saved yet. Marta Lopez already has the email Marta@example.org and the phone +1 (212) 555 0100", "marta@example.org", "212-555-0100",
			"What would change if you add to Marta Lopez Email added ana@example.org Note One Two", "The name stays Marta Lopez, not Ana Diaz.", "Tag added vip Tag added board",
			"Add to Marta Lopez", "Keep both", "Back to form")
		if !strings.Contains(a.body, `href="`+marta+`" target="_blank"`) {
			t.Error("no link leads to Marta")
		}
		if c := s.contacts(p.account); len(c) != 1 || c[0].FirstName != "Marta" || len(c[0].Emails) != 1 {
			t.Fatalf("the question changed something: %+v", c)
		}

		back := p.answerQuestion(p.org("/contacts"), a, "back")
		p.wantStatus(back, http.StatusOK)
		for _, part := range []string{`value="Ana"`, `value="Marta@example.org"`, `<option value="work" selected>`, `value="ana@example.org"`, `value="&#43;1 (212) 555 0100"`, `value="vip"`, `value="board"`, "One\nTwo &lt;&amp;&gt; &#34;three&#34;</textarea>"} {
			if !strings.Contains(back.body, part) {
				t.Errorf("the form lacks %s", part)
			}
		}
		a = p.post(p.org("/contacts"), formValues(t, back.body)...)
		p.wantStatus(a, http.StatusConflict)

		kept := p.answerQuestion(p.org("/contacts"), a, "keep")
		p.wantStatus(kept, http.StatusSeeOther)
		pairs, _, err := s.store.Pairs(t.Context(), p.account.Number, duplicates.Filter{Dismissed: true}, crm.PageRequest{Page: 1, PerPage: 9})
		if err != nil || len(pairs) != 1 || idIn(marta) != strconv.FormatInt(pairs[0].A, 10) {
			t.Errorf("two contacts that were kept apart are asked about again: %v, %v", pairs, err)
		}
		p.sees(p.get(kept.location()), "Ana Diaz was added.", "One Two <&>")
		p.sees(p.get(marta), "Marta Lopez")
		twice := p.answerQuestion(p.org("/contacts"), a, "keep")
		p.wantStatus(twice, http.StatusSeeOther) // a form that is sent twice makes no third contact
		if twice.location() != kept.location() {
			t.Errorf("the form leads to %s, and sent again to %s", kept.location(), twice.location())
		}
		if n := len(s.contacts(p.account)); n != 2 || s.created.Load() != 1 || s.merged.Load() != 0 {
			t.Errorf("%d contacts; counted were %d new and %d merged", n, s.created.Load(), s.merged.Load())
		}
	})
}

func TestAMergeIsDecidedAndSaysWhatChanged(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		path := s.contact(p, "Amelia", "Okafor", reachable("amelia@example.org", "212-555-0100"))
		form := []string{"first_name", "Amelia", "last_name", "Okafor-Reyes", "emails.0.value", "AMELIA@example.org", "emails.1.value", "reyes@example.org", "tags.0", "vip"}
		a := p.post(p.org("/contacts"), form...)
		p.follow(path+"/tags/add", "tag", "new since") // by another user
		a = p.answerQuestion(p.org("/contacts"), a, "merge")
		p.wantStatus(a, http.StatusConflict)
		p.sees(a, "This contact changed while you were deciding. Please look again.", "The name stays Amelia Okafor, not Amelia Okafor-Reyes.")
		merged := p.answerQuestion(p.org("/contacts"), a, "merge")
		p.wantStatus(merged, http.StatusSeeOther)
		p.sees(p.get(merged.location()), "What you typed was added to Amelia Okafor. This changed:", "Email added reyes@example.org", "Tag added vip")
		if c := s.contacts(p.account); len(c) != 1 || c[0].LastName != "Okafor" {
			t.Errorf("the contact was renamed: %+v", c)
		}
		p.sees(p.get(p.org("/merges")), "Amelia Okafor-Reyes into Amelia Okafor")
		p.doesNotSee(p.get(p.org("/merges")), "Please review")

		a = p.post(p.org("/contacts"), form...)
		p.sees(p.get(p.answerQuestion(p.org("/contacts"), a, "merge").location()), "Amelia Okafor already had everything that you typed. Nothing changed.")
		if n := len(s.contacts(p.account)); n != 1 || s.merged.Load() != 2 {
			t.Errorf("%d contacts, %d merged", n, s.merged.Load())
		}
		p.follow(path + "/archive")
		gone := p.answerQuestion(p.org("/contacts"), a, "merge")
		p.wantStatus(gone, http.StatusUnprocessableEntity)
		p.sees(gone, "The other contact no longer has this email or phone, so nothing was added to it.", "New contact")
		p.sees(p.follow(p.org("/contacts"), formValues(t, gone.body)...), "Amelia Okafor-Reyes was added.")
	})
}

func TestAMergeThatIsTooMuchIsNotOffered(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	tags := []string{}
	for i := range 500 {
		tags = append(tags, strings.Repeat("x", i/26+1)+string(rune('a'+i%26)))
	}
	s.contact(p, "Marta", "Lopez", reachable("marta@example.org", "212-555-0100"), tagged(tags...))
	a := p.post(p.org("/contacts"), "first_name", "Ana", "last_name", "Diaz", "emails.0.value", "marta@example.org", "tags.0", "one more")
	p.sees(a, "These details can't be added.", "Tags are limited to 500 per contact.", "Keep both")
	if strings.Contains(a.words(), "Add to Marta Lopez Keep both") {
		t.Error("it is offered")
	}
}

func TestAnEmailOrPhoneOfAnotherContactIsToldBeforeItIsSaved(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		marta := s.contact(p, "Marta", "Lopez", reachable("marta@example.org", "212-555-0100"))
		path := s.contact(p, "Ana", "Diaz", reachable("ana@example.org", "212-555-0199"))
		typed := func(form answer) []string {
			return append([]string{"last_name", "Diaz-Ruiz", "phones.0.value", "(212) 555-0100"}, formValues(t, form.body)...) // the first value of a name counts
		}
		a := p.post(path, typed(p.get(path+"/edit"))...)
		p.wantStatus(a, http.StatusConflict)
		p.sees(a, "Another contact has this email or phone", "Nothing was saved yet. Marta Lopez already has the phone (212) 555-0100", "Save anyway", "Back to form")
		if !strings.Contains(a.body, `href="`+marta+`" target="_blank"`) || strings.Contains(a.words(), "Add to Marta") {
			t.Error("no link leads to Marta, or it would merge")
		}
		p.sees(p.get(path), "Ana Diaz", "(212) 555-0199")
		back := p.answerQuestion(path, a, "back")
		p.wantStatus(back, http.StatusOK)
		if !strings.Contains(back.body, `value="Diaz-Ruiz"`) || !strings.Contains(back.body, `value="(212) 555-0100"`) || !strings.Contains(back.body, `name="seen"`) {
			t.Error("what was typed is lost")
		}
		s.contact(p, "Ana", "Diaz-Ruiz", reachable("twin@example.org", "212-555-0100")) // a better match, added meanwhile
		a = p.answerQuestion(path, a, "keep")
		p.wantStatus(a, http.StatusConflict)
		p.sees(a, "Please look again", "Ana Diaz-Ruiz already has the phone")
		saved := p.answerQuestion(path, a, "keep")
		p.wantStatus(saved, http.StatusSeeOther)
		p.sees(p.get(saved.location()), "Changes saved.", "Ana Diaz-Ruiz", "(212) 555-0100")
		p.sees(p.follow(path, formValues(t, p.get(path+"/edit").body)...), "Changes saved.") // it has the phone by now
		p.sees(p.get(marta), "Marta Lopez", "(212) 555-0100")
	})
}
