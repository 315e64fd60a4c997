//go:build drill

package donorbook_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/rig"
)

// Gates on the program that make build builds, in a process of its own and with its defaults.
// CONTRIBUTING.md lists them with the others.

const (
	largestProgram = 54_000_000

	// What a request may allocate beyond what net/http needs to answer the same bytes.
	getAllocations, getBytes   = 14, 1000
	listAllocations, listBytes = 26, 2000
)

// built is the program, up to date. Under make test it was built already, and nothing is left to do.
func built(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command("make", "build").CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	return "bin/donorbook"
}

func TestTheProgramIsSmall(t *testing.T) {
	t.Parallel()
	shipped := filepath.Join(t.TempDir(), "donorbook")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", shipped, "./cmd/donorbook").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(shipped)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > largestProgram {
		t.Errorf("the program has %d bytes, and may have %d: look at what go list -deps ./cmd/donorbook has more than before, and at the tables that a new package brings", info.Size(), largestProgram)
	}
}

func TestReadingAContactAllocatesLittle(t *testing.T) {
	s := startProgram(t)
	for _, test := range []struct {
		what, path         string
		allocations, bytes float64
	}{
		{"a GET", "/v1/contacts/" + s.contact, getAllocations, getBytes},
		{"a list of 20", "/v1/contacts", listAllocations, listBytes},
	} {
		body := s.ask(test.path)
		bare := bareServer(t, body)
		request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nAccept: */*\r\n\r\n", test.path, s.secret)
		allocations, size := allocated(t, s.Address, request, s.counters)
		bareAllocations, bareSize := allocated(t, bare, request, ownCounters)
		t.Logf("%s: %.1f allocations and %.0f bytes, bare net/http %.1f and %.0f", test.what, allocations, size, bareAllocations, bareSize)
		if allocations > bareAllocations+test.allocations || size > bareSize+test.bytes {
			t.Errorf("%s takes %.1f allocations and %.0f bytes, bare net/http %.1f and %.0f, and may take %.0f and %.0f more: look for what became a copy, a closure or an interface between web.Plumbing and the store",
				test.what, allocations, size, bareAllocations, bareSize, test.allocations, test.bytes)
		}
	}
}

// bareServer answers body and does nothing else.
func bareServer(t *testing.T, body []byte) (address string) {
	t.Helper()
	length := strconv.Itoa(len(body))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func ownCounters() (allocations, bytes float64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Mallocs), float64(m.TotalAlloc)
}

// allocated is what one of many requests over one connection allocates. This side of it allocates nothing.
func allocated(t *testing.T, address string, request []byte, counters func() (float64, float64)) (allocations, size float64) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	const many = 20_000 // the runtime counts a span of objects at a time, which would show in fewer requests
	repeat := func(n int) {
		for range n {
			if _, err := conn.Write(request); err != nil {
				t.Fatal(err)
			}
			if err := skipAnswer(answers); err != nil {
				t.Fatal(err)
			}
		}
	}
	repeat(many / 10)
	counters()
	a, b := counters()
	lookA, lookB := counters() // what a look at the counters costs
	repeat(many)
	afterA, afterB := counters()
	return (afterA - lookA - (lookA - a)) / many, (afterB - lookB - (lookB - b)) / many
}

// skipAnswer reads one answer, which must be 200.
func skipAnswer(r *bufio.Reader) error {
	length, first := -1, true
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("the answer is %s", line)
		}
		first = false
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			length = 0
			for _, digit := range bytes.TrimSpace(value) {
				length = 10*length + int(digit-'0')
			}
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
	}
	if length < 0 {
		return fmt.Errorf("the answer tells no length")
	}
	_, err := r.Discard(length)
	return err
}

// program is a server of the built program with some contacts.
type program struct {
	*rig.Program
	t               *testing.T
	secret, contact string
}

func startProgram(t *testing.T) *program {
	t.Helper()
	s := &program{t: t, Program: rig.Serve(t, built(t), "--rate-limit", "0")}
	s.secret = s.Account("Gate")
	for i := range 20 {
		s.contact = s.create(i)
	}
	return s
}

// create makes a contact of the usual size and returns its id.
func (s *program) create(i int) (id string) {
	body := fmt.Sprintf(`{"first_name":"Ana","last_name":"Okafor","company":"Blue Heron Books","title":"Director of Development",
		"emails":[{"type":"personal","value":"p%d@example.org"},{"type":"work","value":"w%[1]d@example.com"}],
		"addresses":[{"address_1":"12 Harbor Street","city":"Boston","state":"MA","zipcode":"02110","country":"USA"}],
		"tags":["newsletter","gala 2026","volunteer"]}`, i)
	answer := s.Call(s.secret, http.StatusCreated, "POST", "/v1/contacts", body)
	_, rest, _ := strings.Cut(string(answer), `"id":`)
	id, _, _ = strings.Cut(rest, ",")
	return id
}

func (s *program) ask(path string) []byte {
	s.t.Helper()
	return s.Call(s.secret, http.StatusOK, "GET", path, "")
}

// counters are the program's own.
func (s *program) counters() (allocations, bytes float64) {
	told := s.metrics()
	return told["go_memstats_mallocs_total"], told["go_memstats_alloc_bytes_total"]
}

// goroutines is how many of them the program has.
func (s *program) goroutines() int { return int(s.metrics()["go_goroutines"]) }

// metrics are the numbers without labels, as Prometheus reads them.
func (s *program) metrics() map[string]float64 {
	resp, err := http.Get("http://" + s.Metrics + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	told := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		told[name], _ = strconv.ParseFloat(value, 64)
	}
	if told["go_memstats_mallocs_total"] == 0 || told["go_goroutines"] == 0 {
		s.t.Fatal("the program does not tell what it allocates")
	}
	return told
}
