package book

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	ctx := t.Context()
	s := newBook(t)
	f := newFamily(t, s)
	var want []int64
	for i := range 7 {
		owner := []access.Account{f.root, f.chapter}[i%2]
		want = append(want, createCampaign(t, s, owner, fmt.Sprintf(`{"title":"C %d"}`, i)).ID)
	}
	createCampaign(t, s, f.stranger, `{"title":"Not ours"}`)
	slices.Reverse(want)
	for _, perPage := range []int64{1, 2, 3, 7, 100} {
		var got []int64
		for page := int64(1); ; page++ {
			campaigns, found := must2(s.CampaignPage(ctx, f.root.Number, campaign.AllCampaigns,
				crm.PageRequest{Page: page, PerPage: perPage}))(t)
			equal(t, found, (store.ListResult{Total: 7, Count: int64(len(campaigns))}), "page %d has %d campaigns",
				page, len(campaigns))
			if len(campaigns) == 0 {
				break
			}
			for _, c := range campaigns {
				got = append(got, c.ID)
			}
		}
		equal(t, got, want, "at %d a page", perPage)
	}
	totals, err := s.CampaignTotals(ctx, f.root.Number)
	wantTotals := map[campaign.Scope]int64{campaign.OwnCampaigns: 4, campaign.BenefitingCampaigns: 0,
		campaign.ChapterCampaigns: 3, campaign.AllCampaigns: 7}
	if diff := cmp.Diff(wantTotals, totals); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	own, found := must2(s.CampaignPage(ctx, f.chapter.Number, campaign.OwnCampaigns,
		crm.PageRequest{Page: 1, PerPage: 2}))(t)
	if found.Total != 3 || len(own) != 2 || own[0].Title != "C 5" || own[1].Title != "C 3" ||
		own[0].AccountID != f.chapter.ID {
		t.Errorf("%+v, %+v", own, found)
	}
}

func TestANewCampaignIsAlwaysNew(t *testing.T) {
	s := newBook(t)
	f := newFamily(t, s)
	createCampaign(t, s, f.stranger, `{"title":"Gala"}`)
	var slugs []string
	for range 3 {
		slugs = append(slugs, createCampaign(t, s, f.root, `{"title":"Gala"}`).Slug)
	}
	if want := []string{"gala-2", "gala-3", "gala-4"}; !slices.Equal(slugs, want) {
		t.Errorf("slugs %q, want %q", slugs, want)
	}
	equal(t, createCampaign(t, s, f.root, `{"title":"Other","slug":"ball"}`).Slug, "ball",
		"the slug that was sent became")
	for _, owner := range []access.Account{f.root, f.stranger} {
		_, err := s.CreateCampaign(t.Context(), owner, campaignInput(t, `{"title":"Other","slug":"ball"}`))
		wantFaults(t, err, "slug")
	}
	_, err := s.CreateCampaign(t.Context(), f.root, campaignInput(t,
		`{"slug":"ball","beneficiaries":["`+f.root.ID+`","AAAAAAAAAAAAAAAA"]}`))
	wantFaults(t, err, "title", "slug", "beneficiaries.1")
	equal(t, len(campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 10)), 4, "campaigns, want 4")
	// An import still finds the account's own campaign by the slug.
	equal(t, mustImport(t, s, f.root, `[{"title":"Other","slug":"ball","goal":7}]`),
		(store.ImportResult{Updated: 1}))
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
	if changed.ID != made.ID || changed.Slug != "the-longer-ball" || changed.Goal != 10000 {
		t.Errorf("%+v", changed)
	}
	got := campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 10)[1]
	if got.Slug != "the-longer-ball" || got.URL != "https://give.example.org/the-longer-ball" || got.Title != "Ball" {
		t.Errorf("%+v", got)
	}
	for _, taken := range []string{"theirs", "second"} {
		_, err := s.UpdateCampaign(t.Context(), f.root, made.ID,
			campaignInput(t, `{"title":"Gala","slug":"`+taken+`"}`))
		wantFaults(t, err, "slug")
	}
	_, err := s.UpdateCampaign(t.Context(), f.root, made.ID,
		campaignInput(t, `{"slug":"theirs","beneficiaries":["AAAAAAAAAAAAAAAA"]}`))
	wantFaults(t, err, "slug", "beneficiaries.0")
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
