package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
)

// loops do what the program's store does, in this process and with nothing around it: the same driver, schema, statements and
// durability. They are what the database allows.
type loops struct {
	data    *dataset
	cpu     func() time.Duration
	readers []func(a account, id int64) []byte // each reads one contact, on a connection of its own
	list    func(a account, from, to int64) []byte
	write   func([]person) (id int64) // in one transaction; the id is that of the last one
	single  bool                      // a transaction is about one account
}

// openRaw opens the loops over SQLite.
func (b *bench) openRaw(p *place) {
	db := openDatabase(p.data.file(), durable)
	b.closing = append(b.closing, db.close)
	var dst []byte
	read := func(a account, id int64) []byte {
		dst = db.appendContacts(dst[:0], sqlGet, a.Number, id)
		return dst
	}
	p.loops = &loops{
		data: p.data, cpu: ownCPU, readers: []func(account, int64) []byte{read},
		list: func(a account, from, to int64) []byte {
			dst = db.appendContacts(dst[:0], sqlRange, a.Number, from, to)
			return dst
		},
		write: func(people []person) int64 { return db.write(people, true) },
	}
}

// readOne reads random contacts, on all connections at once.
func readOne(p *place, _ int) task {
	l := p.loops
	right := func() {
		a, id := l.data.anyone(l.data.dice())
		compare(l.readers[0](a, id), l.data.contact(a, id))
	}
	return task{check: right, run: l.measured(len(l.readers), func(reader int, dice *rand.Rand, _ *spent) int {
		l.readers[reader](l.data.anyone(dice))
		return 1
	})}
}

// readList reads 21 contacts in a range, about 20 of them active, as they are on any page.
func readList(p *place, _ int) task {
	l := p.loops
	return task{run: l.measured(1, func(_ int, dice *rand.Rand, _ *spent) int {
		a := l.data.byWeight(dice)
		from := dice.IntN(a.Contacts - 20)
		l.list(a, a.id(from), a.id(from+20))
		return 1
	}), check: func() {
		a := l.data.Accounts[0]
		compare(l.list(a, a.id(0), a.id(20)), l.data.entries(a, contactList, 1)) // one of the 21 is archived
	}}
}

// compare fails where what was read is not right.
func compare(got, want []byte) {
	if !bytes.Equal(got, want) {
		fail("the loop reads %.300s", got)
	}
}

// insert creates contacts, so many in a transaction. The people themselves are made outside of what is counted, as a server makes
// them before it queues.
func insert(group int) func(*place, int) task {
	return func(p *place, _ int) task {
		l := p.loops
		right := func() {
			people := l.newcomers(1, l.data.dice())
			id := l.write(people)
			compare(l.readers[0](account{Number: people[0].account}, id), crm.AppendContact(nil, id, people[0].body))
		}
		return task{check: right, run: l.measured(1, func(_ int, dice *rand.Rand, making *spent) int {
			var people []person
			making.add(func() { people = l.newcomers(group, dice) })
			l.write(people)
			return group
		})}
	}
}

// newcomers are people who are not there yet, in accounts as clients would choose them.
func (l *loops) newcomers(n int, dice *rand.Rand) (people []person) {
	a := l.data.byWeight(dice)
	for range n {
		if !l.single {
			a = l.data.byWeight(dice)
		}
		people = append(people, makePerson(a.Number, int(serial.Add(1)), "raw", time.Now()))
	}
	return people
}

// measured warms up and measures a loop, whose steps tell how many requests they stood for, and what does not count.
func (l *loops) measured(workers int, step func(worker int, dice *rand.Rand, other *spent) int) func(timing) result {
	run := func(d time.Duration) (n int, other spent, err error) {
		var count atomic.Int64
		over := after(d)
		err = inParallel(workers, func(i int) {
			for dice := newDice(); !over(); {
				count.Add(int64(step(i, dice, &other)))
			}
		})
		return int(count.Load()), other, err
	}
	return func(t timing) result {
		_, _, warm := run(t.warm)
		cpu, start := l.cpu(), time.Now()
		n, other, err := run(t.measured)
		took := time.Since(start) - other.elapsed
		return result{requests: n, seconds: took.Seconds(), cpu: perRequest(l.cpu()-cpu-other.cpu, n), err: errors.Join(warm, err)}
	}
}
