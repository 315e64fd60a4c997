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
	"strings"
	"time"
)

// cell is one thing that is measured in every round: the work, and the place where it is done.
type cell struct {
	name string
	at   string // the kind of place
	size size
	task func(*place) task
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
	raw     *raw
	token   string // of the peer
	contact []byte // what the ceiling answers
	list    []byte
}

// at is the name of a work on an amount of data.
func at(name string, s size) string { return name + " at " + s.String() }

// clients is how many connections ask at once, searchers how many search: an account may have one search in work and 16 that wait.
const clients, searchers = 64, 8

// requestCells are measured on SQLite, against the ceiling, raw and, where asked for, a peer.
func (b *bench) requestCells() []cell {
	cells := []cell{
		{"get ceiling", "ceiling", b.large, asks(clients, ceilingGet)},
		{"list ceiling", "ceiling", b.large, asks(clients, ceilingList)},
		{"get ceiling beside creates", "ceiling", b.large, b.amidCreates(asks(2, ceilingGet))},
		{"get beside creates", "write", b.base, b.amidCreates(asks(2, getAnyone))},
	}
	add := func(name, place string, task func(*place) task, sizes ...size) {
		for _, s := range sizes {
			cells = append(cells, cell{at(name, s), place, s, task})
		}
	}
	add("get", "ours", asks(clients, getAnyone), b.small, b.large, b.many)
	add("list, any page", "ours", asks(clients, listAnyPage), b.small, b.large, b.many)
	add("search, a rare name", "ours", asks(searchers, searchRare), b.small, b.large)
	add("search, a common name", "ours", asks(searchers, searchCommon), b.small, b.large)
	add("change", "write", asks(clients, change), b.small, b.large)
	add("gift", "write", asks(clients, give), b.small, b.large)
	add("create", "write", asks(clients, create), b.small, b.base, b.large, b.many)
	add("create raw", "raw", replayCreates, b.small, b.base, b.many)
	add("get raw", "raw reads", replayReads(1, getOne), b.small, b.many)
	add("list, any page raw", "raw reads", replayReads(20, listOne), b.small, b.many)
	for _, l := range []listing{contactList, giftList, planList} {
		add(l.table+" list, page 1", "ours", listPage(l, false), b.large)
		add(l.table+" list, last page", "ours", listPage(l, true), b.large)
	}
	for _, l := range filters {
		add("filter "+l.path, "ours", listPage(l, false), b.large)
	}
	if b.peers {
		cells = append(cells,
			cell{"pocketbase get", "pocketbase", b.base, asks(clients, pocketbaseGet)},
			cell{"pocketbase list", "pocketbase", b.base, asks(clients, pocketbaseList)},
			cell{"pocketbase create", "pocketbase", b.base, asks(clients, pocketbaseCreate)})
	}
	return cells
}

// postgresCells work on one database, so that it grows for all of them alike. Those that only read come first: their answers are compared with the
// file that it was filled from.
func (b *bench) postgresCells() []cell {
	cells := []cell{
		{"get", "postgres", b.base, asks(clients, getAnyone)},
		{"list, any page", "postgres", b.base, asks(clients, listAnyPage)},
		{"search, a rare name", "postgres", b.base, asks(searchers, searchRare)},
		{"search, a common name", "postgres", b.base, asks(searchers, searchCommon)},
		{"change", "postgres", b.base, asks(clients, change)},
		{"create", "postgres", b.base, asks(clients, create)},
		{"gift", "postgres", b.base, asks(clients, give)},
		{"get pgx", "pgx", b.base, replayReads(1, getOne)},
		{"create raw", "pgx", b.base, replayCreates},
	}
	for i := range cells {
		cells[i].name = at("postgres "+cells[i].name, b.base)
	}
	return cells
}

// amidCreates is a task while our server of the middle size creates as fast as it can. The same on the ceiling shows how much of the
// difference comes from sharing the processors.
func (b *bench) amidCreates(of func(*place) task) func(*place) task {
	return func(p *place) task {
		t, creates := of(p), asks(clients-2, create)(b.place("write", b.base))
		return task{check: func() { t.check(); creates.check() }, run: func(d timing) result {
			ended := make(chan result)
			go func() { ended <- creates.run(timing{measured: d.warm + d.measured + time.Second/4}) }()
			r := t.run(d)
			r.err = errors.Join(r.err, (<-ended).err)
			return r
		}}
	}
}

// place opens a place when the first cell needs it.
func (b *bench) place(kind string, s size) *place {
	name := at(kind, s)
	if b.places[name] != nil {
		return b.places[name]
	}
	p := &place{data: b.dataset(s)}
	switch kind {
	case "ours": // which only reads
		p.server = b.serve(p.data)
	case "ceiling":
		b.startCeiling(p, s)
	case "pocketbase":
		b.servePocketbase(p)
	case "raw reads": // of what no one changes: a statement may ask for what was there when it was recorded
		p.raw = b.openRaw(p.data, p.data, "", "")
	case "raw": // records in the copy of our server, and replays in its own
		p.data = b.copy(p.data, name)
		p.raw = b.openRaw(b.place("write", s).data, p.data, "", "")
	default: // one that writes, on a copy of its own
		p.data = b.copy(p.data, name)
		p.server = b.serve(p.data)
	}
	b.places[name] = p
	return p
}

// startCeiling starts the bare server, which answers what our server has just answered.
func (b *bench) startCeiling(p *place, s size) {
	a, ours := p.data.Accounts[0], b.place("ours", s).address
	contact, list := request(nil, "GET", contactPath(a.id(0)), a.Key, nil), request(nil, "GET", "/v1/contacts", a.Key, nil)
	p.contact, p.list = must(once(ours, contact)), must(once(ours, list))
	address, files := freeAddress(), []string{filepath.Join(b.tmp, "contact"), filepath.Join(b.tmp, "list")}
	check(os.WriteFile(files[0], p.contact, 0o600))
	check(os.WriteFile(files[1], p.list, 0o600))
	p.server = b.start(address, list, must(os.Executable()), "ceiling", address, a.Key, files[0], files[1])
}

// asking is a request, and what its answer must be.
type asking struct {
	method, path, key string
	body              []byte
	right             func(answer []byte) bool
}

func (q asking) wire(dst []byte) []byte { return request(dst, q.method, q.path, q.key, q.body) }

// checked fails where the answer is wrong.
func (q asking) checked(p *place) {
	if got := must(once(p.address, q.wire(nil))); !q.right(got) {
		fail("%s %s answers %.300s", q.method, q.path, got)
	}
}

// asks sends requests of one kind on so many connections, each with a number that no other has. The answer to one of them is looked at before.
func asks(connections int, next func(p *place, r *rand.Rand, n int64) asking) func(*place) task {
	return func(p *place) task {
		run := func(t timing) (r result) {
			all, wires := make([]*client, connections), make([][]byte, connections)
			for i := range all {
				all[i] = must(dial(p.address))
				defer all[i].close()
			}
			r = measure(t, connections, p.cpu, func(i int, dice *rand.Rand) {
				wires[i] = next(p, dice, serial.Add(1)).wire(wires[i][:0])
				must(all[i].ask(wires[i], nil))
			})
			r.rss = memory(p.pid, "VmRSS")
			return r
		}
		return task{check: func() { next(p, newDice(), serial.Add(1)).checked(p) }, run: func(t timing) (r result) {
			if err := try(func() { r = run(t) }); err != nil {
				return result{err: err}
			}
			return r
		}}
	}
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
func ceilingGet(p *place, _ *rand.Rand, _ int64) asking {
	a := p.data.Accounts[0]
	return asking{"GET", contactPath(a.id(0)), a.Key, nil, is(p.contact)}
}

func ceilingList(p *place, _ *rand.Rand, _ int64) asking {
	return asking{"GET", "/v1/contacts", p.data.Accounts[0].Key, nil, is(p.list)}
}

func contactPath(id int64) string { return fmt.Sprintf("/v1/contacts/%d", id) }

// getAnyone asks for contacts uniformly.
func getAnyone(p *place, r *rand.Rand, _ int64) asking {
	a, id := p.data.anyone(r)
	return asking{"GET", contactPath(id), a.Key, nil, func(answer []byte) bool { return p.data.holds(a, id, answer) }}
}

// listPage asks for the first page of a list, or for its last full one.
func listPage(l listing, last bool) func(*place) task {
	return func(p *place) task {
		a, path, number := p.data.Accounts[0], strings.TrimSuffix(l.path, "?"), int64(1)
		if last {
			number = p.data.total(a, l) / 20
			path = l.page(number)
		}
		return asks(l.connections, func(p *place, _ *rand.Rand, _ int64) asking {
			return asking{"GET", path, a.Key, nil, func(answer []byte) bool { return p.data.isPage(answer, a, l, number) }}
		})(p)
	}
}

// listAnyPage asks for random pages of random accounts; one contact in 16 is archived.
func listAnyPage(p *place, r *rand.Rand, _ int64) asking {
	a, number := pick(r, p.data.Accounts), int64(1+r.IntN(p.data.Contacts*15/16/20))
	return asking{"GET", contactList.page(number), a.Key, nil, func(answer []byte) bool { return p.data.isPage(answer, a, contactList, number) }}
}

// searchRare searches for a name that one contact has, searchCommon for one of 24 first names.
func searchRare(p *place, r *rand.Rand, _ int64) asking {
	n := p.data.active(r)
	for !rare(n) {
		n = p.data.active(r)
	}
	a, id := p.data.contact(n)
	return asking{"GET", "/v1/contacts?q=" + rareName(n), a.Key, nil, has(fmt.Sprintf(`{"data":[{"id":%d,`, id), `"total":1}`)}
}

func searchCommon(p *place, r *rand.Rand, _ int64) asking {
	a, name := pick(r, p.data.Accounts), pick(r, []string{"Grace", "Priya", "Fatima", "Hannah"}) // no other word begins so
	l := filter("q="+name, inBody("first_name", name), "id")
	return asking{"GET", l.path, a.Key, nil, func(answer []byte) bool { return p.data.isPage(answer, a, l, 1) }}
}

// filter is a list of contacts with conditions, asked for by one client.
func filter(query, where, order string) listing {
	return listing{"/v1/contacts?" + query, "contact", "archived = 0 AND " + where, order, 1}
}

// filters are some that find many contacts, alone and two together, and orders of all contacts.
var filters = []listing{
	filter("city=Boston", inBody("city", "Boston"), "id"),
	filter("city=Austin&tag=vip", inBody("city", "Austin")+` AND instr(body, '"vip"') > 0`, "id"),
	filter("first_name=Grace&zip=021", inBody("first_name", "Grace")+` AND instr(body, '"zipcode":"021') > 0`, "id"),
	filter("q=grace&tag_none=vip", inBody("first_name", "Grace")+` AND instr(body, '"vip"') = 0`, "id"),
	filter("gave_after=2025-06-01&city=Boston", inBody("city", "Boston")+` AND id IN (SELECT contact_id FROM gift WHERE net > 0 AND given_at >= unixepoch('2025-06-01'))`, "id"),
	filter("total_contributions_min=500&sort=-total_contributions", "given >= 50000", "given DESC, id DESC"), // in cents
	filter("sort=-last_gift", "true", "last_gift DESC, id DESC"),
	filter("sort=last_name&tag=volunteer", `instr(body, '"volunteer"') > 0`, "sort_name, id"),
}

func inBody(field, value string) string {
	return fmt.Sprintf(`instr(body, '"%s":"%s"') > 0`, field, value)
}

// change gives random contacts another title.
func change(p *place, r *rand.Rand, n int64) asking {
	a, id := p.data.anyone(r)
	title := fmt.Sprintf(`"title":"Changed %d"`, n)
	return asking{"PATCH", contactPath(id), a.Key, []byte("{" + title + "}"), has(fmt.Sprintf(`{"id":%d,`, id), title)}
}

// create makes people who are not there yet. An answer is compared with what was sent, and with what is there after it.
func create(p *place, r *rand.Rand, n int64) asking {
	a, body := pick(r, p.data.Accounts), personBody(int(n), newcomer)
	return asking{"POST", "/v1/contacts", a.Key, body, func(answer []byte) bool {
		var sent, made map[string]any
		check(errors.Join(json.Unmarshal(body, &sent), json.Unmarshal(answer, &made)))
		asking{"GET", contactPath(int64(made["id"].(float64))), a.Key, nil, is(answer)}.checked(p)
		return made["linkedin_url"] == sent["linkedin_url"] && len(made["emails"].([]any)) == 2 && len(made["tags"].([]any)) == 3
	}}
}

// give records gifts of random contacts.
func give(p *place, r *rand.Rand, n int64) asking {
	a, id := p.data.anyone(r)
	body := fmt.Appendf(nil, `{"contact_id":%d,"campaign_id":%d,"amount":%d.25,"method":"card","fee":0.55,"transacted_at":"%s"}`,
		id, pick(r, p.data.Campaigns), 1+n%500, time.Now().UTC().Format(time.RFC3339))
	return asking{"POST", "/v1/transactions", a.Key, body, func(answer []byte) bool {
		var made struct{ ID string }
		check(json.Unmarshal(answer, &made))
		asking{"GET", "/v1/transactions/" + url.PathEscape(made.ID), a.Key, nil, is(answer)}.checked(p)
		return has(fmt.Sprintf(`"contact_id":%d,`, id), fmt.Sprintf(`"amount":%d.25,`, 1+n%500))(answer)
	}}
}
