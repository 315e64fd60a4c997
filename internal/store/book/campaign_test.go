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
	"donorbook/internal/store"
)

// family is an organization with a chapter, and a chapter of that, and a stranger.
type family struct {
	root, chapter, below, stranger access.Account
}

func newFamily(t *testing.T, s *Book) (f family) {
	t.Helper()
	make := func(name, parent string) access.Account {
		return must(s.CreateAccount(t.Context(), name, parent))(t)
	}
	f.root = make("Root", "")
	f.chapter = make("Chapter", f.root.ID)
	f.below = make("Below", f.chapter.ID)
	f.stranger = make("Stranger", "")
	return f
}

func importAll(t *testing.T, s *Book, owner access.Account, rows string) (store.ImportResult, error) {
	t.Helper()
	return s.ImportCampaigns(t.Context(), owner, must(campaign.DecodeAll([]byte(rows)))(t))
}

func mustImport(t *testing.T, s *Book, owner access.Account, rows string) store.ImportResult {
	t.Helper()
	return must(importAll(t, s, owner, rows))(t)
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
		body, found := must2(s.Campaigns(t.Context(), account.Number, scope,
			crm.PageRequest{Page: page, PerPage: perPage}, "https://give.example.org", []byte("["), nil))(t)
		var part []listed
		succeed(t, json.Unmarshal(append(body, ']'), &part))
		equal(t, int64(len(part)), found.Count, "%d campaigns on page %d, and a count", len(part), page)
		all = append(all, part...)
		if len(part) == 0 {
			equal(t, int64(len(all)), found.Total, "%d campaigns on all pages, and a total", len(all))
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

func TestASecondImportUpdatesBySlug(t *testing.T) {
	s := newBook(t)
	f := newFamily(t, s)
	first := mustImport(t, s, f.root, `[{"title":"Coats","raised":10.5},{"title":"Ride","slug":"ride"}]`)
	equal(t, first, (store.ImportResult{Created: 2}), "first import")
	before := campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 100)
	equal(t, mustImport(t, s, f.root, `[{"title":"Coats","raised":10.5},{"title":"Ride","slug":"ride"}]`),
		(store.ImportResult{Unchanged: 2}), "the same import again")
	second := mustImport(t, s, f.root, `[{"slug":"ride","title":"Ride on"},{"title":"Coats","raised":99}]`)
	equal(t, second, (store.ImportResult{Updated: 2}), "second import")
	after := campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 100)
	if len(after) != 2 || after[0].ID != before[0].ID || after[0].Raised != 99 || after[1].Title != "Ride on" ||
		after[1].URL != "https://give.example.org/ride" {
		t.Errorf("after: %+v", after)
	}
}

func TestARefusedImportChangesNothingAndNamesTheRow(t *testing.T) {
	s := newBook(t)
	f := newFamily(t, s)
	mustImport(t, s, f.stranger, `[{"title":"Taken","slug":"taken"}]`)
	_, err := importAll(t, s, f.root,
		`[{"title":"Good"},{"title":"X","slug":"taken"},{"slug":"new-one"},{"title":"Y",
			"beneficiaries":["`+f.chapter.ID+`","AAAAAAAAAAAAAAAA"]}]`)
	var rows *campaign.RowsInvalid
	if !errors.As(err, &rows) {
		t.Fatalf("%v", err)
	}
	for _, line := range []string{"row 2: slug: ", "row 3: title: ", "row 4: beneficiaries.1: "} {
		contains(t, err.Error(), line, "no")
	}
	if strings.Contains(err.Error(), "row 1") {
		t.Errorf("row 1 is good:\n%v", err)
	}
	equal(t, len(campaignsSeen(t, s, f.root, campaign.AllCampaigns, 10)), 0, "refused, and yet there")
}

func TestSlugsMadeFromTitlesGiveWay(t *testing.T) {
	s := newBook(t)
	f := newFamily(t, s)
	mustImport(t, s, f.stranger, `[{"title":"Coats"}]`)
	rows := `[{"title":"Coats"},{"title":"Coats!"},{"title":"Docs"}]`
	mustImport(t, s, f.root, rows)
	equal(t, mustImport(t, s, f.root, rows).Created, 0, "imported again")
	var slugs []string
	for _, c := range campaignsSeen(t, s, f.root, campaign.OwnCampaigns, 10) {
		slugs = append(slugs, c.Slug)
	}
	if want := []string{"coats-2", "coats-3", "docs-2"}; !slices.Equal(slugs, want) {
		t.Errorf("slugs %q, want %q", slugs, want)
	}
}

// TestConcurrentCampaignsOfTheSameMomentGetTheirOwnIDs also checks two stores that import at once.
func TestConcurrentCampaignsOfTheSameMomentGetTheirOwnIDs(t *testing.T) {
	a, b := twoNodes(t)
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
		equal(t, len(ids), 300, "ids, want 300")
	}
}

func newCampaignID(t *testing.T, s *Book, owner access.Account, title string) int64 {
	t.Helper()
	return must(s.CreateCampaign(t.Context(), owner, campaign.Input{Title: &title}))(t).ID
}

// A campaign's id is the next one of the account. It is never used again, and a refused campaign does not use one.
func TestConcurrentCampaignsAreNumberedFromOne(t *testing.T) {
	a, b := twoNodes(t)
	first, second := newAccount(t, a), newAccount(t, a)
	for i, want := range []int64{1, 2, 3} {
		equal(t, newCampaignID(t, []*Book{a, b}[i%2], first, fmt.Sprint("Campaign ", want)), want,
			"campaign has the id")
	}
	equal(t, newCampaignID(t, b, second, "Other"), 1_000_000_001, "the first campaign of the second account has the id")
	succeed(t, a.DeleteCampaign(t.Context(), first, 3, ""))
	if _, err := importAll(t, a, first,
		`[{"title":"Fine"},{"title":"Lost","beneficiaries":["0000000000000000"]}]`); err == nil {
		t.Error("a file with a fault was taken")
	}
	equal(t, newCampaignID(t, b, first, "After the deleted one"), 4,
		"after campaign 3 was deleted and a file refused, the next one has the id")
	mustImport(t, a, first,
		`[{"title":"Young","created_at":"2020-01-02 00:00:00"},{"title":"Old","created_at":"2020-01-01 00:00:00"}]`)
	want := []listed{{ID: 5, Title: "Old"}, {ID: 6, Title: "Young"}, {ID: 1, Title: "Campaign 1"},
		{ID: 2, Title: "Campaign 2"}, {ID: 4, Title: "After the deleted one"}}
	got := campaignsSeen(t, b, first, campaign.OwnCampaigns, 2)
	for i := range got {
		got[i] = listed{ID: got[i].ID, Title: got[i].Title}
	}
	equal(t, got, want, "the list")
}

// Campaign ids used to be times, and one of them may be in the range that an account reaches by counting.
func TestACampaignLeavesOutAnIDThatIsTaken(t *testing.T) {
	s := newBook(t)
	first, second := newAccount(t, s), newAccount(t, s)
	newCampaignID(t, s, first, "One")
	older := newCampaignID(t, s, second, "Older")
	for _, table := range []string{"campaign SET id", "campaign_reader SET campaign_id"} {
		column := strings.Fields(table)[2]
		damage(t, s, `UPDATE `+table+` = 2 WHERE `+column+` = $1`, older)
	}
	damage(t, s, `UPDATE change SET id = 2 WHERE noun = 2 AND id = $1`, older)
	damage(t, s, `UPDATE campaign SET cell = $1 WHERE id = 2`, giving.CampaignCell(2, text.DefaultCurrency))
	equal(t, newCampaignID(t, s, first, "Two"), 3, "beside campaign 2 of another account, the next one has the id")
}
