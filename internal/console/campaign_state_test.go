package console_test

import (
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
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
	s := anySite(t)

	account := s.organization("Harbor Light")
	editor, viewer, stranger := s.member(account, access.Editor), s.member(account, access.Viewer), s.visitor()
	other := s.member(s.organization("Friends"), access.Owner)
	page := editor.follow("campaigns", "title", "Gala", "payment_link", "https://pay.example.org/gala?x=1&y=2", "status", "draft")
	page.sees("“Gala” is a draft. Only members of your organization can see its page. View page", "Publish campaign", "Payment link https://pay.example.org/gala?x=1&y=2")
	path := strings.TrimSuffix(editPath.FindString(page.body), "/edit")
	editor.get("campaigns").sees("Draft")

	// For strangers, a draft does not exist; a member sees it as it will look.
	for _, p := range []*person{stranger, other} {
		unknown := p.do("GET", "/nothing", nil, http.Header{"Accept": {browserAccepts}})
		if a := p.do("GET", "/gala", nil, http.Header{"Accept": {browserAccepts}}); a.status != 404 || a.body != unknown.body {
			t.Errorf("a stranger gets %d %s", a.status, a.words())
		}
		if a := p.get("/gala"); a.status != 404 || a.body != `{"message":"Not found."}` {
			t.Errorf("a stranger gets %d %s", a.status, a.body)
		}
	}
	viewer.get("/gala").is(200).sees("This is a draft. Only signed-in members of Harbor Light can see this page.", "Gala").hides("pay.example.org").with("Cache-Control", "no-store")

	page = editor.follow(path + "/status/published")
	page.sees("“Gala” is live. View page", "Close campaign")
	public := stranger.get("/gala")
	public.is(200).lacks("draft", "closed").has(donateLink).with("Cache-Control", "private, max-age=60")
	if viewer.get("/gala").body != public.body {
		t.Error(public.body)
	}
	page.has(`action="` + path + `/status/draft"><button class="button small">Undo`)
	editor.follow(path + "/status/draft").sees("is a draft.")
	stranger.get("/gala").is(404)
	editor.follow(path + "/status/draft").lacks("Undo") // a second time changes nothing
	editor.follow(path + "/status/published")

	editor.follow(path+"/status/closed").sees("“Gala” is closed. Its page no longer asks for donations.", "Reopen campaign", "Closed").has(`action="` + path + `/status/published"><button class="button small">Undo`)
	stranger.get("/gala").is(200).sees("This campaign is closed and no longer accepts donations.").hides("pay.example.org")

	// The form of a campaign does not change its state.
	editor.follow(path, editor.get(path+"/edit").fields()...).sees("” saved.", "Closed")
	editor.follow(path + "/status/published").sees("“Gala” is live.")
	stranger.get("/gala").has(donateLink)

	viewer.post(path + "/status/closed").is(403)
	viewer.get(path).lacks("Close campaign", "Delete campaign")
	editor.post(path + "/status/open").is(404)
	other.post(other.org(strings.TrimPrefix(path, editor.org(""))) + "/status/closed").is(404)
	if c, _, err := s.store.CampaignBySlug(t.Context(), "gala"); err != nil || c.Status != campaign.Published {
		t.Errorf("it became %q, %v", c.Status, err)
	}

}

func TestACampaignIsDeletedAfterAQuestion(t *testing.T) {
	s := anySite(t)

	account := s.organization("Harbor Light")
	editor, viewer := s.member(account, access.Editor), s.member(account, access.Viewer)
	gala, ball := s.campaign(account, `{"title":"Gala"}`), s.campaign(account, `{"title":"Ball"}`)
	path := editor.campaignAddress(gala)
	editor.get(path).sees("Delete campaign")
	question := editor.get(path + "/delete")
	question.is(200).sees("Delete “Gala”?", "It can’t be undone.", "Delete campaign", "Keep campaign")
	viewer.get(path + "/delete").is(403)
	viewer.post(path + "/delete").is(403)

	// The deletion is refused if another user has changed the campaign meanwhile.
	editor.follow(path, "title", "Gala 2")
	editor.post(path+"/delete", question.fields()...).is(409)
	editor.follow(path+"/delete", editor.get(path+"/delete").fields()...).sees("“Gala 2” deleted.", "Ball")
	editor.get(path).is(404)
	editor.post(path + "/delete").is(404)
	s.visitor().get("/gala").is(404)

	path = editor.campaignAddress(ball)
	question = editor.get(path + "/delete")
	s.donation(account, s.newcomer(account, "Ana", "Lima").ID, `"campaign_id":%d,"currency":"USD","amount":5,"method":"check","transacted_at":"2026-01-15"`, ball.ID)
	refused := editor.post(path+"/delete", question.fields()...)
	refused.is(422)
	for _, a := range []answer{refused, editor.get(path + "/delete")} {
		a.sees("This campaign has gifts, so it can’t be deleted. Close it instead", "Close campaign", "Back to campaign").lacks("Keep campaign")
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
