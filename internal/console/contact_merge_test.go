package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
)

// idIn is the id at the end of a contact's address.
func idIn(path string) string { return path[strings.LastIndex(path, "/")+1:] }

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
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		tom, thomas := twoThomases(s, p)
		p.follow(thomas+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "card")
		before := s.contacts(p.account)

		p.sees(p.get(tom), "Merge with…")
		p.sees(p.get(tom+"/merge?q=thomas"), "Merge Tom REILLY with another contact", "Thomas Reilly", "Reilly Boats")
		compare := p.get(tom + "/merge?with=" + idIn(thomas))
		p.wantStatus(compare, http.StatusOK)
		p.sees(compare, "First name A Tom B Thomas", "Last name A REILLY B Reilly", "Emails All kept. Which first?", "Keep both, one below the other", "Company Kept. A – B Reilly Boats", "Tags All are kept.")
		chosen := formValues(t, compare.body)
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
		p.wantStatus(preview, http.StatusOK)
		p.sees(preview, "Merge Thomas Reilly into Tom REILLY?", "First name Thomas Last name Reilly", "tom@example.org thomas@example.org", "1 gift of Thomas Reilly will move.", "Overwritten values First name Tom Thomas", "Title Treasurer Chair", "Met at the gala. Prefers letters.")
		if got := s.contacts(p.account); len(got) != len(before) {
			t.Fatal("the preview changed something")
		}

		p.follow(thomas+"/tags/add", "tag", "new since")
		stale := p.post(tom+"/merge", formValues(t, preview.body)...)
		p.wantStatus(stale, http.StatusUnprocessableEntity)
		p.sees(stale, "One of the two contacts changed after you opened this page, so nothing was merged.", "new since", "Merge contacts")
		merged := p.follow(tom+"/merge", formValues(t, stale.body)...)
		p.sees(merged, "Merged Thomas Reilly into Tom REILLY.", "Undo", "Thomas Reilly", "Chair", "merged Thomas Reilly into this contact", "$50")
		led := p.get(thomas)
		p.wantStatus(led, http.StatusSeeOther)
		if led.location() != tom {
			t.Errorf("a merged contact leads to %s", led.location())
		}
		p.sees(p.get(led.location()), "Thomas Reilly was merged into this contact.")
		for _, end := range []string{"/edit", "/history", "/merge"} {
			if a := p.get(thomas + end); a.location() != tom {
				t.Errorf("%s of a merged contact: %d to %q", end, a.status, a.location())
			}
		}
		if a := p.post(thomas + "/restore"); a.location() != tom {
			t.Errorf("the restore of a merged contact leads to %q", a.location())
		}
		again := p.get(tom + "/merge?with=" + idIn(thomas))
		p.wantStatus(again, http.StatusUnprocessableEntity)
		p.sees(again, "was merged into contact "+idIn(tom)+". Choose that one instead. Nothing was merged.")
		for _, scope := range []string{"archived", "all"} { // it is the other contact now, and nothing to restore
			list := p.get(p.org("/contacts?scope=" + scope))
			if p.sees(list, "Active 1 Archived 0 All 1"); strings.Contains(list.body, `name="id" value="`+idIn(thomas)+`"`) {
				t.Errorf("a merged contact is listed among %s contacts", scope)
			}
		}

		list := p.get(p.org("/merges"))
		p.sees(list, "Thomas Reilly into Thomas Reilly (ID "+idIn(tom)+") By hand Person 1", "Merged Undo")
		p.follow(tom+"/tags/add", "tag", "later")
		edited := formValues(t, p.get(tom+"/edit").body)
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
		p.sees(p.follow(undo), "The merge was undone. Thomas Reilly (ID "+idIn(thomas)+") is a separate contact again. View Thomas Reilly", "Changed since the merge, so it stays with Tommy REILLY: first name.", "later")
		p.sees(p.get(thomas), "Thomas Reilly", "Treasurer", "$50")
		list = p.get(p.org("/merges"))
		p.sees(list, "Undone Merge again")
		_, redo, _ := strings.Cut(list.body, `action="`+p.org("/merges/"))
		redo, _, _ = strings.Cut(redo, `"`)
		p.sees(p.follow(p.org("/merges/"+redo)), "The two contacts are merged again.", "Undo")
	})
}

func TestTheOtherContactCanStay(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	tom, thomas := twoThomases(s, p)
	led := p.get(tom + "/merge?with=" + idIn(thomas) + "&stays=" + idIn(thomas) + "&title=" + idIn(tom) + "&preview=1")
	p.wantStatus(led, http.StatusSeeOther)
	a := p.get(led.location())
	p.sees(a, "Merge Tom REILLY into Thomas Reilly?", "Title Chair")
	p.sees(p.follow(thomas+"/merge", formValues(t, a.body)...), "Merged Tom REILLY into Thomas Reilly.")
}

func TestWhatCannotBeMergedIsSaid(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
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
		a := p.get(tom + "/merge?with=" + idIn(other))
		p.wantStatus(a, http.StatusUnprocessableEntity)
		p.sees(a, want, "Search for the other record")
		b := p.post(tom+"/merge", "with", idIn(other), "preview", "1", "seen", "x")
		p.wantStatus(b, http.StatusUnprocessableEntity)
		p.sees(b, want)
	}
	p.sees(p.get(p.get(gone+"/merge?with="+idIn(tom)).location()), "Gone Person is archived, so it cannot be merged.")
	foreign := s.contact(s.member(s.organization("Other"), access.Editor), "Foreign", "Person")
	p.wantStatus(p.get(tom+"/merge?with="+idIn(foreign)), http.StatusNotFound)
	p.wantStatus(p.post(tom+"/merge", "with", idIn(foreign)), http.StatusNotFound)
	p.wantStatus(p.get(tom+"/merge?with=12345"), http.StatusNotFound)
	p.wantStatus(p.post(tom+"/merge", "with", idIn(thomas)), http.StatusUnprocessableEntity) // without a preview

	looks := viewer.get(tom + "/merge?with=" + idIn(thomas) + "&preview=1")
	viewer.wantStatus(looks, http.StatusOK)
	if strings.Contains(looks.body, "Merge contacts") {
		t.Error("a viewer is offered to merge")
	}
	viewer.wantStatus(viewer.post(tom+"/merge", formValues(t, looks.body)...), http.StatusForbidden)
	if n := len(s.contacts(p.account)); n != 4 {
		t.Errorf("%d contacts", n)
	}
}

func TestTwoSelectedContactsAreCompared(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	tom, thomas := twoThomases(s, p)
	p.follow(thomas+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "card")
	a := p.post(p.org("/contacts/bulk"), "action", "merge", "id", idIn(tom), "id", idIn(thomas))
	if want := thomas + "/merge?with=" + idIn(tom); a.location() != want {
		t.Errorf("two contacts lead to %s, want the one with gifts to stay: %s", a.location(), want)
	}
	p.sees(p.follow(p.org("/contacts/bulk"), "action", "merge", "id", idIn(tom)), "Select exactly two contacts to merge them.")
	p.sees(p.follow(p.org("/contacts/bulk"), "action", "merge", "all", "1"), "Select exactly two contacts to merge them.")
}

func TestAMergeThatContradictsIsReviewed(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	s.contact(p, "Ana", "Diaz", reachable("family@example.org", "212-555-0100"))
	for _, first := range []string{"Bob", "Zachary"} {
		in := crm.ContactInput{FirstName: &first, LastName: new("Unger")}
		reachable("family@example.org", "212-555-0100")(&in)
		succeed(t, in.Validate(nil, true, "US", time.Now()))
		must(s.store.CreateContact(t.Context(), p.account.Number, in, crm.Dedupe))(t)
	}
	a := p.get(p.org("/merges"))
	p.sees(a, "Please review 2", "Zachary Unger was merged into Bob Unger", "Bob Unger was merged into Ana Diaz", "First name Bob Zachary", "Split", "Keep merged")
	keep := between(t, a.body, `action="`+p.org("/merges/"), `/keep"`)
	keep = keep[strings.LastIndex(keep, "/")+1:]
	p.sees(p.follow(p.org("/merges/"+keep+"/keep")), "The merge stays.", "Please review 1")
	a = p.get(p.org("/merges"))
	apart := between(t, a.body, `<ul class="review-list">`, `/undo"`)
	p.sees(p.follow(p.org("/merges"+apart[strings.LastIndex(apart, "/"):]+"/undo")), "The merge was undone.", "Bob Unger (ID ", ") is a separate contact again.")
	if a := p.get(p.org("/merges")); strings.Contains(a.words(), "Please review") {
		t.Errorf("still to review: %s", a.words())
	}
	p.wantStatus(p.post(p.org("/merges/999999/undo")), http.StatusNotFound)
	p.wantStatus(p.post(p.org("/merges/x/keep")), http.StatusNotFound)
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
