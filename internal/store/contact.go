package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
)

const (
	sqlContact = `SELECT body, checksum FROM contact WHERE account_id = $1 AND id = $2 AND archived = 0`

	sqlLoadContact = `SELECT id, revision, archived, match_keys, body, checksum FROM contact WHERE account_id = $1 AND id = $2`

	// One key, no list and no join: a planner that knows nothing about the tables yet cannot begin at the wrong end, where it
	// would read an account's every contact.
	sqlMatch = `SELECT id FROM contact_index WHERE account_id = $1 AND key = $2 ORDER BY id`

	sqlInsertContact  = `INSERT INTO contact (account_id, id, revision, archived, match_keys, body, checksum) VALUES ($1, $2, $3, 0, $4, $5, $6)`
	sqlUpdateContact  = `UPDATE contact SET revision = $3, archived = $4, match_keys = $5, body = $6, checksum = $7 WHERE account_id = $1 AND id = $2`
	sqlForgetArchival = `DELETE FROM contact_archival WHERE account_id = $1 AND revision = $2`
	sqlInsertArchival = `INSERT INTO contact_archival (account_id, revision, id, archived) VALUES ($1, $2, $3, $4)`
	sqlInsertKey      = `INSERT INTO contact_index (account_id, id, key) VALUES ($1, $2, $3)`
	sqlDeleteKey      = `DELETE FROM contact_index WHERE account_id = $1 AND key = $2 AND id = $3`
)

var sqlActive = `SELECT id FROM contact WHERE account_id = $1 AND id IN (` + parameters(2, scatteredWidth) + `) AND archived = 0 ORDER BY id`

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
		return dst, crm.ErrForbidden
	}
	start := len(dst)
	err := s.read(ctx, func(c conn) error {
		dst = dst[:start]
		found := false
		err := each(c, func(r rows) error {
			found = true
			body, err := contactBody(r, 0, id)
			if err == nil {
				dst = crm.AppendContact(dst, id, body)
			}
			return err
		}, sqlContact, account, id)
		if err == nil && !found {
			err = crm.ErrForbidden
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
	err = s.updateAhead(ctx, account, needs{keys: matchKeys}, func(t *tx) error {
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
		return made, crm.ErrForbidden
	}
	now := s.now()
	err = s.updateAhead(ctx, account, needs{contact: id}, func(t *tx) error {
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
		return made, crm.ErrForbidden
	}
	now := s.now()
	err = s.updateAhead(ctx, account, needs{contact: id}, func(t *tx) error {
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

// load locks the account and reads one of its contacts.
func (t *tx) load(account, id int64) (s stored, err error) {
	if _, err := t.lock(account); err != nil {
		return s, err
	}
	if row := t.ahead.contacts[id]; row != nil {
		return row.parse(account, id)
	}
	s, err = loadContact(t.conn, account, id)
	if errors.Is(err, crm.ErrNotFound) {
		err = crm.ErrForbidden
	}
	return s, err
}

// loadActive is load for a contact that may be changed.
func (t *tx) loadActive(account, id int64) (stored, error) {
	s, err := t.load(account, id)
	if err == nil && s.contact.Archived() {
		err = crm.ErrForbidden
	}
	return s, err
}

func loadContact(c conn, account, id int64) (s stored, err error) {
	var row contactRow
	found, err := one(c, row.read, sqlLoadContact, account, id)
	if err == nil && !found {
		err = crm.ErrNotFound
	}
	if err != nil {
		return s, err
	}
	return row.parse(account, id)
}

// contactRow is a contact as it was read.
type contactRow struct {
	revision  int64
	matchKeys string
	body      []byte
	checksum  int64
}

func (row *contactRow) read(r rows) {
	row.revision, row.matchKeys, row.checksum = r.int(1), r.text(3), r.int(5)
	row.body = append(row.body[:0], r.bytes(4)...)
}

func (row *contactRow) parse(account, id int64) (stored, error) {
	if checksum(row.body) != row.checksum {
		return stored{}, damagedContact(id)
	}
	contact, err := crm.ParseContact(id, row.body, splitKeys(row.matchKeys))
	return stored{account, contact, row.revision, row.body}, err
}

// lock is tally for an account that a key belongs to: where it is missing, there is nothing the caller may do.
func (t *tx) lock(account int64) (*tally, error) {
	row, err := t.tally(account)
	if errors.Is(err, crm.ErrNotFound) {
		return nil, crm.ErrForbidden
	}
	return row, err
}

// match finds the active contact that the input is about.
func (t *tx) match(account int64, in *crm.ContactInput, keys []string) (best stored, ok bool, err error) {
	if _, err := t.lock(account); err != nil || len(keys) == 0 {
		return best, false, err
	}
	emails, phones := crm.SplitMatchKeys(keys)
	for _, kind := range [][]string{emails, phones} { // an email match beats any phone match
		ids, err := t.candidates(account, in, kind)
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
func (t *tx) candidates(account int64, in *crm.ContactInput, keys []string) (ids []int64, err error) {
	for _, key := range keys {
		if found, ok := t.ahead.find(account, key); ok {
			ids = append(ids, found...)
		} else if ids, err = t.appendIDs(ids, sqlMatch, account, key); err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) > fewCandidates {
		ids, err = t.active(account, ids)
	}
	if err != nil || len(ids) <= fewCandidates {
		return ids, err
	}
	if name, ok := in.NameSearch(); ok {
		return t.named(account, ids, name)
	}
	return ids, nil
}

// active are those of the ids whose contacts are active.
func (t *tx) active(account int64, ids []int64) (found []int64, err error) {
	for part := range slices.Chunk(ids, scatteredWidth) {
		if found, err = t.appendIDs(found, sqlActive, scatteredArgs(account, part)...); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func containsSorted(ids []int64, id int64) bool {
	_, found := slices.BinarySearch(ids, id)
	return found
}

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

func (t *tx) appendIDs(ids []int64, sql string, args ...any) ([]int64, error) {
	err := each(t.conn, func(r rows) error {
		ids = append(ids, r.int(0))
		return nil
	}, sql, args...)
	return ids, err
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
	row, err := t.lock(s.account)
	if err != nil {
		return err
	}
	t.wrote = true // the counters move: from here on a failure must undo everything
	revision, moved := s.revision, changed.Archived() != s.contact.Archived()
	if moved || !slices.Equal(changed.Tags, s.contact.Tags) {
		row.countTags(s.contact, -1)
		row.countTags(changed, 1)
	}
	if moved {
		if revision, err = t.moveContact(row, s, changed.Archived()); err != nil {
			return err
		}
	}
	archived, matchKeys, sum := flag(changed.Archived()), joinKeys(changed.MatchKeys), checksum(body)
	t.ahead.change(changed.ID, contactRow{revision, matchKeys, body, sum})
	if err := t.post(sqlUpdateContact, s.account, changed.ID, revision, archived, matchKeys, body, sum); err != nil {
		return err
	}
	gone, added := crm.KeyChange(&s.contact, &changed)
	for _, key := range gone {
		if err := t.post(sqlDeleteKey, s.account, key, changed.ID); err != nil {
			return err
		}
		t.ahead.remove(s.account, key, changed.ID)
	}
	if err := t.insertKeys(s.account, changed.ID, added); err != nil {
		return err
	}
	return t.saveWords(s.account, &s.contact, &changed)
}

// moveContact notes that a contact goes to the archive or comes back, which changes every list of the account.
func (t *tx) moveContact(row *tally, s stored, archived bool) (revision int64, err error) {
	row.revision++
	row.contactActive += 1 - 2*flag(archived)
	row.dirty = true
	if err := t.post(sqlForgetArchival, s.account, s.revision); err != nil { // where it was moved before
		return 0, err
	}
	return row.revision, t.post(sqlInsertArchival, s.account, row.revision, s.contact.ID, flag(archived))
}

// insertContact gives a new contact its id and writes it.
func (t *tx) insertContact(account int64, c crm.Contact, body []byte, words string) (id int64, err error) {
	row, err := t.lock(account)
	if err != nil {
		return 0, err
	}
	if row.contactSeq >= crm.MaxSeq {
		return 0, errors.New("the account has given out all its ids")
	}
	t.wrote = true // the counters move: from here on a failure must undo everything
	row.revision++
	row.contactSeq++
	row.contactActive++
	row.dirty = true
	row.countTags(c, 1)
	id = crm.MakeID(account, row.contactSeq)
	if err := t.post(sqlInsertContact, account, id, row.revision, joinKeys(c.MatchKeys), body, checksum(body)); err != nil {
		return 0, err
	}
	if err := t.insertKeys(account, id, c.MatchKeys); err != nil {
		return 0, err
	}
	return id, t.insertWords(account, id, words)
}

func (t *tx) insertKeys(account, id int64, keys []string) error {
	for _, key := range keys {
		t.ahead.add(account, key, id)
		if err := t.post(sqlInsertKey, account, id, key); err != nil {
			return err
		}
	}
	return nil
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
