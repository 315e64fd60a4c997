package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestStopTurnsAwayOnlyNewcomers: between the delay and the end, open connections are served, and new ones are not accepted. A
// connection that was accepted and then reset would lose the request that a proxy has already written to it.
func TestStopTurnsAwayOnlyNewcomers(t *testing.T) {
	t.Parallel()
	for range 5 { // on a slow machine the moment may pass before anyone has tried
		if turnedAway(t) {
			return
		}
	}
	t.Error("no client was turned away")
}

func turnedAway(t *testing.T) bool {
	const delay = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	listening := make(chan string, 1)
	health := new(Health)
	s := &Server{
		Health: health, Listen: "127.0.0.1:0", TLS: TLS{Mode: TLSOff}, Timeouts: Timeouts{StopDelay: delay},
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }),
		Listening: func(at Addresses) { listening <- at.Main },
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	address := <-listening
	early, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	cancel()
	for !health.stopping.Load() {
		time.Sleep(time.Millisecond)
	}

	late, shut := 0, time.Now().Add(delay)
	for end := shut.Add(lastCall - 100*time.Millisecond); time.Now().Before(end) && late < 2; {
		tried := time.Now()
		conn, err := net.DialTimeout("tcp", address, 50*time.Millisecond)
		if err != nil {
			if tried.After(shut) { // before that, the machine was only slow
				late++
			}
			continue
		}
		if late > 0 {
			t.Error("a client got in after others were turned away")
		}
		ask(t, conn) // every accepted connection is served
		conn.Close()
	}
	ask(t, early)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return late > 0
}

// ask checks that there is an answer, and that it is the last one on this connection.
func ask(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Error(err)
		return
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "served" || !response.Close {
		t.Errorf("%q, %v; the connection ends: %t", body, err, response.Close)
	}
}

// TestAnAnswerThatWasAskedForBeforeTheStopClosesItsConnection: a proxy would keep the connection, and write the next request to it at the moment in which
// the server closes it.
func TestAnAnswerThatWasAskedForBeforeTheStopClosesItsConnection(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter){
		"a status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"a body":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, "served") },
		"nothing":  func(http.ResponseWriter) {},
	} {
		asked, stopping := make(chan struct{}), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		listening := make(chan string, 1)
		health := new(Health)
		plumbing := &Plumbing{Log: discard(), Health: health}
		s := &Server{
			Health: health, Listen: "127.0.0.1:0", TLS: TLS{Mode: TLSOff}, Timeouts: Timeouts{StopDelay: 100 * time.Millisecond}, Log: discard(),
			Handler: plumbing.Wrap(func(w http.ResponseWriter, _ *http.Request) error {
				close(asked)
				<-stopping
				answer(w)
				return nil
			}),
			Listening: func(at Addresses) { listening <- at.Main },
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		go func() {
			<-asked
			cancel()
			for !health.stopping.Load() {
				time.Sleep(time.Millisecond)
			}
			close(stopping)
		}()
		response, err := http.Get("http://" + <-listening)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if !response.Close {
			t.Errorf("%s: the connection stays open", name)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
