package store

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// bands are sets of contacts by a number of theirs: of those that were added on the same day, that were last changed in the same month, that gave
// something in the same month, or that gave about as much in all. A range of numbers is the union of some sets, however many contacts are in
// it. Bands are as narrow as is cheap: new contacts are neighbors, so that days are few rows; changes are all over the contacts, so that only the
// first change of a contact in a month moves it to another set.
type bands struct {
	kind    string // what their names begin with
	label   func(number int64) string
	around  func(number int64) (start, end int64) // from the beginning of a band to that of the next one
	rows    string                                // finds the contacts of a range one by one
	several bool                                  // a contact may be in several bands
}

// The labels of each kind sort as its numbers do.
var (
	addedDays     = bands{"c:", dayLabel, aroundDay, sqlCreatedIn, false}
	changedMonths = bands{"u:", monthLabel, aroundMonth, sqlUpdatedIn, false}
	giftMonths    = bands{"g:", monthLabel, aroundMonth, sqlGave, true}
	givenTotals   = bands{"v:", totalLabel, aroundTotal, sqlGivenIn, false}
)

const sqlSetsBetween = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name >= $2 AND name < $3`

func dayLabel(seconds int64) string   { return time.Unix(seconds, 0).UTC().Format(time.DateOnly) }
func monthLabel(seconds int64) string { return time.Unix(seconds, 0).UTC().Format("2006-01") }

func aroundDay(seconds int64) (start, end int64) {
	day := time.Unix(seconds, 0).UTC().Truncate(24 * time.Hour)
	return day.Unix(), day.AddDate(0, 0, 1).Unix()
}

func aroundMonth(seconds int64) (start, end int64) {
	at := time.Unix(seconds, 0).UTC()
	first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	return first.Unix(), first.AddDate(0, 1, 0).Unix()
}

// totalLabel is how many binary digits a total has.
func totalLabel(total int64) string {
	if total < 0 {
		return "-"
	}
	return fmt.Sprintf("%02d", bits.Len64(uint64(total)))
}

func aroundTotal(total int64) (start, end int64) {
	switch digits := bits.Len64(uint64(max(total, 0))); {
	case total < 0:
		return math.MinInt64, 0
	case digits == 0:
		return 0, 1
	case digits == 63:
		return 1 << 62, math.MaxInt64
	default:
		return 1 << (digits - 1), 1 << digits
	}
}

// name is the set of a number.
func (b *bands) name(number int64) string { return b.kind + b.label(number) }

// bandsOf are the bands that a contact is in by its document. 0 is none.
func bandsOf(c *crm.Contact) (names []string) {
	for _, in := range [...]struct {
		*bands
		number int64
	}{{&addedDays, seconds(c.CreatedAt)}, {&changedMonths, seconds(c.UpdatedAt)}, {&givenTotals, c.Stats.TotalContributions}} {
		if in.number != 0 {
			names = append(names, in.name(in.number))
		}
	}
	return names
}

// sameBands tells whether a change leaves a contact in its bands.
func sameBands(before, after *crm.Contact) bool {
	same := func(around func(int64) (int64, int64), a, b int64) bool {
		start, end := around(a)
		return a == b || a != 0 && b != 0 && b >= start && b < end
	}
	return before.CreatedAt.Equal(after.CreatedAt) && same(aroundMonth, seconds(before.UpdatedAt), seconds(after.UpdatedAt)) &&
		same(aroundTotal, before.Stats.TotalContributions, after.Stats.TotalContributions)
}

// between finds the contacts of a range: by the sets of whole bands, and by the rows of the bands that it begins or ends in. whole is false where
// documents cost less.
func (w *sieve) between(b *bands, low, high int64) (set db.Set, whole bool, err error) {
	from, to, edges := b.cut(low, high)
	if err := w.addSets(&set, from, to); err != nil {
		return set, false, err
	}
	for _, edge := range edges {
		if whole, err := w.addEdge(&set, b, edge[0], edge[1]); err != nil || !whole {
			return set, false, err
		}
	}
	return set, true, nil
}

// keepBetween keeps the contacts of a range.
func (w *sieve) keepBetween(b *bands, low, high int64) error {
	set, whole, err := w.between(b, low, high)
	if whole {
		w.keep(set)
	}
	w.open = w.open || !whole
	return err
}

// cut divides a range into whole bands, by the names of their sets, and what is left at its ends.
func (b *bands) cut(low, high int64) (from, to string, edges [][2]int64) {
	from, to = b.kind, b.kind+"~"
	if low > math.MinInt64 {
		start, end := b.around(low)
		if high < end || high == end && low != start {
			return "", "", [][2]int64{{low, high}}
		}
		if low != start {
			edges = append(edges, [2]int64{low, end})
			low = end
		}
		from = b.name(low)
	}
	if high < math.MaxInt64 {
		start, _ := b.around(high)
		if high != start {
			edges = append(edges, [2]int64{start, high})
		}
		to = b.name(start)
	}
	return from, to, edges
}

// addSets adds the sets with a range of names.
func (w *sieve) addSets(set *db.Set, from, to string) error {
	return w.conn.Each(func(r db.Row) error {
		return damagedSet(w.account, r.Text(0), r.Int(1), set.AddBlock(r.Int(1), r.Int(2), r.Bytes(3)))
	}, sqlSetsBetween, w.account, from, to)
}

// addEdge adds those of a part of a band. It reads those in it or the others of the band, whichever are fewer: some of either, and more and
// more.
func (w *sieve) addEdge(set *db.Set, b *bands, low, high int64) (whole bool, err error) {
	if b.several { // one of the others may be in it as well
		_, whole, err = w.find(set, w.most(), b.rows, low, high)
		return whole, err
	}
	start, end := b.around(low)
	for limit := max(1, w.costs.window); ; limit *= 4 {
		var in, out db.Set
		_, whole, err := w.find(&in, limit, b.rows, low, high)
		if err != nil {
			return false, err
		}
		if whole {
			set.Or(&in)
			return true, nil
		}
		n, whole, err := w.find(&out, limit, b.rows, start, low)
		if whole && err == nil {
			_, whole, err = w.find(&out, limit-n, b.rows, high, end)
		}
		if err != nil {
			return false, err
		}
		if whole {
			band, err := readSet(w.conn, w.account, b.name(start))
			band.AndNot(&out)
			set.Or(&band)
			return true, err
		}
		if limit >= w.most() {
			return false, nil
		}
	}
}

// leavesMonth are the sets that a contact which is about to be changed leaves and joins. It goes by the time of this machine: what is not asked for
// in advance is read when it is needed.
func (a *accountUnit) leavesMonth(id int64) []string {
	row := a.contacts[id]
	if row == nil || row.damage != nil {
		return nil
	}
	left, joined := changedMonths.name(seconds(row.contact.UpdatedAt)), changedMonths.name(time.Now().Unix())
	if left == joined {
		return nil
	}
	return []string{left, joined}
}
