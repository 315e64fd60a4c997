package page

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"donorbook/internal/rig/assert"
	"donorbook/internal/web"
)

// address makes up the nth network of 2001:db8::/32, and a host in one of its parts.
func address(network, part int) netip.Addr {
	b := netip.MustParseAddr("2001:db8::1").As16()
	binary.BigEndian.PutUint16(b[4:], uint16(network))
	binary.BigEndian.PutUint16(b[6:], uint16(part))
	return netip.AddrFrom16(b)
}

// stoppedThrottle has a clock that moves only when a test moves it.
func stoppedThrottle() (*Throttle, *time.Time) {
	now := time.Now()
	return newThrottle(func() time.Time { return now }), &now
}

func (t *Throttle) guess(a Attempt) error {
	return t.Try(context.Background(), a, func() (bool, error) { return true, nil })
}

func TestGuessesAreCountedByAddressUserAndNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		allowed int
		login   func(n int) string
		client  func(n int) netip.Addr
	}{
		"one address, one user": {10, func(int) string { return "ana" },
			func(int) netip.Addr { return address(1, 1) }},
		"one address, many users": {60, func(n int) string { return fmt.Sprint(n) },
			func(int) netip.Addr { return address(1, 1) }},
		"one /56, any users": {240, func(n int) string { return fmt.Sprint(n) },
			func(n int) netip.Addr { return address(1, n%256) }},
		"one /48, any users": {960, func(n int) string { return fmt.Sprint(n) },
			func(n int) netip.Addr { return address(1, 67*n) }},
		"many networks, one user": {200, func(int) string { return "ana" },
			func(n int) netip.Addr { return address(n, 1) }},
		"one old address": {10, func(int) string { return "ana" },
			func(int) netip.Addr { return netip.MustParseAddr("192.0.2.1") }},
	} {
		g, now := stoppedThrottle()
		try := func(n int) error { return g.guess(Attempt{Login: c.login(n), Client: c.client(n)}) }
		for n := range c.allowed {
			if err := try(n); err != nil {
				t.Fatalf("%s: attempt %d: %v", name, n+1, err)
			}
		}
		var refused *web.Error
		if err := try(c.allowed); !errors.As(err, &refused) || refused.Header.Get("Retry-After") != "900" {
			t.Errorf("%s: attempt %d: %v", name, c.allowed+1, err)
		}
		*now = now.Add(throttleWindow)
		if err := try(0); err != nil {
			t.Errorf("%s: still refused after the time: %v", name, err)
		}
	}
}

// A refusal says how long it will last.
func TestARefusalSaysHowLongItLasts(t *testing.T) {
	g, now := stoppedThrottle()
	ana := Attempt{Login: "ana", Client: address(1, 1)}
	for range 10 {
		assert.Succeed(t, g.guess(ana))
	}
	start := *now
	for passed, want := range map[time.Duration]string{
		0: "in 15 minutes.", 59 * time.Second: "in 15 minutes.", time.Minute: "in 14 minutes.", 13*time.Minute +
			time.Second: "in 2 minutes.",
		14 * time.Minute: "in 1 minute.", throttleWindow - time.Nanosecond: "in 1 minute.",
	} {
		*now = start.Add(passed)
		var refused *web.Error
		if err := g.guess(ana); !errors.As(err, &refused) || !strings.HasSuffix(refused.Message, want) {
			t.Errorf("after %v: %v, want %q", passed, err, want)
		}
	}
}

// jumped is a time after an operator, or a time server, has set the wall clock: the monotonic reading stays.
func jumped(t time.Time, by time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t)) // 33 bits of seconds before 30 of nanoseconds
	*wall += uint64(by/time.Second) << 30 //nolint:gosec // back in time too
	return t
}

// Setting the wall clock neither frees guessers nor locks anyone out for longer.
func TestTheThrottleIgnoresTheWallClock(t *testing.T) {
	ana := Attempt{Login: "ana", Client: address(1, 1)}
	for _, by := range []time.Duration{48 * time.Hour, -48 * time.Hour} {
		g, now := stoppedThrottle()
		for range 10 {
			assert.Succeed(t, g.guess(ana))
		}
		before := *now
		*now = jumped(*now, by)
		if now.Round(0).Sub(before.Round(0)) != by || now.Sub(before) != 0 {
			t.Fatal("the test's clock has not jumped")
		}
		if g.guess(ana) == nil {
			t.Errorf("%v: the guesser is free", by)
		}
		*now = now.Add(throttleWindow)
		if err := g.guess(ana); err != nil {
			t.Errorf("%v: still refused after the time: %v", by, err)
		}
	}
}

// Only a wrong password counts: not a correct one, and not an attempt that was abandoned.
func TestAnAttemptThatWasNotWrongDoesNotCount(t *testing.T) {
	g, _ := stoppedThrottle()
	a := Attempt{Login: "ana", Client: address(1, 1)}
	for range 500 {
		assert.Succeed(t, g.Try(t.Context(), a, func() (bool, error) { return false, nil }))
	}
}

// Simultaneous attempts cannot exceed the limit.
func TestGuessesAtOnceAreCountedOneByOne(t *testing.T) {
	g, _ := stoppedThrottle()
	var mu sync.Mutex
	var group sync.WaitGroup
	compared := 0
	for n := range 100 {
		group.Go(func() {
			_ = g.Try(t.Context(), Attempt{Login: fmt.Sprint(n), Client: address(1, 1)}, func() (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				compared++
				return true, nil
			})
		})
	}
	group.Wait()
	assert.Equal(t, compared, 60)
}

// No matter how many strangers guess or wait, a user can sign in with a browser that they have used before. Such a
// browser cannot guess without limit either.
func TestAKnownBrowserIsCountedByItself(t *testing.T) {
	g, _ := stoppedThrottle()
	for n := range 300 {
		_ = g.guess(Attempt{Login: "ana", Client: address(n, 1)})
	}
	if g.guess(Attempt{Login: "ana", Client: address(999, 1)}) == nil {
		t.Fatal("the user is not locked for strangers")
	}
	busy, free := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	for n := range comparedAtOnce {
		group.Go(func() {
			_ = g.Try(t.Context(), Attempt{Login: "bob", Client: address(500+n, 1)}, func() (bool, error) {
				busy <- struct{}{}
				<-free
				return true, nil
			})
		})
		<-busy
	}
	for range 10 {
		assert.Succeed(t, g.guess(Attempt{Login: "ana", Client: address(1, 1), Browser: "hers"}))
	}
	close(free)
	group.Wait()
	if g.guess(Attempt{Login: "ana", Client: address(1, 1), Browser: "hers"}) == nil {
		t.Error("a browser may guess without end")
	}
}

// One user who signs in many times at once, even with the correct password, does not fill the queue for others.
func TestOneLoginHasFewPlacesInTheQueue(t *testing.T) {
	for _, browser := range []string{"", "hers"} {
		g, _ := stoppedThrottle()
		busy, free, ended := make(chan struct{}, 200), make(chan struct{}), make(chan error, 200)
		try := func(login string) {
			go func() {
				ended <- g.Try(t.Context(), Attempt{Login: login, Client: address(1, 1), Browser: browser},
					func() (bool, error) {
						busy <- struct{}{}
						<-free
						return false, nil
					})
			}()
		}
		for range 190 {
			try("ana")
		}
		for range 190 - queuedAtOnce { // none of these waits for the passwords that are being checked
			var refused *web.Error
			if err := <-ended; !errors.As(err, &refused) || refused.Status != http.StatusTooManyRequests ||
				refused.Header.Get("Retry-After") != "5" || !strings.Contains(refused.Message, "in a few seconds") {
				t.Fatalf("browser %q: it ended with %v", browser, err)
			}
		}
		try("bob")
		close(free)
		for range queuedAtOnce + 1 {
			if err := <-ended; err != nil {
				t.Errorf("browser %q: %v", browser, err)
			}
		}
		assert.Equal(t, len(busy), queuedAtOnce+1, "browser %q", browser)
		assert.Equal(t, len(g.queued), 0, "browser %q", browser)
	}
}

// No matter how many people at one address sign in at the same moment, all of them succeed.
func TestManyLoginsQueueAtOnce(t *testing.T) {
	g, _ := stoppedThrottle()
	free, ended := make(chan struct{}), make(chan error)
	for n := range 120 {
		go func() {
			ended <- g.Try(t.Context(), Attempt{Login: fmt.Sprint(n), Client: address(1, 1)}, func() (bool, error) {
				<-free
				return false, nil
			})
		}()
	}
	for range 120 {
		select {
		case free <- struct{}{}:
			if err := <-ended; err != nil {
				t.Error(err)
			}
		case err := <-ended:
			t.Fatalf("one did not wait: %v", err)
		}
	}
}

// Strangers who queue for a login do not take the places of browsers that its user has used before.
func TestStrangersDoNotTakeThePlacesOfAKnownBrowser(t *testing.T) {
	g, _ := stoppedThrottle()
	for range queuedAtOnce {
		assert.Succeed(t, g.enter(place{login: "ana"}))
	}
	if g.guess(Attempt{Login: "ana", Client: address(1, 1)}) == nil {
		t.Error("the places for strangers are not full")
	}
	assert.Succeed(t, g.guess(Attempt{Login: "ana", Client: address(1, 1), Browser: "hers"}))
}

// A client that leaves does not wait, and does not occupy a place.
func TestAnAttemptWaitsNoLongerThanItsClient(t *testing.T) {
	g, _ := stoppedThrottle()
	for range comparedAtOnce {
		g.strangers <- struct{}{}
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := g.Try(ctx, Attempt{Login: "ana"}, func() (bool, error) { return true, nil }); !errors.Is(err,
		context.Canceled) || len(g.queued) != 0 {
		t.Errorf("it ended with %v, and %d logins have a place", err, len(g.queued))
	}
}

// No matter how many strangers try, another user can still sign in, and memory use does not grow.
func TestStrangersKeepNoOneOut(t *testing.T) {
	g, _ := stoppedThrottle()
	for n := range 20_000 {
		_ = g.guess(Attempt{Login: fmt.Sprint("stranger", n), Client: address(n%40, n)})
	}
	refused := 0
	for n := range 100 {
		if g.guess(Attempt{Login: fmt.Sprint("colleague", n), Client: address(5000+n, 1)}) != nil {
			refused++
		}
	}
	if refused > 2 { // by chance a window is shared
		t.Errorf("%d of 100 were refused", refused)
	}
}
