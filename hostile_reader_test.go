//go:build drill

package donorbook_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/rig/assert"
)

// How long others wait at most, most of the time, while one user reads on many connections. Where the same user reads
// on a few, they wait a little already.
const (
	waitOfOthers         = 100 * time.Millisecond
	readers, someReaders = 200, 4
	readingTime          = 2 * time.Second
)

// A contact was changed a hundred times, with a hundred emails and four hundred tags each time. Nobody else notices how
// often one user reads the pages about it.
func TestOneReaderDelaysNobodyElse(t *testing.T) {
	s := startProgram(t)
	hostile := s.uploader("Hostile")
	var made struct{ ID int64 }
	assert.Succeed(t, json.Unmarshal(s.Call(hostile.secret, 201, "POST", "/v1/contacts", changedOften(0)), &made))
	contact := fmt.Sprintf("/v1/contacts/%d", made.ID)
	for round := range 100 {
		s.Call(hostile.secret, 200, "PATCH", contact, changedOften(1+round))
	}
	page := strings.Replace(hostile.path, "import", fmt.Sprint(made.ID), 1)
	for _, request := range []string{
		fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nCookie: %s\r\n\r\n", page, hostile.cookie),
		fmt.Sprintf("GET %s/history HTTP/1.1\r\nHost: localhost\r\nCookie: %s\r\n\r\n", page, hostile.cookie),
		fmt.Sprintf("GET %s/activities?per_page=100 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
			contact, hostile.secret),
	} {
		what, _, _ := strings.Cut(request, " HTTP")
		few, many := s.waitBeside(request, someReaders), s.waitBeside(request, readers)
		t.Logf("%s: others wait %v beside %d connections, and %v beside %d", what, few, someReaders, many, readers)
		if many > waitOfOthers+4*few {
			t.Errorf("%s: others wait %v beside %d connections, and %v beside %d", what, few, someReaders, many,
				readers)
		}
	}
	s.tookLittle()
}

func changedOften(round int) string {
	var emails, tags []string
	for i := range 100 {
		emails = append(emails, fmt.Sprintf(`{"value":"somebody.with.a.long.name.%d.%d@example.org"}`, round, i))
	}
	for i := range 400 {
		tags = append(tags, fmt.Sprintf(`"a tag of round %d with number %d"`, round, i))
	}
	return `{"first_name":"Ada","last_name":"Lovelace","emails":[` + strings.Join(emails, ",") + `],"tags":[` +
		strings.Join(tags, ",") + `]}`
}

// waitBeside is how long someone else waits for a contact, most of the time, while one user sends a request again and
// again on so many connections.
func (s *program) waitBeside(request string, connections int) time.Duration {
	s.t.Helper()
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range connections {
		running.Go(func() { s.readAgain(request, stop) })
	}
	var took []time.Duration
	for end := time.Now().Add(readingTime); time.Now().Before(end) || len(took) < 5; time.Sleep(5 * time.Millisecond) {
		begun := time.Now()
		s.ask("/v1/contacts/" + s.contact)
		took = append(took, time.Since(begun))
	}
	close(stop)
	running.Wait()
	return percentile(took, 50)
}

// readAgain sends a request again and again over one connection, and reads the answers.
func (s *program) readAgain(request string, stop <-chan struct{}) {
	conn, err := net.Dial("tcp", s.Address)
	if err != nil {
		return
	}
	defer conn.Close()
	go func() {
		<-stop
		_ = conn.SetDeadline(time.Now())
	}()
	answer := bufio.NewReader(conn)
	for {
		select {
		case <-stop:
			return
		default:
		}
		if _, err := io.WriteString(conn, request); err != nil {
			return
		}
		response, err := http.ReadResponse(answer, nil)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, response.Body)
	}
}
