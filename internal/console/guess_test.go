package console

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// address makes up the nth network of 2001:db8::/32, and a host in one of its parts.
func address(network, part int) netip.Addr {
	b := netip.MustParseAddr("2001:db8::1").As16()
	binary.BigEndian.PutUint16(b[4:], uint16(network))
	binary.BigEndian.PutUint16(b[6:], uint16(part))
	return netip.AddrFrom16(b)
}

func TestGuessesAreCountedByPlaceUserAndNetwork(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		allowed int
		login   func(n int) string
		client  func(n int) netip.Addr
	}{
		"one place, one user":     {10, func(int) string { return "ana" }, func(int) netip.Addr { return address(1, 1) }},
		"one place, many users":   {60, func(n int) string { return fmt.Sprint(n) }, func(int) netip.Addr { return address(1, 1) }},
		"one network, any users":  {150, func(n int) string { return fmt.Sprint(n) }, func(n int) netip.Addr { return address(1, n) }},
		"many networks, one user": {200, func(int) string { return "ana" }, func(n int) netip.Addr { return address(n, 1) }},
		"one old address":         {10, func(int) string { return "ana" }, func(int) netip.Addr { return netip.MustParseAddr("192.0.2.1") }},
	} {
		g := newGuesses()
		for n := range c.allowed {
			if _, ok := g.take(c.login(n), c.client(n), now); !ok {
				t.Fatalf("%s: attempt %d was refused", name, n+1)
			}
		}
		wait, ok := g.take(c.login(c.allowed), c.client(c.allowed), now)
		if ok || wait <= 14*time.Minute || wait > guessWindow {
			t.Errorf("%s: attempt %d: %v %v", name, c.allowed+1, ok, wait)
		}
		if _, ok := g.take(c.login(0), c.client(0), now.Add(guessWindow+time.Second)); !ok {
			t.Errorf("%s: still refused after the time", name)
		}
	}
}

// What was counted and never tried is taken back: whoever only knocks and runs locks nobody out.
func TestAnAttemptThatWasGivenUpDoesNotCount(t *testing.T) {
	g, now := newGuesses(), time.Now()
	for range 500 {
		if _, ok := g.take("ana", address(1, 1), now); !ok {
			t.Fatal("refused")
		}
		g.takeBack("ana", address(1, 1), now)
	}
}

// However many strangers knock, somebody else still comes in, and the memory stays what it was.
func TestStrangersKeepNobodyOut(t *testing.T) {
	g, now := newGuesses(), time.Now()
	for n := range 20_000 {
		g.take(fmt.Sprint("stranger", n), address(n%40, n), now)
	}
	refused := 0
	for n := range 100 {
		if _, ok := g.take(fmt.Sprint("colleague", n), address(5000+n, 1), now); !ok {
			refused++
		}
	}
	if refused > 2 { // by chance a window is shared
		t.Errorf("%d of 100 were refused", refused)
	}
}
