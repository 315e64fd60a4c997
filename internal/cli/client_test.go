package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/client"
)

// TestAClientIsToldToWait: over the rate limit, a client that has less time than the server asks for gets the refusal
// immediately, with everything that is needed to look it up.
func TestAClientIsToldToWait(t *testing.T) {
	t.Parallel()
	data := onlySQLite(t)
	_, key := newKey(t, data)
	p := serve(t, data, "--rate-limit", "3")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c := p.api(key)
	for i := range 4 {
		_, err := c.Contacts.Page(ctx, client.ContactFilter{}, 1)
		if i < 3 {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Status != http.StatusTooManyRequests || refused.RetryAfter <= 0 || refused.RetryAfter > time.Minute || ctx.Err() != nil {
			t.Fatalf("the fourth call: %v, %+v", err, refused)
		}
		p.waitFor("the log line of the request", func() bool { return strings.Contains(p.stderr.String(), refused.RequestID) })
	}
	p.stop()
}

// TestAClientTrustsNoStranger: without the server's authority, a client sends nothing.
func TestAClientTrustsNoStranger(t *testing.T) {
	t.Parallel()
	data := onlySQLite(t)
	_, key := newKey(t, data)
	p := serve(t, data)
	c, err := client.New(p.url, key)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Contacts.Create(t.Context(), client.ContactInput{FirstName: "Ada", LastName: "King"})
	var certificate *tls.CertificateVerificationError
	if !errors.As(err, &certificate) {
		t.Errorf("the call ended with %v", err)
	}
	if n := len(p.contacts(key, "all")); n != 0 {
		t.Errorf("%d contacts are there", n)
	}
	p.stop()
}

// TestAClientWorksWithTagsAndCampaigns: filters find those that were asked for and no others, tags are renamed and deleted, campaigns are
// created, changed and deleted, unless they have gifts.
func TestAClientWorksWithTagsAndCampaigns(t *testing.T) {
	eachEngine(t, clientWorksWithTagsAndCampaigns)
}

func clientWorksWithTagsAndCampaigns(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	p := serve(t, data)
	ctx, c := t.Context(), p.api(key)
	for i, in := range []client.ContactInput{
		{FirstName: "Ada", LastName: "King", Emails: []client.Email{{Value: "ada@example.org"}}, Tags: []string{"gala/2026", "board"}},
		{FirstName: "Ben", LastName: "Ashby", Phones: []client.Phone{{Value: "(617) 555-0100"}}, Tags: []string{"gala/2026"}, Note: "Met at the gala."},
		{FirstName: "Cleo", LastName: "Marsh"},
	} {
		if made, _, err := c.Contacts.Create(ctx, in); err != nil || made.Note != in.Note {
			t.Fatalf("contact %d: %+v, %v", i, made, err)
		}
	}
	wantFound := func(f client.ContactFilter, want ...string) {
		t.Helper()
		var names []string
		for found, err := range c.Contacts.List(ctx, f) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, found.FirstName)
		}
		if !slices.Equal(names, want) {
			t.Errorf("the filter finds %v, want %v", names, want)
		}
	}
	wantFound(client.ContactFilter{}, "Ada", "Ben", "Cleo")
	wantFound(client.ContactFilter{Email: new("ADA@example.org")}, "Ada")
	wantFound(client.ContactFilter{PrimaryEmail: new("ada@example.org")}, "Ada")
	wantFound(client.ContactFilter{Phone: new("+1 617 555 0100")}, "Ben")
	wantFound(client.ContactFilter{Tags: []string{"gala/2026"}, Sort: "last_name"}, "Ben", "Ada")
	wantFound(client.ContactFilter{Tags: []string{"gala/2026", "board"}}, "Ada")
	wantFound(client.ContactFilter{Search: new("mar")}, "Cleo")
	wantFound(client.ContactFilter{FirstName: new("cleo"), LastName: new("marsh")}, "Cleo")
	wantFound(client.ContactFilter{CreatedAfter: new(time.Now().AddDate(-1, 0, 0)), UpdatedAfter: new(time.Now().AddDate(-1, 0, 0)), Sort: "-id"}, "Cleo", "Ben", "Ada")
	wantFound(client.ContactFilter{CreatedBefore: new(time.Now().AddDate(-1, 0, 0))})
	wantFound(client.ContactFilter{UpdatedBefore: new(time.Now().AddDate(-1, 0, 0))})
	wantFound(client.ContactFilter{TotalContributionsMin: new(client.Money("1"))})
	wantFound(client.ContactFilter{TotalContributionsMax: new(client.Money("0")), Sort: "-created_at", Tags: []string{"board"}}, "Ada")

	if tag, done, err := c.Tags.Rename(ctx, "gala/2026", "Gala? 100%"); err != nil || !done || tag != (client.Tag{Name: "Gala? 100%", Contacts: 2}) {
		t.Errorf("renamed: %+v, %v, %v", tag, done, err)
	}
	if done, err := c.Tags.Delete(ctx, "board"); err != nil || !done {
		t.Errorf("deleted: %v, %v", done, err)
	}
	tags, err := c.Tags.Page(ctx, client.TagFilter{Prefix: new("gal")}, 1)
	if all, err2 := c.Tags.Page(ctx, client.TagFilter{}, 1); err != nil || err2 != nil || tags.Total != 1 || all.Total != 1 || all.Items[0].Contacts != 2 {
		t.Errorf("the tags are %+v and %+v, %v, %v", tags, all, err, err2)
	}

	campaign := must(c.Campaigns.Create(ctx, client.CampaignInput{Title: "Coats", Goal: "18000.5", Event: &client.Event{LocationName: "Pier 5"}}))(t)
	end := client.CampaignTime{Time: time.Date(2027, 5, 31, 23, 59, 59, 0, time.UTC)}
	if _, err := c.Campaigns.Update(ctx, campaign.ID, client.CampaignChange{EndAt: client.Set(end), Event: client.Clear[client.Event]()}); err != nil {
		t.Error(err)
	}
	got, err := c.Campaigns.Get(ctx, campaign.ID)
	if err != nil || got.Goal != "18000.5" || !got.EndAt.Equal(end.Time) || campaign.Event == nil || got.Event != nil {
		t.Errorf("the campaign was %+v and is %+v, %v", campaign, got, err)
	}
	if _, err := c.Transactions.Create(ctx, client.TransactionInput{Amount: "5", Method: "cash", TransactedAt: "2026-01-31", FirstName: "Ada", LastName: "King", Email: "ada@example.org", CampaignID: campaign.ID}); err != nil {
		t.Error(err)
	}
	wantFound(client.ContactFilter{TotalContributionsMin: new(client.Money("5"))}, "Ada")
	var refused *client.Error
	if err := c.Campaigns.Delete(ctx, campaign.ID); !errors.As(err, &refused) || refused.Status != http.StatusConflict {
		t.Errorf("deleting a campaign with a gift: %v", err)
	}
	other, err := c.Campaigns.Create(ctx, client.CampaignInput{Title: "Gloves"})
	if err != nil || c.Campaigns.Delete(ctx, other.ID) != nil {
		t.Errorf("a campaign without gifts was not deleted: %v", err)
	}
	if left, err := c.Campaigns.Page(ctx, client.CampaignFilter{}, 1); err != nil || left.Total != 1 || left.Items[0].Raised != "5" {
		t.Errorf("the campaigns are %+v, %v", left, err)
	}
	p.stop()
}
