package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"math/bits"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
)

// database is one connection to a file of the program, with its prepared statements.
type database struct {
	conn       *sqlite3.Conn
	statements map[string]*sqlite3.Stmt
}

// durable are the settings that the program itself writes with; a test compares them. quick are for a file that is not in use yet,
// with as large a cache as the memory of the engine allows.
var (
	durable = []string{
		"PRAGMA busy_timeout = 10000", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
		"PRAGMA cache_size = -10000", "PRAGMA wal_autocheckpoint = 16000", "PRAGMA trusted_schema = OFF", "PRAGMA secure_delete = ON",
	}
	quick = []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA locking_mode = EXCLUSIVE", "PRAGMA cache_size = -150000"}
)

func openDatabase(path string, pragmas []string) *database {
	conn := must(sqlite3.Open((&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()))
	check(fts5.Register(conn))
	for _, pragma := range pragmas {
		check(conn.Exec(pragma))
	}
	return &database{conn: conn, statements: make(map[string]*sqlite3.Stmt)}
}

func (d *database) close() {
	for _, stmt := range d.statements {
		_ = stmt.Close()
	}
	check(d.conn.Close())
}

// bind prepares a statement once and sets its parameters.
func (d *database) bind(sql string, args ...any) *sqlite3.Stmt {
	stmt := d.statements[sql]
	if stmt == nil {
		var err error
		stmt, _, err = d.conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
		check(err)
		d.statements[sql] = stmt
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			check(stmt.BindInt64(i+1, v))
		case string:
			check(stmt.BindText(i+1, v))
		case []byte:
			check(stmt.BindBlob(i+1, v))
		default:
			fail("a parameter of the type %T", arg)
		}
	}
	return stmt
}

func (d *database) exec(sql string, args ...any) { check(d.bind(sql, args...).Exec()) }

// each calls read for every row.
func (d *database) each(read func(*sqlite3.Stmt), sql string, args ...any) {
	stmt := d.bind(sql, args...)
	for stmt.Step() {
		read(stmt)
	}
	check(errors.Join(stmt.Err(), stmt.Reset()))
}

// number asks for one number; 0 where there is none.
func (d *database) number(sql string, args ...any) (n int64) {
	d.each(func(row *sqlite3.Stmt) { n = row.ColumnInt64(0) }, sql, args...)
	return n
}

// appendContacts appends the contacts that a statement finds by id and body, as an answer has them, with commas between them.
func (d *database) appendContacts(dst []byte, sql string, args ...any) []byte {
	start := len(dst)
	d.each(func(row *sqlite3.Stmt) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = crm.AppendContact(dst, row.ColumnInt64(0), row.ColumnRawBlob(1))
	}, sql, args...)
	return dst
}

// What the program reads and writes for a contact, on both engines, and what raw does to be compared with it.
const (
	sqlGet     = `SELECT id, body FROM contact WHERE account_id = ?1 AND id = ?2 AND archived = 0`
	sqlRange   = `SELECT id, body FROM contact WHERE account_id = ?1 AND id >= ?2 AND id <= ?3 AND archived >= 0 AND archived <= 0 ORDER BY id`
	sqlMatch   = `SELECT id FROM contact_index WHERE account_id = ?1 AND key = ?2 ORDER BY id`
	sqlCounts  = `SELECT contact_seq, contact_active, revision FROM account_tally WHERE account_id = ?1`
	sqlContact = `INSERT INTO contact (account_id, id, archived, match_keys, body, checksum, created_at, updated_at, sort_name, revision)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`
	sqlChange = `INSERT INTO change VALUES (?1, ?2, 1, 1, ?3, 0, 0, ?4, 1, 'bench', '')`
	sqlBlock  = `SELECT bits FROM contact_set WHERE account_id = ?1 AND name = ?2 AND block = ?3`
	sqlSet    = `INSERT INTO contact_set (account_id, name, block, size, bits) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (account_id, name, block) DO UPDATE SET size = excluded.size, bits = excluded.bits`
	sqlKey    = `INSERT INTO contact_index (account_id, key, id) VALUES (?1, ?2, ?3)`
	sqlWords  = `INSERT INTO contact_search (rowid, words) VALUES (?2, ?3)`
	sqlCount  = `UPDATE account_tally SET contact_seq = ?2, contact_active = ?3, revision = ?4, last_created = ?5 WHERE account_id = ?1`
	sqlAddTag = `UPDATE tag SET contacts = contacts + ?4 WHERE account_id = ?1 AND fold = ?2 AND name = ?3 AND contacts + ?4 > 0 AND size = length(CAST(contacts + ?4 AS TEXT))`
	sqlTag    = `INSERT INTO tag (account_id, fold, name, contacts, size) VALUES (?1, ?2, ?3, ?4, length(CAST(?4 AS TEXT)))
		ON CONFLICT (account_id, fold, name) DO UPDATE SET contacts = tag.contacts + excluded.contacts, size = length(CAST(tag.contacts + excluded.contacts AS TEXT))`

	sqlAccount = `INSERT INTO account (account_id, public_id, name, parent, created_at) VALUES (?, ?, ?, 0, ?)`
	sqlTally   = `INSERT INTO account_tally (account_id, contact_seq, contact_active, key_seq, campaign_revision) VALUES (?, 0, 0, 1, 0)`
	sqlAPIKey  = `INSERT INTO api_key (account_id, id, name, hint, hash, permissions, created_at, last_used_at, expires_at, revoked_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0)`
)

// checksum is what the program keeps with a document.
func checksum(body []byte) int64 { return int64(crc32.Checksum(body, castagnoli)) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is how many contacts are made and written together: the more, the more of the index is filled in order.
const chunk = 50_000

// fill writes the accounts of a size with their contacts straight into a file, and returns the accounts with their keys.
func fill(path string, s size) (accounts []account) {
	db := openDatabase(path, quick)
	first := 0
	for i, contacts := range s.accounts {
		accounts = append(accounts, db.account(i, first, contacts))
		first += contacts
	}
	for people := range groups(accounts, chunk, "", filledAt) {
		db.write(people, false)
	}
	db.exec(`INSERT INTO contact_search (contact_search) VALUES ('optimize')`) // as the program does after many contacts: the next ones would pay for it
	db.close()
	output("sync", path) // the file was not flushed before
	return accounts
}

// groups are the people of accounts, in order and so many at a time.
func groups(accounts []account, size int, mark string, now time.Time) iter.Seq[[]person] {
	return func(yield func([]person) bool) {
		var people []person
		for _, a := range accounts {
			for place := range a.Contacts {
				if people = append(people, makePerson(a.Number, a.First+place, mark, now)); len(people) == size {
					if !yield(people) {
						return
					}
					people = nil
				}
			}
		}
		yield(people)
	}
}

// account makes an account that will have so many contacts, and a key for it.
func (d *database) account(i, first, contacts int) account {
	a := account{Number: 2 + int64(i), ID: fmt.Sprintf("bench%011d", i), First: first, Contacts: contacts}
	key, secret, err := access.NewKey(a.Number, 1, access.KeyInput{Name: "bench", Permissions: access.AllPermissions}, filledAt)
	check(err)
	a.Key = secret
	hash := access.HashSecret(secret)
	d.exec(sqlAccount, a.Number, a.ID, fmt.Sprintf("Account %d", i+1), filledAt.UnixMicro())
	d.exec(sqlTally, a.Number)
	d.exec(sqlAPIKey, a.Number, key.ID, key.Name, key.Hint, hash[:], int64(key.Permissions), filledAt.Unix())
	return a
}

// tally is the row of an account, and what else of it changes with its contacts.
type tally struct {
	seq, active, change, created int64 // the last change, and when the last contact was made
	tags                         map[string]int64
	sets                         map[block][]int64  // the sequence numbers that join sets
	stored                       func(block) []byte // what a set has so far
	keys                         map[string]int64   // which are put in order, as the program does
}

// block is a part of a set of contacts.
type block struct {
	name   string
	number int64
}

func newTally(stored func(block) []byte) *tally {
	return &tally{tags: make(map[string]int64), keys: make(map[string]int64), sets: make(map[block][]int64), stored: stored}
}

// put writes a row, at once or with others of its table.
type put func(sql string, args ...any)

// insert puts a contact with its words and its history, and counts it.
func (t *tally) insert(p *person, put put) (id int64) {
	t.seq, t.change, t.created = t.seq+1, t.change+1, max(t.created, p.contact.CreatedAt.Unix())
	id = doc.MakeID(p.account, t.seq)
	hidden := int64(0)
	if p.contact.Archived() {
		hidden = 1
	}
	put(sqlContact, p.account, id, hidden, strings.Join(p.contact.MatchKeys, "\n"), p.body, checksum(p.body), t.created, p.contact.UpdatedAt.Unix(), find.SortName(&p.contact), t.change)
	put(sqlChange, p.account, t.change, id, p.contact.CreatedAt.Unix())
	put(sqlWords, p.account, id, p.words)
	for _, key := range p.contact.MatchKeys {
		t.keys[key] = id // no two people share one
	}
	t.active += 1 - hidden
	for _, tag := range p.contact.Tags {
		t.tags[tag] += 1 - hidden
	}
	for _, name := range p.sets {
		of := block{name, (t.seq - 1) / 4096}
		t.sets[of] = append(t.sets[of], t.seq)
	}
	return id
}

// end puts what is written once for all contacts of an account, and their keys.
func (t *tally) end(account int64, put put) {
	for _, key := range slices.Sorted(maps.Keys(t.keys)) {
		put(sqlKey, account, key, t.keys[key])
	}
	put(sqlCount, account, t.seq, t.active, t.change, t.created)
	for of, seqs := range t.sets {
		size, bits := joined(t.stored(of), seqs)
		put(sqlSet, account, of.name, of.number, size, bits)
	}
	for name, n := range t.tags {
		put(sqlTag, account, name, name, n)
	}
}

// joined adds sequence numbers, which are greater than all others, to a block of a set: a list of places, or bits where that is shorter.
func joined(stored []byte, seqs []int64) (size int64, _ []byte) {
	places := make([]byte, 0, 1024)
	if len(stored) < 512 {
		places, stored = stored, make([]byte, 512)
	}
	for _, seq := range seqs {
		places = binary.LittleEndian.AppendUint16(places, uint16((seq-1)%4096))
	}
	for at := places; len(at) > 0; at = at[2:] {
		place := binary.LittleEndian.Uint16(at)
		stored[place/8] |= 1 << (place % 8)
	}
	for _, eight := range stored {
		size += int64(bits.OnesCount8(eight))
	}
	if 2*size < int64(len(stored)) {
		return size, places
	}
	return size, stored
}

// write writes people in one transaction, where asked for with the look-ups that find duplicates.
func (d *database) write(people []person, match bool) (id int64) {
	d.exec(`BEGIN IMMEDIATE`)
	tallies := make(map[int64]*tally)
	for i := range people {
		p := &people[i]
		for _, key := range p.contact.MatchKeys {
			if match {
				d.each(func(*sqlite3.Stmt) {}, sqlMatch, p.account, key)
			}
		}
		if tallies[p.account] == nil {
			tallies[p.account] = d.tally(p.account)
		}
		id = tallies[p.account].insert(p, d.exec)
	}
	for number, t := range tallies {
		t.end(number, func(sql string, args ...any) {
			if sql == sqlTag {
				if d.exec(sqlAddTag, args...); d.conn.Changes() > 0 {
					return
				}
			}
			d.exec(sql, args...)
		})
	}
	d.exec(`COMMIT`)
	return id
}

// tally reads the row of an account.
func (d *database) tally(account int64) *tally {
	t := newTally(func(of block) (stored []byte) {
		d.each(func(row *sqlite3.Stmt) { stored = row.ColumnBlob(0, nil) }, sqlBlock, account, of.name, of.number)
		return stored
	})
	d.each(func(row *sqlite3.Stmt) {
		t.seq, t.active, t.change = row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2)
	}, sqlCounts, account)
	return t
}
