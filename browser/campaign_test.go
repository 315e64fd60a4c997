package browser_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// listed are the campaigns that the API lists with a key.
func (s *server) listed(key, query string) (campaigns []map[string]any) {
	s.t.Helper()
	status, body := s.call(key, "GET", "/v1/campaigns"+query, "")
	var list struct{ Data []map[string]any }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 {
		s.t.Fatalf("%d %s, %v", status, body, err)
	}
	return list.Data
}

func (s *server) key(account string) string {
	s.t.Helper()
	return s.donorbook("key", "create", "--account", account, "--name", "Website")
}

func TestACampaignThatWasCreatedIsListedByTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	key := s.key(p.organizationID())
	p.click("Campaigns")
	p.sees("No campaigns yet")
	p.audit()
	p.click("Create your first campaign")
	p.audit()

	picture := s.url + "/console/static/icon.svg" // any picture that the browser can load
	p.fill("Title", "Lighthouse Gala")
	p.fill("Story", "First line\nsecond\n\n# New **paragraph**")
	p.in("#preview").sees("First line second", "New paragraph") // as it is written
	p.fill("Goal", "120,000")
	p.click("Page")
	p.fill("Subtitle", "An evening for the harbor")
	p.click("Money")
	p.fill("Raised before Donorbook", "$64,500.50")
	p.fill("Donors before Donorbook", "148")
	p.fill("End date", "2027-05-01T12:00")
	p.click("Use a video, or an image from another site")
	p.fill("Cover image or video", picture)
	p.fill("Type", "Event") // unfolds the event
	p.fill("Start", "2027-04-24T18:00")
	p.fill("Time zone", "America/New_York")
	p.fill("Venue", "Custom House Hall")
	p.tick("Guests need a ticket")
	p.click("Livestream")
	p.fill("Watch link", "https://video.example.org/gala")
	p.audit()
	p.click("Create campaign")

	p.sees("“Lighthouse Gala” is live. View page", "$64,500.50", "53% of $120,000 · 148 donors", "Apr 24, 2027, 6:00 PM (America/New_York)", "Open to everyone, ticket required", "May 1, 2027, 12:00 PM UTC")
	if !p.has("img.cover") {
		t.Error("the cover is not shown")
	}
	p.audit()
	list := s.listed(key, "")
	if len(list) != 1 {
		t.Fatalf("the API lists %d campaigns", len(list))
	}
	event, _ := list[0]["event"].(map[string]any)
	for _, field := range []struct{ got, want any }{
		{list[0]["title"], "Lighthouse Gala"}, {list[0]["slug"], "lighthouse-gala"}, {list[0]["url"], s.url + "/lighthouse-gala"}, {list[0]["type"], "event"},
		{list[0]["goal"], 120000.0}, {list[0]["raised"], 64500.5}, {list[0]["end_at"], "2027-05-01 12:00:00"},
		{list[0]["description"], "<p>First line<br>second</p>\n<h2>New <strong>paragraph</strong></h2>"},
		{event["title"], "Lighthouse Gala"}, {event["start_at"], "2027-04-24 22:00:00"}, {event["tickets_required"], true},
	} {
		if field.got != field.want {
			t.Errorf("the API says %v, want %v", field.got, field.want)
		}
	}

	p.click("Edit campaign")
	if got := p.value("Start"); got != "2027-04-24T18:00" {
		t.Errorf("the form says that it begins at %s", got)
	}
	p.fill("Title", "Harbor Gala")
	p.click("Page")
	p.fill("Web address", "harbor-gala")
	p.click("Money")
	p.fill("Raised before Donorbook", "130000")
	p.click("Save changes")
	p.sees("“Harbor Gala” saved.", "Goal reached", "108% of $120,000")
	if list := s.listed(key, ""); list[0]["slug"] != "harbor-gala" || list[0]["raised"] != 130000.0 || list[0]["id"] == 0 {
		t.Errorf("the API says %v", list[0])
	}
}

// The web address that the console shows leads to a page that anyone can open and that is accessible.
func TestACampaignHasAPageForEverybody(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.visit("/console/o/" + p.organizationID() + "/campaigns/new")
	p.fill("Title", "Winter Gala")
	p.fill("Story", "We <3 the sea.\n\nCome and dine.")
	p.fill("Goal", "120,000")
	p.click("Page")
	p.fill("Subtitle", "An evening for the harbor")
	p.click("Money")
	p.fill("Raised before Donorbook", "64,500.50")
	p.fill("Donors before Donorbook", "148")
	p.fill("End date", "2127-05-01T12:00")
	p.click("Use a video, or an image from another site")
	p.fill("Cover image or video", s.url+"/console/static/icon.svg")
	p.fill("Type", "Event")
	p.fill("Start", "2127-04-24T18:00")
	p.fill("Time zone", "America/New_York")
	p.fill("Venue", "Custom House Hall")
	p.click("Livestream")
	p.fill("Watch link", "https://video.example.org/gala")
	p.click("Create campaign")
	if p.text("#address") != s.url+"/winter-gala" {
		t.Fatalf("the console shows the address %q", p.text("#address"))
	}
	p.run(`document.querySelector("#address").removeAttribute("target")`) // the test has one window
	p.click("#address")
	shown := []string{organization, "Winter Gala", "An evening for the harbor", "We <3 the sea.", "$64,500.50 raised of $120,000", "148 donors", "Custom House Hall", "6:00 PM (America/New_York)", "Watch the livestream"}
	p.sees(shown...)
	p.doesNotSee("Edit campaign", "Contacts", "Sign out")
	if p.path() != "/winter-gala" || !p.has("img.cover") {
		t.Errorf("%s has no cover", p.path())
	}
	p.audit()
	stranger := s.open()
	stranger.visit("/winter-gala")
	stranger.sees(shown...)
	stranger.expects(404)
	stranger.visit("/summer-gala")
}

// A draft is for colleagues; a published campaign asks for donations; a closed one does not. A campaign without gifts and plans
// can be deleted.
func TestACampaignGoesFromDraftToItsEnd(t *testing.T) {
	t.Parallel()
	s := start(t)
	p, stranger := s.owner(), s.open()
	p.visit("/console/o/" + p.organizationID() + "/campaigns/new")
	p.fill("Title", "Winter Gala")
	p.click("Money")
	p.fill("Payment link", "https://pay.example.org/gala")
	p.click("Save as draft")
	p.sees("“Winter Gala” is a draft.", "Publish campaign")
	p.audit()
	p.click("View page")
	p.sees("This is a draft.")
	p.doesNotSee("Donate")
	p.audit()
	stranger.expects(404)
	stranger.visit("/winter-gala")
	p.back()
	p.click("Publish campaign")
	p.sees("“Winter Gala” is live.", "Close campaign")
	stranger.visit("/winter-gala")
	stranger.sees("Donate")
	stranger.audit()
	if !stranger.has(`a.button[href="https://pay.example.org/gala"][rel="noopener noreferrer nofollow"]`) {
		t.Error("the button does not lead to the payment link")
	}
	p.click("Close campaign")
	p.sees("“Winter Gala” is closed.")
	p.click("Undo")
	p.sees("“Winter Gala” is live.")
	p.click("Close campaign")
	stranger.visit("/winter-gala?again")
	stranger.sees("This campaign is closed and no longer accepts donations.")
	stranger.doesNotSee("Donate")
	stranger.audit()
	p.click("Delete campaign")
	p.sees("Delete “Winter Gala”?")
	p.audit()
	p.click("Delete campaign")
	p.sees("“Winter Gala” deleted.", "No campaigns yet")
}

func TestAWrongCampaignSaysWhatIsWrongAndKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.visit("/console/o/" + p.organizationID() + "/campaigns/new")
	p.fill("Title", "Gala")
	p.fill("Goal", "a lot")
	p.click("#event > summary")
	p.fill("Start", "2027-03-14T02:30")
	p.fill("Time zone", "America/New_York")
	p.click("Beneficiaries")
	p.fill("Other organizations", "AAAA")
	p.expects(422)
	p.click("Create campaign")
	p.sees("3 things need your attention", "Goal must be 0 or more and less than 10 billion, such as 1,500", "Start is a time that does not exist in America/New_York: clocks skip it on that day.",
		"“AAAA” isn’t the ID of an organization on this server.")
	if p.value("Title") != "Gala" || p.value("Goal") != "a lot" || p.value("Start") != "2027-03-14T02:30" || p.value("Other organizations") != "AAAA" {
		t.Error("what was typed is lost")
	}
	p.press("Tab", "Enter") // the first complaint leads to its field
	if got := p.path(); !strings.HasSuffix(got, "#f-goal") {
		t.Errorf("the complaint leads to %s", got)
	}
	if got := p.focused(); got != "field “Goal”" {
		t.Errorf("the focus is on %s", got)
	}
	p.audit()
	p.fill("Goal", "10")
	p.fill("Start", "2027-03-14T03:30")
	p.fill("Other organizations", "")
	p.click("Create campaign")
	p.sees("“Gala” is live. View page", "Mar 14, 2027, 3:30 AM (America/New_York)")
}

// No input in the two HTML fields runs as code or looks like the console.
func TestHostileHTMLOfACampaignIsHarmless(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	picture := s.url + "/console/static/icon.svg"
	hostile := `<b id="bold">fine</b><script>window.pwned=1</script><img src="` + picture + `" onload="window.pwned=1"><svg onload="window.pwned=1"></svg>` +
		`<a href="javascript:window.pwned=1">press me</a><iframe srcdoc="<script>parent.pwned=1</script>"></iframe><style>main{display:none}</style>` +
		`<form action="/console/signout" method="post"><button>Sign in again</button></form><p class="alert" style="position:fixed" hx-get="/x" hx-trigger="load">styled</p>` +
		`</div></main><base href="https://evil.example"><meta http-equiv="refresh" content="0;url=https://evil.example"><details open ontoggle="window.pwned=1">x</details>`
	p.visit("/console/o/" + p.organizationID() + "/campaigns/new")
	p.fill("Title", `<img src=x onerror=window.pwned=1>`)
	p.fill("Story", hostile)
	p.click("#event > summary")
	p.fill("Details for guests", hostile)
	p.fill("Venue", `"><script>window.pwned=1</script>`)
	p.click("Create campaign")
	p.sees("is live. View page", "fine", "press me", "styled", `<img src=x onerror=window.pwned=1>`, `"><script>window.pwned=1</script>`)
	for _, page := range []string{p.path(), p.path() + "/edit", "/console/o/" + p.organizationID() + "/campaigns"} {
		p.visit(page)
		ran, err := evaluate[bool](p, "typeof window.pwned !== 'undefined'")
		if err != nil || ran {
			t.Errorf("%s: something ran, %v", page, err)
		}
		found, err := evaluate[int](p, `document.querySelectorAll("main iframe, main base, main style, .prose form, .prose button, .prose [id], .prose [class], .prose [style], .prose [hx-get], main script, a[href^=javascript]").length`)
		if err != nil || found != 0 {
			t.Errorf("%s: %d things that nobody of us put there, %v", page, found, err)
		}
	}
}

func TestCampaignsHaveFourScopes(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	ours := p.organizationID()
	chapter := s.donorbook("account", "create", "--name", "Rescue North", "--parent", ours)
	friend := s.donorbook("account", "create", "--name", "Friends")

	p.visit("/console/o/" + ours + "/campaigns/new")
	p.fill("Title", "Spring appeal")
	p.click("Beneficiaries")
	p.tick("Rescue North")
	p.click("Create campaign")
	p.in("main").sees("Beneficiaries Rescue North")
	north := s.visitor(chapter, "north@example.org", "editor")
	north.visit("/console/o/" + chapter + "/campaigns/new")
	north.fill("Title", "North run")
	north.click("Create campaign")
	other := s.visitor(friend, "friend@example.org", "editor")
	other.visit("/console/o/" + friend + "/campaigns/new")
	other.fill("Title", "For the animals")
	other.click("Beneficiaries")
	other.fill("Other organizations", ours)
	other.click("Create campaign")

	p.visit("/console/o/" + ours + "/campaigns")
	for _, tab := range []struct {
		name   string
		titles []string
	}{
		{"Ours 1", []string{"Spring appeal"}}, {"Benefiting us 1", []string{"For the animals"}}, {"Chapters’ 1", []string{"North run"}},
		{"All 3", []string{"For the animals", "North run", "Spring appeal"}},
	} {
		p.in("main").click(tab.name)
		table := p.text("table.campaigns")
		at := 0
		for _, title := range tab.titles {
			next := strings.Index(table[at:], title)
			if next < 0 {
				t.Errorf("%s: %q is not in its place in %q", tab.name, title, table)
				break
			}
			at += next
		}
		if n := strings.Count(table, "Donations"); n != len(tab.titles) {
			t.Errorf("%s has %d campaigns, want %d", tab.name, n, len(tab.titles))
		}
	}
	p.audit()
	p.click("North run")
	p.sees("Chapter campaign", "Rescue North")
	if p.has(`a[href$="/edit"]`) {
		t.Error("a chapter's campaign can be edited")
	}
	p.audit()
	north.visit("/console/o/" + chapter + "/campaigns?scope=benefiting")
	north.sees("Spring appeal")
	p.visit("/console/o/" + ours + "/campaigns")
	p.click("Spring appeal")
	p.click("Edit campaign")
	p.click("Beneficiaries")
	p.untick("Rescue North")
	p.click("Save changes")
	north.reload()
	north.sees("No campaigns benefit you yet")
	if got := len(s.listed(s.key(ours), "?scope=all")); got != 3 {
		t.Errorf("the API lists %d campaigns", got)
	}
}

func TestAViewerLooksAtCampaignsAndChangesNone(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	account := p.organizationID()
	p.visit("/console/o/" + account + "/campaigns/new")
	p.fill("Title", "Spring appeal")
	p.click("Create campaign")
	viewer := s.visitor(account, "vera@example.org", "viewer")
	viewer.visit(p.path())
	viewer.sees("Spring appeal")
	viewer.in("main").doesNotSee("Edit campaign")
	viewer.visit("/console/o/" + account + "/campaigns")
	viewer.in("main").doesNotSee("Create campaign")
	viewer.expects(403)
	viewer.visit(p.path() + "/edit")
	viewer.sees("needs the role editor")
}

// A campaign can also be created without scripts and without a mouse.
func TestACampaignNeedsNeitherScriptsNorAMouse(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.withoutScripts()
	p.visit("/console/o/" + p.organizationID() + "/campaigns")
	p.tabTo("link “Create campaign”")
	p.press("Enter")
	p.tabTo("field “Title required”")
	p.types("Spring appeal")
	p.tabTo("field “Goal”")
	p.types("500")
	p.tabTo("button “Create campaign”")
	p.press("Enter")
	p.sees("“Spring appeal” is live. View page", "0% of $500")
}

// The buttons above the story format what is chosen, by keyboard too; without scripts a button shows the preview.
func TestAStoryIsFormattedByButtonsAndShown(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.visit("/console/o/" + p.organizationID() + "/campaigns/new")
	p.fill("Story", "roof")
	p.run(`document.querySelector("#f-description").select()`)
	p.click("Bold")
	p.in("#preview").sees("roof")
	if got := p.value("Story"); got != "**roof**" {
		t.Errorf("the story is %q", got)
	}
	p.run(`document.querySelector("#f-description").setSelectionRange(0, 0)`)
	p.run(`document.querySelector("[data-format=heading]").focus()`)
	p.press("Enter")
	if got := p.value("Story"); got != "# **roof**" {
		t.Errorf("the story is %q", got)
	}
	p.in("#preview h2").sees("roof")
	p.audit()
	p.fill("Story", "")
	p.withoutScripts()
	p.visit("/console/o/" + p.organizationID() + "/campaigns/new")
	p.fill("Title", "Roof")
	p.fill("Story", "A **roof**")
	p.click("Preview story")
	p.in("#preview").sees("A roof")
	if p.value("Title") != "Roof" || p.value("Story") != "A **roof**" || !p.has("#preview strong") {
		t.Error("the preview is not shown, or what was typed is lost")
	}
	p.click("Create campaign")
	p.sees("“Roof” is live.")
}
