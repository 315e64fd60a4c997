package contacts

import (
	"cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/derived"
)

// newStored is the row of a contact that can be read.
func newStored(c crm.Contact, body []byte, createdAt int64, at Trace) *Stored {
	at.Custom = Flag(len(c.Custom) > 0)
	c.LastGift, c.Given = store.Moment(at.LastGift), at.Given
	return &Stored{ID: c.ID, CreatedAt: createdAt, Trace: at, Archived: Flag(c.Archived()), MatchKeys: store.JoinKeys(c.MatchKeys), Body: body, Checksum: store.Checksum(body), Contact: c}
}

// Rows is what follows from a contact that can be read.
func (s *Stored) Rows() *find.Rows {
	if s.rows == nil {
		s.rows = find.ContactRows(&s.Contact, doc.IDAccount(s.ID))
	}
	return s.rows
}

// put is the one way in which a contact changes: it writes its row, and the difference of what followed from it before and what follows from it now. was is nil for a
// new one. It fails before it changes anything; note records the change when nothing can fail any more.
func put(t *store.Tx, a *store.Account, was, is *Stored, note func() int64) error {
	var before *find.Rows
	if was != nil {
		was = cmp.Or(Of(a).Contacts[is.ID], was) // the unit of work may have changed it since it was read
		before = was.Rows()
	}
	if err := derived.Put(t, a, is.ID, before, is.Rows()); err != nil {
		return err
	}
	is.Revision = note()
	if was == nil {
		a.Touch(t)
		a.ContactSeq, a.LastCreated = doc.IDSeq(is.ID), is.CreatedAt
		write(t, t.Insert, a, is)
		return nil
	}
	gone, _ := crm.KeyChange(&was.Contact, &is.Contact)
	for _, key := range gone {
		delete(Of(a).crowds, key)
	}
	if was.Archived != is.Archived || find.SortName(&was.Contact) != find.SortName(&is.Contact) {
		clear(Of(a).crowds)
	}
	if was.Archived < is.Archived {
		Of(a).leaving = append(Of(a).leaving, is.ID)
	}
	write(t, t.Save, a, is)
	return nil
}

// PutColumns writes a contact of which nothing has changed but the numbers of its gifts, and the change that its row names. Of them follows nothing else.
func PutColumns(t *store.Tx, a *store.Account, row *Stored, stats crm.Stats, at Trace) {
	c, body := row.Contact, row.Body
	if c.Stats != stats {
		c.Stats = stats
		body = c.AppendBody(make([]byte, 0, len(body)+16))
	}
	is := newStored(c, body, row.CreatedAt, at)
	is.rows = row.rows
	write(t, t.Save, a, is)
}

// write writes the row of a contact, and notes it for the changes that come after.
func write(t *store.Tx, write func(*db.Table, ...any), a *store.Account, is *Stored) {
	Of(a).Contacts[is.ID] = is
	write(store.ContactTable, is.Values(a.Account)...)
}

// InsertContact gives a new contact its id and writes it.
func InsertContact(t *store.Tx, account int64, c crm.Contact) (id int64, err error) {
	return insert(t, account, c, c.AppendBody(make([]byte, 0, UsualBody)), find.ContactRows(&c, account))
}

// insert is InsertContact with what was worked out before. Contacts are numbered as they are made: none was made before the one before it.
func insert(t *store.Tx, account int64, c crm.Contact, body []byte, rows *find.Rows) (id int64, err error) {
	a, err := t.LockAccount(account)
	if err != nil {
		return 0, err
	}
	if a.ContactSeq >= doc.MaxSeq {
		return 0, store.ErrNoMoreIDs
	}
	c.ID = doc.MakeID(account, a.ContactSeq+1)
	if last := store.Moment(a.LastCreated); c.CreatedAt.Before(last) { // another node's clock is ahead, or ours was set back
		c.CreatedAt, c.UpdatedAt = last, last
		body = c.AppendBody(make([]byte, 0, len(body)))
	}
	if err := CheckIDs(t, a, c.ID, c.MatchKeys); err != nil {
		return 0, err
	}
	is := newStored(c, body, store.Seconds(c.CreatedAt), Trace{})
	is.rows = rows
	return c.ID, put(t, a, nil, is, func() int64 { return t.Record(a, history.ContactNoun, c.ID, history.DidCreate, "") })
}

// PlaceContact writes a contact as it was in another account, under the next sequence number, with what follows from it.
func PlaceContact(t *store.Tx, a *store.Account, at Trace, c crm.Contact, rows *find.Rows) error {
	is := newStored(c, c.AppendBody(make([]byte, 0, UsualBody)), max(a.LastCreated, store.Seconds(c.CreatedAt)), at)
	is.rows = rows
	return put(t, a, nil, is, func() int64 { return at.Revision })
}
