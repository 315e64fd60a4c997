package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// A request with both Content-Length and Transfer-Encoding has two ends. If a proxy believes one and we believe the other, a
// second request can hide in the first (request smuggling). net/http goes by Transfer-Encoding and removes Content-Length before
// a handler could see it. So we look at the bytes of HTTP/1 on their way to net/http.

// heads notices a header block with both fields. It does not track where bodies begin and end: any blank line begins a new block.
// So no block can escape it. A body that contains such a block is mistaken for one, but neither JSON nor a form can contain it.
type heads struct {
	line   [len(codingField)]byte // the beginning of the line
	filled int

	length, coding bool // fields since the last blank line
	both           atomic.Bool
}

const (
	lengthField = "content-length:"
	codingField = "transfer-encoding:"
)

func (h *heads) look(sent []byte) {
	for len(sent) > 0 {
		end := bytes.IndexByte(sent, '\n')
		line, rest := sent, []byte(nil)
		if end >= 0 {
			line, rest = sent[:end], sent[end+1:]
		}
		h.filled += copy(h.line[h.filled:], line)
		if end >= 0 {
			h.endLine()
		}
		sent = rest
	}
}

func (h *heads) endLine() {
	line := h.line[:h.filled]
	h.filled = 0
	switch {
	case len(line) == 0 || len(line) == 1 && line[0] == '\r':
		h.length, h.coding = false, false
		return
	case begins(line, lengthField):
		h.length = true
	case begins(line, codingField):
		h.coding = true
	}
	if h.length && h.coding {
		h.both.Store(true)
	}
}

func begins(line []byte, field string) bool {
	return len(line) >= len(field) && bytes.EqualFold(line[:len(field)], []byte(field))
}

// twoEnds reports whether the client has sent a head with both fields.
func (h *heads) twoEnds() bool { return h.both.Load() }

// stream is a connection, with or without TLS.
type stream interface {
	net.Conn
	CloseWrite() error
}

// plainConn is a connection of HTTP/1.
type plainConn struct {
	stream
	heads
	log *slog.Logger

	joins bool  // a long answer is being sent
	first *part // of it, which waits for the rest; nil if none does
	waits int   // bytes of it
}

func (c *plainConn) Read(b []byte) (int, error) {
	n, err := c.stream.Read(b)
	c.look(b[:n])
	return n, err
}

// secureConn is HTTP/1 over TLS. net/http asks it for its state, as it asks a *tls.Conn.
type secureConn struct {
	plainConn
	state tls.ConnectionState
}

func (c *secureConn) ConnectionState() tls.ConnectionState { return c.state }

// refusalHeaders is all that net/http sends with its own answer to a request that it cannot read. No answer of a handler has these headers and no others.
const refusalHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// refused is the answer of net/http to a request that it cannot read, in the form of all our errors, or nil for any other answer.
func (c *plainConn) refused(answer []byte) []byte {
	line, isAnswer := bytes.CutPrefix(answer, []byte("HTTP/1.1 "))
	if !isAnswer || len(line) < 3 || line[0] < '4' {
		return nil
	}
	status, err := strconv.Atoi(string(line[:3]))
	line, _, _ = bytes.Cut(line, []byte("\r\n"))
	headers := answer[len("HTTP/1.1 ")+len(line):]
	if err != nil || status != http.StatusExpectationFailed && !bytes.HasPrefix(headers, []byte(refusalHeaders)) {
		return nil
	}
	said := string(line)
	message := "The request is not valid HTTP."
	switch _, detail, known := strings.Cut(said, ": "); {
	case status == http.StatusRequestHeaderFieldsTooLarge:
		message = messageLargeHeaders
	case status == http.StatusExpectationFailed: // which has a Date, and no body
		message = "The Expect header must be 100-continue."
	case status == http.StatusNotImplemented:
		message = "The transfer encoding is not supported."
	case known:
		message = "The request is not valid HTTP: " + detail + "."
	}
	return lastAnswer(unserved(c.log, c, status, message, said))
}

type headsKey struct{}

// withHeads lets requests of HTTP/1 find the heads of their connection.
func withHeads(ctx context.Context, conn net.Conn) context.Context {
	if h, ok := conn.(interface{ twoEnds() bool }); ok {
		return context.WithValue(ctx, headsKey{}, h)
	}
	return ctx
}

// hasTwoEnds reports whether a request may have come with both fields. net/http leaves the one that it goes by.
func hasTwoEnds(r *http.Request) bool {
	if r.ProtoMajor != 1 || len(r.TransferEncoding) == 0 && r.ProtoMinor > 0 { // HTTP/1.0 has no Transfer-Encoding
		return false
	}
	h, ok := r.Context().Value(headsKey{}).(interface{ twoEnds() bool })
	return ok && h.twoEnds()
}
