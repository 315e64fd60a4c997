package main

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// work makes requests of one kind: it appends the next one to dst. n is a number that no other request of the run has.
type work func(dst []byte, r *rand.Rand, n int64) []byte

// load is what the clients of one variant do.
type load struct {
	addresses   []string // the connections are spread over these servers
	work        work
	connections int
}

// timing is how long a variant runs.
type timing struct{ warm, measured time.Duration }

// serial numbers the requests of the whole run.
var serial atomic.Int64

// newDice is a source of random choices that no other client has.
func newDice() *rand.Rand { return rand.New(rand.NewPCG(uint64(serial.Add(1)), 1)) }

// run warms up and measures. Any answer but 2xx makes the result an error.
func (l load) run(t timing, s *server) (r result) {
	return l.connected(func(clients []*client) result {
		if _, err := l.drive(clients, after(t.warm)); err != nil {
			return result{err: err}
		}
		mallocs, bytes := s.mallocs()
		cpu, start := s.cpu(), time.Now()
		times, err := l.drive(clients, after(t.measured))
		n := float64(max(1, len(times)))
		r = result{requests: len(times), seconds: time.Since(start).Seconds(), err: err, cpu: perRequest(s.cpu()-cpu, len(times)), rss: s.rss()}
		mallocsAfter, bytesAfter := s.mallocs()
		r.mallocs, r.bytes = (mallocsAfter-mallocs)/n, (bytesAfter-bytes)/n
		slices.Sort(times)
		r.p50, r.p99 = percentile(times, .5), percentile(times, .99)
		if err == nil && len(times) == 0 {
			r.err = errors.New("no request came back in time")
		}
		return r
	})
}

// beside runs fn while this load goes on.
func (l load) beside(fn func() result) result {
	return l.connected(func(clients []*client) result {
		var stop atomic.Bool
		ended := make(chan error)
		go func() {
			_, err := l.drive(clients, stop.Load)
			ended <- err
		}()
		r := fn()
		stop.Store(true)
		r.err = errors.Join(r.err, <-ended)
		return r
	})
}

// perRequest is a time in microseconds, divided by the requests.
func perRequest(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(max(1, n))
}

// after is a condition that becomes true when the time is over.
func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return !time.Now().Before(end) }
}

// connected opens the connections for fn.
func (l load) connected(fn func([]*client) result) result {
	var clients []*client
	for i := range l.connections {
		c, err := dial(l.addresses[i%len(l.addresses)])
		if err != nil {
			return result{err: err}
		}
		defer c.close()
		clients = append(clients, c)
	}
	return fn(clients)
}

// drive lets each client send one request after the other until the end, and returns how long each took.
func (l load) drive(clients []*client, over func() bool) ([]time.Duration, error) {
	times, errs := make([][]time.Duration, len(clients)), make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			dice := newDice()
			var wire []byte
			for begun := time.Now(); !over() && errs[i] == nil; {
				wire = l.work(wire[:0], dice, serial.Add(1))
				if _, errs[i] = c.ask(wire, nil); errs[i] == nil {
					now := time.Now()
					times[i] = append(times[i], now.Sub(begun))
					begun = now
				}
			}
		})
	}
	wg.Wait()
	return slices.Concat(times...), errors.Join(errs...)
}
