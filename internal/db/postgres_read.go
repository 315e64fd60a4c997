package db

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"
)

const (
	readBatches = 4         // groups of reads that are under way at once
	readLimit   = 100       // reads of one group
	keptAnswer  = 256 << 10 // bytes of an answer whose memory is used again
)

// readQueue sends what several requests read in one round trip. It takes whatever is waiting, as the queue of changes does: a lone
// request goes out at once, and what comes while others are under way goes together. Nothing is sent before it was asked for, so
// that every client sees its own last write.
type readQueue struct {
	engine *postgresEngine

	mu      sync.Mutex
	running int
	waiting []*question
}

// question is one statement that a request waits for.
type question struct {
	statement
	answer *answer
	err    error
	turn   chan bool // true: it is this one's turn to ask for all who wait; false: it has been answered
}

var questions = sync.Pool{New: func() any { return &question{turn: make(chan bool, 1)} }}

// ask waits for the rows of a statement.
func (g *readQueue) ask(limit int, sql string, args []any) (rows, error) {
	q := questions.Get().(*question)
	q.statement, q.answer, q.err = newStatement(nil, sql, args), newAnswer(), nil
	q.answer.limit = limit
	if g.leads(q) || <-q.turn {
		g.lead(q)
	}
	answer, err := q.answer, q.err
	q.statement, q.answer = statement{}, nil
	questions.Put(q)
	if err != nil {
		answer.close() //nolint:errcheck // it has none
		return nil, err
	}
	return answer, nil
}

// leads tells whether a question goes out at once. Otherwise it waits.
func (g *readQueue) leads(q *question) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running < readBatches {
		g.running++
		return true
	}
	g.waiting = append(g.waiting, q)
	return false
}

// lead asks for all requests that wait, tells them, and hands over to one of those who have come since.
func (g *readQueue) lead(q *question) {
	start := time.Now()
	group := append([]*question{q}, g.take(readLimit-1)...)
	err := g.engine.answer(group)
	if errors.Is(err, errRetry) && time.Since(start) > patience {
		g.refuse(err)
	}
	g.handOver()
	for _, other := range group[1:] {
		other.turn <- false
	}
}

// take removes questions from those that wait.
func (g *readQueue) take(limit int) []*question {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(limit, len(g.waiting))
	group := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return group
}

func (g *readQueue) handOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.running--
		g.waiting = nil
		return
	}
	next := g.waiting[0]
	g.waiting = g.waiting[1:]
	next.turn <- true
}

// refuse tells all requests that wait that the database is away. To let each of them find out by itself would make the last
// one wait for all the others.
func (g *readQueue) refuse(err error) {
	for _, q := range g.take(math.MaxInt) {
		q.err = err
		q.turn <- false
	}
}

// answer asks a group of questions in one round trip. Its error is that of the first one that failed.
func (e *postgresEngine) answer(group []*question) (err error) {
	defer func() {
		if p := recover(); p != nil { // no request may be left waiting
			err = fmt.Errorf("panic in a read: %v\n%s", p, debug.Stack())
		}
		for i, q := range group {
			q.err = err
			if i > 0 && err != nil { // it is not this one's fault, and a read may be tried again
				q.err = &unavailable{retry: true, err: err}
			}
		}
	}()
	c := &postgresConn{engine: e, reads: true, client: context.Background(), cancel: func() {}}
	defer e.release(c)
	if err = c.connect(); err == nil {
		group, err = c.ask(group)
	}
	return err
}

// ask returns those that were not answered, the one that failed first.
func (c *postgresConn) ask(group []*question) ([]*question, error) {
	statements := make([]statement, len(group))
	for i, q := range group {
		statements[i] = q.statement
	}
	x := c.wire.send(c.ctx, statements...)
	defer x.close() //nolint:errcheck // what was answered does not depend on how the exchange ends
	for i, q := range group {
		if _, err := x.take(q.answer.add); err != nil {
			return group[i:], c.translate(err)
		}
	}
	return nil, nil
}

// answer is what a server has answered, kept for the request that reads it later.
type answer struct {
	data    []byte
	ends    []int // of each value in data
	columns int
	row     int // the one that is read, from 1
	limit   int // bytes after which rows are left out; 0 is none
}

var answers = sync.Pool{New: func() any { return new(answer) }}

func newAnswer() *answer {
	a := answers.Get().(*answer)
	a.data, a.ends, a.columns, a.row = a.data[:0], a.ends[:0], 0, 0
	return a
}

// add keeps the row that r is at.
func (a *answer) add(r Row) error {
	if a.limit > 0 && len(a.data) >= a.limit {
		return nil
	}
	values := r.(wireRows).Values()
	for _, value := range values {
		a.data = append(a.data, value...)
		a.ends = append(a.ends, len(a.data))
	}
	a.columns = len(values)
	return nil
}

func (a *answer) next() bool {
	a.row++
	return a.row*a.columns <= len(a.ends) && a.columns > 0
}

func (a *answer) Bytes(column int) []byte {
	i := (a.row-1)*a.columns + column
	start := 0
	if i > 0 {
		start = a.ends[i-1]
	}
	return a.data[start:a.ends[i]]
}

func (a *answer) Int(column int) int64   { return wireInt(a.Bytes(column)) }
func (a *answer) Text(column int) string { return string(a.Bytes(column)) }

func (a *answer) close() error {
	if cap(a.data) <= keptAnswer {
		answers.Put(a)
	}
	return nil
}
