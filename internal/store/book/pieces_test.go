package book

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// largeContact is the body of a contact of about 100 KiB.
func largeContact(n int) string {
	var addresses []string
	for i := range 90 {
		addresses = append(addresses, fmt.Sprintf(`{"address_1":"%d %s","address_2":"%s","city":"%[2]s"}`, i, strings.Repeat("a", 240), strings.Repeat("b", 240)))
	}
	return fmt.Sprintf(`{"first_name":"Ana","last_name":"No %d","addresses":[%s]}`, n, strings.Join(addresses, ","))
}

// checkPieces reads a page in pieces and compares it with the complete page. No connection is lent between the pieces.
func checkPieces(t *testing.T, s *Book, whole string, page func(flush store.Flush) ([]byte, store.ListResult, error)) {
	t.Helper()
	var sent bytes.Buffer
	pieces := 0
	last, _, err := page(func(piece []byte, _ store.ListResult) ([]byte, error) {
		if len(piece) > store.PieceSize+128<<10 {
			t.Errorf("a piece of %d bytes", len(piece))
		}
		pieces++
		sent.Write(piece)
		lent := func(p store.Pool) bool { return p.InUse > 0 }
		for start := time.Now(); slices.ContainsFunc(s.Pools(), lent); runtime.Gosched() {
			if time.Since(start) > 10*time.Second {
				t.Fatalf("a connection is still lent: %+v", s.Pools())
			}
		}
		return piece[:0], nil
	})
	sent.Write(last)
	if err != nil || pieces < 2 || sent.String() != whole {
		t.Errorf("%v: %d pieces of %d bytes, and the page has %d", err, pieces, sent.Len(), len(whole))
	}
}

func TestALargePageIsReadInPieces(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		var ids []int64
		for n := range 12 {
			ids = append(ids, createAs(t, s, account, largeContact(n), crm.Force).ID)
		}
		request := crm.PageRequest{Page: 1, PerPage: 100}
		people := func(scope crm.ContactScope) func(store.Flush) ([]byte, store.ListResult, error) {
			return func(flush store.Flush) ([]byte, store.ListResult, error) {
				return s.Contacts(t.Context(), account, scope, request, []byte("kept"), flush)
			}
		}
		whole, _ := listBytes(t, s, account, crm.Active, 1, 100)
		checkPieces(t, s, "kept"+whole, people(crm.Active)) // the node holds the set of the page
		create(t, s, account, `{"first_name":"Small","last_name":"One"}`)
		whole, _ = listBytes(t, s, account, crm.All, 1, 100)
		create(t, s, account, `{"first_name":"Next","last_name":"One"}`)
		fresh, _ := listBytes(t, s, account, crm.All, 1, 100)
		if !strings.HasPrefix(fresh, whole) {
			t.Fatal("a new contact moved others")
		}
		s.Sets = contacts.SetCache{} // it has to be read
		checkPieces(t, s, "kept"+fresh, people(crm.All))
		for _, id := range ids[:9] { // scattered contacts are read by their ids
			archive(t, s, account, id)
		}
		for range 40 {
			create(t, s, account, `{"first_name":"Small","last_name":"Two"}`)
		}
		for _, id := range ids[9:] {
			archive(t, s, account, id)
		}
		whole, _ = listBytes(t, s, account, crm.Archived, 1, 100)
		checkPieces(t, s, "kept"+whole, people(crm.Archived))
	})
}

// After a page of large contacts, a page of small ones is read and sent as usual.
func TestASmallPageAfterALargeOneIsOnePiece(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for n := range 4 {
			createAs(t, s, account, largeContact(n), crm.Force)
		}
		for range 16 {
			create(t, s, account, `{"first_name":"Small","last_name":"One"}`)
		}
		for _, page := range []struct{ number, pieces int }{{1, 1}, {2, 0}, {3, 0}, {1, 1}, {4, 0}} {
			pieces := 0
			var sent []byte
			last, _, err := s.Contacts(t.Context(), account, crm.Active, crm.PageRequest{Page: int64(page.number), PerPage: 5}, nil, func(piece []byte, _ store.ListResult) ([]byte, error) {
				pieces++
				sent = append(sent, piece...)
				return piece[:0], nil
			})
			whole, _ := listBytes(t, s, account, crm.Active, int64(page.number), 5)
			if err != nil || string(sent)+string(last) != whole || pieces != page.pieces {
				t.Errorf("page %d: %v, %d pieces", page.number, err, pieces)
			}
		}
	})
}

// The first piece decides which contacts are on a page, so that the page is complete whatever happens while a slow client reads
// it.
func TestAPageStaysWholeWhileItsContactsMove(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		var ids []int64
		for n := range 8 {
			ids = append(ids, createAs(t, s, account, largeContact(n), crm.Force).ID)
		}
		moved := false
		var sent bytes.Buffer
		last, found, err := s.Contacts(t.Context(), account, crm.Active, crm.PageRequest{Page: 1, PerPage: 8}, []byte("["), func(piece []byte, _ store.ListResult) ([]byte, error) {
			if !moved {
				archive(t, s, account, ids[0])
				archive(t, s, account, ids[7])
				moved = true
			}
			sent.Write(piece)
			return piece[:0], nil
		})
		sent.Write(append(last, ']'))
		var got []int64
		var people []person
		succeed(t, json.Unmarshal(sent.Bytes(), &people))
		for _, p := range people {
			got = append(got, p.ID)
		}
		if err != nil || !slices.Equal(got, ids) || found != (store.ListResult{Total: 8, Count: 8}) {
			t.Errorf("%v: %v of %v, and %+v", err, got, ids, found)
		}
	})
}

func TestALargePageOfCampaignsIsReadInPieces(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		owner := newAccount(t, s)
		var rows []string
		for n := range 10 {
			rows = append(rows, fmt.Sprintf(`{"title":"Gala %d","description":"<p>%s</p>"}`, n, strings.Repeat("long ", 19_000)))
		}
		inputs, err := campaign.DecodeAll([]byte("[" + strings.Join(rows, ",") + "]"))
		if err == nil {
			_, err = s.ImportCampaigns(t.Context(), owner, inputs)
		}
		if err != nil {
			t.Fatal(err)
		}
		page := func(flush store.Flush) ([]byte, store.ListResult, error) {
			return s.Campaigns(t.Context(), owner.Number, campaign.AllCampaigns, crm.PageRequest{Page: 1, PerPage: 100}, "https://x.org", nil, flush)
		}
		whole, _ := must2(page(nil))(t)
		checkPieces(t, s, string(whole), page)
	})
}
