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
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
)

// giftTo is a valid gift of a new contact to a campaign.
func giftTo(t *testing.T, campaign int64, currency, amount string) giving.GiftInput {
	t.Helper()
	return giftInput(t,
		fmt.Sprintf(`{"campaign_id":%d,"currency":%q,"amount":%s,"method":"check","transacted_at":"2026-01-15","first_name":"Ana","last_name":"Lima"}`,
			campaign, currency, amount), true, time.Now())
}

// give records gifts to a campaign, each from another contact.
func give(t *testing.T, s *Book, owner access.Account, campaign int64, currency string,
	amounts ...string) (gifts []store.GiftDocument) {
	t.Helper()
	for _, amount := range amounts {
		g := must(s.CreateGift(t.Context(), owner.Number, giftTo(t, campaign, currency, amount)))(t)
		gifts = append(gifts, g)
	}
	return gifts
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
	want := map[string]string{
		"Gala":    `"goal":100,"raised":31.25,"donors":4,"currency":"USD"`,
		"Yen":     `"goal":0,"raised":1500,"donors":2,"currency":"JPY"`,
		"Dinar":   `"goal":0,"raised":3.01,"donors":2,"currency":"KWD"`,
		"Nothing": `"goal":0,"raised":7,"donors":3,"currency":"USD"`,
	}
	for _, reader := range []struct {
		account access.Account
		titles  []string
	}{{f.root, []string{"Gala", "Yen", "Dinar", "Nothing"}}, {f.chapter, []string{"Gala"}},
		{f.stranger, []string{"Gala"}}} {
		body, _ := must2(s.Campaigns(ctx, reader.account.Number, campaign.AllCampaigns,
			crm.PageRequest{Page: 1, PerPage: 10}, "https://x.org", nil, nil))(t)
		for _, title := range reader.titles {
			contains(t, string(body), want[title], "%s lists %s, which lacks", reader.account.Name, body)
		}
		campaigns, _, err := s.CampaignPage(ctx, reader.account.Number, campaign.AllCampaigns,
			crm.PageRequest{Page: 1, PerPage: 10})
		if at := slices.IndexFunc(campaigns, func(c campaign.Campaign) bool { return c.ID == gala.ID }); err != nil ||
			at < 0 || campaigns[at].Raised() != 3125 || campaigns[at].Donors() != 4 {
			t.Errorf("the page of %s has %+v, %v", reader.account.Name, campaigns, err)
		}
		record, err := s.Campaign(ctx, reader.account.Number, gala.ID)
		if c := record.Campaign; err != nil || c.Raised() != 3125 || c.Donors() != 4 || c.OpeningRaised != 1050 ||
			c.OpeningDonors != 1 {
			t.Errorf("%s sees %+v, %v", reader.account.Name, c, err)
		}
	}
	if public, _ := must2(s.CampaignBySlug(ctx, "gala"))(t); public.Raised() != 3125 || public.Donors() != 4 {
		t.Errorf("in public it is %+v", public)
	}
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
	equal(t, fmt.Sprint(errOf(s.UpdateCampaign(ctx, owner, gala.ID,
		campaignInput(t, `{"title":"Ball","currency":"EUR"}`)))), want, "the campaign got another currency")
	if _, err := importAll(t, s, owner, `[{"slug":"gala","title":"Ball","currency":null}]`); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("an import gave the campaign another currency: %v", err)
	}
	updateCampaign(t, s, owner, gala.ID, `{"slug":"gala","currency":"CHF","goal":5}`)
	if c, _ := must2(s.CampaignBySlug(ctx, "gala"))(t); c.Title != "Gala" || c.Currency != "CHF" ||
		c.Goal != 500 {
		t.Errorf("it is %+v", c)
	}
}

// If a printed list is imported again, its numbers already include the gifts.
func TestAListThatIsImportedAgainCountsNoGiftTwice(t *testing.T) {
	s := newBook(t)
	owner := newAccount(t, s)
	gala := createCampaign(t, s, owner, `{"title":"Gala","raised":10,"donors":1}`)
	give(t, s, owner, gala.ID, "USD", "5", "5", "5", "5")
	page := func() string {
		body, _ := must2(s.Campaigns(t.Context(), owner.Number, campaign.OwnCampaigns,
			crm.PageRequest{Page: 1, PerPage: 10}, "https://x.org", nil, nil))(t)
		return "[" + string(body) + "]"
	}
	before := page()
	equal(t, mustImport(t, s, owner, before).Unchanged, 1)
	equal(t, page(), before)
	equal(t, mustImport(t, s, owner, `[{"slug":"gala","raised":12}]`).Updated, 1)
	contains(t, page(), `"raised":32,"donors":5`)
}

func TestAStateAndAPaymentLinkAreImportedAndStay(t *testing.T) {
	s := newBook(t)
	owner := newAccount(t, s)
	before := func() string {
		body, _ := must2(s.Campaigns(t.Context(), owner.Number, campaign.OwnCampaigns,
			crm.PageRequest{Page: 1, PerPage: 10}, "https://x.org", nil, nil))(t)
		return string(body)
	}
	for _, step := range []struct {
		rows         string
		done         store.ImportResult
		status, link string
	}{
		{`[{"title":"Gala","slug":"gala"}]`, store.ImportResult{Created: 1}, campaign.Published, ""},
		{`[{"slug":"gala","status":"draft","payment_link":"https://pay.example.org/g"}]`,
			store.ImportResult{Updated: 1}, campaign.Draft, "https://pay.example.org/g"},
		{`[{"slug":"gala","status":"draft"}]`, store.ImportResult{Unchanged: 1}, campaign.Draft,
			"https://pay.example.org/g"},
		{`[{"slug":"gala","status":"closed","payment_link":null}]`, store.ImportResult{Updated: 1},
			campaign.Closed, ""},
	} {
		wire := before()
		equal(t, mustImport(t, s, owner, step.rows), step.done, "%s", step.rows)
		c, _ := must2(s.CampaignBySlug(t.Context(), "gala"))(t)
		if c.Status != step.status || c.PaymentLink != step.link {
			t.Errorf("%s: %q, %q", step.rows, c.Status, c.PaymentLink)
		}
		if shown := before(); !strings.HasSuffix(shown, `,"status":"`+step.status+`"}`) ||
			strings.Contains(shown, "pay.example.org") || step.done.Unchanged > 0 && shown != wire {
			t.Errorf("%s: the wire form became %s", step.rows, shown)
		}
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
	updateCampaign(t, s, f.root, gala.ID, `{"slug":"ball"}`)
	slugLeads(t, s, "gala", &gala, "ball")
	updateCampaign(t, s, f.root, gala.ID, `{"slug":"dance"}`)
	slugLeads(t, s, "gala", &gala, "dance")
	slugLeads(t, s, "ball", &gala, "dance")

	// Back to an old one.
	updateCampaign(t, s, f.root, gala.ID, `{"slug":"gala"}`)
	slugLeads(t, s, "gala", &gala, "gala")
	slugLeads(t, s, "dance", &gala, "gala")

	// Another campaign takes an old slug, by its title or by a change, and keeps it after it is renamed.
	ball := createCampaign(t, s, f.stranger, `{"title":"Ball"}`)
	slugLeads(t, s, "ball", &ball, "ball")
	updateCampaign(t, s, f.stranger, ball.ID, `{"slug":"dance"}`)
	slugLeads(t, s, "dance", &ball, "dance")
	slugLeads(t, s, "ball", &ball, "dance")
	updateCampaign(t, s, f.stranger, ball.ID, `{"slug":"waltz"}`)
	slugLeads(t, s, "dance", &ball, "waltz")

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
	ctx := t.Context()
	s := newBook(t)
	owner := newAccount(t, s)
	gala, ball, coats := createCampaign(t, s, owner, `{"title":"Gala"}`),
		createCampaign(t, s, owner, `{"title":"Ball"}`), createCampaign(t, s, owner, `{"title":"Coats"}`)
	gift := give(t, s, owner, gala.ID, "USD", "10")[0]
	must(s.RefundGift(ctx, owner.Number, gift.Code, nil, ""))(t)
	plan, faults,
		err := giving.DecodePlan(doc.NewBody([]byte(fmt.Sprintf(
		`{"campaign_id":%d,"contact_id":%d,"amount":5,"method":"card","frequency":"monthly","start_at":"2026-01-15"}`,
		ball.ID, gift.Contact))))
	if err == nil {
		err = plan.Validate(faults, true, "US", time.Now())
	}
	if err == nil {
		_, err = s.CreatePlan(ctx, owner.Number, plan)
	}
	succeed(t, err)
	for _, c := range []campaign.Campaign{gala, ball} {
		for _, err := range []error{s.DeleteCampaign(ctx, owner, c.ID, ""),
			s.CheckDeletable(ctx, owner.Number, c.ID)} {
			if err == nil ||
				err.Error() != "This campaign has gifts or plans, so it cannot be deleted. Close it instead." {
				t.Errorf("%s: %v", c.Title, err)
			}
		}
		slugLeads(t, s, c.Slug, &c, c.Slug)
	}
	other := giving.GiftInput{Campaign: &coats.ID}
	must(s.UpdateGift(ctx, owner.Number, gift.Code, other))(t)
	succeed(t, errors.Join(s.CheckDeletable(ctx, owner.Number, gala.ID),
		s.DeleteCampaign(ctx, owner, gala.ID, "")))
}

// Either the gift exists and its campaign stays, or the campaign is gone and the gift is refused: in one batch in
// either order, and on two nodes.
func TestConcurrentNoGiftSlipsIntoADeletedCampaign(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	owner := newAccount(t, a)
	var c campaign.Campaign
	record := func(s *Book) func() error {
		in := giftTo(t, c.ID, "USD", "10")
		return func() error {
			return errOf(s.CreateGift(ctx, owner.Number, in))
		}
	}
	remove := func() error { return a.DeleteCampaign(ctx, owner, c.ID, "") }
	check := func(given, deleted error) {
		t.Helper()
		_, err := a.Campaign(ctx, owner.Number, c.ID)
		switch {
		case given == nil && deleted != nil && err == nil:
		case given != nil && deleted == nil && errors.Is(err, crm.ErrNotFound):
			wantFaults(t, given, "campaign_id")
		default:
			t.Errorf("the gift: %v; the end: %v; the campaign: %v", given, deleted, err)
		}
	}
	c = createCampaign(t, a, owner, `{"title":"Gala"}`)
	errs := together(t, a, owner.Number, remove, record(a))
	check(errs[1], errs[0])
	if errs[0] != nil {
		t.Errorf("what came first was refused: %v", errs[0])
	}
	c = createCampaign(t, a, owner, `{"title":"Gala"}`)
	errs = together(t, a, owner.Number, record(a), remove)
	check(errs[0], errs[1])
	if errs[0] != nil {
		t.Errorf("what came first was refused: %v", errs[0])
	}
	for range 10 {
		c = createCampaign(t, a, owner, `{"title":"Gala"}`)
		changes, errs := []func() error{record(b), remove}, make([]error, 2)
		atOnce(2, func(i int) { errs[i] = changes[i]() })
		check(errs[0], errs[1])
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
	ctx := t.Context()
	s := newBook(t)
	f := newFamily(t, s)
	made := createCampaign(t, s, f.chapter, `{"title":"Winter Gala","goal":100,"event":{"private":true}}`)
	createCampaign(t, s, f.root, `{"title":"Winter Gala"}`)
	got, owner := must2(s.CampaignBySlug(ctx, "winter-gala"))(t)
	equal(t, owner, f.chapter.Name, "it belongs")
	equal(t, got, made)
	if second, owner := must2(s.CampaignBySlug(ctx, "winter-gala-2"))(t); second.ID == made.ID ||
		owner != f.root.Name {
		t.Errorf("the second one is %+v of %q", second, owner)
	}
	updateCampaign(t, s, f.chapter, made.ID, `{"slug":"ball"}`)
	for _, slug := range []string{"Ball", "", "ball%", "nothing"} {
		wantError(t, slug, errOf2(s.CampaignBySlug(ctx, slug)), crm.ErrNotFound)
	}
	if got, _ := must2(s.CampaignBySlug(ctx, "ball"))(t); got.ID != made.ID {
		t.Errorf("under its new slug: %+v", got)
	}
}
