package store

import (
	"context"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// usualBody is room for the document of most contacts.
const usualBody = 2048

// UpdateContact changes what a valid input names.
func (s *ContactStore) UpdateContact(ctx context.Context, account, id int64, in crm.ContactInput) (Document, error) {
	return s.patchContact(ctx, account, editNeeds(id, in), &in, func(_ *tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.Patch(in, now) })
}

// EditContact is UpdateContact for a person. An email or a phone that is new to the contact and belongs to another active one
// is *crm.Matched until the person has seen that contact.
func (s *ContactStore) EditContact(ctx context.Context, account, id int64, in crm.ContactInput) (Document, error) {
	n := editNeeds(id, in)
	n.keys = in.MatchKeys()
	return s.patchContact(ctx, account, n, &in, func(t *tx, c crm.Contact, now time.Time) (crm.Contact, error) {
		patched, err := c.Patch(in, now)
		if err != nil {
			return c, err
		}
		other, err := t.match(account, &in, in.AddedKeys(c))
		if err == nil && other != nil {
			err = in.CheckSeen(&other.contact)
		}
		return patched, err
	})
}

// editNeeds is what a change of a contact's fields looks up.
func editNeeds(id int64, in crm.ContactInput) needs {
	n := needs{contact: id}
	if in.Tags != nil {
		n = syncNeeds(id, *in.Tags)
	}
	n.sets, n.words = append(n.sets, in.CommonWords()...), in.Addresses != nil || len(in.Custom) > 0
	return n
}

// tagNeeds is what a change looks up that adds these tags, or removes them; syncNeeds of one that replaces the others with them.
func tagNeeds(id int64, tags []string) needs {
	return needs{contact: id, sets: setNames(tagSet, tags)}
}

func syncNeeds(id int64, tags []string) needs {
	n := tagNeeds(id, tags)
	n.tags = true
	return n
}

// moveNeeds is what a change looks up that takes a contact to the archive or back.
func moveNeeds(id int64) needs { return needs{contact: id, sets: []string{archiveSet}} }

// AddTags adds tags to a contact.
func (s *ContactStore) AddTags(ctx context.Context, account, id int64, tags []string) (Document, error) {
	return s.changeActive(ctx, account, tagNeeds(id, tags), func(_ *tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.AddTags(tags, now) })
}

// SyncTags replaces the tags of a contact.
func (s *ContactStore) SyncTags(ctx context.Context, account, id int64, tags []string) (Document, error) {
	return s.changeActive(ctx, account, syncNeeds(id, tags), func(_ *tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.SyncTags(tags, now) })
}

// RemoveTags takes tags from a contact.
func (s *ContactStore) RemoveTags(ctx context.Context, account, id int64, tags []string) (Document, error) {
	return s.changeActive(ctx, account, tagNeeds(id, tags), func(_ *tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.RemoveTags(tags, now) })
}

// ArchiveContact archives an active contact.
func (s *ContactStore) ArchiveContact(ctx context.Context, account, id int64) error {
	_, err := s.changeActive(ctx, account, moveNeeds(id), func(_ *tx, c crm.Contact, now time.Time) (crm.Contact, error) { return c.Archive(now), nil })
	return err
}

// RestoreContact makes an archived contact active again; an active one stays as it is.
func (s *ContactStore) RestoreContact(ctx context.Context, account, id int64) (Document, error) {
	return s.changeContact(ctx, account, moveNeeds(id), func(_ *tx, c crm.Contact, now time.Time) (crm.Contact, error) {
		switch {
		case !c.Archived():
			return c, nil
		case c.Erased():
			return c, crm.ErrArchived // there is nothing to bring back
		}
		return c.Restore(now), nil
	})
}

// decision is what becomes of a contact. It changes nothing itself.
type decision func(t *tx, c crm.Contact, now time.Time) (crm.Contact, error)

// changeActive is changeContact for what archived contacts refuse.
func (s *ContactStore) changeActive(ctx context.Context, account int64, n needs, decide decision) (Document, error) {
	return s.changeContact(ctx, account, n, func(t *tx, c crm.Contact, now time.Time) (crm.Contact, error) {
		if c.Archived() {
			return c, crm.ErrArchived
		}
		return decide(t, c, now)
	})
}

// changeContact is the one way in which a contact changes: load, let crm decide, save.
func (s *ContactStore) changeContact(ctx context.Context, account int64, n needs, decide decision) (Document, error) {
	if foreign(account, n.contact) {
		return Document{}, crm.ErrNotFound
	}
	now := s.now()
	matches := conditionOf(ctx)
	return answered(ctx, s.Base, account, n, func(t *tx) (Document, error) {
		found, err := t.load(account, n.contact)
		if err != nil {
			return Document{}, err
		}
		return t.change(found, 0, func(c crm.Contact) (crm.Contact, error) {
			changed, err := decide(t, c, now)
			if err == nil {
				err = matches(t.account(account), found)
			}
			return changed, err
		})
	})
}

// stored is a contact as it is stored, whether it can be read or not.
type stored struct {
	id, createdAt, archived int64 // createdAt never falls from one contact to the next, even where the document says so
	matchKeys               string
	body                    []byte
	checksum                int64
	contact                 crm.Contact
	damage                  error          // where it cannot be read
	columns                 contactColumns // as they are kept; known where all contacts are gone through
	trace
}

// trace is what the row of a contact says beside its document.
type trace struct {
	revision int64 // of its last change
	lastGift int64 // when the last gift was given that counts
	custom   int64 // it has custom fields
}

// contactColumns are what contacts are filtered and sorted by. Their documents say the same.
type contactColumns struct {
	updatedAt int64
	sortName  string
	given     int64
}

func columnsOf(c *crm.Contact) contactColumns {
	return contactColumns{seconds(c.UpdatedAt), c.SortName(), c.Stats.TotalContributions}
}

func scanContact(r db.Row) *stored {
	body, err := contactBody(r, 4, r.Int(0))
	s := &stored{id: r.Int(0), createdAt: r.Int(1), archived: r.Int(2), matchKeys: r.Text(3), body: slices.Clone(body), checksum: r.Int(5), trace: trace{r.Int(6), r.Int(7), r.Int(8)}, damage: err}
	if err == nil {
		s.contact, s.damage = crm.ParseContact(s.id, s.body, splitKeys(s.matchKeys))
		s.contact.LastGift = moment(s.lastGift)
	}
	return s
}

// row is a contact as it is stored, nil where there is none.
func (t *tx) row(a *accountUnit, id int64) (row *stored, err error) {
	row, known := contactsOf(a).contacts[id]
	if !known {
		_, err = t.One(func(r db.Row) { row = scanContact(r) }, sqlLoadContacts, a.account, []int64{id})
	}
	return row, err
}

// load reads a contact of an account.
func (t *tx) load(account, id int64) (*stored, error) {
	a, err := t.lock(account)
	if err != nil {
		return nil, err
	}
	row, err := t.row(a, id)
	switch {
	case err != nil:
		return nil, err
	case row == nil:
		return nil, crm.ErrNotFound
	}
	return row, row.damage
}

// match finds the active contact that the input is about, nil where there is none.
func (t *tx) match(account int64, in *crm.ContactInput, keys []string) (best *stored, err error) {
	a, err := t.lock(account)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	emails, phones := crm.SplitMatchKeys(keys)
	for _, kind := range [][]string{emails, phones} { // an email match beats any phone match
		ids, err := t.candidates(a, in, kind)
		if err != nil {
			return nil, err
		}
		if best, err = t.closest(account, in, ids); best != nil || err != nil {
			return best, err
		}
	}
	return nil, nil
}

// fewCandidates are so few that all of them are loaded. More come about where many share a phone, or were forced.
const fewCandidates = 8

// candidates are the contacts that have one of the keys, in ascending order; of many, the first active one and those that
// may have the same name.
func (t *tx) candidates(a *accountUnit, in *crm.ContactInput, keys []string) (ids []int64, err error) {
	var unknown []string
	for _, key := range keys {
		if found, ok := contactsOf(a).keys[key]; ok {
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
func (t *tx) closest(account int64, in *crm.ContactInput, ids []int64) (best *stored, err error) {
	for _, id := range ids {
		s, err := t.load(account, id)
		if err != nil {
			return nil, err
		}
		if s.contact.Archived() {
			continue
		}
		if best == nil || in.Closer(s.contact, best.contact) {
			best = s
		}
		if in.SameName(s.contact) {
			break
		}
	}
	return best, nil
}

// change saves what decide makes of a contact. Where nothing changed, nothing is written. A kind of 0 is what the difference is called.
func (t *tx) change(s *stored, kind crm.ChangeKind, decide func(crm.Contact) (crm.Contact, error)) (Document, error) {
	changed, err := decide(s.contact)
	if err != nil {
		return Document{}, err
	}
	body := changed.AppendBody(make([]byte, 0, len(s.body)+256))
	if string(body) == string(s.body) {
		d, err := t.document(&changed, s.body)
		d.Tag = s.etag(t.account(crm.IDAccount(s.id)))
		return d, err
	}
	if err := t.saveContact(s, kind, changed, body); err != nil {
		return Document{}, err
	}
	return t.document(&changed, body)
}

func (t *tx) saveContact(s *stored, kind crm.ChangeKind, changed crm.Contact, body []byte) error {
	account := crm.IDAccount(s.id)
	a, err := t.lock(account)
	if err != nil {
		return err
	}
	moved := changed.Archived() != s.contact.Archived()
	if !sameSets(&s.contact, &changed) {
		if err := t.moveSets(a, s.id, setsOf(&s.contact), setsOf(&changed)); err != nil {
			return err
		}
	}
	if moved || !slices.Equal(s.contact.Tags, changed.Tags) {
		t.countTags(account, s.contact, -1)
		t.countTags(account, changed, 1)
	}
	if moved {
		a.touch(t)
		a.contactActive += 1 - 2*flag(changed.Archived())
	}
	t.writeContact(t.Save, a, s.createdAt, t.trace(a, s, &changed, kind), changed, body)
	gone, added := crm.KeyChange(&s.contact, &changed)
	for _, key := range gone {
		t.dropKey(a, key, s.id)
	}
	t.insertKeys(a, s.id, added)
	if words := changed.SearchDocument(account); words != s.contact.SearchDocument(account) {
		t.Save(wordsTable, account, s.id, words)
	}
	return nil
}

// writeContact writes a contact, and notes it for the changes that come after.
func (t *tx) writeContact(write func(*db.Table, ...any), a *accountUnit, createdAt int64, at trace, c crm.Contact, body []byte) {
	at.custom = flag(len(c.Custom) > 0)
	c.LastGift = moment(at.lastGift)
	row := &stored{id: c.ID, createdAt: createdAt, trace: at, archived: flag(c.Archived()), matchKeys: joinKeys(c.MatchKeys), body: body, checksum: checksum(body), contact: c}
	contactsOf(a).contacts[row.id] = row
	write(contactTable, row.values(a.account)...)
}

// values are the columns of the row of a contact that can be read.
func (s *stored) values(account int64) []any { return s.row(account, columnsOf(&s.contact)) }

// row is the row of a contact with the columns that it is filtered and sorted by.
func (s *stored) row(account int64, c contactColumns) []any {
	return []any{account, s.id, s.archived, s.matchKeys, s.body, s.checksum, s.createdAt, c.updatedAt, c.sortName, c.given,
		s.revision, s.lastGift, s.custom}
}

// insertContact gives a new contact its id and writes it. Contacts are numbered as they are made: none was made before the one before it.
func (t *tx) insertContact(account int64, c crm.Contact, body []byte, words string) (id int64, err error) {
	a, err := t.lock(account)
	if err != nil {
		return 0, err
	}
	if a.contactSeq >= crm.MaxSeq {
		return 0, errNoMoreIDs
	}
	c.ID = crm.MakeID(account, a.contactSeq+1)
	if last := moment(a.lastCreated); c.CreatedAt.Before(last) { // another node's clock is ahead, or ours was set back
		c.CreatedAt, c.UpdatedAt = last, last
		body = c.AppendBody(make([]byte, 0, len(body)))
	}
	if err := t.moveSets(a, c.ID, nil, setsOf(&c)); err != nil {
		return 0, err
	}
	at := trace{revision: t.record(a, crm.ContactNoun, c.ID, crm.DidCreate, "")}
	t.addContact(a, at, c, body, words)
	return c.ID, nil
}

// addContact writes a contact under the next sequence number. Its sets have it already.
func (t *tx) addContact(a *accountUnit, at trace, c crm.Contact, body []byte, words string) {
	a.touch(t)
	a.contactSeq++
	a.contactActive += 1 - flag(c.Archived())
	a.lastCreated = max(a.lastCreated, seconds(c.CreatedAt))
	t.countTags(a.account, c, 1)
	t.writeContact(t.Insert, a, a.lastCreated, at, c, body)
	t.insertKeys(a, c.ID, c.MatchKeys)
	t.Insert(wordsTable, a.account, c.ID, words)
}

func (t *tx) insertKeys(a *accountUnit, id int64, keys []string) {
	for _, key := range keys {
		if found, known := contactsOf(a).keys[key]; known {
			contactsOf(a).keys[key] = append(found, id)
		}
		t.Insert(indexTable, a.account, key, id)
	}
}

// dropKey takes a key from a contact.
func (t *tx) dropKey(a *accountUnit, key string, id int64) {
	t.Delete(indexTable, a.account, key, id)
	if found, known := contactsOf(a).keys[key]; known {
		contactsOf(a).keys[key] = slices.DeleteFunc(found, func(other int64) bool { return other == id })
	}
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// eachStored reads all contacts of an account; after is called after some of them, when another statement may run.
func eachStored(c db.Conn, account int64, read func(*stored) error, after func() error) error {
	id, end := crm.MakeID(account, 0), crm.MakeID(account, crm.MaxSeq)
	for n := storedRead; n == storedRead; {
		n = 0
		err := c.Each(func(r db.Row) error {
			n++
			s := scanContact(r)
			s.columns = contactColumns{r.Int(9), r.Text(10), r.Int(11)}
			id = s.id
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

const sqlStored = `SELECT id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom, updated_at, sort_name, given FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT 200`

const (
	storedRead = 200 // as the statement says
)

// trace notes the change of a contact, and is what its row says from then on. A kind of 0 is what the difference is called.
func (t *tx) trace(a *accountUnit, s *stored, changed *crm.Contact, kind crm.ChangeKind) trace {
	differences := s.contact.Differences(changed)
	switch kind {
	case 0:
		kind = crm.Kind(differences)
	case crm.DidErase:
		differences = nil // the history must not keep what was erased
	}
	at := s.trace
	at.revision = t.record(a, crm.ContactNoun, s.id, kind, differences.Text())
	return at
}
