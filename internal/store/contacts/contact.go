// Package contacts has the contacts of an account: creating, matching, changing and archiving them, their tags, custom fields, sets, lists, filters,
// search and history. It knows nothing of gifts, jobs or files; the sets of those who gave are kept here for it to list, and filled by package gifts.
package contacts

import (
	"context"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/derived"
)

// UsualBody is room for the document of most contacts.
const UsualBody = 2048

// UpdateContact changes what a valid input names.
func (s *ContactStore) UpdateContact(ctx context.Context, account, id int64, in crm.ContactInput) (Document, error) {
	return s.patchContact(ctx, account, editNeeds(id, in), &in, func(_ *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.Patch(in, now) })
}

// EditContact is UpdateContact for a person. An email or a phone that is new to the contact and belongs to another active one
// is *crm.Matched until the person has seen that contact.
func (s *ContactStore) EditContact(ctx context.Context, account, id int64, in crm.ContactInput) (Document, error) {
	n := editNeeds(id, in)
	n.Keys = in.MatchKeys()
	return s.patchContact(ctx, account, n, &in, func(t *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error) {
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
func editNeeds(id int64, in crm.ContactInput) store.Needs {
	n := store.Needs{Contact: id}
	if in.Tags != nil {
		n = syncNeeds(id, *in.Tags)
	}
	_, marked := in.Marked()
	n.Sets, n.Words = append(n.Sets, find.InputCommonWords(&in)...), in.Addresses != nil || len(in.Custom) > 0 || marked
	n.Keys = append(n.Keys, in.IDKeys()...)
	return n
}

// MarkBounced notes with everyone who has an email that mail to it came back.
func (s *ContactStore) MarkBounced(ctx context.Context, account int64, email string) error {
	normal, _ := text.NormalEmail(email)
	var found []int64
	err := s.Filtered(ctx, account, crm.Active, find.Filter{Email: crm.EmailPrefix + normal}, func(_ db.Conn, w *Filtering) error {
		seqs, err := w.Ordered()
		found = IDsOf(account, seqs)
		return err
	})
	for _, id := range found {
		_, err := s.UpdateContact(ctx, account, id, crm.ContactInput{BouncedEmail: &email})
		if err != nil && !errors.Is(err, crm.ErrArchived) && !errors.As(err, new(*doc.Invalid)) { // it may have another email meanwhile
			return err
		}
	}
	return err
}

// tagNeeds is what a change looks up that adds these tags, or removes them; syncNeeds of one that replaces the others with them.
func tagNeeds(id int64, tags []string) store.Needs {
	return store.Needs{Contact: id, Sets: find.SetNames(find.TagSet, tags)}
}

func syncNeeds(id int64, tags []string) store.Needs {
	n := tagNeeds(id, tags)
	n.Tags = true
	return n
}

// MoveNeeds is what a change looks up that takes a contact to the archive or back.
func MoveNeeds(id int64) store.Needs {
	return store.Needs{Contact: id, Sets: []string{find.ArchiveSet}}
}

// AddTags adds tags to a contact.
func (s *ContactStore) AddTags(ctx context.Context, account, id int64, tags []string) (Document, error) {
	return s.changeActive(ctx, account, tagNeeds(id, tags), func(_ *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.AddTags(tags, now) })
}

// SyncTags replaces the tags of a contact.
func (s *ContactStore) SyncTags(ctx context.Context, account, id int64, tags []string) (Document, error) {
	return s.changeActive(ctx, account, syncNeeds(id, tags), func(_ *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.SyncTags(tags, now) })
}

// RemoveTags takes tags from a contact.
func (s *ContactStore) RemoveTags(ctx context.Context, account, id int64, tags []string) (Document, error) {
	return s.changeActive(ctx, account, tagNeeds(id, tags), func(_ *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.RemoveTags(tags, now) })
}

// ArchiveContact archives an active contact.
func (s *ContactStore) ArchiveContact(ctx context.Context, account, id int64) error {
	_, err := s.changeActive(ctx, account, MoveNeeds(id), func(_ *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.Archive(now), nil })
	return err
}

// RestoreContact makes an archived contact active again; an active one stays as it is.
func (s *ContactStore) RestoreContact(ctx context.Context, account, id int64) (Document, error) {
	return s.changeContact(ctx, account, MoveNeeds(id), func(_ *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error) {
		switch {
		case !c.Archived():
			return c, nil
		case c.Erased():
			return c, crm.ErrArchived // there is nothing to bring back
		case c.MergedInto != 0:
			return c, store.Fault("", doc.MergedContact, c.ID, c.MergedInto)
		}
		return c.Restore(now), nil
	})
}

// decision is what becomes of a contact. It changes nothing itself.
type decision func(t *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error)

// changeActive is changeContact for what archived contacts refuse.
func (s *ContactStore) changeActive(ctx context.Context, account int64, n store.Needs, decide decision) (Document, error) {
	return s.changeContact(ctx, account, n, func(t *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error) {
		if c.Archived() {
			return c, crm.ErrArchived
		}
		return decide(t, c, now)
	})
}

// changeContact is the one way in which a contact changes: load, let crm decide, save.
func (s *ContactStore) changeContact(ctx context.Context, account int64, n store.Needs, decide decision) (Document, error) {
	if store.Foreign(account, n.Contact) {
		return Document{}, crm.ErrNotFound
	}
	now := s.Now()
	return store.Answered(ctx, s.Base, account, n, func(t *store.Tx, _ *store.Account) (Document, error) {
		found, err := Load(t, account, n.Contact)
		if err != nil {
			return Document{}, err
		}
		return Change(t, found, 0, func(c crm.Contact) (crm.Contact, error) {
			changed, err := decide(t, c, now)
			if err == nil {
				err = found.Matches(ctx, t.Account(account))
			}
			return changed, err
		})
	})
}

// Stored is a contact as it is stored, whether it can be read or not.
type Stored struct {
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
	return contactColumns{store.Seconds(c.UpdatedAt), find.SortName(c)}
}

func ScanContact(r db.Row) *Stored {
	body, err := store.ContactBody(r, 4, r.Int(0))
	s := &Stored{ID: r.Int(0), CreatedAt: r.Int(1), Archived: r.Int(2), MatchKeys: r.Text(3), Body: slices.Clone(body), Checksum: r.Int(5), Trace: Trace{r.Int(6), r.Int(7), r.Int(8), r.Int(9)}, Damage: err}
	if err == nil {
		s.Contact, s.Damage = crm.ParseContact(s.ID, s.Body, store.SplitKeys(s.MatchKeys))
		s.Contact.LastGift, s.Contact.Given = store.Moment(s.LastGift), s.Given
	}
	return s
}

// Row is a contact as it is stored, nil where there is none.
func Row(t *store.Tx, a *store.Account, id int64) (row *Stored, err error) {
	row, known := Of(a).Contacts[id]
	if place := Of(a).Place; !known && place != nil {
		err = place(id)
		row, known = Of(a).Contacts[id]
	}
	if !known && err == nil {
		if _, err = t.One(func(r db.Row) { row = ScanContact(r) }, SQLLoadContacts, a.Account, []int64{id}); row != nil {
			Of(a).Contacts[id] = row
		}
	}
	return row, err
}

// Survivor is a contact as it is stored, or the one that it was merged into since, which is the same person; nil where there is none.
func Survivor(t *store.Tx, a *store.Account, id int64) (row *Stored, err error) {
	for row, err = Row(t, a, id); err == nil && row != nil && row.Contact.MergedInto != 0; {
		row, err = Row(t, a, row.Contact.MergedInto)
	}
	return row, err
}

// Load reads a contact of an account.
func Load(t *store.Tx, account, id int64) (*Stored, error) {
	a, err := t.LockAccount(account)
	if err != nil {
		return nil, err
	}
	row, err := Row(t, a, id)
	switch {
	case err != nil:
		return nil, err
	case row == nil:
		return nil, crm.ErrNotFound
	}
	return row, row.Damage
}

// Change saves what decide makes of a contact. Where nothing changed, nothing is written. A kind of 0 is what the difference is called.
func Change(t *store.Tx, s *Stored, kind history.Kind, decide func(crm.Contact) (crm.Contact, error)) (Document, error) {
	changed, err := decide(s.Contact)
	if err != nil {
		return Document{}, err
	}
	body := changed.AppendBody(make([]byte, 0, len(s.Body)+256))
	if string(body) == string(s.Body) {
		d, err := document(t, &changed, s.Body)
		d.Tag = s.etag(t.Account(doc.IDAccount(s.ID)))
		return d, err
	}
	return save(t, s, kind, nil, newStored(changed, body, s.CreatedAt, s.Trace))
}

// ChangeAll is Change of several contacts, for which all that it writes to is looked up together.
func ChangeAll(t *store.Tx, a *store.Account, rows []*Stored, decide func(crm.Contact) crm.Contact) error {
	all := make([]*Stored, len(rows)) // as they will be; nil where nothing changes
	var changes []derived.Change
	for i, s := range rows {
		changed := decide(s.Contact)
		if body := changed.AppendBody(make([]byte, 0, len(s.Body)+256)); string(body) != string(s.Body) {
			all[i] = newStored(changed, body, s.CreatedAt, s.Trace)
			changes = append(changes, derived.Change{ID: s.ID, Before: s.Rows(), After: all[i].Rows()})
		}
	}
	if err := derived.LookUp(t, a, changes); err != nil {
		return err
	}
	for i, is := range all {
		if is == nil {
			continue
		}
		if err := saveContact(t, rows[i], 0, nil, is); err != nil {
			return err
		}
	}
	return nil
}

// Record is Change that the history tells of even where nothing changed. more is what it tells beside that.
func Record(t *store.Tx, s *Stored, kind history.Kind, more doc.Differences, decide func(crm.Contact) (crm.Contact, error)) (Document, error) {
	changed, err := decide(s.Contact)
	if err != nil {
		return Document{}, err
	}
	return save(t, s, kind, more, newStored(changed, changed.AppendBody(make([]byte, 0, len(s.Body)+256)), s.CreatedAt, s.Trace))
}

func save(t *store.Tx, s *Stored, kind history.Kind, more doc.Differences, is *Stored) (Document, error) {
	if err := saveContact(t, s, kind, more, is); err != nil {
		return Document{}, err
	}
	return document(t, &is.Contact, is.Body)
}

func saveContact(t *store.Tx, s *Stored, kind history.Kind, more doc.Differences, is *Stored) error {
	a, err := t.LockAccount(doc.IDAccount(s.ID))
	if err != nil {
		return err
	}
	_, added := crm.KeyChange(&s.Contact, &is.Contact)
	if err := CheckIDs(t, a, s.ID, added); err != nil {
		return err
	}
	return put(t, a, s, is, func() int64 { return record(t, a, s, &is.Contact, kind, more) })
}

// Values are the columns of the row of a contact that can be read.
func (s *Stored) Values(account int64) []any { return s.Row(account, columnsOf(&s.Contact)) }

// Row is the row of a contact with the columns that it is filtered and sorted by.
func (s *Stored) Row(account int64, c contactColumns) []any {
	return []any{account, s.ID, s.Archived, s.MatchKeys, s.Body, s.Checksum, s.CreatedAt, c.updatedAt, c.sortName, s.Given,
		s.Revision, s.LastGift, s.Custom}
}

// CheckIDs refuses to give a contact external ids of another one, which may be archived.
func CheckIDs(t *store.Tx, a *store.Account, id int64, keys []string) error {
	for _, key := range crm.KindsOfKeys(keys)[0] {
		having, err := derived.Holders(t, a, key)
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
func EachStored(c db.Conn, account int64, read func(*Stored) error, after func() error) error {
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

const sqlStored = `SELECT id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom, given, updated_at, sort_name FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT 200`

const (
	storedRead = 200 // as the statement says
)

// record notes the change of a contact. A kind of 0 is what the difference is called.
func record(t *store.Tx, a *store.Account, s *Stored, changed *crm.Contact, kind history.Kind, more doc.Differences) (revision int64) {
	differences := append(s.Contact.Differences(changed), more...)
	switch kind {
	case 0:
		kind = history.KindOf(differences)
	case history.DidErase:
		differences = nil // the history must not keep what was erased
	}
	return t.Record(a, history.ContactNoun, s.ID, kind, differences.Text())
}
