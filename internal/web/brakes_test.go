package web

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
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

func TestALinkIsReadForAWhileByWhoHasTheKey(t *testing.T) {
	p := NewPuzzles([]byte("key"))
	link := p.Seal("what was typed", brakesNow)
	if text, ok := NewPuzzles([]byte("key")).Open(link, brakesNow.Add(time.Hour)); !ok || text != "what was typed" {
		t.Error(text, ok)
	}
	end, rest, _ := strings.Cut(link, ".")
	for name, forged := range map[string]string{
		"a later end": "9" + end + "." + rest, "nothing": "", "a number": "17",
		"another text": p.Seal("other", brakesNow)[:20] + link[20:],
		"another key":  NewPuzzles([]byte("other")).Seal("what was typed", brakesNow),
		"a puzzle":     p.New("what was typed", brakesNow),
	} {
		if _, ok := p.Open(forged, brakesNow); ok {
			t.Error(name)
		}
	}
	if _, ok := p.Open(link, brakesNow.Add(3*time.Hour)); ok {
		t.Error("too late")
	}
}

// formFrom is a form that someone sends for a check, with or without a solved puzzle.
func formFrom(address netip.Addr, thing int, solved bool) Start {
	return Start{Client: address, Page: 1, Account: 1, Thing: strconv.Itoa(thing), Recipient: "ana@example.org",
		Tried:  solved,
		Solved: func(int) bool { return solved }}
}

// asked is what someone is asked for who sends a form.
func asked(b *Brakes, form Start) Ask {
	ask, _, _ := b.Begin(form, brakesNow)
	return ask
}

// at is an address of 192.0.2.0/24.
func at(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}) }

// asks counts what so many forms are asked for.
func asks(b *Brakes, n int, form func(i int) Start) (all [4]int) {
	for i := range n {
		all[asked(b, form(i))]++
	}
	return all
}

// oneOf makes up the nth /64 of 2001:db8::/48, or of the /48 behind that.
func oneOf(network, n int) netip.Addr {
	b := netip.MustParseAddr("2001:db8::1").As16()
	b[5] = byte(network)
	binary.BigEndian.PutUint16(b[6:], uint16(n)) //nolint:gosec // as it is
	return netip.AddrFrom16(b)
}

func TestBrakesCountByAddress(t *testing.T) {
	b, n := NewBrakes(), 0
	tried := func(address string, solved bool, now time.Time, tries int) (all [4]int) {
		for range tries {
			n++
			ask, _, _ := b.Begin(formFrom(netip.MustParseAddr(address), n, solved), now)
			all[ask]++
		}
		return all
	}
	equal(t, tried("192.0.2.1", true, brakesNow, 50), [4]int{AskNothing: 5, AskLink: 5, AskWait: 40},
		"an address with solved puzzles")
	total := 5
	for i := 1; i < 100; i++ {
		total += tried("192.0.2.1", true, brakesNow.Add(time.Duration(i)*11*time.Minute), 10)[AskNothing]
	}
	equal(t, total, 20, "an address began")
	equal(t, tried("192.0.2.2", false, brakesNow, 50), [4]int{AskNothing: 2, AskLink: 5, AskWait: 43},
		"an address without puzzles")
	equal(t, tried("192.0.2.2", true, brakesNow, 5)[AskNothing], 5,
		"what came without a puzzle took the share of who solves one")
	one, two := tried("2001:db8::1", true, brakesNow, 3), tried("2001:db8::ffff:2", true, brakesNow, 50)
	equal(t, one[AskNothing]+two[AskNothing], 5, "a network began %d and %d", one, two)
	equal(t, tried("192.0.2.3", true, brakesNow, 1)[AskNothing], 1, "someone else is asked for more")
}

// The three attacks on the form, as they were seen: whatever strangers send without a proof, everybody who solves the
// puzzle gives.
func TestStrangersCloseTheFormForNobodyWhoSolvesThePuzzle(t *testing.T) {
	t.Run("a /48 sends 50,010 forms", func(t *testing.T) {
		b := NewBrakes()
		if got := asks(b, 50_010, func(i int) Start {
			return formFrom(oneOf(0, i), i, false)
		}); got[AskNothing] > crowdOfPage {
			t.Errorf("without a puzzle: %v", got)
		}
		wantAllGive(t, b, brakesNow.Add(time.Minute))
	})
	t.Run("20 promises a second come without a puzzle", func(t *testing.T) {
		b, begun, real := NewBrakes(), 0, 0
		for i := range 20 * 120 {
			now := brakesNow.Add(time.Duration(i) * 50 * time.Millisecond)
			if ask, _, _ := b.Begin(formFrom(oneOf(i%200, i), i, false), now); ask == AskNothing {
				begun++
			}
			if i%100 == 99 {
				ask, _, _ := b.Begin(formFrom(at(i/100), 10_000+i, true), now)
				real++
				equal(t, ask, AskNothing, "visitor %d, who has solved the puzzle, is asked", real)
			}
		}
		if real != 24 || begun > 3*crowdOfPage {
			t.Errorf("%d visitors; %d promises without a puzzle in two minutes", real, begun)
		}
	})
	t.Run("everything comes with a puzzle", func(t *testing.T) {
		b := NewBrakes()
		if got := asks(b, 50_010, func(i int) Start {
			return formFrom(oneOf(0, i), i, true)
		}); got[AskNothing] > 16*startsOfAddress {
			t.Errorf("a /48 with puzzles: %v", got)
		}
		wantAllGive(t, b, brakesNow)
	})
	t.Run("hundreds of cards are declined", func(t *testing.T) {
		b := NewBrakes()
		for range 500 {
			b.Declined(1, brakesNow)
		}
		wantAllGive(t, b, brakesNow)
		card := formFrom(at(7), 1, true)
		card.Card = true
		equal(t, asked(b, card), AskLink, "who pays by card is asked")
		linked, unknown := card, card
		linked.Linked, unknown.Recipient = true, ""
		for name, other := range map[string]Start{"with the link": linked, "where no email can be sent": unknown} {
			if ask, proven, _ := b.Begin(other, brakesNow); ask != AskNothing || !proven {
				t.Errorf("and, %s, for %d", name, ask)
			}
		}
	})
}

// wantAllGive has 200 people give who have solved the puzzle.
func wantAllGive(t *testing.T, b *Brakes, now time.Time) {
	t.Helper()
	for i := range 200 {
		ask, _, _ := b.Begin(formFrom(at(i), 100_000+i, true), now)
		equal(t, ask, AskNothing, "giver %d, who has solved the puzzle, is asked", i)
	}
}

func TestACrowdHasHarderPuzzlesAndAFormAFewUses(t *testing.T) {
	b := NewBrakes()
	for i := range crowdOfPage {
		equal(t, b.Zeros(1, 1, brakesNow), usualPuzzle, "after %d the puzzle is hard", i)
		if ask, proven, _ := b.Begin(formFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), i, true),
			brakesNow); ask != AskNothing || proven {
			t.Error(ask, proven)
		}
	}
	if b.Zeros(1, 1, brakesNow) != hardPuzzle || b.Zeros(8, 1, brakesNow) != usualPuzzle {
		t.Error("the puzzle is no harder in a crowd, or on another page")
	}
	easy := formFrom(at(1), 1_000, true)
	easy.Solved = func(zeros int) bool { return zeros == usualPuzzle }
	equal(t, asked(b, easy), AskPuzzle, "who has solved the puzzle from before the crowd is asked")
	easy.Solved = func(int) bool { return true }
	if ask, proven, _ := b.Begin(easy, brakesNow); ask != AskNothing || !proven {
		t.Errorf("and then for %d", ask)
	}
	got := asks(b, 50, func(i int) Start { return formFrom(at(i), 2_000, true) })
	equal(t, got[AskNothing], startsOfThing, "one form: %v", got)
}

func TestDeclinesAreToldOnce(t *testing.T) {
	b := NewBrakes()
	for i := 1; i <= 60; i++ {
		told := b.Declined(1, brakesNow)
		equal(t, told, (i == 31), "after %d declines", i)
		want := usualPuzzle
		switch {
		case i > 30:
			want = hardestPuzzle
		case i > 10:
			want = hardPuzzle
		}
		equal(t, b.Zeros(1, 1, brakesNow), want, "after %d declines the puzzle", i)
	}
	if b.Zeros(2, 2, brakesNow) != usualPuzzle || b.Zeros(1, 1, brakesNow.Add(10*time.Minute)) != usualPuzzle {
		t.Error("another organization has harder puzzles, or they stay hard")
	}
}

// Strangers who solve no puzzle use up the links of an organization. Who solves it while cards are declined gets one
// all the same: its forms for cards are closed for nobody.
func TestLinksAreLeftForWhoSolvesThePuzzle(t *testing.T) {
	b := NewBrakes()
	for range 100 {
		b.Declined(1, brakesNow)
	}
	for i := range 3 * linksOfOrganization {
		b.Begin(formFrom(oneOf(i%20, i), i, false), brakesNow)
	}
	equal(t, asked(b, formFrom(at(1), 10_000, false)), AskWait, "the links are used up: without a puzzle, one is asked")
	for i := range 200 {
		card := formFrom(at(i), 20_000+i, true)
		card.Card = true
		equal(t, asked(b, card), AskLink, "giver %d, who has solved the puzzle, is asked", i)
	}
}

// Links are sent to few, and each of them leads on.
func TestLinksAreBounded(t *testing.T) {
	b := NewBrakes()
	sent := 0
	for range 100 {
		if b.MaySend("ana@example.org", brakesNow) {
			sent++
		}
	}
	if sent != linksToRecipient || !b.MaySend("ben@example.org", brakesNow) {
		t.Errorf("%d links to one recipient", sent)
	}
	b.Crowd(1, brakesNow)
	equal(t, asks(b, 50_010, func(i int) Start {
		return formFrom(oneOf(0, i), i, false)
	})[AskLink], 16*linksOfAddress, "a /48 had links sent")
	equal(t, asked(b, formFrom(oneOf(1, 1), 60_000, false)), AskLink, "and someone else is asked")
}
