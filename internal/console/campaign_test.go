package console_test

import (
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
	logo, cover := "http://img.example.org/l.png", &campaign.Cover{Type: "image", URL: "http://img.example.org/c.png", Source: "upload"}
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

func (p *person) doesNotSee(a answer, words ...string) {
	p.site.t.Helper()
	a.lacks(words...)
}

// wholeForm is everything that the form of a campaign holds.
func wholeForm(beneficiaries ...string) []string {
	pairs := []string{
		"title", " Lighthouse Gala ", "subtitle", "An evening for the harbor", "type", "event", "slug", "the-gala",
		"description", "<p>Come &amp; <b>dine</b></p><script>alert(1)</script>", "goal", "$120,000", "raised", "64500.50", "donors", "1,148", "currency", "usd",
		"end_at", "2027-04-30T23:59", "cover.url", "https://images.example.org/gala.jpg", "cover.type", "image", "cover.source", "upload",
		"logo", "https://images.example.org/logo.png",
		"event.title", "Gala night", "event.type", "hybrid", "event.start_at", "2027-04-24T18:00", "event.end_at", "2027-04-24T23:00", "event.timezone", "America/New_York",
		"event.location_name", "Custom House Hall", "event.address_formatted", "3 McKinley Square", "event.google_place_id", "ChIJx",
		"event.details", "Dinner\nand music", "event.tickets_required", "yes", "event.private", "yes",
		"event.livestream.url", "https://video.example.org/gala", "event.livestream.embed_url", "https://video.example.org/e/gala", "event.livestream.platform", "youtube",
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
	editor.get("campaigns/new").is(200).sees("New campaign", "Story", "Goal", "End date", "Cover", "Page", "Money", "Event", "Livestream", "Beneficiaries", "Portland")

	editor.follow("campaigns", append(wholeForm(chapter.ID), "other_beneficiaries", friend.ID)...).is(200).sees("“Lighthouse Gala” is live.",
		"Lighthouse Gala", "An evening for the harbor", "Event", "Come & dine", "$64,500.50", "53% of $120,000 · 1,148 donors", "Apr 30, 2027, 11:59 PM UTC", "/the-gala",
		"Gala night", "In person and online", "Apr 24, 2027, 6:00 PM (America/New_York)", "Apr 24, 2027, 11:00 PM (America/New_York)", "Custom House Hall", "3 McKinley Square", "ChIJx",
		"Dinner and music", "Invited guests only, ticket required", "https://video.example.org/gala", "https://video.example.org/e/gala", "YouTube", "external",
		"Apr 24, 2027, 7:00 PM (America/New_York)", "Portland", friend.ID).lacks("Friends of the Harbor", "alert(1)").has(`<p>Come &amp; <b>dine</b></p>`, `src="https://images.example.org/gala.jpg"`)

	campaigns, _, err := s.store.CampaignPage(t.Context(), editor.account.Number, campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: 10})
	if err != nil || len(campaigns) != 1 {
		t.Fatalf("%d campaigns, %v", len(campaigns), err)
	}
	c, beneficiaries := s.stored(editor.account, campaigns[0].ID)
	body, _ := c.AppendBody(nil)
	for _, part := range []string{
		`"goal":120000,"raised":64500.5,"donors":1148,"currency":"USD"`, `"end_at":"2027-04-30 23:59:00"`, `"start_at":"2027-04-24 22:00:00"`,
		`"livestream_end_at":"2027-04-25 00:00:00"`, `"details":"<p>Dinner<br>and music</p>"`, `"private":true,"tickets_required":true`, `"scheduled":true`,
	} {
		if !strings.Contains(string(body), part) {
			t.Errorf("%s lacks %s", body, part)
		}
	}
	if len(beneficiaries) != 2 {
		t.Errorf("beneficiaries %q", beneficiaries)
	}

}

// A user does not overwrite another user's changes by accident: neither the content of the campaign nor its beneficiaries.
func TestAnOldFormOfACampaignDoesNotOverwriteUnawares(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	friend := s.organization("Friends")
	c := s.campaign(p.account, `{"title":"Gala"}`)
	path := p.campaignAddress(c)
	typed := func(form answer, pairs ...string) []string { return append(pairs, form.fields()...) } // the first value of a name counts
	for _, theirs := range [][]string{{"subtitle", "Theirs"}, {"other_beneficiaries", friend.ID}} {
		mine := p.get(path + "/edit")
		p.follow(path, typed(p.get(path+"/edit"), theirs...)...).sees("” saved.")
		before, beneficiaries := s.stored(p.account, c.ID)
		mine = p.post(path, typed(mine, "title", "")...) // an invalid form does not make an old one new
		mine.is(422)
		a := p.post(path, typed(mine, "title", "Ball")...)
		a.is(422).sees("Someone else changed this campaign after you opened the form. Open the campaign in another tab")
		if after, still := s.stored(p.account, c.ID); after.Version(still) != before.Version(beneficiaries) || !strings.Contains(a.body, `value="Ball"`) {
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
	s.campaign(owner.account, `{"title":"Odd","event":{"type":"seance","timezone":"Asia/Kolkata","start_at":"2027-01-01 00:00:07"}}`)
	campaigns, _, err := s.store.CampaignPage(t.Context(), owner.account.Number, campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: 10})
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
	editor.post("campaigns", "title", "", "subtitle", "Kept", "slug", "Gala!", "goal", "a lot", "cover.url", "http://img.example.org/c.png", "payment_link", "javascript:alert(1)",
		"event.start_at", "2026-03-08T02:30", "event.timezone", "America/New_York", "other_beneficiaries", "x AAAAAAAAAAAAAAAA").is(422).sees("7 things need your attention", "Title is required", "Web address must be 1 to 255 lowercase letters, digits and single hyphens", "Goal must be 0 or more and less than 10 billion, such as 1,500",
		"Cover image or video must be a full link that starts with https:", "Payment link must be a full link", "Start is a time that does not exist in America/New_York: clocks skip it on that day",
		"“x” isn’t the ID of an organization on this server.").has(`value="Kept"`, `value="Gala!"`, `value="a lot"`, `value="2026-03-08T02:30"`, "x AAAAAAAAAAAAAAAA</textarea>", `id="event" open`)
	// Errors that only the database can detect.
	editor.post("campaigns", "title", "Gala", "slug", "gala", "other_beneficiaries", "AAAAAAAAAAAAAAAA").is(422).sees("2 things need your attention", "Web address is taken: choose another one.", "“AAAAAAAAAAAAAAAA” isn’t the ID of an organization on this server.")
	if totals, err := s.store.CampaignTotals(t.Context(), editor.account.Number); err != nil || totals[campaign.AllCampaigns] != 1 {
		t.Errorf("%v, %v", totals, err)
	}
}

func TestCampaignsAreListedInFourScopes(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor Light"), access.Owner)
	chapter, friend := s.chapter(owner, "Portland"), s.organization("Friends of the Harbor")
	s.campaign(owner.account, `{"title":"Coat drive","goal":18000,"raised":18340,"donors":265,"end_at":"2020-01-31 12:00:00"}`)
	s.campaign(owner.account, `{"title":"Annual fund","type":"general","raised":5}`)
	kitchen := s.campaign(chapter, `{"title":"Kitchen","goal":100,"raised":40,"currency":"CHF"}`)
	run := s.campaign(friend, `{"title":"Fun run","goal":3000,"beneficiaries":["`+owner.account.ID+`"]}`)
	s.campaign(friend, `{"title":"Secret plan"}`)
	all := []string{"Coat drive", "Annual fund", "Kitchen", "Fun run", "Secret plan", "Friends of the Harbor"}
	for scope, shown := range map[string][]string{"": all[:2], "benefiting": all[3:4], "chapters": all[2:3], "all": all[:4]} {
		page := owner.get("campaigns?scope="+scope).sees("Ours 2", "Benefiting us 1", "Chapters’ 1", "All 4")
		for _, title := range all {
			if strings.Contains(page.words(), title) != slices.Contains(shown, title) {
				t.Errorf("%q: %s is shown, or missing", scope, title)
			}
		}
	}
	ours := owner.get("campaigns").sees("Goal reached", "101% $18,340 of $18,000", "265", "Jan 31, 2020", "No goal set $5", "No end date")
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
	film := s.campaign(owner.account, `{"title":"B","cover":{"type":"video","url":"https://youtu.be/x","source":"youtube"}}`)
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
	a := p.follow("campaigns", "title", strings.Repeat("Gala ", 50), "description", `<p>Come</p><table><tr><td>Soup</td></tr></table><img src="http://img.example.org/a.png">`, "event.details", `<iframe src="x"></iframe>`)
	a.sees("is live. View page", "Some HTML isn’t allowed and was removed: embedded pages, images, tables. Images and links must start with https://.", "Soup")
	path := strings.TrimSuffix(editPath.FindString(a.body), "/edit")
	p.follow(path, p.get(path+"/edit").fields()...).lacks("removed") // nothing more
	p.follow(path, "title", "Gala", "description", "<div>Come</div>").sees("“Gala” saved. Some HTML isn’t allowed and was removed: <div>.")

}

// The story is written with light formatting, shown as it will look before it is saved, and shown again as it was written.
func TestAStoryIsWrittenWithLightFormatting(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	const story = "# Why\n\nCome **soon**, [see](https://a.example) and\nbring:\n\n- bread\n- wine"
	const shown = "<h2>Why</h2>\n<p>Come <strong>soon</strong>, <a href=\"https://a.example\" rel=\"nofollow noopener\" target=\"_blank\">see</a> and<br>bring:</p>\n<ul>\n<li>bread</li>\n<li>wine</li>\n</ul>"
	a := p.do("POST", "campaigns", url.Values{"do": {"preview"}, "description": {story}}, http.Header{"Hx-Request": {"true"}})
	a.is(200)
	if a.body != shown {
		t.Errorf("the preview is %d %s", a.status, a.body)
	}
	a = p.post("campaigns", "do", "preview", "title", "Gala", "goal", "many", "description", story) // without a script
	a.is(200).sees("New campaign", "Preview Why Come soon , see and bring:").has(shown, `value="many"`).lacks("attention")
	if totals, err := s.store.CampaignTotals(t.Context(), p.account.Number); err != nil || totals[campaign.AllCampaigns] != 0 {
		t.Errorf("a preview makes campaigns: %v, %v", totals, err)
	}
	p.follow("campaigns", "title", "Gala", "description", story)
	made, _, err := s.store.CampaignPage(t.Context(), p.account.Number, campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: 1})
	if err != nil || made[0].Description != shown {
		t.Fatalf("%+v, %v", made, err)
	}
	p.get(p.campaignAddress(made[0]) + "/edit").has(">" + html.EscapeString(story) + "</textarea>").lacks("shown as HTML")
	table := s.campaign(p.account, `{"title":"Old","description":"<h1>Why</h1><p>a<sub>2</sub></p>"}`)
	p.get(p.campaignAddress(table)+"/edit").sees("shown as HTML", "<h1>Why</h1><p>a<sub>2</sub></p>")
}

var editPath = regexp.MustCompile(`/console/o/\w+/campaigns/\d+/edit`)
