package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

func echoServer(t *testing.T, limit int64, readTimeout time.Duration) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(quietPlumbing().Wrap(func(w http.ResponseWriter, r *http.Request) error {
		body, err := ReadBody(w, r, limit)
		if err != nil {
			return err
		}
		return WriteJSON(w, http.StatusOK, body)
	}))
	server.Config.ReadTimeout = readTimeout
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func TestReadBody(t *testing.T) {
	t.Parallel()
	server := echoServer(t, 1000, 0)
	for _, test := range []struct {
		name   string
		size   int
		status int
	}{{"none", 0, 200}, {"small", 10, 200}, {"exactly the limit", 1000, 200}, {"one too many", 1001, 413}, {"far too many", 3 << 20, 413}} {
		for _, chunked := range []bool{false, true} {
			text := strings.Repeat("x", test.size)
			var body io.Reader = strings.NewReader(text)
			if chunked {
				body = io.MultiReader(body) // hides the length
			}
			resp, err := http.Post(server.URL, "application/json", body)
			if err != nil {
				t.Fatalf("%s, chunked %t: %v", test.name, chunked, err)
			}
			got, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != test.status || test.status == 200 && string(got) != text {
				t.Errorf("%s, chunked %t: %d %.80s", test.name, chunked, resp.StatusCode, got)
			}
		}
	}
}

// A body that was read already is available to the next reader, and counts once in the memory budget.
func TestABodyCanBeReadAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(quietPlumbing().Wrap(func(w http.ResponseWriter, r *http.Request) error {
		body, err := ReadBody(w, r, MaxBody)
		if err != nil {
			return err
		}
		again, err := ReadBody(w, WithBody(r, body), MaxBody)
		if holds := len(exchangeOf(w).holds); err != nil || len(body) > budgetFree && holds != 1 {
			return fmt.Errorf("the budget is held %d times: %w", holds, err)
		}
		return WriteJSON(w, http.StatusOK, again)
	}))
	t.Cleanup(server.Close)
	for _, size := range []int{0, 10, 500_000} {
		for _, chunked := range []bool{false, true} {
			text := strings.Repeat("x", size)
			var body io.Reader = strings.NewReader(text)
			if chunked {
				body = io.MultiReader(body) // hides the length
			}
			resp, err := http.Post(server.URL, "application/json", body)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK || string(got) != text {
				t.Errorf("%d bytes, chunked %t: %d %.80s", size, chunked, resp.StatusCode, got)
			}
		}
	}
}

func TestReadBodyThatNeverEnds(t *testing.T) {
	t.Parallel()
	server := echoServer(t, 1000, 300*time.Millisecond)
	for _, test := range []struct{ name, head, want string }{
		{"broken chunk", "Transfer-Encoding: chunked\r\n\r\nzz\r\n", " 400 "},
		{"stalled", "Content-Length: 50\r\n\r\nabc", " 408 "},
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+test.head)
		line, err := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		if !strings.Contains(line, test.want) {
			t.Errorf("%s: %q %v", test.name, line, err)
		}
	}
}

// sentFirst sends a whole request before it reads the answer, as simple clients do.
func sentFirst(t *testing.T, address, head string, size int) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+head+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	part := []byte(strings.Repeat("x", 64<<10))
	for sent := 0; sent < size; sent += len(part) {
		if strings.Contains(head, "chunked") {
			_, err = fmt.Fprintf(conn, "%x\r\n%s\r\n", len(part), part)
		} else {
			_, err = conn.Write(part)
		}
		if err != nil {
			t.Fatalf("the connection breaks after %d bytes: %v", sent, err)
		}
	}
	if strings.Contains(head, "chunked") {
		if _, err := io.WriteString(conn, "0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("the answer breaks off: %v", err)
	}
	return string(answer)
}

// A client that sends everything before it reads is told that its body was too large.
func TestABodyThatIsTooLargeGetsItsAnswerFromSimpleClients(t *testing.T) {
	t.Parallel()
	server := echoServer(t, 1000, 0)
	const size = 15 << 20
	for _, head := range []string{"Connection: close\r\nContent-Length: " + strconv.Itoa(size), "Content-Length: " + strconv.Itoa(size), "Connection: close\r\nTransfer-Encoding: chunked"} {
		answer := sentFirst(t, server.Listener.Addr().String(), head, size)
		if !strings.HasPrefix(answer, "HTTP/1.1 413 ") || !strings.Contains(answer, "Connection: close\r\n") || !strings.HasSuffix(answer, `{"message":"The request body must not be larger than 1000 bytes."}`) {
			t.Errorf("%q: %s", head, answer)
		}
	}
}

// Large bodies that do not end take their share of memory and no more; small ones are still read.
func TestLargeBodiesOfStrangersAreLimited(t *testing.T) {
	t.Parallel()
	server := echoServer(t, 1<<20, 0)
	send := func(head string) net.Conn {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+head+"\r\n\r\n")
		return conn
	}
	refused := func(head string) bool {
		conn := send(head)
		_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return strings.Contains(line, " 503 ")
	}
	var open []net.Conn
	for range budgetShare / (bodyCopies << 20) {
		open = append(open, send("Content-Length: 1048576"))
	}
	waitUntil(t, "there is no room for more", func() bool { return refused("Content-Length: 1048576") })
	waitUntil(t, "a large body that does not tell its length is refused", func() bool {
		return refused("Transfer-Encoding: chunked\r\n\r\n40000\r\n" + strings.Repeat("x", 256<<10))
	})
	for _, body := range []io.Reader{strings.NewReader("small"), io.MultiReader(strings.NewReader("small"))} {
		resp, err := http.Post(server.URL, "", body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("a small body: %s", resp.Status)
		}
	}
	for _, conn := range open {
		conn.Close()
	}
	waitUntil(t, "there is room again", func() bool {
		resp, err := http.Post(server.URL, "", strings.NewReader(strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// A client that asks before it sends is answered immediately, and sends nothing.
func TestAClientThatAsksFirstSendsNothing(t *testing.T) {
	t.Parallel()
	server := echoServer(t, 1000, 0)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5000000\r\n\r\n")
	answer, err := io.ReadAll(conn) // to the end of the connection
	if !strings.HasPrefix(string(answer), "HTTP/1.1 413 ") || err != nil {
		t.Errorf("%s, %v", answer, err)
	}
}

// A body that never ends is not read forever.
func TestDrainingABodyEnds(t *testing.T) {
	t.Parallel()
	server := echoServer(t, 1000, 300*time.Millisecond)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\nx")
	if answer, err := io.ReadAll(conn); !strings.HasPrefix(string(answer), "HTTP/1.1 413 ") || err != nil {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestRequireJSON(t *testing.T) {
	for value, ok := range map[string]bool{
		"":                                      true,
		"application/json":                      true,
		"Application/JSON":                      true,
		"application/json; charset=utf-8":       true,
		"application/json;charset=\"UTF-8\"":    true,
		"application/vnd.api+json":              true,
		"application/json; charset=iso-8859-1":  false,
		"application/x-www-form-urlencoded":     false,
		"text/json":                             false,
		"text/plain":                            false,
		"application/jsonp":                     false,
		"multipart/form-data; boundary=x":       false,
		"application/json; charset=utf-8; char": false,
	} {
		r := httptest.NewRequest("POST", "/", nil)
		if value != "" {
			r.Header.Set("Content-Type", value)
		}
		if err := RequireJSON(r); (err == nil) != ok {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestLongAnswerHasALength(t *testing.T) {
	server := echoServer(t, 1<<20, 0)
	resp, err := http.Post(server.URL, "", strings.NewReader(strings.Repeat("x", 30_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ContentLength != 30_000 {
		t.Errorf("Content-Length %d", resp.ContentLength)
	}
}
