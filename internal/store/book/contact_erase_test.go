package book

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
)

// traces is where a text is found in the files of a database or, of a server, in its tables.
func traces(t *testing.T, o store.Options, texts []string) (found []string) {
	t.Helper()
	if o.Database == "" {
		succeed(t, filepath.WalkDir(o.Data, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			for _, text := range texts {
				if bytes.Contains(bytes.ToLower(content), []byte(text)) {
					found = append(found, text+" in "+filepath.Base(path))
				}
			}
			return err
		}))
		return found
	}
	conn := must(pgx.Connect(t.Context(), o.Database))(t)
	defer conn.Close(t.Context()) //nolint:errcheck // the test is over
	for _, table := range append([]string{store.WordsTable.Name}, tableNames()...) {
		rows := must(conn.Query(t.Context(), "SELECT lower(x::text) FROM "+table+" AS x"))(t)
		for rows.Next() {
			var row string
			succeed(t, rows.Scan(&row))
			for _, after := range strings.Split(row, `\x`)[1:] { // documents
				body, _ := hex.DecodeString(after[:strings.IndexFunc(after+" ", func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })])
				row += strings.ToLower(string(body))
			}
			for _, text := range texts {
				if strings.Contains(row, text) {
					found = append(found, text+" in "+table)
				}
			}
		}
		succeed(t, rows.Err())
	}
	return found
}

// erase erases a contact and everything that names the person.
func erase(t *testing.T, s *Book, ctx context.Context, account, id int64) {
	t.Helper()
	job, err := s.EraseContact(ctx, account, id)
	if err == nil && job != 0 {
		_, err = s.FinishJob(ctx, account, job)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func tableNames() (names []string) {
	for _, table := range store.Schema.Tables {
		names = append(names, table.Name)
	}
	return names
}

// TestErasedPersonIsNowhere: nothing that a person was known by can be read anywhere in the database, and the sums stay.
func TestErasedPersonIsNowhere(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s)
		number, ctx := account.Number, t.Context()
		texts := []string{"quetzalina", "vanderkwolf", "middlexyz", "kwolfcorp", "zookeeperess", "kwolf@secret", "kwolftag", "secretnote", "5550177", "elmquartz", "xanadopolis", "kwolf.example",
			"kwolfprefix", "kwolfgreeting", "kwolf-id-1", "kwolfsource", "olderkwolf", "honoree", "giftnotexyz", "newgiverxyz", "jobrowxyz", "retryxyz"}
		rig.AtOnce(100, func(i int) { // the search has several parts
			create(t, s, number, fmt.Sprintf(`{"first_name":"Other%d","last_name":"Person","tags":["many"]}`, i))
		})
		person := create(t, s, number, `{"first_name":"Quetzalina","last_name":"Olderkwolf","middle_name":"Middlexyz","company":"Kwolfcorp","title":"Zookeeperess","note":"Secretnote",
			"emails":[{"value":"kwolf@secret.example.org"}],"phones":[{"value":"+1 617 555 0177"}],"twitter_url":"https://kwolf.example.org/t",
			"addresses":[{"address_1":"1 Elmquartz","city":"Xanadopolis","state":"MA","zipcode":"02110","country":"USA"}],"tags":["kwolftag","many"],
			"prefix":"Kwolfprefix","salutation":"Kwolfgreeting","external_ids":[{"source":"Kwolfsource","value":"Kwolf-ID-1"}],"do_not_mail":true}`)
		other := create(t, s, number, `{"first_name":"Next","last_name":"Channel"}`)
		must(s.UpdateContact(ctx, number, person.ID, input(t, `{"last_name":"Vanderkwolf"}`)))(t)
		archive(t, s, number, person.ID)
		restore(t, s, number, person.ID)
		campaign := must(s.CreateCampaign(ctx, account, campaign.Input{Title: ptr("Coats")}))(t)
		give := func(body string) gifts.GiftDocument {
			t.Helper()
			made := must(s.CreateGift(ctx, number, giftInput(t, body, true, s.Now())))(t)
			return made
		}
		kept := give(fmt.Sprintf(`{"contact_id":%d,"campaign_id":%d,"amount":50,"method":"check","transacted_at":"2026-01-02","note":"Giftnotexyz","check_number":"retryxyz",
			"dedication":{"type":"in_honor_of","name":"Honoree"}}`, person.ID, campaign.ID))
		must(s.UpdateGift(ctx, number, kept.Code, giftInput(t, `{"note":"Giftnotexyz again"}`, false, s.Now())))(t)
		moved := give(fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03"}`, person.ID))
		must(s.UpdateGift(ctx, number, moved.Code, giftInput(t, fmt.Sprintf(`{"contact_id":%d}`, other.ID), false, s.Now())))(t)
		plan, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil, `{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","start_at":"2026-01-31"}`, person.ID)))
		if err == nil {
			err = plan.Validate(faults, true, "US", s.Now())
		}
		if err == nil {
			_, err = s.CreatePlan(ctx, number, plan)
		}
		if err != nil {
			t.Fatal(err)
		}
		attempt := &store.Attempt{Key: "k", Fingerprint: []byte("f"), Answer: func(m store.Result) store.Answer { return store.Answer{Status: 200, Body: m.Append(nil)} }}
		must(s.UpdateContact(store.Attempting(ctx, attempt), number, person.ID, input(t, `{"title":"Zookeeperess"}`)))(t)
		succeed(t, s.UpdateAccount(ctx, number, func(t *store.Tx) error {
			t.Insert(store.JobRowTable, number, int64(1), int64(1), "merged", person.ID, "Jobrowxyz")
			return nil
		}))
		if found := traces(t, o, texts[:16]); len(found) < 16 {
			t.Fatalf("before: only %v", found)
		}
		before := must(s.Campaign(ctx, number, campaign.ID))(t)

		erase(t, s, store.By(ctx, history.ConsoleChannel, "owner@example.org"), number, person.ID)

		if found := traces(t, o, texts); len(found) > 0 {
			t.Errorf("after: %v", found)
		}
		after, err := s.Campaign(ctx, number, campaign.ID)
		if err != nil || after.Campaign.Given != before.Campaign.Given || after.Campaign.Given.Amount != 5000 {
			t.Errorf("%v: the campaign got %+v, and then %+v", err, before.Campaign.Given, after.Campaign.Given)
		}
		record, err := s.ContactRecord(ctx, number, person.ID)
		if err != nil || !record.Erased() || record.FirstName+" "+record.LastName != "Erased contact" || record.Stats.TotalContributions != 50 {
			t.Errorf("%v: what is left is %+v", err, record)
		}
		_, err = s.RestoreContact(ctx, number, person.ID)
		wantError(t, "restore", err, crm.ErrArchived)
		erase(t, s, ctx, number, person.ID)
		changes, _, err := s.Timeline(ctx, number, history.ContactNoun, person.ID, crm.PageRequest{Page: 1, PerPage: 1})
		if err != nil || len(changes) != 1 || changes[0].Kind != history.DidErase || changes[0].Data != "" || changes[0].Who != "owner@example.org" {
			t.Errorf("%v: the last change is %+v", err, changes)
		}
		checked(t, s)
		if _, err := s.EraseContact(ctx, number, person.ID+1000); !errors.Is(err, crm.ErrNotFound) {
			t.Errorf("a contact that is not there: %v", err)
		}
	})
}
