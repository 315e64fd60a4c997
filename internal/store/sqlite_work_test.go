package store

import (
	"testing"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// work is what the database did.
type work struct {
	steps, scans, sorts, rows, runs int64
}

// workOf sums what all prepared statements of a store have done while do ran.
func workOf(spy *spy, do func()) work {
	sum := func() (w work) {
		for _, c := range spy.engine.(*sqliteEngine).opened {
			for _, statement := range c.statements {
				w.steps += int64(statement.stmt.Status(sqlite3.STMTSTATUS_VM_STEP, false))
				w.scans += int64(statement.stmt.Status(sqlite3.STMTSTATUS_FULLSCAN_STEP, false))
				w.sorts += int64(statement.stmt.Status(sqlite3.STMTSTATUS_SORT, false))
				w.runs += int64(statement.stmt.Status(sqlite3.STMTSTATUS_RUN, false))
			}
		}
		w.rows = spy.rows.Load()
		return w
	}
	before := sum()
	do()
	after := sum()
	return work{after.steps - before.steps, after.scans - before.scans, after.sorts - before.sorts, after.rows - before.rows, after.runs - before.runs}
}

// The price of a page does not depend on where it is, measured in the work of the database and not in time.
func TestEveryPageOf10000CostsTheSame(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Data: t.TempDir()}) // checking it as a whole would take longer than all the rest
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // others look at that
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
	spy := spyOn(t, s)
	page := func(scope crm.ContactScope, page, perPage, wantTotal, wantCount int64) work {
		t.Helper()
		var w work
		for range 2 { // the first time statements are prepared and the index is brought up to date
			w = workOf(spy, func() {
				ids, total := list(t, s, account, scope, page, perPage)
				if total != wantTotal || int64(len(ids)) != wantCount {
					t.Errorf("%s, page %d: %d contacts, %d in all", scope, page, len(ids), total)
				}
			})
		}
		if w.scans != 0 || w.sorts != 0 || w.rows < wantCount || w.rows > wantCount+1 { // the contacts; the account's totals, where they were not known
			t.Errorf("%s, page %d: %+v", scope, page, w)
		}
		return w
	}
	same := func(what string, got, want work) {
		t.Helper()
		if ratio := float64(got.steps) / float64(want.steps); ratio < 0.95 || ratio > 1.05 {
			t.Errorf("%s: %+v, and the first page %+v", what, got, want)
		}
	}
	for _, scope := range []crm.ContactScope{crm.Active, crm.All} {
		first := page(scope, 1, 20, contacts, 20)
		same("the middle", page(scope, 250, 20, contacts, 20), first)
		same("the end", page(scope, 500, 20, contacts, 20), first)
		if first.steps > 20*20 { // contacts side by side are read as one range
			t.Errorf("the first page: %+v", first)
		}
		if past := page(scope, 501, 20, contacts, 0); past.steps > first.steps {
			t.Errorf("past the end: %+v, and the first page %+v", past, first)
		}
	}

	// A few archived ones far apart cost no more than as many side by side.
	for seq := int64(1); seq <= contacts; seq += 250 {
		archive(t, s, account, crm.MakeID(account, seq))
	}
	active := page(crm.Active, 1, 20, contacts-40, 20)
	same("the active ones at the end", page(crm.Active, 498, 20, contacts-40, 20), active)
	scattered := page(crm.Archived, 1, 20, 40, 20)
	same("the other archived ones", page(crm.Archived, 2, 20, 40, 20), scattered)
	if scattered.steps > 5*active.steps {
		t.Errorf("20 archived of 10,000: %+v, and 20 active ones %+v", scattered, active)
	}

	// A change costs one row more to know of, not the whole list.
	archive(t, s, account, crm.MakeID(account, 2))
	after := workOf(spy, func() { list(t, s, account, crm.Active, 250, 20) })
	if after.rows != 22 || after.steps > active.steps+100 {
		t.Errorf("after one change: %+v", after)
	}
	one := workOf(spy, func() { get(t, s, account, crm.MakeID(account, 9_999)) })
	if one.rows != 1 || one.scans != 0 || one.steps > 50 {
		t.Errorf("one contact: %+v", one)
	}
}
