package main

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"os/exec"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// What the program reads and writes for a contact, and what raw does to be compared with it.
const (
	sqlGet     = `SELECT id, body FROM contact WHERE account_id = ? AND id = ? AND archived = 0`
	sqlRange   = `SELECT id, body FROM contact WHERE account_id = ? AND id >= ? AND id <= ? AND archived >= 0 AND archived <= 0 ORDER BY id`
	sqlMatch   = `SELECT id FROM contact_index WHERE account_id = ? AND key = ? ORDER BY id`
	sqlCounts  = `SELECT revision, contact_seq, contact_active FROM account_tally WHERE account_id = ?`
	sqlContact = `INSERT INTO contact (account_id, id, revision, archived, match_keys, body, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)`
	sqlArchive = `INSERT INTO contact_archival (account_id, revision, id, archived) VALUES (?, ?, ?, 1)`
	sqlKey     = `INSERT INTO contact_index (account_id, key, id) VALUES (?, ?, ?)`
	sqlWords   = `INSERT INTO contact_search (rowid, words) VALUES (?, ?)`
	sqlCount   = `UPDATE account_tally SET revision = ?, contact_seq = ?, contact_active = ? WHERE account_id = ?`
	sqlAddTag  = `UPDATE tag SET contacts = contacts + ?1 WHERE account_id = ?2 AND fold = ?3 AND name = ?4
		AND contacts + ?1 > 0 AND size = length(CAST(contacts + ?1 AS TEXT))`
	sqlTag = `INSERT INTO tag (account_id, fold, name, contacts, size) VALUES (?1, ?2, ?3, ?4, length(CAST(?4 AS TEXT)))
		ON CONFLICT (account_id, fold, name) DO UPDATE SET contacts = tag.contacts + excluded.contacts,
			size = length(CAST(tag.contacts + excluded.contacts AS TEXT))`

	sqlAccount = `INSERT INTO account (account_id, public_id, name, parent, created_at) VALUES (?, ?, ?, 0, ?)`
	sqlTally   = `INSERT INTO account_tally (account_id, revision, contact_seq, contact_active, key_seq, campaign_revision) VALUES (?, 0, 0, 0, 1, 0)`
	sqlAPIKey  = `INSERT INTO api_key (account_id, id, name, hint, hash, permissions, created_at, last_used_at, expires_at, revoked_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0)`
)

// checksum is what the program keeps with a document.
func checksum(body []byte) int64 { return int64(crc32.Checksum(body, castagnoli)) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// makeSchema lets the program make an empty database, and tells its version.
func makeSchema(program, dir string) (version int64, err error) {
	if out, err := exec.Command(program, "--data", dir, "account", "create", "--name", "The first").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s account create: %w\n%s", program, err, out)
	}
	err = (&dataset{dir: dir}).open(func(db *database) (err error) {
		version, err = db.number(`SELECT max(version) FROM schema_version`)
		return err
	})
	return version, err
}

// chunk is how many contacts are made and written together: the more, the more of the index is filled in order.
const chunk = 50_000

// fill writes accounts with contacts, as many as sizes says, straight into a file, and returns the accounts with their keys. One
// processor makes the people, another one writes them.
func fill(path string, g generator, sizes []int) (accounts []account, err error) {
	db, err := openDatabase(path, quick)
	if err != nil {
		return nil, err
	}
	first := 0
	for i, size := range sizes {
		a, err := db.account(i)
		if err != nil {
			return nil, err
		}
		a.First, a.Contacts = first, size
		accounts, first = append(accounts, a), first+size
	}
	made := make(chan []joining, 1)
	failed := make(chan error, 1)
	go func() {
		defer close(made)
		failed <- makePeople(g, accounts, made)
	}()
	n := 0
	for people := range made { // to the last one, so that nothing is left waiting
		if err == nil {
			err = db.write(people, false)
		}
		if n += len(people); n%chunk == 0 {
			progress("  filled %d of %d contacts", n, first)
		}
	}
	if err = errors.Join(err, <-failed); err == nil { // as the program does after many contacts came at once
		err = db.exec(`INSERT INTO contact_search (contact_search) VALUES ('optimize')`)
	}
	err = errors.Join(err, db.close())
	if err == nil { // the file was not flushed before
		err = exec.Command("sync", path).Run()
	}
	return accounts, err
}

// makePeople makes the people of all accounts, in order, and counts those who are active.
func makePeople(g generator, accounts []account, made chan<- []joining) error {
	var people []joining
	for i := range accounts {
		a := &accounts[i]
		for place := range a.Contacts {
			p, err := g.person(a.First+place, "", filledAt)
			if err != nil {
				return err
			}
			if !p.contact.Archived() {
				a.Active++
			}
			if people = append(people, join(*a, p)); len(people) == chunk {
				made <- people
				people = nil
			}
		}
	}
	made <- people
	return nil
}

// account makes an account and a key for it.
func (d *database) account(i int) (a account, err error) {
	a.Number, a.ID = 1_000_001+int64(i), fmt.Sprintf("bench%011d", i)
	key, secret, err := crm.NewKey(a.Number, 1, crm.KeyInput{Name: "bench", Permissions: crm.AllPermissions}, filledAt)
	if err != nil {
		return a, err
	}
	a.Key = secret
	hash := crm.HashSecret(secret)
	return a, errors.Join(d.exec(sqlAccount, a.Number, a.ID, fmt.Sprintf("Account %d", i+1), filledAt.UnixMicro()),
		d.exec(sqlTally, a.Number),
		d.exec(sqlAPIKey, a.Number, key.ID, key.Name, key.Hint, hash[:], int64(key.Permissions), filledAt.Unix()))
}

// joining is a person who is to be created in an account.
type joining struct {
	account int64
	person
	words string // that the search finds
}

func join(a account, p person) joining {
	return joining{a.Number, p, p.contact.SearchDocument(a.Number)}
}

// tally is the row of an account, and how many more of its contacts have each tag.
type tally struct {
	revision, seq, active int64
	tags                  map[string]int64
}

// count adds a contact.
func (t *tally) count(p person) {
	t.revision, t.seq = t.revision+1, t.seq+1
	if p.contact.Archived() {
		return
	}
	t.active++
	for _, name := range p.contact.Tags {
		t.tags[name]++
	}
}

// indexed is a row of the index.
type indexed struct {
	account int64
	key     string
	id      int64
}

// write writes people in one transaction, where asked for with the look-ups that find duplicates.
func (d *database) write(people []joining, match bool) error {
	if err := d.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err := d.insert(people, match)
	if err == nil {
		return d.exec(`COMMIT`)
	}
	_ = d.exec(`ROLLBACK`)
	return err
}

func (d *database) insert(people []joining, match bool) (err error) {
	tallies := make(map[int64]*tally)
	var keys []indexed
	for i := 0; i < len(people) && err == nil; i++ {
		keys, err = d.insertOne(&people[i], match, tallies, keys)
	}
	slices.SortFunc(keys, func(a, b indexed) int {
		return cmp.Or(cmp.Compare(a.account, b.account), strings.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	for i := 0; i < len(keys) && err == nil; i++ {
		err = d.exec(sqlKey, keys[i].account, keys[i].key, keys[i].id)
	}
	for number, t := range tallies {
		if err == nil {
			err = d.exec(sqlCount, t.revision, t.seq, t.active, number)
		}
		for name, n := range t.tags {
			if err == nil {
				err = d.addTag(number, name, n)
			}
		}
	}
	return err
}

// insertOne writes a contact and its words, and counts it. Its keys are written later, in order.
func (d *database) insertOne(p *joining, match bool, tallies map[int64]*tally, keys []indexed) ([]indexed, error) {
	t := tallies[p.account]
	if t == nil {
		t = &tally{tags: make(map[string]int64)}
		tallies[p.account] = t
		err := d.each(func(row *sqlite3.Stmt) {
			t.revision, t.seq, t.active = row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2)
		}, sqlCounts, p.account)
		if err != nil {
			return nil, err
		}
	}
	t.count(p.person)
	id, hidden := crm.MakeID(p.account, t.seq), int64(0)
	for _, key := range p.contact.MatchKeys {
		if match {
			if err := d.each(func(*sqlite3.Stmt) {}, sqlMatch, p.account, key); err != nil {
				return nil, err
			}
		}
		keys = append(keys, indexed{p.account, key, id})
	}
	if p.contact.Archived() {
		hidden = 1
		if err := d.exec(sqlArchive, p.account, t.revision, id); err != nil {
			return nil, err
		}
	}
	if err := d.exec(sqlContact, p.account, id, t.revision, hidden, strings.Join(p.contact.MatchKeys, "\n"), p.body, checksum(p.body)); err != nil {
		return nil, err
	}
	return keys, d.exec(sqlWords, id, p.words)
}

// addTag adds to how many contacts have a tag.
func (d *database) addTag(account int64, name string, n int64) error {
	if err := d.exec(sqlAddTag, n, account, name, name); err != nil || d.conn.Changes() > 0 {
		return err
	}
	return d.exec(sqlTag, account, name, name, n)
}
