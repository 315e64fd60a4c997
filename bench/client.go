package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client is one keep-alive connection. It writes requests that were built before, so that the machine is left to the server.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
}

// patience is how long one answer may take.
const patience = 60 * time.Second

// dial connects to HOST:PORT. With https:// before it, it uses TLS and accepts any certificate: it measures, it does not trust.
func dial(address string) (*client, error) {
	host, secure := strings.CutPrefix(address, "https://")
	conn, err := net.DialTimeout("tcp", host, patience)
	if err != nil {
		return nil, err
	}
	if secure {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	return &client{conn: conn, reader: bufio.NewReaderSize(conn, 32<<10)}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// request appends a request with an API key to dst, as it goes over the wire.
func request(dst []byte, method, path, key string, body []byte) []byte {
	return requestAs(dst, method, path, "Authorization: Bearer ", key, body)
}

// requestAs is request with another header that says who asks, such as "Cookie: session=".
func requestAs(dst []byte, method, path, header, secret string, body []byte) []byte {
	for _, text := range []string{method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n", header, secret} {
		dst = append(dst, text...)
	}
	if body != nil {
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
func once(address, method, path, key string, body []byte) ([]byte, error) {
	return onceWire(address, request(nil, method, path, key, body))
}

func onceWire(address string, wire []byte) ([]byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.ask(wire, []byte{})
}
