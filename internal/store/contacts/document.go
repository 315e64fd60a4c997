package contacts

import (
	"context"
	"errors"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const sqlContact = `SELECT body, checksum, archived, ` + customAt + `, revision FROM contact WHERE account_id = $1 AND id = $2`

// Document is a contact as it is stored and answered.
type Document struct {
	ID      int64
	Body    []byte
	Created bool   // it is new
	Merged  bool   // a create was merged into a contact that was there
	Before  []byte // the body of that contact as it was
	Merge   int64  // by which that can be undone, 0 for none
	Review  bool   // a person should look at the merge
	Tag     doc.ETag

	fields *custom.Fields // that it is shown with; nil where it has none
}

// Outcome tells what has become of a create.
func (d Document) Outcome() (created, merged bool) { return d.Created, d.Merged }

// Append appends the wire form.
func (d Document) Append(dst []byte) []byte {
	if d.fields != nil {
		if shown, err := crm.AppendCustomized(dst, d.ID, d.Body, d.fields); err == nil { // we have just written it
			return shown
		}
	}
	return crm.AppendContact(dst, d.ID, d.Body)
}

// document is a contact that was changed, for its answer.
func document(t *store.Tx, c *crm.Contact, body []byte) (d Document, err error) {
	d = Document{ID: c.ID, Body: body}
	a, err := t.LockAccount(doc.IDAccount(c.ID))
	if err != nil {
		return d, err
	}
	if row := Of(a).Contacts[c.ID]; row != nil {
		d.Tag = row.etag(a)
	}
	if len(c.Custom) > 0 {
		if d.fields, err = customFields(t, a); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Contact appends the wire form of an active contact to dst.
func (s *ContactStore) Contact(ctx context.Context, account, id int64, dst []byte) ([]byte, error) {
	dst, _, err := s.TaggedContact(ctx, account, id, dst)
	return dst, err
}

// TaggedContact is Contact with the tag of the state that it is in.
func (s *ContactStore) TaggedContact(ctx context.Context, account, id int64, dst []byte) ([]byte, doc.ETag, error) {
	return s.customContact(ctx, account, id, dst, nil)
}

// customContact is TaggedContact for a caller that knows definitions of custom fields, or nil.
func (s *ContactStore) customContact(ctx context.Context, account, id int64, dst []byte, fields *custom.Fields) (_ []byte, tag doc.ETag, err error) {
	if store.Foreign(account, id) {
		return dst, tag, crm.ErrNotFound
	}
	start := len(dst)
	err = s.Read(ctx, func(c db.Conn) error {
		dst = dst[:start]
		found := false
		err := c.Each(func(r db.Row) error {
			found = true
			if r.Int(2) != 0 {
				return crm.ErrArchived
			}
			body, err := store.ContactBody(r, 0, id)
			if err == nil {
				dst, err = s.Fields.append(dst, id, body, r.Int(3), fields)
				tag = doc.ETag{Revision: r.Int(4), Checksum: r.Int(1), Fields: r.Int(3)}
			}
			return err
		}, sqlContact, account, id)
		if err == nil && !found {
			err = crm.ErrNotFound
		}
		return err
	})
	if errors.Is(err, errUnknownFields) {
		known, err := s.CustomFields(ctx, account)
		if err != nil {
			return dst, tag, err
		}
		return s.customContact(ctx, account, id, dst[:start], known)
	}
	return dst, tag, err
}

// CheckContact tells whether the id is one of the account's active contacts.
func (s *ContactStore) CheckContact(ctx context.Context, account, id int64) error {
	_, err := s.Contact(ctx, account, id, nil)
	return err
}

const ContactResource = "contact"

// Resource names the contact for an answer that shows it.
func (d Document) Resource() store.Resource { return store.Resource{Kind: ContactResource, ID: d.ID} }

func rereadContact(t *store.Tx, a *store.Account, id int64, _ string) (store.Result, error) {
	return Current(t, a, id)
}

// Current is a contact as it is in the unit of work.
func Current(t *store.Tx, a *store.Account, id int64) (d Document, err error) {
	row, err := Load(t, a.Account, id)
	switch {
	case err != nil:
		return d, err
	case row.Contact.Erased():
		return d, crm.ErrArchived
	}
	return document(t, &row.Contact, row.Body)
}

// Merging is the merge that has made the document what it is, 0 for none, and whether a person should look at it.
func (d Document) Merging() (id int64, review bool) { return d.Merge, d.Review }

// ETag names the state that a contact is in.
func (d Document) ETag() doc.ETag { return d.Tag }

// Matches refuses a change of a contact that is not in the state that the change needs.
func (s *Stored) Matches(ctx context.Context, a *store.Account) error {
	return store.Matches(ctx, func() doc.ETag { return s.etag(a) })
}

func (s *Stored) etag(a *store.Account) doc.ETag {
	tag := doc.ETag{Revision: s.Revision, Checksum: s.Checksum}
	if s.Custom != 0 {
		tag.Fields = a.FieldSeq
	}
	return tag
}
