package book

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
)

// giftTo is a valid gift of a new contact to a campaign.
func giftTo(t *testing.T, campaign int64, currency, amount string) giving.GiftInput {
	t.Helper()
	return giftInput(t, fmt.Sprintf(`{"campaign_id":%d,"currency":%q,"amount":%s,"method":"check",
		"transacted_at":"2026-01-15","first_name":"Ana","last_name":"Lima"}`, campaign, currency, amount), true,
		time.Now())
}

// give records gifts to a campaign, each from another contact.
func give(t *testing.T, s *Book, owner access.Account, campaign int64, currency string,
	amounts ...string) (gifts []store.GiftDocument) {
	t.Helper()
	for _, amount := range amounts {
		gifts = append(gifts, must(s.CreateGift(t.Context(), owner.Number, giftTo(t, campaign, currency, amount)))(t))
	}
	return gifts
}

// wired are the first campaigns of an account, as the API shows them.
func wired(t *testing.T, s *Book, account access.Account) string {
	t.Helper()
	body, _ := must2(s.Campaigns(t.Context(), account.Number, campaign.AllCampaigns,
		crm.PageRequest{Page: 1, PerPage: 10}, "https://x.org", nil, nil))(t)
	return "[" + string(body) + "]"
}

// A campaign shows its opening balance plus its gifts, wherever it is read.
func TestACampaignCountsItsGifts(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	f := newFamily(t, s)
	gala := createCampaign(t, s, f.chapter,
		`{"title":"Gala","raised":10.5,"donors":1,"goal":100,"beneficiaries":["`+f.stranger.ID+`"]}`)
	yen := createCampaign(t, s, f.root, `{"title":"Yen","currency":"JPY"}`)
	dinar := createCampaign(t, s, f.root, `{"title":"Dinar","currency":"KWD","raised":0.01}`)
	createCampaign(t, s, f.root, `{"title":"Nothing","raised":7,"donors":3}`)
	gifts := give(t, s, f.chapter, gala.ID, "USD", "10", "5.25", "5.50", "100")
	give(t, s, f.chapter, gala.ID, "EUR", "999.99", "1") // another currency
	give(t, s, f.root, yen.ID, "JPY", "1000", "500")
	give(t, s, f.root, dinar.ID, "KWD", "1.005", "2.004")
	must(s.RefundGift(ctx, f.chapter.Number, gifts[3].Code, nil, ""))(t)
	ofGala := `"goal":100,"raised":31.25,"donors":4,"currency":"USD"`
	for account, want := range map[access.Account][]string{f.chapter: {ofGala}, f.stranger: {ofGala}, f.root: {ofGala,
		`"goal":0,"raised":1500,"donors":2,"currency":"JPY"`, `"goal":0,"raised":3.01,"donors":2,"currency":"KWD"`,
		`"goal":0,"raised":7,"donors":3,"currency":"USD"`}} {
		for _, one := range want {
			contains(t, wired(t, s, account), one, "%s lists", account.Name)
		}
		page, _ := must2(s.CampaignPage(ctx, account.Number, campaign.AllCampaigns,
			crm.PageRequest{Page: 1, PerPage: 10}))(t)
		shown := page[slices.IndexFunc(page, func(c campaign.Campaign) bool { return c.ID == gala.ID })]
		c := must(s.Campaign(ctx, account.Number, gala.ID))(t).Campaign
		expect(t, account.Name+" sees", "3125 4 3125 4 1050 1", shown.Raised(), shown.Donors(), c.Raised(), c.Donors(),
			c.OpeningRaised, c.OpeningDonors)
	}
	public, _ := must2(s.CampaignBySlug(ctx, "gala"))(t)
	expect(t, "in public it is", "3125 4", public.Raised(), public.Donors())
}

// What a campaign has raised must not become other money. Until it has a gift, even one that was refunded, its
// currency may change.
func TestTheCurrencyOfACampaignWithGiftsStays(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	owner := newAccount(t, s)
	gala := createCampaign(t, s, owner, `{"title":"Gala","raised":10}`)
	updateCampaign(t, s, owner, gala.ID, `{"slug":"gala","currency":"CHF"}`)
	made := give(t, s, owner, gala.ID, "EUR", "5")[0]
	must(s.RefundGift(ctx, owner.Number, made.Code, nil, ""))(t)
	const want = "The currency field must stay CHF: the campaign has gifts, and its sums are in this currency."
	says(t, "a change", want)(s.UpdateCampaign(ctx, owner, gala.ID, campaignInput(t, `{"title":"Ball",
		"currency":"EUR"}`)))
	says(t, "an import", want)(importAll(t, s, owner, `[{"slug":"gala","title":"Ball","currency":null}]`))
	updateCampaign(t, s, owner, gala.ID, `{"slug":"gala","currency":"CHF","goal":5}`)
	c, _ := must2(s.CampaignBySlug(ctx, "gala"))(t)
	expect(t, "it is", "Gala CHF 500", c.Title, c.Currency, c.Goal)
}

// If a printed list is imported again, its numbers already include the gifts.
func TestAListThatIsImportedAgainCountsNoGiftTwice(t *testing.T) {
	s := newBook(t)
	owner := newAccount(t, s)
	gala := createCampaign(t, s, owner, `{"title":"Gala","raised":10,"donors":1}`)
	give(t, s, owner, gala.ID, "USD", "5", "5", "5", "5")
	before := wired(t, s, owner)
	equal(t, mustImport(t, s, owner, before).Unchanged, 1)
	equal(t, wired(t, s, owner), before)
	equal(t, mustImport(t, s, owner, `[{"slug":"gala","raised":12}]`).Updated, 1)
	contains(t, wired(t, s, owner), `"raised":32,"donors":5`)
}

func TestAStateAndAPaymentLinkAreImportedAndStay(t *testing.T) {
	s := newBook(t)
	owner := newAccount(t, s)
	for _, step := range []struct {
		rows string
		done store.ImportResult
		want string
	}{
		{`[{"title":"Gala","slug":"gala"}]`, store.ImportResult{Created: 1}, "published "},
		{`[{"slug":"gala","status":"draft","payment_link":"https://pay.example.org/g"}]`,
			store.ImportResult{Updated: 1}, "draft https://pay.example.org/g"},
		{`[{"slug":"gala","status":"draft"}]`, store.ImportResult{Unchanged: 1}, "draft https://pay.example.org/g"},
		{`[{"slug":"gala","status":"closed","payment_link":null}]`, store.ImportResult{Updated: 1}, "closed "},
	} {
		before := wired(t, s, owner)
		equal(t, mustImport(t, s, owner, step.rows), step.done, "%s", step.rows)
		c, _ := must2(s.CampaignBySlug(t.Context(), "gala"))(t)
		expect(t, step.rows, step.want, c.Status, c.PaymentLink)
		shown := wired(t, s, owner)
		contains(t, shown, `,"status":"`+c.Status+`"}]`)
		expect(t, "it tells the link, or changes", "false false", strings.Contains(shown, "pay.example.org"),
			step.done.Unchanged > 0 && shown != before)
	}
}

// slugLeads checks where a slug leads: to the campaign, under its current slug; nil means nowhere.
func slugLeads(t *testing.T, s *Book, slug string, to *campaign.Campaign, now string) {
	t.Helper()
	got, _, err := s.CampaignBySlug(t.Context(), slug)
	switch {
	case to == nil:
		wantError(t, slug, err, crm.ErrNotFound)
	case err != nil || got.ID != to.ID || got.Slug != now:
		t.Errorf("%s leads to %d as %q, %v, want %d as %q", slug, got.ID, got.Slug, err, to.ID, now)
	}
}

func TestAnOldSlugLeadsToItsCampaign(t *testing.T) {
	s := newBook(t)
	f := newFamily(t, s)
	gala := createCampaign(t, s, f.root, `{"title":"Gala"}`)
	ball := createCampaign(t, s, f.stranger, `{"title":"Other"}`)
	for _, step := range rows.Of[struct{ Of, To, Galas, Balls string }](`
		gala  ball   "gala ball"        other
		gala  dance  "gala ball dance"  other
		gala  gala   "gala ball dance"  other               // back to an old one
		ball  ball   "gala dance"       "other ball"        // another campaign takes an old slug
		ball  dance  gala               "other ball dance"
		ball  waltz  gala               "other ball dance waltz"`) {
		owner, changed := f.root, &gala
		if step.Of == "ball" {
			owner, changed = f.stranger, &ball
		}
		*changed = updateCampaign(t, s, owner, changed.ID, `{"slug":"`+step.To+`"}`)
		for slugs, of := range map[string]*campaign.Campaign{step.Galas: &gala, step.Balls: &ball} {
			for slug := range strings.FieldsSeq(slugs) {
				slugLeads(t, s, slug, of, of.Slug)
			}
		}
	}
	// A refused change changes nothing.
	_, err := s.UpdateCampaign(t.Context(), f.stranger, ball.ID, campaignInput(t, `{"slug":"gala"}`))
	wantFaults(t, err, "slug")
	slugLeads(t, s, "waltz", &ball, "waltz")
	slugLeads(t, s, "gala", &gala, "gala")
}

func TestOnlyTheLastSlugsOfACampaignLeadToIt(t *testing.T) {
	s := newBook(t)
	now := stopClock(s)
	owner := newAccount(t, s)
	c := createCampaign(t, s, owner, `{"title":"S","slug":"s0"}`)
	for i := range 23 {
		now.move(time.Second)
		updateCampaign(t, s, owner, c.ID, fmt.Sprintf(`{"slug":"s%d"}`, i+1))
	}
	for i := range 23 {
		if slug := fmt.Sprintf("s%d", i); i < 3 {
			slugLeads(t, s, slug, nil, "")
		} else {
			slugLeads(t, s, slug, &c, "s23")
		}
	}
}

func TestACampaignIsDeletedWithAllThatLeadsToIt(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	f := newFamily(t, s)
	gala := createCampaign(t, s, f.chapter, `{"title":"Gala","beneficiaries":["`+f.stranger.ID+`"]}`)
	createCampaign(t, s, f.chapter, `{"title":"Kept","beneficiaries":["`+f.stranger.ID+`"]}`)
	updateCampaign(t, s, f.chapter, gala.ID, `{"slug":"dance"}`)
	updateCampaign(t, s, f.chapter, gala.ID, `{"slug":"ball"}`)
	readers := []access.Account{f.root, f.chapter, f.stranger}
	for _, account := range readers { // so that every list is known
		if got := titles(campaignsSeen(t, s, account, campaign.AllCampaigns, 10)); !slices.Equal(got,
			[]string{"Gala", "Kept"}) {
			t.Fatalf("%s lists %q", account.Name, got)
		}
	}
	for _, account := range []access.Account{f.root, f.stranger, f.below} {
		wantError(t, account.Name, s.DeleteCampaign(ctx, account, gala.ID, ""), crm.ErrNotFound)
	}
	record := must(s.Campaign(ctx, f.chapter.Number, gala.ID))(t)
	wantError(t, "an old page", s.DeleteCampaign(ctx, f.chapter, gala.ID, "old"), crm.ErrChanged)
	succeed(t, s.DeleteCampaign(ctx, f.chapter, gala.ID, record.Version()))
	wantError(t, "a second time", s.DeleteCampaign(ctx, f.chapter, gala.ID, ""), crm.ErrNotFound)
	for _, account := range readers {
		equal(t, titles(campaignsSeen(t, s, account, campaign.AllCampaigns, 10)), []string{"Kept"}, "%s lists",
			account.Name)
		wantError(t, account.Name, errOf(s.Campaign(ctx, account.Number, gala.ID)), crm.ErrNotFound)
	}
	slugLeads(t, s, "ball", nil, "")
	slugLeads(t, s, "gala", nil, "")
	again := createCampaign(t, s, f.stranger, `{"title":"Again","slug":"gala"}`)
	slugLeads(t, s, "gala", &again, "gala")
}

// Whatever happens to a gift, its campaign stays until the gift belongs to another one.
func TestACampaignWithGiftsOrPlansIsNotDeleted(t *testing.T) {
	s := newOrg(t, newBook(t))
	gala, ball, coats := s.campaignOf("Gala"), s.campaignOf("Ball"), s.campaignOf("Coats")
	gift := give(t, s.Book, s.Account, gala.ID, "USD", "10")[0]
	s.refund(gift.Code)
	newPlan(t, s.Book, s.Number, fmt.Sprintf(`{"campaign_id":%d,"contact_id":%d,"amount":5,"method":"card",
		"frequency":"monthly","start_at":"2026-01-15"}`, ball.ID, gift.Contact))
	for _, c := range []campaign.Campaign{gala, ball} {
		const want = "This campaign has gifts or plans, so it cannot be deleted. Close it instead."
		says(t, c.Title, want)(s.DeleteCampaign(t.Context(), s.Account, c.ID, ""))
		says(t, c.Title, want)(s.CheckDeletable(t.Context(), s.Number, c.ID))
		slugLeads(t, s.Book, c.Slug, &c, c.Slug)
	}
	s.edit(gift.Code, fmt.Sprintf(`{"campaign_id":%d}`, coats.ID))
	succeed(t, errors.Join(s.CheckDeletable(t.Context(), s.Number, gala.ID),
		s.DeleteCampaign(t.Context(), s.Account, gala.ID, "")))
}

// Either the gift exists and its campaign stays, or the campaign is gone and the gift is refused: in one batch in
// either order, and on two nodes.
func TestConcurrentNoGiftSlipsIntoADeletedCampaign(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	owner := newAccount(t, a)
	var c campaign.Campaign
	record := func() error { return errOf(b.CreateGift(ctx, owner.Number, giftTo(t, c.ID, "USD", "10"))) }
	remove := func() error { return a.DeleteCampaign(ctx, owner, c.ID, "") }
	for range 10 {
		c = createCampaign(t, a, owner, `{"title":"Gala"}`)
		changes, errs := []func() error{record, remove}, make([]error, 2)
		atOnce(2, func(i int) { errs[i] = changes[i]() })
		checkEnd(t, a, owner, c, errs[0], errs[1])
	}
	b = a // in one batch
	c = createCampaign(t, a, owner, `{"title":"Gala"}`)
	errs := together(t, a, owner.Number, remove, record)
	succeed(t, errs[0]) // what came first
	checkEnd(t, a, owner, c, errs[1], errs[0])
	c = createCampaign(t, a, owner, `{"title":"Gala"}`)
	errs = together(t, a, owner.Number, record, remove)
	succeed(t, errs[0])
	checkEnd(t, a, owner, c, errs[0], errs[1])
}

func checkEnd(t *testing.T, s *Book, owner access.Account, c campaign.Campaign, given, deleted error) {
	t.Helper()
	_, err := s.Campaign(t.Context(), owner.Number, c.ID)
	switch {
	case given == nil && deleted != nil && err == nil:
	case given != nil && deleted == nil && errors.Is(err, crm.ErrNotFound):
		wantFaults(t, given, "campaign_id")
	default:
		t.Errorf("the gift: %v; the end: %v; the campaign: %v", given, deleted, err)
	}
}

// A slow client reads a large page while campaigns on it are deleted: it gets every other one, each once, and a
// correct count.
func TestAPageLeavesOutCampaignsThatAreDeletedMeanwhile(t *testing.T) {
	s := newBook(t)
	owner := newAccount(t, s)
	var rows []string
	for n := range 12 {
		rows = append(rows, fmt.Sprintf(`{"title":"Gala %d","description":"<p>%s</p>"}`, n,
			strings.Repeat("long ", 19_000)))
	}
	mustImport(t, s, owner, "["+strings.Join(rows, ",")+"]")
	all := campaignsSeen(t, s, owner, campaign.OwnCampaigns, 100)
	var sent bytes.Buffer
	deleted := false
	last, found, err := s.Campaigns(t.Context(), owner.Number, campaign.OwnCampaigns,
		crm.PageRequest{Page: 1, PerPage: 100}, "https://x.org", []byte("["),
		func(piece []byte, _ store.ListResult) ([]byte, error) {
			for _, i := range []int{0, 4, 5, 11} {
				if !deleted {
					if err := s.DeleteCampaign(t.Context(), owner, all[i].ID, ""); err != nil {
						return nil, err
					}
				}
			}
			deleted = true
			sent.Write(piece)
			return piece[:0], nil
		})
	sent.Write(append(last, ']'))
	var got []listed
	succeed(t, json.Unmarshal(sent.Bytes(), &got))
	want := titles(slices.Delete(slices.Delete(slices.Clone(all), 11, 12), 4, 6)) // the first one was sent before
	succeed(t, err)
	equal(t, slices.Equal(titles(got), want), true)
	equal(t, found, (store.ListResult{Total: 12, Count: 9}))
}

func TestACampaignIsFoundByItsSlugAlone(t *testing.T) {
	s := newBook(t)
	f := newFamily(t, s)
	made := createCampaign(t, s, f.chapter, `{"title":"Winter Gala","goal":100,"event":{"private":true}}`)
	second := createCampaign(t, s, f.root, `{"title":"Winter Gala"}`)
	got, owner := must2(s.CampaignBySlug(t.Context(), "winter-gala"))(t)
	equal(t, owner, f.chapter.Name, "it belongs")
	equal(t, got, made)
	got, owner = must2(s.CampaignBySlug(t.Context(), "winter-gala-2"))(t)
	equal(t, owner, f.root.Name, "the second one belongs")
	equal(t, got, second)
	updateCampaign(t, s, f.chapter, made.ID, `{"slug":"ball"}`)
	for _, slug := range []string{"Ball", "", "ball%", "nothing"} {
		slugLeads(t, s, slug, nil, "")
	}
	slugLeads(t, s, "ball", &made, "ball")
}
