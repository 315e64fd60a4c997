//go:build drill

package donorbook_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// What clients can make the program take, as it is shipped. Other tests say what each gets as an answer.

// attack opens connections that send something and read nothing, all at once, and keeps them open. It returns when all
// have sent what the server took of it, and somebody else was answered.
func (s *program) attack(connections int, send func(w io.Writer, i int)) {
	s.t.Helper()
	var group sync.WaitGroup
	for i := range connections {
		conn := assert.Must(net.Dial("tcp", s.Address))(s.t)
		s.t.Cleanup(func() { conn.Close() })
		_ = conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
		group.Go(func() {
			w := bufio.NewWriterSize(conn, 64<<10)
			send(w, i)
			_ = w.Flush() // the server may have closed the connection
		})
	}
	group.Wait()
	for range 20 {
		s.ask("/v1/contacts")
	}
}

// costs fails where the program took more memory than this because of what was done.
func (s *program) costs(megabytes int, do func()) {
	s.t.Helper()
	before := s.MemoryPeak() >> 20
	do()
	grown := s.MemoryPeak()>>20 - before
	s.t.Logf("%d MB before, %d MB more", before, grown)
	if grown > megabytes {
		s.t.Errorf("the server took %d MB more, and may take %d", grown, megabytes)
	}
}

// Strangers send forms of a megabyte and never read the answer, half of them so much as the sign-in page carries.
func TestFormsOfStrangersCostLittleMemory(t *testing.T) {
	s := startProgram(t)
	part := "note=" + strings.Repeat("'", 64<<10-6) + "&" // an apostrophe takes five bytes on a page
	s.costs(120, func() {
		s.attack(200, func(w io.Writer, i int) {
			size := 16 - 15*(i%2)
			fmt.Fprintf(w,
				"POST /console/o/abc/contacts HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\nCookie: __Host-user=1\r\n"+
					"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n", size*len(part))
			for range size {
				_, _ = io.WriteString(w, part)
			}
		})
	})
}

// Clients with a key send bodies of a megabyte but for the last byte, and strangers send bodies that are far too large:
// to the API and to the address of assistants.
func TestBodiesThatDoNotEndCostLittleMemory(t *testing.T) {
	for path, strangers := range map[string]int{"/v1/contacts": 1, "/mcp": 2} { // of three
		s := startProgram(t)
		part := strings.Repeat(" ", 64<<10)
		s.costs(120, func() {
			s.attack(300, func(w io.Writer, i int) {
				key, size := s.secret, 16
				if i%3 < strangers {
					key, size = "no-key", 160
				}
				fmt.Fprintf(w,
					"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
						"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n", path, key,
					size*len(part))
				for range size - 1 {
					_, _ = io.WriteString(w, part)
				}
				_, _ = io.WriteString(w, part[1:])
			})
		})
	}
}

// Strangers open the form of a gift, send forms of 16 KiB that never end, and events of 256 KiB that never end, and
// read no answer. Someone who gives is answered meanwhile.
func TestFormsOfGiftsAndEventsOfStrangersCostLittleMemory(t *testing.T) {
	s := startProgram(t)
	s.Call(s.secret, 201, "POST", "/v1/campaigns", `{"title":"Coats"}`)
	account := s.Run("account", "create", "--name", "Harbor")
	s.costs(120, func() {
		s.attack(300, func(w io.Writer, i int) {
			method, path, kind, size := "POST", "/coats/donate", "application/x-www-form-urlencoded", 16<<10
			switch i % 3 {
			case 0:
				method, size = "GET", 0
			case 1:
				path, kind, size = "/hooks/stripe/"+account, "application/json", 256<<10
			}
			fmt.Fprintf(w,
				"%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", method, path, kind, size)
			_, _ = io.WriteString(w, strings.Repeat("a=%27&", size/6)) // without its last bytes
		})
		for range 20 {
			begun := time.Now()
			response, answer, err := rig.Send(http.DefaultClient, "", "GET", "http://"+s.Address+"/coats/donate", "",
				"Accept", "text/html")
			if err != nil || response.StatusCode != 200 || !strings.Contains(string(answer), "Donate to Coats") ||
				time.Since(begun) > 5*time.Second {
				t.Fatalf("after %v: %v %.300s", time.Since(begun), err, answer)
			}
		}
	})
}

// A stranger asks a thousand times, and a client with a key calls tools a thousand times: neither leaves anything
// behind.
func TestMessagesLeaveNothingBehind(t *testing.T) {
	s := startProgram(t)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_contacts","arguments":{}}}`
	ask := func(secret string, status int) {
		response, answer, err := rig.Send(http.DefaultClient, secret, "POST", "http://"+s.Address+"/mcp", call,
			"Accept", "application/json, text/event-stream")
		if err != nil || response.StatusCode != status {
			t.Fatalf("%v: %.300s", err, answer)
		}
	}
	ask(s.secret, 200) // the first one reads the document
	before := s.goroutines()
	s.costs(60, func() {
		for range 1000 {
			ask("no-key", 401)
			ask(s.secret, 200)
		}
	})
	if after := s.goroutines(); after > before+10 {
		t.Errorf("there were %d goroutines, and now there are %d", before, after)
	}
}

// People ask for the files of lists of large contacts, in all formats, and never read them. The memory is bounded, and
// someone else's file is sent meanwhile.
func TestFilesThatNoOneReadsCostLittleMemory(t *testing.T) {
	t.Parallel()
	s := startProgram(t)
	people := make([]uploader, 4)
	for i := range people {
		people[i] = s.uploader(fmt.Sprintf("Slow%d", i))
		for n := range 60 {
			s.Call(people[i].secret, 201, "POST", "/v1/contacts?force_create=true", giantContact(n))
		}
	}
	good := s.uploader("Good")
	s.Call(good.secret, 201, "POST", "/v1/contacts", ordinaryContact(1))
	s.costs(200, func() {
		s.attack(60, func(w io.Writer, i int) {
			p := people[i%len(people)]
			fmt.Fprintf(w, "GET %s?format=%s HTTP/1.1\r\nHost: localhost\r\nCookie: %s\r\n\r\n",
				strings.Replace(p.path, "/import", "/export", 1), []string{"csv", "xlsx", "jsonl"}[i%3], p.cookie)
		})
		time.Sleep(5 * time.Second) // while the files are written as far as anyone reads them
		_, file := assert.Must2(rig.Send(direct, "", "GET",
			"http://"+s.Address+strings.Replace(good.path, "/import", "/export", 1)+"?format=csv",
			"", "Cookie", good.cookie))(t)
		assert.Contains(t, string(file), "Okafor", "someone else's file: %.200s", file)
	})
	s.tookLittle()
}
