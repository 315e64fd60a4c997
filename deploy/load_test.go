//go:build drill

package deploy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// mixture is what a random load has done so far.
type mixture struct {
	mu    sync.Mutex
	ids   []int64       // contacts that come and go
	stay  map[int]int64 // contacts that are posted again and again, by the number of their person
	posts map[int]int   // how often
	by    map[int]int   // answers by status
}

func (m *mixture) some(r *rand.Rand) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ids) == 0 {
		return 0 // which is never an id
	}
	return m.ids[r.IntN(len(m.ids))]
}

// step does one random thing through a node.
func (m *mixture) step(t *testing.T, c *client, r *rand.Rand, worker, i int) {
	id, person := m.some(r), r.IntN(12)
	allowed := []int{200, 403} // archived meanwhile
	var method, path, body string
	kind := r.IntN(10)
	switch kind {
	case 0, 1:
		method, path, allowed = "POST", "/v1/contacts", []int{201}
		body = fmt.Sprintf(`{"first_name":"New","last_name":"N","emails":[{"value":"w%d-%d@example.org"}],
			"tags":["new"]}`, worker, i)
	case 2:
		method, path, allowed = "POST", "/v1/contacts?force_create=true", []int{201}
		body = fmt.Sprintf(`{"first_name":"Forced","last_name":"N","phones":[{"value":"+1 617 555 %04d"}]}`, person)
	case 3, 4:
		method, path, allowed = "POST", "/v1/contacts", []int{201}
		body = fmt.Sprintf(`{"first_name":"Stay","last_name":"S","emails":[{"value":"STAY%d@example.org"}],
			"tags":["w%d-%d"]}`, person, worker, i)
	case 5:
		method, path = "PATCH", fmt.Sprintf("/v1/contacts/%d", id)
		body = fmt.Sprintf(`{"company":"Company %d","emails":[{"value":"moved%d@example.org"}]}`, i, id)
	case 6:
		verb := []string{"add", "remove", "sync"}[r.IntN(3)]
		method, path = "POST", fmt.Sprintf("/v1/contacts/%d/tags/%s", id, verb)
		body = fmt.Sprintf(`{"tags":["t%d","t%d"]}`, r.IntN(9), r.IntN(9))
	case 7, 8:
		method, path = "DELETE", fmt.Sprintf("/v1/contacts/%d", id)
	case 9:
		method, path = "PATCH", fmt.Sprintf("/v1/contacts/%d/restore", id)
	}
	a, err := c.send(method, path, body)
	if err != nil || !slices.Contains(allowed, a.status) {
		t.Errorf("%s %s: %s, %v", method, path, a, err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.by[a.status]++
	if a.status != 201 {
		return
	}
	made := decode[contact](t, a.body)
	if kind == 3 || kind == 4 {
		m.posts[person]++
		if known, again := m.stay[person]; again && known != made.ID {
			t.Errorf("person %d is contact %d and contact %d", person, known, made.ID)
		}
		m.stay[person] = made.ID
	} else {
		m.ids = append(m.ids, made.ID)
	}
}

// TestRandomLoadOnTwoNodes: whatever two nodes do at once, both show what the database holds, to the byte.
func TestRandomLoadOnTwoNodes(t *testing.T) {
	t.Parallel()
	database := rig.Database(t)
	_, keys := newKeys(t, database, 1)
	nodes := startNodes(t, 2, database, hasty...)
	clients := []*client{nodes[0].client(t, keys[0]), nodes[1].client(t, keys[0])}
	m := &mixture{stay: map[int]int64{}, posts: map[int]int{}, by: map[int]int{}}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rig.AtOnce(12, func(worker int) {
		r := rand.New(rand.NewPCG(seed, uint64(worker)))
		for i := range 120 {
			m.step(t, clients[(worker+i)%2], r, worker, i)
			if i%20 == 19 { // totals and pages are asked for all the while
				clients[worker%2].call(t, 200, "GET", "/v1/contacts?scope=all&page=2", "")
			}
		}
	})
	t.Logf("answers %v, %d contacts come and go, %d stay", m.by, len(m.ids), len(m.stay))

	type row struct {
		ID       int64
		Archived int64
		Body     string
	}
	want := map[string][]string{"active": nil, "archived": nil, "all": nil}
	stored := query[row](t, database,
		"SELECT id, archived::BIGINT, convert_from(body, 'UTF8') FROM contact ORDER BY id")
	for _, r := range stored {
		scope := []string{"active", "archived"}[r.Archived]
		document := string(crm.AppendContact(nil, r.ID, []byte(r.Body)))
		want[scope], want["all"] = append(want[scope], document), append(want["all"], document)
	}
	assert.Equal(t, len(stored), len(m.ids)+len(m.stay))
	type tally struct{ Seq, Active int64 }
	counted := query[tally](t, database, "SELECT contact_seq, contact_active FROM account_tally")
	if there := (tally{int64(len(want["all"])), int64(len(want["active"]))}); !slices.Equal(counted, []tally{there}) {
		t.Errorf("the account counts %v, and has %v contacts", counted, there)
	}
	for scope, documents := range want {
		for _, perPage := range []int{9, 50, 100} {
			for i, c := range clients {
				if got := c.walk(t, scope, perPage); !slices.Equal(got, documents) {
					t.Errorf("scope %s by %d: node %d shows %d contacts, which are not the %d of the database in order",
						scope, perPage, i+1, len(got), len(documents))
				}
			}
		}
	}
	for person, id := range m.stay {
		assert.Equal(t, len(clients[person%2].contact(t, id).Tags), m.posts[person], "person %d was posted", person)
	}
}
