package mails

import (
	"context"
	"slices"
	"sync"

	"donorbook/internal/crm/mail"
)

// Shelf is the relay of a demo: it keeps the last mails in memory, for a page that shows them, and sends none.
type Shelf struct {
	mu      sync.Mutex
	letters []*mail.Letter
}

const shelved = 50

func (s *Shelf) Send(_ context.Context, l *mail.Letter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letters = slices.Insert(s.letters, 0, l)
	s.letters = s.letters[:min(len(s.letters), shelved)]
	return nil
}

// Shelved are the mails of a demo, newest first; demo is false where mails are sent.
func (s *MailStore) Shelved() (letters []*mail.Letter, demo bool) {
	shelf, demo := s.relay.(*Shelf)
	if !demo {
		return nil, false
	}
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	return slices.Clone(shelf.letters), true
}
