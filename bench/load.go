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
func once(address string, wire []byte) ([]byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.ask(wire, []byte{})
}

// timing is how long a cell runs.
type timing struct{ warm, measured time.Duration }

// serial numbers the requests of the whole run.
var serial atomic.Int64

// newDice is a source of random choices that no other client has.
func newDice() *rand.Rand { return rand.New(rand.NewPCG(uint64(serial.Add(1)), 1)) }

// measure lets so many workers do one step after the other, first to warm up. A step that fails makes the result an error.
func measure(t timing, workers int, cpu func() time.Duration, step func(worker int, dice *rand.Rand)) (r result) {
	drive := func(d time.Duration) ([]time.Duration, error) {
		times, end := make([][]time.Duration, workers), time.Now().Add(d)
		err := inParallel(workers, func(i int) {
			dice := newDice()
			for begun := time.Now(); begun.Before(end); {
				step(i, dice)
				now := time.Now()
				times[i] = append(times[i], now.Sub(begun))
				begun = now
			}
		})
		return slices.Concat(times...), err
	}
	_, warm := drive(t.warm)
	before, start := cpu(), time.Now()
	times, err := drive(t.measured)
	r = result{requests: len(times), seconds: time.Since(start).Seconds(), cpu: cpu() - before, err: errors.Join(warm, err)}
	if len(times) == 0 {
		return result{err: errors.Join(r.err, errors.New("no answer came in time"))}
	}
	slices.Sort(times)
	r.p50, r.p99 = percentile(times, .5), percentile(times, .99)
	return r
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
