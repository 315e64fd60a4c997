package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
)

// eachNewServer runs a test on every engine, on a server without accounts.
func eachNewServer(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, newServer(t, openStore(t), usual)) })
	t.Run("postgres", func(t *testing.T) {
		s := must(book.Open(t.Context(), store.Options{Database: rig.Database(t)}))(t)
		t.Cleanup(func() { _ = s.Close() })
		test(t, newServer(t, s, usual))
	})
}

// A client that holds ids in 32 bits can use the first organization of a server.
func TestIDsOfANewServerAreSmall(t *testing.T) {
	eachNewServer(t, func(t *testing.T, s *server) {
		first := newAccount(t, s.store, "First", "")
		s.wantIDs(t, first, 0)
		s.wantIDs(t, newAccount(t, s.store, "Second", ""), 1_000_000_000)
		s.wantIDs(t, newAccount(t, s.store, "Chapter", first.ID), 2_000_000_000)
	})
}

// wantIDs creates keys, contacts, campaigns and a gift in a new account: their ids are 1, 2, 3 after a number.
func (s *server) wantIDs(t *testing.T, account access.Account, after int64) {
	t.Helper()
	var key string
	want := func(what string, n int64, id string) {
		t.Helper()
		equal(t, id, fmt.Sprint(after+n), "%s %d of %s has the id", what, n, account.Name)
	}
	for n := int64(1); n <= 3; n++ {
		made, secret := makeKey(t, s.store, account, noExpiry)
		key = secret
		want("key", n, fmt.Sprint(made.ID))
		contact := s.ask(t, "POST", "/v1/contacts", key, `{"first_name":"Person","last_name":"Lee"}`)
		want("contact", n, idOf(t, contact.body))
		want("campaign", n, s.make(t, key, "/v1/campaigns", `{"title":"Gala"}`))
	}
	gift := fmt.Sprintf(`{"contact_id":%d,"campaign_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`,
		after+2, after+3)
	made := s.ask(t, "POST", "/v1/transactions", key, gift)
	for _, shown := range []string{
		fmt.Sprintf(`"contact_id":%d,`, after+2), fmt.Sprintf(`"campaign_id":%d,`, after+3), `"number":"0000000001"`,
	} {
		contains(t, made.body, shown, "a gift of %s lacks (%v)", account.Name, clip(made.body))
	}
	for _, id := range []int64{0, after, after + 4, after + 1_000_000_000, after + 1_000_000_001} {
		equal(t, s.ask(t, "GET", path(id), key, "").status, 403, "contact %d as %s", id, account.Name)
	}
}

// An older database keeps its ids and continues with them.
func TestAnOlderDatabaseGoesOnWithItsIDs(t *testing.T) {
	eachFixture(t, 13, func(t *testing.T, name string, o store.Options) {
		var asked []oldAnswer
		succeed(t, json.Unmarshal(unpacked(t, name+".json.gz"), &asked))
		s := must(book.Open(t.Context(), o))(t)
		t.Cleanup(func() { _ = s.Close() })
		server, key := newServer(t, s, usual), asked[0].Key
		var list struct {
			Data []struct{ ID int64 }
		}
		succeed(t, json.Unmarshal([]byte(asked[4].Body), &list))
		equal(t, asked[4].Path, "/v1/contacts?scope=all&per_page=100&page=1")
		last := list.Data[len(list.Data)-1].ID
		equal(t, idOf(t, server.ask(t, "POST", "/v1/contacts", key, `{"first_name":"Next","last_name":"Lee"}`).body),
			fmt.Sprint(last+1),
			"after contact %d comes", last)
		accounts := must(s.Accounts(t.Context()))(t)
		importCampaigns(t, s, accounts[0], `[{"title":"After the upgrade"}]`)
		succeed(t, json.Unmarshal([]byte(server.ask(t, "GET", "/v1/campaigns", key, "").body), &list))
		if id := list.Data[len(list.Data)-1].ID; id != doc.MakeID(accounts[0].Number, 4) { // it had three
			t.Errorf("the newest campaign, at the end of the list, has the id %d", id)
		}
		if _, err := s.Check(t.Context(), check.CheckOptions{Found: func(p check.Problem) {
			t.Errorf("check: %s",
				p)
		}}); err != nil {
			t.Error(err)
		}
	})
}
