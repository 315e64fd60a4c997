package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

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
	if b.used != 0 || len(b.owners) != 0 {
		t.Errorf("%d bytes of %d owners are left", b.used, len(b.owners))
	}
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

// slowWriter records what it was given, and the deadline.
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

// A client that keeps reading may take as long as it needs; one that stops is disconnected after the time for one step.
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
