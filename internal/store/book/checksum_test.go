package book

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

// damage changes the database without the store's knowledge, as a failing disk would. Nothing is checked when the test ends.
func damage(t testing.TB, s *Book, sql string, args ...any) {
	t.Helper()
	var changed int64
	err := s.UpdateShared(t.Context(), 0, func(x *store.Tx) (err error) {
		changed, err = x.Exec(sql, args...)
		return err
	})
	if err != nil || changed == 0 {
		t.Fatalf("%s changed %d rows: %v", sql, changed, err)
	}
}

// closeAfter closes a store that was tampered with.
func closeAfter(t testing.TB, s *Book) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func wantDamage(t testing.TB, what string, err error, names string) {
	t.Helper()
	var damaged *store.Damaged
	if !errors.As(err, &damaged) || !strings.Contains(err.Error(), names) {
		t.Errorf("%s: got %v, want an error that names %s", what, err, names)
	}
}

// One letter is different and the document is still JSON: without a checksum, this would go unnoticed.
func TestConcurrentDamagedContactIsToldAndNeverServed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		closeAfter(t, s)
		account := newAccount(t, s).Number
		for i := range 1000 {
			if i < 3 || i > 990 { // a page of few active ones is read id by id
				create(t, s, account, fmt.Sprintf(`{"first_name":"Ana%d","emails":[{"value":"ana%d@x.org"}],"tags":["vip"]}`, i, i))
			}
		}
		id := doc.MakeID(account, 2)
		names := fmt.Sprintf("contact %d of account number %d", id, account)
		damaged := create(t, s, account, `{"emails":[{"value":"ana1@x.org"}]}`).Body
		damage(t, s, `UPDATE contact SET body = $2 WHERE id = $1`, id, []byte(strings.Replace(string(damaged), "Ana1", "Anb1", 1)))

		page := crm.PageRequest{Page: 1, PerPage: 20}
		_, err := s.Contact(t.Context(), account, id, nil)
		wantDamage(t, "GET", err, names)
		wantDamage(t, "looking whether it is there", s.CheckContact(t.Context(), account, id), names)
		for range 2 { // before and after the set is held
			_, _, err = s.Contacts(t.Context(), account, crm.Active, page, nil, nil)
			wantDamage(t, "a list", err, names)
		}
		_, _, err = s.ContactPage(t.Context(), account, crm.Active, page)
		wantDamage(t, "a list of the console", err, names)
		_, err = s.ContactRecord(t.Context(), account, id)
		wantDamage(t, "a record", err, names)
		_, _, err = searchPage(t, s, account, crm.Active, typed("ana1"), 1, 10)
		wantDamage(t, "a search", err, names)
		_, err = s.UpdateContact(t.Context(), account, id, input(t, `{"title":"Dr."}`))
		wantDamage(t, "a change", err, names)
		_, err = s.AddTags(t.Context(), account, id, []string{"new"})
		wantDamage(t, "a tag", err, names)
		wantDamage(t, "archiving", s.ArchiveContact(t.Context(), account, id), names)
		_, err = s.RestoreContact(t.Context(), account, id)
		wantDamage(t, "restoring", err, names)
		_, err = s.CreateContact(t.Context(), account, input(t, `{"title":"Dr.","emails":[{"value":"ana1@x.org"}]}`), crm.Dedupe)
		wantDamage(t, "a merge", err, names)
		if got := get(t, s, account, id+1); got.FirstName != "Ana2" {
			t.Errorf("the next one is %+v", got)
		}
	})
}

func TestADamagedCampaignIsToldAndNeverServed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		closeAfter(t, s)
		owner := newAccount(t, s)
		made := createCampaign(t, s, owner, `{"title":"Gala","slug":"gala"}`)
		names := fmt.Sprintf("campaign %d", made.ID)
		body, _ := made.AppendBody(nil)
		damage(t, s, `UPDATE campaign SET body = $2 WHERE id = $1`, made.ID, []byte(strings.Replace(string(body), "Gala", "Gaza", 1)))

		page := crm.PageRequest{Page: 1, PerPage: 20}
		_, _, err := s.Campaigns(t.Context(), owner.Number, campaign.OwnCampaigns, page, "", nil, nil)
		wantDamage(t, "a list", err, names)
		_, _, err = s.CampaignPage(t.Context(), owner.Number, campaign.OwnCampaigns, page)
		wantDamage(t, "a list of the console", err, names)
		_, err = s.Campaign(t.Context(), owner.Number, made.ID)
		wantDamage(t, "a record", err, names)
		_, _, err = s.CampaignBySlug(t.Context(), "gala")
		wantDamage(t, "the public page", err, names)
		_, err = s.UpdateCampaign(t.Context(), owner, made.ID, campaignInput(t, `{"title":"Ball","slug":"gala"}`))
		wantDamage(t, "a change", err, names)
		_, err = s.ImportCampaigns(t.Context(), owner, []campaign.Input{campaignInput(t, `{"title":"Ball","slug":"gala"}`)})
		wantDamage(t, "an import", err, names)
	})
}

func TestACopyRefusesADamagedDocument(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		closeAfter(t, s)
		owner := newAccount(t, s)
		create(t, s, owner.Number, `{"first_name":"Ana"}`)
		damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE account_id = $1`, owner.Number)
		_, err := move.Copy(t.Context(), o, store.Options{Data: t.TempDir()}, move.CopyOptions{})
		wantDamage(t, "a contact", err, fmt.Sprintf("contact %d", doc.MakeID(owner.Number, 1)))
		damage(t, s, `UPDATE contact SET checksum = checksum - 1 WHERE account_id = $1`, owner.Number)
		made := createCampaign(t, s, owner, `{"title":"Gala"}`)
		damage(t, s, `UPDATE campaign SET checksum = checksum + 1 WHERE id = $1`, made.ID)
		_, err = move.Copy(t.Context(), o, store.Options{Data: t.TempDir()}, move.CopyOptions{})
		wantDamage(t, "a campaign", err, fmt.Sprintf("campaign %d", made.ID))
	})
}
