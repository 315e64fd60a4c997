package sheet

import (
	"bytes"

	"donorbook/internal/crm/text"
)

// Days finds out how a file writes days: 3/4/2026 alone does not tell, and 31/12/2026 in the same column does.
type Days struct{ columns []order }

// order is what the days of a column tell.
type order struct{ dayFirst, monthFirst bool }

// NewDays is for a file with so many columns.
func NewDays(columns int) *Days { return &Days{make([]order, columns)} }

// See looks at a cell.
func (d *Days) See(column int, cell string) {
	if dayFirst, known := text.DayOrder(cell); known && column < len(d.columns) {
		d.columns[column].dayFirst = d.columns[column].dayFirst || dayFirst
		d.columns[column].monthFirst = d.columns[column].monthFirst || !dayFirst
	}
}

// String is what Rows.Days takes: a letter for each column. One that does not tell is written as the others are, if these agree.
func (d *Days) String() string {
	var all order
	for _, c := range d.columns {
		all = order{all.dayFirst || c.dayFirst, all.monthFirst || c.monthFirst}
	}
	if all == (order{}) {
		return ""
	}
	said := bytes.Repeat([]byte{all.letter()}, len(d.columns))
	for i, c := range d.columns {
		if c != (order{}) {
			said[i] = c.letter()
		}
	}
	return string(said)
}

func (o order) letter() byte {
	switch {
	case o.dayFirst && !o.monthFirst:
		return 'd'
	case o.monthFirst && !o.dayFirst:
		return 'm'
	}
	return '-' // both ways
}
