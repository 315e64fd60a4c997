package book

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
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
	eachEngine(t, func(t *testing.T, s *Book) {
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
						if doc.IDAccount(id) != account {
							t.Fatalf("contact %d is of another account", id)
						}
						got = append(got, doc.IDSeq(id))
					}
					if want := m.page(scope, (number-1)*perPage, perPage); !slices.Equal(got, want) || total != int64(len(m.scope(scope))) {
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
	})
}

func TestAPagePastTheEndIsEmpty(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		create(t, s, account, `{"first_name":"A"}`)
		for _, page := range []int64{2, 3, 1 << 31, 1<<53 - 1} {
			for _, scope := range scopes {
				documents, total := listBytes(t, s, account, scope, page, 100)
				if want := map[crm.ContactScope]int64{crm.Active: 1, crm.All: 1}[scope]; documents != "" || total != want {
					t.Errorf("%s, page %d: %q, %d in all", scope, page, documents, total)
				}
			}
		}
	})
}

// Pages never shift while others add and change contacts: a walk sees every contact that was there at its start once.
func TestConcurrentWalkSeesEachContactOnceWhileWritesGoOn(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		atOnce(60, func(i int) { create(t, s, account, fmt.Sprintf(`{"first_name":"N%d"}`, i)) })
		const walkers = 6
		walked := make(chan bool, walkers)
		writing := make(chan struct{})
		go func() {
			defer close(writing)
			for i, left := 0, walkers; left > 0; i++ {
				create(t, s, account, fmt.Sprintf(`{"first_name":"Late%d"}`, i))
				id := doc.MakeID(account, int64(i%60)+1)
				if _, err := s.AddTags(t.Context(), account, id, []string{fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
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
	})
}

// Each list shows one moment, even if many clients read and the index changes between them.
func TestConcurrentListsReadAtOnceAreEachOfOneMoment(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
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
	})
}

func TestConcurrentAccountsAreListedAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
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
	})
}
