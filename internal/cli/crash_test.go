package cli

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/client"
)

// person is what a client knows about one of its contacts: every state that the server may have. There is one state, or two while
// a change was sent but not acknowledged.
type person struct {
	id     int64
	email  string
	states []state
}

type state struct {
	company  string
	tags     []string
	archived bool
}

func stateOf(c client.Contact) state { return state{c.Company, c.Tags, !c.ArchivedAt.IsZero()} }

func (s state) equal(other state) bool {
	return s.company == other.company && s.archived == other.archived && slices.Equal(s.tags, other.tags)
}

// worker is one client that writes without a pause.
type worker struct {
	name    string
	people  []*person
	written int
	pending int // creations that were sent and never acknowledged
}

// work writes until the server is gone.
func (w *worker) work(t *testing.T, p *process, key string, acknowledged *atomic.Int64) {
	for {
		alive, err := w.step(p, key)
		if err != nil {
			t.Error(err)
			return
		}
		if !alive {
			return
		}
		acknowledged.Add(1)
	}
}

// step makes one change. alive is false once the connection is gone: then the change may have happened or not.
func (w *worker) step(p *process, key string) (alive bool, err error) {
	w.written++
	if len(w.people) == 0 || rand.IntN(3) == 0 {
		return w.create(p, key)
	}
	who := w.people[rand.IntN(len(w.people))]
	if len(who.states) != 1 {
		return true, nil // the outcome is unknown, so the contact is not used again
	}
	return w.change(p, key, who)
}

func (w *worker) create(p *process, key string) (alive bool, err error) {
	made := &person{email: fmt.Sprintf("%s.%d@example.org", w.name, w.written), states: []state{{tags: []string{"new"}}}}
	a, failed := p.send(key, "POST", "/v1/contacts",
		fmt.Sprintf(`{"first_name":"Ada","last_name":%q,"emails":[{"value":%q,"type":"work"}],"tags":["new"]}`, w.name, made.email))
	if failed != nil {
		w.pending++
		return false, nil
	}
	if a.status != http.StatusCreated {
		return true, fmt.Errorf("create: %s", a)
	}
	made.id = decode[client.Contact](p.t, a.body).ID
	w.people = append(w.people, made)
	return true, nil
}

func (w *worker) change(p *process, key string, who *person) (alive bool, err error) {
	next := state{who.states[0].company, slices.Clone(who.states[0].tags), who.states[0].archived}
	path, method, body := fmt.Sprintf("/v1/contacts/%d", who.id), "PATCH", ""
	value := fmt.Sprintf("%s %d", w.name, w.written)
	switch kind := rand.IntN(4); {
	case next.archived:
		path, next.archived = path+"/restore", false
	case kind == 0:
		method, next.archived = "DELETE", true
	case kind == 1:
		body, next.company = fmt.Sprintf(`{"company":%q}`, value), value
	case kind == 2 && len(next.tags) < 20:
		path, method, body = path+"/tags/add", "POST", fmt.Sprintf(`{"tags":[%q]}`, value)
		next.tags = append(next.tags, value)
	default:
		path, method, body = path+"/tags/sync", "POST", fmt.Sprintf(`{"tags":[%q]}`, value)
		next.tags = []string{value}
	}
	a, failed := p.send(key, method, path, body)
	if failed != nil {
		who.states = append(who.states, next)
		return false, nil
	}
	if a.status != http.StatusOK {
		return true, fmt.Errorf("%s %s: %s", method, path, a)
	}
	who.states = []state{next}
	return true, nil
}

// TestKillUnderLoad: everything that was acknowledged before kill -9 is there after the restart, in every round.
func TestKillUnderLoad(t *testing.T) { eachEngine(t, killUnderLoad) }

func killUnderLoad(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	workers := make([]*worker, 12)
	for i := range workers {
		workers[i] = &worker{name: fmt.Sprintf("w%d", i)}
	}
	for round := range 4 {
		p := serve(t, data, "--rate-limit", "0")
		checkPeople(p, key, workers)
		var acknowledged atomic.Int64
		var group sync.WaitGroup
		for _, w := range workers {
			group.Go(func() { w.work(t, p, key, &acknowledged) })
		}
		p.waitFor("some writes", func() bool { return acknowledged.Load() > 100 || t.Failed() })
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		p.kill()
		group.Wait()
		if t.Failed() {
			return
		}
		t.Logf("round %d: %d writes were acknowledged", round+1, acknowledged.Load())
	}
	p := serve(t, data, "--rate-limit", "0")
	checkPeople(p, key, workers)
	checkMatching(p, key, workers)
	p.stop()
	checkIntegrity(t, data)
}

// checkPeople compares the lists with what was acknowledged, and settles the rest.
func checkPeople(p *process, key string, workers []*worker) {
	p.t.Helper()
	found := map[int64]client.Contact{}
	emails := map[string]bool{}
	for _, c := range p.contacts(key, "all") {
		if _, twice := found[c.ID]; twice {
			p.t.Errorf("contact %d is listed twice", c.ID)
		}
		if c.PrimaryEmail == "" || emails[c.PrimaryEmail] {
			p.t.Errorf("contact %d has no email or another contact's", c.ID)
		}
		emails[c.PrimaryEmail] = true
		found[c.ID] = c
	}
	active, archived := p.contacts(key, "active"), p.contacts(key, "archived")
	if len(active)+len(archived) != len(found) {
		p.t.Errorf("%d active and %d archived contacts are not %d in all", len(active), len(archived), len(found))
	}
	known, pending := 0, 0
	for _, w := range workers {
		pending += w.pending
		for _, who := range w.people {
			c, there := found[who.id]
			i := slices.IndexFunc(who.states, func(s state) bool { return there && stateOf(c).equal(s) })
			if i < 0 {
				p.t.Errorf("contact %d is %+v, acknowledged was %+v", who.id, c, who.states)
				continue
			}
			who.states = who.states[i : i+1]
			known++
		}
	}
	if surplus := len(found) - known; surplus > pending {
		p.t.Errorf("%d contacts are there that nobody made; %d creations were not acknowledged", surplus, pending)
	}
}

// checkMatching posts people again: each matches the contact with the same email, in any letter case, and no other contact.
func checkMatching(p *process, key string, workers []*worker) {
	p.t.Helper()
	api := p.api(key)
	for _, w := range workers {
		for _, who := range w.people[max(0, len(w.people)-3):] {
			c, merged, err := api.Contacts.Create(p.t.Context(), client.ContactInput{
				FirstName: "Ada", LastName: "Again", Emails: []client.Email{{Type: "work", Value: strings.ToUpper(who.email)}},
			})
			same := c.ID == who.id
			if active := !who.states[0].archived; err != nil || same != active || merged != active {
				p.t.Errorf("%s (active: %v): merged into the contact: %v, %v", who.email, active, same, err)
			}
		}
	}
}

// wantSound runs the program's own check of the data.
func wantSound(t *testing.T, data string) {
	t.Helper()
	args := []string{"check", "--data", data}
	if url := databaseOf(data); url != "" {
		args = append(args, "--database", url)
	}
	wantTyped(t, exitOK, "", args...)
}

// checkIntegrity asks SQLite whether its file is intact.
func checkIntegrity(t *testing.T, data string) {
	t.Helper()
	if databaseOf(data) != "" {
		return
	}
	db := must(sqlite3.Open(filepath.Join(data, "donorbook.db")))(t)
	defer db.Close()
	stmt, _ := must2(db.Prepare("PRAGMA integrity_check"))(t)
	defer stmt.Close()
	for stmt.Step() {
		if said := stmt.ColumnText(0); said != "ok" {
			t.Errorf("integrity check: %s", said)
		}
	}
	if err := stmt.Err(); err != nil {
		t.Error(err)
	}
}
