//go:build drill

package db_test

import (
	"sync/atomic"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// work is what the database did for something, and how many rows were read.
type work struct {
	db.Work
	rows int64
}

// The cost of a page does not depend on its position, measured in the work of the database and not in time.
func TestEveryPageOf10000CostsTheSame(t *testing.T) {
	t.Parallel()
	// checking it completely would take longer than all else
	s := must(book.Open(t.Context(), store.Options{Data: t.TempDir()}))(t)
	defer s.Close() //nolint:errcheck // other tests check that
	account := newAccount(t, s).Number
	const contacts, workers = 10_000, 100
	in := input(t, `{"first_name":"A"}`)
	rig.AtOnce(workers, func(int) {
		for range contacts / workers {
			if _, err := s.CreateContact(t.Context(), account, in, crm.Force); err != nil {
				t.Error(err)
			}
		}
	})
	var read atomic.Int64
	s.DB().Observe(&db.Observer{Row: func() { read.Add(1) }})
	measured := func(do func()) work {
		before, rows := s.DB().SQLiteWork(), read.Load()
		do()
		w := s.DB().SQLiteWork()
		return work{db.Work{Steps: w.Steps - before.Steps, Scans: w.Scans - before.Scans,
			Sorts: w.Sorts - before.Sorts}, read.Load() - rows}
	}
	costs := func(scope crm.ContactScope, n, wantTotal, want int64) (w work) {
		t.Helper()
		for range 2 { // the first time, statements are prepared and the index is updated
			w = measured(func() {
				documents, total := page(t, s, account, scope, n, 20)
				if ids := rig.IDs(t, documents); total != wantTotal || int64(len(ids)) != want {
					t.Errorf("%s, page %d: %d contacts, %d in all", scope, n, len(ids), total)
				}
			})
		}
		// the contacts; the account's totals, if they were not known
		if w.Scans != 0 || w.Sorts != 0 || w.rows < want || w.rows > want+1 {
			t.Errorf("%s, page %d: %+v", scope, n, w)
		}
		return w
	}
	same := func(what string, got, want work) {
		t.Helper()
		if ratio := float64(got.Steps) / float64(want.Steps); ratio < 0.95 || ratio > 1.05 {
			t.Errorf("%s: %+v, and the first page %+v", what, got, want)
		}
	}
	for _, scope := range []crm.ContactScope{crm.Active, crm.All} {
		first := costs(scope, 1, contacts, 20)
		same("the middle", costs(scope, 250, contacts, 20), first)
		same("the end", costs(scope, 500, contacts, 20), first)
		// adjacent ones are read as a range
		if past := costs(scope, 501, contacts, 0); first.Steps > 20*20 || past.Steps > first.Steps {
			t.Errorf("past the end: %+v, and the first page %+v", past, first)
		}
	}

	// A few archived contacts that are far apart cost as much as adjacent ones.
	for seq := int64(1); seq <= contacts; seq += 250 {
		rig.Archive(t, s, account, doc.MakeID(account, seq))
	}
	active := costs(crm.Active, 1, contacts-40, 20)
	same("the active ones at the end", costs(crm.Active, 498, contacts-40, 20), active)
	scattered := costs(crm.Archived, 1, 40, 20)
	same("the other archived ones", costs(crm.Archived, 2, 40, 20), scattered)
	if scattered.Steps > 5*active.Steps {
		t.Errorf("20 archived of 10,000: %+v, and 20 active ones %+v", scattered, active)
	}

	// After a change, a list reads the account's row and the three blocks of the archive, not the whole list.
	rig.Archive(t, s, account, doc.MakeID(account, 2))
	after := measured(func() { page(t, s, account, crm.Active, 250, 20) })
	if after.rows != 24 || after.Steps > active.Steps+100 {
		t.Errorf("after one change: %+v", after)
	}
	one := measured(func() { rig.Get(t, s, account, doc.MakeID(account, 9_999)) })
	if one.rows != 1 || one.Scans != 0 || one.Steps > 50 {
		t.Errorf("one contact: %+v", one)
	}
}
