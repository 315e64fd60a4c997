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

// countAllTags fills the table of tags.
func countAllTags(c conn, _ dialect) error {
	return eachAccount(c, func(row *tally) error {
		err := eachContact(c, row, func(contacts []crm.Contact) error {
			for _, contact := range contacts {
				row.countTags(contact, 1)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return insertTags(c, row)
	})
}

// reindexNames brings the keys of all names up to this program.
func reindexNames(c conn, _ dialect) error {
	names := crm.AllNames()
	if _, err := c.exec(`DELETE FROM contact_index WHERE key >= $1 AND key <= $2`, names.From, names.To); err != nil {
		return err
	}
	return eachAccount(c, func(row *tally) error {
		var keys []indexKey
		write := func() error {
			err := insertIndexKeys(c, row.account, keys)
			keys = keys[:0]
			return err
		}
		err := eachContact(c, row, func(contacts []crm.Contact) error {
			for _, contact := range contacts {
				for _, key := range contact.NameKeys() {
					keys = append(keys, indexKey{key, contact.ID})
				}
			}
			if len(keys) < reindexKeys {
				return nil
			}
			return write()
		})
		if err != nil {
			return err
		}
		return write()
	})
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

const sqlReindex = `SELECT id, body FROM contact WHERE account_id = $1 AND id >= $2 AND id <= $3 ORDER BY id`

// eachContact reads an account's contacts, some at a time.
func eachContact(c conn, row *tally, do func([]crm.Contact) error) error {
	for first := int64(1); first <= row.contactSeq; first += reindexRead {
		last := min(first+reindexRead-1, row.contactSeq)
		var contacts []crm.Contact
		err := each(c, func(r rows) error {
			contact, err := crm.ParseContact(r.int(0), r.bytes(1), nil)
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

const sqlInsertTag = `INSERT INTO tag (account_id, fold, name, contacts) VALUES ($1, $2, $3, $4)`

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
