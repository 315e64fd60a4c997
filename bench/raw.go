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
	a := w.data.Accounts[0]
	people, err := w.newcomers(1)
	if err == nil {
		err = w.commit(a, people)
	}
	if err != nil {
		return err
	}
	seq, err := w.db.number(`SELECT contact_seq FROM account_tally WHERE account_id = ?`, a.Number)
	if err != nil {
		return err
	}
	return w.db.holds(a, crm.MakeID(a.Number, seq), people[0])
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
	return func(t timing) result {
		dice := rand.New(rand.NewPCG(uint64(serial.Add(1)), 3))
		if r := w.createFor(t.warm, group, dice); r.err != nil {
			return r
		}
		return w.createFor(t.measured, group, dice)
	}
}

func (w *raw) createFor(d time.Duration, group int, dice *rand.Rand) (r result) {
	var cpu time.Duration
	for r.seconds < d.Seconds() {
		people, err := w.newcomers(100)
		if err != nil {
			return result{err: err}
		}
		used, start := ownCPU(), time.Now()
		for len(people) > 0 {
			if err := w.commit(w.data.byWeight(dice), people[:min(group, len(people))]); err != nil {
				return result{err: err}
			}
			people = people[min(group, len(people)):]
		}
		cpu += ownCPU() - used
		r.seconds += time.Since(start).Seconds()
		r.requests += 100
	}
	r.cpu = perRequest(cpu, r.requests)
	return r
}

func (w *raw) newcomers(n int) ([]person, error) {
	people := make([]person, n)
	for i := range people {
		var err error
		if people[i], err = w.generator.person(int(serial.Add(1)), "raw", time.Now()); err != nil {
			return nil, err
		}
	}
	return people, nil
}

// commit writes people in one transaction, with the look-ups that find duplicates.
func (w *raw) commit(a account, people []person) error {
	if err := w.db.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	var revision, seq, active int64
	err := w.db.each(func(row *sqlite3.Stmt) {
		revision, seq, active = row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2)
	}, sqlRawTally, a.Number)
	counts := make(map[string]int64)
	for i := 0; i < len(people) && err == nil; i++ {
		revision, seq, active = revision+1, seq+1, active+1
		err = w.insert(a, revision, seq, &people[i], counts)
	}
	if err == nil {
		err = w.db.exec(sqlCount, revision, seq, active, a.Number)
	}
	for name, n := range counts {
		if err == nil {
			err = w.db.count(a, name, n)
		}
	}
	if err == nil {
		return w.db.exec(`COMMIT`)
	}
	_ = w.db.exec(`ROLLBACK`)
	return err
}

func (w *raw) insert(a account, revision, seq int64, p *person, counts map[string]int64) error {
	for _, key := range p.matchKeys {
		if err := w.db.each(func(*sqlite3.Stmt) {}, sqlRawMatch, a.Number, key); err != nil {
			return err
		}
	}
	id := crm.MakeID(a.Number, seq)
	if err := w.db.exec(sqlContact, a.Number, id, revision, int64(0), strings.Join(p.contact.MatchKeys, "\n"), p.body); err != nil {
		return err
	}
	for _, key := range p.keys {
		if err := w.db.exec(sqlKey, a.Number, key, id); err != nil {
			return err
		}
	}
	for _, name := range p.contact.Tags {
		counts[name]++
	}
	return nil
}
