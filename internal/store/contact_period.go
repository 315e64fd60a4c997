package store

import (
	"math"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// Contacts that were added on the same day are a set, and so are those that were last changed in the same month: a stretch of time is the union
// of some sets, however many contacts are in it. A new contact is beside the others of its day, so that days are few rows. Changes are all
// over the contacts, so that only the first change of a contact in a month moves it to another set.

// periods are the sets of one time of contacts.
type periods struct {
	kind   string // what their names begin with
	layout string // of the rest of their names, which sort as the times do
	months bool   // rather than days
	rows   string // finds the contacts of a stretch of time, one by one
}

var (
	addedDays     = periods{"c:", time.DateOnly, false, sqlCreatedIn}
	changedMonths = periods{"u:", "2006-01", true, sqlUpdatedIn}
	giftMonths    = periods{"g:", "2006-01", true, sqlGave}
)

const sqlSetsBetween = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name >= $2 AND name < $3`

// name is the set of a moment.
func (p *periods) name(at time.Time) string { return p.kind + at.UTC().Format(p.layout) }

// around is the period of a moment, from its beginning to that of the next one.
func (p *periods) around(seconds int64) (start, end int64) {
	at := time.Unix(seconds, 0).UTC()
	if p.months {
		first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
		return first.Unix(), first.AddDate(0, 1, 0).Unix()
	}
	day := at.Truncate(24 * time.Hour)
	return day.Unix(), day.AddDate(0, 0, 1).Unix()
}

// timeSets are the sets of the times of a contact.
func timeSets(c *crm.Contact) (names []string) {
	if seconds(c.CreatedAt) != 0 {
		names = append(names, addedDays.name(c.CreatedAt))
	}
	if seconds(c.UpdatedAt) != 0 {
		names = append(names, changedMonths.name(c.UpdatedAt))
	}
	return names
}

// sameTimes tells whether a change leaves a contact in the sets of its times.
func sameTimes(before, after *crm.Contact) bool {
	sameMonth := before.UpdatedAt.Year() == after.UpdatedAt.Year() && before.UpdatedAt.Month() == after.UpdatedAt.Month()
	return before.CreatedAt.Equal(after.CreatedAt) && sameMonth && (seconds(before.UpdatedAt) == 0) == (seconds(after.UpdatedAt) == 0)
}

// window keeps those of a stretch of time.
func (w *sieve) window(p *periods, window crm.Window) error {
	var found db.Set
	low, high := span(window)
	from, to, edges := p.cut(low, high)
	if err := w.addSets(&found, from, to); err != nil {
		return err
	}
	for _, edge := range edges {
		whole, err := w.addEdge(&found, p, edge[0], edge[1])
		if err != nil || !whole {
			w.open = true
			return err
		}
	}
	w.keep(found)
	return nil
}

// cut divides a stretch of time into whole periods, by the names of their sets, and what is left at its ends.
func (p *periods) cut(low, high int64) (from, to string, edges [][2]int64) {
	from, to = p.kind, p.kind+"~"
	if low > math.MinInt64 {
		start, end := p.around(low)
		if high <= end && low != start || high < end {
			return "", "", [][2]int64{{low, high}}
		}
		if low != start {
			edges = append(edges, [2]int64{low, end})
			low = end
		}
		from = p.name(time.Unix(low, 0))
	}
	if high < math.MaxInt64 {
		start, _ := p.around(high)
		if high != start {
			edges = append(edges, [2]int64{start, high})
		}
		to = p.name(time.Unix(start, 0))
	}
	return from, to, edges
}

// addSets adds the sets with a range of names.
func (w *sieve) addSets(set *db.Set, from, to string) error {
	return w.conn.Each(func(r db.Row) error {
		return damagedSet(w.account, r.Text(0), r.Int(1), set.AddBlock(r.Int(1), r.Int(2), r.Bytes(3)))
	}, sqlSetsBetween, w.account, from, to)
}

// addEdge adds those of a part of a period. It reads those in it or the others of the period, whichever are fewer: some of either, and more and
// more. whole is false where documents cost less.
func (w *sieve) addEdge(set *db.Set, p *periods, low, high int64) (whole bool, err error) {
	start, end := p.around(low)
	for limit := max(1, w.costs.window); ; limit *= 4 {
		var in, out db.Set
		_, whole, err := w.find(&in, limit, p.rows, low, high)
		if err != nil {
			return false, err
		}
		if whole {
			set.Or(&in)
			return true, nil
		}
		n, whole, err := w.find(&out, limit, p.rows, start, low)
		if whole && err == nil {
			_, whole, err = w.find(&out, limit-n, p.rows, high, end)
		}
		if err != nil {
			return false, err
		}
		if whole {
			period, err := readSet(w.conn, w.account, p.name(time.Unix(start, 0)))
			period.AndNot(&out)
			set.Or(&period)
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
	left, joined := changedMonths.name(row.contact.UpdatedAt), changedMonths.name(time.Now())
	if left == joined {
		return nil
	}
	return []string{left, joined}
}
