package book

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/store"
)

var scopes = []crm.ContactScope{crm.Active, crm.Archived, crm.All}

// model is the list of an account in the simplest form: for each contact in turn, whether it is active.
type model []bool

func (m model) scope(scope crm.ContactScope) (seqs []int64) {
	for i, active := range m {
		if scope == crm.All || active == (scope == crm.Active) {
			seqs = append(seqs, int64(i)+1)
		}
	}
	return seqs
}

func (m model) page(scope crm.ContactScope, skip, n int64) []int64 {
	return cut(m.scope(scope), skip, n)
}

// cut is a page of a whole list.
func cut(seqs []int64, skip, n int64) []int64 {
	skip = min(skip, int64(len(seqs)))
	return seqs[skip:min(skip+n, int64(len(seqs)))]
}

// Every list of a store, in every scope and page size, while contacts are added, archived and restored.
func TestListsAgreeWithANaiveList(t *testing.T) {
	s := newBook(t)
	random := rand.New(rand.NewPCG(3, 4))
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	var m, m2 model
	step := func(account int64, m model) model {
		if len(m) < 5 || random.IntN(3) == 0 {
			create(t, s, account, fmt.Sprintf(`{"first_name":"N%d"}`, len(m)+1))
			return append(m, true)
		}
		i := random.IntN(len(m))
		id := doc.MakeID(account, int64(i)+1)
		if m[i] {
			archive(t, s, account, id)
		} else {
			restore(t, s, account, id)
		}
		m[i] = !m[i]
		return m
	}
	check := func(account int64, m model, perPage int64) {
		t.Helper()
		for _, scope := range scopes {
			want := m.scope(scope)
			pages := crm.PageRequest{Page: 1, PerPage: perPage}.LastPage(int64(len(want)))
			for number := int64(1); number <= pages+1; number++ {
				ids, total := page(t, s, account, scope, number, perPage)
				var got []int64
				for _, id := range ids {
					equal(t, doc.IDAccount(id), account, "contact %d is of another account", id)
					got = append(got, doc.IDSeq(id))
				}
				if want := m.page(scope, (number-1)*perPage, perPage); !slices.Equal(got, want) ||
					total != int64(len(m.scope(scope))) {
					t.Fatalf("%s, page %d by %d: got %v, %d in all, want %v", scope, number, perPage, got, total, want)
				}
			}
		}
	}
	for i := range 120 {
		m, m2 = step(account, m), step(other, m2)
		if i%6 == 0 {
			check(account, m, 1+random.Int64N(12))
		}
	}
	for _, perPage := range []int64{1, 7, 20, 99, 100} {
		check(account, m, perPage)
		check(other, m2, perPage)
	}
}

// Pages never shift while others add and change contacts: a walk sees every contact that was there at its start once.
func TestConcurrentWalkSeesEachContactOnceWhileWritesGoOn(t *testing.T) {
	s, account := newBookOf(t)
	atOnce(60, func(i int) { create(t, s, account, fmt.Sprintf(`{"first_name":"N%d"}`, i)) })
	const walkers = 6
	walked := make(chan bool, walkers)
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for i, left := 0, walkers; left > 0; i++ {
			create(t, s, account, fmt.Sprintf(`{"first_name":"Late%d"}`, i))
			id := doc.MakeID(account, int64(i%60)+1)
			must(s.AddTags(t.Context(), account, id, []string{fmt.Sprint(i)}))(t)
			for len(walked) > 0 {
				<-walked
				left--
			}
		}
	}()
	atOnce(walkers, func(walker int) {
		defer func() { walked <- true }()
		perPage := int64(walker + 3)
		scope := []crm.ContactScope{crm.Active, crm.All}[walker%2]
		var seen []int64
		for number := int64(1); number <= 60/perPage+1; number++ {
			ids, total := page(t, s, account, scope, number, perPage)
			seen = append(seen, ids...)
			if total < 60 || total < int64(len(seen)) {
				t.Errorf("%d in all after %d were seen", total, len(seen))
			}
		}
		for i, id := range seen {
			if id != doc.MakeID(account, int64(i)+1) {
				t.Errorf("place %d of the walk has contact %d", i+1, id)
				break
			}
		}
		if len(seen) < 60 {
			t.Errorf("the walk saw %d of 60", len(seen))
		}
	})
	<-writing
}

// Each list shows one moment, even if many clients read and the index changes between them.
func TestConcurrentListsReadAtOnceAreEachOfOneMoment(t *testing.T) {
	s, account := newBookOf(t)
	for i := range 10 {
		create(t, s, account, fmt.Sprintf(`{"first_name":"N%d"}`, i))
	}
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default: // one is archived at all times, and a new one comes
				id := doc.MakeID(account, i%10+1)
				archive(t, s, account, id)
				restore(t, s, account, id)
				create(t, s, account, `{"first_name":"More"}`)
			}
		}
	}()
	atOnce(12, func(i int) {
		for range 25 {
			active, total := page(t, s, account, crm.Active, 1, 100)
			if int64(len(active)) != min(total, 100) || total < 9 {
				t.Errorf("%d active contacts, %d in all", len(active), total)
			}
			archived, total := page(t, s, account, crm.Archived, 1, 100)
			if int64(len(archived)) != total || total > 1 {
				t.Errorf("%d archived contacts, %d in all", len(archived), total)
			}
		}
	})
	close(stop)
	<-stopped
}

func TestConcurrentAccountsAreListedAtOnce(t *testing.T) {
	s := newBook(t)
	accounts := make([]int64, 8)
	for i := range accounts {
		accounts[i] = newAccount(t, s).Number
	}
	atOnce(len(accounts), func(i int) {
		for n := int64(1); n <= 5; n++ {
			create(t, s, accounts[i], fmt.Sprintf(`{"first_name":"N%d"}`, n))
			if ids, total := page(t, s, accounts[i], crm.Active, 1, 100); int64(len(ids)) != n || total != n {
				t.Errorf("%d contacts, %d in all, want %d", len(ids), total, n)
			}
		}
	})
}

// If the database of a running node is replaced by an older copy, the node must not answer from its cache.
func TestListsFollowADatabaseThatWentBack(t *testing.T) {
	for _, test := range []struct {
		name string
		then string // what happens after it went back, before the next list
	}{
		{"and stays there", ""},
		{"and goes on to the same revision", `{"first_name":"Again","emails":[{"value":"again@x.org"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *Book) {
				account := newAccount(t, s).Number
				kept := create(t, s, account,
					`{"first_name":"One","emails":["one@x.org"],"phones":["212 555 0101"]}`).ID
				lost := []int64{create(t, s, account,
					`{"first_name":"Two","emails":["two@x.org"],"phones":["212 555 0102"]}`).ID,
					create(t, s, account,
						`{"first_name":"Three","emails":["three@x.org"],"phones":["212 555 0103"]}`).ID}
				wantLists(t, s, account, []int64{1, 2, 3}, nil)
				succeed(t, s.Update(t.Context(), account, store.Needs{}, func(tx *store.Tx) error {
					u, err := tx.LockAccount(account)
					for _, id := range lost {
						gone, loadErr := store.Load(tx, account, id)
						if loadErr != nil {
							return loadErr
						}
						err = errors.Join(err, store.Derive(u, id, &find.Rows{Sets: gone.Rows().Sets},
							new(find.Rows)))
						for _, sql := range []string{
							`DELETE FROM contact WHERE account_id = $1 AND id = $2`,
							`DELETE FROM contact_index WHERE account_id = $1 AND id = $2`,
							`DELETE FROM change WHERE account_id = $1 AND id = $2`,
						} {
							_, execErr := tx.Exec(sql, account, id)
							err = errors.Join(err, execErr)
						}
						tx.Delete(store.WordsTable, account, id)
					}
					first, loadErr := store.Load(tx, account, kept)
					if loadErr != nil {
						return loadErr
					}
					u.LastCreated = first.CreatedAt
					u.SetRevision, u.Revision, u.ContactSeq, u.ContactActive = 0, 1, 1, 1
					u.Touch()
					return err
				}))
				want := []int64{1}
				if test.then != "" {
					d := create(t, s, account, test.then)
					archive(t, s, account, d.ID)
					wantLists(t, s, account, want, []int64{doc.IDSeq(d.ID)})
					return
				}
				wantLists(t, s, account, want, nil)
			})
		})
	}
}

// largeContact is the body of a contact of about 100 KiB.
func largeContact(n int) string {
	var addresses []string
	for i := range 90 {
		addresses = append(addresses, fmt.Sprintf(`{"address_1":"%d %s","address_2":"%s","city":"%[2]s"}`, i,
			strings.Repeat("a", 240), strings.Repeat("b", 240)))
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
		await(t, "no connection is lent", func() bool { return !slices.ContainsFunc(s.Pools(), lent) })
		return piece[:0], nil
	})
	sent.Write(last)
	if err != nil || pieces < 2 || sent.String() != whole {
		t.Errorf("%v: %d pieces of %d bytes, and the page has %d", err, pieces, sent.Len(), len(whole))
	}
}

func TestALargePageIsReadInPieces(t *testing.T) {
	s, account := newBookOf(t)
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
	s.Sets = store.SetCache{} // it has to be read
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
}

// After a page of large contacts, a page of small ones is read and sent as usual.
func TestASmallPageAfterALargeOneIsOnePiece(t *testing.T) {
	s, account := newBookOf(t)
	for n := range 4 {
		createAs(t, s, account, largeContact(n), crm.Force)
	}
	for range 16 {
		create(t, s, account, `{"first_name":"Small","last_name":"One"}`)
	}
	for _, page := range []struct{ number, pieces int }{{1, 1}, {2, 0}, {3, 0}, {1, 1}, {4, 0}} {
		pieces := 0
		var sent []byte
		last, _, err := s.Contacts(t.Context(), account, crm.Active,
			crm.PageRequest{Page: int64(page.number), PerPage: 5}, nil,
			func(piece []byte, _ store.ListResult) ([]byte, error) {
				pieces++
				sent = append(sent, piece...)
				return piece[:0], nil
			})
		whole, _ := listBytes(t, s, account, crm.Active, int64(page.number), 5)
		if err != nil || string(sent)+string(last) != whole || pieces != page.pieces {
			t.Errorf("page %d: %v, %d pieces", page.number, err, pieces)
		}
	}
}

// The first piece decides which contacts are on a page, so that the page is complete whatever happens while a slow
// client reads it.
func TestAPageStaysWholeWhileItsContactsMove(t *testing.T) {
	s, account := newBookOf(t)
	var ids []int64
	for n := range 8 {
		ids = append(ids, createAs(t, s, account, largeContact(n), crm.Force).ID)
	}
	moved := false
	var sent bytes.Buffer
	last, found, err := s.Contacts(t.Context(), account, crm.Active, crm.PageRequest{Page: 1, PerPage: 8}, []byte("["),
		func(piece []byte, _ store.ListResult) ([]byte, error) {
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
	succeed(t, err)
	equal(t, slices.Equal(got, ids), true)
	equal(t, found, (store.ListResult{Total: 8, Count: 8}))
}

func TestALargePageOfCampaignsIsReadInPieces(t *testing.T) {
	s := newBook(t)
	owner := newAccount(t, s)
	var rows []string
	for n := range 10 {
		rows = append(rows, fmt.Sprintf(`{"title":"Gala %d","description":"<p>%s</p>"}`, n,
			strings.Repeat("long ", 19_000)))
	}
	inputs, err := campaign.DecodeAll([]byte("[" + strings.Join(rows, ",") + "]"))
	if err == nil {
		_, err = s.ImportCampaigns(t.Context(), owner, inputs)
	}
	succeed(t, err)
	page := func(flush store.Flush) ([]byte, store.ListResult, error) {
		return s.Campaigns(t.Context(), owner.Number, campaign.AllCampaigns, crm.PageRequest{Page: 1, PerPage: 100},
			"https://x.org", nil, flush)
	}
	whole, _ := must2(page(nil))(t)
	checkPieces(t, s, string(whole), page)
}
