package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// client is one keep-alive connection. It writes requests as bytes, so that the machine is left to the server.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
}

// patience is how long one answer may take.
const patience = 60 * time.Second

func dial(address string) (*client, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, reader: bufio.NewReaderSize(conn, 32<<10)}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// request appends a request with an API key to dst, as it goes over the wire.
func request(dst []byte, method, path, key string, body []byte) []byte {
	for _, text := range []string{method, " ", path, " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ", key} {
		dst = append(dst, text...)
	}
	if len(body) > 0 {
		dst = append(dst, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(body)), 10)
	}
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// ask sends a request and appends the body of the answer to dst. With a nil dst the body is skipped. Any status but 2xx is an error.
func (c *client) ask(wire, dst []byte) ([]byte, error) {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return dst, err
	}
	if _, err := c.conn.Write(wire); err != nil {
		return dst, err
	}
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return dst, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read to its end
	refused := answer.StatusCode/100 != 2
	if dst == nil && !refused {
		_, err = io.Copy(io.Discard, answer.Body)
		return nil, err
	}
	body := bytes.NewBuffer(dst)
	if _, err = body.ReadFrom(answer.Body); err == nil && refused {
		err = fmt.Errorf("status %d: %.200s", answer.StatusCode, body)
	}
	return body.Bytes(), err
}

// once asks on a connection of its own and returns the body.
func once(address, method, path, key string, body []byte) []byte {
	return must(onceWire(address, request(nil, method, path, key, body)))
}

func onceWire(address string, wire []byte) ([]byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.ask(wire, []byte{})
}

// work makes requests of one kind: it appends the next one to dst. n is a number that no other request of the run has.
type work func(dst []byte, r *rand.Rand, n int64) []byte

// timing is how long a variant runs.
type timing struct{ warm, measured time.Duration }

// serial numbers the requests of the whole run.
var serial atomic.Int64

// newDice is a source of random choices that no other client has.
func newDice() *rand.Rand { return rand.New(rand.NewPCG(uint64(serial.Add(1)), 1)) }

// load sends requests on so many connections at once, first to warm up. Any answer but 2xx makes the result an error.
func (s *server) load(connections int, next work, t timing) (r result) {
	var clients []*client
	for range connections {
		c, err := dial(s.address)
		if err != nil {
			return result{err: err}
		}
		defer c.close()
		clients = append(clients, c)
	}
	_, warm := drive(clients, next, t.warm)
	cpu, start := s.cpu(), time.Now()
	times, err := drive(clients, next, t.measured)
	r = result{requests: len(times), seconds: time.Since(start).Seconds(), err: errors.Join(warm, err), cpu: perRequest(s.cpu()-cpu, len(times)), rss: memory(s.pid, "VmRSS")}
	slices.Sort(times)
	r.p50, r.p99 = percentile(times, .5), percentile(times, .99)
	if r.err == nil && len(times) == 0 {
		r.err = errors.New("no request came back in time")
	}
	return r
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

// drive lets each client send one request after the other, and returns how long each took.
func drive(clients []*client, next work, d time.Duration) ([]time.Duration, error) {
	times, over := make([][]time.Duration, len(clients)), after(d)
	err := inParallel(len(clients), func(i int) {
		dice := newDice()
		var wire []byte
		for begun := time.Now(); !over(); {
			wire = next(wire[:0], dice, serial.Add(1))
			must(clients[i].ask(wire, nil))
			now := time.Now()
			times[i] = append(times[i], now.Sub(begun))
			begun = now
		}
	})
	return slices.Concat(times...), err
}

// inParallel runs workers until all have ended.
func inParallel(workers int, work func(i int)) error {
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { errs[i] = try(func() { work(i) }) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
