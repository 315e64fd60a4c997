package db

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"donorbook/internal/guard"
)

const (
	readBatches = 4         // groups of reads that are under way at once
	readLimit   = 100       // reads of one group
	keptAnswer  = 256 << 10 // bytes of an answer whose memory is used again
)

// readQueue sends what several requests read in one round trip. It takes whatever is waiting, as the queue of changes
// does: a lone request goes out at once, and what comes while others are under way goes together. Nothing is sent
// before it was asked for, so that every client sees its own last write.
type readQueue struct {
	engine *postgresEngine

	mu      sync.Mutex
	running int // groups that are under way
	waiting []*question
}

// question is one statement that a request waits for, and the rows that the server has answered.
type question struct {
	statement
	err  error
	turn chan bool // true: it is this one's turn to ask for all who wait; false: it has been answered

	data    []byte
	ends    []int // of each value in data
	columns int
	row     int // the one that is read
}

var questions = sync.Pool{New: func() any { return &question{turn: make(chan bool, 1)} }}

// ask waits for the rows of a statement.
func (g *readQueue) ask(read func(Row) error, s statement) error {
	q := questions.Get().(*question)
	q.statement, q.err = s, nil
	if g.leads(q) || <-q.turn {
		g.lead(q)
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

// lead asks for all requests that wait, tells them, and hands over to one of those who have come since. Where the
// database is away, it tells those as well: to let each of them find out by itself would make the last one wait for all
// the others.
func (g *readQueue) lead(q *question) {
	start := time.Now()
	group := append([]*question{q}, g.take(readLimit-1)...)
	err := g.engine.answer(group)
	if errors.Is(err, errRetry) && time.Since(start) > patience {
		for _, late := range g.take(math.MaxInt) {
			late.err = err
			group = append(group, late)
		}
	}
	g.handOver()
	for _, other := range group[1:] {
		other.turn <- false
	}
}

// handOver is one step: who comes in between would wait for no one.
func (g *readQueue) handOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.running--
		g.waiting = nil
		return
	}
	g.waiting[0].turn <- true
	g.waiting = g.waiting[1:]
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

// answer asks a group of questions in one round trip. One that the server refuses gets the error, and the others are
// asked again without it, so that it fails no one else; those of its account ask again by themselves, because on a
// server that is spread over several machines they may all fail. The error returned is that of the connection.
func (e *postgresEngine) answer(group []*question) error {
	start := time.Now()
	for len(group) > 0 {
		answered, err := e.send(group)
		if err == nil || answered == len(group) {
			return err
		}
		failed, left := group[answered], group[answered+1:]
		failed.err = err
		alone := time.Since(start) < patience && refused(err)
		group = nil
		for _, q := range left {
			if alone && q.account() != failed.account() {
				group = append(group, q)
			} else {
				q.err = because(errRetry, err) // it is not this one's fault, and a read may be tried again
			}
		}
		if !refused(err) {
			return err
		}
	}
	return nil
}

// refused tells whether the server has answered a statement with an error, and goes on with others.
func refused(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.SeverityUnlocalized == "ERROR" || e.Severity == "ERROR") &&
		!strings.HasPrefix(e.Code, "57P")
}

// account is whose rows a question asks for, by the rule that the account comes first.
func (q *question) account() any {
	if len(q.args) == 0 {
		return nil
	}
	return q.args[0]
}

// send asks a group of questions, and tells how many were answered.
func (e *postgresEngine) send(group []*question) (answered int, err error) {
	err = guard.Do(func() (err error) { // no request may be left waiting
		answered, err = e.ask(group)
		return err
	})
	return answered, err
}

func (e *postgresEngine) ask(group []*question) (answered int, err error) {
	c := &postgresConn{engine: e, reads: true, client: context.Background(), cancel: func() {}}
	defer e.release(c)
	if err = c.connect(); err != nil {
		return 0, err
	}
	statements := make([]statement, len(group))
	for i, q := range group {
		q.data, q.ends, q.columns = q.data[:0], q.ends[:0], 0 // of an earlier attempt
		statements[i] = q.statement
		statements[i].read = q.add
	}
	answered, _, err = e.wireOf(c.lent).send(c.ctx, statements, nil)
	return answered, c.translate(err)
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
