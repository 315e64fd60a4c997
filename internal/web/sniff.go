package web

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"time"
)

// sniffListener looks at the first byte of each connection to a TLS port. A client that speaks plain HTTP there gets
// an answer it can read, in the form of all our errors; net/http would send plain text.
type sniffListener struct {
	net.Listener
	log *slog.Logger
}

func (l sniffListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &sniffConn{Conn: conn, log: l.log}, nil
}

// sniffConn looks when it is first read, which is in the connection's own goroutine: Accept must not wait for anybody.
type sniffConn struct {
	net.Conn
	log    *slog.Logger
	looked bool
}

var errPlainHTTP = errors.New("plain HTTP on the HTTPS port")

func (c *sniffConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.looked || n == 0 {
		return n, err
	}
	c.looked = true
	if b[0] < 'A' || b[0] > 'Z' { // every HTTP method starts with a letter, no TLS record does
		return n, err
	}
	c.refuse()
	return 0, errPlainHTTP
}

const (
	refuseTime = time.Second
	refuseRead = 256 << 10
)

// refuse answers, then reads on for a moment: closing while the client still sends would reset the connection, and
// the answer might be lost with it.
func (c *sniffConn) refuse() {
	random := newRequestID()
	id := string(random[:])
	body := errorBody(nil, messageHTTPSOnly)
	c.log.Info("request", "request_id", id, "route", "none", "status", 400, "client", addrOf(c.RemoteAddr()).String(), "error", errPlainHTTP)
	_ = c.Conn.SetDeadline(time.Now().Add(refuseTime))
	_, err := io.WriteString(c.Conn, "HTTP/1.1 400 Bad Request\r\n"+
		"Content-Type: application/json\r\n"+
		"Content-Length: "+strconv.Itoa(len(body))+"\r\n"+
		"Connection: close\r\n"+
		"Cache-Control: no-store\r\n"+
		"X-Content-Type-Options: nosniff\r\n"+
		"X-Request-Id: "+id+"\r\n\r\n"+string(body))
	if err != nil {
		return
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, refuseRead))
}
