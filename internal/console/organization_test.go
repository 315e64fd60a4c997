package console_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
)

var shownLink = regexp.MustCompile(`<code id="link">https://[^/]+(/console/invite/[\w-]+)</code>`)

func (p *person) about(other *person, what string) string {
	return p.org("/settings/people/" + strconv.FormatInt(other.user.ID, 10) + "/" + what)
}

func (p *person) role() access.Role {
	p.site.t.Helper()
	m, _ := p.site.store.Membership(p.site.t.Context(), p.user.ID, p.account.ID)
	return m.Role
}

func TestAnInvitationLinkIsShownOnceAndCanBeTakenBack(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.get("settings/people").has(`<option value="viewer" selected>Viewer: can view`)
	sent := p.post("settings/people/invite", "email", "bo@example.org", "role", "viewer")
	sent.is(303)
	made := p.get(sent.location())
	made.sees("Invitation link", "Send this link to bo@example.org", "joins as a viewer", "Open invitations")
	link := shownLink.FindStringSubmatch(made.body)[1]
	s.visitor().get(link).is(200)
	again, list := p.get(sent.location()), p.get("settings/people")
	again.sees("The invitation link was shown once", "Open invitations")
	list.sees("bo@example.org", p.user.Name)
	if strings.Contains(again.body+list.body+sent.location(), link[len("/console/invite/"):]) {
		t.Error("the link is shown again")
	}
	invitations, err := s.store.Invitations(t.Context(), p.account.Number)
	if err != nil || len(invitations) != 1 {
		t.Fatalf("%v: %+v", err, invitations)
	}
	back := p.org("/settings/people/invitations/" + invitations[0].ID + "/revoke")
	p.follow(back).sees("Invitation canceled")
	s.visitor().get(link).is(410)
	p.post(back).is(404)

	p.post("settings/people/invite", "email", "bo", "role", "viewer").is(422).
		sees("Email must be a valid email address")
	p.post("settings/people/invite", "role", "boss").is(422)
}

func TestAnOwnerChangesRolesAndRemovesPeople(t *testing.T) {
	s, ana := signedIn(t, access.Owner)
	bo := s.member(ana.account, access.Viewer)
	ana.follow(ana.about(bo, "role"), "role", "editor").sees(bo.user.Name + "’s role is now editor")
	equal(t, bo.role(), access.Editor, "the role")
	ana.post(ana.about(bo, "role"), "role", "boss").is(422).sees("must be one of owner, editor, viewer")
	ana.follow(ana.about(bo, "remove")).sees(bo.user.Name + " removed.")
	bo.get("").is(404)
	ana.post(ana.about(bo, "remove")).is(404)
	ana.post(ana.about(bo, "role"), "role", "owner").is(404)
	for _, nobody := range []string{"0", "x", "-1"} {
		ana.post("settings/people/" + nobody + "/remove").is(404)
	}
}

func TestTheOnlyOwnerIsToldWhyTheyStay(t *testing.T) {
	s, ana := signedIn(t, access.Owner)
	s.member(ana.account, access.Editor)
	ana.get("settings/people").sees("Only owner")
	for _, a := range []answer{ana.post(ana.about(ana, "role"), "role", "viewer"), ana.post(ana.about(ana, "remove"))} {
		a.is(422).sees("An organization needs at least one owner. Make someone else an owner first.")
	}
	equal(t, ana.role(), access.Owner, "the role")
}

func TestAnybodyMayLeave(t *testing.T) {
	s, ana := signedIn(t, access.Owner)
	bo := s.member(ana.account, access.Viewer)
	bo.get("settings/people").sees(ana.user.Name, "Leave").hides("/role", "/invite", "Remove")
	bo.follow(bo.about(bo, "remove")).sees("You left Harbor.", "You aren’t a member of any organization")
	equal(t, bo.role(), 0, "the role")
}

// Each section of the settings is saved as a whole: all of it, or nothing.
func TestAnOrganizationIsRenamed(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	save := p.org("/settings/organization")
	p.follow(save, "name", " Harbor Light ", "timezone", "Europe/Lisbon").sees("Organization saved.", "Harbor Light")
	p.post(save, "name", "", "timezone", "UTC").is(422).sees("Name is required")
	p.post(save, "name", "Other", "timezone", "Mars/Olympus").has(`value="Other"`)
	equal(t, must(s.store.Account(t.Context(), p.account.ID))(t).Name, "Harbor Light")
	p.wantSettings(access.AccountSettings{Currency: "USD", Timezone: "Europe/Lisbon"})
	p.get("settings/history").sees("name from “Harbor” to “Harbor Light”", "from “UTC” to “Europe/Lisbon”")
	equal(t, strings.Count(p.get("settings").body, ">Save "), 3)
}

func TestOwnersSetWhatStatementsShow(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	path := p.org("/settings/giving")
	p.follow(path, "currency", "eur", "address", "1 Quay\r\n4000 Porto", "tax_id", "PT 123").
		sees("Giving settings saved.", "1 Quay 4000 Porto")
	want := access.AccountSettings{Timezone: "UTC", Currency: "EUR", Address: "1 Quay\n4000 Porto", TaxID: "PT 123"}
	p.post(path, "currency", "XXY", "address", strings.Repeat("line\n", 9), "tax_id", "kept").is(422).
		sees("Currency must be a three-letter code, such as USD or EUR.",
			"Postal address must not have more than 8 lines.").has(`value="XXY"`, `value="kept"`, `value="Harbor"`)
	p.wantSettings(want)

	// The currency of an organization with gifts is not offered, and a form that was opened before the first gift is
	// refused.
	s.donation(p.account, s.newcomer(p.account, "Ada", "Berg").ID,
		`"amount":25,"method":"cash","transacted_at":"2026-01-15"`)
	want.HasGifts = true
	p.get("settings").sees("EUR Can’t be changed after the first gift").hides(`name="currency"`)
	p.post(path, "currency", "USD", "address", "", "tax_id", "").is(422).sees("Currency must stay EUR")
	p.wantSettings(want)
	p.follow(path, "address", "", "tax_id", "PT 123")
	want.Address = ""
	p.wantSettings(want)

	viewer := s.member(p.account, access.Viewer)
	viewer.get("settings").sees("Currency EUR", "Postal address Not set", "Tax ID PT 123").hides("/settings/giving")
}

func (p *person) wantSettings(want access.AccountSettings) {
	p.site.t.Helper()
	equal(p.site.t, must(p.site.store.AccountSettings(p.site.t.Context(), p.account.Number))(p.site.t), want)
}

func TestChaptersAreMadeAndRenamed(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.get("chapters").sees("No chapters yet")
	p.follow("chapters", "name", " North ").sees("North created. You are its owner.")
	chapters, err := s.store.Chapters(t.Context(), p.account)
	if err != nil || len(chapters) != 1 || chapters[0].Name != "North" {
		t.Fatalf("%v: %+v", err, chapters)
	}
	north := chapters[0]
	p.follow("chapters", "name", "Far North", "parent", north.ID).sees("Far North").
		has(`href="/console/o/` + north.ID + `"`)
	p.get("/console/o/" + north.ID + "/settings").is(200)
	p.get("/console/o/" + north.ID + "/settings").sees("Chapter of Harbor")

	p.follow("chapters/"+north.ID, "name", "Norden").sees("Renamed to Norden.")
	p.post("chapters/"+north.ID, "name", strings.Repeat("x", 256)).is(422).
		sees("Name must not be longer than 255 characters.").has(strings.Repeat("x", 256))
	p.post("chapters", "name", " ", "parent", north.ID).is(422).sees("Name is required")
	p.post("chapters", "name", "Lost", "parent", "0000000000000000").is(404)
}

// A user who belongs only to a chapter sees what is below it, but not what is above it.
func TestAChapterDoesNotSeeWhatIsAboveIt(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor Light"), access.Owner)
	chapter := must(s.store.CreateChapter(t.Context(), owner.account, owner.user.ID, owner.account.ID, "North"))(t)
	p := s.member(chapter, access.Owner)
	for _, path := range []string{"/chapters", "/settings", "/settings/people"} {
		p.get(p.org(path)).is(200).hides("Harbor Light")
	}
	p.post("chapters", "name", "Stolen", "parent", owner.account.ID).is(404)
	p.post("chapters/"+owner.account.ID, "name", "Stolen").is(404)
}

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
	equal(p.site.t, fmt.Sprint(got), fmt.Sprint(want), "the page shows %d, want %d", got, want)
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
	const path = "settings/integrations/api-keys"
	create := func(name string) access.Key {
		key, _ := must2(s.store.CreateKey(t.Context(), p.account.Number,
			access.KeyInput{Name: name, Permissions: access.ContactsRead}))(t)
		return key
	}
	for i := range 60 {
		if key := create(fmt.Sprintf("Name %03d", 59-i)); i < 40 {
			succeed(t, s.store.RevokeKey(t.Context(), key.ID))
		}
	}
	p.wantShown(p.get(path).has(p.org("/"+path+"?page=3")), 60, numbers(0, 25)...)
	p.wantShown(p.get(path+"?page=2"), 60, numbers(25, 50)...)
	for _, last := range []string{"3", "9"} {
		p.wantShown(p.get(path+"?page="+last), 60, numbers(50, 60)...)
	}
	for range access.KeyLimit.Max - 20 {
		create("More")
	}
	p.post(path, "name", "One more", "permission", "contacts:read", "expires", "never").is(422).
		sees(access.KeyLimit.Reached)
}

func TestTheListsOfPeopleArePaged(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	invite := func(email string) { must2(s.store.Invite(t.Context(), p.account, p.user, access.Viewer, email))(t) }
	for i := range 30 {
		invite(fmt.Sprintf("guest%02d@example.org", i))
	}
	page := p.get("settings/people").has(p.org("/settings/people?invited=2")).hides("Pages of members")
	second := p.get("settings/people?invited=2")
	for a, want := range map[*answer]int{&page: 25, &second: 5} {
		if n := strings.Count(a.body, "guest"); n != 2*want { // in its row, and in the words of its button
			t.Errorf("a page names guests %d times, want %d", n, 2*want)
		}
	}
	// A button on the second page leads back to that page.
	const invitations = "/settings/people/invitations/"
	p.post(p.org(invitations) + between(t, second.body, `action="`+p.org(invitations), `"`)).
		leads(p.org("/settings/people?invited=2"))
	for range access.InvitationLimit.Max - 29 {
		invite("")
	}
	p.post("settings/people/invite", "role", "viewer").is(422).sees(access.InvitationLimit.Reached)
}

// A page of the tree shows its chapters with those above them, so that each one is in its place. The menu offers some
// of the organizations, and the profile page all of them.
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
		if last, err = s.store.CreateChapter(t.Context(), p.account, p.user.ID, above.ID,
			fmt.Sprintf("Name %03d", i)); err != nil {
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

// Gifts and plans are sorted by their headings, filters stay, and a heading that is clicked twice sorts the other way
// round.
func TestGiftsAndPlansAreSortedAndFiltered(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	zoe, ben := s.contact(p, "Zoë", "Okafor"), s.contact(p, "Ben", "Ek")
	for _, gift := range [][2]string{{"30", "2025-02-01"}, {"10", "2025-03-01"}, {"20", "2025-01-01"}} {
		p.give(zoe, gift[0], gift[1])
	}
	p.give(ben, "99", "2024-05-05", "method", "cash")
	for i, plan := range [][4]string{{"30", "monthly", "2027-02-01", "card"}, {"10", "yearly", "2027-03-01", "check"},
		{"20", "monthly", "2027-01-01", "check"}} {
		p.follow([]string{zoe, ben, ben}[i]+"/plans", "amount", plan[0], "frequency", plan[1], "start_at", plan[2],
			"method", plan[3])
	}
	const down, up = ` <span aria-hidden="true">↓</span>`, ` <span aria-hidden="true">↑</span>`
	for _, test := range [][5]string{
		{"gifts?from=2025-01-01", "Amount", "30 20 10", "10 20 30", "?from=2025-01-01&sort=amount"},
		{"plans?frequency=monthly", "Recurring gift", "30 20", "20 30", "?frequency=monthly&sort=amount"},
		{"plans?method=check", "Next gift", "10 20", "20 10", "?method=check&sort=next_bill_date"},
	} {
		once := p.get(p.get(test[0]).link(t, test[1]))
		twice := once.link(t, test[1]+down)
		if first, second := amounts(once), amounts(p.get(twice)); first != test[2] || second != test[3] ||
			!strings.HasSuffix(twice, test[4]) {
			t.Errorf("%s by %s: %s, then %s: %s", test[0], test[1], first, twice, second)
		}
	}
	// Gifts come the latest first, and plans the newest first. A heading leads away from that and back to it.
	earliest := p.get(p.get("gifts").link(t, "Date"+down))
	if latest := earliest.link(t, "Date"+up); latest != p.org("/gifts") || amounts(p.get(latest)) != "10 30 20 99" ||
		amounts(earliest) != "99 20 30 10" {
		t.Errorf("the latest first is at %q, the earliest first are %s", latest, amounts(earliest))
	}
	equal(t, amounts(p.get("plans")), "20 10 30", "plans")
	p.get("gifts?from=2025-01-01&to=2025-01-31&max=50&method=check").
		sees("Given Jan 1, 2025 – Jan 31, 2025", "Amount at most 50", "Check ×", "$20 from 1 gift")
	p.get("gifts?contact="+idIn(zoe)).sees("From Zoë Okafor ×", "$60 from 3 gifts")
	p.get("plans?status=&frequency=monthly&method=check").leads(p.org("/plans?frequency=monthly&method=check"))
	p.get("plans?frequency=monthly&method=check").sees("Monthly ×", "Check ×", "1 recurring gift", "$20 monthly",
		"Ben Ek")
	for _, query := range []string{"status=gone", "campaign_id=gala", "sort=name"} {
		p.get("plans?" + query).is(422).sees("Please fix one filter.").lacks("Ben Ek")
	}
}

var shownSecret = regexp.MustCompile(`<code id="secret">(dbk_[0-9A-Za-z]+)</code>`)

// makeKey sends the form for a new key and returns the secret on the next page.
func (p *person) makeKey(pairs ...string) string {
	p.site.t.Helper()
	a := p.follow("settings/integrations/api-keys", pairs...)
	found := shownSecret.FindStringSubmatch(a.body)
	if a.status != 200 || found == nil {
		p.site.t.Fatalf("status %d, and no secret: %s", a.status, a.words())
	}
	return found[1]
}

func TestAKeyIsShownOnceAndWorks(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.get("settings/integrations/api-keys").sees("No API keys yet", "Create key")
	form := p.get("settings/integrations/api-keys/new")
	form.has(`value="contacts:read" checked`)
	equal(t, strings.Count(form.body, " checked"), 1,
		"another permission than to read contacts is ticked at first")
	made := p.follow("settings/integrations/api-keys", "name", " Website ", "permission", "contacts:read", "permission",
		"campaigns:read", "expires", "90d")
	made.sees("Website", "Copy the key now", "Read contacts, Read campaigns", s.http.URL+"/v1/contacts")
	secret := shownSecret.FindStringSubmatch(made.body)[1]
	made.with("Cache-Control", "no-store")
	who, err := s.store.Authenticate(t.Context(), secret)
	if err != nil || who.Account != p.account.Number || who.Permissions != access.ContactsRead|access.CampaignsRead {
		t.Errorf("%+v, %v", who, err)
	}
	keys, err := s.store.Keys(t.Context(), p.account.Number)
	if err != nil || len(keys) != 1 || !keys[0].ExpiresAt.Equal(now.AddDate(0, 0, 90)) {
		t.Errorf("%v: the keys are %+v", err, keys)
	}
	p.get("settings/integrations/api-keys").sees("Website", keys[0].Hint, "Active", "Read contacts").hides(secret)
}

// The page of keys is where the API reference says: under Settings, Integrations, API keys. Older addresses lead there.
func TestKeysAreUnderIntegrations(t *testing.T) {
	_, p := signedIn(t, access.Owner)
	p.get("settings").sees("Integrations API keys")
	p.get("settings/integrations/api-keys").sees("Settings / Integrations / API keys")
	for old, now := range map[string]string{
		"/settings/keys":          "/settings/integrations/api-keys",
		"/settings/keys?page=2":   "/settings/integrations/api-keys?page=2",
		"/settings/keys/new":      "/settings/integrations/api-keys/new",
		"/settings/keys/7/revoke": "/settings/integrations/api-keys/7/revoke",
		"/settings/integrations":  "/settings#integrations",
	} {
		p.get(p.org(old)).leads(p.org(now))
	}
}

func TestTheExampleOfAKeyIsACallThatItMayMake(t *testing.T) {
	_, p := signedIn(t, access.Owner)
	for permission, call := range map[string]string{
		"contacts:read": "/v1/contacts", "campaigns:read": "/v1/campaigns",
		"contacts:write":    `"first_name":"Ada","last_name":"Lovelace"`,
		"campaigns:write":   `"title":"Spring appeal"`,
		"transactions:read": "/v1/transactions", "transactions:write": `"amount":25,"method":"cash"`,
	} {
		p.follow("settings/integrations/api-keys", "name", "K", "permission", permission, "expires", "never").
			sees("curl -H 'Authorization: Bearer dbk_", call)
	}
}

func TestAWrongKeyIsToldEverythingAndNotMade(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	const path = "settings/integrations/api-keys"
	p.post(path).is(422).sees("3 things need your attention")
	for _, wrong := range [][]string{
		{"permission", "contacts:delete", "expires", "never"}, {"permission", "contacts:read", "expires", "soon"},
		{"permission", "contacts:read"},
		{"permission", "contacts:read", "expires", "date", "expires_on", "2001-01-01"},
		{"permission", "contacts:read", "expires", "date", "expires_on", "90d"},
	} {
		p.post(path, append(wrong, "name", "Kept")...).is(422).sees("One thing needs your attention").
			has(`value="Kept"`)
	}
	equal(t, len(must(s.store.Keys(t.Context(), p.account.Number))(t)), 0, "the keys")
}

func TestAKeyIsRevokedAfterAConfirmation(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.makeKey("name", "Old", "permission", "contacts:read", "expires", "30d")
	secret := p.makeKey("name", "Website", "permission", "contacts:read", "expires", "never")
	who := must(s.store.Authenticate(t.Context(), secret))(t)
	revoke := p.org("/settings/integrations/api-keys/" + strconv.FormatInt(who.Key, 10) + "/revoke")
	p.get(revoke).sees("Revoke “Website”?", "This can’t be undone", "Last used")
	p.follow(revoke).sees("Key “Website” revoked", "Revoked")
	if _, err := s.store.Authenticate(t.Context(), secret); err == nil {
		t.Error("the key still works")
	}
	list := p.get("settings/integrations/api-keys").words()
	if strings.Index(list, "Old") > strings.Index(list, "Website") {
		t.Error("a revoked key stands before one active")
	}
	p.get(revoke).leads(p.org("/settings/integrations/api-keys"))
	for _, wrong := range []string{"0", "x", "-1", strconv.FormatInt(who.Key+7, 10),
		"0" + strconv.FormatInt(who.Key, 10)} {
		p.post("settings/integrations/api-keys/" + wrong + "/revoke").is(404)
	}
}

func TestAKeyThatEndsSoonSaysSo(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	in := access.KeyInput{Name: "Short", Permissions: access.AllPermissions, ExpiresAt: now.AddDate(0, 0, 5)}
	if _, _, err := s.store.CreateKey(t.Context(), p.account.Number, in); err != nil {
		t.Fatal(err)
	}
	p.get("settings/integrations/api-keys").sees("Short", "All", "Expires soon")
}

// The page after the form shows the secret, and after a reload it says that the secret was shown. The secret is never
// in an address.
func TestAReloadNeitherMakesNorShowsAKeyAgain(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	other := p.makeKey("name", "Other", "permission", "contacts:read", "expires", "never")
	sent := p.post("settings/integrations/api-keys", "name", "Website", "permission", "contacts:read", "expires",
		"never")
	sent.is(303)
	cookie := sent.header.Get("Set-Cookie")
	if strings.Contains(sent.location(), "dbk_") || !strings.Contains(cookie, "; HttpOnly; Secure") ||
		!strings.Contains(cookie, "Max-Age=60") {
		t.Errorf("the secret goes to %s with %s", sent.location(), cookie)
	}
	who := must(s.store.Authenticate(t.Context(), other))(t)
	if a := p.get("settings/integrations/api-keys/" + strconv.FormatInt(who.Key, 10)); shownSecret.MatchString(a.body) {
		t.Error("the page of another key shows a secret")
	}
	first, again := p.get(sent.location()), p.get(sent.location())
	again.hides("dbk_")
	if !shownSecret.MatchString(first.body) || shownSecret.MatchString(again.body) {
		t.Error("the secret is not shown once")
	}
	again.sees("Website", "The key was shown once", "revoke it", "create a new one", "Read contacts", "Active")
	equal(t, len(must(s.store.Keys(t.Context(), p.account.Number))(t)), 2)
	s.member(p.account, access.Editor).get(sent.location()).is(403)
	stranger := s.member(s.organization("Elsewhere"), access.Owner)
	stranger.get("settings/integrations/api-keys/" + strconv.FormatInt(who.Key, 10)).is(404)
}

// clockIn makes an organization whose clock is in a zone.
func (s *site) clockIn(zone string, role access.Role) *person {
	s.t.Helper()
	account := s.organization("Harbor")
	succeed(s.t, s.store.SetAccountSettings(s.t.Context(), account.Number,
		access.AccountSettingsInput{Timezone: &zone}))
	return s.member(account, role)
}

// At 11:37 PM on November 16 in New York it is November 16, although it is the 17th in UTC.
func TestTodayIsTheOrganizations(t *testing.T) {
	now := time.Date(2026, time.November, 17, 4, 37, 0, 0, time.UTC)
	s := siteAt(t, now)
	p := s.clockIn("America/New_York", access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	// when the contact was added
	p.get(contact).has(`name="transacted_at" type="date" value="2026-11-16"`).sees("Nov 16, 2026, 11:37 PM EST")
	p.post(contact+"/gifts", "amount", "5", "transacted_at", "2026-11-17", "method", "cash").is(422)
	p.get(p.give(contact, "5", "2026-11-16")).sees("Nov 16, 2026").lacks("Nov 17", "7:00 AM") // only the day is known
	p.get(contact).sees("Last gift Nov 16, 2026")
	equal(t, p.csvOf("/gifts/export?format=csv", "harbor-gifts-2026-11-16")[1][2], "2026-11-16", "the file says")
	contains(t, fmt.Sprint(p.csvOf("/contacts/export?format=csv",
		"harbor-contacts-2026-11-16")[1]), "2026-11-16T23:37:00-05:00", "the file says")
	p.get("contacts?created_after=2026-11-16&created_before=2026-11-17").sees("Zoë Okafor")
	p.get("contacts?created_after=2026-11-17").lacks("Zoë Okafor")
	p.get(contact + "/plans/new").has(`name="start_at" type="date" value="2026-11-16"`)
}

// On New Year's Eve in New York this year is the old one, and what is given now belongs to its statement.
func TestTheYearIsTheOrganizations(t *testing.T) {
	now := time.Date(2027, time.January, 1, 4, 37, 0, 0, time.UTC)
	s := siteAt(t, now)
	p := s.clockIn("America/New_York", access.Editor)
	contact := s.newcomer(p.account, "Amelia", "Okafor").ID
	for _, at := range []string{"2027-01-01T04:30:00Z", "2026-12-31", "2025-03-01"} {
		in, faults, err := giving.DecodeGift(doc.NewBody(fmt.Appendf(nil,
			`{"contact_id":%d,"amount":40,"method":"cash","transacted_at":"%s"}`, contact, at)))
		if err == nil {
			err = in.Validate(faults, true, "US", now)
		}
		if err == nil {
			_, err = s.store.CreateGift(t.Context(), p.account.Number, in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p.get("").sees("Raised this year $80")
	p.get("donors").sees("Donors of 2026", "Amelia Okafor amelia.okafor@example.org 2 $80")
	p.get("statements?year=2026").sees("Dec 31, 2026 General Cash $40.00 Dec 31, 2026 General Cash $40.00",
		"Total $80.00")
	p.get("statements?year=2027").sees("Year must be between 1900 and 2026.")
	p.get("gifts?from=2026-12-31&to=2026-12-31").sees("2 gifts")
	p.get(fmt.Sprintf("contacts/%d", contact)).sees("Last gift Dec 31, 2026")
	p.get(fmt.Sprintf("contacts/%d/statement", contact)).sees("Giving statement for 2025", "Date Dec 31, 2026")
}

// A payment provider tells the time of the next gift of a plan, which is the day before in New York. A day that people
// have chosen stays that day.
func TestTheDaysOfAPlanAreTheOrganizations(t *testing.T) {
	s := anySite(t)
	p := s.clockIn("America/New_York", access.Viewer)
	contact := s.newcomer(p.account, "Amelia", "Okafor").ID
	for at, want := range map[string][]string{
		`"start_at":"2026-09-19T01:00:00Z","next_bill_date":"2026-12-19T01:00:00Z"`: {"Start Sep 18, 2026",
			"Next gift Dec 18, 2026"},
		`"start_at":"2026-09-19"`: {"Start Sep 19, 2026", "Next gift Sep 19, 2026"},
	} {
		in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
			`{"contact_id":%d,"amount":7.50,"method":"card","frequency":"monthly",%s}`, contact, at)))
		if err == nil {
			err = in.Validate(faults, true, "US", now)
		}
		if err != nil {
			t.Fatal(err)
		}
		made := must(s.store.CreatePlan(t.Context(), p.account.Number, in))(t)
		p.get("plans/" + made.Code).sees(want...)
		day := strings.TrimPrefix(want[1], "Next gift ")
		p.get("plans").sees(day)
		p.get(fmt.Sprintf("contacts/%d", contact)).sees("Next gift " + day)
		next := "2026-12-25T01:00:00Z"
		change := giving.PlanInput{NextBill: &next}
		succeed(t, change.Validate(nil, false, "US", now))
		must(s.store.UpdatePlan(t.Context(), p.account.Number, made.Code, change))(t)
		p.get("plans/" + made.Code).sees("changed next gift from " + day + " to Dec 24, 2026")
	}
}

// A gift of yesterday waits for a day, although it is two days in UTC.
func TestAGiftWaitsByTheClockOfTheOrganization(t *testing.T) {
	now := time.Date(2026, time.November, 17, 4, 37, 0, 0, time.UTC)
	s := siteAt(t, now)
	p := s.clockIn("America/New_York", access.Editor)
	p.give(s.contact(p, "Zoë", "Okafor"), "5", "2026-11-15")
	p.get("gifts?thanks=waiting").sees("To thank", "1 day")
	viewer := s.member(p.account, access.Viewer)
	viewer.get(p.org("/gifts?thanks=waiting")).hides("/thank\"")
}

// An owner changes the zone. What was recorded before stays on its day, and what comes then is of a day in the new one.
func TestOwnersSetTheTimeZone(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	contact := s.newcomer(p.account, "Amelia", "Okafor").ID
	s.donation(p.account, contact, `"amount":10,"method":"cash","transacted_at":"2026-11-16T03:00:00Z"`)
	p.post("settings/organization", "name", "Harbor", "timezone", "Mars/Olympus").is(422).
		sees("Time zone must be a time zone, such as America/New_York")
	p.follow("settings/organization", "name", "Harbor", "timezone", "America/New_York").
		sees("Organization saved.")
	p.get("gifts").sees("Nov 16, 2026").hides("Nov 15, 2026")
	s.donation(p.account, contact, `"amount":10,"method":"cash","transacted_at":"2026-11-16T03:00:00Z"`)
	p.get("gifts").sees("Nov 16, 2026", "Nov 15, 2026")
	p.get("settings/history").sees("America/New_York")
	chapter := s.chapter(p, "North")
	equal(t, must(s.store.AccountSettings(t.Context(), chapter.Number))(t).Timezone, "America/New_York",
		"a chapter begins")
	editor := s.member(p.account, access.Editor)
	editor.post(p.org("/settings/organization"), "name", "Harbor", "timezone", "UTC").is(403)
}

// The owner's browser tells the zone; without a script it is UTC.
func TestTheFirstOwnersBrowserTellsTheZone(t *testing.T) {
	for sent, want := range map[string]string{"Australia/Sydney": "Australia/Sydney", "": "UTC",
		"Mars/Olympus": "UTC"} {
		s := anySite(t)
		token := must(s.store.SetupToken(t.Context()))(t)
		link, p := "/console/setup/"+token, s.visitor()
		p.get(link).has(`<input type="hidden" name="timezone" data-timezone>`)
		p.post(link, "organization", "Harbor", "name", "Ana", "email", "ana@example.org", "password", testPassword,
			"timezone", sent).is(303)
		accounts, err := s.store.Accounts(t.Context())
		if err != nil || len(accounts) != 1 {
			t.Fatal(accounts, err)
		}
		equal(t, must(s.store.AccountSettings(t.Context(), accounts[0].Number))(t).Timezone, want,
			"%q: the zone", sent)
	}
}

// An event without a zone is in that of the organization, on every page and in the form.
func TestAnEventTakesTheOrganizationsZone(t *testing.T) {
	s := anySite(t)
	p := s.clockIn("America/New_York", access.Editor)
	from := s.campaign(p.account,
		`{"title":"Ball","type":"event","end_at":"2027-04-25 03:59:00","event":{"start_at":"2027-04-24 22:00:00"}}`)
	for _, page := range []string{p.campaignAddress(from), "/" + from.Slug} {
		p.get(page).sees("Apr 24, 2027, 6:00 PM EDT", "Ends Apr 24, 2027")
	}
	p.get(p.campaignAddress(from)+"/edit").has(`name="event.timezone" type="text" value="America/New_York"`,
		`value="2027-04-24T18:00"`, `name="end_at" type="datetime-local" value="2027-04-24T23:59"`)
	p.follow("campaigns", "title", "Gala", "type", "event", "currency", "USD", "event.title", "Gala night",
		"event.start_at", "2027-04-24T18:00", "end_at", "2027-04-24T23:59").
		sees("Apr 24, 2027, 6:00 PM (America/New_York)", "Apr 24, 2027, 11:59 PM EDT")
}
