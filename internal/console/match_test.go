package console_test

import (
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
	return p.post(path, append(question.fields(), "decision", decision)...)
}

func TestANewContactWithAKnownEmailOrPhoneIsAskedAbout(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	marta := s.contact(p, "Marta", "Lopez", reachable("marta@example.org", "212-555-0100"))
	form := []string{"first_name", "Ana", "last_name", "Diaz", "emails.0.value", "Marta@example.org", "emails.0.type", "work", "emails.1.value", "ana@example.org",
		"phones.0.value", "+1 (212) 555 0100", "tags.0", "vip, board", "note", "One\nTwo <&> \"three\""}
	a := p.post("contacts", form...)
	a.is(409).sees("Is this Marta Lopez?", "Nothing was saved yet. Marta Lopez already has the email Marta@example.org and the phone +1 (212) 555 0100", "marta@example.org", "212-555-0100",
		"What would change if you add to Marta Lopez Email added ana@example.org Note One Two", "The name stays Marta Lopez, not Ana Diaz.", "Tag added vip Tag added board",
		"Add to Marta Lopez", "Keep both", "Back to form").has(`href="` + marta + `" target="_blank"`)
	if c := s.contacts(p.account); len(c) != 1 || c[0].FirstName != "Marta" || len(c[0].Emails) != 1 {
		t.Fatalf("the question changed something: %+v", c)
	}

	back := p.answerQuestion(p.org("/contacts"), a, "back")
	back.is(200).has(`value="Ana"`, `value="Marta@example.org"`, `<option value="work" selected>`, `value="ana@example.org"`, `value="&#43;1 (212) 555 0100"`, `value="vip"`, `value="board"`, "One\nTwo &lt;&amp;&gt; &#34;three&#34;</textarea>")
	a = p.post("contacts", back.fields()...)
	a.is(409)

	kept := p.answerQuestion(p.org("/contacts"), a, "keep")
	kept.is(303)
	pairs, _, err := s.store.Pairs(t.Context(), p.account.Number, duplicates.Filter{Dismissed: true}, crm.PageRequest{Page: 1, PerPage: 9})
	if err != nil || len(pairs) != 1 || idIn(marta) != strconv.FormatInt(pairs[0].A, 10) {
		t.Errorf("two contacts that were kept apart are asked about again: %v, %v", pairs, err)
	}
	p.get(kept.location()).sees("Ana Diaz was added.", "One Two <&>")
	p.get(marta).sees("Marta Lopez")
	twice := p.answerQuestion(p.org("/contacts"), a, "keep")
	twice.is(303) // a form that is sent twice makes no third contact
	twice.leads(kept.location())
	if n := len(s.contacts(p.account)); n != 2 || s.created.Load() != 1 || s.merged.Load() != 0 {
		t.Errorf("%d contacts; counted were %d new and %d merged", n, s.created.Load(), s.merged.Load())
	}

}

func TestAMergeIsDecidedAndSaysWhatChanged(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := s.contact(p, "Amelia", "Okafor", reachable("amelia@example.org", "212-555-0100"))
	form := []string{"first_name", "Amelia", "last_name", "Okafor-Reyes", "emails.0.value", "AMELIA@example.org", "emails.1.value", "reyes@example.org", "tags.0", "vip"}
	a := p.post("contacts", form...)
	p.follow(path+"/tags/add", "tag", "new since") // by another user
	a = p.answerQuestion(p.org("/contacts"), a, "merge")
	a.is(409).sees("This contact changed while you were deciding. Please look again.", "The name stays Amelia Okafor, not Amelia Okafor-Reyes.")
	merged := p.answerQuestion(p.org("/contacts"), a, "merge")
	merged.is(303)
	p.get(merged.location()).sees("What you typed was added to Amelia Okafor. This changed:", "Email added reyes@example.org", "Tag added vip")
	if c := s.contacts(p.account); len(c) != 1 || c[0].LastName != "Okafor" {
		t.Errorf("the contact was renamed: %+v", c)
	}
	p.get("merges").sees("Amelia Okafor-Reyes into Amelia Okafor")
	p.get("merges").lacks("Please review")

	a = p.post("contacts", form...)
	p.get(p.answerQuestion(p.org("/contacts"), a, "merge").location()).sees("Amelia Okafor already had everything that you typed. Nothing changed.")
	if n := len(s.contacts(p.account)); n != 1 || s.merged.Load() != 2 {
		t.Errorf("%d contacts, %d merged", n, s.merged.Load())
	}
	p.follow(path + "/archive")
	gone := p.answerQuestion(p.org("/contacts"), a, "merge")
	gone.is(422).sees("The other contact no longer has this email or phone, so nothing was added to it.", "New contact")
	p.follow("contacts", gone.fields()...).sees("Amelia Okafor-Reyes was added.")

}

func TestAMergeThatIsTooMuchIsNotOffered(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	tags := []string{}
	for i := range 500 {
		tags = append(tags, strings.Repeat("x", i/26+1)+string(rune('a'+i%26)))
	}
	s.contact(p, "Marta", "Lopez", reachable("marta@example.org", "212-555-0100"), tagged(tags...))
	p.post("contacts", "first_name", "Ana", "last_name", "Diaz", "emails.0.value", "marta@example.org", "tags.0", "one more").sees("These details can't be added.", "Tags are limited to 500 per contact.", "Keep both").lacks("Add to Marta Lopez Keep both")
}

func TestAnEmailOrPhoneOfAnotherContactIsToldBeforeItIsSaved(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	marta := s.contact(p, "Marta", "Lopez", reachable("marta@example.org", "212-555-0100"))
	path := s.contact(p, "Ana", "Diaz", reachable("ana@example.org", "212-555-0199"))
	typed := func(form answer) []string {
		return append([]string{"last_name", "Diaz-Ruiz", "phones.0.value", "(212) 555-0100"}, form.fields()...) // the first value of a name counts
	}
	a := p.post(path, typed(p.get(path+"/edit"))...)
	a.is(409).sees("Another contact has this email or phone", "Nothing was saved yet. Marta Lopez already has the phone (212) 555-0100", "Save anyway", "Back to form").has(`href="` + marta + `" target="_blank"`).lacks("Add to Marta")
	p.get(path).sees("Ana Diaz", "(212) 555-0199")
	p.answerQuestion(path, a, "back").is(200).has(`value="Diaz-Ruiz"`, `value="(212) 555-0100"`, `name="seen"`)
	s.contact(p, "Ana", "Diaz-Ruiz", reachable("twin@example.org", "212-555-0100")) // a better match, added meanwhile
	a = p.answerQuestion(path, a, "keep")
	a.is(409).sees("Please look again", "Ana Diaz-Ruiz already has the phone")
	saved := p.answerQuestion(path, a, "keep")
	saved.is(303)
	p.get(saved.location()).sees("Changes saved.", "Ana Diaz-Ruiz", "(212) 555-0100")
	p.follow(path, p.get(path+"/edit").fields()...).sees("Changes saved.") // it has the phone by now
	p.get(marta).sees("Marta Lopez", "(212) 555-0100")

}
