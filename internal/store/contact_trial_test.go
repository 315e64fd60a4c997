package store

import (
	"errors"
	"fmt"
	"testing"

	"donorbook/internal/crm"
)

// TestADryRunSplitsNoOneElsesBatch: it takes back what it has written, so that what shared a transaction with it would have to begin again, one by one.
func TestADryRunSplitsNoOneElsesBatch(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		for other%4 != account%4 { // they share a queue
			other = newAccount(t, s).Number
		}
		const creates = 10
		var changes []func() error
		for i := range 2 * creates {
			if i == creates {
				changes = append(changes, func() error {
					rows := openTable(t, "first_name,last_name,email\nAna,Rossi,ana@example.org\nJo,Doe,jo@example.org\n")
					tried, err := s.TryFile(t.Context(), account, rows, importOf(rows, MergeExisting), func(TrialRow) error { return nil }, func(ImportCounts) {})
					if tried.Created != 2 {
						err = errors.Join(err, fmt.Errorf("the dry run has found %+v", tried))
					}
					return err
				})
			}
			changes = append(changes, creating(t, s, other, fmt.Sprintf("N%d", i)))
		}
		spy := spyOn(t, s)
		if err := errors.Join(together(t, s, account, changes...)...); err != nil {
			t.Fatal(err)
		}
		if n := spy.commits.Load(); n != 2 {
			t.Errorf("%d creates before a dry run and as many after it took %d commits", creates, n)
		}
		if _, made := page(t, s, other, crm.All, 1, 1); made != 2*creates {
			t.Errorf("%d contacts were created", made)
		}
		if _, made := page(t, s, account, crm.All, 1, 1); made != 0 {
			t.Errorf("a dry run has created %d contacts", made)
		}
	})
}
