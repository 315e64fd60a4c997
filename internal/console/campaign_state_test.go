package console_test

import (
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

// Every page that shows a campaign adds its opening balance and its gifts; its form has only the opening balance.
func TestPagesCountTheGiftsOfACampaign(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	gala := s.campaign(owner.account, `{"title":"Gala","goal":100,"raised":10,"donors":2}`)
	s.donation(owner.account, s.newcomer(owner.account, "Ana", "Lima").ID, `"campaign_id":%d,"currency":"USD","amount":20.50,"method":"check","transacted_at":"2026-01-15"`, gala.ID)
	s.donation(owner.account, s.newcomer(owner.account, "Ana", "Lima").ID, `"campaign_id":%d,"currency":"EUR","amount":5,"method":"check","transacted_at":"2026-01-15"`, gala.ID)
	s.donation(owner.account, s.newcomer(owner.account, "Ana", "Lima").ID, `"campaign_id":%d,"currency":"CHF","amount":6,"method":"check","transacted_at":"2026-01-15"`, gala.ID)
	path := owner.campaignAddress(gala)
	owner.get(path).sees("$30.50 30% of $100 · 3 donors", "Includes $10 raised before Donorbook.", "Gifts in CHF, EUR aren’t included.")
	owner.get("campaigns").sees("30% $30.50 of $100")
	owner.get("").sees("$30.50 of $100", "30% of the goal · 3 donors")
	s.visitor().get("/gala").sees("$30.50 raised of $100", "3 donors")
	s.visitor().get("/gala").lacks("before Donorbook", "EUR")
	form := owner.get(path + "/edit")
	form.sees("Raised before Donorbook", "Donors before Donorbook").has(`name="raised" type="text" value="10"`, `name="donors" type="text" value="2"`)
	owner.follow(path, form.fields()...).sees("“Gala” saved.", "$30.50")

	owner.post(path, append([]string{"currency", "EUR"}, owner.get(path+"/edit").fields()...)...).sees("Currency must stay USD, because there are already gifts.")

	plain := s.campaign(owner.account, `{"title":"Plain","raised":7}`)
	owner.get(owner.campaignAddress(plain)).lacks("before Donorbook", "not included")

}

const donateLink = `<a class="button primary" href="https://pay.example.org/gala?x=1&amp;y=2" rel="noopener noreferrer nofollow" target="_blank">`

func TestACampaignIsPublishedClosedAndReopened(t *testing.T) {
	s, editor := signedIn(t, access.Editor)
	viewer, stranger := s.member(editor.account, access.Viewer), s.visitor()
	other := s.member(s.organization("Friends"), access.Owner)
	page := editor.follow("campaigns", "title", "Gala", "payment_link", "https://pay.example.org/gala?x=1&y=2", "status", "draft").
		sees("“Gala” is a draft.", "Publish campaign", "Payment link https://pay.example.org/gala?x=1&y=2")
	path := strings.TrimSuffix(editPath.FindString(page.body), "/edit")
	set := func(status string) answer { return editor.follow(path + "/status/" + status) }
	undo := func(to string) string {
		return `action="` + path + "/status/" + to + `"><button class="button small">Undo`
	}

	// For strangers, a draft does not exist; a member sees it as it will look.
	browser := http.Header{"Accept": {browserAccepts}}
	for _, p := range []*person{stranger, other} {
		if a := p.do("GET", "/gala", nil, browser).is(404); a.body != p.do("GET", "/nothing", nil, browser).body {
			t.Errorf("a stranger gets %s", a.words())
		}
		p.get("/gala").is(404).has(`{"message":"Not found."}`)
	}
	viewer.get("/gala").is(200).sees("This is a draft.", "Gala").hides("pay.example.org").with("Cache-Control", "no-store")

	set("published").sees("“Gala” is live.").has(undo("draft"))
	public := stranger.get("/gala").is(200).has(donateLink).lacks("draft", "closed").with("Cache-Control", "private, max-age=60")
	if viewer.get("/gala").body != public.body {
		t.Error("a member sees another page")
	}
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
	for _, a := range []answer{editor.post(path+"/delete", question.fields()...).is(422), editor.get(path + "/delete")} {
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
	for _, address := range []struct{ old, now string }{{"/gala", "/ball"}, {"/gala?utm_source=mail&x=%2F", "/ball?utm_source=mail&x=%2F"}} {
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
