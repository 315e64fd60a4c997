package contacts

import (
	"context"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

// CreateContact makes a contact of a valid input, or merges it into the contact that it matches. A mode that leaves the
// decision to a person may answer *crm.Matched.
func (s *ContactStore) CreateContact(ctx context.Context, account int64, in crm.ContactInput, mode crm.CreateMode) (Document, error) {
	return s.knowingFields(ctx, account, &in, func() (Document, error) { return s.createContact(ctx, account, in, mode) })
}

func (s *ContactStore) createContact(ctx context.Context, account int64, in crm.ContactInput, mode crm.CreateMode) (Document, error) {
	now := s.Now()
	n, err := PrepareContact(account, in, mode, now) // encoded here, so that the queue only looks up and inserts
	if err != nil {
		return Document{}, err
	}
	return store.Answered(ctx, s.Base, account, n.Needs(), func(t *store.Tx, _ *store.Account) (Document, error) {
		return CreateContact(t, account, n, mode, now)
	})
}

// NewContact is a contact that is about to be created, or merged into the one that it matches.
type NewContact struct {
	In        crm.ContactInput
	fresh     crm.Contact
	body      []byte
	words     string
	MatchKeys []string // that are looked up
}

func PrepareContact(account int64, in crm.ContactInput, mode crm.CreateMode, now time.Time) (*NewContact, error) {
	fresh, err := crm.NewContact(in, now)
	if err != nil {
		return nil, err
	}
	n := &NewContact{In: in, fresh: fresh, body: fresh.AppendBody(make([]byte, 0, UsualBody)), words: find.SearchDocument(&fresh, account)}
	if mode != crm.Force {
		n.MatchKeys = in.MatchKeys()
	}
	return n, nil
}

func (n *NewContact) Needs() store.Needs {
	return store.Needs{Keys: n.MatchKeys, Sets: SetsOf(&n.fresh)}
}

// MatchNew finds the contact that a new one is merged into, nil where there is none.
func MatchNew(t *store.Tx, account int64, n *NewContact) (*Stored, error) {
	found, err := Match(t, account, &n.In, n.MatchKeys)
	if err == nil {
		err = checkFields(t.Account(account), &n.In)
	}
	return found, err
}

// CreateContact makes the contact, or merges it.
func CreateContact(t *store.Tx, account int64, n *NewContact, mode crm.CreateMode, now time.Time) (Document, error) {
	var match *crm.Contact
	found, err := MatchNew(t, account, n)
	if err != nil {
		return Document{}, err
	}
	if found != nil {
		match = &found.Contact
	}
	if found != nil && mode == crm.Skip {
		return Document{ID: found.ID, Body: found.Body, Merged: true, Before: found.Body}, nil
	}
	merge, err := n.In.MergesInto(match, mode)
	if err != nil {
		return Document{}, err
	}
	if merge {
		made, err := Change(t, found, history.DidMerge, func(c crm.Contact) (crm.Contact, error) { return c.Merge(n.In, now) })
		made.Merged, made.Before = true, found.Body
		return made, err
	}
	id, err := InsertContact(t, account, n.fresh, n.body, n.words)
	if err != nil {
		return Document{}, err
	}
	made := Of(t.Account(account)).Contacts[id]
	d, err := document(t, &made.Contact, made.Body)
	d.Created = true
	return d, err
}
