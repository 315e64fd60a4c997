package web

import (
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"
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
	if len(rec.Header()) != 0 || len(l.windows) != 0 {
		t.Errorf("headers %v, %d windows", rec.Header(), len(l.windows))
	}
}

func TestLimiterHeaders(t *testing.T) {
	rec := httptest.NewRecorder()
	NewLimiter[int64](6000).SetHeaders(rec, 5999)
	if rec.Header().Get("X-RateLimit-Limit") != "6000" || rec.Header().Get("X-RateLimit-Remaining") != "5999" {
		t.Errorf("headers %v", rec.Header())
	}
}

// A flood of callers is counted in bounded memory. The callers that were not seen for longest are forgotten, and nobody
// shares a window with them.
func TestLimiterForgetsWhoWasNotSeenForLongest(t *testing.T) {
	l, now := NewLimiter[int64](2), time.Now()
	often, flood := int64(-1), int64(0)
	l.Take(often, now)
	l.Take(often, now)
	for range 3 * maxWindows {
		if flood++; flood%1_000 == 0 {
			if _, _, ok := l.Take(often, now); ok {
				t.Fatal("a flood has a caller forgotten who comes all the time")
			}
		}
		if _, _, ok := l.Take(flood, now); !ok {
			t.Fatalf("caller %d waits because of the others", flood)
		}
	}
	equal(t, len(l.windows), maxWindows)
	equal(t, l.seen.Len(), maxWindows)
	if _, _, ok := l.Take(flood, now); !ok {
		t.Error("the last one has no second request")
	}
	if _, _, ok := l.Take(flood, now); ok {
		t.Error("the last one is forgotten")
	}
}

// A share counts for the /64, the /56 and the /48 of an address, and what one of these has used up is there for its
// neighbors.
func TestNetworksHaveLargerShares(t *testing.T) {
	n, now := NewNetworks(5, time.Minute), time.Now()
	through := func(prefix string, count int) (ok int) {
		address := netip.MustParseAddr(prefix).As16()
		for i := range count {
			address[6], address[7] = byte(i>>8), byte(i)
			if _, _, let := n.Take(netip.AddrFrom16(address), now); let {
				ok++
			}
		}
		return ok
	}
	equal(t, through("2001:db8:1::1", 65_536), 80, "a /48 took")
	equal(t, through("2001:db8:2::1", 256), 20, "a /56 took")
	last := netip.MustParseAddr("2001:db8:2:ff00::1")
	for i := range 5 {
		if left, _, ok := n.Take(last, now); !ok || left != 4-i {
			t.Errorf("a neighbor of the /56 has %d left: %v", left, ok)
		}
	}
	if wait, full := n.Full(last, now); !full || wait != time.Minute {
		t.Error(wait, full)
	}
	n.GiveBack(last, now)
	if _, _, ok := n.Take(netip.MustParseAddr("2001:db8:2:ff00::2"), now); !ok {
		t.Error("what was given back cannot be taken")
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
	equal(t, passed, 500)
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

// The wall clock may be set while callers wait: a window ends by the other one.
func TestLimiterIgnoresTheWallClock(t *testing.T) {
	l, start := NewLimiter[int64](1), time.Now()
	l.Take(1, start)
	if end := l.find(1, start).end; end == end.Round(0) {
		t.Errorf("the window ends at %v by the wall clock", end)
	}
}
