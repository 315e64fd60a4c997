package console_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
)

// idIn is the id at the end of a contact's address.
func idIn(address string) string { return path.Base(address) }

// twoThomases are one person twice: the first one says less.
func twoThomases(s *site, p *person) (short, long string) {
	short = s.contact(p, "Tom", "REILLY", reachable("tom@example.org", "212-555-0100"), func(in *crm.ContactInput) {
		in.Tags, in.Note, in.Title = &[]string{"vip"}, new("Met at the gala."), new("Chair")
	})
	long = s.contact(p, "Thomas", "Reilly", reachable("thomas@example.org", "212-555-0199"), func(in *crm.ContactInput) {
		in.Tags, in.Note, in.Title, in.Company = &[]string{"board"}, new("Prefers letters."), new("Treasurer"), new("Reilly Boats")
	})
	return short, long
}

func TestTwoContactsAreComparedPreviewedMergedAndTakenApart(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	tom, thomas := twoThomases(s, p)
	p.follow(thomas+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "card")
	before := s.contacts(p.account)

	p.get(tom).sees("Merge with…")
	p.get(tom+"/merge?q=thomas").sees("Merge Tom REILLY with another contact", "Thomas Reilly", "Reilly Boats")
	compare := p.get(tom + "/merge?with=" + idIn(thomas))
	compare.is(200).sees("First name A Tom B Thomas", "Last name A REILLY B Reilly", "Emails All kept. Which first?", "Keep both, one below the other", "Company Kept. A – B Reilly Boats", "Tags All are kept.")
	chosen := compare.fields()
	picked := url.Values{}
	for i := 0; i < len(chosen); i += 2 {
		picked.Set(chosen[i], chosen[i+1])
	}
	for field, want := range map[string]string{"first_name": idIn(tom), "last_name": idIn(thomas), "title": idIn(tom), "note": "both", "stays": idIn(tom)} {
		if picked.Get(field) != want {
			t.Errorf("%s: %q is proposed, want %q", field, picked.Get(field), want)
		}
	}
	picked.Set("first_name", idIn(thomas))
	picked.Set("preview", "1")
	preview := p.get(tom + "/merge?" + picked.Encode())
	preview.is(200).sees("Merge Thomas Reilly into Tom REILLY?", "First name Thomas Last name Reilly", "tom@example.org thomas@example.org", "1 gift of Thomas Reilly will move.", "Overwritten values First name Tom Thomas", "Title Treasurer Chair", "Met at the gala. Prefers letters.")
	if got := s.contacts(p.account); len(got) != len(before) {
		t.Fatal("the preview changed something")
	}

	p.follow(thomas+"/tags/add", "tag", "new since")
	stale := p.post(tom+"/merge", preview.fields()...)
	stale.is(422).sees("One of the two contacts changed after you opened this page, so nothing was merged.", "new since", "Merge contacts")
	p.follow(tom+"/merge", stale.fields()...).sees("Merged Thomas Reilly into Tom REILLY.", "Undo", "Thomas Reilly", "Chair", "merged Thomas Reilly into this contact", "$50")
	led := p.get(thomas)
	led.is(303).leads(tom)
	p.get(led.location()).sees("Thomas Reilly was merged into this contact.")
	for _, end := range []string{"/edit", "/history", "/merge"} {
		p.get(thomas + end).leads(tom)
	}
	p.post(thomas + "/restore").leads(tom)
	p.get(tom + "/merge?with=" + idIn(thomas)).is(422).sees("was merged into contact " + idIn(tom) + ". Choose that one instead. Nothing was merged.")
	for _, scope := range []string{"archived", "all"} { // it is the other contact now, and nothing to restore
		p.get("contacts?scope=" + scope).sees("Active 1 Archived 0 All 1").hides(`name="id" value="` + idIn(thomas) + `"`)
	}

	p.get("merges").sees("Thomas Reilly into Thomas Reilly (ID "+idIn(tom)+") By hand Person 1", "Merged Undo")
	p.follow(tom+"/tags/add", "tag", "later")
	edited := p.get(tom + "/edit").fields()
	for i := 0; i < len(edited); i += 2 {
		if edited[i] == "first_name" {
			edited[i+1] = "Tommy"
		}
	}
	p.follow(tom, edited...)
	timeline := p.get(tom)
	_, undo, _ := strings.Cut(timeline.body, `merged Thomas Reilly into this contact`)
	_, undo, _ = strings.Cut(undo, `action="`)
	undo, _, _ = strings.Cut(undo, `"`)
	p.follow(undo).sees("The merge was undone. Thomas Reilly (ID "+idIn(thomas)+") is a separate contact again. View Thomas Reilly", "Changed since the merge, so it stays with Tommy REILLY: first name.", "later")
	p.get(thomas).sees("Thomas Reilly", "Treasurer", "$50")
	list := p.get("merges")
	list.sees("Undone Merge again")
	_, redo, _ := strings.Cut(list.body, `action="`+p.org("/merges/"))
	redo, _, _ = strings.Cut(redo, `"`)
	p.follow("merges/"+redo).sees("The two contacts are merged again.", "Undo")

}

func TestTheOtherContactCanStay(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	tom, thomas := twoThomases(s, p)
	led := p.get(tom + "/merge?with=" + idIn(thomas) + "&stays=" + idIn(thomas) + "&title=" + idIn(tom) + "&preview=1")
	led.is(303)
	a := p.get(led.location())
	a.sees("Merge Tom REILLY into Thomas Reilly?", "Title Chair")
	p.follow(thomas+"/merge", a.fields()...).sees("Merged Tom REILLY into Thomas Reilly.")
}

func TestWhatCannotBeMergedIsSaid(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	viewer := s.member(p.account, access.Viewer)
	tom, thomas := twoThomases(s, p)
	company := s.contact(p, "", "", func(in *crm.ContactInput) {
		in.Company, in.IsCompany, in.FirstName, in.LastName = new("Boats"), new(true), nil, nil
	})
	gone := s.contact(p, "Gone", "Person")
	p.follow(gone + "/archive")
	for other, want := range map[string]string{
		tom:     "Contact can’t be merged with itself. Choose another contact. Nothing was merged.",
		company: "Contact must be of the same type: a person and a company can’t be merged. Nothing was merged.",
		gone:    "Contact is archived. Restore it first. Nothing was merged.",
	} {
		p.get(tom+"/merge?with="+idIn(other)).is(422).sees(want, "Search for the other record")
		p.post(tom+"/merge", "with", idIn(other), "preview", "1", "seen", "x").is(422).sees(want)
	}
	p.get(p.get(gone + "/merge?with=" + idIn(tom)).location()).sees("Gone Person is archived, so it cannot be merged.")
	foreign := s.contact(s.member(s.organization("Other"), access.Editor), "Foreign", "Person")
	p.get(tom + "/merge?with=" + idIn(foreign)).is(404)
	p.post(tom+"/merge", "with", idIn(foreign)).is(404)
	p.get(tom + "/merge?with=12345").is(404)
	p.post(tom+"/merge", "with", idIn(thomas)).is(422) // without a preview

	looks := viewer.get(tom + "/merge?with=" + idIn(thomas) + "&preview=1")
	looks.is(200).hides("Merge contacts")
	viewer.post(tom+"/merge", looks.fields()...).is(403)
	if n := len(s.contacts(p.account)); n != 4 {
		t.Errorf("%d contacts", n)
	}
}

func TestTwoSelectedContactsAreCompared(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	tom, thomas := twoThomases(s, p)
	p.follow(thomas+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "card")
	a := p.post("contacts/bulk", "action", "merge", "id", idIn(tom), "id", idIn(thomas))
	if want := thomas + "/merge?with=" + idIn(tom); a.location() != want {
		t.Errorf("two contacts lead to %s, want the one with gifts to stay: %s", a.location(), want)
	}
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
	a := p.get("merges")
	a.sees("Please review 2", "Zachary Unger was merged into Bob Unger", "Bob Unger was merged into Ana Diaz", "First name Bob Zachary", "Split", "Keep merged")
	keep := between(t, a.body, `action="`+p.org("/merges/"), `/keep"`)
	keep = idIn(keep)
	p.follow("merges/"+keep+"/keep").sees("The merge stays.", "Please review 1")
	a = p.get("merges")
	apart := between(t, a.body, `<ul class="review-list">`, `/undo"`)
	p.follow("merges"+apart[strings.LastIndex(apart, "/"):]+"/undo").sees("The merge was undone.", "Bob Unger (ID ", ") is a separate contact again.")
	p.get("merges").lacks("Please review")
	p.post("merges/999999/undo").is(404)
	p.post("merges/x/keep").is(404)
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
