package web

import (
	"net/netip"
	"strconv"
	"testing"
	"time"
)

var brakesNow = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// solve tries until a puzzle is solved, as a browser does.
func solve(t *testing.T, p *Puzzles, thing, puzzle string, zeros int) string {
	t.Helper()
	for i := range 10_000 {
		if solution := strconv.Itoa(i); p.Solved(thing, puzzle, solution, zeros, brakesNow) {
			return solution
		}
	}
	t.Fatal("no solution")
	return ""
}

func TestAPuzzleIsSolvedForOneThingAndAWhile(t *testing.T) {
	p := NewPuzzles([]byte("key"))
	puzzle := p.New("form", brakesNow)
	solution := solve(t, p, "form", puzzle, 4)
	for name, wrong := range map[string]bool{
		"another node with the key": !NewPuzzles([]byte("key")).Solved("form", puzzle, solution, 4, brakesNow),
		"another key":               NewPuzzles([]byte("other")).Solved("form", puzzle, solution, 4, brakesNow),
		"another form":              p.Solved("other", puzzle, solution, 4, brakesNow),
		"too late":                  p.Solved("form", puzzle, solution, 4, brakesNow.Add(3*time.Hour)),
		"a later end":               p.Solved("form", "9"+puzzle, solution, 0, brakesNow),
		"no solution":               p.Solved("form", puzzle, "", 0, brakesNow),
		"a long solution":           p.Solved("form", puzzle, "1234567890123", 0, brakesNow),
		"no puzzle":                 p.Solved("form", "", "1", 0, brakesNow),
		"not hard enough":           p.Solved("form", puzzle, solution, 32, brakesNow),
	} {
		if wrong {
			t.Error(name)
		}
	}
}

func begun(address string, page int64, thing string, solved bool) Start {
	return Start{Client: netip.MustParseAddr(address), Page: page, Account: 1, Thing: thing, Solved: func(int) bool { return solved }}
}

func TestBrakesCountByAddress(t *testing.T) {
	b, n := NewBrakes(), 0
	begin := func(address string, solved bool, now time.Time) bool {
		n++
		_, ok := b.Begin(begun(address, 1, strconv.Itoa(n), solved), now)
		return ok
	}
	let := func(address string, solved bool, now time.Time, tries int) (through int) {
		for range tries {
			if begin(address, solved, now) {
				through++
			}
		}
		return through
	}
	if got := let("192.0.2.1", true, brakesNow, 50); got != 5 {
		t.Errorf("an address began %d in ten minutes", got)
	}
	total := 5
	for i := 1; i < 100; i++ {
		total += let("192.0.2.1", true, brakesNow.Add(time.Duration(i)*11*time.Minute), 10)
	}
	if total != 20 {
		t.Errorf("an address began %d in a day", total)
	}
	if got := let("192.0.2.2", false, brakesNow, 50); got != 2 {
		t.Errorf("without scripts an address began %d", got)
	}
	one, two := let("2001:db8::1", true, brakesNow, 3), let("2001:db8::ffff:2", true, brakesNow, 50)
	if one+two != 5 {
		t.Errorf("a network began %d", one+two)
	}
	if !begin("192.0.2.3", true, brakesNow) {
		t.Error("someone else has to wait")
	}
}

func TestACrowdHasHarderPuzzlesAndAFormOneUse(t *testing.T) {
	b, through := NewBrakes(), 0
	for i := range crowdOfPage {
		if b.Zeros(7, 1, brakesNow) != usualPuzzle {
			t.Fatalf("after %d the puzzle is hard", i)
		}
		b.Begin(begun("10.0.1."+strconv.Itoa(i), 7, strconv.Itoa(i), true), brakesNow)
	}
	if b.Zeros(7, 1, brakesNow) != hardPuzzle || b.Zeros(8, 1, brakesNow) != usualPuzzle {
		t.Error("the puzzle is no harder in a crowd, or on another page")
	}
	for i := range 50 {
		if _, ok := b.Begin(begun("10.0.0."+strconv.Itoa(i), 7, "same", true), brakesNow); ok {
			through++
		}
	}
	if through != startsOfThing {
		t.Errorf("a form began %d", through)
	}
}

func TestDeclinesRaiseThePuzzleAndCloseTheForm(t *testing.T) {
	b := NewBrakes()
	for i := 1; i <= 31; i++ {
		closes := b.Declined(1, brakesNow)
		if got := b.Zeros(1, 1, brakesNow); got == hardPuzzle != (i > 10) {
			t.Errorf("after %d declines the puzzle has %d bits", i, got)
		}
		if _, closed := b.Closed(1, brakesNow); closed != (i > 30) || closes != (i == 31) {
			t.Errorf("after %d declines the form is closed: %v, %v", i, closed, closes)
		}
	}
	if b.Declined(1, brakesNow.Add(time.Minute)) {
		t.Error("the owner is told twice")
	}
	if _, closed := b.Closed(2, brakesNow); closed {
		t.Error("the form of another organization is closed")
	}
	wait, closed := b.Closed(1, brakesNow.Add(9*time.Minute))
	if !closed || wait != time.Minute {
		t.Error(wait, closed)
	}
	if _, closed := b.Closed(1, brakesNow.Add(10*time.Minute)); closed {
		t.Error("the form stays closed")
	}
	if _, ok := b.Begin(begun("192.0.2.9", 1, "x", false), brakesNow); !ok {
		t.Error("a giver without scripts is refused once")
	}
	if _, ok := b.Begin(begun("192.0.2.9", 1, "y", false), brakesNow); ok {
		t.Error("during an attack a giver without scripts has one attempt")
	}
}
