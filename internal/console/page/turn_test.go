package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"donorbook/internal/rig/assert"
)

// While strangers use their share of the processors, another one waits, and gets the page once one of them is done.
func TestPagesOfStrangersAreMadeAFewAtATime(t *testing.T) {
	s := &Site{turns: newTurns()}
	look := func(ctx context.Context, network int, show func()) error {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/gala", nil)
		r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", network)
		return s.MakeInTurn(httptest.NewRecorder(), r, func(http.ResponseWriter) error { show(); return nil })
	}
	var running sync.WaitGroup
	inside, done := make(chan struct{}), make(chan struct{})
	for network := range strangersPlaces {
		running.Go(func() {
			if err := look(t.Context(), network, func() { inside <- struct{}{}; <-done }); err != nil {
				t.Error(err)
			}
		})
	}
	for range strangersPlaces {
		<-inside
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if err := look(left, 200, func() { t.Error("a page is made beside the share") }); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
	close(done)
	running.Wait()
	made := false
	assert.Succeed(t, look(t.Context(), 200, func() { made = true }))
	assert.Equal(t, made, true)
}
