package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"donorbook/internal/crm"
)

// loops do what the program's store does, in this process and with nothing around it: the same driver, schema, statements and
// durability. They are what the database allows.
type loops struct {
	data    *dataset
	cpu     func() time.Duration
	readers []func(a account, id int64) // each reads one contact, on a connection of its own
	list    func(a account, from, to int64)
	found   func() []byte   // what was read last by the first reader
	write   func([]joining) // in one transaction
	holds   func(joining)   // fails where the database does not have the last contact of an account
	single  bool            // a transaction is about one account
}

// openRaw opens the loops over SQLite.
func (b *bench) openRaw(p *place) {
	db := openDatabase(p.data.file(), durable)
	b.closing = append(b.closing, db.close)
	p.loops = rawLoops(db, p.data)
}

func rawLoops(db *database, d *dataset) *loops {
	var dst []byte
	get := func(a account, id int64) { dst = db.appendContacts(dst[:0], sqlGet, a.Number, id) }
	return &loops{
		data: d, cpu: ownCPU, readers: []func(account, int64){get}, found: func() []byte { return dst },
		list: func(a account, from, to int64) {
			dst = append(db.appendContacts(append(dst[:0], '['), sqlRange, a.Number, from, to), ']')
		},
		write: func(people []joining) { db.write(people, true) },
		holds: func(p joining) {
			seq := db.number(`SELECT contact_seq FROM account_tally WHERE account_id = ?`, p.account)
			db.holds(account{Number: p.account}, crm.MakeID(p.account, seq), p.person)
		},
	}
}

// readOne reads random contacts, on all connections at once.
func readOne(p *place) task {
	l := p.loops
	right := func() {
		a, id := l.data.anyone(l.data.dice())
		l.readers[0](a, id)
		l.compare(l.data.contact(a, id))
	}
	return task{check: right, loop: l.measured(func(d time.Duration) (total int, _ spent) {
		counts, errs := make([]int, len(l.readers)), make([]error, len(l.readers))
		over := after(d)
		var wg sync.WaitGroup
		for i, read := range l.readers {
			wg.Go(func() {
				errs[i] = try(func() {
					for dice := newDice(); !over(); counts[i]++ {
						read(l.data.anyone(dice))
					}
				})
			})
		}
		wg.Wait()
		check(errors.Join(errs...))
		for _, n := range counts {
			total += n
		}
		return total, spent{}
	})}
}

// readList reads the first page of the first account: 20 active contacts in a range.
func readList(p *place) task {
	l, a := p.loops, p.data.Accounts[0]
	first := firstActive(a, 20)
	right := func() {
		l.list(a, first[0], first[len(first)-1])
		l.compare(l.data.page(a, "active", 1))
	}
	return task{check: right, loop: l.measured(func(d time.Duration) (n int, _ spent) {
		for over := after(d); !over(); n++ {
			l.list(a, first[0], first[len(first)-1])
		}
		return n, spent{}
	})}
}

// compare fails where what was read last is not right.
func (l *loops) compare(want []byte) {
	if !bytes.Equal(l.found(), want) {
		fail("the loop reads %.300s", l.found())
	}
}

// insert creates contacts, so many in a transaction. The people themselves are made outside of what is counted, as a server makes
// them before it queues.
func insert(group int) func(*place) task {
	return func(p *place) task {
		l := p.loops
		right := func() {
			people := l.newcomers(1, l.data.dice())
			l.write(people)
			l.holds(people[0])
		}
		return task{check: right, loop: l.measured(func(d time.Duration) (n int, making spent) {
			dice := newDice()
			for over := after(d); !over(); n += group {
				var people []joining
				making.add(func() { people = l.newcomers(group, dice) })
				l.write(people)
			}
			return n, making
		})}
	}
}

// newcomers are people who are not there yet, in accounts as clients would choose them.
func (l *loops) newcomers(n int, dice *rand.Rand) (people []joining) {
	a := l.data.byWeight(dice)
	for range n {
		if !l.single {
			a = l.data.byWeight(dice)
		}
		people = append(people, join(a, makePerson(int(serial.Add(1)), "raw", time.Now())))
	}
	return people
}

// spent is time of processors, and time that went by.
type spent struct{ cpu, elapsed time.Duration }

// add adds what a function takes in this process.
func (s *spent) add(fn func()) {
	cpu, start := ownCPU(), time.Now()
	fn()
	s.cpu, s.elapsed = s.cpu+ownCPU()-cpu, s.elapsed+time.Since(start)
}

// measured warms up and measures a loop, which tells how many requests it stood for, and what does not count.
func (l *loops) measured(run func(time.Duration) (n int, other spent)) func(timing) result {
	return func(t timing) (r result) {
		r.err = try(func() {
			run(t.warm)
			cpu, start := l.cpu(), time.Now()
			n, other := run(t.measured)
			took := time.Since(start)
			r = result{requests: n, seconds: (took - other.elapsed).Seconds(), cpu: perRequest(l.cpu()-cpu-other.cpu, n)}
		})
		return r
	}
}
