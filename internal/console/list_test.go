package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

// wantShown fails if a page shows anything but these elements of a list of n, named "Name 001" and so on.
func (p *person) wantShown(a answer, n int, want ...int) {
	p.site.t.Helper()
	p.wantStatus(a, http.StatusOK)
	var got []int
	for i := range n {
		if strings.Contains(a.body, fmt.Sprintf(">Name %03d<", i)) {
			got = append(got, i)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.site.t.Errorf("the page shows %d, want %d", got, want)
	}
}

func numbers(from, to int) (all []int) {
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

// No matter how many keys there were, a page shows some of them, active ones first.
func TestTheListOfKeysIsPaged(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Owner)
	for i := range 60 {
		key, _, err := s.store.CreateKey(t.Context(), p.account.Number, access.KeyInput{Name: fmt.Sprintf("Name %03d", 59-i), Permissions: access.ContactsRead})
		if err == nil && i < 40 {
			err = s.store.RevokeKey(t.Context(), key.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := p.get(p.org("/settings/keys"))
	p.wantShown(first, 60, numbers(0, 25)...)
	if !strings.Contains(first.body, p.org("/settings/keys?page=3")) {
		t.Error("nothing leads to the third page")
	}
	p.wantShown(p.get(p.org("/settings/keys?page=2")), 60, numbers(25, 50)...)
	p.wantShown(p.get(p.org("/settings/keys?page=3")), 60, numbers(50, 60)...)
	p.wantShown(p.get(p.org("/settings/keys?page=9")), 60, numbers(50, 60)...)
	for range access.KeyLimit.Max - 20 {
		if _, _, err := s.store.CreateKey(t.Context(), p.account.Number, access.KeyInput{Name: "More", Permissions: access.ContactsRead}); err != nil {
			t.Fatal(err)
		}
	}
	full := p.post(p.org("/settings/keys"), "name", "One more", "permission", "contacts:read", "expires", "never")
	p.wantStatus(full, http.StatusUnprocessableEntity)
	p.sees(full, access.KeyLimit.Reached)
}

func TestTheListsOfPeopleArePaged(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Owner)
	for i := range 30 {
		_, _, err := s.store.Invite(t.Context(), p.account, p.user, access.Viewer, fmt.Sprintf("guest%02d@example.org", i))
		if err != nil {
			t.Fatal(err)
		}
	}
	page := p.get(p.org("/settings/people"))
	if n := strings.Count(page.body, "guest"); n != 2*25 { // in its row, and in the words of its button
		t.Errorf("the page names guests %d times", n)
	}
	if !strings.Contains(page.body, p.org("/settings/people?invited=2")) || strings.Contains(page.body, "Pages of members") {
		t.Errorf("the pages are not offered: %s", page.words())
	}
	second := p.get(p.org("/settings/people?invited=2"))
	if n := strings.Count(second.body, "guest"); n != 2*5 {
		t.Errorf("the second page names guests %d times", n)
	}
	// A button on the second page leads back to that page.
	_, rest, _ := strings.Cut(second.body, `action="`+p.org("/settings/people/invitations/"))
	action, _, _ := strings.Cut(rest, `"`)
	if a := p.post(p.org("/settings/people/invitations/") + action); a.location() != p.org("/settings/people?invited=2") {
		t.Errorf("%q leads to %q (%d)", action, a.location(), a.status)
	}
	for range access.InvitationLimit.Max - 29 {
		if _, _, err := s.store.Invite(t.Context(), p.account, p.user, access.Viewer, ""); err != nil {
			t.Fatal(err)
		}
	}
	full := p.post(p.org("/settings/people/invite"), "role", "viewer")
	p.wantStatus(full, http.StatusUnprocessableEntity)
	p.sees(full, access.InvitationLimit.Reached)
}

// A page of the tree shows its chapters with those above them, so that each one is in its place. The menu offers some of the
// organizations, and the profile page all of them.
func TestTheTreeOfChaptersIsPaged(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Owner)
	above, last := p.account, access.Account{}
	for i := range 60 {
		switch i {
		case 21:
			above = last // of the twenty that follow
		case 41:
			above = p.account
		}
		var err error
		if last, err = s.store.CreateChapter(t.Context(), p.account, p.user.ID, above.ID, fmt.Sprintf("Name %03d", i)); err != nil {
			t.Fatal(err)
		}
	}
	tree := func(page string) answer {
		a := p.get(p.org("/chapters" + page))
		_, a.body, _ = strings.Cut(a.body, `<ul class="tree">`)
		a.body, _, _ = strings.Cut(a.body, "New chapter") // the form has them all
		return a
	}
	p.wantShown(tree(""), 60, numbers(0, 25)...)
	p.wantShown(tree("?page=2"), 60, append([]int{20}, numbers(25, 50)...)...)
	third := tree("?page=3")
	p.wantShown(third, 60, numbers(50, 60)...)

	// Renaming leads back to the page, even if it is refused.
	rename := p.org("/chapters/" + last.ID + "?page=3")
	if !strings.Contains(third.body, `action="`+rename+`"`) {
		t.Errorf("no form leads to %s", rename)
	}
	refused := p.post(rename, "name", " ")
	p.wantStatus(refused, http.StatusUnprocessableEntity)
	p.sees(refused, "Name is required")
	if a := p.post(rename, "name", "Name 999"); a.location() != p.org("/chapters?page=3") {
		t.Errorf("it leads to %q", a.location())
	}

	home := p.get(p.org(""))
	p.sees(home, "All 61 organizations")
	p.wantShown(home, 60, numbers(0, 24)...)
	profile := p.get("/console/profile?page=3")
	_, profile.body, _ = strings.Cut(profile.body, `id="organizations"`)
	p.wantShown(profile, 60, numbers(49, 59)...)
}
