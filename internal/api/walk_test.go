package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// population is an account with contacts, some of them archived.
type population struct {
	*server
	key      string
	active   []string // ids in ascending order, at the start
	archived []string
}

func newPopulation(t *testing.T, s *server, size int) *population {
	t.Helper()
	p := &population{server: s, key: newKey(t, s.store, newAccount(t, s.store, "main", ""))}
	for range size {
		p.active = append(p.active, p.create(t))
	}
	for i := size - 1; i >= 0; i-- {
		if i%3 == 1 {
			p.change(t, "DELETE", "/v1/contacts/"+p.active[i])
			p.archived = append(p.archived, p.active[i])
			p.active = slices.Delete(p.active, i, i+1)
		}
	}
	slices.Sort(p.archived)
	return p
}

func (p *population) create(t testing.TB) string {
	t.Helper()
	return idOf(t, p.ask(t, "POST", "/v1/contacts", p.key, `{"first_name":"Ann","last_name":"Lee"}`).body)
}

func (p *population) change(t testing.TB, method, path string) {
	t.Helper()
	if a := p.ask(t, method, path, p.key, ""); a.status != http.StatusOK {
		t.Errorf("%s %s: the status is %d: %s", method, path, a.status, a.body)
	}
}

// walk follows links.next until it is null, calls before before each request, and returns the ids of each page.
func (p *population) walk(t *testing.T, scope string, perPage int, before func()) (seen [][]string) {
	t.Helper()
	next := fmt.Sprintf("%s/v1/contacts?scope=%s&per_page=%d", p.url, scope, perPage)
	for number := int64(1); next != ""; number++ {
		before()
		a := p.ask(t, "GET", next, p.key, "")
		page := pageOf(t, a.body)
		if a.status != http.StatusOK || page.Meta.CurrentPage != number {
			t.Fatalf("%s: the status is %d, the page %d instead of %d", next, a.status, page.Meta.CurrentPage, number)
		}
		var ids []string
		for _, c := range page.Data {
			ids = append(ids, fmt.Sprint(c.ID))
			if scope == "active" && c.ArchivedAt != nil || scope == "archived" && c.ArchivedAt == nil {
				t.Errorf("%s: contact %d does not belong to the scope", next, c.ID)
			}
		}
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("%s: the ids do not ascend: %v", next, ids)
		}
		if len(ids) > perPage || page.Links.Next != nil && len(ids) < perPage {
			t.Errorf("%s: the page has %d elements, and the next one is %v", next, len(ids), page.Links.Next)
		}
		if len(ids) > 0 && *page.Meta.To-*page.Meta.From+1 != int64(len(ids)) {
			t.Errorf("%s: from %d to %d are not %d elements", next, *page.Meta.From, *page.Meta.To, len(ids))
		}
		seen = append(seen, ids)
		next = ""
		if page.Links.Next != nil {
			next = *page.Links.Next
		}
	}
	return seen
}

var perPages = []int{1, 7, 20, 100}

func TestAWalkSeesEachContactOnceInAscendingOrder(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		p := newPopulation(t, s, 60)
		all := slices.Sorted(slices.Values(slices.Concat(p.active, p.archived)))
		for scope, want := range map[string][]string{"active": p.active, "archived": p.archived, "all": all} {
			for _, perPage := range perPages {
				pages := p.walk(t, scope, perPage, func() {})
				if got := slices.Concat(pages...); !slices.Equal(got, want) {
					t.Errorf("scope %s by %d: saw %v instead of %v", scope, perPage, got, want)
				}
				if len(pages) != (len(want)+perPage-1)/perPage {
					t.Errorf("scope %s by %d: %d elements were %d pages", scope, perPage, len(want), len(pages))
				}
			}
		}
	})
}

// While contacts are created, a walk of any scope that shows them sees each contact at most once, in ascending order. It sees all
// contacts that were there at its start, and all whose creation was acknowledged before its last page was requested.
func TestConcurrentWalkWhileContactsAreCreatedSeesEachOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		for _, scope := range []string{"active", "all"} {
			for _, perPage := range perPages {
				p := newPopulation(t, s, 24)
				want := p.active
				if scope == "all" {
					want = slices.Concat(p.active, p.archived)
				}
				crowd := startCrowd(20, func() string { return p.create(t) })
				var acknowledged []string
				pages := p.walk(t, scope, perPage, func() { acknowledged = crowd.done() })
				created := crowd.wait()
				p.checkOnce(t, fmt.Sprintf("scope %s by %d", scope, perPage), pages, slices.Concat(want, acknowledged), slices.Concat(want, created))
			}
		}
	})
}

// Nothing ever shifts in scope all: it also shows each contact once while contacts are archived and restored.
func TestConcurrentWalkOfAllSeesEachOnceWhileContactsAreArchivedAndRestored(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		for _, perPage := range perPages {
			p := newPopulation(t, s, 24)
			want := slices.Concat(p.active, p.archived)
			n := 0
			crowd := startCrowd(20, func() string {
				n++
				if n%2 == 0 {
					p.change(t, "DELETE", "/v1/contacts/"+p.active[n/2])
				} else {
					p.change(t, "PATCH", "/v1/contacts/"+p.archived[n/2%len(p.archived)]+"/restore")
				}
				return ""
			})
			pages := p.walk(t, "all", perPage, func() {})
			crowd.wait()
			p.checkOnce(t, fmt.Sprintf("by %d", perPage), pages, want, want)
		}
	})
}

// A restored contact goes back to its old place, so that later contacts move by one. A walk of the active contacts then misses
// none of those that were active all the time; it repeats at most as many as were restored meanwhile; and it shows nothing that
// was neither active at the start nor restored.
func TestConcurrentWalkOfActiveContactsMissesNoneWhileOthersAreRestored(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		for _, perPage := range perPages {
			p := newPopulation(t, s, 45)
			n := 0
			crowd := startCrowd(len(p.archived), func() string {
				n++
				p.change(t, "PATCH", "/v1/contacts/"+p.archived[n-1]+"/restore")
				return p.archived[n-1]
			})
			pages := p.walk(t, "active", perPage, func() {})
			restored := crowd.wait()
			times := map[string]int{}
			for _, id := range slices.Concat(pages...) {
				times[id]++
			}
			repeats := 0
			for id, n := range times {
				repeats += n - 1
				if !slices.Contains(p.active, id) && !slices.Contains(restored, id) {
					t.Errorf("by %d: %s was never active", perPage, id)
				}
			}
			if repeats > len(restored) {
				t.Errorf("by %d: %d repeats after %d restores", perPage, repeats, len(restored))
			}
			for _, id := range p.active {
				if times[id] == 0 {
					t.Errorf("by %d: %s was missed", perPage, id)
				}
			}
		}
	})
}

// checkOnce checks that the pages show strictly ascending ids, all of must and nothing outside may.
func (p *population) checkOnce(t *testing.T, what string, pages [][]string, must, may []string) {
	t.Helper()
	seen := slices.Concat(pages...)
	if !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != len(seen) {
		t.Errorf("%s: the ids do not ascend: %s", what, strings.Join(seen, " "))
	}
	for _, id := range seen {
		if !slices.Contains(may, id) {
			t.Errorf("%s: %s should not be there", what, id)
		}
	}
	for _, id := range must {
		if !slices.Contains(seen, id) {
			t.Errorf("%s: %s was missed", what, id)
		}
	}
}

// crowd makes changes during a walk.
type crowd struct {
	mu   sync.Mutex
	ids  []string
	over chan struct{}
}

func startCrowd(times int, change func() string) *crowd {
	c := &crowd{over: make(chan struct{})}
	go func() {
		defer close(c.over)
		for range times {
			id := change()
			c.mu.Lock()
			c.ids = append(c.ids, id)
			c.mu.Unlock()
		}
	}()
	return c
}

// done are the changes that were acknowledged so far.
func (c *crowd) done() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ids)
}

func (c *crowd) wait() []string {
	<-c.over
	return c.done()
}
