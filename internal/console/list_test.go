package console_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

// wantShown fails if a page shows anything but these elements of a list of n, named "Name 001" and so on.
func (p *person) wantShown(a answer, n int, want ...int) {
	p.site.t.Helper()
	a.is(200)
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
	s, p := signedIn(t, access.Owner)
	for i := range 60 {
		key, _, err := s.store.CreateKey(t.Context(), p.account.Number, access.KeyInput{Name: fmt.Sprintf("Name %03d", 59-i), Permissions: access.ContactsRead})
		if err == nil && i < 40 {
			err = s.store.RevokeKey(t.Context(), key.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := p.get("settings/integrations/api-keys")
	p.wantShown(first, 60, numbers(0, 25)...)
	first.has(p.org("/settings/integrations/api-keys?page=3"))
	p.wantShown(p.get("settings/integrations/api-keys?page=2"), 60, numbers(25, 50)...)
	p.wantShown(p.get("settings/integrations/api-keys?page=3"), 60, numbers(50, 60)...)
	p.wantShown(p.get("settings/integrations/api-keys?page=9"), 60, numbers(50, 60)...)
	for range access.KeyLimit.Max - 20 {
		if _, _, err := s.store.CreateKey(t.Context(), p.account.Number, access.KeyInput{Name: "More", Permissions: access.ContactsRead}); err != nil {
			t.Fatal(err)
		}
	}
	p.post("settings/integrations/api-keys", "name", "One more", "permission", "contacts:read", "expires", "never").is(422).sees(access.KeyLimit.Reached)
}

func TestTheListsOfPeopleArePaged(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	for i := range 30 {
		must2(s.store.Invite(t.Context(), p.account, p.user, access.Viewer, fmt.Sprintf("guest%02d@example.org", i)))(t)
	}
	page := p.get("settings/people")
	if n := strings.Count(page.body, "guest"); n != 2*25 { // in its row, and in the words of its button
		t.Errorf("the page names guests %d times", n)
	}
	page.has(p.org("/settings/people?invited=2")).hides("Pages of members")
	second := p.get("settings/people?invited=2")
	if n := strings.Count(second.body, "guest"); n != 2*5 {
		t.Errorf("the second page names guests %d times", n)
	}
	// A button on the second page leads back to that page.
	_, rest, _ := strings.Cut(second.body, `action="`+p.org("/settings/people/invitations/"))
	action, _, _ := strings.Cut(rest, `"`)
	p.post(p.org("/settings/people/invitations/") + action).leads(p.org("/settings/people?invited=2"))
	for range access.InvitationLimit.Max - 29 {
		if _, _, err := s.store.Invite(t.Context(), p.account, p.user, access.Viewer, ""); err != nil {
			t.Fatal(err)
		}
	}
	p.post("settings/people/invite", "role", "viewer").is(422).sees(access.InvitationLimit.Reached)
}

// A page of the tree shows its chapters with those above them, so that each one is in its place. The menu offers some of the
// organizations, and the profile page all of them.
func TestTheTreeOfChaptersIsPaged(t *testing.T) {
	s, p := signedIn(t, access.Owner)
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
		a := p.get("chapters" + page)
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
	third.has(`action="` + rename + `"`)
	p.post(rename, "name", " ").is(422).sees("Name is required")
	p.post(rename, "name", "Name 999").leads(p.org("/chapters?page=3"))

	home := p.get("")
	home.sees("All 61 organizations")
	p.wantShown(home, 60, numbers(0, 24)...)
	profile := p.get("/console/profile?page=3")
	_, profile.body, _ = strings.Cut(profile.body, `id="organizations"`)
	p.wantShown(profile, 60, numbers(49, 59)...)
}

// amounts are those of the rows of a list, in its order: of gifts $10, of plans $10 monthly.
func amounts(a answer) string {
	_, rows, _ := strings.Cut(a.body, `<caption class="visually-hidden" id="list">`)
	var all []string
	for _, found := range regexp.MustCompile(`<a class="main" [^>]*>\$([\d.,]+)`).FindAllStringSubmatch(rows, -1) {
		all = append(all, found[1])
	}
	return strings.Join(all, " ")
}

// Gifts and plans are sorted by their headings, filters stay, and a heading that is clicked twice sorts the other way round.
func TestGiftsAndPlansAreSortedAndFiltered(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	zoe, ben := s.contact(p, "Zoë", "Okafor"), s.contact(p, "Ben", "Ek")
	for _, gift := range [][2]string{{"30", "2025-02-01"}, {"10", "2025-03-01"}, {"20", "2025-01-01"}} {
		p.give(zoe, gift[0], gift[1])
	}
	p.give(ben, "99", "2024-05-05", "method", "cash")
	for i, plan := range [][4]string{{"30", "monthly", "2027-02-01", "card"}, {"10", "yearly", "2027-03-01", "check"}, {"20", "monthly", "2027-01-01", "check"}} {
		p.follow([]string{zoe, ben, ben}[i]+"/plans", "amount", plan[0], "frequency", plan[1], "start_at", plan[2], "method", plan[3])
	}
	down, up := ` <span aria-hidden="true">↓</span>`, ` <span aria-hidden="true">↑</span>`
	for _, test := range []struct{ list, heading, first, second, query, all string }{
		{"/gifts?from=2025-01-01", "Amount", "30 20 10", "10 20 30", "from=2025-01-01&sort=amount", "Show all gifts"},
		{"/gifts?min=1", "Amount", "99 30 20 10", "10 20 30 99", "min=1&sort=amount", "Show all gifts"},
		{"/plans?frequency=monthly", "Recurring gift", "30 20", "20 30", "frequency=monthly&sort=amount", "Show all recurring gifts"},
		{"/plans?method=check", "Next gift", "10 20", "20 10", "method=check&sort=next_bill_date", "Show all recurring gifts"},
	} {
		once := p.get(p.get(p.org(test.list)).link(t, test.heading))
		if got := amounts(once); got != test.first {
			t.Errorf("%s by %s: %s, want %s", test.list, test.heading, got, test.first)
		}
		twice := once.link(t, test.heading+down)
		if got := amounts(p.get(twice)); got != test.second || !strings.HasSuffix(twice, "?"+test.query) {
			t.Errorf("%s: %s, want %s", twice, got, test.second)
		}
		p.get(p.get(twice).link(t, test.all))
	}
	// Gifts come the latest first, and plans the newest first. A heading leads away from that and back to it.
	gifts := p.get("gifts")
	earliest := p.get(gifts.link(t, "Date"+down))
	if amounts(gifts) != "10 30 20 99" || amounts(earliest) != "99 20 30 10" {
		t.Errorf("gifts are %s, and the earliest first %s", amounts(gifts), amounts(earliest))
	}
	if latest := earliest.link(t, "Date"+up); latest != p.org("/gifts") || amounts(p.get(latest)) != "10 30 20 99" {
		t.Errorf("the latest first is at %q", latest)
	}
	if got := amounts(p.get("plans")); got != "20 10 30" {
		t.Errorf("plans are %s", got)
	}
	p.get("gifts?from=2025-01-01&to=2025-01-31&max=50&method=check").sees("Given Jan 1, 2025 – Jan 31, 2025", "Amount at most 50", "Check ×", "$20 from 1 gift")
	p.get("gifts?contact="+idIn(zoe)).sees("From Zoë Okafor ×", "$60 from 3 gifts")
	plans := p.get("plans?status=&frequency=monthly&method=check")
	plans.leads(p.org("/plans?frequency=monthly&method=check"))
	p.get(plans.location()).sees("Monthly ×", "Check ×", "1 recurring gift", "$20 monthly", "Ben Ek")
	p.get("plans?status=paused").sees("No recurring gifts found")
	for query, fault := range map[string]string{"status=gone": "Status must be one of", "campaign_id=gala": "Campaign must be an ID.", "sort=name": "Sort"} {
		p.get("plans?"+query).is(422).sees("Please fix one filter.", fault).lacks("Ben Ek")
	}

}
