package sheet

import (
	"errors"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/rows"
)

var fieldsOfEveryType = []custom.Field{
	{ID: 1, Title: "A", Type: custom.TextField}, {ID: 2, Title: "B", Type: custom.LongTextField},
	{ID: 3, Title: "C", Type: custom.NumberField}, {ID: 4, Title: "D", Type: custom.DateField},
	{ID: 5, Title: "E", Type: custom.BooleanField},
	{ID: 6, Title: "F", Type: custom.SelectField, Options: []string{"small", "large"}},
}

// everyTarget are the columns of files of a noun that are read, those of lists once for the first and once for the last
// of them.
func everyTarget(s *Sheet) (targets []string) {
	for i := range s.columns {
		switch c := &s.columns[i]; {
		case c.target == "" || c.target == Skip:
		case c.target == customTarget:
			for _, f := range fieldsOfEveryType {
				targets = append(targets, CustomField(f.ID))
			}
		case c.list != "":
			_, _, most := crm.ContactList(c.list)
			targets = append(targets, numbered(c.target, 0), numbered(c.target, int64(most-1)))
		default:
			targets = append(targets, c.target)
		}
	}
	return targets
}

var rowDay = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// readerOf reads a cell of a column beside those that a row needs, and says what is wrong with it.
func readerOf(s *Sheet, target, heading, region string) func(cell string) error {
	m, needed := Mapping{{Name: heading, Target: target}}, []string{""}
	for name, value := range rows.Pairs(`
		first_name     Ana
		last_name      Ruiz
		amount         5
		transacted_at  2026-01-31
	`) {
		if s.byTarget[name] != nil && name != target {
			m, needed = append(m, Column{Name: name, Target: name}), append(needed, value)
		}
	}
	rows, fields := s.Rows(m, region), custom.NewFields(6, fieldsOfEveryType)
	return func(cell string) error {
		cells := append([]string{cell}, needed[1:]...)
		if s == Contacts {
			in := rows.Input(cells)
			left, err := in.ValidateRow(fields, region, rowDay)
			rows.Quoted(left, cells)
			return err
		}
		row := rows.Gift(2, cells)
		err := row.GiveReference(func(RowKey) (int, error) { return 0, nil })
		if match := row.Match(); match != nil {
			_ = match.Validate(region, rowDay)
		}
		rows.Quoted(row.LeftOut, cells)
		return errors.Join(err, row.Validate(region, rowDay))
	}
}

// Whatever a cell holds, it becomes a value, is left out, or is a fault of its row, which a person can read. The value
// of a benefit once ended the server.
func TestEveryColumnReadsEveryCell(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*Sheet{"contacts": Contacts, "gifts": Gifts} {
		targets := everyTarget(s)
		if len(targets) < 40 {
			t.Fatalf("%s have only %d columns", name, len(targets))
		}
		for _, target := range targets {
			read := readerOf(s, target, s.Label(target), "US")
			for _, cell := range crmtest.Cells() {
				mustRead(t, target, cell, read)
			}
		}
	}
}

func mustRead(t *testing.T, target, cell string, read func(cell string) error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: a cell %.40q ends the reading: %v", target, cell, p)
		}
	}()
	var refused *doc.Invalid
	if err := read(cell); err != nil && (!errors.As(err, &refused) || len(refused.Faults) == 0) {
		t.Errorf("%s: a cell %.40q is refused with %v", target, cell, err)
	}
}

// FuzzCell: no cell of any column, whatever its heading, ends the reading.
func FuzzCell(f *testing.F) {
	for i, cell := range crmtest.Cells() {
		if len(cell) < 500 {
			f.Add(uint(i), "Amount (USD)", cell, strings.Repeat("U", i%2)+"S")
		}
	}
	type place struct {
		of     *Sheet
		target string
	}
	var all []place
	for _, s := range []*Sheet{Contacts, Gifts} {
		for _, target := range everyTarget(s) {
			all = append(all, place{s, target})
		}
	}
	f.Fuzz(func(t *testing.T, column uint, heading, cell, region string) {
		at := all[column%uint(len(all))]
		mustRead(t, at.target, cell, readerOf(at.of, at.target, heading, region))
	})
}
