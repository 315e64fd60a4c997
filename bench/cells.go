package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// cell is one variant: the work, the place where it is done, and by how many connections.
type cell struct {
	name        string
	at          string // the kind of place
	size        size
	connections int // 0 for a loop
	task        func(*place, int) task
	amid        bool // while our server of the middle size creates as fast as it can
}

// task is what is timed, by requests or in a loop, with the question that comes before: is the answer right?
type task struct {
	check func() // fails where an answer is wrong
	run   func(timing) result
}

// place is where work is done.
type place struct {
	*server
	data    *dataset
	loops   *loops
	peer    *pocketbase
	contact []byte // what the ceiling answers
	list    []byte
	remote  bool // the file has nothing of what is written
}

// at is the name of a work on an amount of data.
func at(name string, s size) string { return name + " at " + s.name }

// searchers is how many connections search: an account may have one search in work and 16 that wait.
const searchers = 8

// requestCells are measured on SQLite, against the ceiling, raw and, where asked for, a peer.
func (b *bench) requestCells() (cells []cell) {
	add := func(name, place string, s size, connections int, task func(*place, int) task) {
		cells = append(cells, cell{at(name, s), place, s, connections, task, false})
	}
	cells = append(cells,
		cell{"get ceiling", "ceiling", b.large, 64, ceilingGet, false},
		cell{"list ceiling", "ceiling", b.large, 64, ceilingList, false},
		cell{"get ceiling beside creates", "ceiling", b.large, 2, ceilingGet, true},
		cell{"get beside creates", "write", b.base, 2, getAnyone, true})
	for _, s := range []size{b.small, b.large, b.many} {
		add("get", "ours", s, 64, getAnyone)
		add("list, any page", "ours", s, 64, listAnyPage)
		add("search, a rare name", "ours", s, searchers, searchRare)
		add("search, a common name", "ours", s, searchers, searchCommon)
		add("change", "write", s, 64, change)
		add("create", "write", s, 64, create)
	}
	for _, s := range []size{b.small, b.many} {
		add("get raw", "raw", s, 0, readOne)
		add("list raw", "raw", s, 0, readList)
		add("create raw in 32s", "raw", s, 0, insert(32)) // as many as our server writes together for 64 clients
	}
	for _, s := range []size{b.small, b.large} {
		add("gift", "write", s, 64, give)
	}
	add("create", "write", b.base, 64, create)
	add("create raw", "raw", b.base, 0, insert(100))
	for _, l := range []listing{contactList, giftList, planList} {
		add(l.table+" list, page 1", "ours", b.large, 64, listPage(l, false))
		add(l.table+" list, last page", "ours", b.large, 64, listPage(l, true))
	}
	for _, f := range filters {
		add("filter "+f.path, "ours", b.large, 1, f.task)
	}
	if b.peers {
		cells = append(cells,
			cell{"pocketbase get", "pocketbase", b.base, 64, pocketbaseGet, false},
			cell{"pocketbase list", "pocketbase", b.base, 64, pocketbaseList, false},
			cell{"pocketbase create", "pocketbase", b.base, 64, pocketbaseCreate, false})
	}
	return cells
}

// postgresCells work on one database, so that it grows for all of them alike.
var postgresCells = []cell{
	{"postgres get", "postgres", size{}, 64, getAnyone, false},
	{"postgres list", "postgres", size{}, 64, listPage(contactList, false), false},
	{"postgres search", "postgres", size{}, searchers, searchRare, false},
	{"postgres get pgx", "pgx", size{}, 0, readOne, false},
	{"postgres create", "postgres", size{}, 64, create, false},
	{"postgres gift", "postgres", size{}, 64, give, false},
	{"postgres create pgx", "pgx", size{}, 0, insert(32), false},
}

// variants are those cells that were asked for.
func (b *bench) variants(cells []cell) (list []variant) {
	for _, c := range cells {
		if !b.only.MatchString(c.name) {
			continue
		}
		v := variant{c.name, c.task(b.place(c.at, c.size), c.connections)}
		if c.amid {
			v.task = b.amidCreates(v.task)
		}
		list = append(list, v)
	}
	return list
}

// amidCreates is a task while our server creates as fast as it can. The same on the ceiling shows how much of the difference comes from
// sharing the processors.
func (b *bench) amidCreates(t task) task {
	creates := create(b.place("write", b.base), 62)
	return task{check: func() { t.check(); creates.check() }, run: func(d timing) result {
		ended := make(chan result)
		go func() { ended <- creates.run(timing{measured: d.warm + d.measured + time.Second/4}) }()
		r := t.run(d)
		r.err = errors.Join(r.err, (<-ended).err)
		return r
	}}
}

// measureRequests measures our server on SQLite and what it is compared with.
func (b *bench) measureRequests() {
	b.repeat(b.variants(b.requestCells()))
	ours, writing := b.places[at("ours", b.large)], b.places[at("write", b.large)]
	if ours != nil && writing != nil { // not with -only
		b.note("loaded", max(memory(ours.pid, "VmHWM"), memory(writing.pid, "VmHWM")))
	}
}

// place opens a place when the first cell needs it.
func (b *bench) place(kind string, s size) *place {
	name := at(kind, s)
	if p := b.places[name]; p != nil {
		return p
	}
	p := &place{data: b.dataset(s)}
	switch kind {
	case "ours": // which only reads
		p.server = b.serve(p.data)
	case "ceiling":
		b.startCeiling(p, s)
	case "pocketbase":
		b.servePocketbase(p)
	case "raw":
		p.data = b.copy(p.data, name)
		b.openRaw(p)
	default: // one that writes, on a copy of its own
		p.data = b.copy(p.data, name)
		p.server = b.serve(p.data)
	}
	if b.places == nil {
		b.places = make(map[string]*place)
	}
	b.places[name] = p
	return p
}

// startCeiling starts the bare server, which answers what our server has just answered.
func (b *bench) startCeiling(p *place, s size) {
	a, ours := p.data.Accounts[0], b.place("ours", s).address
	p.contact, p.list = once(ours, "GET", contactPath(a.id(0)), a.Key, nil), once(ours, "GET", "/v1/contacts", a.Key, nil)
	address, files := freeAddress(), []string{filepath.Join(b.tmp, "contact"), filepath.Join(b.tmp, "list")}
	check(os.WriteFile(files[0], p.contact, 0o600))
	check(os.WriteFile(files[1], p.list, 0o600))
	ready := request(nil, "GET", "/v1/contacts", a.Key, nil)
	p.server = b.start(address, ready, must(os.Executable()), "ceiling", address, a.Key, files[0], files[1])
}

// newcomer is the mark of people whom requests create.
const newcomer = "x"

// asking is a request, and what its answer must be.
type asking struct {
	method, path, key string
	body              []byte
	right             func(answer []byte) bool
}

// asks sends requests of one kind, and looks at the answer to one of them before that.
func (p *place) asks(connections int, next func(r *rand.Rand, n int64) asking) task {
	wire := func(dst []byte, q asking) []byte { return request(dst, q.method, q.path, q.key, q.body) }
	work := func(dst []byte, r *rand.Rand, n int64) []byte { return wire(dst, next(r, n)) }
	return task{run: func(t timing) result { return p.load(connections, work, t) }, check: func() {
		q := next(p.data.dice(), serial.Add(1))
		if got := must(onceWire(p.address, wire(nil, q))); !q.right(got) {
			fail("%s %s answers %.300s", q.method, q.path, got)
		}
	}}
}

// same asks for the same thing again and again.
func (p *place) same(connections int, path, key string, right func(answer []byte) bool) task {
	return p.asks(connections, func(*rand.Rand, int64) asking { return asking{"GET", path, key, nil, right} })
}

// has tells whether an answer has all texts.
func has(texts ...string) func([]byte) bool {
	return func(answer []byte) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !bytes.Contains(answer, []byte(text)) })
	}
}

func is(want []byte) func([]byte) bool {
	return func(answer []byte) bool { return bytes.Equal(answer, want) }
}

// The ceiling is asked for one contact and one list.
func ceilingGet(p *place, connections int) task {
	a := p.data.Accounts[0]
	return p.same(connections, contactPath(a.id(0)), a.Key, is(p.contact))
}
func ceilingList(p *place, connections int) task {
	return p.same(connections, "/v1/contacts", p.data.Accounts[0].Key, is(p.list))
}

func contactPath(id int64) string { return fmt.Sprintf("/v1/contacts/%d", id) }

// getAnyone asks for contacts uniformly.
func getAnyone(p *place, connections int) task {
	return p.asks(connections, func(r *rand.Rand, _ int64) asking {
		a, id := p.data.anyone(r)
		return asking{"GET", contactPath(id), a.Key, nil, func(answer []byte) bool { return bytes.Equal(answer, p.data.contact(a, id)) }}
	})
}

// listPage asks for the first page of a list, or for its last full one.
func listPage(l listing, last bool) func(*place, int) task {
	return func(p *place, connections int) task {
		a, path, number := p.data.Accounts[0], l.path[:len(l.path)-1], 1
		if last {
			number = p.data.total(a, l) / 20
			path = l.page(number)
		}
		return p.same(connections, path, a.Key, func(answer []byte) bool { return p.data.isPage(answer, a, l, number) })
	}
}

// listAnyPage asks for random pages of random accounts; one contact in 16 is archived.
func listAnyPage(p *place, connections int) task {
	return p.asks(connections, func(r *rand.Rand, _ int64) asking {
		a := p.data.byWeight(r)
		number := 1 + r.IntN(a.Contacts*15/16/20)
		return asking{"GET", contactList.page(number), a.Key, nil, func(answer []byte) bool { return p.data.isPage(answer, a, contactList, number) }}
	})
}

// searchRare searches for a name that one contact has, searchCommon for one of 24 first names.
func searchRare(p *place, connections int) task {
	return p.asks(connections, func(r *rand.Rand, _ int64) asking {
		a, id := p.data.anyoneWho(r, rare)
		name := rareName(a.First + int(doc.IDSeq(id)) - 1)
		return asking{"GET", "/v1/contacts?q=" + name, a.Key, nil, has(fmt.Sprintf(`{"data":[{"id":%d,`, id), `"total":1}`)}
	})
}

func searchCommon(p *place, connections int) task {
	names := []string{"Grace", "Priya", "Fatima", "Hannah"} // no other word begins so
	return p.asks(connections, func(r *rand.Rand, _ int64) asking {
		a, name := p.data.byWeight(r), pick(r, names)
		l := listing{"", "contact", `archived = 0 AND instr(body, '"first_name":"` + name + `"') > 0`, "id"}
		return asking{"GET", "/v1/contacts?q=" + name, a.Key, nil, func(answer []byte) bool { return p.data.isPage(answer, a, l, 1) }}
	})
}

// filter is a list of contacts with conditions.
type filter listing

// filters are some that find many contacts, alone and two together, and orders of all contacts.
var filters = []filter{
	{"city=Boston", "contact", inBody("city", "Boston"), "id"},
	{"city=Austin&tag=vip", "contact", inBody("city", "Austin") + ` AND instr(body, '"vip"') > 0`, "id"},
	{"first_name=Grace&zip=021", "contact", inBody("first_name", "Grace") + ` AND instr(body, '"zipcode":"021') > 0`, "id"},
	{"q=grace&tag_none=vip", "contact", inBody("first_name", "Grace") + ` AND instr(body, '"vip"') = 0`, "id"},
	{"gave_after=2025-06-01&city=Boston", "contact", inBody("city", "Boston") + ` AND id IN (SELECT contact_id FROM gift WHERE net > 0 AND given_at >= unixepoch('2025-06-01'))`, "id"},
	{"total_contributions_min=500&sort=-total_contributions", "contact", "given >= 500", "given DESC, id DESC"},
	{"sort=-last_gift", "contact", "true", "last_gift DESC, id DESC"},
	{"sort=last_name&tag=volunteer", "contact", `instr(body, '"volunteer"') > 0`, "sort_name, id"},
}

func inBody(field, value string) string {
	return fmt.Sprintf(`instr(body, '"%s":"%s"') > 0`, field, value)
}

func (f filter) task(p *place, connections int) task {
	a, l := p.data.Accounts[0], listing(f)
	l.where = "archived = 0 AND " + l.where
	return p.same(connections, "/v1/contacts?"+f.path, a.Key, func(answer []byte) bool { return p.data.isPage(answer, a, l, 1) })
}

// change gives random contacts another title.
func change(p *place, connections int) task {
	return p.asks(connections, func(r *rand.Rand, n int64) asking {
		a, id := p.data.anyone(r)
		title := fmt.Sprintf(`"title":"Changed %d"`, n)
		return asking{"PATCH", contactPath(id), a.Key, []byte("{" + title + "}"), has(fmt.Sprintf(`{"id":%d,`, id), title)}
	})
}

// create makes people who are not there yet. An answer is compared with the document that crm makes of the same request.
func create(p *place, connections int) task {
	return p.asks(connections, func(r *rand.Rand, n int64) asking {
		a, begun := p.data.byWeight(r), time.Now()
		return asking{"POST", "/v1/contacts", a.Key, personBody(int(n), newcomer), func(answer []byte) bool {
			var made struct{ ID int64 }
			check(json.Unmarshal(answer, &made))
			p.same(1, contactPath(made.ID), a.Key, is(answer)).check()
			return slices.ContainsFunc([]time.Time{begun, begun.Add(time.Second)}, func(at time.Time) bool {
				return is(answer)(crm.AppendContact(nil, made.ID, makePerson(a.Number, int(n), newcomer, at).body))
			})
		}}
	})
}

// give records gifts of random contacts of the account that has campaigns.
func give(p *place, connections int) task {
	return p.asks(connections, func(r *rand.Rand, n int64) asking {
		a, id := p.data.anyoneWho(r, func(n int) bool { return n < p.data.Accounts[0].Contacts })
		body := fmt.Appendf(nil, `{"contact_id":%d,"campaign_id":%d,"amount":%d.25,"method":"card","fee":0.55,"transacted_at":"%s"}`,
			id, pick(r, p.data.Campaigns), 1+n%500, time.Now().UTC().Format(time.RFC3339))
		return asking{"POST", "/v1/transactions", a.Key, body, func(answer []byte) bool {
			var made struct{ ID string }
			check(json.Unmarshal(answer, &made))
			p.same(1, "/v1/transactions/"+url.PathEscape(made.ID), a.Key, is(answer)).check()
			return has(fmt.Sprintf(`"contact_id":%d,`, id), fmt.Sprintf(`"amount":%d.25,`, 1+n%500))(answer)
		}}
	})
}
