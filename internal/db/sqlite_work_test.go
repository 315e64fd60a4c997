//go:build drill

package db_test

import (
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// workOf is what the database did while do ran.
func workOf(s *book.Book, do func()) db.Work {
	before := s.DB().SQLiteWork()
	do()
	after := s.DB().SQLiteWork()
	return db.Work{Steps: after.Steps - before.Steps, Scans: after.Scans - before.Scans, Sorts: after.Sorts - before.Sorts, Runs: after.Runs - before.Runs}
}

// pageWork is what it did for a page, and how many rows were read.
type pageWork struct {
	db.Work
	rows int64
}

// The cost of a page does not depend on its position, measured in the work of the database and not in time.
func TestEveryPageOf10000CostsTheSame(t *testing.T) {
	t.Parallel()
	s, err := book.Open(t.Context(), store.Options{Data: t.TempDir()}) // checking it completely would take longer than everything else
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // other tests check that
	account := newAccount(t, s).Number
	const contacts, workers = 10_000, 100
	in := input(t, `{"first_name":"A"}`)
	atOnce(workers, func(int) {
		for range contacts / workers {
			if _, err := s.CreateContact(t.Context(), account, in, crm.Force); err != nil {
				t.Error(err)
			}
		}
	})
	read := countRows(s)
	measured := func(do func()) pageWork {
		before := read.Load()
		w := workOf(s, do)
		return pageWork{w, read.Load() - before}
	}
	page := func(scope crm.ContactScope, page, perPage, wantTotal, wantCount int64) pageWork {
		t.Helper()
		var w pageWork
		for range 2 { // the first time, statements are prepared and the index is updated
			w = measured(func() {
				ids, total := list(t, s, account, scope, page, perPage)
				if total != wantTotal || int64(len(ids)) != wantCount {
					t.Errorf("%s, page %d: %d contacts, %d in all", scope, page, len(ids), total)
				}
			})
		}
		if w.Scans != 0 || w.Sorts != 0 || w.rows < wantCount || w.rows > wantCount+1 { // the contacts; the account's totals, if they were not known
			t.Errorf("%s, page %d: %+v", scope, page, w)
		}
		return w
	}
	same := func(what string, got, want pageWork) {
		t.Helper()
		if ratio := float64(got.Steps) / float64(want.Steps); ratio < 0.95 || ratio > 1.05 {
			t.Errorf("%s: %+v, and the first page %+v", what, got, want)
		}
	}
	for _, scope := range []crm.ContactScope{crm.Active, crm.All} {
		first := page(scope, 1, 20, contacts, 20)
		same("the middle", page(scope, 250, 20, contacts, 20), first)
		same("the end", page(scope, 500, 20, contacts, 20), first)
		if first.Steps > 20*20 { // adjacent contacts are read as one range
			t.Errorf("the first page: %+v", first)
		}
		if past := page(scope, 501, 20, contacts, 0); past.Steps > first.Steps {
			t.Errorf("past the end: %+v, and the first page %+v", past, first)
		}
	}

	// A few archived contacts that are far apart cost as much as adjacent ones.
	for seq := int64(1); seq <= contacts; seq += 250 {
		archive(t, s, account, doc.MakeID(account, seq))
	}
	active := page(crm.Active, 1, 20, contacts-40, 20)
	same("the active ones at the end", page(crm.Active, 498, 20, contacts-40, 20), active)
	scattered := page(crm.Archived, 1, 20, 40, 20)
	same("the other archived ones", page(crm.Archived, 2, 20, 40, 20), scattered)
	if scattered.Steps > 5*active.Steps {
		t.Errorf("20 archived of 10,000: %+v, and 20 active ones %+v", scattered, active)
	}

	// After a change, a list reads the account's row and the three blocks of the archive, not the whole list.
	archive(t, s, account, doc.MakeID(account, 2))
	after := measured(func() { list(t, s, account, crm.Active, 250, 20) })
	if after.rows != 24 || after.Steps > active.Steps+100 {
		t.Errorf("after one change: %+v", after)
	}
	one := measured(func() { get(t, s, account, doc.MakeID(account, 9_999)) })
	if one.rows != 1 || one.Scans != 0 || one.Steps > 50 {
		t.Errorf("one contact: %+v", one)
	}
}
