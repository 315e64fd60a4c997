package store

import (
	"cmp"
	"maps"
	"slices"

	"donorbook/internal/crm"
)

const (
	reindexRead = 1_000  // contacts that one statement reads
	reindexKeys = 50_000 // keys that are sorted before they are written, so that neighbours go to the same pages
)

// derivedContacts is everything that is worked out from the documents of contacts: match keys, words of the search, counts of tags.
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
	if err := eachAccount(c, func(row *tally) error { return deriveAccount(c, d, row) }); err != nil {
		return err
	}
	_, err := c.exec(sqlSetDerived, derivedContacts, int64(crm.WordsVersion))
	return err
}

func deriveAccount(c conn, d dialect, row *tally) error {
	var keys []indexKey
	write := func() error {
		err := insertIndexKeys(c, row.account, keys)
		keys = keys[:0]
		return err
	}
	err := eachContact(c, row, func(contacts []crm.Contact) error {
		for _, contact := range contacts {
			row.countTags(contact, 1)
			for _, key := range contact.MatchKeys {
				keys = append(keys, indexKey{key, contact.ID})
			}
			if err := c.later(nil, d.search.insert, row.account, contact.ID, contact.SearchDocument(row.account)); err != nil {
				return err
			}
		}
		if len(keys) < reindexKeys {
			return nil
		}
		return write()
	})
	if err == nil {
		err = write()
	}
	if err == nil {
		err = insertTags(c, row)
	}
	return err
}

func eachAccount(c conn, do func(*tally) error) error {
	var accounts []tally
	err := each(c, func(r rows) error {
		accounts = append(accounts, tally{account: r.int(0), contactSeq: r.int(1)})
		return nil
	}, `SELECT account_id, contact_seq FROM account_tally ORDER BY account_id`)
	for i := range accounts {
		if err == nil {
			err = do(&accounts[i])
		}
	}
	return err
}

const sqlReindex = `SELECT id, body, match_keys FROM contact WHERE account_id = $1 AND id >= $2 AND id <= $3 ORDER BY id`

// eachContact reads an account's contacts, some at a time.
func eachContact(c conn, row *tally, do func([]crm.Contact) error) error {
	for first := int64(1); first <= row.contactSeq; first += reindexRead {
		last := min(first+reindexRead-1, row.contactSeq)
		var contacts []crm.Contact
		err := each(c, func(r rows) error {
			contact, err := crm.ParseContact(r.int(0), r.bytes(1), splitKeys(r.text(2)))
			contacts = append(contacts, contact)
			return err
		}, sqlReindex, row.account, crm.MakeID(row.account, first), crm.MakeID(row.account, last))
		if err == nil {
			err = do(contacts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const sqlInsertTag = `INSERT INTO tag (account_id, fold, name, contacts, size) VALUES ($1, $2, $3, $4, length(CAST(CAST($4 AS BIGINT) AS TEXT)))`

// insertTags writes the tags of an account that has none yet.
func insertTags(c conn, row *tally) error {
	for _, name := range slices.Sorted(maps.Keys(row.tags)) {
		if _, err := c.exec(sqlInsertTag, row.account, crm.FoldTag(name), name, row.tags[name]); err != nil {
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
