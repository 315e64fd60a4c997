package book

import (
	"testing"
	"time"

	"donorbook/internal/crm/campaign"
)

// TestUpdatedAtNeverGoesBack: a client that asks what changed since its last visit must find what changed after the clock was set
// back.
func TestUpdatedAtNeverGoesBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, clock := newAccount(t, s), stopClock(s)
		id := create(t, s, account.Number, `{"first_name":"A","emails":[{"value":"a@x.org"}]}`).ID
		mustImport(t, s, account, `[{"title":"Gala","slug":"gala"}]`)
		created := get(t, s, account.Number, id).Updated
		clock.move(-48 * time.Hour)
		create(t, s, account.Number, `{"company":"New","emails":[{"value":"a@x.org"}]}`)
		mustImport(t, s, account, `[{"title":"Gala","slug":"gala","raised":5}]`)
		if updated := get(t, s, account.Number, id).Updated; updated != created {
			t.Errorf("a contact of %s was updated at %s", created, updated)
		}
		archive(t, s, account.Number, id)
		restore(t, s, account.Number, id)
		if updated := get(t, s, account.Number, id).Updated; updated != created {
			t.Errorf("a contact of %s was restored at %s", created, updated)
		}
		if gala := campaignsSeen(t, s, account, campaign.OwnCampaigns, 10)[0]; gala.UpdatedAt != "2026-01-31 12:00:00" || gala.Raised != 5 {
			t.Errorf("the campaign is %+v", gala)
		}
		clock.move(49 * time.Hour)
		if d, err := s.AddTags(t.Context(), account.Number, id, []string{"t"}); err != nil || parse(t, d.Append(nil)).Updated <= created {
			t.Errorf("an hour later: %v, %s", err, d.Body)
		}
	})
}
