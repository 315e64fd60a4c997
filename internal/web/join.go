package web

import (
	"context"
	"net"
	"sync"
)

// net/http sends an answer that is longer than its buffer in two writes: the full buffer, which begins with the headers, and the rest.
// Each is a call of the system that wakes the client. A connection that is told of a long answer keeps the first part until the rest
// comes, and sends both with one call.

// httpBuffer is the size of the buffer that net/http has for each connection.
const httpBuffer = 4 << 10

// joinFrom is the length of an answer of which something is surely left after the buffer was sent.
const joinFrom = 2 * httpBuffer

// part is the first part of an answer while it waits for the rest.
type part struct {
	bytes [httpBuffer]byte
	both  [2][]byte // with the rest
}

var parts = sync.Pool{New: func() any { return new(part) }}

// connOf is the connection of a request over HTTP/1 without TLS, which encrypts each write by itself, or nil.
func connOf(ctx context.Context) *plainConn {
	conn, _ := ctx.Value(headsKey{}).(*plainConn)
	return conn
}

// joined lets write send a long answer. What it has left waiting is sent at its end.
func (c *plainConn) joined(write func() (int, error)) (n int, err error) {
	c.joins = true
	n, err = write()
	c.joins = false
	if c.first != nil {
		if _, failed := c.Write(nil); err == nil {
			err = failed
		}
	}
	return n, err
}

func (c *plainConn) Write(b []byte) (int, error) {
	switch {
	case c.joins && c.first == nil && len(b) <= httpBuffer:
		c.first = parts.Get().(*part)
		c.waits = copy(c.first.bytes[:], b)
		return len(b), nil
	case c.first == nil:
		if ours := c.refused(b); ours != nil {
			_, err := c.stream.Write(ours)
			return len(b), err
		}
		return c.stream.Write(b)
	}
	p := c.first
	c.first = nil
	p.both = [2][]byte{p.bytes[:c.waits], b}
	both := net.Buffers(p.both[:])
	n, err := both.WriteTo(c.stream)
	p.both = [2][]byte{}
	parts.Put(p)
	return max(0, int(n)-c.waits), err
}
