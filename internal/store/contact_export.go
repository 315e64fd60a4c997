package store

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
)

const sqlContactsByID = sqlLoadContacts + ` ORDER BY id`

// ExportContacts prepares a file of the contacts of a selection, oldest first.
func (s *MoveStore) ExportContacts(ctx context.Context, account int64, of Selection, how ExportOptions) (*Export, error) {
	fields, err := s.CustomFields(ctx, account)
	if err != nil {
		return nil, err
	}
	selected, err := s.selected(ctx, account, of)
	if err != nil {
		return nil, err
	}
	out := sheet.ContactTable(fields)
	each := func(ctx context.Context, read func(*stored) error, done func(int) error) error {
		return inParts(account, &selected, func(ids []int64) error { return s.eachContact(ctx, account, ids, read, done) })
	}
	if how.Format != "jsonl" {
		err = each(ctx, func(c *stored) error {
			out.Fit(&c.contact)
			return nil
		}, func(int) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	return s.prepared(ctx, account, "contacts", &Export{Rows: selected.Count(), how: how, head: out.Header,
		write: func(ctx context.Context, to *records, done func(int) error) error {
			return each(ctx, func(c *stored) error {
				return to.add(func() ([]byte, error) { return c.wire(fields) }, func() ([]any, error) { return out.Contact(&c.contact) })
			}, done)
		}})
}

// wire is the contact as the API shows it, with the custom fields as they are defined.
func (c *stored) wire(fields *crm.CustomFields) ([]byte, error) {
	if c.custom == 0 {
		return crm.AppendContact(nil, c.id, c.body), nil
	}
	return crm.AppendCustomized(nil, c.id, c.body, fields)
}

// eachContact reads contacts by their ids. done is told how many of them each piece had.
func (s *MoveStore) eachContact(ctx context.Context, account int64, ids []int64, read func(*stored) error, done func(n int) error) error {
	var piece []*stored
	return s.inPieces(ctx, account, ids, sqlContactsByID, func() { piece = piece[:0] }, func(r db.Row) (int, error) {
		c := scanContact(r)
		piece = append(piece, c)
		return len(c.body), c.damage
	}, func() error {
		for _, c := range piece {
			if err := read(c); err != nil {
				return err
			}
		}
		return nil
	}, func() error { return done(len(piece)) })
}
