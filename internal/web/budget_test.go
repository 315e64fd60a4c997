package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestTheBudgetHasAShareForEachAccountAndATotalForAll(t *testing.T) {
	b := NewBudget()
	take := func(account int64, bytes int) func() {
		t.Helper()
		release, err := b.Take(account, bytes)
		if err != nil {
			t.Fatalf("%d bytes for account %d: %v", bytes, account, err)
		}
		return release
	}
	refused := func(account int64, bytes int) {
		t.Helper()
		_, err := b.Take(account, bytes)
		var own *Error
		if !errors.As(err, &own) || own.Status != http.StatusServiceUnavailable || own.Header.Get("Retry-After") != "1" {
			t.Errorf("%d bytes for account %d: %v", bytes, account, err)
		}
	}
	first := take(1, 7<<20)
	refused(1, 2<<20)
	take(1, 64<<10) // small ones are free, however many
	second := take(1, 1<<20)
	refused(1, 64<<10+1)
	for account := range int64(3) {
		take(2+account, 8<<20)
	}
	refused(NoAccount, 1<<20) // all is given out
	take(NoAccount, 64<<10)
	first()
	take(NoAccount, 1<<20)
	second()
	if len(b.accounts) != 4 || b.used != 25<<20 {
		t.Errorf("%v: %d bytes are in use", b.accounts, b.used)
	}
}

// slowWriter notes what it was given, and until when it was to take it.
type slowWriter struct {
	http.ResponseWriter
	steps    []int
	deadline []time.Time
}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.steps = append(w.steps, len(b))
	return w.ResponseWriter.Write(b)
}

func (w *slowWriter) SetWriteDeadline(at time.Time) error {
	w.deadline = append(w.deadline, at)
	return nil
}

// A client that goes on reading may take as long as it needs; one that stops is given up after the time for one step.
func TestEachStepOfALongAnswerHasItsOwnDeadline(t *testing.T) {
	answer := func(parts ...int) *slowWriter {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder()}
		handler := (&Plumbing{}).Wrap(func(w http.ResponseWriter, _ *http.Request) error {
			for _, part := range parts {
				if n, err := w.Write(make([]byte, part)); n != part || err != nil {
					t.Errorf("%d of %d bytes: %v", n, part, err)
				}
			}
			return nil
		})
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w
	}
	if w := answer(100, 64<<10-100); len(w.deadline) != 0 || len(w.steps) != 2 {
		t.Errorf("a short answer: %v, %v", w.steps, w.deadline)
	}
	begun := time.Now()
	w := answer(200<<10, 10)
	if len(w.steps) != 5 || len(w.deadline) != 5 {
		t.Fatalf("a long answer: %v, %v", w.steps, w.deadline)
	}
	for i, at := range w.deadline {
		if w.steps[i] > 64<<10 || at.Before(begun.Add(10*time.Second)) || at.After(time.Now().Add(10*time.Second)) {
			t.Errorf("a step of %d bytes until %v", w.steps[i], at)
		}
	}
}

func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	defer func(usual time.Duration) { pace = usual }(pace)
	pace = 100 * time.Millisecond
	failed := make(chan error, 1)
	server := httptest.NewServer((&Plumbing{}).Wrap(func(w http.ResponseWriter, _ *http.Request) error {
		_, err := w.Write(make([]byte, 64<<20))
		failed <- err
		return err
	}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("64 MiB were sent to a client that does not read")
		}
	case <-time.After(20 * time.Second):
		t.Error("the server still waits")
	}
}
