package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Create creates a contact. If an active contact has one of the emails or phones, the input is merged into that one, and merged is true.
func (s Contacts) Create(ctx context.Context, in ContactInput) (contact Contact, merged bool, err error) {
	a, err := s.c.send(ctx, http.MethodPost, "/v1/contacts", nil, in, &contact)
	return contact, a.header.Get("X-Contact-Merged") == "true", err
}

// ForceCreate creates a contact even if another one has the same email or phone.
func (s Contacts) ForceCreate(ctx context.Context, in ContactInput) (contact Contact, err error) {
	_, err = s.c.send(ctx, http.MethodPost, "/v1/contacts", url.Values{"force_create": {"true"}}, in, &contact)
	return contact, err
}

// Merge merges another contact into one, with its gifts and plans. The merge can be undone by its id.
func (s Contacts) Merge(ctx context.Context, id, other int64) (contact Contact, merge int64, err error) {
	return s.MergeWith(ctx, id, MergeInput{ContactID: other})
}

// MergeWith is Merge with a choice of whose values win.
func (s Contacts) MergeWith(ctx context.Context, id int64, in MergeInput) (contact Contact, merge int64, err error) {
	a, err := s.c.send(ctx, http.MethodPost, at("/v1/contacts/{id}/merge", id), nil, in, &contact)
	merge, _ = strconv.ParseInt(a.header.Get("X-Merge-Id"), 10, 64) // of an error there is none
	return contact, merge, err
}

// UndoMerge is Undo of Merges.
func (s Contacts) UndoMerge(ctx context.Context, merge int64) (Undone, error) {
	return s.c.Merges.Undo(ctx, merge)
}
