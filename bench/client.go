package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// client is one keep-alive connection of HTTP/1.1. It does as little as it can, so that the machine is left to the server.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
}

// patience is how long one answer may take.
const patience = 60 * time.Second

// dial connects to HOST:PORT; with https:// before it, over TLS with whatever certificate: it measures, it does not trust.
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

// requestAs is request with another way to tell who asks, such as "Cookie: session=".
func requestAs(dst []byte, method, path, header, secret string, body []byte) []byte {
	dst = append(dst, method...)
	dst = append(dst, ' ')
	dst = append(dst, path...)
	dst = append(dst, " HTTP/1.1\r\nHost: localhost\r\n"...)
	dst = append(dst, header...)
	dst = append(dst, secret...)
	if body != nil {
		dst = append(dst, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(body)), 10)
	}
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// ask sends a request and appends the body of the answer to dst; a nil dst means that nobody wants it. A status other than
// 2xx is an error.
func (c *client) ask(wire, dst []byte) ([]byte, error) {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return dst, err
	}
	if _, err := c.conn.Write(wire); err != nil {
		return dst, err
	}
	return readAnswer(c.reader, dst)
}

func readAnswer(r *bufio.Reader, dst []byte) ([]byte, error) {
	status, err := readStatus(r)
	if err != nil {
		return dst, err
	}
	length, chunked, err := readHeader(r)
	if err != nil {
		return dst, err
	}
	failed := status < 200 || status > 299
	if failed && dst == nil {
		dst = []byte{} // its text is told
	}
	if chunked {
		dst, err = readChunks(r, dst)
	} else {
		dst, err = readBytes(r, dst, length)
	}
	if err == nil && failed {
		err = fmt.Errorf("status %d: %.200s", status, dst)
	}
	return dst, err
}

func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func readStatus(r *bufio.Reader) (int, error) {
	line, err := readLine(r)
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("not an answer of HTTP/1.1: %.80q", line)
	}
	return strconv.Atoi(string(line[9:12]))
}

// readHeader finds out how long the body is.
func readHeader(r *bufio.Reader) (length int, chunked bool, err error) {
	for length = -1; ; {
		line, err := readLine(r)
		if err != nil {
			return 0, false, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch value = bytes.TrimSpace(value); {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return 0, false, fmt.Errorf("a length of %q", value)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.EqualFold(value, []byte("chunked"))
		}
	}
	if length < 0 && !chunked {
		return 0, false, errors.New("an answer without a length")
	}
	return length, chunked, nil
}

// readChunks reads a body that comes in parts, up to the empty one.
func readChunks(r *bufio.Reader, dst []byte) ([]byte, error) {
	for {
		line, err := readLine(r)
		if err != nil {
			return dst, err
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return dst, fmt.Errorf("a chunk of the size %q", line)
		}
		if dst, err = readBytes(r, dst, int(size)); err != nil {
			return dst, err
		}
		if line, err = readLine(r); err != nil || len(line) > 0 {
			return dst, fmt.Errorf("a chunk that does not end where it should: %w", errors.Join(err))
		}
		if size == 0 {
			return dst, nil
		}
	}
}

func readBytes(r *bufio.Reader, dst []byte, n int) ([]byte, error) {
	if dst == nil {
		_, err := r.Discard(n)
		return nil, err
	}
	start := len(dst)
	dst = append(dst, make([]byte, n)...)
	_, err := io.ReadFull(r, dst[start:])
	return dst, err
}

// once asks on a connection of its own and returns the body.
func once(address, method, path, key string, body []byte) ([]byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.ask(request(nil, method, path, key, body), []byte{})
}
