package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
)

// UsualBody is room for the document of most contacts.
const UsualBody = 2048

// UpdateContact changes what a valid input names.
func (s *Store) UpdateContact(ctx context.Context, account, id int64, in crm.ContactInput) (ContactDocument, error) {
	return s.patchContact(ctx, account, editNeeds(id, in), &in,
		func(_ *Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.Patch(in, now) })
}

// EditContact is UpdateContact for a person. An email or a phone that is new to the contact and belongs to another
// active one is *crm.Matched until the person has seen that contact.
func (s *Store) EditContact(ctx context.Context, account, id int64, in crm.ContactInput) (ContactDocument, error) {
	n := editNeeds(id, in)
	n.Keys = in.MatchKeys()
	return s.patchContact(ctx, account, n, &in, func(t *Tx, c crm.Contact, now time.Time) (crm.Contact, error) {
		patched, err := c.Patch(in, now)
		if err != nil {
			return c, err
		}
		other, err := Match(t, account, &in, in.AddedKeys(c))
		if err == nil && other != nil {
			err = in.CheckSeen(&other.Contact)
		}
		return patched, err
	})
}

// editNeeds is what a change of a contact's fields looks up.
func editNeeds(id int64, in crm.ContactInput) Needs {
	n := Needs{Contact: id}
	if in.Tags != nil {
		n = syncNeeds(id, *in.Tags)
	}
	_, marked := in.Marked()
	n.Sets, n.Words = append(n.Sets, find.InputCommonWords(&in)...), in.Addresses != nil || len(in.Custom) > 0 || marked
	n.Keys = append(n.Keys, in.IDKeys()...)
	return n
}

// MarkBounced notes with everyone who has an email that mail to it came back.
func (s *Store) MarkBounced(ctx context.Context, account int64, email string) error {
	normal, _ := text.NormalEmail(email)
	var found []int64
	err := s.Filtered(ctx, account, crm.Active, find.Filter{Email: crm.EmailPrefix + normal},
		func(_ db.Conn, w *Filtering) error {
			seqs, err := w.Ordered()
			found = IDsOf(account, seqs)
			return err
		})
	for _, id := range found {
		_, err := s.UpdateContact(ctx, account, id, crm.ContactInput{BouncedEmail: &email})
		// it may have another email meanwhile
		if err != nil && !errors.Is(err, crm.ErrArchived) && !errors.As(err, new(*doc.Invalid)) {
			return err
		}
	}
	return err
}

// tagNeeds is what a change looks up that adds these tags, or removes them; syncNeeds of one that replaces the others
// with them.
func tagNeeds(id int64, tags []string) Needs {
	return Needs{Contact: id, Sets: find.SetNames(find.TagSet, tags)}
}

func syncNeeds(id int64, tags []string) Needs {
	n := tagNeeds(id, tags)
	n.Tags = true
	return n
}

// MoveNeeds is what a change looks up that takes a contact to the archive or back.
func MoveNeeds(id int64) Needs {
	return Needs{Contact: id, Sets: []string{find.ArchiveSet}}
}

// AddTags adds tags to a contact.
func (s *Store) AddTags(ctx context.Context, account, id int64, tags []string) (ContactDocument, error) {
	return s.changeActive(ctx, account, tagNeeds(id, tags),
		func(_ *Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.AddTags(tags, now) })
}

// SyncTags replaces the tags of a contact.
func (s *Store) SyncTags(ctx context.Context, account, id int64, tags []string) (ContactDocument, error) {
	return s.changeActive(ctx, account, syncNeeds(id, tags),
		func(_ *Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.SyncTags(tags, now) })
}

// RemoveTags takes tags from a contact.
func (s *Store) RemoveTags(ctx context.Context, account, id int64, tags []string) (ContactDocument, error) {
	return s.changeActive(ctx, account, tagNeeds(id, tags),
		func(_ *Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.RemoveTags(tags, now) })
}

// ArchiveContact archives an active contact.
func (s *Store) ArchiveContact(ctx context.Context, account, id int64) error {
	_, err := s.changeActive(ctx, account, MoveNeeds(id),
		func(_ *Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.Archive(now), nil })
	return err
}

// RestoreContact makes an archived contact active again; an active one stays as it is.
func (s *Store) RestoreContact(ctx context.Context, account, id int64) (ContactDocument, error) {
	return s.changeContact(ctx, account, MoveNeeds(id), func(_ *Tx, c crm.Contact, now time.Time) (crm.Contact, error) {
		switch {
		case !c.Archived():
			return c, nil
		case c.Erased():
			return c, crm.ErrArchived // there is nothing to bring back
		case c.MergedInto != 0:
			return c, Fault("", doc.MergedContact, c.ID, c.MergedInto)
		}
		return c.Restore(now), nil
	})
}

// decision is what becomes of a contact. It changes nothing itself.
type decision func(t *Tx, c crm.Contact, now time.Time) (crm.Contact, error)

// changeActive is changeContact for what archived contacts refuse.
func (s *Store) changeActive(ctx context.Context, account int64, n Needs, decide decision) (ContactDocument, error) {
	return s.changeContact(ctx, account, n, func(t *Tx, c crm.Contact, now time.Time) (crm.Contact, error) {
		if c.Archived() {
			return c, crm.ErrArchived
		}
		return decide(t, c, now)
	})
}

// changeContact is the one way in which a contact changes: load, let crm decide, save.
func (s *Store) changeContact(ctx context.Context, account int64, n Needs, decide decision) (ContactDocument, error) {
	if Foreign(account, n.Contact) {
		return ContactDocument{}, crm.ErrNotFound
	}
	now := s.Now()
	return Answered(ctx, s, account, n, func(u Unit) (ContactDocument, error) {
		found, err := Load(u.Tx, account, n.Contact)
		if err != nil {
			return ContactDocument{}, err
		}
		return ChangeContact(u.Tx, found, 0, func(c crm.Contact) (crm.Contact, error) {
			changed, err := decide(u.Tx, c, now)
			if err == nil {
				err = found.Matches(ctx, u.Tx.Account(account).Account)
			}
			return changed, err
		})
	})
}

// Stored is a contact as it is stored, whether it can be read or not.
type StoredContact struct {
	ID, CreatedAt, Archived int64 // createdAt never falls from one contact to the next, even where the document says so
	MatchKeys               string
	Body                    []byte
	Checksum                int64
	Contact                 crm.Contact
	Damage                  error          // where it cannot be read
	Columns                 contactColumns // as they are kept; known where all contacts are gone through
	Trace

	rows *find.Rows // what follows from it, where that was worked out
}

// Trace is what the row of a contact says beside its document.
type Trace struct {
	Revision int64 // of its last change
	LastGift int64 // when the last gift was given that counts
	Custom   int64 // it has custom fields
	Given    int64 // its total of contributions, in the smallest unit of the account's currency
}

// contactColumns are what contacts are filtered and sorted by. Their documents say the same.
type contactColumns struct {
	updatedAt int64
	sortName  string
}

func columnsOf(c *crm.Contact) contactColumns {
	return contactColumns{Seconds(c.UpdatedAt), find.SortName(c)}
}

func ScanContact(r db.Row) *StoredContact {
	body, err := ContactBody(r, 4, r.Int(0))
	s := &StoredContact{ID: r.Int(0), CreatedAt: r.Int(1), Archived: r.Int(2), MatchKeys: r.Text(3),
		Body: slices.Clone(body), Checksum: r.Int(5), Trace: Trace{r.Int(6), r.Int(7), r.Int(8), r.Int(9)}, Damage: err}
	if err == nil {
		s.Contact, s.Damage = crm.ParseContact(s.ID, s.Body, SplitKeys(s.MatchKeys))
		s.Contact.LastGift, s.Contact.Given = Moment(s.LastGift), s.Given
	}
	return s
}

// Row is a contact as it is stored, nil where there is none.
func Row(u Unit, id int64) (row *StoredContact, err error) {
	row, known := u.Contacts[id]
	if place := u.Place; !known && place != nil {
		err = place(id)
		row, known = u.Contacts[id]
	}
	if !known && err == nil {
		if _, err = u.One(func(r db.Row) { row = ScanContact(r) }, SQLLoadContacts, u.Number, []int64{id}); row != nil {
			u.Contacts[id] = row
		}
	}
	return row, err
}

// Survivor is a contact as it is stored, or the one that it was merged into since, which is the same person; nil where
// there is none.
func Survivor(u Unit, id int64) (row *StoredContact, err error) {
	for row, err = Row(u, id); err == nil && row != nil && row.Contact.MergedInto != 0; {
		row, err = Row(u, row.Contact.MergedInto)
	}
	return row, err
}

// Load reads a contact of an account.
func Load(t *Tx, account, id int64) (*StoredContact, error) {
	u, err := t.LockAccount(account)
	if err != nil {
		return nil, err
	}
	row, err := Row(u, id)
	switch {
	case err != nil:
		return nil, err
	case row == nil:
		return nil, crm.ErrNotFound
	}
	return row, row.Damage
}

// Change saves what decide makes of a contact. Where nothing changed, nothing is written. A kind of 0 is what the
// difference is called.
func ChangeContact(t *Tx, s *StoredContact, kind history.Kind,
	decide func(crm.Contact) (crm.Contact, error),
) (ContactDocument, error) {
	changed, err := decide(s.Contact)
	if err != nil {
		return ContactDocument{}, err
	}
	body := changed.AppendBody(make([]byte, 0, len(s.Body)+256))
	if string(body) == string(s.Body) {
		d, err := document(t, &changed, s.Body)
		d.Tag = s.etag(t.Account(doc.IDAccount(s.ID)).Account)
		return d, err
	}
	return save(t, s, kind, nil, newStored(changed, body, s.CreatedAt, s.Trace))
}

// ChangeAll is Change of several contacts, for which all that it writes to is looked up together.
func ChangeAll(u Unit, rows []*StoredContact, decide func(crm.Contact) crm.Contact) error {
	all := make([]*StoredContact, len(rows)) // as they will be; nil where nothing changes
	var changes []Derivation
	for i, s := range rows {
		changed := decide(s.Contact)
		if body := changed.AppendBody(make([]byte, 0, len(s.Body)+256)); string(body) != string(s.Body) {
			all[i] = newStored(changed, body, s.CreatedAt, s.Trace)
			changes = append(changes, Derivation{ID: s.ID, Before: s.Rows(), After: all[i].Rows()})
		}
	}
	if err := LookUpDerived(u, changes); err != nil {
		return err
	}
	for i, is := range all {
		if is == nil {
			continue
		}
		if err := saveContact(u.Tx, rows[i], 0, nil, is); err != nil {
			return err
		}
	}
	return nil
}

// Record is Change that the history tells of even where nothing changed. more is what it tells beside that.
func Record(t *Tx, s *StoredContact, kind history.Kind, more doc.Differences,
	decide func(crm.Contact) (crm.Contact, error),
) (ContactDocument, error) {
	changed, err := decide(s.Contact)
	if err != nil {
		return ContactDocument{}, err
	}
	return save(t, s, kind, more, newStored(changed, changed.AppendBody(make([]byte, 0, len(s.Body)+256)), s.CreatedAt,
		s.Trace))
}

func save(t *Tx, s *StoredContact, kind history.Kind, more doc.Differences,
	is *StoredContact,
) (ContactDocument, error) {
	if err := saveContact(t, s, kind, more, is); err != nil {
		return ContactDocument{}, err
	}
	return document(t, &is.Contact, is.Body)
}

func saveContact(t *Tx, s *StoredContact, kind history.Kind, more doc.Differences, is *StoredContact) error {
	u, err := t.LockAccount(doc.IDAccount(s.ID))
	if err != nil {
		return err
	}
	_, added := crm.KeyChange(&s.Contact, &is.Contact)
	if err := CheckIDs(u, s.ID, added); err != nil {
		return err
	}
	return put(u, s, is, func() int64 { return record(u, s, &is.Contact, kind, more) })
}

// Values are the columns of the row of a contact that can be read.
func (s *StoredContact) Values(account int64) []any { return s.Row(account, columnsOf(&s.Contact)) }

// Row is the row of a contact with the columns that it is filtered and sorted by.
func (s *StoredContact) Row(account int64, c contactColumns) []any {
	return []any{account, s.ID, s.Archived, s.MatchKeys, s.Body, s.Checksum, s.CreatedAt, c.updatedAt, c.sortName,
		s.Given,
		s.Revision, s.LastGift, s.Custom}
}

// CheckIDs refuses to give a contact external ids of another one, which may be archived.
func CheckIDs(u Unit, id int64, keys []string) error {
	for _, key := range crm.KindsOfKeys(keys)[0] {
		having, err := Holders(u, key)
		if err != nil {
			return err
		}
		if other := slices.IndexFunc(having, func(other int64) bool { return other != id }); other >= 0 {
			return crm.TakenID(key, having[other])
		}
	}
	return nil
}

func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// EachStored reads all contacts of an account; after is called after some of them, when another statement may run.
func EachStored(c db.Conn, account int64, read func(*StoredContact) error, after func() error) error {
	id, end := doc.MakeID(account, 0), doc.MakeID(account, doc.MaxSeq)
	for n := storedRead; n == storedRead; {
		n = 0
		err := c.Each(func(r db.Row) error {
			n++
			s := ScanContact(r)
			s.Columns = contactColumns{r.Int(10), r.Text(11)}
			id = s.ID
			return read(s)
		}, sqlStored, account, id, end)
		if err == nil {
			err = after()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const sqlStored = `SELECT id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom, given,
	updated_at, sort_name FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT 200`

const (
	storedRead = 200 // as the statement says
)

// record notes the change of a contact. A kind of 0 is what the difference is called.
func record(u Unit, s *StoredContact, changed *crm.Contact, kind history.Kind, more doc.Differences) (revision int64) {
	differences := append(s.Contact.Differences(changed), more...)
	switch kind {
	case 0:
		kind = history.KindOf(differences)
	case history.DidErase:
		differences = nil // the history must not keep what was erased
	}
	return u.Record(history.ContactNoun, s.ID, kind, differences.Text())
}

// newStored is the row of a contact that can be read.
func newStored(c crm.Contact, body []byte, createdAt int64, at Trace) *StoredContact {
	at.Custom = Flag(len(c.Custom) > 0)
	c.LastGift, c.Given = Moment(at.LastGift), at.Given
	return &StoredContact{ID: c.ID, CreatedAt: createdAt, Trace: at, Archived: Flag(c.Archived()),
		MatchKeys: JoinKeys(c.MatchKeys), Body: body, Checksum: Checksum(body), Contact: c}
}

// Rows is what follows from a contact that can be read.
func (s *StoredContact) Rows() *find.Rows {
	if s.rows == nil {
		s.rows = find.ContactRows(&s.Contact, doc.IDAccount(s.ID))
	}
	return s.rows
}

// put is the one way in which a contact changes: it writes its row, and the difference of what followed from it before
// and what follows from it now. was is nil for a new one. It fails before it changes anything; note records the change
// when nothing can fail any more.
func put(u Unit, was, is *StoredContact, note func() int64) error {
	var before *find.Rows
	if was != nil {
		was = cmp.Or(u.Contacts[is.ID], was) // the unit of work may have changed it since it was read
		before = was.Rows()
	}
	if err := Derive(u, is.ID, before, is.Rows()); err != nil {
		return err
	}
	is.Revision = note()
	if was == nil {
		u.Touch()
		u.ContactSeq, u.LastCreated = doc.IDSeq(is.ID), is.CreatedAt
		write(u.Tx, u.Insert, u.Account, is)
		return nil
	}
	gone, _ := crm.KeyChange(&was.Contact, &is.Contact)
	for _, key := range gone {
		delete(u.crowds, key)
	}
	if was.Archived != is.Archived || find.SortName(&was.Contact) != find.SortName(&is.Contact) {
		clear(u.crowds)
	}
	if was.Archived < is.Archived {
		u.leaving = append(u.leaving, is.ID)
	}
	write(u.Tx, u.Save, u.Account, is)
	return nil
}

// PutColumns writes a contact of which nothing has changed but the numbers of its gifts, and the change that its row
// names. Of them follows nothing else.
func PutColumns(u Unit, row *StoredContact, stats crm.Stats, at Trace) {
	c, body := row.Contact, row.Body
	if c.Stats != stats {
		c.Stats = stats
		body = c.AppendBody(make([]byte, 0, len(body)+16))
	}
	is := newStored(c, body, row.CreatedAt, at)
	is.rows = row.rows
	write(u.Tx, u.Save, u.Account, is)
}

// write writes the row of a contact, and notes it for the changes that come after.
func write(t *Tx, write func(*db.Table, ...any), a *Account, is *StoredContact) {
	a.Contacts[is.ID] = is
	write(ContactTable, is.Values(a.Number)...)
}

// InsertContact gives a new contact its id and writes it.
func InsertContact(t *Tx, account int64, c crm.Contact) (id int64, err error) {
	return insert(t, account, c, c.AppendBody(make([]byte, 0, UsualBody)), find.ContactRows(&c, account))
}

// insert is InsertContact with what was worked out before. Contacts are numbered as they are made: none was made before
// the one before it.
func insert(t *Tx, account int64, c crm.Contact, body []byte, rows *find.Rows) (id int64, err error) {
	u, err := t.LockAccount(account)
	if err != nil {
		return 0, err
	}
	if u.ContactSeq >= doc.MaxSeq {
		return 0, ErrNoMoreIDs
	}
	c.ID = doc.MakeID(account, u.ContactSeq+1)
	if last := Moment(u.LastCreated); c.CreatedAt.Before(last) { // another node's clock is ahead, or ours was set back
		c.CreatedAt, c.UpdatedAt = last, last
		body = c.AppendBody(make([]byte, 0, len(body)))
	}
	if err := CheckIDs(u, c.ID, c.MatchKeys); err != nil {
		return 0, err
	}
	is := newStored(c, body, Seconds(c.CreatedAt), Trace{})
	is.rows = rows
	return c.ID, put(u, nil, is, func() int64 { return u.Record(history.ContactNoun, c.ID, history.DidCreate, "") })
}

// PlaceContact writes a contact as it was in another account, under the next sequence number, with what follows from
// it.
func PlaceContact(u Unit, at Trace, c crm.Contact, rows *find.Rows) error {
	is := newStored(c, c.AppendBody(make([]byte, 0, UsualBody)), max(u.LastCreated, Seconds(c.CreatedAt)), at)
	is.rows = rows
	return put(u, nil, is, func() int64 { return at.Revision })
}

const sqlCreated = `SELECT id, created_at FROM contact WHERE account_id = $1 AND id = ANY($2)`

// Counts is how many contacts an account has, as people see it: one that was merged into another is that other one.
type Counts struct {
	Active, Archived int64
}

// ContactRecord is one contact of the account, whatever its state.
func (s *Store) ContactRecord(ctx context.Context, account, id int64) (contact crm.Contact, err error) {
	if Foreign(account, id) {
		return contact, crm.ErrNotFound
	}
	err = s.Read(ctx, func(c db.Conn) error {
		found, err := LoadContacts(c, account, []int64{id})
		if err == nil && len(found) == 0 {
			return crm.ErrNotFound
		}
		if err == nil {
			contact = found[0]
		}
		return err
	})
	return contact, err
}

// ContactPage is one page of contacts, newest first.
func (s *Store) ContactPage(ctx context.Context, account int64, scope crm.ContactScope,
	page crm.PageRequest,
) (contacts []crm.Contact, result ListResult, err error) {
	return s.MatchingContacts(ctx, account, scope, find.Filter{Sort: find.Sort{Descending: true}}, page)
}

// LoadContacts reads the contacts with these ids, in ascending order.
func LoadContacts(c db.Conn, account int64, ids []int64) (contacts []crm.Contact, err error) {
	err = c.Each(func(r db.Row) error {
		found := ScanContact(r)
		contacts = append(contacts, found.Contact)
		return found.Damage
	}, SQLLoadContacts, account, ids)
	SortRows(contacts, func(a, b *crm.Contact) int { return cmp.Compare(a.ID, b.ID) })
	return contacts, err
}

// Counts is how many contacts the account has.
func (s *Store) Counts(ctx context.Context, account int64) (Counts, error) {
	return Snapshot(ctx, s, func(c db.Conn) (n Counts, err error) {
		row, err := FindIn(c, crm.ErrNotFound, ScanTally, SQLTally, account)
		if n = (Counts{Active: total(&row, crm.Active), Archived: total(&row, crm.Archived)}); err != nil ||
			n.Archived == 0 {
			return n, err
		}
		merged, err := s.Sets.of(c, &row, find.MergedSet)
		if err == nil {
			n.Archived -= merged.count
		}
		return n, err
	})
}

// Growth is how many of the active contacts had been made before each of the moments, which ascend.
func (s *Store) Growth(ctx context.Context, account int64, moments []time.Time) ([]int64, error) {
	return Snapshot(ctx, s, func(c db.Conn) (before []int64, err error) {
		row, err := ReadTally(c, account)
		if err != nil {
			return nil, err
		}
		made, err := CountBefore(c, &row, Collect(moments, time.Time.Unix))
		if err != nil {
			return nil, err
		}
		active, err := s.Sets.inScope(c, &row, crm.Active)
		for _, last := range made {
			if err == nil {
				set := db.Range(1, last)
				set.And(&active.Set)
				before = append(before, set.Count())
			}
		}
		return before, err
	})
}

// CountBefore is how many contacts were made before each of the moments, in seconds. It finds all of them together:
// contacts are numbered as they are made and never removed, so that each round of looking at the contacts in the middle
// halves what is left.
func CountBefore(c db.Conn, row *Tally, moments []int64) (low []int64, err error) {
	low, high := make([]int64, len(moments)), make([]int64, len(moments))
	for i := range high {
		high[i] = row.ContactSeq
	}
	for !slices.Equal(low, high) {
		var ids []int64
		for i := range moments {
			if low[i] < high[i] {
				ids = append(ids, middleID(row.Number, low[i], high[i]))
			}
		}
		made := make(map[int64]int64, len(ids))
		err := c.Scan(func(r db.Row) {
			made[r.Int(0)] = r.Int(1)
		}, sqlCreated, row.Number, slices.Compact(ids)) // of moments that ascend, ids do
		if err != nil {
			return nil, err
		}
		for i, moment := range moments {
			switch middle := middleID(row.Number, low[i], high[i]); {
			case low[i] == high[i]:
			case made[middle] < moment:
				low[i] = doc.IDSeq(middle)
			default:
				high[i] = doc.IDSeq(middle) - 1
			}
		}
	}
	return low, nil
}

// middleID is the contact in the middle of those numbered from low+1 to high.
func middleID(account, low, high int64) int64 { return doc.MakeID(account, low+(high-low+1)/2) }

// contactUnit is what a batch knows of the contacts of an account.
type contactUnit struct {
	Contacts map[int64]*StoredContact // those that were looked up; nil where there is none
	crowds   map[string]*crowd        // of keys that many contacts have
	fields   *custom.Fields           // nil where no change has needed them
	Merges   Lookup[int64, *Merge]

	// puts a contact there that units before this one would have left, where all are only considered; nil for most
	Place func(id int64) error

	leaving []int64 // contacts that are no longer active, and so no duplicates
}

const sqlMerges = MergeColumns + ` AND id = ANY($2)`

func scanMerge(r db.Row) (int64, *Merge) {
	m := ScanMerge(r)
	return m.ID, &m
}

// forgetPairs forgets with whom contacts may be the same that are no longer active. It is asked for together with what
// else is written.
func forgetPairs(u Unit) error {
	leaving := u.leaving
	if u.leaving = nil; len(leaving) == 0 {
		return nil
	}
	none := func(db.Row) error { return nil }
	return db.First(func() error { return u.Prefetch(none, SQLForgetFoundA, u.Number, leaving) },
		func() error { return u.Prefetch(none, SQLForgetFoundB, u.Number, leaving) })
}

// PrefetchLimit is about how many contacts are read before the changes decide: many large ones could fill the memory.
const PrefetchLimit = 200

// ContactColumns are what ScanContact reads.
const ContactColumns = `id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom, given`

const SQLLoadContacts = `SELECT ` + ContactColumns + ` FROM contact WHERE account_id = $1 AND id = ANY($2)`

// lookUpNamedContacts asks for the contacts that changes have named.
func lookUpNamedContacts(u Unit, all []*Needs) error {
	var ids []int64
	for _, n := range all {
		if n.Contact != 0 {
			ids = append(ids, n.Contact)
		}
	}
	return lookUpContacts(u, ids)
}

func lookUpContacts(u Unit, ids []int64) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if ids = ids[:min(len(ids), max(0, PrefetchLimit-u.Loaded))]; len(ids) == 0 {
		return nil // what is left is looked up when it is needed
	}
	u.Loaded += len(ids)
	for _, id := range ids {
		u.Contacts[id] = nil
	}
	return u.Prefetch(func(r db.Row) error {
		if u.Full() {
			delete(u.Contacts, r.Int(0)) // the change that needs it looks it up, maybe in the next batch
		} else {
			u.Contacts[r.Int(0)] = ScanContact(r)
		}
		return nil
	}, SQLLoadContacts, u.Number, ids)
}

// foundByKeys are the contacts that were found by keys. Where many have one, the change that needs them looks them up.
func foundByKeys(a *Account) (ids []int64) {
	for _, found := range a.Keys {
		if len(found) <= FewCandidates {
			ids = append(ids, found...)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return a.Contacts[id] != nil })
}

// lookUpFoundSets asks for the sets that contacts may leave, now that it is known which they are in.
func lookUpContactSets(u Unit, all []*Needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		row := u.Contacts[n.Contact]
		if row == nil {
			continue
		}
		if block := BlockOf(row.ID); n.Tags {
			blocks[block] = append(blocks[block], find.SetNames(find.TagSet, row.Contact.Tags)...)
		}
		if block := BlockOf(row.ID); n.Words {
			blocks[block] = append(blocks[block], find.CommonWords(&row.Contact)...)
		}
	}
	return LookUpBlocks(u, blocks)
}
