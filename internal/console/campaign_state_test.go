package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
)

// gift records a gift of a new contact to a campaign.
func (s *site) gift(owner access.Account, campaign int64, currency, amount string) {
	s.t.Helper()
	in, faults, err := giving.DecodeGift(doc.NewBody([]byte(fmt.Sprintf(`{"campaign_id":%d,"currency":%q,"amount":%s,"method":"check","transacted_at":"2026-01-15","first_name":"Ana","last_name":"Lima"}`,
		campaign, currency, amount))))
	if err == nil {
		err = in.Validate(faults, true, "US", time.Now())
	}
	if err == nil {
		_, err = s.store.CreateGift(s.t.Context(), owner.Number, in)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// Every page that shows a campaign adds its opening balance and its gifts; its form has only the opening balance.
func TestPagesCountTheGiftsOfACampaign(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		owner := s.member(s.organization("Harbor Light"), access.Owner)
		gala := s.campaign(owner.account, `{"title":"Gala","goal":100,"raised":10,"donors":2}`)
		s.gift(owner.account, gala.ID, "USD", "20.50")
		s.gift(owner.account, gala.ID, "EUR", "5")
		s.gift(owner.account, gala.ID, "CHF", "6")
		path := owner.campaignAddress(gala)
		owner.sees(owner.get(path), "$30.50 30% of $100 · 3 donors", "Includes $10 raised before Donorbook.", "Gifts in CHF, EUR aren’t included.")
		owner.sees(owner.get(owner.org("/campaigns")), "30% $30.50 of $100")
		owner.sees(owner.get(owner.org("")), "$30.50 of $100", "30% of the goal · 3 donors")
		owner.sees(s.visitor().get("/gala"), "$30.50 raised of $100", "3 donors")
		owner.doesNotSee(s.visitor().get("/gala"), "before Donorbook", "EUR")
		form := owner.get(path + "/edit")
		owner.sees(form, "Raised before Donorbook", "Donors before Donorbook")
		for _, field := range []string{`name="raised" type="text" value="10"`, `name="donors" type="text" value="2"`} {
			if !strings.Contains(form.body, field) {
				t.Errorf("the form lacks %s", field)
			}
		}
		owner.sees(owner.follow(path, formValues(t, form.body)...), "“Gala” saved.", "$30.50")

		refused := owner.post(path, append([]string{"currency", "EUR"}, formValues(t, owner.get(path+"/edit").body)...)...)
		owner.sees(refused, "Currency must stay USD, because there are already gifts.")

		plain := s.campaign(owner.account, `{"title":"Plain","raised":7}`)
		owner.doesNotSee(owner.get(owner.campaignAddress(plain)), "before Donorbook", "not included")
	})
}

const donateLink = `<a class="button primary" href="https://pay.example.org/gala?x=1&amp;y=2" rel="noopener noreferrer nofollow" target="_blank">`

func TestACampaignIsPublishedClosedAndReopened(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		editor, viewer, stranger := s.member(account, access.Editor), s.member(account, access.Viewer), s.visitor()
		other := s.member(s.organization("Friends"), access.Owner)
		page := editor.follow(editor.org("/campaigns"), "title", "Gala", "payment_link", "https://pay.example.org/gala?x=1&y=2", "status", "draft")
		editor.sees(page, "“Gala” is a draft. Only members of your organization can see its page. View page", "Publish campaign", "Payment link https://pay.example.org/gala?x=1&y=2")
		path := strings.TrimSuffix(editPath.FindString(page.body), "/edit")
		editor.sees(editor.get(editor.org("/campaigns")), "Draft")

		// For strangers, a draft does not exist; a member sees it as it will look.
		for _, p := range []*person{stranger, other} {
			unknown := p.do("GET", "/nothing", nil, http.Header{"Accept": {browserAccepts}})
			if a := p.do("GET", "/gala", nil, http.Header{"Accept": {browserAccepts}}); a.status != http.StatusNotFound || a.body != unknown.body {
				t.Errorf("a stranger gets %d %s", a.status, a.words())
			}
			if a := p.get("/gala"); a.status != http.StatusNotFound || a.body != `{"message":"Not found."}` {
				t.Errorf("a stranger gets %d %s", a.status, a.body)
			}
		}
		preview := viewer.get("/gala")
		viewer.wantStatus(preview, http.StatusOK)
		viewer.sees(preview, "This is a draft. Only signed-in members of Harbor Light can see this page.", "Gala")
		if strings.Contains(preview.body, "pay.example.org") || preview.header.Get("Cache-Control") != "no-store" {
			t.Errorf("a draft asks for donations, or is kept by caches: %v", preview.header)
		}

		page = editor.follow(path + "/status/published")
		editor.sees(page, "“Gala” is live. View page", "Close campaign")
		public := stranger.get("/gala")
		stranger.wantStatus(public, http.StatusOK)
		stranger.doesNotSee(public, "draft", "closed")
		if !strings.Contains(public.body, donateLink) || public.header.Get("Cache-Control") != "private, max-age=60" || viewer.get("/gala").body != public.body {
			t.Error(public.body)
		}
		if !strings.Contains(page.body, `action="`+path+`/status/draft"><button class="button small">Undo`) {
			t.Error("publishing cannot be undone")
		}
		editor.sees(editor.follow(path+"/status/draft"), "is a draft.")
		stranger.wantStatus(stranger.get("/gala"), http.StatusNotFound)
		editor.doesNotSee(editor.follow(path+"/status/draft"), "Undo") // a second time changes nothing
		editor.follow(path + "/status/published")

		page = editor.follow(path + "/status/closed")
		editor.sees(page, "“Gala” is closed. Its page no longer asks for donations.", "Reopen campaign", "Closed")
		if !strings.Contains(page.body, `action="`+path+`/status/published"><button class="button small">Undo`) {
			t.Error("closing cannot be undone")
		}
		public = stranger.get("/gala")
		stranger.wantStatus(public, http.StatusOK)
		stranger.sees(public, "This campaign is closed and no longer accepts donations.")
		if strings.Contains(public.body, "pay.example.org") {
			t.Error("a closed campaign asks for donations")
		}

		// The form of a campaign does not change its state.
		editor.sees(editor.follow(path, formValues(t, editor.get(path+"/edit").body)...), "” saved.", "Closed")
		editor.sees(editor.follow(path+"/status/published"), "“Gala” is live.")
		if !strings.Contains(stranger.get("/gala").body, donateLink) {
			t.Error("a campaign that was reopened does not ask for donations")
		}

		viewer.wantStatus(viewer.post(path+"/status/closed"), http.StatusForbidden)
		viewer.doesNotSee(viewer.get(path), "Close campaign", "Delete campaign")
		editor.wantStatus(editor.post(path+"/status/open"), http.StatusNotFound)
		other.wantStatus(other.post(other.org(strings.TrimPrefix(path, editor.org("")))+"/status/closed"), http.StatusNotFound)
		if c, _, err := s.store.CampaignBySlug(t.Context(), "gala"); err != nil || c.Status != campaign.Published {
			t.Errorf("it became %q, %v", c.Status, err)
		}
	})
}

func TestAWrongPaymentLinkIsRefused(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor Light"), access.Editor)
	for _, link := range []string{"http://pay.example.org", "javascript:alert(1)", "pay.example.org"} {
		a := p.post(p.org("/campaigns"), "title", "Gala", "payment_link", link)
		p.wantStatus(a, http.StatusUnprocessableEntity)
		p.sees(a, "One thing needs your attention", "Payment link must be a full link that starts with https://.")
		if !strings.Contains(a.body, `value="`+link+`"`) {
			t.Error("what was typed is lost")
		}
	}
	c := s.campaign(p.account, `{"title":"Gala","payment_link":"https://pay.example.org"}`)
	p.follow(p.campaignAddress(c), "title", "Gala")
	if c, _ := s.stored(p.account, c.ID); c.PaymentLink != "" {
		t.Errorf("a form without a link keeps %q", c.PaymentLink)
	}
}

func TestACampaignIsDeletedAfterAQuestion(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		editor, viewer := s.member(account, access.Editor), s.member(account, access.Viewer)
		gala, ball := s.campaign(account, `{"title":"Gala"}`), s.campaign(account, `{"title":"Ball"}`)
		path := editor.campaignAddress(gala)
		editor.sees(editor.get(path), "Delete campaign")
		question := editor.get(path + "/delete")
		editor.wantStatus(question, http.StatusOK)
		editor.sees(question, "Delete “Gala”?", "It can’t be undone.", "Delete campaign", "Keep campaign")
		viewer.wantStatus(viewer.get(path+"/delete"), http.StatusForbidden)
		viewer.wantStatus(viewer.post(path+"/delete"), http.StatusForbidden)

		// The deletion is refused if another user has changed the campaign meanwhile.
		editor.follow(path, "title", "Gala 2")
		editor.wantStatus(editor.post(path+"/delete", formValues(t, question.body)...), http.StatusConflict)
		page := editor.follow(path+"/delete", formValues(t, editor.get(path+"/delete").body)...)
		editor.sees(page, "“Gala 2” deleted.", "Ball")
		editor.wantStatus(editor.get(path), http.StatusNotFound)
		editor.wantStatus(editor.post(path+"/delete"), http.StatusNotFound)
		editor.wantStatus(s.visitor().get("/gala"), http.StatusNotFound)

		path = editor.campaignAddress(ball)
		question = editor.get(path + "/delete")
		s.gift(account, ball.ID, "USD", "5")
		refused := editor.post(path+"/delete", formValues(t, question.body)...)
		editor.wantStatus(refused, http.StatusUnprocessableEntity)
		for _, a := range []answer{refused, editor.get(path + "/delete")} {
			editor.sees(a, "This campaign has gifts, so it can’t be deleted. Close it instead", "Close campaign", "Back to campaign")
			editor.doesNotSee(a, "Keep campaign")
		}
		editor.wantStatus(editor.get(path), http.StatusOK)
	})
}

func TestAnOldAddressLeadsToTheNewOne(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		editor, stranger := s.member(s.organization("Harbor Light"), access.Editor), s.visitor()
		c := s.campaign(editor.account, `{"title":"Gala"}`)
		path := editor.campaignAddress(c)
		editor.follow(path, "title", "Gala", "slug", "ball")
		for _, address := range []struct{ old, now string }{{"/gala", "/ball"}, {"/gala?utm_source=mail&x=%2F", "/ball?utm_source=mail&x=%2F"}} {
			a := stranger.get(address.old)
			if a.status != http.StatusPermanentRedirect || a.location() != address.now || a.header.Get("Cache-Control") != "private, max-age=60" {
				t.Errorf("%s: %d to %q, %v", address.old, a.status, a.location(), a.header)
			}
		}
		stranger.sees(stranger.get("/ball"), "Gala")
		stranger.wantStatus(stranger.do("POST", "/gala", nil, nil), http.StatusNotFound)

		// The old address of a draft does not reveal the new one to strangers.
		editor.follow(path + "/status/draft")
		stranger.wantStatus(stranger.get("/gala"), http.StatusNotFound)
		if a := editor.get("/gala"); a.status != http.StatusPermanentRedirect || a.location() != "/ball" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d to %q, %v", a.status, a.location(), a.header)
		}

		// If another campaign takes the address, the address leads to that campaign.
		s.campaign(s.organization("Friends"), `{"title":"Garden party","slug":"gala"}`)
		a := stranger.get("/gala")
		stranger.wantStatus(a, http.StatusOK)
		stranger.sees(a, "Garden party")
	})
}
