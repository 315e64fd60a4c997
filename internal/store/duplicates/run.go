package duplicates

import (
	"context"
	"sync"

	"donorbook/internal/crm/duplicate"
	"donorbook/internal/db"
)

// FindDuplicates brings the duplicates of an account up to date: what was changed since the last look is compared, or all contacts with each other where much was changed. It waits for a look that is
// under way. progress is told how much is done, from 0 to 1; it may be nil.
func (s *DuplicateStore) FindDuplicates(ctx context.Context, account int64, progress func(done float64)) error {
	return nil
}

func (s *DuplicateStore) lookOnce(ctx context.Context, report func(error)) {}

type models struct {
	mu sync.Mutex
	m  *duplicate.Model
}

type run struct{ revision, at, busy, learned, contacts, changed int64 }

func readRun(c db.Conn, account int64) (r run, err error) { return r, nil }
