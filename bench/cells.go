package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// cell is one variant: the work, the place where it is done, and by how many connections.
type cell struct {
	parts       string // of -only, any of which wants it
	name        string
	at          string // the place
	connections int    // 0 for a loop
	task        func(*place) task
	amid        bool // while another server creates as fast as it can
}

// task is requests, or a loop that makes none, with the question that comes before it is timed: is the answer right?
type task struct {
	work  work
	loop  func(timing) result
	check func() // fails where an answer is wrong
}

// place is where work is done.
type place struct {
	*server
	data     *dataset
	loops    *loops
	visitors []visitor
	peer     *pocketbase
	contact  []byte // what the ceiling answers
	list     []byte
	remote   bool // the data is not in a file that can be looked into
}

// The names of loops that goals are compared with: in transactions about as large as those of 64 clients.
const (
	rawIn32 = "create raw, 32 in a transaction"
	pgxIn32 = "postgres create pgx, 32 in a transaction"
)

// requestCells are measured on SQLite, against the ceiling, raw and, where asked for, a peer.
var requestCells = []cell{
	{"get memory allocations", "get ceiling", "ceiling", 64, ceilingGet, false},
	{"get memory allocations", "get", "ours", 64, getAnyone, false},
	{"get memory allocations", "bare", "ceiling", 64, ceilingBare, false},
	{"get", "get", "ours", 16, getAnyone, false},
	{"get", "get", "ours", 2, getAnyone, false},
	{"get", "find by email", "ours", 64, findByEmail, false},
	{"get", "get ceiling", "ceiling", 16, ceilingGet, false},
	{"get", "get ceiling", "ceiling", 2, ceilingGet, false},
	{"get", "get raw", "raw", 0, readOne, false},
	{"list", "list ceiling", "ceiling", 64, ceilingList, false},
	{"list", "list", "ours", 64, listFirst, false},
	{"list", "list", "ours", 2, listFirst, false},
	{"list", "list raw", "raw", 0, readList, false},
	{"pages", "page 1 of all", "ours", 64, listFirstOfAll, false},
	{"pages", "last page of all", "ours", 64, listLastOfAll, false},
	{"pages", "any page", "ours", 64, listAnyPage, false},
	{"pages", "any page of a tag", "ours", 64, listTagged, false},
	{"create peers memory", "create", "create", 64, create, false},
	{"create peers memory", "create", "create", 16, create, false},
	{"create peers memory", "create", "create", 2, create, false},
	{"create", "create with duplicates", "duplicates", 64, createAgain, false},
	{"create peers memory", "create ceiling", "ceiling", 64, ceilingCreate, false},
	{"create peers memory", "create raw", "raw copy", 0, insert(100), false},
	{"create peers memory", rawIn32, "raw copy", 0, insert(32), false},
	{"create peers memory", "create raw, one per transaction", "raw copy", 0, insert(1), false},
	{"beside", "get idle", "beside", 2, getAnyone, false},
	{"beside", "get idle", "beside", 2, getAnyone, true},
	{"beside", "get ceiling idle", "ceiling", 2, ceilingGet, false},
	{"beside", "get ceiling idle", "ceiling", 2, ceilingGet, true},
	{"peers", "pocketbase get", "pocketbase", 64, pocketbaseGet, false},
	{"peers", "pocketbase list", "pocketbase", 64, pocketbaseList, false},
	{"peers", "pocketbase create", "pocketbase", 64, pocketbaseCreate, false},
}

// postgresCells work on one database, so that it grows for all of them alike.
var postgresCells = []cell{
	{"postgres", "postgres get", "postgres", 64, getAnyone, false},
	{"postgres", "postgres get pgx", "pgx", 0, readOne, false},
	{"postgres", "postgres list", "postgres", 64, listFirst, false},
	{"postgres", "postgres page 1 of all", "postgres", 64, listFirstOfAll, false},
	{"postgres", "postgres last page of all", "postgres", 64, listLastOfAll, false},
	{"postgres", "postgres create", "postgres", 64, create, false},
	{"postgres", "postgres create pgx", "pgx", 0, insert(100), false},
	{"postgres", pgxIn32, "pgx", 0, insert(32), false},
}

// growthCells are works whose price must not grow with the data: a line for each in the goals, the tables and the picture.
var growthCells = append([]cell{
	{"growth", "get", "", 64, getAnyone, false},
	{"growth", "list, any page", "", 64, listAnyPage, false},
	{"growth", "create", "", 64, create, false},
	{"growth", "change", "", 64, patch, false},
	{"growth", "change of tags", "", 64, retag, false},
}, searchCells()...)

// giftReads are pages whose price must not grow with the gifts. Nor must that of the first of giftWrites, which is compared with the other.
var (
	giftReads = []cell{
		look("home page", "", `SELECT '$' || printf('%,d', sum(net) / 100) FROM gift WHERE account_id = ?1 AND given_at >= unixepoch('now', 'start of year') AND ?2 > 0`, pageOne),
		look("contact's page", "/contacts/{}", `SELECT code FROM gift WHERE account_id = ?1 AND contact_id = ?2`, func(d *dataset, r *rand.Rand) int64 { _, id := d.anyone(r); return id }),
		look("campaigns", "/v1/campaigns", `SELECT '"raised":' || rtrim(rtrim(printf('%.2f', sum(net) / 100.0), '0'), '.') || ',"donors":' || count(DISTINCT contact_id)
			FROM gift WHERE account_id = ?1 AND campaign_id = (SELECT min(id) FROM campaign) AND net > 0 AND ?2 > 0`, pageOne),
		look("gifts, page 1", "/gifts?page={}", latestGifts, pageOne),
		look("gifts, any page", "/gifts?page={}", latestGifts, func(d *dataset, r *rand.Rand) int64 { return 1 + r.Int64N(int64(d.Gifts/50)) }),
		look("gifts, last page", "/gifts?page={}", latestGifts, func(d *dataset, _ *rand.Rand) int64 { return int64(d.Gifts / 50) }),
		look("transactions, page 1", "/v1/transactions?page={}", oldestGifts, pageOne),
		look("transactions, any page", "/v1/transactions?page={}", oldestGifts, func(d *dataset, r *rand.Rand) int64 { return 1 + r.Int64N(int64(d.Gifts/20)) }),
		look("transactions, last page", "/v1/transactions?page={}", oldestGifts, func(d *dataset, _ *rand.Rand) int64 { return int64(d.Gifts / 20) }),
	}
	giftWrites = []cell{{"gifts", "record a gift", "", 64, give, false}, {"gifts", "create a contact", "", 64, create, false}}
)

const latestGifts = `SELECT code FROM gift WHERE account_id = ?1 ORDER BY given_at DESC, id DESC LIMIT 50 OFFSET (?2 - 1) * 50`
const oldestGifts = `SELECT code FROM gift WHERE account_id = ?1 ORDER BY id LIMIT 20 OFFSET (?2 - 1) * 20`

func pageOne(*dataset, *rand.Rand) int64 { return 1 }

// rawGrowth is what a create costs the database alone: a row of the table, not a goal.
var rawGrowth = cell{"growth", rawIn32, "", 0, insert(32), false}

// variant is a cell at its place.
func (c cell) variant(p *place) variant {
	t := c.task(p)
	if t.loop != nil {
		return variant{c.name, t.check, t.loop}
	}
	l := load{addresses: []string{p.address}, work: t.work, connections: c.connections}
	return variant{fmt.Sprintf("%s, %d", c.name, c.connections), t.check, func(t timing) result { return l.run(t, p.server) }}
}

// variants are cells at one place, under names that tell it.
func (p *place) variants(cells []cell, name func(cell) string) (list []variant) {
	for _, c := range cells {
		v := c.variant(p)
		v.name = name(c)
		list = append(list, v)
	}
	return list
}

// variants are those cells that were asked for.
func (b *bench) variants(cells []cell) (list []variant) {
	for _, c := range cells {
		if !b.wants(strings.Fields(c.parts)...) {
			continue
		}
		v := c.variant(b.place(c.at))
		if c.amid {
			v = b.amidCreates(v)
		}
		list = append(list, v)
	}
	return list
}

// amidCreates is a variant that runs while the server of the place "beside" creates as fast as it can. The same on the ceiling shows
// how much of the difference comes from sharing the processors.
func (b *bench) amidCreates(v variant) variant {
	p := b.places["beside"]
	writing := create(p)
	creates := load{addresses: []string{p.address}, work: writing.work, connections: 62}
	return variant{
		name:  v.name + ", amid creates",
		check: func() { v.check(); writing.check() },
		run:   func(t timing) result { return creates.beside(func() result { return v.run(t) }) },
	}
}

// measureRequests measures our server on SQLite and what it is compared with.
func (b *bench) measureRequests() {
	progress("  comparing 200 random pages with OFFSET")
	b.main.check(b.place("ours").address, 200)
	b.repeat(b.variants(requestCells))
	peak := 0.0
	for _, s := range b.running {
		if filepath.Base(s.cmd.Path) == filepath.Base(b.program) {
			peak = max(peak, s.peak())
		}
	}
	b.add("peak", peak)
}

// place opens a place when the first cell needs it.
func (b *bench) place(name string) *place {
	if b.places == nil {
		b.places = make(map[string]*place)
	}
	p := b.places[name]
	if p != nil {
		return p
	}
	p = &place{data: b.main}
	switch name {
	case "ours":
		p.server = b.serve(p.data, nil)
	case "ceiling":
		b.startCeiling(p)
	case "raw copy":
		p.data = b.copy(b.main, "raw")
		fallthrough
	case "raw":
		b.openRaw(p)
	case "pocketbase":
		b.servePocketbase(p)
	default: // one that writes, on a copy of its own
		p.data = b.copy(b.main, name)
		p.server = b.serve(p.data, nil)
	}
	b.places[name] = p
	return p
}

// startCeiling starts the bare server, which answers what our server has just answered.
func (b *bench) startCeiling(p *place) {
	a, ours := p.data.Accounts[0], b.place("ours").address
	p.contact, p.list = once(ours, "GET", contactPath(firstActive(a, 1)[0]), a.Key, nil), once(ours, "GET", "/v1/contacts", a.Key, nil)
	address, files := freeAddress(), []string{filepath.Join(b.tmp, "contact"), filepath.Join(b.tmp, "list")}
	check(os.WriteFile(files[0], p.contact, 0o600))
	check(os.WriteFile(files[1], p.list, 0o600))
	p.server = b.start(address, address, request(nil, "GET", "/bare", "", nil), must(os.Executable()), "ceiling", address, a.Key, files[0], files[1])
}

// The ceiling is asked for one contact and one list, and answers them to all that clients send to create a contact.
func ceilingGet(p *place) task {
	a := p.data.Accounts[0]
	return p.same(contactPath(firstActive(a, 1)[0]), a.Key, is(p.contact))
}
func ceilingList(p *place) task { return p.same("/v1/contacts", p.data.Accounts[0].Key, is(p.list)) }
func ceilingBare(p *place) task { return p.same("/bare", "", is(p.contact)) }
func ceilingCreate(p *place) task {
	return p.asks(func(_ *rand.Rand, n int64) asking {
		return asking{"POST", "/v1/contacts", p.data.Accounts[0].Key, personBody(int(n), newcomer), is(p.contact), ""}
	})
}
