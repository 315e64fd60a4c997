package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const sqlContact = `SELECT body, checksum, archived FROM contact WHERE account_id = $1 AND id = $2`

// Document is a contact as it is stored and answered.
type Document struct {
	ID     int64
	Body   []byte
	Merged bool   // a create was merged into a contact that was there
	Before []byte // the body of that contact as it was
}

// Append appends the wire form.
func (d Document) Append(dst []byte) []byte { return crm.AppendContact(dst, d.ID, d.Body) }

// Contact appends the wire form of an active contact to dst.
func (s *Store) Contact(ctx context.Context, account, id int64, dst []byte) ([]byte, error) {
	if foreign(account, id) {
		return dst, crm.ErrNotFound
	}
	start := len(dst)
	err := s.read(ctx, func(c db.Conn) error {
		dst = dst[:start]
		found := false
		err := c.Each(func(r db.Row) error {
			found = true
			if r.Int(2) != 0 {
				return crm.ErrArchived
			}
			body, err := contactBody(r, 0, id)
			if err == nil {
				dst = crm.AppendContact(dst, id, body)
			}
			return err
		}, sqlContact, account, id)
		if err == nil && !found {
			err = crm.ErrNotFound
		}
		return err
	})
	return dst, err
}

// CheckContact tells whether the id is one of the account's active contacts.
func (s *Store) CheckContact(ctx context.Context, account, id int64) error {
	_, err := s.Contact(ctx, account, id, nil)
	return err
}

// CreateContact makes a contact of a valid input, or merges it into the contact that it matches. A mode that leaves the
// decision to a person may answer *crm.Matched.
func (s *Store) CreateContact(ctx context.Context, account int64, in crm.ContactInput, mode crm.CreateMode) (Document, error) {
	now := s.now()
	fresh, err := crm.NewContact(in, now) // encoded here, so that the queue only looks up and inserts
	if err != nil {
		return Document{}, err
	}
	body, matchKeys := fresh.AppendBody(make([]byte, 0, usualBody)), in.MatchKeys()
	words := fresh.SearchDocument(account)
	var made Document
	if mode == crm.Force {
		matchKeys = nil
	}
	err = s.update(ctx, account, needs{keys: matchKeys}, func(t *tx) error {
		found, ok, err := t.match(account, &in, matchKeys)
		if err != nil {
			return err
		}
		var match *crm.Contact
		if ok {
			match = &found.contact
		}
		merge, err := in.MergesInto(match, mode)
		if err != nil {
			return err
		}
		if merge {
			made, err = t.change(found, func(c crm.Contact) (crm.Contact, error) { return c.Merge(in, now) })
			made.Merged, made.Before = true, found.body
			return err
		}
		made = Document{Body: body}
		made.ID, err = t.insertContact(account, fresh, body, words)
		return err
	})
	return made, err
}

// usualBody is room for the document of most contacts.
const usualBody = 2048

// UpdateContact changes what a valid input names.
func (s *Store) UpdateContact(ctx context.Context, account, id int64, in crm.ContactInput) (Document, error) {
	return s.changeContact(ctx, account, id, func(c crm.Contact, now time.Time) (crm.Contact, error) { return c.Patch(in, now) })
}

// AddTags adds tags to a contact.
func (s *Store) AddTags(ctx context.Context, account, id int64, tags []string) (Document, error) {
	return s.changeContact(ctx, account, id, func(c crm.Contact, now time.Time) (crm.Contact, error) { return c.AddTags(tags, now) })
}

// SyncTags replaces the tags of a contact.
func (s *Store) SyncTags(ctx context.Context, account, id int64, tags []string) (Document, error) {
	return s.changeContact(ctx, account, id, func(c crm.Contact, now time.Time) (crm.Contact, error) { return c.SyncTags(tags, now) })
}

// RemoveTags takes tags from a contact.
func (s *Store) RemoveTags(ctx context.Context, account, id int64, tags []string) (Document, error) {
	return s.changeContact(ctx, account, id, func(c crm.Contact, now time.Time) (crm.Contact, error) { return c.RemoveTags(tags, now) })
}

// ArchiveContact archives an active contact.
func (s *Store) ArchiveContact(ctx context.Context, account, id int64) error {
	_, err := s.changeContact(ctx, account, id, func(c crm.Contact, now time.Time) (crm.Contact, error) { return c.Archive(now), nil })
	return err
}

// RestoreContact makes an archived contact active again; an active one stays as it is.
func (s *Store) RestoreContact(ctx context.Context, account, id int64) (made Document, err error) {
	if foreign(account, id) {
		return made, crm.ErrNotFound
	}
	now := s.now()
	err = s.update(ctx, account, needs{contact: id}, func(t *tx) error {
		found, err := t.load(account, id)
		if err != nil {
			return err
		}
		made, err = t.change(found, func(c crm.Contact) (crm.Contact, error) {
			if !c.Archived() {
				return c, nil
			}
			return c.Restore(now), nil
		})
		return err
	})
	return made, err
}

// changeContact is the one way in which an active contact changes: load, let crm decide, save.
func (s *Store) changeContact(ctx context.Context, account, id int64, decide func(crm.Contact, time.Time) (crm.Contact, error)) (made Document, err error) {
	if foreign(account, id) {
		return made, crm.ErrNotFound
	}
	now := s.now()
	err = s.update(ctx, account, needs{contact: id}, func(t *tx) error {
		found, err := t.loadActive(account, id)
		if err != nil {
			return err
		}
		made, err = t.change(found, func(c crm.Contact) (crm.Contact, error) { return decide(c, now) })
		return err
	})
	return made, err
}

// stored is a contact as it was loaded for a change.
type stored struct {
	account  int64
	contact  crm.Contact
	revision int64 // at which it was created, archived or restored
	body     []byte
}

// load reads a contact of an account.
func (t *tx) load(account, id int64) (s stored, err error) {
	a, err := t.lock(account)
	if err != nil {
		return s, err
	}
	row, err := t.row(a, id)
	if err == nil && row == nil {
		err = crm.ErrNotFound
	}
	if err != nil {
		return s, err
	}
	return row.parse(account)
}

// row is a contact as it is stored, nil where there is none.
func (t *tx) row(a *accountUnit, id int64) (row *contactRow, err error) {
	row, known := a.contacts[id]
	if !known {
		_, err = t.One(func(r db.Row) { row = scanContact(r) }, sqlLoadContacts, a.account, []int64{id})
	}
	return row, err
}

// loadActive is load for a contact that may be changed.
func (t *tx) loadActive(account, id int64) (stored, error) {
	s, err := t.load(account, id)
	if err == nil && s.contact.Archived() {
		err = crm.ErrArchived
	}
	return s, err
}

func loadContact(c db.Conn, account, id int64) (s stored, err error) {
	var row *contactRow
	_, err = c.One(func(r db.Row) { row = scanContact(r) }, sqlLoadContacts, account, []int64{id})
	if err == nil && row == nil {
		err = crm.ErrNotFound
	}
	if err != nil {
		return s, err
	}
	return row.parse(account)
}

// contactRow is a contact as it is stored.
type contactRow struct {
	id, revision, archived int64
	matchKeys              string
	body                   []byte
	checksum               int64
}

func scanContact(r db.Row) *contactRow {
	return &contactRow{r.Int(0), r.Int(1), r.Int(2), r.Text(3), slices.Clone(r.Bytes(4)), r.Int(5)}
}

func (row *contactRow) parse(account int64) (stored, error) {
	if checksum(row.body) != row.checksum {
		return stored{}, &Damaged{Table: "contact", ID: row.id, Account: account}
	}
	contact, err := crm.ParseContact(row.id, row.body, splitKeys(row.matchKeys))
	return stored{account, contact, row.revision, row.body}, err
}

// match finds the active contact that the input is about.
func (t *tx) match(account int64, in *crm.ContactInput, keys []string) (best stored, ok bool, err error) {
	a, err := t.lock(account)
	if err != nil || len(keys) == 0 {
		return best, false, err
	}
	emails, phones := crm.SplitMatchKeys(keys)
	for _, kind := range [][]string{emails, phones} { // an email match beats any phone match
		ids, err := t.candidates(a, in, kind)
		if err != nil {
			return best, false, err
		}
		if best, ok, err = t.closest(account, in, ids); ok || err != nil {
			return best, ok, err
		}
	}
	return best, false, nil
}

// fewCandidates are so few that all of them are loaded. More come about where many share a phone, or were forced.
const fewCandidates = 8

// candidates are the contacts that have one of the keys, in ascending order; of many, the first active one and those that
// may have the same name.
func (t *tx) candidates(a *accountUnit, in *crm.ContactInput, keys []string) (ids []int64, err error) {
	var unknown []string
	for _, key := range keys {
		if found, ok := a.keys[key]; ok {
			ids = append(ids, found...)
		} else {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		found, err := db.List(t.Conn, func(r db.Row) int64 { return r.Int(1) }, sqlMatch, a.account, unknown)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) > fewCandidates {
		ids, err = db.List(t.Conn, number, sqlActive, a.account, ids)
		slices.Sort(ids)
	}
	if err != nil || len(ids) <= fewCandidates {
		return ids, err
	}
	if name, ok := in.NameSearch(); ok {
		return t.named(a.account, ids, name)
	}
	return ids, nil
}

const sqlActive = `SELECT id FROM contact WHERE account_id = $1 AND id = ANY($2) AND archived = 0`

// closest loads candidates until it is known which active one the input is about: none after the first with the same name
// is closer.
func (t *tx) closest(account int64, in *crm.ContactInput, ids []int64) (best stored, ok bool, err error) {
	for _, id := range ids {
		s, err := t.load(account, id)
		if err != nil {
			return best, false, err
		}
		if s.contact.Archived() {
			continue
		}
		if !ok || in.Closer(s.contact, best.contact) {
			best, ok = s, true
		}
		if in.SameName(s.contact) {
			break
		}
	}
	return best, ok, nil
}

// change saves what decide makes of a contact. Where nothing changed, nothing is written.
func (t *tx) change(s stored, decide func(crm.Contact) (crm.Contact, error)) (Document, error) {
	changed, err := decide(s.contact)
	if err != nil {
		return Document{}, err
	}
	body := changed.AppendBody(make([]byte, 0, len(s.body)+256))
	if string(body) == string(s.body) {
		return Document{ID: s.contact.ID, Body: s.body}, nil
	}
	return Document{ID: s.contact.ID, Body: body}, t.saveContact(s, changed, body)
}

func (t *tx) saveContact(s stored, changed crm.Contact, body []byte) error {
	a, err := t.lock(s.account)
	if err != nil {
		return err
	}
	revision, moved := s.revision, changed.Archived() != s.contact.Archived()
	if moved || !slices.Equal(changed.Tags, s.contact.Tags) {
		t.countTags(s.account, s.contact, -1)
		t.countTags(s.account, changed, 1)
	}
	if moved {
		revision = t.moveContact(a, s, changed.Archived())
	}
	t.writeContact(t.Save, a, &contactRow{changed.ID, revision, flag(changed.Archived()), joinKeys(changed.MatchKeys), body, checksum(body)})
	gone, added := crm.KeyChange(&s.contact, &changed)
	for _, key := range gone {
		t.dropKey(a, key, changed.ID)
	}
	t.insertKeys(a, changed.ID, added)
	if words := changed.SearchDocument(s.account); words != s.contact.SearchDocument(s.account) {
		t.Save(wordsTable, s.account, changed.ID, words)
	}
	return nil
}

// writeContact writes a contact, and notes it for the changes that come after.
func (t *tx) writeContact(write func(*db.Table, ...any), a *accountUnit, row *contactRow) {
	a.contacts[row.id] = row
	write(contactTable, a.account, row.id, row.revision, row.archived, row.matchKeys, row.body, row.checksum)
}

// moveContact notes that a contact goes to the archive or comes back, which changes every list of the account.
func (t *tx) moveContact(a *accountUnit, s stored, archived bool) (revision int64) {
	a.touch(t)
	a.revision++
	a.contactActive += 1 - 2*flag(archived)
	t.Delete(archivalTable, s.account, s.revision) // where it was moved before
	t.Insert(archivalTable, s.account, a.revision, s.contact.ID, flag(archived))
	return a.revision
}

// insertContact gives a new contact its id and writes it.
func (t *tx) insertContact(account int64, c crm.Contact, body []byte, words string) (id int64, err error) {
	a, err := t.lock(account)
	if err != nil {
		return 0, err
	}
	if a.contactSeq >= crm.MaxSeq {
		return 0, errors.New("the account has given out all its ids")
	}
	a.touch(t)
	a.revision++
	a.contactSeq++
	a.contactActive++
	id = crm.MakeID(account, a.contactSeq)
	t.countTags(account, c, 1)
	t.writeContact(t.Insert, a, &contactRow{id, a.revision, 0, joinKeys(c.MatchKeys), body, checksum(body)})
	t.insertKeys(a, id, c.MatchKeys)
	t.Insert(wordsTable, account, id, words)
	return id, nil
}

func (t *tx) insertKeys(a *accountUnit, id int64, keys []string) {
	for _, key := range keys {
		if found, known := a.keys[key]; known {
			a.keys[key] = append(found, id)
		}
		t.Insert(indexTable, a.account, key, id)
	}
}

// dropKey takes a key from a contact.
func (t *tx) dropKey(a *accountUnit, key string, id int64) {
	t.Delete(indexTable, a.account, key, id)
	if found, known := a.keys[key]; known {
		a.keys[key] = slices.DeleteFunc(found, func(other int64) bool { return other == id })
	}
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Match keys hold no line feed: neither an email nor a phone number can.
func joinKeys(keys []string) string { return strings.Join(keys, "\n") }

func splitKeys(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
