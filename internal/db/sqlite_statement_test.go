package db_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
)

// Gifts are found by statements that are built from their filters. A client that goes through all of them leaves no more than some.
func TestSQLiteKeepsABoundedNumberOfStatements(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	account := newAccount(t, s).Number
	parts := []func(*giving.GiftFilter){
		func(f *giving.GiftFilter) { f.Contact = 1 },
		func(f *giving.GiftFilter) { f.Campaign = 1 },
		func(f *giving.GiftFilter) { f.Recurring = true },
		func(f *giving.GiftFilter) { f.Status = giving.GiftStatuses[0] },
		func(f *giving.GiftFilter) { f.Method = giving.Methods[0] },
		func(f *giving.GiftFilter) { f.ExternalID = "x" },
		func(f *giving.GiftFilter) { f.From = time.Unix(1, 0) },
		func(f *giving.GiftFilter) { f.To = time.Unix(2, 0) },
		func(f *giving.GiftFilter) { f.Currency = "USD" },
		func(f *giving.GiftFilter) { f.Min = 1 },
		func(f *giving.GiftFilter) { f.Max = 2 },
	}
	for n := range 1 << len(parts) {
		var filter giving.GiftFilter
		for i, part := range parts {
			if n&(1<<i) != 0 {
				part(&filter)
			}
		}
		if _, _, err := s.GiftPage(t.Context(), account, filter, crm.PageRequest{Page: 1, PerPage: 20}); err != nil {
			t.Fatal(err)
		}
	}
	if kept := s.DB().Statements(); slices.Max(kept) != db.KeptStatements {
		t.Errorf("the connections keep %v statements, want %d at most", kept, db.KeptStatements)
	}
}

// A statement that runs is kept, however many others run in between.
func TestSQLiteKeepsAStatementThatRuns(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	var rows []int64
	err := s.DB().Read(t.Context(), func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			rows = append(rows, r.Int(0))
			for i := range 2 * db.KeptStatements {
				if _, err := c.Int(fmt.Sprintf("SELECT %d", i)); err != nil {
					return err
				}
			}
			return nil
		}, "SELECT 1 UNION ALL SELECT 2")
	})
	if err != nil || !slices.Equal(rows, []int64{1, 2}) {
		t.Errorf("%v, %v", rows, err)
	}
}

// SQLite runs a statement once for each element of a list, so that it can have only one. The same list may stand there twice.
func TestSQLiteRefusesTwoLists(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	newAccount(t, s)
	const numbers = `SELECT account_id FROM account WHERE account_id = ANY($1)`
	count := func(sql string, args ...any) (n int, err error) {
		err = s.DB().Read(t.Context(), func(c db.Conn) error {
			return c.Each(func(db.Row) error { n++; return nil }, sql, args...)
		})
		return n, err
	}
	if n, err := count(numbers+` AND account_id = ANY($1)`, []int64{1, 2}); n != 1 || err != nil {
		t.Errorf("one list, twice: %d rows, %v", n, err)
	}
	for range 2 { // prepared, then used again
		if n, err := count(numbers+` AND parent = ANY($2)`, []int64{1}, []int64{0}); err == nil {
			t.Errorf("two lists found %d rows", n)
		}
	}
}
