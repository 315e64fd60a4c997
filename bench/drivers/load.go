package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// database is a connection as the work needs it. Statements are prepared once and kept.
type database interface {
	exec(sql string, args ...any) error
	// each fills into, of *int64 and *[]byte, from every row and calls read. Bytes are valid until the next row.
	each(into []any, read func(), sql string, args ...any) error
	close() error
}

// open opens a file with the library that this program was built with.
var open func(path string) (database, error)

// The program's own statements; its $1 is what some libraries number in their own way.
const (
	sqlGet     = `SELECT body FROM contact WHERE account_id = ? AND id = ? AND archived = 0`
	sqlRange   = `SELECT id, body FROM contact WHERE account_id = ? AND id >= ? AND id <= ? AND archived >= 0 AND archived <= 0 ORDER BY id`
	sqlMatch   = `SELECT id FROM contact_index WHERE account_id = ? AND key = ? ORDER BY id`
	sqlTally   = `SELECT account_id, revision, contact_seq, contact_active FROM account_tally WHERE account_id >= ? ORDER BY account_id LIMIT 1`
	sqlContact = `INSERT INTO contact (account_id, id, revision, archived, match_keys, body) VALUES (?, ?, ?, 0, ?, ?)`
	sqlKey     = `INSERT INTO contact_index (account_id, key, id) VALUES (?, ?, ?)`
	sqlCount   = `UPDATE account_tally SET revision = ?, contact_seq = ?, contact_active = ? WHERE account_id = ?`
)

// pragmas are the program's, with a smaller cache.
var pragmas = []string{
	"PRAGMA busy_timeout = 10000", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
	"PRAGMA cache_size = -4000", "PRAGMA wal_autocheckpoint = 4000", "PRAGMA trusted_schema = OFF",
}

// load is the work on one file.
type load struct {
	db      database
	account int64
	filled  int64 // contacts that can be read
	seq     int64 // contacts that there are
	dice    *rand.Rand
	dst     []byte

	id, revision, active int64 // of the row that is read
	body                 []byte
	idInto, bodyInto     []any
	rowInto, tallyInto   []any
}

func openLoad(path string) (*load, error) {
	if open == nil {
		return nil, errors.New("this program was built without a library")
	}
	db, err := open(path)
	if err != nil {
		return nil, err
	}
	l := &load{db: db, dice: rand.New(rand.NewPCG(rand.Uint64(), 1))}
	l.idInto, l.bodyInto, l.rowInto = []any{&l.id}, []any{&l.body}, []any{&l.id, &l.body}
	l.tallyInto = []any{&l.account, &l.revision, &l.seq, &l.active}
	for _, pragma := range pragmas {
		if err := db.each(nil, func() {}, pragma); err != nil {
			return nil, fmt.Errorf("%s: %w", pragma, err)
		}
	}
	full := int64(-1)
	if err := db.each([]any{&full}, func() {}, "PRAGMA synchronous"); err != nil || full != 2 {
		return nil, fmt.Errorf("synchronous is %d and not FULL (%v)", full, err)
	}
	var mode []byte
	if err := db.each([]any{&mode}, func() { mode = bytes.Clone(mode) }, "PRAGMA journal_mode"); err != nil || string(mode) != "wal" {
		return nil, fmt.Errorf("the journal is %q and not wal (%v)", mode, err)
	}
	return l, l.readTally()
}

func (l *load) readTally() error { return l.db.each(l.tallyInto, func() {}, sqlTally, l.account) }

// doWork does one piece of work and prints what it took.
func doWork(path, work string, contacts int, d time.Duration) error {
	l, err := openLoad(path)
	if err != nil {
		return err
	}
	l.filled = int64(contacts)
	var r reply
	switch work {
	case "fill":
		for l.seq < l.filled && err == nil {
			err = l.commit(l.newcomers(1000))
		}
	case "get":
		r, err = measure(d, 500, func() {}, l.get)
	case "list":
		r, err = measure(d, 100, func() {}, l.list)
	case "create 100":
		r, err = l.create(d, 100)
	case "create 1":
		r, err = l.create(d, 1)
	default:
		err = fmt.Errorf("unknown work %q", work)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	return errors.Join(err, l.db.close())
}

// reply is what a piece of work took: CPU microseconds, and what an operation allocates on Go's heap.
type reply struct{ CPU, Bytes, Mallocs float64 }

// measure repeats op n times after each prepare, whose own time does not count, until d is over. A quarter of d before that
// warms up. What prepare allocates is counted: allocations are of interest where it has nothing to do.
func measure(d time.Duration, n int, prepare func(), op func() error) (r reply, err error) {
	var sum time.Duration
	var before, after runtime.MemStats
	count := 0
	for end := time.Now().Add(d / 4); ; {
		if time.Now().After(end) {
			if before.Mallocs > 0 {
				break
			}
			sum, count, end = 0, 0, time.Now().Add(d)
			runtime.ReadMemStats(&before)
		}
		prepare()
		start := cpu()
		for range n {
			if err := op(); err != nil {
				return r, err
			}
		}
		sum += cpu() - start
		count += n
	}
	runtime.ReadMemStats(&after)
	r.CPU = float64(sum.Nanoseconds()) / 1000 / float64(count)
	r.Bytes, r.Mallocs = float64(after.TotalAlloc-before.TotalAlloc)/float64(count), float64(after.Mallocs-before.Mallocs)/float64(count)
	return r, nil
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// create measures creates, so many a transaction. The people are made before, as the program makes them before it queues.
func (l *load) create(d time.Duration, group int) (reply, error) {
	var people []person
	r, err := measure(d, 100/group, func() { people = l.newcomers(100) }, func() error {
		now := people[:group]
		people = people[group:]
		return l.commit(now)
	})
	r.CPU /= float64(group)
	return r, err
}

// contactID is an id as the program would give it: the account's number before the contact's.
func (l *load) contactID(seq int64) int64 { return l.account*1_000_000_000 + seq }

func (l *load) get() error {
	l.dst = l.dst[:0]
	err := l.db.each(l.bodyInto, func() { l.dst = append(l.dst, l.body...) }, sqlGet, l.account, l.contactID(1+l.dice.Int64N(l.filled)))
	if err == nil && len(l.dst) < 1000 {
		err = errors.New("a contact was not found")
	}
	return err
}

func (l *load) list() error {
	n, first := 0, 1+l.dice.Int64N(l.filled-20)
	l.dst = l.dst[:0]
	err := l.db.each(l.rowInto, func() { l.dst = append(l.dst, l.body...); n++ }, sqlRange, l.account, l.contactID(first), l.contactID(first+19))
	if err == nil && n != 20 {
		err = fmt.Errorf("%d of 20 contacts", n)
	}
	return err
}

// person is a contact as the program would write it: about 1.3 KB, 12 keys, 3 of them to find duplicates by.
type person struct {
	body []byte
	keys []string
}

const matchKeys = 3

func newPerson(n int64) (p person) {
	words := []string{fmt.Sprintf("ana%d", n%24), fmt.Sprintf("okafor%d", n/24%21), "g", "blue", "heron", "books"}
	p.keys = []string{fmt.Sprintf("e:p%d@mail.example.org", n), fmt.Sprintf("e:p%d@work.example.com", n), fmt.Sprintf("p:+1%010d", 2_000_000_000+n)}
	for i := range words {
		p.keys = append(p.keys, "n:"+words[i]+" "+strings.Join(slices.Delete(slices.Clone(words), i, i+1), " "))
	}
	for i := range int64(3) {
		p.keys = append(p.keys, fmt.Sprintf("t:cause %d", (n+5*i)%36))
	}
	p.body = fmt.Appendf(nil, `,"first_name":%q,"last_name":%q,"company":"Blue Heron Books","emails":[{"type":"personal","value":"p%d@mail.example.org"}],"note":"`, words[0], words[1], n)
	for i := n; len(p.body) < 1290; i++ {
		p.body = fmt.Appendf(p.body, "%x ", uint64(i)*0x9E3779B97F4A7C15)
	}
	p.body = append(p.body, `"`...)
	return p
}

func (l *load) newcomers(n int) (people []person) {
	for i := range int64(n) {
		people = append(people, newPerson(l.seq+1+i))
	}
	return people
}

// commit writes people in one transaction, with the look-ups that find duplicates.
func (l *load) commit(people []person) error {
	if err := l.db.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := l.readTally()
	for i := 0; i < len(people) && err == nil; i++ {
		known := false
		for _, key := range people[i].keys[:matchKeys] {
			if err == nil {
				err = l.db.each(l.idInto, func() { known = true }, sqlMatch, l.account, key)
			}
		}
		if err == nil && known {
			err = errors.New("a newcomer is known")
		}
		if err == nil {
			err = l.insert(people[i])
		}
	}
	if err == nil {
		err = l.db.exec(sqlCount, l.revision, l.seq, l.active, l.account)
	}
	if err == nil {
		return l.db.exec("COMMIT")
	}
	return errors.Join(err, l.db.exec("ROLLBACK"))
}

func (l *load) insert(p person) error {
	l.revision, l.seq, l.active = l.revision+1, l.seq+1, l.active+1
	id := l.contactID(l.seq)
	if err := l.db.exec(sqlContact, l.account, id, l.revision, strings.Join(p.keys[:matchKeys], "\n"), p.body); err != nil {
		return err
	}
	for _, key := range p.keys {
		if err := l.db.exec(sqlKey, l.account, key, id); err != nil {
			return err
		}
	}
	return nil
}
