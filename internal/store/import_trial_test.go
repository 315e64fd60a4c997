package store

import (
	"testing"
	"time"
)

// TestADryRunWaitsForNoOneWhoWrites: it only reads, so that it goes on while a change of the same account is being made, and is in no one's way.
func TestADryRunWaitsForNoOneWhoWrites(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s).Number
		fillBefore(t, s, account)
		spy := spyOn(t, s)
		writing, written := make(chan struct{}), make(chan error)
		tried := make(chan struct{})
		go func() {
			written <- s.updateAccount(t.Context(), account, func(x *tx) error {
				x.accounts[account].touch(x)
				close(writing)
				select {
				case <-tried:
				case <-time.After(10 * time.Second):
					t.Error("the dry run waits for the change")
				}
				return nil
			})
		}()
		<-writing
		rows := openTable(t, peopleFile)
		result, err := s.TryFile(t.Context(), account, rows, importOf(rows, MergeExisting), func(TrialRow) error { return nil }, func(ImportCounts) {})
		close(tried)
		if err != nil || result != triedResults[MergeExisting] {
			t.Errorf("%v: %+v", err, result)
		}
		if err := <-written; err != nil || spy.commits.Load() != 1 {
			t.Errorf("%v: %d commits", err, spy.commits.Load())
		}
	})
}
