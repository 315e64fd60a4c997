package store

import (
	"cmp"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
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

// derive works out anew what is derived from the documents of all contacts.
func derive(t *db.Tx, progress db.Progress) error {
	for _, sql := range []string{`DELETE FROM contact_index`, `DELETE FROM tag`} {
		if _, err := t.Exec(sql); err != nil {
			return err
		}
	}
	if err := t.ClearSearch(wordsTable); err != nil {
		return err
	}
	accounts, err := db.List(t.Conn, scanTally, sqlTallies)
	done, total := int64(0), int64(0)
	for _, a := range accounts {
		total += a.contactSeq
	}
	for _, a := range accounts {
		if err == nil {
			err = deriveAccount(t, a.account, func(n int) {
				done += int64(n)
				progress("working out what contacts are found by", done, total)
			})
		}
	}
	if err != nil {
		return err
	}
	return t.CompactSearch(wordsTable)
}

const sqlTallies = `SELECT account_id, revision, contact_seq, contact_active, key_seq, campaign_revision, gift_seq, plan_seq, currency, campaign_seq, tag_revision FROM account_tally ORDER BY account_id`

func deriveAccount(t *db.Tx, account int64, progress func(n int)) error {
	var keys []indexKey
	var read []*stored
	tags := make(map[string]int64)
	insertKeys := func() {
		slices.SortFunc(keys, func(a, b indexKey) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) })
		for _, k := range keys {
			t.Insert(indexTable, account, k.key, k.id)
		}
		keys = keys[:0]
	}
	err := eachStored(t.Conn, account, func(s *stored) error {
		read = append(read, s)
		return nil
	}, func() error {
		for _, s := range read {
			found := s.derive(t, account)
			for _, key := range found.keys {
				keys = append(keys, indexKey{key, s.id})
			}
			for _, name := range found.tags {
				tags[name]++
			}
		}
		progress(len(read))
		read = read[:0]
		if len(keys) >= derivedKeys {
			insertKeys()
		}
		return nil
	})
	insertKeys()
	for name, n := range tags {
		t.Add(tagTable, n, account, crm.FoldTag(name), name)
	}
	return err
}

// indexKey is a key and the contact that it finds.
type indexKey struct {
	key string
	id  int64
}

// derive writes what belongs to the contact alone. One that is damaged keeps the match keys that are noted beside its document,
// and a check tells of it: an upgrade is no reason to lose the others.
func (s *stored) derive(t *db.Tx, account int64) derived {
	if s.damage != nil {
		return derived{keys: splitKeys(s.matchKeys)}
	}
	found := derivedFrom(account, s.contact)
	s.matchKeys = joinKeys(found.keys)
	t.Save(contactTable, s.values(account)...)
	t.Insert(wordsTable, account, s.id, found.words)
	return found
}

const (
	sqlStored  = `SELECT id, revision, archived, match_keys, body, checksum FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT 200`
	storedRead = 200 // as the statement says
)

// eachStored reads all contacts of an account; after is called after some of them, when another statement may run.
func eachStored(c db.Conn, account int64, read func(*stored) error, after func() error) error {
	id, end := crm.MakeID(account, 0), crm.MakeID(account, crm.MaxSeq)
	for n := storedRead; n == storedRead; {
		n = 0
		err := c.Each(func(r db.Row) error {
			n++
			s := scanContact(r)
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
