package store

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"donorbook/internal/crm"
)

// A range is divided into whole bands and edges: each number of it is in exactly one of them, and no other number is.
func TestRangesAreCutAtBands(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 1))
	begin := time.Date(2025, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
	moment := func() int64 {
		at := begin + random.Int64N(70*24*3600)
		if random.IntN(2) == 0 {
			at -= at % (24 * 3600)
		}
		if random.IntN(4) == 0 {
			return time.Date(2026, time.Month(1+random.IntN(3)), 1, 0, 0, 0, 0, time.UTC).Unix()
		}
		return at
	}
	total := func() int64 { return random.Int64N(40) - 5 }
	for p, moment := range map[*bands]func() int64{&addedDays: moment, &changedMonths: moment, &givenTotals: total} {
		for range 2000 {
			low, high := moment(), moment()
			if low > high {
				low, high = high, low
			}
			if random.IntN(5) == 0 {
				low = math.MinInt64
			}
			if random.IntN(5) == 0 {
				high = math.MaxInt64
			}
			from, to, edges := p.cut(low, high)
			for _, at := range []int64{moment(), low, high, low + 1, high - 1, low - 1} {
				if at < math.MinInt64+2 || at > math.MaxInt64-2 || p != &givenTotals && (at < begin-24*3600 || at > begin+100*24*3600) {
					continue // of no contact
				}
				n, name := 0, p.name(at)
				if name >= from && name < to {
					n++
				}
				for _, edge := range edges {
					if start, end := p.around(edge[0]); edge[0] < start || edge[1] > end {
						t.Fatalf("%s from %d to %d: the edge %v is more than a band", p.kind, low, high, edge)
					}
					if at >= edge[0] && at < edge[1] {
						n++
					}
				}
				if want := int(flag(at >= low && at < high)); n != want {
					t.Fatalf("%s from %d to %d: %d is in %d parts, want %d: %q to %q, %v", p.kind, low, high, at, n, want, from, to, edges)
				}
			}
		}
	}
}

// A contact that is changed in another month moves to the set of that month; a change in the same month moves nothing.
func TestAChangeInAnotherMonthMovesTheContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, clock := newAccount(t, s).Number, stopClock(s) // on January 31
		var ids []int64
		for _, name := range []string{"Ann", "Bob", "Cid"} {
			ids = append(ids, createAs(t, s, account, `{"first_name":"`+name+`","last_name":"Lee"}`, crm.Force).ID)
		}
		clock.move(24 * time.Hour)
		if _, err := s.UpdateContact(t.Context(), account, ids[1], input(t, `{"company":"New"}`)); err != nil {
			t.Fatal(err)
		}
		archive(t, s, account, ids[2])
		s.costs.few, s.costs.document = 0, 1<<40 // by the sets alone
		for query, want := range map[string]int64{
			"updated_before=2026-02-01": 1, "updated_after=2026-02-01": 1, "updated_after=2026-02-01T12:00:01Z": 0, "updated_after=2026-02-01T12:00:00Z": 1,
			"created_after=2026-01-31&created_before=2026-02-01": 2, "created_after=2026-02-01": 0, "created_before=2026-01-31T12:00:00Z": 0, "created_before=2026-01-31T12:00:01Z": 2,
		} {
			if _, n := filtered(t, s, account, crm.Active, filterOf(t, query), 1, 20); n != want {
				t.Errorf("%s finds %d contacts, want %d", query, n, want)
			}
		}
	})
}
