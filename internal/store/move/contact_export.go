package move

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

const sqlContactsByID = store.SQLLoadContacts + ` ORDER BY id`

// ExportContacts prepares a file of the contacts of a selection: in the order of its filter, where that has one, or
// else oldest first.
func (s *MoveStore) ExportContacts(ctx context.Context, account int64, of jobs.Selection,
	how ExportOptions,
) (*Export, error) {
	if of.All && of.Filter.Sort != (find.Sort{}) {
		var order listOrder
		err := s.Filtered(ctx, account, of.Scope, of.Filter, func(_ db.Conn, w *store.Filtering) error {
			seqs, err := w.Ordered()
			order = make(listOrder, 0, len(seqs))
			for _, seq := range seqs {
				order = append(order, int32(seq))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return s.contactFile(ctx, account, "contacts", order, nil, how)
	}
	selected, err := s.Selected(ctx, account, of)
	if err != nil {
		return nil, err
	}
	return s.contactFile(ctx, account, "contacts", oldestFirst{&selected}, nil, how)
}

// fileOrder is which contacts a file has, in which order.
type fileOrder interface {
	Count() int64
	each(ctx context.Context, s *MoveStore, account int64, fill fillContacts, read func(*store.StoredContact) error,
		done func(int) error) error
}

// fillContacts adds to a piece of contacts what is read beside their documents.
type fillContacts func(ctx context.Context, account int64, piece []*store.StoredContact) error

func onlyDocuments(context.Context, int64, []*store.StoredContact) error { return nil }

type oldestFirst struct{ *db.Set }

func (o oldestFirst) each(ctx context.Context, s *MoveStore, account int64, fill fillContacts,
	read func(*store.StoredContact) error, done func(int) error,
) error {
	return InParts(account, o.Set, func(ids []int64) error {
		return s.eachContact(ctx, account, ids, fill, read,
			done)
	})
}

// listOrder is sequence numbers in the order of a list. A slow client holds them for long, so that they are small.
type listOrder []int32

func (o listOrder) Count() int64 { return int64(len(o)) }

// orderedAtOnce is how many contacts are read before they are put in their order.
const orderedAtOnce = 100

func (o listOrder) each(ctx context.Context, s *MoveStore, account int64, fill fillContacts,
	read func(*store.StoredContact) error, done func(int) error,
) error {
	for some := range slices.Chunk(o, orderedAtOnce) {
		ids := store.Collect(some, func(seq int32) int64 { return doc.MakeID(account, int64(seq)) })
		found := make(map[int64]*store.StoredContact, len(ids))
		err := s.eachContact(ctx, account, slices.Sorted(slices.Values(ids)), fill, func(c *store.StoredContact) error {
			found[c.ID] = c
			return nil
		}, func(int) error { return nil })
		for i := 0; i < len(ids) && err == nil; i++ {
			if c := found[ids[i]]; c != nil {
				err = read(c)
			}
		}
		if err == nil {
			err = done(len(found))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ExportDonors prepares a file of the contacts whom a filter of donors finds, oldest first, each with what they gave.
func (s *MoveStore) ExportDonors(ctx context.Context, account int64, filter giving.DonorFilter,
	how ExportOptions,
) (*Export, error) {
	found, currency, err := s.FindDonors(ctx, account, filter)
	if err != nil {
		return nil, err
	}
	more := &donations{store: s, filter: filter, currency: currency}
	return s.contactFile(ctx, account, "donors", oldestFirst{&found}, more, how)
}

// donations are what stands beside the contacts of a file of donors. It is added up for one piece of the file at a
// time: that of all donors would be in memory for as long as a slow client reads.
type donations struct {
	store    *MoveStore
	filter   giving.DonorFilter
	currency string
	of       map[int64]giving.Given // the contacts of the piece
}

func (d *donations) fill(ctx context.Context, account int64, piece []*store.StoredContact) error {
	err := d.store.fillGiving(ctx, account, piece)
	if err == nil {
		ids := store.Collect(piece, func(c *store.StoredContact) int64 { return c.ID })
		d.of, err = d.store.GivenOf(ctx, account, d.currency, d.filter, ids)
	}
	return err
}

func (d *donations) row(contact int64) sheet.Row {
	when := "to the campaign"
	if d.filter.Campaign == 0 {
		when = fmt.Sprint("in ", d.filter.GaveIn())
	}
	return sheet.DonorRow(when, d.of[contact], d.currency)
}

func (d *donations) wire(contact int64, document []byte) []byte {
	given := d.of[contact]
	line := fmt.Appendf(nil, `{"gifts":%d,"given":%s,"currency":%q,"other_currencies":{`, given.Gifts,
		text.MoneyInput(given.Sums[d.currency], d.currency), d.currency)
	for i, other := range given.Others(d.currency) {
		if i > 0 {
			line = append(line, ',')
		}
		line = fmt.Appendf(line, `%q:%s`, other, text.MoneyInput(given.Sums[other], other))
	}
	return fmt.Appendf(line, `},"contact":%s}`, document)
}

// contactFile prepares a file of contacts. more stands beside each of them, nil for nothing.
func (s *MoveStore) contactFile(ctx context.Context, account int64, what string, selected fileOrder, more *donations,
	how ExportOptions,
) (*Export, error) {
	fields, err := s.CustomFields(ctx, account)
	if err != nil {
		return nil, err
	}
	row, err := store.Find(ctx, s.Store, crm.ErrNotFound, store.ScanTally, store.SQLTally, account)
	if err != nil {
		return nil, err
	}
	out := sheet.ContactTable(fields, row.Currency)
	if how.Format != "jsonl" {
		err = selected.each(ctx, s, account, onlyDocuments, func(c *store.StoredContact) error {
			out.Fit(&c.Contact)
			return nil
		}, func(int) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	document, cells, head := func(c *store.StoredContact) ([]byte, error) { return wire(c, fields) },
		func(c *store.StoredContact) ([]any, error) { return out.Contact(&c.Contact) }, out.Header
	fill := s.fillGiving
	if more != nil {
		fill = more.fill
		document = func(c *store.StoredContact) ([]byte, error) {
			text, err := wire(c, fields)
			return more.wire(c.ID, text), err
		}
		cells = func(c *store.StoredContact) ([]any, error) {
			row, err := out.Contact(&c.Contact)
			return append(row, more.row(c.ID).Cells()...), err
		}
		head = func() []string { return append(out.Header(), more.row(0).Header()...) }
	}
	return s.Prepared(ctx, account, what, &Export{Rows: selected.Count(), How: how, head: head,
		write: func(ctx context.Context, to *records, done func(int) error) error {
			return selected.each(ctx, s, account, fill, func(c *store.StoredContact) error {
				return to.add(func() ([]byte, error) { return document(c) }, func() ([]any, error) { return cells(c) })
			}, done)
		}})
}

// wire is the contact as the API shows it, with the custom fields as they are defined.
func wire(c *store.StoredContact, fields *custom.Fields) ([]byte, error) {
	if c.Custom == 0 {
		return crm.AppendContact(nil, c.ID, c.Body), nil
	}
	return crm.AppendCustomized(nil, c.ID, c.Body, fields)
}

// eachContact reads contacts by their ids. done is told how many of them each piece had.
func (s *MoveStore) eachContact(ctx context.Context, account int64, ids []int64, fill fillContacts,
	read func(*store.StoredContact) error, done func(n int) error,
) error {
	return eachOf(ctx, s, account, ids, sqlContactsByID, func(r db.Row) (*store.StoredContact, int, error) {
		c := store.ScanContact(r)
		return c, len(c.Body), c.Damage
	}, func(piece []*store.StoredContact) error { return fill(ctx, account, piece) }, read, done)
}

const sqlFirstGiven = `SELECT contact_id, MIN(given_at) FROM gift WHERE account_id = $1 AND contact_id = ANY($2)
	AND net > 0 GROUP BY contact_id`

// fillGiving looks up when contacts gave first, and how much of it belongs to plans.
func (s *MoveStore) fillGiving(ctx context.Context, account int64, piece []*store.StoredContact) error {
	givers := map[int64]*store.StoredContact{}
	for _, c := range piece {
		if c.LastGift != 0 {
			givers[c.ID] = c
		}
	}
	if len(givers) == 0 {
		return nil
	}
	return s.Read(ctx, func(c db.Conn) error {
		row, err := store.ReadTally(c, account)
		if err != nil {
			return err
		}
		var cells []string
		for id := range givers {
			cells = append(cells, giving.Cell(0, 0, row.Currency, id))
		}
		err = c.Scan(func(r db.Row) {
			name, sums := store.ScanGiving(r)
			givers[doc.MakeID(account, giving.CellContact(name))].Contact.Recurring = sums.Recurring
		}, store.SQLGiving, account, cells)
		if err != nil {
			return err
		}
		return c.Scan(func(r db.Row) {
			givers[r.Int(0)].Contact.FirstGift = store.OnClock(r.Int(1))
		}, sqlFirstGiven, account, slices.Collect(maps.Keys(givers)))
	})
}
