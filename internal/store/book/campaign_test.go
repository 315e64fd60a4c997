package book

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/campaigns"
)

// family is an organization with a chapter, and a chapter of that, and a stranger.
type family struct {
	root, chapter, below, stranger access.Account
}

func newFamily(t *testing.T, s *Book) (f family) {
	t.Helper()
	make := func(name, parent string) access.Account {
		a := must(s.CreateAccount(t.Context(), name, parent))(t)
		return a
	}
	f.root = make("Root", "")
	f.chapter = make("Chapter", f.root.ID)
	f.below = make("Below", f.chapter.ID)
	f.stranger = make("Stranger", "")
	return f
}

func importAll(t *testing.T, s *Book, owner access.Account, rows string) (campaigns.ImportResult, error) {
	t.Helper()
	inputs := must(campaign.DecodeAll([]byte(rows)))(t)
	return s.ImportCampaigns(t.Context(), owner, inputs)
}

func mustImport(t *testing.T, s *Book, owner access.Account, rows string) campaigns.ImportResult {
	t.Helper()
	done := must(importAll(t, s, owner, rows))(t)
	return done
}

// listed is the part of a campaign that a test looks at.
type listed struct {
	ID        int64
	AccountID string `json:"account_id"`
	Title     string
	Slug      string
	URL       string
	Raised    float64
	UpdatedAt string `json:"updated_at"`
}

// campaignsOf walks all pages of a list.
func campaignsSeen(t *testing.T, s *Book, account access.Account, scope campaign.Scope, perPage int64) (all []listed) {
	t.Helper()
	for page := int64(1); ; page++ {
		body, found := must2(s.Campaigns(t.Context(), account.Number, scope, crm.PageRequest{Page: page, PerPage: perPage}, "https://give.example.org", []byte("["), nil))(t)
		var part []listed
		succeed(t, json.Unmarshal(append(body, ']'), &part))
		if int64(len(part)) != found.Count {
			t.Fatalf("%d campaigns on page %d, and a count of %d", len(part), page, found.Count)
		}
		all = append(all, part...)
		if len(part) == 0 {
			if int64(len(all)) != found.Total {
				t.Fatalf("%d campaigns on all pages, and a total of %d", len(all), found.Total)
			}
			return all
		}
	}
}

func titles(list []listed) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.Title)
	}
	return names
}

func TestCampaignScopesFollowTheTreeAndTheBeneficiaries(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		f := newFamily(t, s)
		mustImport(t, s, f.root, `[{"title":"Root 1"},{"title":"Root 2"}]`)
		mustImport(t, s, f.chapter, `[{"title":"Chapter 1"}]`)
		mustImport(t, s, f.below, `[{"title":"Below 1","beneficiaries":["`+f.root.ID+`","`+f.stranger.ID+`"]}]`)
		mustImport(t, s, f.stranger, `[{"title":"Stranger 1","beneficiaries":["`+f.chapter.ID+`"]}]`)
		for _, want := range []struct {
			account access.Account
			scope   campaign.Scope
			titles  []string
		}{
			{f.root, campaign.OwnCampaigns, []string{"Root 1", "Root 2"}},
			{f.root, campaign.BenefitingCampaigns, []string{"Below 1"}},
			{f.root, campaign.ChapterCampaigns, []string{"Chapter 1", "Below 1"}},
			{f.root, campaign.AllCampaigns, []string{"Root 1", "Root 2", "Chapter 1", "Below 1"}},
			{f.chapter, campaign.OwnCampaigns, []string{"Chapter 1"}},
			{f.chapter, campaign.BenefitingCampaigns, []string{"Stranger 1"}},
			{f.chapter, campaign.ChapterCampaigns, []string{"Below 1"}},
			{f.chapter, campaign.AllCampaigns, []string{"Chapter 1", "Below 1", "Stranger 1"}},
			{f.below, campaign.ChapterCampaigns, nil},
			{f.below, campaign.AllCampaigns, []string{"Below 1"}},
			{f.stranger, campaign.BenefitingCampaigns, []string{"Below 1"}},
			{f.stranger, campaign.AllCampaigns, []string{"Below 1", "Stranger 1"}},
		} {
			for _, perPage := range []int64{1, 2, 100} {
				list := campaignsSeen(t, s, want.account, want.scope, perPage)
				if got := titles(list); !slices.Equal(got, want.titles) {
					t.Errorf("%s %q at %d a page: %q, want %q", want.account.Name, want.scope, perPage, got, want.titles)
				}
				if !slices.IsSortedFunc(list, func(a, b listed) int { return int(a.ID - b.ID) }) {
					t.Errorf("%s %q is not in ascending order of ids", want.account.Name, want.scope)
				}
			}
		}
	})
}

func TestASecondImportUpdatesBySlug(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		f := newFamily(t, s)
		first := mustImport(t, s, f.root, `[{"title":"Coats","raised":10.5},{"title":"Ride","slug":"ride"}]`)
		if first != (campaigns.ImportResult{Created: 2}) {
			t.Errorf("first import: %+v", first)
		}
		before := campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 100)
		if again := mustImport(t, s, f.root, `[{"title":"Coats","raised":10.5},{"title":"Ride","slug":"ride"}]`); again != (campaigns.ImportResult{Unchanged: 2}) {
			t.Errorf("the same import again: %+v", again)
		}
		second := mustImport(t, s, f.root, `[{"slug":"ride","title":"Ride on"},{"title":"Coats","raised":99}]`)
		if second != (campaigns.ImportResult{Updated: 2}) {
			t.Errorf("second import: %+v", second)
		}
		after := campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 100)
		if len(after) != 2 || after[0].ID != before[0].ID || after[0].Raised != 99 || after[1].Title != "Ride on" || after[1].URL != "https://give.example.org/ride" {
			t.Errorf("after: %+v", after)
		}
	})
}

func TestBeneficiariesAreReplacedWhenSentAndKeptWhenNot(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		f := newFamily(t, s)
		row := `[{"title":"Coats","beneficiaries":["` + f.stranger.ID + `"]}]`
		mustImport(t, s, f.root, row)
		mustImport(t, s, f.root, `[{"title":"Coats","goal":5}]`)
		if got := titles(campaignsSeen(t, s, f.stranger, campaign.BenefitingCampaigns, 10)); !slices.Equal(got, []string{"Coats"}) {
			t.Errorf("not sent, and gone: %q", got)
		}
		mustImport(t, s, f.root, `[{"title":"Coats","beneficiaries":["`+f.chapter.ID+`"]}]`)
		if got := campaignsSeen(t, s, f.stranger, campaign.AllCampaigns, 10); len(got) != 0 {
			t.Errorf("no longer a beneficiary, and still sees %v", got)
		}
		if got := titles(campaignsSeen(t, s, f.chapter, campaign.BenefitingCampaigns, 10)); !slices.Equal(got, []string{"Coats"}) {
			t.Errorf("a beneficiary now, and sees %q", got)
		}
	})
}

func TestARefusedImportChangesNothingAndNamesTheRow(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		f := newFamily(t, s)
		mustImport(t, s, f.stranger, `[{"title":"Taken","slug":"taken"}]`)
		_, err := importAll(t, s, f.root, `[{"title":"Good"},{"title":"X","slug":"taken"},{"slug":"new-one"},{"title":"Y","beneficiaries":["`+f.chapter.ID+`","AAAAAAAAAAAAAAAA"]}]`)
		var rows *campaign.RowsInvalid
		if !errors.As(err, &rows) {
			t.Fatalf("%v", err)
		}
		for _, line := range []string{"row 2: slug: ", "row 3: title: ", "row 4: beneficiaries.1: "} {
			if !strings.Contains(err.Error(), line) {
				t.Errorf("no %q in:\n%v", line, err)
			}
		}
		if strings.Contains(err.Error(), "row 1") {
			t.Errorf("row 1 is good:\n%v", err)
		}
		if got := campaignsSeen(t, s, f.root, campaign.AllCampaigns, 10); len(got) != 0 {
			t.Errorf("refused, and yet there: %v", got)
		}
	})
}

func TestSlugsMadeFromTitlesGiveWay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		f := newFamily(t, s)
		mustImport(t, s, f.stranger, `[{"title":"Coats"}]`)
		rows := `[{"title":"Coats"},{"title":"Coats!"},{"title":"Docs"}]`
		mustImport(t, s, f.root, rows)
		if again := mustImport(t, s, f.root, rows); again.Created != 0 {
			t.Errorf("imported again: %+v", again)
		}
		var slugs []string
		for _, c := range campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 10) {
			slugs = append(slugs, c.Slug)
		}
		if want := []string{"coats-2", "coats-3", "docs-2"}; !slices.Equal(slugs, want) {
			t.Errorf("slugs %q, want %q", slugs, want)
		}
	})
}

// TestConcurrentCampaignsOfTheSameMomentGetTheirOwnIDs also checks two stores that import at once.
func TestConcurrentCampaignsOfTheSameMomentGetTheirOwnIDs(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		f := newFamily(t, a)
		var rows []string
		for i := range 150 {
			rows = append(rows, fmt.Sprintf(`{"title":"Old %d","created_at":"2020-01-01 00:00:00"}`, i))
		}
		done := make(chan error, 2)
		for i, s := range []*Book{a, b} {
			owner := []access.Account{f.root, f.chapter}[i]
			go func() {
				inputs, err := campaign.DecodeAll([]byte("[" + strings.Join(rows, ",") + "]"))
				if err == nil {
					_, err = s.ImportCampaigns(t.Context(), owner, inputs)
				}
				done <- err
			}()
		}
		for range 2 {
			succeed(t, <-done)
		}
		for _, s := range []*Book{a, b} {
			ids := map[int64]bool{}
			for _, c := range campaignsSeen(t, s, f.root, campaign.AllCampaigns, 100) {
				ids[c.ID] = true
			}
			if len(ids) != 300 {
				t.Errorf("%d ids, want 300", len(ids))
			}
		}
	})
}

func newCampaignID(t *testing.T, s *Book, owner access.Account, title string) int64 {
	t.Helper()
	campaign := must(s.CreateCampaign(t.Context(), owner, campaign.Input{Title: &title}))(t)
	return campaign.ID
}

// A campaign's id is the next one of the account. It is never used again, and a refused campaign does not use one.
func TestConcurrentCampaignsAreNumberedFromOne(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		first, second := newAccount(t, a), newAccount(t, a)
		for i, want := range []int64{1, 2, 3} {
			if id := newCampaignID(t, []*Book{a, b}[i%2], first, fmt.Sprint("Campaign ", want)); id != want {
				t.Errorf("campaign %d has the id %d", want, id)
			}
		}
		if id := newCampaignID(t, b, second, "Other"); id != 1_000_000_001 {
			t.Errorf("the first campaign of the second account has the id %d", id)
		}
		succeed(t, a.DeleteCampaign(t.Context(), first, 3, ""))
		if _, err := importAll(t, a, first, `[{"title":"Fine"},{"title":"Lost","beneficiaries":["0000000000000000"]}]`); err == nil {
			t.Error("a file with a fault was taken")
		}
		if id := newCampaignID(t, b, first, "After the deleted one"); id != 4 {
			t.Errorf("after campaign 3 was deleted and a file refused, the next one has the id %d", id)
		}
		mustImport(t, a, first, `[{"title":"Young","created_at":"2020-01-02 00:00:00"},{"title":"Old","created_at":"2020-01-01 00:00:00"}]`)
		want := []listed{{ID: 5, Title: "Old"}, {ID: 6, Title: "Young"}, {ID: 1, Title: "Campaign 1"}, {ID: 2, Title: "Campaign 2"}, {ID: 4, Title: "After the deleted one"}}
		got := campaignsSeen(t, b, first, campaign.OwnCampaigns, 2)
		for i := range got {
			got[i] = listed{ID: got[i].ID, Title: got[i].Title}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the list is %v, want %v", got, want)
		}
	})
}

// Campaign ids used to be times, and one of them may be in the range that an account reaches by counting.
func TestACampaignLeavesOutAnIDThatIsTaken(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		first, second := newAccount(t, s), newAccount(t, s)
		newCampaignID(t, s, first, "One")
		older := newCampaignID(t, s, second, "Older")
		for _, table := range []string{"campaign SET id", "campaign_reader SET campaign_id"} {
			column := strings.Fields(table)[2]
			damage(t, s, `UPDATE `+table+` = 2 WHERE `+column+` = $1`, older)
		}
		damage(t, s, `UPDATE change SET id = 2 WHERE noun = 2 AND id = $1`, older)
		damage(t, s, `UPDATE campaign SET cell = $1 WHERE id = 2`, giving.CampaignCell(2, text.DefaultCurrency))
		if id := newCampaignID(t, s, first, "Two"); id != 3 {
			t.Errorf("beside campaign 2 of another account, the next one has the id %d", id)
		}
	})
}
