package api_test

import (
	"fmt"
	"slices"
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
	p := &population{server: s, key: s.anyKey(t)}
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
	equal(t, p.ask(t, method, path, p.key, "").status, 200, "%s %s: the status", method, path)
}

// walk follows links.next until it is null, calls before before each request, and returns the ids of each page.
func (p *population) walk(t *testing.T, scope string, perPage int, before func()) (seen [][]string) {
	t.Helper()
	next := fmt.Sprintf("%s/v1/contacts?scope=%s&per_page=%d", p.url, scope, perPage)
	for number := int64(1); next != ""; number++ {
		before()
		a := p.ask(t, "GET", next, p.key, "")
		page := pageOf(t, a.body)
		equal(t, a.status, 200, "%s: the status", next)
		equal(t, page.Meta.CurrentPage, number, "%s: the status", next)
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

// While others change contacts, a walk sees each contact that belongs to its scope all the time, once and in ascending
// order, and nothing that never did; and what was acknowledged before its last page was requested. Nothing ever
// shifts in scope all. A contact that is restored goes back to its old place, so that a walk of the active ones may
// repeat as many.
func TestConcurrentWalkWhileContactsChangeSeesEachOnce(t *testing.T) {
	create := func(t *testing.T, p *population, _ int) string { return p.create(t) }
	restore := func(t *testing.T, p *population, n int) string {
		p.change(t, "PATCH", "/v1/contacts/"+p.archived[n]+"/restore")
		return p.archived[n]
	}
	move := func(t *testing.T, p *population, n int) string {
		if n%2 == 1 {
			return restore(t, p, n/2%len(p.archived))
		}
		p.change(t, "DELETE", "/v1/contacts/"+p.active[n/2])
		return p.active[n/2]
	}
	eachEngine(t, func(t *testing.T, s *server) {
		for _, test := range []struct {
			what, scope string
			times       int
			change      func(t *testing.T, p *population, n int) string
		}{
			{"active, while others are created", "active", 20, create},
			{"all, while others are created", "all", 20, create},
			{"all, while they are archived and restored", "all", 20, move},
			{"active, while others are restored", "active", 15, restore},
		} {
			for _, perPage := range []int{1, 7, 20, 100} {
				p := newPopulation(t, s, 45)
				want, n := p.active, -1
				if test.scope == "all" {
					want = slices.Concat(p.active, p.archived)
				}
				crowd := startCrowd(test.times, func() string {
					n++
					return test.change(t, p, n)
				})
				var acknowledged []string
				pages := p.walk(t, test.scope, perPage, func() { acknowledged = crowd.done() })
				changed := crowd.wait()
				repeats := 0
				if test.what == "active, while others are restored" {
					acknowledged, repeats = nil, len(changed)
				}
				p.checkSeen(t, fmt.Sprint(test.what, ", by ", perPage), slices.Concat(pages...),
					slices.Concat(want, acknowledged), slices.Concat(want, changed), repeats)
			}
		}
	})
}

// checkSeen checks that a walk saw all of must, nothing outside may, and the same again at most so many times.
func (p *population) checkSeen(t *testing.T, what string, seen, must, may []string, repeats int) {
	t.Helper()
	once := slices.Compact(slices.Sorted(slices.Values(seen)))
	if len(seen)-len(once) > repeats || repeats == 0 && !slices.IsSorted(seen) {
		t.Errorf("%s: the ids do not ascend: %v", what, seen)
	}
	for _, id := range once {
		if !slices.Contains(may, id) {
			t.Errorf("%s: %s should not be there", what, id)
		}
	}
	for _, id := range must {
		if !slices.Contains(once, id) {
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
