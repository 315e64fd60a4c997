package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"donorbook/internal/crm"
)

// loops do what the program's store does, in this process and with nothing around it: the same driver, schema, statements and
// durability. They are what the database allows.
type loops struct {
	data    *dataset
	people  generator
	cpu     func() time.Duration
	readers []func(a account, id int64) error // each reads one contact, on a connection of its own
	found   func() []byte                     // what the first reader has read last
	write   func([]joining) error             // in one transaction
	holds   func(joining) error               // tells whether the database has the last contact of an account
	single  bool                              // a transaction is about one account
	list    func(a account, from, to int64) error
}

// openRaw opens the loops over SQLite.
func (b *bench) openRaw(p *place) error {
	db, err := openDatabase(p.data.file(), durable)
	if err != nil {
		return err
	}
	b.closing = append(b.closing, func() { _ = db.close() })
	p.loops = rawLoops(db, p.data, p.people)
	return nil
}

func rawLoops(db *database, d *dataset, g generator) *loops {
	var dst []byte
	get := func(a account, id int64) (err error) {
		dst, err = db.appendContacts(dst[:0], sqlGet, a.Number, id)
		return err
	}
	return &loops{
		data: d, people: g, cpu: ownCPU, readers: []func(account, int64) error{get}, found: func() []byte { return dst },
		write: func(people []joining) error { return db.write(people, true) },
		holds: func(p joining) error {
			seq, err := db.number(`SELECT contact_seq FROM account_tally WHERE account_id = ?`, p.account)
			return errors.Join(err, db.holds(account{Number: p.account}, crm.MakeID(p.account, seq), p.person))
		},
		list: func(a account, from, to int64) (err error) {
			dst, err = db.appendContacts(append(dst[:0], '['), sqlRange, a.Number, from, to)
			dst = append(dst, ']')
			return err
		},
	}
}

// readOne reads random contacts, on all connections at once.
func readOne(p *place) task {
	l := p.loops
	check := func() error {
		a, id := l.data.anyone(l.data.dice())
		want, err := l.data.contact(a, id)
		return l.compare(want, errors.Join(err, l.readers[0](a, id)))
	}
	return task{check: check, loop: l.measured(func(d time.Duration) (n int, _ spent, err error) {
		counts, errs := make([]int, len(l.readers)), make([]error, len(l.readers))
		over := after(d)
		var wg sync.WaitGroup
		for i, read := range l.readers {
			wg.Go(func() {
				for dice := newDice(); !over() && errs[i] == nil; counts[i]++ {
					errs[i] = read(l.data.anyone(dice))
				}
			})
		}
		wg.Wait()
		for _, count := range counts {
			n += count
		}
		return n, spent{}, errors.Join(errs...)
	})}
}

// readList reads the first page of the first account: 20 active contacts in a range.
func readList(p *place) task {
	l, a := p.loops, p.data.Accounts[0]
	first := firstActive(a, 20)
	read := func() error { return l.list(a, first[0], first[len(first)-1]) }
	check := func() error {
		want, err := l.data.page(a, "active", 1)
		return l.compare(want, errors.Join(err, read()))
	}
	return task{check: check, loop: l.measured(func(d time.Duration) (n int, _ spent, err error) {
		for over := after(d); !over() && err == nil; n++ {
			err = read()
		}
		return n, spent{}, err
	})}
}

// compare tells whether what was read last is right.
func (l *loops) compare(want []byte, err error) error {
	if err == nil && !bytes.Equal(l.found(), want) {
		err = fmt.Errorf("the loop reads %.300s", l.found())
	}
	return err
}

// insert creates contacts, so many in a transaction. The people themselves are made outside of what is counted, as a server makes
// them before it queues.
func insert(group int) func(*place) task {
	return func(p *place) task {
		l := p.loops
		check := func() error {
			people, err := l.newcomers(1, l.data.dice())
			if err == nil {
				err = l.write(people)
			}
			if err == nil {
				err = l.holds(people[0])
			}
			return err
		}
		return task{check: check, loop: l.measured(func(d time.Duration) (n int, making spent, err error) {
			dice := newDice()
			for over := after(d); !over(); n += group {
				used, start := ownCPU(), time.Now()
				people, err := l.newcomers(group, dice)
				making.cpu, making.time = making.cpu+ownCPU()-used, making.time+time.Since(start)
				if err == nil {
					err = l.write(people)
				}
				if err != nil {
					return n, making, err
				}
			}
			return n, making, nil
		})}
	}
}

// newcomers are people who are not there yet, in accounts as clients would choose them.
func (l *loops) newcomers(n int, dice *rand.Rand) ([]joining, error) {
	people := make([]joining, n)
	a := l.data.byWeight(dice)
	for i := range people {
		p, err := l.people.person(int(serial.Add(1)), "raw", time.Now())
		if err != nil {
			return nil, err
		}
		if !l.single {
			a = l.data.byWeight(dice)
		}
		people[i] = join(a, p)
	}
	return people, nil
}

// spent is what a loop does not count.
type spent struct{ cpu, time time.Duration }

// measured warms up and measures a loop, which tells how many requests it stood for, and what does not count.
func (l *loops) measured(run func(time.Duration) (n int, other spent, err error)) func(timing) result {
	return func(t timing) result {
		if _, _, err := run(t.warm); err != nil {
			return result{err: err}
		}
		cpu, start := l.cpu(), time.Now()
		n, other, err := run(t.measured)
		took := time.Since(start)
		return result{requests: n, seconds: (took - other.time).Seconds(), err: err, cpu: perRequest(l.cpu()-cpu-other.cpu, n)}
	}
}
