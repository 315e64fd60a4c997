package donorbook_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// How long others wait at most while one user reads as much as they can, and how many connections that user has.
const (
	waitOfOthers = 250 * time.Millisecond
	readers      = 200
	readingTime  = 3 * time.Second
)

// A contact was changed a hundred times, with a hundred emails and four hundred tags each time. Nobody else notices how often one user reads the pages about it.
func TestOneReaderDelaysNobodyElse(t *testing.T) {
	s := startProgram(t)
	hostile := s.uploader("Hostile")
	var made struct{ ID int64 }
	if err := json.Unmarshal(s.Call(hostile.secret, http.StatusCreated, "POST", "/v1/contacts", changedOften(0)), &made); err != nil {
		t.Fatal(err)
	}
	contact := fmt.Sprintf("/v1/contacts/%d", made.ID)
	for round := range 100 {
		s.Call(hostile.secret, http.StatusOK, "PATCH", contact, changedOften(1+round))
	}
	page := strings.Replace(hostile.path, "import", fmt.Sprint(made.ID), 1)
	for _, request := range []string{
		fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nCookie: %s\r\n\r\n", page, hostile.cookie),
		fmt.Sprintf("GET %s/history HTTP/1.1\r\nHost: localhost\r\nCookie: %s\r\n\r\n", page, hostile.cookie),
		fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", contact, hostile.secret),
		fmt.Sprintf("GET %s/activities?per_page=100 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", contact, hostile.secret),
	} {
		what, _, _ := strings.Cut(request, " HTTP")
		stop := make(chan struct{})
		var running sync.WaitGroup
		var bytes, answers int
		var mu sync.Mutex
		for range readers {
			running.Go(func() {
				n, many := s.readAgain(request, stop)
				mu.Lock()
				defer mu.Unlock()
				bytes, answers = bytes+n, answers+many
			})
		}
		took, bare := s.wait(readingTime)
		close(stop)
		running.Wait()
		slow, allowed := percentile(took, 99), waitOfOthers+4*percentile(bare, 99)
		t.Logf("%s: %d answers of %d bytes; 99 of 100 requests of others within %v (%d of them), and may take %v; a server that does nothing answers within %v",
			what, answers, bytes/max(1, answers), slow, len(took), allowed, percentile(bare, 99))
		if slow > allowed {
			t.Errorf("%s, read on %d connections: 99 of 100 requests of others took up to %v, and may take %v", what, readers, slow, allowed)
		}
	}
	t.Logf("%d MiB at most", s.MemoryPeak()>>20)
	if memory := s.MemoryPeak(); memory > largestMemory {
		t.Errorf("the program took %d MiB, and may take %d", memory>>20, largestMemory>>20)
	}
}

func changedOften(round int) string {
	var emails, tags []string
	for i := range 100 {
		emails = append(emails, fmt.Sprintf(`{"value":"somebody.with.a.long.name.%d.%d@example.org"}`, round, i))
	}
	for i := range 400 {
		tags = append(tags, fmt.Sprintf(`"a tag of round %d with number %d"`, round, i))
	}
	return `{"first_name":"Ada","last_name":"Lovelace","emails":[` + strings.Join(emails, ",") + `],"tags":[` + strings.Join(tags, ",") + `]}`
}

// wait is how long someone else waits for a contact, again and again, and for a server that does nothing.
func (s *program) wait(during time.Duration) (took, bare []time.Duration) {
	s.t.Helper()
	idle := httptest.NewServer(http.NotFoundHandler())
	defer idle.Close()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		begun := time.Now()
		s.ask("/v1/contacts/" + s.contact)
		took = append(took, time.Since(begun))
		begun = time.Now()
		response, err := idle.Client().Get(idle.URL)
		if err != nil {
			s.t.Fatal(err)
		}
		response.Body.Close()
		bare = append(bare, time.Since(begun))
	}
	return took, bare
}

// readAgain sends a request again and again over one connection, and reads the answers.
func (s *program) readAgain(request string, stop <-chan struct{}) (bytes, answers int) {
	conn, err := net.Dial("tcp", s.Address)
	if err != nil {
		return 0, 0
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
			return bytes, answers
		default:
		}
		if _, err := io.WriteString(conn, request); err != nil {
			return bytes, answers
		}
		response, err := http.ReadResponse(answer, nil)
		if err != nil {
			return bytes, answers
		}
		n, _ := io.Copy(io.Discard, response.Body)
		bytes, answers = bytes+int(n), answers+1
	}
}
