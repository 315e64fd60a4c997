package people

import (
	"context"
	"errors"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store"
)

// RememberDevice adds a token for the user to those of a browser.
func (s *PeopleStore) RememberDevice(ctx context.Context, user int64, tokens string) (string, error) {
	found, err := store.Find(ctx, s.Store, errNoUser, scanUser, sqlUserByID, user)
	if err != nil {
		return "", err
	}
	return access.RememberDevice(tokens, found.password), nil
}

// KnownDevice tells whether the user with this email has signed in before with the browser that holds the tokens, since
// the password was set. The id is the browser's; it is "" for one that is not known.
func (s *PeopleStore) KnownDevice(ctx context.Context, email, tokens string) (id string, err error) {
	found, err := s.userByEmail(ctx, email)
	if errors.Is(err, crm.ErrNotFound) {
		return "", nil
	}
	if err == nil {
		id, _ = access.KnownDevice(tokens, found.password)
	}
	return id, err
}
