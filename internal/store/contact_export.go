package store

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const sqlContactsByID = sqlLoadContacts + ` ORDER BY id`

// ExportContacts prepares a file of the contacts of a scope that pass a filter, oldest first.
func (s *Store) ExportContacts(ctx context.Context, account int64, scope crm.ContactScope, f crm.ContactFilter, how ExportOptions) (*Export, error) {
	var ids []int64
	fields, err := s.CustomFields(ctx, account)
	if err != nil {
		return nil, err
	}
	sheet := &crm.ContactSheet{Custom: fields}
	err = s.exporting.through(ctx, account, func() (err error) {
		if ids, err = s.contactsThat(ctx, account, scope, f); err != nil || how.Format == "jsonl" {
			return err
		}
		return s.eachContact(ctx, account, ids, func(c *stored) error {
			sheet.Fit(&c.contact)
			return nil
		}, func(int) {})
	})
	if err != nil {
		return nil, err
	}
	return s.prepared(ctx, account, "contacts", &Export{Rows: int64(len(ids)), how: how, head: sheet.Header,
		write: func(ctx context.Context, to *records, done func(int)) error {
			return s.eachContact(ctx, account, ids, func(c *stored) error {
				return to.add(func() ([]byte, error) { return c.wire(fields) }, func() ([]any, error) { return sheet.Row(&c.contact) })
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

// contactsThat are the ids of the contacts that pass a filter, in ascending order.
func (s *Store) contactsThat(ctx context.Context, account int64, scope crm.ContactScope, f crm.ContactFilter) (ids []int64, err error) {
	if f.None {
		return nil, nil
	}
	f.Sort = crm.ContactSort{}
	err = s.sifting.through(ctx, account, func() error {
		return s.scoped(ctx, account, scope, func(c db.Conn, row tally, all db.Set) error {
			w := sieve{ctx: ctx, conn: c, account: account, row: row, scope: scope, filter: f, costs: s.costs, tags: &s.tags, set: all, left: all.Count()}
			w.all = w.left
			if err := w.sift(); err != nil {
				return err
			}
			ids = idsOf(account, w.set.Page(0, w.left))
			return nil
		})
	})
	return ids, err
}

// eachContact reads contacts by their ids. done is told how many of them each piece had.
func (s *Store) eachContact(ctx context.Context, account int64, ids []int64, read func(*stored) error, done func(n int)) error {
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
		done(len(piece))
		return nil
	})
}
