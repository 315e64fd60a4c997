package web

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A hundred reads of one key are made four at a time, in the order in which they came; another key does not wait for
// them.
func TestOneCallerReadsAFewThingsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		greedy := caller{key: 1}
		var mu sync.Mutex
		var inside, most int
		var order []int
		for i := range 100 {
			go func() {
				if err := turns.enter(t.Context(), greedy); err != nil {
					t.Error(err)
				}
				mu.Lock()
				inside++
				most = max(most, inside)
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				inside--
				mu.Unlock()
				turns.leave(greedy)
			}()
			synctest.Wait()
		}
		begun := time.Now()
		if err := turns.enter(t.Context(), caller{user: 1}); err != nil || time.Since(begun) > 0 {
			t.Errorf("another caller waited %v: %v", time.Since(begun), err)
		}
		turns.leave(caller{user: 1})
		time.Sleep(time.Minute)
		synctest.Wait()
		equal(t, most, readsOfCaller)
		equal(t, len(order), 100)
		for place, i := range order {
			equal(t, place/readsOfCaller, i/readsOfCaller, "number %d was read in place %d", i, place)
		}
		equal(t, len(turns.callers), 0)
	})
}

// Who waited for half a minute is told so, and who went away gives up their place in the line: both leave nothing
// behind.
func TestWhoGivesUpLeavesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		greedy := caller{key: 1}
		for range readsOfCaller {
			if err := turns.enter(t.Context(), greedy); err != nil {
				t.Fatal(err)
			}
		}
		gone, goAway := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, goAway)
		if err := turns.enter(gone, greedy); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that went away: %v", err)
		}
		begun := time.Now()
		var limited *Error
		if err := turns.enter(t.Context(), greedy); !errors.As(err, &limited) ||
			limited.Status != http.StatusTooManyRequests || time.Since(begun) != turnPatience {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		for range readsOfCaller {
			turns.leave(greedy)
		}
		equal(t, len(turns.callers), 0)
	})
}
