package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
)

// give makes the sums of a campaign's gifts, and takes them away when the test ends.
func give(t *testing.T, s *Store, owner crm.Account, cell string, amount, donors int64) {
	t.Helper()
	damage(t, s, `INSERT INTO giving (account_id, cell, entries, gifts, amount, recurring, donors, new_donors, retained, first_year) VALUES ($1, $2, 1, 1, $3, 0, $4, 0, 0, 0)`,
		owner.Number, cell, amount, donors)
	t.Cleanup(func() {
		err := s.updateShared(context.Background(), 0, func(x *tx) error {
			return x.exec(`DELETE FROM giving WHERE account_id = $1 AND cell = $2`, owner.Number, cell)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// What a campaign shows is its opening balance and its gifts, wherever it is read.
func TestACampaignCountsItsGifts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		f := newFamily(t, s)
		gala := createCampaign(t, s, f.chapter, `{"title":"Gala","raised":10.5,"donors":1,"goal":100,"beneficiaries":["`+f.stranger.ID+`"]}`)
		yen := createCampaign(t, s, f.root, `{"title":"Yen","currency":"JPY"}`)
		createCampaign(t, s, f.root, `{"title":"Nothing","raised":7,"donors":3}`)
		give(t, s, f.chapter, gala.Cell(), 2075, 4)
		give(t, s, f.chapter, strings.Replace(gala.Cell(), "USD", "EUR", 1), 99999, 9) // another currency
		give(t, s, f.root, gala.Cell(), 88888, 8)                                      // another account
		give(t, s, f.root, yen.Cell(), 1500, 2)
		want := map[string]string{"Gala": `"goal":100,"raised":31.25,"donors":5,"currency":"USD"`, "Yen": `"goal":0,"raised":1500,"donors":2,"currency":"JPY"`, "Nothing": `"goal":0,"raised":7,"donors":3,"currency":"USD"`}
		for _, reader := range []struct {
			account crm.Account
			titles  []string
		}{{f.root, []string{"Gala", "Yen", "Nothing"}}, {f.chapter, []string{"Gala"}}, {f.stranger, []string{"Gala"}}} {
			body, _, err := s.Campaigns(t.Context(), reader.account.Number, crm.AllCampaigns, crm.PageRequest{Page: 1, PerPage: 10}, "https://x.org", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, title := range reader.titles {
				if !strings.Contains(string(body), want[title]) {
					t.Errorf("%s lists %s, which lacks %s", reader.account.Name, body, want[title])
				}
			}
			campaigns, _, err := s.CampaignPage(t.Context(), reader.account.Number, crm.AllCampaigns, crm.PageRequest{Page: 1, PerPage: 10})
			if at := slices.IndexFunc(campaigns, func(c crm.Campaign) bool { return c.ID == gala.ID }); err != nil || at < 0 || campaigns[at].Raised() != 3125 || campaigns[at].Donors() != 5 {
				t.Errorf("the page of %s has %+v, %v", reader.account.Name, campaigns, err)
			}
			record, err := s.Campaign(t.Context(), reader.account.Number, gala.ID)
			if c := record.Campaign; err != nil || c.Raised() != 3125 || c.Donors() != 5 || c.OpeningRaised != 1050 || c.OpeningDonors != 1 {
				t.Errorf("%s sees %+v, %v", reader.account.Name, c, err)
			}
		}
		if public, _, err := s.CampaignBySlug(t.Context(), "gala"); err != nil || public.Raised() != 3125 || public.Donors() != 5 {
			t.Errorf("in public it is %+v, %v", public, err)
		}

		// Another currency has other gifts, and the opening balance stays what it was.
		updateCampaign(t, s, f.chapter, gala.ID, `{"slug":"gala","currency":"EUR"}`)
		if c, _, err := s.CampaignBySlug(t.Context(), "gala"); err != nil || c.Raised() != 1050+99999 || c.Donors() != 10 {
			t.Errorf("in euros it is %+v, %v", c, err)
		}
	})
}

// A list that is imported as it was printed has the gifts in its numbers already.
func TestAListThatIsImportedAgainCountsNoGiftTwice(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		owner := newAccount(t, s)
		gala := createCampaign(t, s, owner, `{"title":"Gala","raised":10,"donors":1}`)
		give(t, s, owner, gala.Cell(), 2000, 4)
		page := func() string {
			body, _, err := s.Campaigns(t.Context(), owner.Number, crm.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: 10}, "https://x.org", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			return "[" + string(body) + "]"
		}
		before := page()
		if done := mustImport(t, s, owner, before); done.Unchanged != 1 || page() != before {
			t.Errorf("%+v: %s became %s", done, before, page())
		}
		if done := mustImport(t, s, owner, `[{"slug":"gala","raised":12}]`); done.Updated != 1 || !strings.Contains(page(), `"raised":32,"donors":5`) {
			t.Errorf("%+v: %s", done, page())
		}
	})
}

func TestAStateAndAPaymentLinkAreImportedAndStay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		owner := newAccount(t, s)
		before := func() string {
			body, _, err := s.Campaigns(t.Context(), owner.Number, crm.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: 10}, "https://x.org", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		for _, step := range []struct {
			rows         string
			done         ImportResult
			status, link string
		}{
			{`[{"title":"Gala","slug":"gala"}]`, ImportResult{Created: 1}, crm.Published, ""},
			{`[{"slug":"gala","status":"draft","payment_link":"https://pay.example.org/g"}]`, ImportResult{Updated: 1}, crm.Draft, "https://pay.example.org/g"},
			{`[{"slug":"gala","status":"draft"}]`, ImportResult{Unchanged: 1}, crm.Draft, "https://pay.example.org/g"},
			{`[{"slug":"gala","status":"closed","payment_link":null}]`, ImportResult{Updated: 1}, crm.Closed, ""},
		} {
			wire := before()
			if done := mustImport(t, s, owner, step.rows); done != step.done {
				t.Errorf("%s: %+v", step.rows, done)
			}
			c, _, err := s.CampaignBySlug(t.Context(), "gala")
			if err != nil || c.Status != step.status || c.PaymentLink != step.link {
				t.Errorf("%s: %q, %q, %v", step.rows, c.Status, c.PaymentLink, err)
			}
			if step.done.Created == 0 && before() != wire {
				t.Errorf("%s: the wire form became %s", step.rows, before())
			}
		}
	})
}

// slugLeads checks where a slug leads: to the campaign, under the slug that it has now; nil is nowhere.
func slugLeads(t *testing.T, s *Store, slug string, to *crm.Campaign, now string) {
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
	eachEngine(t, func(t *testing.T, s *Store) {
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

		// Another campaign takes one anew, by its title or by a change, and keeps it when it is called otherwise again.
		ball := createCampaign(t, s, f.stranger, `{"title":"Ball"}`)
		slugLeads(t, s, "ball", &ball, "ball")
		updateCampaign(t, s, f.stranger, ball.ID, `{"slug":"dance"}`)
		slugLeads(t, s, "dance", &ball, "dance")
		slugLeads(t, s, "ball", &ball, "dance")
		updateCampaign(t, s, f.stranger, ball.ID, `{"slug":"waltz"}`)
		slugLeads(t, s, "dance", &ball, "waltz")

		// A refused change keeps everything as it was.
		_, err := s.UpdateCampaign(t.Context(), f.stranger, ball.ID, campaignInput(t, `{"slug":"gala"}`))
		wantFaults(t, err, "slug")
		slugLeads(t, s, "waltz", &ball, "waltz")
		slugLeads(t, s, "gala", &gala, "gala")
	})
}

func TestOnlyTheLastSlugsOfACampaignLeadToIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
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
	})
}

func TestACampaignIsDeletedWithAllThatLeadsToIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		f := newFamily(t, s)
		gala := createCampaign(t, s, f.chapter, `{"title":"Gala","beneficiaries":["`+f.stranger.ID+`"]}`)
		createCampaign(t, s, f.chapter, `{"title":"Kept","beneficiaries":["`+f.stranger.ID+`"]}`)
		updateCampaign(t, s, f.chapter, gala.ID, `{"slug":"ball"}`)
		readers := []crm.Account{f.root, f.chapter, f.stranger}
		for _, account := range readers { // so that every list is known
			if got := titles(campaignsOf(t, s, account, crm.AllCampaigns, 10)); !slices.Equal(got, []string{"Gala", "Kept"}) {
				t.Fatalf("%s lists %q", account.Name, got)
			}
		}
		for _, account := range []crm.Account{f.root, f.stranger, f.below} {
			wantError(t, account.Name, s.DeleteCampaign(t.Context(), account, gala.ID, ""), crm.ErrNotFound)
		}
		record, err := s.Campaign(t.Context(), f.chapter.Number, gala.ID)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, "an old page", s.DeleteCampaign(t.Context(), f.chapter, gala.ID, "old"), crm.ErrChanged)
		if err := s.DeleteCampaign(t.Context(), f.chapter, gala.ID, record.Version()); err != nil {
			t.Fatal(err)
		}
		wantError(t, "a second time", s.DeleteCampaign(t.Context(), f.chapter, gala.ID, ""), crm.ErrNotFound)
		for _, account := range readers {
			if got := titles(campaignsOf(t, s, account, crm.AllCampaigns, 10)); !slices.Equal(got, []string{"Kept"}) {
				t.Errorf("%s lists %q", account.Name, got)
			}
			_, err := s.Campaign(t.Context(), account.Number, gala.ID)
			wantError(t, account.Name, err, crm.ErrNotFound)
		}
		slugLeads(t, s, "ball", nil, "")
		slugLeads(t, s, "gala", nil, "")
		again := createCampaign(t, s, f.stranger, `{"title":"Again","slug":"gala"}`)
		slugLeads(t, s, "gala", &again, "gala")
	})
}

// Whatever became of a gift or a plan, its campaign stays.
func TestACampaignWithGiftsOrPlansIsNotDeleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		owner := newAccount(t, s)
		for _, table := range []string{"gift", "plan"} {
			c := createCampaign(t, s, owner, `{"title":"Gala"}`)
			insert := `INSERT INTO gift (account_id, id, contact_id, campaign_id, plan_id, status, method, currency, net, month, given_at, body, checksum) VALUES ($1, $2, 1, $3, 0, 0, 0, 'USD', 0, 202611, 1, $4, 0)`
			if table == "plan" {
				insert = `INSERT INTO plan (account_id, id, contact_id, campaign_id, status, next_bill, body, checksum) VALUES ($1, $2, 1, $3, 0, 0, $4, 0)`
			}
			damage(t, s, insert, owner.Number, crm.MakeID(owner.Number, 1), c.ID, []byte("{}"))
			for _, err := range []error{s.DeleteCampaign(t.Context(), owner, c.ID, ""), s.CheckDeletable(t.Context(), owner.Number, c.ID)} {
				var invalid *crm.Invalid
				if !errors.As(err, &invalid) || invalid.Faults[0].Rule != crm.HasGifts {
					t.Errorf("with a %s: %v", table, err)
				}
			}
			if _, err := s.Campaign(t.Context(), owner.Number, c.ID); err != nil {
				t.Error(err)
			}
			damage(t, s, `DELETE FROM `+table+` WHERE account_id = $1`, owner.Number)
			if err := errors.Join(s.CheckDeletable(t.Context(), owner.Number, c.ID), s.DeleteCampaign(t.Context(), owner, c.ID, "")); err != nil {
				t.Errorf("without any %s: %v", table, err)
			}
		}
	})
}

// A slow client reads a large page while campaigns on it are deleted: it gets every other one, each once, and a count that is right.
func TestAPageLeavesOutCampaignsThatAreDeletedMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		owner := newAccount(t, s)
		var rows []string
		for n := range 12 {
			rows = append(rows, fmt.Sprintf(`{"title":"Gala %d","description":"<p>%s</p>"}`, n, strings.Repeat("long ", 19_000)))
		}
		mustImport(t, s, owner, "["+strings.Join(rows, ",")+"]")
		all := campaignsOf(t, s, owner, crm.OwnCampaigns, 100)
		var sent bytes.Buffer
		deleted := false
		last, found, err := s.Campaigns(t.Context(), owner.Number, crm.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: 100}, "https://x.org", []byte("["), func(piece []byte) ([]byte, error) {
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
		if err := json.Unmarshal(sent.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := titles(slices.Delete(slices.Delete(slices.Clone(all), 11, 12), 4, 6)) // the first one was sent before
		if err != nil || !slices.Equal(titles(got), want) || found != (ListResult{Total: 12, Count: 9}) {
			t.Errorf("%v: %q and %+v, want %q", err, titles(got), found, want)
		}
	})
}
