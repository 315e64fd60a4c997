package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"donorbook/internal/rig/rows"
)

func echo(limit int64) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := ReadBody(w, r, limit)
		if err != nil {
			return err
		}
		return WriteJSON(w, http.StatusOK, body)
	}
}

// post sends a body, which tells its length or comes in chunks.
func post(t *testing.T, client *http.Client, size int, chunked bool) (status, length int, same bool) {
	t.Helper()
	text := strings.Repeat("x", size)
	var body io.Reader = strings.NewReader(text)
	if chunked {
		body = io.MultiReader(body) // hides the length
	}
	response, got := read(t)(client.Post("http://main/", "application/json", body))
	return response.StatusCode, int(response.ContentLength), got == text
}

func TestReadBody(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		n.serve(t, echo(1000))
		for size, status := range map[int]int{0: 200, 10: 200, 1000: 200, 1001: 413, 3 << 20: 413} {
			for _, chunked := range []bool{false, true} {
				got, length, same := post(t, n.client(t, nil), size, chunked)
				if got != status || same != (status == 200) || same && length != size {
					t.Errorf("%d bytes, chunked %t: %d, %d bytes", size, chunked, got, length)
				}
			}
		}
	})
}

// A body that was read already is available to the next reader, and counts once in the memory budget. A long answer
// tells its length.
func TestABodyCanBeReadAgain(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		n.serve(t, func(w http.ResponseWriter, r *http.Request) error {
			body, err := ReadBody(w, r, MaxBody)
			if err != nil {
				return err
			}
			again, err := ReadBody(w, WithBody(r, body), MaxBody)
			if holds := len(exchangeOf(w).holds); err != nil || len(body) > budgetFree && holds != 1 {
				return fmt.Errorf("the budget is held %d times: %w", holds, err)
			}
			return WriteJSON(w, http.StatusOK, again)
		})
		for _, size := range []int{0, 10, 500_000} {
			for _, chunked := range []bool{false, true} {
				status, length, same := post(t, n.client(t, nil), size, chunked)
				if status != 200 || length != size || !same {
					t.Errorf("%d bytes, chunked %t: %d, %d bytes", size, chunked, status, length)
				}
			}
		}
	})
}

// A body that is broken, does not end in time, or is too large and never ends is answered, and its connection closed. A
// client that asks before it sends is answered at once.
func TestBodiesThatDoNotEnd(t *testing.T) {
	for head, want := range map[string]string{
		"Transfer-Encoding: chunked\r\n\r\nzz\r\n":                " 400 0s",
		"Content-Length: 50\r\n\r\nabc":                           " 408 30s",
		"Content-Length: 5000000\r\n\r\nx":                        " 413 30s",
		"Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n": " 413 0s",
	} {
		bubble(t, func(t *testing.T, n network) {
			n.serve(t, echo(1000))
			begun := time.Now()
			answer := sent(t, n.dial(t, "127.0.0.1"), "POST / HTTP/1.1\r\nHost: localhost\r\n"+head)
			_, status, _ := strings.Cut(answer, " ")
			took := time.Since(begun).Truncate(time.Second)
			equal(t, fmt.Sprintf(" %.3s %v", status, took), want, "%q (%v)", head, answer)
		})
	}
}

// A client that sends everything before it reads is told that its body was too large.
func TestABodyThatIsTooLargeGetsItsAnswerFromSimpleClients(t *testing.T) {
	server := httptest.NewServer(quietPlumbing().Wrap(echo(1000)))
	t.Cleanup(server.Close)
	const size = 15 << 20
	part := strings.Repeat("x", 64<<10)
	for head, chunk := range map[string]string{
		"Connection: close\r\nContent-Length: " + strconv.Itoa(size): part,
		"Content-Length: " + strconv.Itoa(size):                      part,
		"Connection: close\r\nTransfer-Encoding: chunked":            fmt.Sprintf("%x\r\n%s\r\n", len(part), part),
	} {
		conn := must(net.Dial("tcp", server.Listener.Addr().String()))(t)
		defer conn.Close()
		must(io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+head+"\r\n\r\n"))(t)
		for range size / len(part) {
			must(io.WriteString(conn, chunk))(t)
		}
		if strings.Contains(head, "chunked") {
			must(io.WriteString(conn, "0\r\n\r\n"))(t)
		}
		answer := string(must(io.ReadAll(conn))(t))
		if !strings.HasPrefix(answer, "HTTP/1.1 413 ") || !strings.Contains(answer, "Connection: close\r\n") ||
			!strings.HasSuffix(answer, `{"message":"The request body must not be larger than 1000 bytes."}`) {
			t.Errorf("%q: %s", head, answer)
		}
	}
}

// Large bodies that do not end take their share of memory and no more; small ones are still read.
func TestLargeBodiesOfStrangersAreLimited(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		n.serve(t, echo(1<<20))
		begin := func(head string) net.Conn {
			conn := n.dial(t, "127.0.0.1")
			must(io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+head))(t)
			return conn
		}
		var open []net.Conn
		for range budgetShare / (bodyCopies << 20) {
			open = append(open, begin("Content-Length: 1048576\r\n\r\n"))
		}
		synctest.Wait()
		for _, head := range []string{
			"Content-Length: 1048576\r\n\r\n",
			"Transfer-Encoding: chunked\r\n\r\n40000\r\n" + strings.Repeat("x", smallBody+1),
		} {
			line := make([]byte, 12)
			must(io.ReadFull(begin(head), line))(t)
			equal(t, string(line), "HTTP/1.1 503", "one too many: %s", line)
		}
		want := func(what string, size int, chunked bool) {
			t.Helper()
			if status, _, _ := post(t, n.client(t, nil), size, chunked); status != 200 {
				t.Errorf("%s: %d", what, status)
			}
		}
		want("a small body", 5, false)
		want("a small body in chunks", 5, true)
		for _, conn := range open {
			conn.Close()
		}
		synctest.Wait()
		want("when there is room again", 1<<20, false)
	})
}

func TestRequireJSON(t *testing.T) {
	for value, ok := range rows.Pairs(`
		""                                     true
		application/json                       true
		Application/JSON                       true
		application/json; charset=utf-8        true
		application/json;charset="UTF-8"       true
		application/vnd.api+json               true
		application/json; charset=iso-8859-1   false
		application/x-www-form-urlencoded      false
		text/json                              false
		text/plain                             false
		application/jsonp                      false
		multipart/form-data; boundary=x        false
		application/json; charset=utf-8; char  false
	`) {
		r := httptest.NewRequest("POST", "/", nil)
		if value != "" {
			r.Header.Set("Content-Type", value)
		}
		equal(t, fmt.Sprint(RequireJSON(r) == nil), ok, "%q", value)
	}
}

// The memory of one account leaves room for the others, up to a total that is never exceeded.
func TestABudgetIsSharedByAccounts(t *testing.T) {
	b := newBudget()
	for account := range int64(budgetTotal / budgetShare) {
		o := owner{account: account + 1}
		if !b.take(o, budgetShare) {
			t.Fatalf("account %d gets nothing", o.account)
		}
		if b.take(o, 1) {
			t.Errorf("account %d gets more than its share", o.account)
		}
	}
	if b.take(owner{account: 99}, 1) {
		t.Error("more is given out than there is")
	}
	b.give(owner{account: 1}, budgetShare)
	if !b.take(owner{user: 7}, budgetShare) {
		t.Error("what was given back is not there")
	}
	for o, n := range b.owners {
		b.give(o, n)
	}
	equal(t, b.used, 0)
	equal(t, len(b.owners), 0)
}

// Owners who take all that they get, piece by piece, leave something for another.
func TestGreedyOwnersLeaveRoomForAnother(t *testing.T) {
	const piece = 1 << 20
	for greedy := range int64(7) {
		b := newBudget()
		for o := (owner{account: 1}); o.account <= greedy; o.account++ {
			for b.take(o, piece) {
			}
		}
		if !b.take(owner{account: 99}, piece) {
			t.Errorf("%d owners took all of it", greedy)
		}
	}
}

// slowWriter records what it was given, and how long the client has for it.
type slowWriter struct {
	http.ResponseWriter
	steps []string
}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.steps = append(w.steps, strconv.Itoa(len(b)))
	return w.ResponseWriter.Write(b)
}

func (w *slowWriter) SetWriteDeadline(at time.Time) error {
	w.steps = append(w.steps, time.Until(at).String())
	return nil
}

// A client that keeps reading may take as long as it needs; one that stops is disconnected after the time for one step.
func TestEachStepOfALongAnswerHasItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, parts := range map[string][]int{
			"[100 65436]": {100, 64<<10 - 100},
			"[10s 65536 10s 65536 10s 65536 10s 8192 10s 10]": {200 << 10, 10},
		} {
			w := &slowWriter{ResponseWriter: httptest.NewRecorder()}
			quietPlumbing().Wrap(func(w http.ResponseWriter, _ *http.Request) error {
				for _, part := range parts {
					equal(t, must(w.Write(make([]byte, part)))(t), part)
				}
				return nil
			}).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			equal(t, fmt.Sprint(w.steps), want, "%v", parts)
		}
	})
}

func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		failed := make(chan error, 1)
		n.serve(t, func(w http.ResponseWriter, _ *http.Request) error {
			_, err := w.Write(make([]byte, 64<<20))
			failed <- err
			return err
		})
		begun := time.Now()
		must(io.WriteString(n.dial(t, "127.0.0.1"), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))(t)
		if err := <-failed; err == nil || time.Since(begun) != pace {
			t.Errorf("after %v, the server sees %v", time.Since(begun), err)
		}
	})
}
