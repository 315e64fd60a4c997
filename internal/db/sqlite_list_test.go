package db_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// One list finds that the index has changed, while all other connections are lent to lists that need the index too.
func TestAListWithAnOldSnapshotDoesNotBlockTheOthers(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	account := newAccount(t, s).Number
	create(t, s, account, `{"first_name":"A"}`)
	wantLists(t, s, account, []int64{1}, nil)
	create(t, s, account, `{"first_name":"B"}`) // the index is behind, so that every list has to update it

	page := crm.PageRequest{Page: 1, PerPage: 20}
	tally := sqlTexts(t, "../store")["sqlTally"]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var others sync.WaitGroup
	var stage atomic.Int64
	lists := func() {
		others.Go(func() {
			if _, result, err := s.Contacts(ctx, account, crm.Active, page, nil, nil); err != nil || result.Total != 3 {
				t.Errorf("another list: %+v, %v", result, err)
			}
		})
	}
	lent := make(chan struct{}, 2*db.SQLiteReaders)
	observer := &db.Observer{Lent: func() { lent <- struct{}{} }}
	observer.Read = func(sql string) {
		if sql != tally || !stage.CompareAndSwap(0, 1) {
			return
		}
		// The first list has its snapshot. Meanwhile a contact is created, and another list updates the index.
		create(t, s, account, `{"first_name":"C"}`)
		lists()
		others.Wait()
		for len(lent) > 0 {
			<-lent
		}
		stage.Store(2)
	}
	observer.Lending = func() {
		// The first list comes back for a new snapshot: others take all the connections before it gets one.
		if stage.CompareAndSwap(2, 3) {
			for range db.SQLiteReaders {
				lists()
			}
			for range db.SQLiteReaders {
				<-lent
			}
		}
	}
	s.DB().Observe(observer)
	if _, result, err := s.Contacts(ctx, account, crm.Active, page, nil, nil); err != nil || result.Total != 3 {
		t.Errorf("the first list: %+v, %v", result, err)
	}
	others.Wait()
	if stage.Load() != 3 {
		t.Errorf("the test has come to stage %d only", stage.Load())
	}
}
