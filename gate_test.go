//go:build drill

package donorbook_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// Gates on the program that make build builds, in a process of its own and with its defaults.
// CONTRIBUTING.md lists them with the others.

const (
	largestProgram = 54_000_000
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
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", shipped,
		"./cmd/donorbook").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info := assert.Must(os.Stat(shipped))(t)
	if info.Size() > largestProgram {
		t.Errorf("the program has %d bytes, and may have %d: look at what go list -deps ./cmd/donorbook has more than before, and at the tables that a new package brings", info.Size(), largestProgram)
	}
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
	answer := s.Call(s.secret, 201, "POST", "/v1/contacts", body)
	_, rest, _ := strings.Cut(string(answer), `"id":`)
	id, _, _ = strings.Cut(rest, ",")
	return id
}

func (s *program) ask(path string) []byte {
	s.t.Helper()
	return s.Call(s.secret, 200, "GET", path, "")
}

// tookLittle fails where the program took more memory than it promises.
func (s *program) tookLittle() {
	s.t.Helper()
	memory := s.MemoryPeak()
	s.t.Logf("%d MiB at most", memory>>20)
	if memory > largestMemory {
		s.t.Errorf("the program took %d MiB, and may take %d: look for what a request keeps in memory while its client is slow",
			memory>>20, largestMemory>>20)
	}
}

// goroutines is how many of them the program has.
func (s *program) goroutines() int { return int(s.metrics()["go_goroutines"]) }

// metrics are the numbers without labels, as Prometheus reads them.
func (s *program) metrics() map[string]float64 {
	resp := assert.Must(http.Get("http://" + s.Metrics + "/metrics"))(s.t)
	defer resp.Body.Close()
	told := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		told[name], _ = strconv.ParseFloat(value, 64)
	}
	if told["go_goroutines"] == 0 {
		s.t.Fatal("the program does not tell how many goroutines it has")
	}
	return told
}
