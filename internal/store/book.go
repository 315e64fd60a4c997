package store

import "context"

// Store is an open database, with everything that can be done to it.
type Store struct {
	*Base
	*CheckStore
}

// Open opens the database, creates it if it does not exist, and upgrades an older one.
func Open(ctx context.Context, o Options) (*Store, error) {
	base, err := openBase(ctx, o)
	if err != nil {
		return nil, err
	}
	people := newPeopleStore(base)
	contacts := newContactStore(base)
	gifts := newGiftStore(contacts, newCampaignStore(people))
	return &Store{base, newCheckStore(newMoveStore(newJobStore(gifts)))}, nil
}
