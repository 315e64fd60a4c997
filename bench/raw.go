package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// raw does what the program's store does, in a loop in this process with nothing around it: the same driver, schema,
// statements and durability. It is what the database allows.
type raw struct {
	db        *database
	data      *dataset
	generator generator
	dst       []byte
}

const (
	sqlRawGet   = `SELECT body FROM contact WHERE account_id = ? AND id = ? AND archived = 0`
	sqlRawRange = `SELECT id, body FROM contact WHERE account_id = ? AND id >= ? AND id <= ? AND archived >= 0 AND archived <= 0 ORDER BY id`
	sqlRawMatch = `SELECT id FROM contact_index WHERE account_id = ? AND key = ? ORDER BY id`
	sqlRawTally = `SELECT revision, contact_seq, contact_active FROM account_tally WHERE account_id = ?`
)

func openRaw(d *dataset, g generator) (*raw, error) {
	db, err := openDatabase(d.file(), durable)
	if err != nil {
		return nil, err
	}
	return &raw{db: db, data: d, generator: g}, nil
}

// loop repeats fn and counts what this process uses. fn tells how many requests it stands for.
func loop(t timing, fn func(r *rand.Rand) (int, error)) result {
	dice := rand.New(rand.NewPCG(uint64(serial.Add(1)), 2))
	for end := time.Now().Add(t.warm); time.Now().Before(end); {
		if _, err := fn(dice); err != nil {
			return result{err: err}
		}
	}
	r := result{}
	cpu, start := ownCPU(), time.Now()
	for time.Since(start) < t.measured {
		n, err := fn(dice)
		if err != nil {
			return result{err: err}
		}
		r.requests += n
	}
	r.seconds = time.Since(start).Seconds()
	r.cpu = perRequest(ownCPU()-cpu, r.requests)
	return r
}

// get reads random contacts.
func (w *raw) get(t timing) result {
	return loop(t, func(r *rand.Rand) (int, error) {
		for range 100 {
			if err := w.read(w.data.anyone(r)); err != nil {
				return 0, err
			}
		}
		return 100, nil
	})
}

// read makes the answer for one contact.
func (w *raw) read(a account, id int64) error {
	return w.db.each(func(row *sqlite3.Stmt) {
		w.dst = crm.AppendContact(w.dst[:0], id, row.ColumnRawBlob(0))
	}, sqlRawGet, a.Number, id)
}

func (w *raw) checkGet() error {
	a, id := w.data.anyone(w.data.dice())
	want, err := w.data.contact(a, id)
	if err == nil {
		err = w.read(a, id)
	}
	return w.compare(want, err)
}

// compare tells whether the last answer is the right one.
func (w *raw) compare(want []byte, err error) error {
	if err == nil && !bytes.Equal(w.dst, want) {
		err = fmt.Errorf("raw answers %.300s", w.dst)
	}
	return err
}

// list reads the first page of the first account: 20 active contacts in a range.
func (w *raw) list(t timing) result {
	a := w.data.Accounts[0]
	first := firstActive(a, 20)
	return loop(t, func(*rand.Rand) (int, error) { return 1, w.readRange(a, first[0], first[len(first)-1]) })
}

func (w *raw) readRange(a account, from, to int64) error {
	w.dst = append(w.dst[:0], '[')
	err := w.db.each(func(row *sqlite3.Stmt) {
		if len(w.dst) > 1 {
			w.dst = append(w.dst, ',')
		}
		w.dst = crm.AppendContact(w.dst, row.ColumnInt64(0), row.ColumnRawBlob(1))
	}, sqlRawRange, a.Number, from, to)
	w.dst = append(w.dst, ']')
	return err
}

func (w *raw) checkList() error {
	a := w.data.Accounts[0]
	first := firstActive(a, 20)
	want, err := w.data.page(a, "active", 1)
	if err == nil {
		err = w.readRange(a, first[0], first[len(first)-1])
	}
	return w.compare(want, err)
}

// checkCreate creates somebody, and looks for everything that belongs to them.
func (w *raw) checkCreate() error {
	people, err := w.join(1, w.data.dice())
	if err == nil {
		err = w.commit(people)
	}
	if err != nil {
		return err
	}
	a := people[0].account
	seq, err := w.db.number(`SELECT contact_seq FROM account_tally WHERE account_id = ?`, a.Number)
	if err != nil {
		return err
	}
	return w.db.holds(a, crm.MakeID(a.Number, seq), people[0].person)
}

// firstActive are the ids of the first active contacts of an account.
func firstActive(a account, n int) (ids []int64) {
	for place := 0; len(ids) < n && place < a.Contacts; place++ {
		if !archived(a.First + place) {
			ids = append(ids, a.id(place))
		}
	}
	return ids
}

// create makes contacts, so many in a transaction. The people themselves are made outside of what is counted, as a server
// makes them before it queues.
func (w *raw) create(group int) func(timing) result {
	return warmedUp(func(d time.Duration, dice *rand.Rand) result { return w.createFor(d, group, dice) })
}

// warmedUp runs something for a while before it is measured.
func warmedUp(run func(time.Duration, *rand.Rand) result) func(timing) result {
	return func(t timing) result {
		dice := rand.New(rand.NewPCG(uint64(serial.Add(1)), 3))
		if r := run(t.warm, dice); r.err != nil {
			return r
		}
		return run(t.measured, dice)
	}
}

func (w *raw) createFor(d time.Duration, group int, dice *rand.Rand) (r result) {
	var cpu time.Duration
	for r.seconds < d.Seconds() {
		people, err := w.join(max(group, 100/group*group), dice)
		if err != nil {
			return result{err: err}
		}
		made, used, start := len(people), ownCPU(), time.Now()
		for len(people) > 0 {
			if err := w.commit(people[:min(group, len(people))]); err != nil {
				return result{err: err}
			}
			people = people[min(group, len(people)):]
		}
		cpu += ownCPU() - used
		r.seconds += time.Since(start).Seconds()
		r.requests += made
	}
	r.cpu = perRequest(cpu, r.requests)
	return r
}

// joining is somebody who is to be created in an account.
type joining struct {
	account account
	person
	words string // what the search finds them by
}

// join makes new people, in accounts as clients would choose them: the more contacts one has, the likelier.
func (w *raw) join(n int, dice *rand.Rand) ([]joining, error) {
	people, err := newcomers(w.generator, n)
	joined := make([]joining, len(people))
	for i, p := range people {
		a := w.data.byWeight(dice)
		joined[i] = joining{a, p, p.contact.SearchDocument(a.Number)}
	}
	return joined, err
}

// newcomers are people that nobody has created yet.
func newcomers(g generator, n int) ([]person, error) {
	people := make([]person, n)
	for i := range people {
		var err error
		if people[i], err = g.person(int(serial.Add(1)), "raw", time.Now()); err != nil {
			return nil, err
		}
	}
	return people, nil
}

// tally is the row of an account, and how many more of its contacts have each tag.
type tally struct {
	revision, seq, active int64
	tags                  map[string]int64
}

// commit writes people in one transaction, with the look-ups that find duplicates.
func (w *raw) commit(people []joining) error {
	if err := w.db.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	tallies := make(map[int64]*tally)
	var err error
	for i := 0; i < len(people) && err == nil; i++ {
		err = w.insert(&people[i], tallies)
	}
	for number, t := range tallies {
		if err == nil {
			err = w.db.exec(sqlCount, t.revision, t.seq, t.active, number)
		}
		for name, n := range t.tags {
			if err == nil {
				err = w.db.count(number, name, n)
			}
		}
	}
	if err == nil {
		return w.db.exec(`COMMIT`)
	}
	_ = w.db.exec(`ROLLBACK`)
	return err
}

// insert writes somebody, and counts them.
func (w *raw) insert(p *joining, tallies map[int64]*tally) error {
	number := p.account.Number
	t := tallies[number]
	if t == nil {
		t = &tally{tags: make(map[string]int64)}
		tallies[number] = t
		err := w.db.each(func(row *sqlite3.Stmt) {
			t.revision, t.seq, t.active = row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2)
		}, sqlRawTally, number)
		if err != nil {
			return err
		}
	}
	for _, key := range p.matchKeys {
		if err := w.db.each(func(*sqlite3.Stmt) {}, sqlRawMatch, number, key); err != nil {
			return err
		}
	}
	t.revision, t.seq, t.active = t.revision+1, t.seq+1, t.active+1
	id := crm.MakeID(number, t.seq)
	if err := w.db.exec(sqlContact, number, id, t.revision, int64(0), strings.Join(p.contact.MatchKeys, "\n"), p.body, checksum(p.body)); err != nil {
		return err
	}
	for _, key := range p.contact.MatchKeys {
		if err := w.db.exec(sqlKey, number, key, id); err != nil {
			return err
		}
	}
	if err := w.db.exec(sqlWords, id, p.words); err != nil {
		return err
	}
	for _, name := range p.contact.Tags {
		t.tags[name]++
	}
	return nil
}
