package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/crm"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// raw is what the database allows: the very statements that the program sends for a work, sent again by a bare loop over the same connections
// to a copy of the same tables. There is no SQL here that could fall behind the program's.
type raw struct {
	recording, replaying *book.Book
	readers              []func([]statement) (all []byte) // each on a connection of its own; the result are the documents
	cpu                  func() time.Duration
}

type statement struct {
	sql  string
	args []any
}

// recorded are the statements of a work: of each of its transactions where it writes, and all together where it reads.
func (w *raw) recorded(writing bool, work func()) (tape [][]statement) {
	var current []statement
	var mu sync.Mutex
	end := func() error { tape, current = append(tape, current), nil; return nil }
	w.recording.DB().Observe(&db.Observer{
		Writing: func() { current = nil }, // an earlier attempt may have failed
		Ran: func(sql string, args []any, in bool) {
			if in == writing {
				mu.Lock()
				current = append(current, statement{sql, cloned(args)})
				mu.Unlock()
			}
		},
		Committing: end,
	})
	work()
	w.recording.DB().Observe(new(db.Observer))
	if !writing {
		_ = end()
	}
	return tape
}

// cloned are arguments that the program may use again.
func cloned(args []any) (list []any) {
	for _, arg := range args {
		if b, ok := arg.([]byte); ok {
			arg = bytes.Clone(b)
		}
		list = append(list, arg)
	}
	return list
}

// samples is how many reads are recorded: their pages must not fit into a cache. Tests have fewer.
var samples = 10_000

// replayReads reads at random what was recorded, on all connections at once. documents is how many of an answer must be read, at the end, too.
func replayReads(documents int, ask func(*book.Book, *dataset, *rand.Rand) ([]byte, error)) func(*place) task {
	return func(p *place) task {
		w, dice, reads := p.raw, newDice(), [][]statement(nil)
		var answer []byte // to the last one
		return task{check: func() {
			for range samples {
				reads = append(reads, w.recorded(false, func() { answer = must(ask(w.recording, p.data, dice)) })...)
			}
			w.compare(reads[samples-1], answer, documents)
		}, run: func(t timing) result {
			r := measure(t, len(w.readers), w.cpu, func(i int, dice *rand.Rand) { w.readers[i](pick(dice, reads)) })
			r.err = errors.Join(r.err, try(func() { w.compare(reads[samples-1], answer, documents) }))
			return r
		}}
	}
}

// compare fails where the documents that the loop reads are not those of the program's answer.
func (w *raw) compare(tape []statement, answer []byte, documents int) {
	found := 0
	for _, one := range bytes.Split(w.readers[0](tape), []byte{0}) {
		if bytes.HasPrefix(one, []byte(",")) && bytes.Contains(answer, crm.AppendContact(nil, 0, one)[len(`{"id":0`):]) { // others are sets
			found++
		}
	}
	if found != documents {
		fail("the loop reads %d documents of %.300s", found, answer)
	}
}

func getOne(s *book.Book, d *dataset, dice *rand.Rand) ([]byte, error) {
	a, id := d.anyone(dice)
	return s.Contact(context.Background(), a.Number, id, nil)
}

func listOne(s *book.Book, d *dataset, dice *rand.Rand) ([]byte, error) {
	page := crm.PageRequest{Page: int64(1 + dice.IntN(d.Contacts*15/16/20)), PerPage: 20}
	answer, _, err := s.Contacts(context.Background(), pick(dice, d.Accounts).Number, crm.Active, page, nil, nil)
	return answer, err
}

// replayCreates creates contacts that as many clients have created in the program before, in the same groups. To record them does not count.
func replayCreates(p *place) task {
	const perSecond = 4000
	w := p.raw
	record := func(creates int) (tape [][]statement, a account, last int64) {
		tape = w.recorded(true, func() {
			check(inParallel(clients, func(client int) {
				dice := newDice()
				for i := client; i < creates; i += clients {
					to := pick(dice, p.data.Accounts)
					made := must(w.recording.CreateContact(context.Background(), to.Number, input(personBody(int(serial.Add(1)), newcomer)), crm.Dedupe))
					if i == creates-1 {
						a, last = to, made.ID
					}
				}
			}))
		})
		return tape, a, last
	}
	replay := func(tape [][]statement) error {
		return try(func() {
			for _, transaction := range tape {
				w.write(transaction)
			}
		})
	}
	return task{check: func() {
		tape, a, id := record(clients)
		check(replay(tape))
		var answer []byte
		read := w.recorded(false, func() { answer = must(w.recording.Contact(context.Background(), a.Number, id, nil)) })
		w.compare(read[0], answer, 1)
	}, run: func(t timing) (r result) {
		r.err = try(func() {
			warm, _, _ := record(int(perSecond * t.warm.Seconds()))
			check(replay(warm))
			r.requests = int(perSecond * t.measured.Seconds())
			tape, _, _ := record(r.requests)
			cpu, start := w.cpu(), time.Now()
			check(replay(tape))
			r.seconds, r.cpu = time.Since(start).Seconds(), w.cpu()-cpu
		})
		return r
	}}
}

// openRaw records what is asked of one database, and does it in another.
func (b *bench) openRaw(recorded, replayed *dataset, recordedURL, replayedURL string) *raw {
	w := &raw{recording: recorded.open(recordedURL), replaying: replayed.open(replayedURL)}
	b.closing = append(b.closing, func() { check(errors.Join(w.recording.Close(), w.replaying.Close())) })
	var dst []byte
	w.readers = []func([]statement) []byte{func(statements []statement) []byte {
		dst = dst[:0]
		for _, s := range statements {
			check(w.replaying.Read(context.Background(), func(c db.Conn) error {
				return c.Each(func(row db.Row) error {
					dst = append(append(append(append(dst, row.Bytes(0)...), 0), row.Bytes(1)...), 0)
					return nil
				}, s.sql, s.args...)
			}))
		}
		return dst
	}}
	w.cpu = func() time.Duration { return cpuOfProcesses(ownProcess) }
	return w
}

// write does what one transaction has done: what it looked up together, and what it wrote together with the commit.
func (w *raw) write(statements []statement) {
	check(w.replaying.DB().Update(context.Background(), 0, nil, func(b db.Batch) (err error) {
		t, looking := b.(*store.Tx).Tx, true
		t.Touch()
		for _, s := range statements {
			var read func(db.Row) error
			if reads(s) {
				read = func(db.Row) error { return nil }
			} else if looking {
				looking, err = false, t.Fetch()
			}
			if err = errors.Join(err, t.Prefetch(read, s.sql, s.args...)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func reads(s statement) bool { return strings.HasPrefix(s.sql, "SELECT") }

// pgx reads by pgx, on as many connections as one of our nodes has.
func (w *raw) pgx(b *bench, url string) {
	w.readers = nil
	for range 16 {
		conn := must(pgx.Connect(context.Background(), url))
		b.closing = append(b.closing, func() { _ = conn.Close(context.Background()) })
		var dst []byte
		w.readers = append(w.readers, func(statements []statement) []byte {
			dst = dst[:0]
			for _, s := range statements {
				rows := must(conn.Query(context.Background(), s.sql, s.args...))
				for rows.Next() {
					for _, value := range rows.RawValues() {
						dst = append(append(dst, value...), 0)
					}
				}
				check(rows.Err())
			}
			return dst
		})
	}
}
