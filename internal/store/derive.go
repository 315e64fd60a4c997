package store

import (
	"cmp"
	"maps"
	"slices"

	"donorbook/internal/crm"
)

// derived is what is worked out from a contact's document and kept beside it. A write keeps it up to date, a new version of the
// program works it out anew, and a check compares it: all with this.
type derived struct {
	keys  []string // in contact_index
	words string   // in contact_search
	tags  []string // that count the contact
}

func derivedFrom(account int64, c crm.Contact) derived {
	c = c.WithEmailKeys()
	d := derived{keys: c.MatchKeys, words: c.SearchDocument(account)}
	if !c.Archived() {
		d.tags = c.Tags
	}
	return d
}

const derivedKeys = 50_000 // keys that are sorted before they are written, so that neighbors go to the same pages

// derivedContacts names everything that is derived from the documents of contacts.
const derivedContacts = "contacts"

const (
	sqlDerived    = `SELECT version FROM derived WHERE name = $1`
	sqlSetDerived = `INSERT INTO derived (name, version) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET version = excluded.version`
)

// isDerived tells whether what is derived is of this program's version.
func isDerived(c conn) (bool, error) {
	version := int64(0)
	_, err := one(c, func(r rows) { version = r.int(0) }, sqlDerived, derivedContacts)
	return version == crm.WordsVersion, err
}

// derive works out anew what is derived from the documents, where a program of another version has done it.
func derive(c conn, d dialect) error {
	if done, err := isDerived(c); err != nil || done {
		return err
	}
	for _, sql := range []string{`DELETE FROM contact_index`, `DELETE FROM tag`, d.search.clear} {
		if _, err := c.exec(sql); err != nil {
			return err
		}
	}
	var accounts []int64
	err := each(c, func(r rows) error {
		accounts = append(accounts, r.int(0))
		return nil
	}, `SELECT account_id FROM account_tally ORDER BY account_id`)
	for _, account := range accounts {
		if err == nil {
			err = deriveAccount(c, d, account)
		}
	}
	if err != nil {
		return err
	}
	_, err = c.exec(sqlSetDerived, derivedContacts, int64(crm.WordsVersion))
	return err
}

func deriveAccount(c conn, d dialect, account int64) error {
	var keys []indexKey
	var read []storedContact
	tags := make(map[string]int64)
	err := eachStored(c, account, func(s storedContact) error {
		read = append(read, s)
		return nil
	}, func() error {
		for _, s := range read {
			found, err := s.derive(c, d, account)
			if err != nil {
				return err
			}
			for _, key := range found.keys {
				keys = append(keys, indexKey{key, s.id})
			}
			for _, name := range found.tags {
				tags[name]++
			}
		}
		read = read[:0]
		if len(keys) < derivedKeys {
			return nil
		}
		err := insertIndexKeys(c, account, keys)
		keys = keys[:0]
		return err
	})
	if err == nil {
		err = insertIndexKeys(c, account, keys)
	}
	if err == nil {
		err = insertTags(c, account, tags)
	}
	return err
}

// derive writes what belongs to the contact alone. One that is damaged keeps the match keys that are noted beside its document,
// and a check tells of it: an upgrade is no reason to lose the others.
func (s *storedContact) derive(c conn, d dialect, account int64) (derived, error) {
	if s.damage != nil {
		return derived{keys: splitKeys(s.matchKeys)}, nil
	}
	found := derivedFrom(account, s.contact)
	if keys := joinKeys(found.keys); keys != s.matchKeys {
		if err := c.later(nil, sqlSetMatchKeys, account, s.id, keys); err != nil {
			return found, err
		}
	}
	return found, c.later(nil, d.search.insert, account, s.id, found.words)
}

// storedContact is a contact as it is stored, whether it can be read or not.
type storedContact struct {
	id, revision, archived int64
	matchKeys              string
	contact                crm.Contact
	damage                 error
}

const (
	sqlStored  = `SELECT id, revision, archived, match_keys, body, checksum FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT 200`
	storedRead = 200 // as the statement says

	sqlSetMatchKeys = `UPDATE contact SET match_keys = $3 WHERE account_id = $1 AND id = $2`
)

// eachStored reads all contacts of an account; after is called after some of them, when another statement may run.
func eachStored(c conn, account int64, read func(storedContact) error, after func() error) error {
	id, end := int64(0), crm.MakeID(account, crm.MaxSeq)
	for n := storedRead; n == storedRead; {
		n = 0
		err := each(c, func(r rows) error {
			n++
			id = r.int(0)
			s := storedContact{id: id, revision: r.int(1), archived: r.int(2), matchKeys: r.text(3)}
			var body []byte
			if body, s.damage = contactBody(r, 4, id); s.damage == nil {
				s.contact, s.damage = crm.ParseContact(id, body, splitKeys(s.matchKeys))
			}
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

const sqlInsertTag = `INSERT INTO tag (account_id, fold, name, contacts, size) VALUES ($1, $2, $3, $4, length(CAST(CAST($4 AS BIGINT) AS TEXT)))`

// insertTags writes the tags of an account that has none yet.
func insertTags(c conn, account int64, tags map[string]int64) error {
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if _, err := c.exec(sqlInsertTag, account, crm.FoldTag(name), name, tags[name]); err != nil {
			return err
		}
	}
	return nil
}

// indexKey is a key and the contact that it finds.
type indexKey struct {
	key string
	id  int64
}

// insertIndexKeys writes many keys as a copy does, in the order in which they are stored.
func insertIndexKeys(c conn, account int64, keys []indexKey) error {
	table := copyTables[slices.IndexFunc(copyTables, func(t copyTable) bool { return t.name == "contact_index" })]
	slices.SortFunc(keys, func(a, b indexKey) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) })
	for part := range slices.Chunk(keys, insertRows) {
		values := make([]any, 0, len(part)*len(table.columns))
		for _, k := range part {
			values = append(values, account, k.key, k.id)
		}
		if _, err := c.exec(table.insertSQL(len(part)), values...); err != nil {
			return err
		}
	}
	return nil
}
