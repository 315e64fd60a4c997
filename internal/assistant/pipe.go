package assistant

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"donorbook/internal/guard"
)

// maxLine is the longest message over a pipe, in bytes. The API takes no more than a quarter of it.
const maxLine = 4 << 20

// pipe is the transport of an assistant that has started this program. That of the library ends with the first line that is no message,
// and with the last one before it is answered; an assistant would lose its tools, or an answer.
type pipe struct {
	in  io.Reader
	out io.Writer
}

// Connect begins the one conversation of the pipe.
func (p pipe) Connect(ctx context.Context) (mcp.Connection, error) {
	out := &output{w: p.out}
	in := &messages{in: bufio.NewReader(p.in), out: out}
	c, err := (&mcp.IOTransport{Reader: io.NopCloser(in), Writer: out}).Connect(ctx)
	return &conversation{Connection: c}, err
}

// output writes whole lines, one at a time. It stays open: it is not ours to close.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(line)
}

func (*output) Close() error { return nil }

// messages reads the lines that are messages, and answers all others with an error.
type messages struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of the line that is being read
}

func (m *messages) Read(dst []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if err != nil {
			return 0, err
		}
		code, problem := checkMessage(line)
		if code == 0 {
			m.rest = line
			continue
		}
		if _, err := fmt.Fprintf(m.out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, problem); err != nil {
			return 0, err
		}
	}
	n := copy(dst, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line reads the next line. The end of one that is too long is not kept.
func (m *messages) line() (line []byte, err error) {
	for {
		part, err := m.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0:
			return line, nil // if it does not end, it is the last one
		default:
			return nil, err
		}
	}
}

// checkMessage says what is wrong with a line; code 0 is nothing. An empty line is no fault, and a list of messages is a message.
func checkMessage(line []byte) (code int, problem string) {
	line = bytes.TrimSpace(line)
	parts := []json.RawMessage{line}
	switch {
	case len(line) == 0:
		return 0, ""
	case len(line) > maxLine:
		return jsonrpc.CodeInvalidRequest, "The message is too long."
	case isDeep(line):
		return jsonrpc.CodeInvalidRequest, tooDeep
	case !json.Valid(line):
		return jsonrpc.CodeParseError, "The line is not JSON. Each message is one line of JSON."
	case line[0] == '[':
		_ = json.Unmarshal(line, &parts) // it is valid
	}
	for _, part := range parts {
		if _, err := jsonrpc.DecodeMessage(part); err != nil {
			return jsonrpc.CodeInvalidRequest, "The line is not a message of JSON-RPC 2.0."
		}
	}
	if len(parts) == 0 {
		return jsonrpc.CodeInvalidRequest, "The list of messages is empty."
	}
	return 0, ""
}

// conversation ends when every call that was read is answered.
type conversation struct {
	mcp.Connection
	calls sync.WaitGroup
}

func (c *conversation) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if request, ok := message.(*jsonrpc.Request); ok && err == nil && request.IsCall() {
		c.calls.Add(1)
	}
	if errors.Is(err, io.EOF) {
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_ = guard.Do(func() error { c.calls.Wait(); return nil }) // an answer too many ends the waiting
		}()
		select {
		case <-answered:
		case <-ctx.Done():
		case <-time.After(requestTimeout): // one that the assistant has canceled may get no answer
		}
	}
	return message, err
}

func (c *conversation) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if _, ok := message.(*jsonrpc.Response); ok {
		c.calls.Done()
	}
	return err
}
