package move

import (
	"context"
	"maps"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

const sqlContactsByID = contacts.SQLLoadContacts + ` ORDER BY id`

// ExportContacts prepares a file of the contacts of a selection, oldest first.
func (s *MoveStore) ExportContacts(ctx context.Context, account int64, of jobs.Selection, how ExportOptions) (*Export, error) {
	fields, err := s.CustomFields(ctx, account)
	if err != nil {
		return nil, err
	}
	selected, err := s.Selected(ctx, account, of)
	if err != nil {
		return nil, err
	}
	out := sheet.ContactTable(fields)
	each := func(ctx context.Context, read func(*contacts.Stored) error, done func(int) error) error {
		return InParts(account, &selected, func(ids []int64) error { return s.eachContact(ctx, account, ids, read, done) })
	}
	if how.Format != "jsonl" {
		err = each(ctx, func(c *contacts.Stored) error {
			out.Fit(&c.Contact)
			return nil
		}, func(int) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	return s.Prepared(ctx, account, "contacts", &Export{Rows: selected.Count(), How: how, head: out.Header,
		write: func(ctx context.Context, to *records, done func(int) error) error {
			return each(ctx, func(c *contacts.Stored) error {
				return to.add(func() ([]byte, error) { return wire(c, fields) }, func() ([]any, error) { return out.Contact(&c.Contact) })
			}, done)
		}})
}

// wire is the contact as the API shows it, with the custom fields as they are defined.
func wire(c *contacts.Stored, fields *custom.Fields) ([]byte, error) {
	if c.Custom == 0 {
		return crm.AppendContact(nil, c.ID, c.Body), nil
	}
	return crm.AppendCustomized(nil, c.ID, c.Body, fields)
}

// eachContact reads contacts by their ids. done is told how many of them each piece had.
func (s *MoveStore) eachContact(ctx context.Context, account int64, ids []int64, read func(*contacts.Stored) error, done func(n int) error) error {
	var piece []*contacts.Stored
	return s.inPieces(ctx, account, ids, sqlContactsByID, func() { piece = piece[:0] }, func(r db.Row) (int, error) {
		c := contacts.ScanContact(r)
		piece = append(piece, c)
		return len(c.Body), c.Damage
	}, func() error {
		if err := s.fillFirstGifts(ctx, account, piece); err != nil {
			return err
		}
		for _, c := range piece {
			if err := read(c); err != nil {
				return err
			}
		}
		return nil
	}, func() error { return done(len(piece)) })
}

const sqlFirstGiven = `SELECT contact_id, MIN(given_at) FROM gift WHERE account_id = $1 AND contact_id = ANY($2) AND net > 0 GROUP BY contact_id`

// fillFirstGifts looks up when contacts gave first.
func (s *MoveStore) fillFirstGifts(ctx context.Context, account int64, piece []*contacts.Stored) error {
	givers := map[int64]*contacts.Stored{}
	for _, c := range piece {
		if c.LastGift != 0 {
			givers[c.ID] = c
		}
	}
	if len(givers) == 0 {
		return nil
	}
	return s.Read(ctx, func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			givers[r.Int(0)].Contact.FirstGift = gifts.OnClock(r.Int(1))
			return nil
		}, sqlFirstGiven, account, slices.Collect(maps.Keys(givers)))
	})
}
