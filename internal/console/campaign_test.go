package console_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/picture"
)

// campaign creates a campaign from a row of a file.
func (s *site) campaign(owner access.Account, row string, change ...func(*campaign.Input)) campaign.Campaign {
	s.t.Helper()
	inputs := must(campaign.DecodeAll([]byte("[" + row + "]")))(s.t)
	for _, c := range change {
		c(&inputs[0])
	}
	c := must(s.store.CreateCampaign(s.t.Context(), owner, inputs[0]))(s.t)
	return c
}

// plainPictures are a cover and a logo that are refused now but that an older version may have stored.
func plainPictures(in *campaign.Input) {
	logo, cover := "http://img.example.org/l.png", &campaign.Cover{Type: "image", URL: "http://img.example.org/c.png",
		Source: "upload"}
	in.Logo, in.Cover = &logo, &cover
}

func (s *site) chapter(above *person, name string) access.Account {
	s.t.Helper()
	a := must(s.store.CreateChapter(s.t.Context(), above.account, above.user.ID, above.account.ID, name))(s.t)
	return a
}

func (p *person) campaignAddress(c campaign.Campaign) string {
	return p.org("/campaigns/" + strconv.FormatInt(c.ID, 10))
}

// stored is the campaign as its owner sees it.
func (s *site) stored(owner access.Account, id int64) (campaign.Campaign, []string) {
	s.t.Helper()
	record := must(s.store.Campaign(s.t.Context(), owner.Number, id))(s.t)
	return record.Campaign, record.Beneficiaries
}

// wholeForm is everything that the form of a campaign holds.
func wholeForm(beneficiaries ...string) []string {
	pairs := []string{
		"title", " Lighthouse Gala ", "subtitle", "An evening for the harbor", "type", "event", "slug", "the-gala",
		"description", "<p>Come &amp; <b>dine</b></p><script>alert(1)</script>", "goal", "$120,000", "raised",
		"64500.50", "donors", "1,148", "currency", "usd",
		"end_at", "2027-04-30T23:59", "cover.url", "https://images.example.org/gala.jpg", "cover.type", "image",
		"cover.source", "upload",
		"logo", "https://images.example.org/logo.png",
		"event.title", "Gala night", "event.type", "hybrid", "event.start_at", "2027-04-24T18:00", "event.end_at",
		"2027-04-24T23:00", "event.timezone", "America/New_York",
		"event.location_name", "Custom House Hall", "event.address_formatted", "3 McKinley Square",
		"event.google_place_id", "ChIJx",
		"event.details", "Dinner\nand music", "event.tickets_required", "yes", "event.private", "yes",
		"event.livestream.url", "https://video.example.org/gala", "event.livestream.embed_url",
		"https://video.example.org/e/gala", "event.livestream.platform", "youtube",
		"event.livestream.type", "video", "event.livestream.location", "external", "event.livestream.scheduled", "yes",
		"event.livestream_start_at", "2027-04-24T19:00", "event.livestream_end_at", "2027-04-24T20:00",
	}
	for _, id := range beneficiaries {
		pairs = append(pairs, "beneficiaries", id)
	}
	return pairs
}

func TestACampaignIsCreatedWithAllItsFieldsAndShown(t *testing.T) {
	s := anySite(t)
	editor := s.member(s.organization("Harbor Light"), access.Owner)
	chapter, friend := s.chapter(editor, "Portland"), s.organization("Friends of the Harbor")
	editor.get("campaigns/new").is(200).sees("New campaign", "Story", "Goal", "End date", "Cover", "Page", "Money",
		"Event", "Livestream", "Beneficiaries", "Portland")

	editor.follow("campaigns", append(wholeForm(chapter.ID), "other_beneficiaries", friend.ID)...).is(200).
		sees("“Lighthouse Gala” is live.",
			"Lighthouse Gala", "An evening for the harbor", "Event", "Come & dine", "$64,500.50",
			"53% of $120,000 · 1,148 donors", "Apr 30, 2027, 11:59 PM UTC", "/the-gala",
			"Gala night", "In person and online", "Apr 24, 2027, 6:00 PM (America/New_York)",
			"Apr 24, 2027, 11:00 PM (America/New_York)", "Custom House Hall", "3 McKinley Square", "ChIJx",
			"Dinner and music", "Invited guests only, ticket required", "https://video.example.org/gala",
			"https://video.example.org/e/gala", "YouTube", "external",
			"Apr 24, 2027, 7:00 PM (America/New_York)", "Portland", friend.ID).
		lacks("Friends of the Harbor", "alert(1)").
		has(`<p>Come &amp; <b>dine</b></p>`, `src="https://images.example.org/gala.jpg"`)

	campaigns, _, err := s.store.CampaignPage(t.Context(), editor.account.Number, campaign.OwnCampaigns,
		crm.PageRequest{Page: 1, PerPage: 10})
	if err != nil || len(campaigns) != 1 {
		t.Fatalf("%d campaigns, %v", len(campaigns), err)
	}
	c, beneficiaries := s.stored(editor.account, campaigns[0].ID)
	body, _ := c.AppendBody(nil)
	for _, part := range []string{
		`"goal":120000,"raised":64500.5,"donors":1148,"currency":"USD"`, `"end_at":"2027-04-30 23:59:00"`,
		`"start_at":"2027-04-24 22:00:00"`,
		`"livestream_end_at":"2027-04-25 00:00:00"`, `"details":"<p>Dinner<br>and music</p>"`,
		`"private":true,"tickets_required":true`, `"scheduled":true`,
	} {
		contains(t, string(body), part, "%s lacks", body)
	}
	equal(t, len(beneficiaries), 2, "beneficiaries %q", beneficiaries)
}

// A user does not overwrite another user's changes by accident: neither the content of the campaign nor its
// beneficiaries.
func TestAnOldFormOfACampaignDoesNotOverwriteUnawares(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	friend := s.organization("Friends")
	c := s.campaign(p.account, `{"title":"Gala"}`)
	path := p.campaignAddress(c)
	// the first value of a name counts
	typed := func(form answer, pairs ...string) []string { return append(pairs, form.fields()...) }
	for _, theirs := range [][]string{{"subtitle", "Theirs"}, {"other_beneficiaries", friend.ID}} {
		mine := p.get(path + "/edit")
		p.follow(path, typed(p.get(path+"/edit"), theirs...)...).sees("” saved.")
		before, beneficiaries := s.stored(p.account, c.ID)
		mine = p.post(path, typed(mine, "title", "")...) // an invalid form does not make an old one new
		mine.is(422)
		a := p.post(path, typed(mine, "title", "Ball")...)
		a.is(422).sees("Someone else changed this campaign after you opened the form. Open the campaign in another tab")
		if after, still := s.stored(p.account, c.ID); after.Version(still) != before.Version(beneficiaries) ||
			!strings.Contains(a.body, `value="Ball"`) {
			t.Error("it was saved, or what was typed is gone")
		}
		p.follow(path, a.fields()...).sees("“Ball” saved.")
	}
	after, beneficiaries := s.stored(p.account, c.ID)
	if after.Title != "Ball" || after.Subtitle != "" || len(beneficiaries) != 0 {
		t.Errorf("%+v for %q", after, beneficiaries)
	}
}

// A form that is opened and sent unchanged changes nothing, whatever the campaign contains.
func TestAnEditThatChangesNothingChangesNothing(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	chapter, friend := s.chapter(owner, "Portland"), s.organization("Friends")
	owner.follow("campaigns", append(wholeForm(chapter.ID), "other_beneficiaries", friend.ID)...)
	s.campaign(owner.account, `{"title":"Plain"}`)
	s.campaign(owner.account,
		`{"title":"Odd","event":{"type":"seance","timezone":"Asia/Kolkata","start_at":"2027-01-01 00:00:07"}}`)
	campaigns, _, err := s.store.CampaignPage(t.Context(), owner.account.Number, campaign.OwnCampaigns,
		crm.PageRequest{Page: 1, PerPage: 10})
	if err != nil || len(campaigns) != 3 {
		t.Fatalf("%d campaigns, %v", len(campaigns), err)
	}
	for _, c := range campaigns {
		before, beneficiaries := s.stored(owner.account, c.ID)
		form := owner.get(owner.campaignAddress(c) + "/edit")
		owner.follow(owner.campaignAddress(c), form.fields()...).sees("” saved.")
		after, still := s.stored(owner.account, c.ID)
		was, _ := before.AppendBody(nil)
		is, _ := after.AppendBody(nil)
		if string(was) != string(is) || strings.Join(beneficiaries, " ") != strings.Join(still, " ") {
			t.Errorf("%s\nbecame\n%s\nfor %q, was %q", was, is, still, beneficiaries)
		}
	}
}

func TestAWrongCampaignFormSaysWhatIsWrongAndKeepsWhatWasTyped(t *testing.T) {
	s, editor := signedIn(t, access.Editor)
	s.campaign(editor.account, `{"title":"Gala","slug":"gala"}`)
	editor.post("campaigns", "title", "", "subtitle", "Kept", "slug", "Gala!", "goal", "a lot", "cover.url",
		"http://img.example.org/c.png", "payment_link", "javascript:alert(1)",
		"event.start_at", "2026-03-08T02:30", "event.timezone", "America/New_York", "other_beneficiaries",
		"x AAAAAAAAAAAAAAAA").is(422).sees("7 things need your attention", "Title is required",
		"Web address must be 1 to 255 lowercase letters, digits and single hyphens",
		"Goal must be 0 or more and less than 10 billion, such as 1,500",
		"Cover image or video must be a full link that starts with https:", "Payment link must be a full link",
		"Start is a time that does not exist in America/New_York: clocks skip it on that day",
		"“x” isn’t the ID of an organization on this server.").
		has(`value="Kept"`, `value="Gala!"`, `value="a lot"`, `value="2026-03-08T02:30"`,
			"x AAAAAAAAAAAAAAAA</textarea>", `id="event" open`)
	// Errors that only the database can detect.
	editor.post("campaigns", "title", "Gala", "slug", "gala", "other_beneficiaries", "AAAAAAAAAAAAAAAA").is(422).
		sees("2 things need your attention", "Web address is taken: choose another one.",
			"“AAAAAAAAAAAAAAAA” isn’t the ID of an organization on this server.")
	equal(t, must(s.store.CampaignTotals(t.Context(), editor.account.Number))(t)[campaign.AllCampaigns], 1)
}

func TestCampaignsAreListedInFourScopes(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor Light"), access.Owner)
	chapter, friend := s.chapter(owner, "Portland"), s.organization("Friends of the Harbor")
	s.campaign(owner.account,
		`{"title":"Coat drive","goal":18000,"raised":18340,"donors":265,"end_at":"2020-01-31 12:00:00"}`)
	s.campaign(owner.account, `{"title":"Annual fund","type":"general","raised":5}`)
	kitchen := s.campaign(chapter, `{"title":"Kitchen","goal":100,"raised":40,"currency":"CHF"}`)
	run := s.campaign(friend, `{"title":"Fun run","goal":3000,"beneficiaries":["`+owner.account.ID+`"]}`)
	s.campaign(friend, `{"title":"Secret plan"}`)
	all := []string{"Coat drive", "Annual fund", "Kitchen", "Fun run", "Secret plan", "Friends of the Harbor"}
	for scope, shown := range map[string][]string{"": all[:2], "benefiting": all[3:4], "chapters": all[2:3],
		"all": all[:4]} {
		page := owner.get("campaigns?scope="+scope).sees("Ours 2", "Benefiting us 1", "Chapters’ 1", "All 4")
		for _, title := range all {
			equal(t, strings.Contains(page.words(), title), slices.Contains(shown, title),
				"%q: %s is shown, or missing", scope, title)
		}
	}
	ours := owner.get("campaigns").sees("Goal reached", "101% $18,340 of $18,000", "265", "Jan 31, 2020",
		"No goal set $5", "No end date")
	if strings.Index(ours.body, "Annual fund") > strings.Index(ours.body, "Coat drive") {
		t.Error("the newest is not first")
	}
	owner.get("campaigns?scope=benefiting").sees("0% $0 of $3,000")
	owner.get("campaigns?scope=chapters").sees("Portland", "40% 40 CHF of 100 CHF")
	owner.get("campaigns?page=7").sees("This page is empty")
	owner.get("campaigns?scope=nonsense").is(303).leads(owner.org("/campaigns"))

	// Not everything that a user sees can be changed.
	for _, c := range []campaign.Campaign{kitchen, run} {
		path := owner.campaignAddress(c)
		owner.get(path).sees(c.Title, "Run by").lacks("Edit", "Friends of the Harbor", "None")
		owner.get(path + "/edit").is(404)
		owner.post(path, "title", "Mine now").is(404)
	}
}

// Most campaigns of a chapter benefit the organization above it.
func TestAChapterNamesTheOrganizationAboveAsABeneficiary(t *testing.T) {
	s := anySite(t)
	above := s.member(s.organization("Harbor Light"), access.Owner)
	chapter := s.chapter(above, "Portland")
	editor := s.member(chapter, access.Editor)
	editor.get("campaigns/new").sees("Your parent organization").lacks("Harbor Light") // only its members know its name
	both := s.member(chapter, access.Editor)
	must(s.store.AddMember(t.Context(), above.account, access.Viewer, both.user.Email))(t)
	both.get("campaigns/new").sees("Harbor Light")
	editor.follow("campaigns", "title", "10K", "beneficiaries", above.account.ID)
	above.get("campaigns?scope=benefiting").sees("10K", "Portland")
}

// Pictures are loaded over https or not at all, and the links of a campaign give the linked page no access to ours.
func TestForeignAddressesOfACampaignAreOnlyLinks(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	plain := s.campaign(owner.account, `{"title":"A"}`, plainPictures)
	film := s.campaign(owner.account,
		`{"title":"B","cover":{"type":"video","url":"https://youtu.be/x","source":"youtube"}}`)
	for _, c := range []campaign.Campaign{plain, film} {
		page := owner.get(owner.campaignAddress(c))
		page.has(`rel="noopener nofollow noreferrer"`)
		if regexp.MustCompile(`<img [^>]*src="[^/]`).MatchString(page.body) {
			t.Errorf("%s: a picture, or a link that says too much", c.Title)
		}
	}
	owner.get(owner.campaignAddress(film)).sees("Video (YouTube)")
}

func TestHTMLThatIsRemovedIsSaid(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	a := p.follow("campaigns", "title", strings.Repeat("Gala ", 50), "description",
		`<p>Come</p><table><tr><td>Soup</td></tr></table><img src="http://img.example.org/a.png">`, "event.details",
		`<iframe src="x"></iframe>`)
	a.sees("is live. View page",
		"Some HTML isn’t allowed and was removed: embedded pages, images, tables. Images and links must start with "+
			"https://.", "Soup")
	path := strings.TrimSuffix(editPath.FindString(a.body), "/edit")
	p.follow(path, p.get(path+"/edit").fields()...).lacks("removed") // nothing more
	p.follow(path, "title", "Gala", "description", "<div>Come</div>").
		sees("“Gala” saved. Some HTML isn’t allowed and was removed: <div>.")
}

// The story is written with light formatting, shown as it will look before it is saved, and shown again as it was
// written.
func TestAStoryIsWrittenWithLightFormatting(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	const story = "# Why\n\nCome **soon**, [see](https://a.example) and\nbring:\n\n- bread\n- wine"
	const shown = "<h2>Why</h2>\n<p>Come <strong>soon</strong>, <a href=\"https://a.example\" rel=\"nofollow noopener\" target=\"_blank\">see</a> and<br>bring:</p>\n<ul>\n<li>bread</li>\n<li>wine</li>\n</ul>"
	a := p.do("POST", "campaigns", url.Values{"do": {"preview"}, "description": {story}},
		http.Header{"Hx-Request": {"true"}})
	a.is(200)
	equal(t, a.body, shown, "the preview is %d", a.status)
	a = p.post("campaigns", "do", "preview", "title", "Gala", "goal", "many", "description", story) // without a script
	a.is(200).sees("New campaign", "Preview Why Come soon , see and bring:").has(shown, `value="many"`).
		lacks("attention")
	equal(t, must(s.store.CampaignTotals(t.Context(), p.account.Number))(t)[campaign.AllCampaigns], 0,
		"a preview makes campaigns")
	p.follow("campaigns", "title", "Gala", "description", story)
	made, _, err := s.store.CampaignPage(t.Context(), p.account.Number, campaign.OwnCampaigns,
		crm.PageRequest{Page: 1, PerPage: 1})
	succeed(t, err)
	equal(t, made[0].Description, shown, "%+v", made)
	p.get(p.campaignAddress(made[0]) + "/edit").has(">" + html.EscapeString(story) + "</textarea>").
		lacks("shown as HTML")
	table := s.campaign(p.account, `{"title":"Old","description":"<h1>Why</h1><p>a<sub>2</sub></p>"}`)
	p.get(p.campaignAddress(table)+"/edit").sees("shown as HTML", "<h1>Why</h1><p>a<sub>2</sub></p>")
}

var editPath = regexp.MustCompile(`/console/o/\w+/campaigns/\d+/edit`)

// Every page that shows a campaign adds its opening balance and its gifts; its form has only the opening balance.
func TestPagesCountTheGiftsOfACampaign(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	gala := s.campaign(owner.account, `{"title":"Gala","goal":100,"raised":10,"donors":2}`)
	s.donation(owner.account, s.newcomer(owner.account, "Ana", "Lima").ID,
		`"campaign_id":%d,"currency":"USD","amount":20.50,"method":"check","transacted_at":"2026-01-15"`, gala.ID)
	s.donation(owner.account, s.newcomer(owner.account, "Ana", "Lima").ID,
		`"campaign_id":%d,"currency":"EUR","amount":5,"method":"check","transacted_at":"2026-01-15"`, gala.ID)
	s.donation(owner.account, s.newcomer(owner.account, "Ana", "Lima").ID,
		`"campaign_id":%d,"currency":"CHF","amount":6,"method":"check","transacted_at":"2026-01-15"`, gala.ID)
	path := owner.campaignAddress(gala)
	owner.get(path).sees("$30.50 30% of $100 · 3 donors", "Includes $10 raised before Donorbook.",
		"Gifts in CHF, EUR aren’t included.")
	owner.get("campaigns").sees("30% $30.50 of $100")
	owner.get("").sees("$30.50 of $100", "30% of the goal · 3 donors")
	s.visitor().get("/gala").sees("$30.50 raised of $100", "3 donors")
	s.visitor().get("/gala").lacks("before Donorbook", "EUR")
	form := owner.get(path + "/edit")
	form.sees("Raised before Donorbook", "Donors before Donorbook").
		has(`name="raised" type="text" value="10"`, `name="donors" type="text" value="2"`)
	owner.follow(path, form.fields()...).sees("“Gala” saved.", "$30.50")

	owner.post(path, append([]string{"currency", "EUR"}, owner.get(path+"/edit").fields()...)...).
		sees("Currency must stay USD, because there are already gifts.")

	plain := s.campaign(owner.account, `{"title":"Plain","raised":7}`)
	owner.get(owner.campaignAddress(plain)).lacks("before Donorbook", "not included")
}

const donateLink = `<a class="button primary" href="https://pay.example.org/gala?x=1&amp;y=2" rel="noopener noreferrer nofollow" target="_blank">`

func TestACampaignIsPublishedClosedAndReopened(t *testing.T) {
	s, editor := signedIn(t, access.Editor)
	viewer, stranger := s.member(editor.account, access.Viewer), s.visitor()
	other := s.member(s.organization("Friends"), access.Owner)
	page := editor.follow("campaigns", "title", "Gala", "payment_link", "https://pay.example.org/gala?x=1&y=2",
		"status", "draft").
		sees("“Gala” is a draft.", "Publish campaign", "Payment link https://pay.example.org/gala?x=1&y=2")
	path := strings.TrimSuffix(editPath.FindString(page.body), "/edit")
	set := func(status string) answer { return editor.follow(path + "/status/" + status) }
	undo := func(to string) string {
		return `action="` + path + "/status/" + to + `"><button class="button small">Undo`
	}

	// For strangers, a draft does not exist; a member sees it as it will look.
	browser := http.Header{"Accept": {browserAccepts}}
	for _, p := range []*person{stranger, other} {
		equal(t, p.do("GET", "/gala", nil, browser).is(404).body, p.do("GET", "/nothing", nil, browser).body,
			"a stranger gets")
		p.get("/gala").is(404).has(`{"message":"Not found."}`)
	}
	viewer.get("/gala").is(200).sees("This is a draft.", "Gala").hides("pay.example.org").
		with("Cache-Control", "no-store")

	set("published").sees("“Gala” is live.").has(undo("draft"))
	public := stranger.get("/gala").is(200).has(donateLink).lacks("draft", "closed").
		with("Cache-Control", "private, max-age=60")
	equal(t, viewer.get("/gala").body, public.body, "a member sees another page")
	set("draft")
	stranger.get("/gala").is(404)
	set("draft").lacks("Undo") // a second time changes nothing
	set("published")
	set("closed").sees("“Gala” is closed.", "Reopen campaign").has(undo("published"))
	stranger.get("/gala").is(200).sees("is closed and no longer accepts donations.").hides("pay.example.org")
	editor.follow(path, editor.get(path+"/edit").fields()...).sees("Closed") // its form does not change its state
	set("published")
	stranger.get("/gala").has(donateLink)
	editor.post(path + "/status/open").is(404)
	other.post(other.org(strings.TrimPrefix(path, editor.org(""))) + "/status/closed").is(404)
}

func TestACampaignIsDeletedAfterAQuestion(t *testing.T) {
	s, editor := signedIn(t, access.Editor)
	gala, ball := s.campaign(editor.account, `{"title":"Gala"}`), s.campaign(editor.account, `{"title":"Ball"}`)
	path := editor.campaignAddress(gala)
	question := editor.get(path+"/delete").is(200).sees("Delete “Gala”?", "It can’t be undone.")
	editor.follow(path, "title", "Gala 2") // somebody changes it meanwhile
	editor.post(path+"/delete", question.fields()...).is(409)
	editor.follow(path+"/delete", editor.get(path+"/delete").fields()...).sees("“Gala 2” deleted.", "Ball")
	editor.get(path).is(404)
	editor.post(path + "/delete").is(404)
	s.visitor().get("/gala").is(404)

	path = editor.campaignAddress(ball)
	question = editor.get(path + "/delete")
	s.donation(editor.account, s.newcomer(editor.account, "Ana", "Lima").ID,
		`"campaign_id":%d,"amount":5,"method":"check","transacted_at":"2026-01-15"`, ball.ID)
	for _, a := range []answer{editor.post(path+"/delete", question.fields()...).is(422),
		editor.get(path + "/delete")} {
		a.sees("This campaign has gifts, so it can’t be deleted. Close it instead").lacks("Keep campaign")
	}
	editor.get(path).is(200)
}

func TestAnOldAddressLeadsToTheNewOne(t *testing.T) {
	s := anySite(t)
	editor, stranger := s.member(s.organization("Harbor Light"), access.Editor), s.visitor()
	c := s.campaign(editor.account, `{"title":"Gala"}`)
	path := editor.campaignAddress(c)
	editor.follow(path, "title", "Gala", "slug", "ball")
	for _, address := range []struct{ old, now string }{{"/gala", "/ball"},
		{"/gala?utm_source=mail&x=%2F", "/ball?utm_source=mail&x=%2F"}} {
		stranger.get(address.old).is(308).leads(address.now).with("Cache-Control", "private, max-age=60")
	}
	stranger.get("/ball").sees("Gala")
	stranger.do("POST", "/gala", nil, nil).is(404)

	// The old address of a draft does not reveal the new one to strangers.
	editor.follow(path + "/status/draft")
	stranger.get("/gala").is(404)
	editor.get("/gala").is(308).leads("/ball").with("Cache-Control", "no-store")

	// If another campaign takes the address, the address leads to that campaign.
	s.campaign(s.organization("Friends"), `{"title":"Garden party","slug":"gala"}`)
	stranger.get("/gala").is(200).sees("Garden party")
}

// pictured is a PNG file of a size.
func pictured(t *testing.T, width, height int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = uint8(i) | uint8(i&3/3*255)
	}
	var b bytes.Buffer
	succeed(t, png.Encode(&b, m))
	return b.Bytes()
}

// postsFiles sends a form with pictures. One without contents was not chosen.
func (p *person) postsFiles(path string, files map[string][]byte, fields ...string) answer {
	p.site.t.Helper()
	sent := map[string]io.Reader{}
	for name, file := range files {
		if file != nil {
			name += " photo.png"
		}
		sent[name] = bytes.NewReader(file)
	}
	return p.sends(path, sent, fields...)
}

var pictureAddress = regexp.MustCompile(`/pictures/[0-9]+-[a-z2-7]{26}-[0-9]+\.(?:jpg|png)`)

func TestAPictureIsUploadedShownReplacedAndRemoved(t *testing.T) {
	s := anySite(t)
	p, visitor := s.member(s.organization("Harbor"), access.Owner), s.visitor()
	made := p.postsFiles("campaigns", map[string][]byte{"cover.url_file": pictured(t, 900, 450), "logo_file": nil},
		"title", "Gala", "type", "collect", "currency", "USD")
	made.is(303)
	public := visitor.get("/gala")
	first := pictureAddress.FindString(public.body)
	equal(t, strings.HasSuffix(first, "-900.jpg"), true, "the public page shows")
	contains(t, public.body, `<meta property="og:image" content="`+s.http.URL+first+`">`, "the public page shows")
	contains(t, public.body, "-400.jpg 400w", "the public page shows")
	shown := visitor.get(first)
	for header, want := range map[string]string{"Content-Type": "image/jpeg",
		"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
		"ETag": `"` + strings.TrimPrefix(first, picture.Root) + `"`} {
		equal(t, shown.header.Get(header), want, "%s of the picture", header)
	}
	if m, _, err := image.Decode(strings.NewReader(shown.body)); err != nil || m.Bounds().Dx() != 900 {
		t.Errorf("the picture cannot be read: %v", err)
	}
	again := visitor.do(http.MethodGet, first, nil, http.Header{"If-None-Match": {shown.header.Get("ETag")}})
	again.is(304)
	equal(t, again.body, "", "a picture that the browser has is sent again: %d", again.status)
	edit := made.location() + "/edit"
	p.get(edit).has(`<input type="hidden" name="cover.url_kept" value="`+first+`">`,
		`name="cover.url" type="url" value=""`).hides(`id="cover-address" open`)
	// Saving something else keeps it; another file replaces it; the box removes it.
	p.postsFiles(made.location(), map[string][]byte{"cover.url_file": nil}, "title", "Gala", "slug", "gala", "currency",
		"USD", "cover.url_kept", first).is(303)
	visitor.get(first).is(200)
	p.postsFiles(made.location(), map[string][]byte{"cover.url_file": pictured(t, 300, 200)}, "title", "Gala", "slug",
		"gala", "currency", "USD", "cover.url_kept", first).is(303)
	second := pictureAddress.FindString(visitor.get("/gala").body)
	if before := visitor.get(first); before.status != 404 ||
		before.header.Get("Cache-Control") == "public, max-age=31536000, immutable" ||
		!strings.HasSuffix(second, "-300.jpg") {
		t.Errorf("the first picture answers %d, the page shows %s", before.status, second)
	}
	p.postsFiles(made.location(), nil, "title", "Gala", "slug", "gala", "currency", "USD", "cover.url_kept", second,
		"cover.url_remove", "yes").is(303)
	equal(t, pictureAddress.MatchString(visitor.get("/gala").body), false, "the picture was not removed")
	equal(t, visitor.get(second).status, 404, "the picture was not removed")
}

func TestAStoryHasPictures(t *testing.T) {
	s := anySite(t)
	p, visitor := s.member(s.organization("Harbor"), access.Owner), s.visitor()
	made := p.postsFiles("campaigns", map[string][]byte{"story_file": pictured(t, 900, 450), "cover.url_file": nil},
		"title", "Gala", "type", "collect", "currency", "USD", "description", "Come and **eat**.", "story_shows",
		"Volunteers [serve]\ndinner")
	made.is(303)
	public := visitor.get("/gala").body
	address := pictureAddress.FindString(public)
	contains(t, public, `<p>Come and <strong>eat</strong>.</p>`, "the story is shown")
	contains(t, public, `<p><img src="`+address+`" srcset="`, "the story is shown")
	contains(t, public, `alt="Volunteers [serve] dinner"`, "the story is shown")
	contains(t, public, "-400.jpg 400w", "the story is shown")
	visitor.get(address).is(200)
	line := `![Volunteers \[serve\] dinner](` + address + `)`
	contains(t, p.get(made.location()+"/edit").body, line, "the form does not have the line of the picture")
	save := func(story string, files map[string][]byte) answer {
		return p.postsFiles(made.location(), files, "title", "Gala", "slug", "gala", "currency", "USD", "description",
			story)
	}
	save(line+"\n\nCome and eat.", map[string][]byte{"story_file": nil}).is(303)
	public = visitor.get("/gala").body
	visitor.get(address).is(200)
	if strings.Index(public, address) > strings.Index(public, "Come and eat.</p>") {
		t.Errorf("the picture was not moved to the beginning: %s", public)
	}
	p.postsFiles(made.location(), map[string][]byte{"story_file": pictured(t, 9, 9)}, "title", "", "currency", "USD",
		"description", "Come and eat.").is(422).has("Choose the picture for the story again.",
		">Come and eat.</textarea>")
	save("Come and eat.", nil).is(303)
	visitor.get(address).is(404)
	if pictureAddress.MatchString(visitor.get("/gala").body) {
		t.Error("a picture is left that no story shows")
	}
}

func TestTheLogoOfTheOrganizationIsShownWhereACampaignHasNone(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	s.campaign(p.account, `{"title":"Gala"}`)
	save := p.org("/settings/organization")
	p.postsFiles(save, map[string][]byte{"logo_file": []byte("no picture")}, "name", "", "timezone", "UTC").is(422).
		sees("2 things need your attention.", "Name is required")
	p.postsFiles(save, map[string][]byte{"logo_file": pictured(t, 600, 600)}, "name", "Harbor", "timezone", "UTC").
		is(303)
	settings := p.get("settings")
	settings.sees("Organization saved.", "Remove picture")
	// the logo stays
	p.postsFiles(save, map[string][]byte{"logo_file": nil}, "name", "Harbor Light", "timezone", "UTC").is(303)
	logo := pictureAddress.FindString(settings.body)
	if public := s.visitor().get("/gala"); !strings.HasSuffix(logo, "-512.png") ||
		!strings.Contains(public.body, `<img src="`+logo) {
		t.Errorf("the public page lacks the logo %q: %s", logo, public.body)
	}
	p.post(save, "name", "Harbor", "timezone", "UTC", "logo_remove", "yes").is(303)
	equal(t, pictureAddress.MatchString(s.visitor().get("/gala").body), false, "the logo is still")
	equal(t, p.get(logo).status, 404, "the logo is still")
	editor := s.member(p.account, access.Editor)
	editor.postsFiles(save, map[string][]byte{"logo_file": pictured(t, 9, 9)}).is(403)
}

// A file that is refused is told beside its field, and what was typed stays.
func TestAFileThatIsNoPictureIsRefusedBesideItsField(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	var moving bytes.Buffer
	succeed(t, gif.Encode(&moving, image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black}), nil))
	for says, file := range map[string][]byte{
		"Cover image must be a PNG, JPEG or WebP image.": moving.Bytes(),
		"Cover image is damaged or incomplete.":          pictured(t, 300, 300)[:400],
		"Cover image must not be larger than 8 MB.":      make([]byte, 9_000_000),
	} {
		p.postsFiles("campaigns", map[string][]byte{"cover.url_file": file, "logo_file": pictured(t, 9, 9)}, "title",
			"Warm <coats>", "subtitle", "Typed").is(422).sees(says, "Choose the logo again.").
			has(`value="Warm &lt;coats&gt;"`, `href="#f-cover-url_file"`,
				`aria-describedby="f-cover-url_file-hint f-cover-url_file-fault"`)
	}
	p.get("campaigns").hides("Warm")
	// The other way around: the picture is right, and something else is wrong.
	a := p.postsFiles("campaigns", map[string][]byte{"cover.url_file": pictured(t, 9, 9)}, "title", "", "goal", "much")
	a.sees("Title is required.", "Choose the cover image again.")
	if pictureAddress.MatchString(a.body) {
		t.Error("the form holds a picture that was not stored")
	}
}

func TestAFormInPartsIsBounded(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	p.postsFiles("campaigns", nil, "title", "Gala", "description", strings.Repeat("n", 1<<20)).is(413)
	p.postsFiles("campaigns", nil, "title", "\xff").is(400)
	cut := p.request("POST", "campaigns",
		io.MultiReader(strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nGala")))
	cut.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	p.send(fromHere(cut)).is(400)
}

// Where other requests of the organization hold all the memory that it may have, the form comes back with what was
// typed.
func TestAPictureWaitsForMemoryOnTheForm(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	s.busy = p.account.Number
	p.postsFiles("campaigns", map[string][]byte{"cover.url_file": make([]byte, 100_000)}, "title", "Warm coats").
		sees("Too many images are being uploaded right now.").has(`value="Warm coats"`)
}

// A person whose session has ended gets the text of the form back.
func TestAFormInPartsSurvivesTheSignIn(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	a := p.postsFiles("campaigns", map[string][]byte{"cover.url_file": nil}, "title", "Warm coats", "subtitle",
		"Typed for an hour")
	a.is(401)
	p.signBackIn(a).has(`value="Typed for an hour"`)
}
