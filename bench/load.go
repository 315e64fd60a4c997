package main

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// work makes the requests of one kind: it appends the next one to dst. n is a number that no other request of the run has.
type work func(dst []byte, r *rand.Rand, n int64) []byte

// load is what the clients of one variant do.
type load struct {
	addresses   []string // of servers; the connections are shared out between them
	work        work
	connections int
}

// timing is how long a variant runs.
type timing struct{ warm, measured time.Duration }

// meter tells what a server has used so far.
type meter interface {
	cpu() time.Duration
	rss() float64
	mallocs() (count, bytes float64)
}

// serial numbers the requests of the whole run.
var serial atomic.Int64

// run warms up, measures, and gives a result; any answer but 2xx is its error.
func (l load) run(t timing, m meter) result {
	clients, err := l.connect()
	defer func() {
		for _, c := range clients {
			c.close()
		}
	}()
	if err != nil {
		return result{err: err}
	}
	if _, err := l.drive(clients, t.warm); err != nil {
		return result{err: err}
	}
	mallocs, bytes := m.mallocs()
	cpu, start := m.cpu(), time.Now()
	times, err := l.drive(clients, t.measured)
	r := result{requests: len(times), seconds: time.Since(start).Seconds(), err: err}
	r.cpu = perRequest(m.cpu()-cpu, len(times))
	r.rss = m.rss()
	mallocsAfter, bytesAfter := m.mallocs()
	r.mallocs, r.bytes = (mallocsAfter-mallocs)/float64(max(1, len(times))), (bytesAfter-bytes)/float64(max(1, len(times)))
	slices.Sort(times)
	r.p50, r.p99 = percentile(times, .5), percentile(times, .99)
	if err == nil && len(times) == 0 {
		r.err = errors.New("no request came back in time")
	}
	return r
}

// perRequest is a time in microseconds, shared out.
func perRequest(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(max(1, n))
}

func (l load) connect() (clients []*client, err error) {
	for i := range l.connections {
		c, err := dial(l.addresses[i%len(l.addresses)])
		if err != nil {
			return clients, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

// drive lets every client ask one request after the other until the time is over, and returns how long each took.
func (l load) drive(clients []*client, d time.Duration) ([]time.Duration, error) {
	times := make([][]time.Duration, len(clients))
	errs := make([]error, len(clients))
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { times[i], errs[i] = l.repeat(c, end) })
	}
	wg.Wait()
	return slices.Concat(times...), errors.Join(errs...)
}

func (l load) repeat(c *client, end time.Time) (times []time.Duration, err error) {
	dice := rand.New(rand.NewPCG(uint64(serial.Add(1)), 1))
	var wire []byte
	for begun := time.Now(); begun.Before(end); {
		wire = l.work(wire[:0], dice, serial.Add(1))
		if _, err := c.ask(wire, nil); err != nil {
			return times, err
		}
		now := time.Now()
		times = append(times, now.Sub(begun))
		begun = now
	}
	return times, nil
}

// beside runs another load around fn.
func (l load) beside(fn func() result) result {
	clients, err := l.connect()
	defer func() {
		for _, c := range clients {
			c.close()
		}
	}()
	if err != nil {
		return result{err: err}
	}
	var stop atomic.Bool
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			for !stop.Load() && errs[i] == nil {
				_, errs[i] = l.repeat(c, time.Now().Add(20*time.Millisecond))
			}
		})
	}
	r := fn()
	stop.Store(true)
	wg.Wait()
	r.err = errors.Join(r.err, errors.Join(errs...))
	return r
}
