package duplicates

import "context"

// Dismiss remembers that two contacts are not the same person, until something changes that is compared. It is crm.ErrNotFound where one of them is none of the account, crm.ErrArchived for an archived one.
func (s *DuplicateStore) Dismiss(ctx context.Context, account, a, b int64) error { return nil }

// Undismiss takes that back. The pair is shown again at once.
func (s *DuplicateStore) Undismiss(ctx context.Context, account, a, b int64) error { return nil }
