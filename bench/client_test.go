package main

import (
	"io"
	"net"
	"strings"
	"testing"
)

// answering is a client of a server that sends these bytes and closes.
func answering(t *testing.T, wire string) *client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it serves one connection
	c, err := dial(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(server, wire)
	_ = server.(*net.TCPConn).CloseWrite()
	t.Cleanup(func() { _ = server.Close() })
	return c
}

func TestAnswersAreRead(t *testing.T) {
	for _, test := range []struct{ wire, want, err string }{
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", ""},
		{"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "hello", ""},
		{"HTTP/1.1 422 Unprocessable Entity\r\nContent-Length: 2\r\n\r\nno", "no", "status 422: no"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "", "EOF"},
		{"SSH-2.0-OpenSSH\r\n\r\n", "", "malformed"},
	} {
		got, err := answering(t, test.wire).ask([]byte("GET"), []byte{})
		if test.err == "" && (err != nil || string(got) != test.want) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q gives %q, %v", test.wire, got, err)
		}
	}
}

func TestABodyThatIsNotWantedIsSkipped(t *testing.T) {
	c := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyou")
	if got, err := c.ask([]byte("GET"), nil); err != nil || got != nil {
		t.Fatalf("got %q, %v", got, err)
	}
	if got, err := c.ask([]byte("GET"), []byte{}); err != nil || string(got) != "you" {
		t.Fatalf("the next answer is %q, %v", got, err)
	}
}

func TestTheNextPageIsFound(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[{"note":"\"next\":null"}],"links":{"next":"http://localhost/v1/contacts?per_page=100&page=2"},"meta":{}}`: "/v1/contacts?per_page=100&page=2",
		`{"data":[],"links":{"next":null},"meta":{}}`: "",
	} {
		if got, err := nextPath([]byte(body)); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := nextPath([]byte(`{}`)); err == nil {
		t.Error("a page without links is taken for the last one")
	}
}

func TestTheCountersOfAServerAreRead(t *testing.T) {
	text := []byte("# HELP go_memstats_mallocs_total x\ngo_memstats_mallocs_total_more 3\ngo_memstats_mallocs_total 1.5e+06\n")
	if got := numberAfter(text, "go_memstats_mallocs_total "); got != 1.5e6 {
		t.Errorf("got %v", got)
	}
	if got := dollars(sqlKey); !strings.HasSuffix(got, "VALUES ($1, $2, $3)") {
		t.Errorf("got %s", got)
	}
}
