package book

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
)

// contactVersion is the version of a contact that a user sees who opens a form.
func contactVersion(t *testing.T, s *Book, account, id int64) string {
	t.Helper()
	c := must(s.ContactRecord(t.Context(), account, id))(t)
	return c.Version()
}

// The clock does not move: versions distinguish two changes within one second.
func TestAChangeOfAContactThatSomebodyElseHasChangedIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		stopClock(s)
		account := newAccount(t, s).Number
		id := create(t, s, account, `{"first_name":"Ana"}`).ID
		in := input(t, `{"first_name":"Anna"}`)
		in.Seen = contactVersion(t, s, account, id)
		must(s.AddTags(t.Context(), account, id, []string{"vip"}))(t)
		spy := spyOn(t, s)
		_, err := s.UpdateContact(t.Context(), account, id, in)
		wantError(t, "an old form", err, crm.ErrChanged)
		if got := get(t, s, account, id); got.FirstName != "Ana" || spy.commits.Load() != 0 {
			t.Errorf("it was saved: %+v", got)
		}
		in.Seen = contactVersion(t, s, account, id)
		if _, err := s.UpdateContact(t.Context(), account, id, in); err != nil {
			t.Error(err)
		}
		in.Seen = ""
		if _, err := s.UpdateContact(t.Context(), account, id, in); err != nil {
			t.Errorf("whoever names no version: %v", err)
		}
	})
}

func TestConcurrentOfManyFormsOfOneVersionOneIsSaved(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		owner := newAccount(t, a)
		id := create(t, a, owner.Number, `{"first_name":"Ana"}`).ID
		made := createCampaign(t, a, owner, `{"title":"Gala","slug":"gala"}`)
		contact, campaign := contactVersion(t, a, owner.Number, id), made.Version(nil)
		var contacts, campaigns atomic.Int64
		count := func(n *atomic.Int64, err error) {
			if err == nil {
				n.Add(1)
			} else if !errors.Is(err, crm.ErrChanged) {
				t.Error(err)
			}
		}
		atOnce(8, func(i int) {
			s := []*Book{a, b}[i%2]
			in := input(t, fmt.Sprintf(`{"first_name":"Ana %d"}`, i))
			in.Seen = contact
			_, err := s.UpdateContact(t.Context(), owner.Number, id, in)
			count(&contacts, err)
			row := campaignInput(t, fmt.Sprintf(`{"title":"Gala %d","slug":"gala"}`, i))
			row.Seen = campaign
			_, err = s.UpdateCampaign(t.Context(), owner, made.ID, row)
			count(&campaigns, err)
		})
		if contacts.Load() != 1 || campaigns.Load() != 1 {
			t.Errorf("%d contacts and %d campaigns were saved, each over one another", contacts.Load(), campaigns.Load())
		}
	})
}

func TestAChangeOfACampaignThatSomebodyElseHasChangedIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := time.Now()
		s.Now = func() time.Time { return now }
		f := newFamily(t, s)
		made := createCampaign(t, s, f.root, `{"title":"Gala","slug":"gala"}`)
		for _, theirs := range []string{
			`{"title":"Ball","slug":"gala"}`,
			`{"slug":"gala","beneficiaries":["` + f.stranger.ID + `"]}`, // it changes nothing of what the API shows
		} {
			record, err := s.Campaign(t.Context(), f.root.Number, made.ID)
			if err != nil {
				t.Fatal(err)
			}
			in := campaignInput(t, `{"title":"Mine","slug":"gala","beneficiaries":[]}`)
			in.Seen = record.Version()
			updateCampaign(t, s, f.root, made.ID, theirs)
			_, err = s.UpdateCampaign(t.Context(), f.root, made.ID, in)
			wantError(t, theirs, err, crm.ErrChanged)
			after, err := s.Campaign(t.Context(), f.root.Number, made.ID)
			if err != nil || after.Campaign.Title != "Ball" || after.Version() == record.Version() {
				t.Errorf("%s: %+v, %v", theirs, after, err)
			}
		}
		record, err := s.Campaign(t.Context(), f.root.Number, made.ID)
		if err != nil || len(record.Beneficiaries) != 1 {
			t.Fatalf("%+v, %v", record, err)
		}
		in := campaignInput(t, `{"title":"Mine","slug":"gala","beneficiaries":[]}`)
		in.Seen = record.Version()
		if _, err := s.UpdateCampaign(t.Context(), f.root, made.ID, in); err != nil {
			t.Error(err)
		}
	})
}
