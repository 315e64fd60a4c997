package web

import (
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"
	"unsafe"
)

func TestLimiterWindow(t *testing.T) {
	l := NewLimiter[int64](3)
	start := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	for i, test := range []struct {
		key       int64
		after     time.Duration
		remaining int
		retry     time.Duration
		ok        bool
	}{
		{1, 0, 2, 0, true},
		{1, 10 * time.Second, 1, 0, true},
		{2, 30 * time.Second, 2, 0, true}, // its own window
		{1, 59 * time.Second, 0, 0, true},
		{1, 59*time.Second + 500*time.Millisecond, 0, 500 * time.Millisecond, false},
		{1, 60 * time.Second, 2, 0, true}, // a new window
		{2, 61 * time.Second, 1, 0, true}, // still its first one
		{2, 89 * time.Second, 0, 0, true},
		{2, 89 * time.Second, 0, time.Second, false},
		{2, 90 * time.Second, 2, 0, true},
		{1, time.Hour, 2, 0, true},
	} {
		remaining, retry, ok := l.Take(test.key, start.Add(test.after))
		if remaining != test.remaining || retry != test.retry || ok != test.ok {
			t.Errorf("step %d: %d %s %t", i, remaining, retry, ok)
		}
	}
}

func TestNoLimit(t *testing.T) {
	l := NewLimiter[int64](0)
	for range 10_000 {
		if _, _, ok := l.Take(1, time.Now()); !ok {
			t.Fatal("refused")
		}
	}
	rec := httptest.NewRecorder()
	l.SetHeaders(rec, 0)
	if len(rec.Header()) != 0 || len(l.young) != 0 {
		t.Errorf("headers %v, %d windows", rec.Header(), len(l.young))
	}
}

func TestLimiterHeaders(t *testing.T) {
	rec := httptest.NewRecorder()
	NewLimiter[int64](6000).SetHeaders(rec, 5999)
	if rec.Header().Get("X-RateLimit-Limit") != "6000" || rec.Header().Get("X-RateLimit-Remaining") != "5999" {
		t.Errorf("headers %v", rec.Header())
	}
}

func TestLimiterForgets(t *testing.T) {
	l := NewLimiter[int64](1)
	now := time.Now()
	for i := range int64(10) {
		for key := range int64(1000) {
			l.Take(i*1000+key, now)
		}
		now = now.Add(limitWindow)
	}
	if n := len(l.young) + len(l.old); n > 2000 {
		t.Errorf("%d windows kept", n)
	}
}

func TestLimiterIsBounded(t *testing.T) {
	l := NewLimiter[netip.Addr](2)
	now := time.Now()
	known := netip.MustParseAddr("198.51.100.1")
	l.Take(known, now)
	addr := netip.MustParseAddr("10.0.0.0")
	refused := 0
	for range 2 * maxWindows {
		addr = addr.Next()
		if _, _, ok := l.Take(addr, now); !ok {
			refused++
		}
	}
	if n := len(l.young) + len(l.old); n > maxWindows+1 {
		t.Errorf("%d windows", n)
	}
	if refused == 0 {
		t.Error("a flood of addresses passes the limit")
	}
	if _, _, ok := l.Take(known, now); !ok {
		t.Error("a flood of addresses takes a known caller's requests")
	}
}

func TestLimiterCountsExactlyUnderConcurrency(t *testing.T) {
	l := NewLimiter[int64](500)
	now := time.Now()
	var mu sync.Mutex
	var group sync.WaitGroup
	passed := 0
	for range 8 {
		group.Go(func() {
			for range 100 {
				if _, _, ok := l.Take(1, now); ok {
					mu.Lock()
					passed++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if passed != 500 {
		t.Errorf("%d requests passed", passed)
	}
}

func TestStrangersOfOneNetworkCountAsOne(t *testing.T) {
	a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::ffff:2")
	if LimitAddr(a) != LimitAddr(b) {
		t.Error("two addresses of one /64 differ")
	}
	c, d := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	if LimitAddr(c) == LimitAddr(d) || LimitAddr(netip.Addr{}) != (netip.Addr{}) {
		t.Error("IPv4 addresses are not told apart")
	}
}

// The wall clock may be set while callers wait: only the elapsed time counts.
func TestLimiterIgnoresTheWallClock(t *testing.T) {
	for _, by := range []time.Duration{48 * time.Hour, -48 * time.Hour} {
		l, start := NewLimiter[int64](1), time.Now()
		l.Take(1, start)
		wall := (*uint64)(unsafe.Pointer(&start)) // 33 bits of seconds before 30 of nanoseconds; the monotonic reading is elsewhere
		*wall += uint64(by/time.Second) << 30     //nolint:gosec // back in time too
		if _, wait, ok := l.Take(1, start); ok || wait != limitWindow {
			t.Errorf("%v: %v, wait %v", by, ok, wait)
		}
		if _, _, ok := l.Take(1, start.Add(limitWindow)); !ok {
			t.Errorf("%v: still refused after the window", by)
		}
	}
}
