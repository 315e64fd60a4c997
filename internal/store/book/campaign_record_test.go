package book

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
)

// campaignInput is a valid input of one row.
func campaignInput(t *testing.T, row string) campaign.Input {
	t.Helper()
	return must(campaign.DecodeAll([]byte("[" + row + "]")))(t)[0]
}

func createCampaign(t *testing.T, s *Book, owner access.Account, row string) campaign.Campaign {
	t.Helper()
	return must(s.CreateCampaign(t.Context(), owner, campaignInput(t, row)))(t)
}

func updateCampaign(t *testing.T, s *Book, owner access.Account, id int64, row string) campaign.Campaign {
	t.Helper()
	return must(s.UpdateCampaign(t.Context(), owner, id, campaignInput(t, row)))(t)
}

// wantFaults checks which fields were refused, by a plain *doc.Invalid.
func wantFaults(t *testing.T, err error, fields ...string) {
	t.Helper()
	var invalid *doc.Invalid
	if !errors.As(err, &invalid) {
		t.Errorf("%v, want faults of %q", err, fields)
		return
	}
	var got []string
	for _, fault := range invalid.Faults {
		got = append(got, fault.Field)
	}
	equal(t, got, fields, "faults")
}

func TestACampaignIsSeenByWhoeverMayListItAndByNobodyElse(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	f := newFamily(t, s)
	friend, other := newAccount(t, s), newAccount(t, s)
	row := fmt.Sprintf(`{"title":"Gala","goal":100,"event":{},"beneficiaries":["%s","%s"]}`, friend.ID, f.root.ID)
	made := createCampaign(t, s, f.chapter, row)
	for _, want := range []struct {
		account  access.Account
		relation campaign.Relation
	}{{f.chapter, campaign.Own}, {f.root, campaign.Chapter | campaign.Benefiting}, {friend, campaign.Benefiting}} {
		got := must(s.Campaign(ctx, want.account.Number, made.ID))(t)
		equal(t, got.Relation, want.relation, "%s", want.account.Name)
		equal(t, got.Campaign, made)
		var beneficiaries []string
		if want.relation == campaign.Own {
			beneficiaries = []string{friend.ID, f.root.ID}
			slices.Sort(beneficiaries)
		}
		equal(t, got.Beneficiaries, beneficiaries, "%s sees the beneficiaries", want.account.Name)
	}
	for _, account := range []access.Account{f.below, f.stranger, other} {
		got, err := s.Campaign(ctx, account.Number, made.ID)
		wantError(t, account.Name, err, crm.ErrNotFound)
		equal(t, got.Campaign.ID, 0, "%s sees", account.Name)
	}
	for _, id := range []int64{0, -1, made.ID + 1} {
		wantError(t, "an id that was never given out", errOf(s.Campaign(ctx, f.chapter.Number, id)),
			crm.ErrNotFound)
	}
}

func TestPagesOfCampaignsBeginWithTheNewest(t *testing.T) {
	s := newBook(t)
	f := newFamily(t, s)
	var want []int64
	for i := range 7 {
		owner := []access.Account{f.root, f.chapter}[i%2]
		want = append(want, createCampaign(t, s, owner, fmt.Sprintf(`{"title":"C %d"}`, i)).ID)
	}
	createCampaign(t, s, f.stranger, `{"title":"Not ours"}`)
	slices.Reverse(want)
	page := func(of access.Account, scope campaign.Scope, page crm.PageRequest, total int64) []campaign.Campaign {
		t.Helper()
		campaigns, found := must2(s.CampaignPage(t.Context(), of.Number, scope, page))(t)
		equal(t, found, store.ListResult{Total: total, Count: int64(len(campaigns))}, "%+v", page)
		return campaigns
	}
	for _, perPage := range []int64{1, 2, 3, 7, 100} {
		var got []int64
		for n := range 8/perPage + 2 {
			got = append(got, store.Collect(page(f.root, campaign.AllCampaigns,
				crm.PageRequest{Page: n + 1, PerPage: perPage}, 7), func(c campaign.Campaign) int64 { return c.ID })...)
		}
		equal(t, got, want, "at %d a page", perPage)
	}
	equal(t, must(s.CampaignTotals(t.Context(), f.root.Number))(t), map[campaign.Scope]int64{campaign.OwnCampaigns: 4,
		campaign.BenefitingCampaigns: 0, campaign.ChapterCampaigns: 3, campaign.AllCampaigns: 7})
	own := page(f.chapter, campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: 2}, 3)
	expect(t, "the chapter's own", "2 C 5 C 3 "+f.chapter.ID, len(own), own[0].Title, own[1].Title, own[0].AccountID)
}

func TestANewCampaignIsAlwaysNew(t *testing.T) {
	s := newBook(t)
	f := newFamily(t, s)
	createCampaign(t, s, f.stranger, `{"title":"Gala"}`)
	for _, want := range []string{"gala-2", "gala-3", "gala-4"} {
		equal(t, createCampaign(t, s, f.root, `{"title":"Gala"}`).Slug, want)
	}
	equal(t, createCampaign(t, s, f.root, `{"title":"Other","slug":"ball"}`).Slug, "ball")
	refused := func(owner access.Account, row string, faults ...string) {
		t.Helper()
		wantFaults(t, errOf(s.CreateCampaign(t.Context(), owner, campaignInput(t, row))), faults...)
	}
	refused(f.root, `{"title":"Other","slug":"ball"}`, "slug")
	refused(f.stranger, `{"title":"Other","slug":"ball"}`, "slug")
	refused(f.root, `{"slug":"ball","beneficiaries":["`+f.root.ID+`","AAAAAAAAAAAAAAAA"]}`, "title", "slug",
		"beneficiaries.1")
	equal(t, len(campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 10)), 4, "campaigns, want 4")
	// An import still finds the account's own campaign by the slug.
	equal(t, mustImport(t, s, f.root, `[{"title":"Other","slug":"ball","goal":7}]`), store.ImportResult{Updated: 1})
}

func TestConcurrentCampaignThatWasCreatedIsListedByTheAPI(t *testing.T) {
	a, b := twoNodes(t)
	f := newFamily(t, a)
	for _, account := range []access.Account{f.root, f.chapter, f.stranger} { // so that both nodes remember empty lists
		campaignsSeen(t, a, account, campaign.AllCampaigns, 10)
		campaignsSeen(t, b, account, campaign.AllCampaigns, 10)
	}
	made := createCampaign(t, a, f.chapter, `{"title":"Gala","beneficiaries":["`+f.stranger.ID+`"]}`)
	for account, scope := range map[access.Account]campaign.Scope{f.root: campaign.ChapterCampaigns,
		f.chapter: campaign.OwnCampaigns, f.stranger: campaign.BenefitingCampaigns} {
		for _, s := range []*Book{a, b} {
			got := campaignsSeen(t, s, account, scope, 10)
			if len(got) != 1 || got[0].ID != made.ID || got[0].URL != "https://give.example.org/gala" {
				t.Errorf("%s lists %+v", account.Name, got)
			}
		}
	}
}

func TestAnUpdateMovesTheSlugAndTheAddressTogether(t *testing.T) {
	s := newBook(t)
	f := newFamily(t, s)
	createCampaign(t, s, f.stranger, `{"title":"Theirs","slug":"theirs"}`)
	createCampaign(t, s, f.root, `{"title":"Second","slug":"second"}`)
	made := createCampaign(t, s, f.root, `{"title":"Gala","goal":100}`)
	changed := updateCampaign(t, s, f.root, made.ID, `{"title":"Ball","slug":"the-longer-ball"}`)
	expect(t, "it became", fmt.Sprint(made.ID, " the-longer-ball 10000"), changed.ID, changed.Slug, changed.Goal)
	got := campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 10)[1]
	expect(t, "it is listed as", "the-longer-ball https://give.example.org/the-longer-ball Ball", got.Slug, got.URL,
		got.Title)
	for row, faults := range map[string][]string{`{"title":"Gala","slug":"theirs"}`: {"slug"},
		`{"title":"Gala","slug":"second"}`:                       {"slug"},
		`{"slug":"theirs","beneficiaries":["AAAAAAAAAAAAAAAA"]}`: {"slug", "beneficiaries.0"}} {
		wantFaults(t, errOf(s.UpdateCampaign(t.Context(), f.root, made.ID, campaignInput(t, row))), faults...)
	}
	equal(t, campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 10)[1], got, "refused, and yet it became")
	// The old slug is free again.
	equal(t, createCampaign(t, s, f.stranger, `{"title":"Gala","slug":"gala"}`).Slug, "gala")
}

func TestConcurrentUpdateReplacesBeneficiariesWhereTheyAreSent(t *testing.T) {
	a, b := twoNodes(t)
	f := newFamily(t, a)
	made := createCampaign(t, a, f.root, `{"title":"Gala","beneficiaries":["`+f.stranger.ID+`"]}`)
	listed := func(account access.Account) int {
		// on the other node, which remembers lists
		return len(campaignsSeen(t, b, account, campaign.BenefitingCampaigns, 10))
	}
	updateCampaign(t, a, f.root, made.ID, `{"title":"Gala","slug":"gala","goal":5}`)
	if listed(f.stranger) != 1 || listed(f.chapter) != 0 {
		t.Error("beneficiaries that were not sent have changed")
	}
	updateCampaign(t, a, f.root, made.ID, `{"title":"Gala","beneficiaries":["`+f.chapter.ID+`"]}`)
	if listed(f.stranger) != 0 || listed(f.chapter) != 1 {
		t.Error("the beneficiaries were not replaced")
	}
	wantError(t, "a former beneficiary", errOf(b.Campaign(t.Context(), f.stranger.Number, made.ID)), crm.ErrNotFound)
	updateCampaign(t, a, f.root, made.ID, `{"title":"Gala","beneficiaries":[]}`)
	equal(t, listed(f.chapter), 0, "the last beneficiary is still there")
	got := must(b.Campaign(t.Context(), f.root.Number, made.ID))(t)
	equal(t, got.Relation, campaign.Own)
	equal(t, len(got.Beneficiaries), 0)
}

func TestAnUpdateThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	f := newFamily(t, s)
	row := `{"title":"Gala","slug":"gala","goal":5,"beneficiaries":["` + f.stranger.ID + `"]}`
	made := createCampaign(t, s, f.root, row)
	s.Now = func() time.Time { return time.Now().Add(time.Hour) }
	spy := spyOn(t, s)
	equal(t, updateCampaign(t, s, f.root, made.ID, row), made)
	equal(t, spy.commits.Load(), 0, "commits")
}

func TestConcurrentNewCampaignsOfOneTitleOnTwoNodesGetTheirOwnSlugs(t *testing.T) {
	a, b := twoNodes(t)
	f := newFamily(t, a)
	var mu sync.Mutex
	slugs, ids := map[string]bool{}, map[int64]bool{}
	atOnce(16, func(i int) {
		owner := []access.Account{f.root, f.chapter, f.stranger}[i%3]
		c, err := []*Book{a, b}[i%2].CreateCampaign(t.Context(), owner, campaignInput(t, `{"title":"Gala"}`))
		succeed(t, err)
		mu.Lock()
		defer mu.Unlock()
		slugs[c.Slug], ids[c.ID] = true, true
	})
	if len(slugs) != 16 || len(ids) != 16 || !slugs["gala"] || !slugs["gala-16"] {
		t.Errorf("%d slugs, %d ids: %v", len(slugs), len(ids), slugs)
	}
}

func TestConcurrentOneSlugOnTwoNodesGoesToOneCampaign(t *testing.T) {
	a, b := twoNodes(t)
	f := newFamily(t, a)
	second := createCampaign(t, a, f.root, `{"title":"Second"}`)
	var mu sync.Mutex
	winners := map[string]bool{}
	atOnce(8, func(i int) {
		s, who := []*Book{a, b}[i%2], "the second"
		var err error
		if i < 2 {
			_, err = s.UpdateCampaign(t.Context(), f.root, second.ID,
				campaignInput(t, `{"title":"Second","slug":"gala"}`))
		} else {
			who = fmt.Sprintf("Gala %d", i)
			_, err = s.CreateCampaign(t.Context(), []access.Account{f.chapter, f.stranger}[i/2%2],
				campaignInput(t, `{"title":"`+who+`","slug":"gala"}`))
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			winners[who] = true
		} else {
			wantFaults(t, err, "slug")
		}
	})
	holders := 0
	for _, account := range []access.Account{f.root, f.chapter, f.stranger} {
		for _, c := range campaignsSeen(t, b, account, campaign.OwnCampaigns, 10) {
			if c.Slug == "gala" {
				holders++
			}
		}
	}
	if len(winners) != 1 || holders != 1 {
		t.Errorf("%v were told that the slug is theirs, and %d campaigns have it", winners, holders)
	}
}

func TestConcurrentChangesOfDifferentFieldsAtOnceAreBothKept(t *testing.T) {
	a, b := twoNodes(t)
	owner := newAccount(t, a)
	made := createCampaign(t, a, owner, `{"title":"Gala","slug":"gala"}`)
	rows := []string{`"subtitle":"s"`, `"goal":5`, `"raised":6`, `"donors":7`, `"logo":"https://a.example/l"`,
		`"type":"event"`, `"currency":"EUR"`, `"event":{}`}
	atOnce(len(rows), func(i int) {
		s := []*Book{a, b}[i%2]
		row := `{"slug":"gala",` + rows[i] + `}`
		if i%4 >= 2 { // an import does the same
			mustImport(t, s, owner, "["+row+"]")
			return
		}
		updateCampaign(t, s, owner, made.ID, row)
	})
	got, err := b.Campaign(t.Context(), owner.Number, made.ID)
	c := got.Campaign
	body, _ := c.AppendBody(nil)
	if err != nil || c.Subtitle != "s" || c.Goal != 500 || c.Raised() != 600 || c.Donors() != 7 || c.Logo == "" ||
		c.Type != "event" || c.Currency != "EUR" || c.Event == nil {
		t.Errorf("a change was lost: %s, %v", strings.TrimSpace(string(body)), err)
	}
}
