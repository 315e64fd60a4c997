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
	sets  []string // in contact_set
}

func derivedFrom(account int64, c crm.Contact) derived {
	c = c.WithEmailKeys()
	d := derived{keys: c.MatchKeys, words: c.SearchDocument(account), sets: setsOf(&c)}
	if !c.Archived() {
		d.tags = c.Tags
	}
	return d
}

const derivedKeys = 50_000 // keys that are sorted before they are written, so that neighbors go to the same pages

// derive works out anew what is derived from the documents of all contacts.
func derive(t *db.Tx, progress db.Progress) error {
	for _, sql := range []string{`DELETE FROM contact_index`, `DELETE FROM tag`, `DELETE FROM contact_set`} {
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
			err = deriveAccount(t, a, func(n int) {
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

const sqlTallies = `SELECT ` + tallyColumns + ` FROM account_tally ORDER BY account_id`

func deriveAccount(t *db.Tx, a tally, progress func(n int)) error {
	account := a.account
	var keys []indexKey
	var read []*stored
	tags := make(map[string]int64)
	var sets blockSets
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
			if block := blockOf(s.id); block != sets.block {
				sets.insert(t, account)
				sets.block = block
			}
			sets.add(s.id, found.sets)
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
	sets.insert(t, account)
	for name, n := range tags {
		t.Add(tagTable, n, account, crm.FoldTag(name), name)
	}
	if err != nil {
		return err
	}
	return deriveGiftSets(t, account, a.contactSeq)
}

// blockSets are the sets of the contacts of one block: nothing more is in memory while all contacts are gone through in the order of
// their ids.
type blockSets struct {
	block   int64
	members map[string][]int64
}

func (b *blockSets) add(id int64, names []string) {
	if b.members == nil {
		b.members = make(map[string][]int64)
	}
	for _, name := range names {
		b.members[name] = append(b.members[name], id)
	}
}

// insert writes the sets, and forgets them.
func (b *blockSets) insert(t *db.Tx, account int64) {
	for name, ids := range b.members {
		var bits db.SetBlock
		for _, id := range ids {
			_, at := db.BlockOf(crm.IDSeq(id))
			bits.Put(at, true)
		}
		t.Insert(setTable, account, name, b.block, int64(len(ids)), bits.Encode())
	}
	clear(b.members)
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
	if keys, custom := joinKeys(found.keys), flag(len(s.contact.Custom) > 0); keys != s.matchKeys || custom != s.custom || s.columns != columnsOf(&s.contact) {
		s.matchKeys, s.custom = keys, custom
		t.Save(contactTable, s.values(account)...)
	}
	t.Insert(wordsTable, account, s.id, found.words)
	return found
}

const (
	sqlStored  = `SELECT id, list_revision, archived, match_keys, body, checksum, revision, last_gift, custom, created_at, updated_at, sort_name, given FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT 200`
	storedRead = 200 // as the statement says
)

// eachStored reads all contacts of an account; after is called after some of them, when another statement may run.
func eachStored(c db.Conn, account int64, read func(*stored) error, after func() error) error {
	return eachStoredIn(c, account, 0, crm.MaxSeq, read, after)
}

// eachStoredIn reads the contacts of an account after one sequence number, up to another.
func eachStoredIn(c db.Conn, account, from, to int64, read func(*stored) error, after func() error) error {
	id, end := crm.MakeID(account, from), crm.MakeID(account, to)
	for n := storedRead; n == storedRead; {
		n = 0
		err := c.Each(func(r db.Row) error {
			n++
			s := scanContact(r)
			s.columns = contactColumns{r.Int(9), r.Int(10), r.Text(11), r.Int(12)}
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
