package book

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/rig"
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

// cut is a page of a whole list.
func cut[T any](seqs []T, skip, n int64) []T {
	skip = min(skip, int64(len(seqs)))
	return seqs[skip:min(skip+n, int64(len(seqs)))]
}

// Every list of a store, in every scope and page size, while contacts are added, archived and restored.
func TestListsAgreeWithANaiveList(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := newFolk(t)
	both := []*folk{s, s.another()}
	models := make([]model, 2)
	step := func(s *folk, m *model) {
		if len(*m) < 5 || random.IntN(3) == 0 {
			*m = append(*m, true)
			s.create(fmt.Sprintf(`{"first_name":"N%d"}`, len(*m)))
			return
		}
		i := random.IntN(len(*m))
		id := doc.MakeID(s.Number, int64(i)+1)
		if (*m)[i] {
			s.archive(id)
		} else {
			s.restore(id)
		}
		(*m)[i] = !(*m)[i]
	}
	check := func(s *folk, m model, perPage int64) {
		t.Helper()
		for _, scope := range scopes {
			want := store.IDsOf(s.Number, m.scope(scope))
			pages := crm.PageRequest{Page: 1, PerPage: perPage}.LastPage(int64(len(want)))
			for number := int64(1); number <= pages+1; number++ {
				ids, total := s.page(scope, number, perPage)
				equal(t, ids, cut(want, (number-1)*perPage, perPage), "%s, page %d by %d", scope, number, perPage)
				equal(t, total, int64(len(want)))
			}
		}
	}
	for i := range 120 {
		for k := range both {
			step(both[k], &models[k])
		}
		if i%6 == 0 {
			check(s, models[0], 1+random.Int64N(12))
		}
	}
	for _, perPage := range []int64{1, 7, 20, 99, 100} {
		check(s, models[0], perPage)
		check(both[1], models[1], perPage)
	}
}

// Pages never shift while others add and change contacts: a walk sees every contact that was there at its start once.
func TestConcurrentWalkSeesEachContactOnceWhileWritesGoOn(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	atOnce(60, func(i int) { s.create(fmt.Sprintf(`{"first_name":"N%d"}`, i)) })
	const walkers = 6
	walked := make(chan bool, walkers)
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for i, left := 0, walkers; left > 0; i++ {
			s.create(fmt.Sprintf(`{"first_name":"Late%d"}`, i))
			id := doc.MakeID(account, int64(i%60)+1)
			s.addTags(id, fmt.Sprint(i))
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
			ids, total := s.page(scope, number, perPage)
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
	s := newFolk(t)
	account := s.Number
	s.fillNamed(10, func(i int) string { return fmt.Sprintf(`{"first_name":"N%d"}`, i) })
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default: // one is archived at all times, and a new one comes
				id := doc.MakeID(account, i%10+1)
				s.archive(id)
				s.restore(id)
				s.create(`{"first_name":"More"}`)
			}
		}
	}()
	atOnce(12, func(i int) {
		for range 25 {
			active, total := s.page(crm.Active, 1, 100)
			if int64(len(active)) != min(total, 100) || total < 9 {
				t.Errorf("%d active contacts, %d in all", len(active), total)
			}
			archived, total := s.page(crm.Archived, 1, 100)
			if int64(len(archived)) != total || total > 1 {
				t.Errorf("%d archived contacts, %d in all", len(archived), total)
			}
		}
	})
	close(stop)
	<-stopped
}

func TestConcurrentAccountsAreListedAtOnce(t *testing.T) {
	s := newFolk(t)
	atOnce(8, func(int) {
		one := s.another()
		for n := int64(1); n <= 5; n++ {
			one.create(fmt.Sprintf(`{"first_name":"N%d"}`, n))
			ids, total := one.page(crm.Active, 1, 100)
			expect(t, "contacts, and in all", fmt.Sprint(n, n), len(ids), total)
		}
	})
}

// If the database of a running node is replaced by an older copy, the node must not answer from its cache.
func TestListsFollowADatabaseThatWentBack(t *testing.T) {
	// what happens after it went back, before the next list: nothing, or it goes on to the same revision
	for _, then := range []string{"", `{"first_name":"Again","emails":[{"value":"again@x.org"}]}`} {
		t.Run(then, func(t *testing.T) {
			s := newFolk(t)
			var ids []int64
			for i, name := range []string{"One", "Two", "Three"} {
				ids = append(ids, s.create(fmt.Sprintf(
					`{"first_name":%q,"emails":["%[1]s@x.org"],"phones":["212 555 010%d"]}`, name, i)).ID)
			}
			s.wantLists([]int64{1, 2, 3}, nil)
			succeed(t, s.Update(t.Context(), s.Number, store.Needs{}, func(tx *store.Tx) error {
				row := must(tx.LockAccount(s.Number))(t)
				for _, id := range ids[1:] {
					gone := must(store.Load(tx, s.Number, id))(t)
					succeed(t, store.Derive(row, id, &find.Rows{Sets: gone.Rows().Sets}, new(find.Rows)))
					for _, sql := range []string{
						`DELETE FROM contact WHERE account_id = $1 AND id = $2`,
						`DELETE FROM contact_index WHERE account_id = $1 AND id = $2`,
						`DELETE FROM change WHERE account_id = $1 AND id = $2`,
					} {
						must(tx.Exec(sql, s.Number, id))(t)
					}
					tx.Delete(store.WordsTable, s.Number, id)
				}
				row.LastCreated = must(store.Load(tx, s.Number, ids[0]))(t).CreatedAt
				row.SetRevision, row.Revision, row.ContactSeq, row.ContactActive = 0, 1, 1, 1
				row.Touch()
				return nil
			}))
			var archived []int64
			if then != "" {
				id := s.create(then).ID
				s.archive(id)
				archived = append(archived, doc.IDSeq(id))
			}
			s.wantLists([]int64{1}, archived)
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

// large are so many large contacts.
func (s *folk) large(n int) (ids []int64) {
	for i := range n {
		ids = append(ids, s.person(largeContact(i)))
	}
	return ids
}

func TestALargePageIsReadInPieces(t *testing.T) {
	s := newFolk(t)
	ids := s.large(12)
	wants := func(scope crm.ContactScope) {
		t.Helper()
		whole, _ := s.listBytes(scope, 1, 100)
		if scope == crm.All {
			s.Sets = store.SetCache{} // it has to be read
		}
		checkPieces(t, s.Book, "kept"+whole, func(flush store.Flush) ([]byte, store.ListResult, error) {
			return s.Contacts(t.Context(), s.Number, scope, crm.PageRequest{Page: 1, PerPage: 100}, []byte("kept"),
				flush)
		})
	}
	wants(crm.Active) // the node holds the set of the page
	s.create(`{"first_name":"Small","last_name":"One"}`)
	whole, _ := s.listBytes(crm.All, 1, 100)
	s.create(`{"first_name":"Next","last_name":"One"}`)
	fresh, _ := s.listBytes(crm.All, 1, 100)
	equal(t, strings.HasPrefix(fresh, whole), true, "a new contact moved others")
	wants(crm.All)
	for _, id := range ids[:9] { // scattered contacts are read by their ids
		s.archive(id)
	}
	for range 40 {
		s.create(`{"first_name":"Small","last_name":"Two"}`)
	}
	for _, id := range ids[9:] {
		s.archive(id)
	}
	wants(crm.Archived)
}

// inPieces reads a page of active contacts, and calls a function before each piece is sent.
func (s *folk) inPieces(number, perPage int64, before func()) (sent string, found store.ListResult) {
	s.Helper()
	last, found := must2(s.Contacts(s.Context(), s.Number, crm.Active, crm.PageRequest{Page: number, PerPage: perPage},
		nil,
		func(piece []byte, _ store.ListResult) ([]byte, error) {
			before()
			sent += string(piece)
			return piece[:0], nil
		}))(s)
	return sent + string(last), found
}

// After a page of large contacts, a page of small ones is read and sent as usual.
func TestASmallPageAfterALargeOneIsOnePiece(t *testing.T) {
	s := newFolk(t)
	s.large(4)
	for range 16 {
		s.create(`{"first_name":"Small","last_name":"One"}`)
	}
	for _, page := range [][2]int64{{1, 1}, {2, 0}, {3, 0}, {1, 1}, {4, 0}} {
		pieces := int64(0)
		sent, _ := s.inPieces(page[0], 5, func() { pieces++ })
		whole, _ := s.listBytes(crm.Active, page[0], 5)
		equal(t, sent, whole, "page %d", page[0])
		equal(t, pieces, page[1], "pieces of page %d", page[0])
	}
}

// The first piece decides which contacts are on a page, so that the page is complete whatever happens while a slow
// client reads it.
func TestAPageStaysWholeWhileItsContactsMove(t *testing.T) {
	s := newFolk(t)
	ids := s.large(8)
	sent, found := s.inPieces(1, 8, sync.OnceFunc(func() {
		s.archive(ids[0])
		s.archive(ids[7])
	}))
	equal(t, rig.IDs(t, sent), ids)
	equal(t, found, store.ListResult{Total: 8, Count: 8})
}

func TestALargePageOfCampaignsIsReadInPieces(t *testing.T) {
	s := newFolk(t)
	var rows []string
	for n := range 10 {
		rows = append(rows, fmt.Sprintf(`{"title":"Gala %d","description":"<p>%s</p>"}`, n,
			strings.Repeat("long ", 19_000)))
	}
	mustImport(t, s.Book, s.Account, "["+strings.Join(rows, ",")+"]")
	page := func(flush store.Flush) ([]byte, store.ListResult, error) {
		return s.Campaigns(t.Context(), s.Number, campaign.AllCampaigns, crm.PageRequest{Page: 1, PerPage: 100},
			"https://x.org", nil, flush)
	}
	whole, _ := must2(page(nil))(t)
	checkPieces(t, s.Book, string(whole), page)
}
