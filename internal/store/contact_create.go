package store

import (
	"context"
	"time"

	"donorbook/internal/crm"
)

// CreateContact makes a contact of a valid input, or merges it into the contact that it matches. A mode that leaves the
// decision to a person may answer *crm.Matched.
func (s *ContactStore) CreateContact(ctx context.Context, account int64, in crm.ContactInput, mode crm.CreateMode) (Document, error) {
	return s.knowingFields(ctx, account, &in, func() (Document, error) { return s.createContact(ctx, account, in, mode) })
}

func (s *ContactStore) createContact(ctx context.Context, account int64, in crm.ContactInput, mode crm.CreateMode) (Document, error) {
	now := s.now()
	n, err := prepareContact(account, in, mode, now) // encoded here, so that the queue only looks up and inserts
	if err != nil {
		return Document{}, err
	}
	return answered(ctx, s.Base, account, n.needs(), func(t *tx) (Document, error) { return t.createContact(account, n, mode, now) })
}

// newContact is a contact that is about to be created, or merged into the one that it matches.
type newContact struct {
	in        crm.ContactInput
	fresh     crm.Contact
	body      []byte
	words     string
	matchKeys []string // that are looked up
}

func prepareContact(account int64, in crm.ContactInput, mode crm.CreateMode, now time.Time) (*newContact, error) {
	fresh, err := crm.NewContact(in, now)
	if err != nil {
		return nil, err
	}
	n := &newContact{in: in, fresh: fresh, body: fresh.AppendBody(make([]byte, 0, usualBody)), words: fresh.SearchDocument(account)}
	if mode != crm.Force {
		n.matchKeys = in.MatchKeys()
	}
	return n, nil
}

func (n *newContact) needs() needs { return needs{keys: n.matchKeys, sets: setsOf(&n.fresh)} }

// matchNew finds the contact that a new one is merged into, nil where there is none.
func (t *tx) matchNew(account int64, n *newContact) (*stored, error) {
	found, err := t.match(account, &n.in, n.matchKeys)
	if err == nil {
		err = t.account(account).checkFields(&n.in)
	}
	return found, err
}

// createContact makes the contact, or merges it.
func (t *tx) createContact(account int64, n *newContact, mode crm.CreateMode, now time.Time) (Document, error) {
	var match *crm.Contact
	found, err := t.matchNew(account, n)
	if err != nil {
		return Document{}, err
	}
	if found != nil {
		match = &found.contact
	}
	if found != nil && mode == crm.Skip {
		return Document{ID: found.id, Body: found.body, Merged: true, Before: found.body}, nil
	}
	merge, err := n.in.MergesInto(match, mode)
	if err != nil {
		return Document{}, err
	}
	if merge {
		made, err := t.change(found, crm.DidMerge, func(c crm.Contact) (crm.Contact, error) { return c.Merge(n.in, now) })
		made.Merged, made.Before = true, found.body
		return made, err
	}
	id, err := t.insertContact(account, n.fresh, n.body, n.words)
	if err != nil {
		return Document{}, err
	}
	made := contactsOf(t.account(account)).contacts[id]
	d, err := t.document(&made.contact, made.body)
	d.Created = true
	return d, err
}
