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
	turns  chan struct{} // has one element for each group that is under way

	mu      sync.Mutex
	waiting []*question
}

// question is one statement that a request waits for, and the rows that the server has answered.
type question struct {
	statement
	err      error
	answered chan struct{}

	data    []byte
	ends    []int // of each value in data
	columns int
	row     int // the one that is read
}

var questions = sync.Pool{New: func() any { return &question{answered: make(chan struct{}, 1)} }}

// ask waits for the rows of a statement. Whoever gets a turn first asks for all who wait.
func (g *readQueue) ask(read func(Row) error, s statement) error {
	q := questions.Get().(*question)
	q.statement, q.err, q.data, q.ends, q.columns = s, nil, q.data[:0], q.ends[:0], 0
	g.mu.Lock()
	g.waiting = append(g.waiting, q)
	g.mu.Unlock()
	for waits := true; waits; {
		select {
		case <-q.answered:
			waits = false
		case g.turns <- struct{}{}:
			g.lead()
		}
	}
	err := q.err
	for q.row = 0; err == nil && q.row*q.columns < len(q.ends); q.row++ {
		err = read(q)
	}
	q.statement = statement{}
	if cap(q.data) <= keptAnswer {
		questions.Put(q)
	}
	return err
}

// lead asks for all requests that wait, and tells them. Where the database is away, it tells those who have come since as well: to
// let each of them find out by itself would make the last one wait for all the others.
func (g *readQueue) lead() {
	start := time.Now()
	group := g.take(readLimit)
	err := g.engine.answer(group)
	if errors.Is(err, errRetry) && time.Since(start) > patience {
		for _, q := range g.take(math.MaxInt) {
			q.err = err
			group = append(group, q)
		}
	}
	<-g.turns
	for _, q := range group {
		q.answered <- struct{}{}
	}
}

// take removes questions from those that wait.
func (g *readQueue) take(limit int) []*question {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(limit, len(g.waiting))
	group := g.waiting[:n:n]
	if g.waiting = g.waiting[n:]; len(g.waiting) == 0 {
		g.waiting = nil
	}
	return group
}

// answer asks a group of questions in one round trip. Its error is that of the first one that failed.
func (e *postgresEngine) answer(group []*question) (err error) {
	if len(group) == 0 {
		return nil
	}
	answered := 0
	defer func() {
		if p := recover(); p != nil { // no request may be left waiting
			err = fmt.Errorf("panic in a read: %v\n%s", p, debug.Stack())
		}
		for i, q := range group[answered:] {
			q.err = err
			if i > 0 && err != nil { // it is not this one's fault, and a read may be tried again
				q.err = because(errRetry, err)
			}
		}
	}()
	c := &postgresConn{engine: e, reads: true, client: context.Background(), cancel: func() {}}
	defer e.release(c)
	if err = c.connect(); err != nil {
		return err
	}
	statements := make([]statement, len(group))
	for i, q := range group {
		statements[i] = q.statement
		statements[i].read = q.add
	}
	answered, _, err = e.wireOf(c.lent).send(c.ctx, statements, nil)
	return c.translate(err)
}

// add keeps the row that r is at.
func (q *question) add(r Row) error {
	if q.limit > 0 && len(q.data) >= q.limit {
		return nil
	}
	values := r.(wireRow).Values()
	for _, value := range values {
		q.data = append(q.data, value...)
		q.ends = append(q.ends, len(q.data))
	}
	q.columns = len(values)
	return nil
}

// Bytes is a column of the row that is read.
func (q *question) Bytes(column int) []byte {
	i, start := q.row*q.columns+column, 0
	if i > 0 {
		start = q.ends[i-1]
	}
	return q.data[start:q.ends[i]]
}

// Int is a column that has a number.
func (q *question) Int(column int) int64 { return wireInt(q.Bytes(column)) }

// Text is a column that has a text.
func (q *question) Text(column int) string { return string(q.Bytes(column)) }
