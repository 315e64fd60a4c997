package main

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"donorbook/internal/crm"
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
		"PRAGMA cache_size = -10000", "PRAGMA wal_autocheckpoint = 4000", "PRAGMA trusted_schema = OFF", "PRAGMA secure_delete = ON",
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
	first := true
	d.each(func(row *sqlite3.Stmt) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = crm.AppendContact(dst, row.ColumnInt64(0), row.ColumnRawBlob(1))
	}, sql, args...)
	return dst
}

// What the program reads and writes for a contact, and what raw does to be compared with it.
const (
	sqlGet     = `SELECT id, body FROM contact WHERE account_id = ? AND id = ? AND archived = 0`
	sqlRange   = `SELECT id, body FROM contact WHERE account_id = ? AND id >= ? AND id <= ? AND archived >= 0 AND archived <= 0 ORDER BY id`
	sqlMatch   = `SELECT id FROM contact_index WHERE account_id = ? AND key = ? ORDER BY id`
	sqlCounts  = `SELECT list_revision, contact_seq, contact_active, revision FROM account_tally WHERE account_id = ?`
	sqlContact = `INSERT INTO contact (account_id, id, list_revision, archived, match_keys, body, checksum, created_at, updated_at, sort_name, revision, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`
	sqlChange  = `INSERT INTO change VALUES (?, ?, 1, 1, ?, 0, 0, 0, ?, 1, 'bench', '')`
	sqlBlock   = `SELECT bits FROM contact_set WHERE account_id = ? AND name = ? AND block = ?`
	sqlSet     = `INSERT OR REPLACE INTO contact_set (account_id, name, block, size, bits) VALUES (?, ?, ?, ?, ?)`
	sqlArchive = `INSERT INTO contact_archival (account_id, revision, id, archived) VALUES (?, ?, ?, 1)`
	sqlKey     = `INSERT INTO contact_index (account_id, key, id) VALUES (?, ?, ?)`
	sqlWords   = `INSERT INTO contact_search (rowid, words) VALUES (?, ?)`
	sqlCount   = `UPDATE account_tally SET list_revision = ?, contact_seq = ?, contact_active = ?, revision = ? WHERE account_id = ?`
	sqlAddTag  = `UPDATE tag SET contacts = contacts + ?1 WHERE account_id = ?2 AND fold = ?3 AND name = ?4
		AND contacts + ?1 > 0 AND size = length(CAST(contacts + ?1 AS TEXT))`
	sqlTag = `INSERT INTO tag (account_id, fold, name, contacts, size) VALUES (?1, ?2, ?3, ?4, length(CAST(?4 AS TEXT)))
		ON CONFLICT (account_id, fold, name) DO UPDATE SET contacts = tag.contacts + excluded.contacts,
			size = length(CAST(tag.contacts + excluded.contacts AS TEXT))`

	sqlAccount = `INSERT INTO account (account_id, public_id, name, parent, created_at) VALUES (?, ?, ?, 0, ?)`
	sqlTally   = `INSERT INTO account_tally (account_id, list_revision, contact_seq, contact_active, key_seq, campaign_revision) VALUES (?, 0, 0, 0, 1, 0)`
	sqlAPIKey  = `INSERT INTO api_key (account_id, id, name, hint, hash, permissions, created_at, last_used_at, expires_at, revoked_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0)`
)

// checksum is what the program keeps with a document.
func checksum(body []byte) int64 { return int64(crc32.Checksum(body, castagnoli)) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is how many contacts are made and written together: the more, the more of the index is filled in order.
const chunk = 50_000

// fill writes accounts with contacts, as many as sizes says, straight into a file, and returns the accounts with their keys. One
// processor makes the people, another one writes them.
func fill(path string, sizes []int) (accounts []account) {
	db := openDatabase(path, quick)
	first := 0
	for i, size := range sizes {
		a := db.account(i)
		a.First, a.Contacts = first, size
		accounts, first = append(accounts, a), first+size
	}
	made := make(chan []joining, 1)
	go makePeople(accounts, made)
	n := 0
	for people := range made {
		db.write(people, false)
		if n += len(people); n%chunk == 0 {
			progress("  filled %d of %d contacts", n, first)
		}
	}
	db.exec(`DELETE FROM derived`) // so that the program makes the sets of tags
	db.close()
	check(exec.Command("sync", path).Run()) // the file was not flushed before
	return accounts
}

// makePeople makes the people of all accounts, in order, and counts those who are active.
func makePeople(accounts []account, made chan<- []joining) {
	var people []joining
	for i := range accounts {
		a := &accounts[i]
		for place := range a.Contacts {
			p := makePerson(a.First+place, "", filledAt)
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
	close(made)
}

// account makes an account and a key for it.
func (d *database) account(i int) (a account) {
	a.Number, a.ID = 2+int64(i), fmt.Sprintf("bench%011d", i)
	key, secret, err := crm.NewKey(a.Number, 1, crm.KeyInput{Name: "bench", Permissions: crm.AllPermissions}, filledAt)
	check(err)
	a.Key = secret
	hash := crm.HashSecret(secret)
	d.exec(sqlAccount, a.Number, a.ID, fmt.Sprintf("Account %d", i+1), filledAt.UnixMicro())
	d.exec(sqlTally, a.Number)
	d.exec(sqlAPIKey, a.Number, key.ID, key.Name, key.Hint, hash[:], int64(key.Permissions), filledAt.Unix())
	return a
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
	revision, seq, active, change int64 // the last change of a list, and of all
	tags                          map[string]int64
	sets                          map[block][]int64 // the sequence numbers that join sets
}

// block is a part of a set of contacts.
type block struct {
	name   string
	number int64
}

func newTally() *tally { return &tally{tags: make(map[string]int64), sets: make(map[block][]int64)} }

// count adds a contact.
func (t *tally) count(p person) {
	t.revision, t.seq, t.change = t.revision+1, t.seq+1, t.change+1
	set := "t:"
	if p.contact.Archived() {
		set = "a:"
	} else {
		t.active++
	}
	for _, name := range p.contact.Tags {
		if set == "t:" {
			t.tags[name]++
		}
		of := block{set + name, (t.seq - 1) / 4096}
		t.sets[of] = append(t.sets[of], t.seq)
	}
}

// indexed is a row of the index.
type indexed struct {
	account int64
	key     string
	id      int64
}

// write writes people in one transaction, where asked for with the look-ups that find duplicates.
func (d *database) write(people []joining, match bool) {
	d.exec(`BEGIN IMMEDIATE`)
	tallies := make(map[int64]*tally)
	var keys []indexed
	for i := range people {
		keys = append(keys, d.insert(&people[i], match, tallies)...)
	}
	slices.SortFunc(keys, func(a, b indexed) int {
		return cmp.Or(cmp.Compare(a.account, b.account), strings.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	for _, k := range keys {
		d.exec(sqlKey, k.account, k.key, k.id)
	}
	for number, t := range tallies {
		d.exec(sqlCount, t.revision, t.seq, t.active, t.change, number)
		for of, seqs := range t.sets {
			d.addToSet(number, of, seqs)
		}
		for name, n := range t.tags {
			if d.exec(sqlAddTag, n, number, name, name); d.conn.Changes() == 0 {
				d.exec(sqlTag, number, name, name, n)
			}
		}
	}
	d.exec(`COMMIT`)
}

// insert writes a contact and its words, and counts it. It returns its keys, which are written in order.
func (d *database) insert(p *joining, match bool, tallies map[int64]*tally) (keys []indexed) {
	t := tallies[p.account]
	if t == nil {
		t = newTally()
		tallies[p.account] = t
		d.each(func(row *sqlite3.Stmt) {
			t.revision, t.seq, t.active, t.change = row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2), row.ColumnInt64(3)
		}, sqlCounts, p.account)
	}
	t.count(p.person)
	id, hidden := crm.MakeID(p.account, t.seq), int64(0)
	for _, key := range p.contact.MatchKeys {
		if match {
			d.each(func(*sqlite3.Stmt) {}, sqlMatch, p.account, key)
		}
		keys = append(keys, indexed{p.account, key, id})
	}
	if p.contact.Archived() {
		hidden = 1
		d.exec(sqlArchive, p.account, t.revision, id)
	}
	d.exec(sqlContact, p.account, id, t.revision, hidden, strings.Join(p.contact.MatchKeys, "\n"), p.body, checksum(p.body), p.contact.CreatedAt.Unix(), p.contact.UpdatedAt.Unix(), p.contact.SortName(), t.change)
	d.exec(sqlChange, p.account, t.change, id, p.contact.CreatedAt.Unix())
	d.exec(sqlWords, id, p.words)
	return keys
}

// addToSet adds sequence numbers, which are greater than all others, to a block of a set: a list of places, or bits where that is shorter.
func (d *database) addToSet(account int64, of block, seqs []int64) {
	var stored []byte
	d.each(func(row *sqlite3.Stmt) { stored = row.ColumnBlob(0, nil) }, sqlBlock, account, of.name, of.number)
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
	size := 0
	for _, eight := range stored {
		size += bits.OnesCount8(eight)
	}
	if 2*size < len(stored) {
		stored = places
	}
	d.exec(sqlSet, account, of.name, of.number, int64(size), stored)
}

// holds fails where a contact is not stored with everything that belongs to it.
func (d *database) holds(a account, id int64, p person) {
	found := d.number(`SELECT count(*) FROM contact WHERE archived = 0 AND account_id = ? AND id = ? AND match_keys = ?`, a.Number, id, strings.Join(p.contact.MatchKeys, "\n"))
	for _, key := range p.contact.MatchKeys {
		found = min(found, d.number(`SELECT count(*) FROM contact_index WHERE account_id = ? AND key = ? AND id = ?`, a.Number, key, id))
	}
	for word := range strings.FieldsSeq(p.contact.SearchDocument(a.Number)) {
		found = min(found, d.number(`SELECT count(*) FROM contact_search WHERE contact_search MATCH ? AND rowid = ?`, `"`+word+`"`, id))
	}
	if found != 1 {
		fail("contact %d is not stored as this program would have written it", id)
	}
}

// writeGifts writes gifts in the order of time. There are eight turns, and a contact gives in five of them: some
// came late, some have lapsed, some came back. One contact in ten gives by a plan, and one plan in ten is overdue.
func (d *database) writeGifts(to *dataset, step time.Duration) {
	a, plans, codes := to.Accounts[0], int64(0), make(map[int64]string)
	for turn := range int64(8) {
		d.each(func(row *sqlite3.Stmt) {
			seq := crm.IDSeq(row.ColumnInt64(0))
			if (seq+turn)%8 >= 5 {
				return
			}
			contact := must(crm.ParseContact(row.ColumnInt64(0), row.ColumnBlob(1, nil), nil))
			if seq%10 == 4 && codes[seq] == "" {
				plans++
				p := crm.Plan{ID: crm.MakeID(a.Number, plans), Contact: contact.ID, Giver: crm.GiverOf(&contact), Frequency: "quarterly", Status: crm.ActivePlan, Method: "card",
					Amount: 2500, Currency: "USD", StartAt: filledAt, CreatedAt: filledAt, NextBill: to.Until.AddDate(0, 0, 60-int(plans%10/9*70))}
				body := p.AppendBody(nil)
				codes[seq] = crm.NewCode(p.ID)
				d.exec(`INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`, a.Number, p.ID, p.Contact, p.Campaign, p.StatusNumber(), p.NextBill.Unix(), codes[seq], body, checksum(body))
			}
			to.Gifts++
			at := to.Until.Add(step * time.Duration(to.Gifts-5*a.Contacts)).Truncate(time.Second)
			d.writeGift(crm.MakeID(a.Number, int64(to.Gifts)), &contact, codes[seq], at, to.Campaigns)
		}, `SELECT id, body FROM contact WHERE account_id = ? ORDER BY id`, a.Number)
	}
	d.exec(`UPDATE account_tally SET gift_seq = ?, plan_seq = ? WHERE account_id = ?`, int64(to.Gifts), plans, a.Number)
}

// writeGift writes a gift. One in five is for no campaign, three of a hundred are refunded.
func (d *database) writeGift(id int64, contact *crm.Contact, plan string, at time.Time, campaigns []int64) {
	r := choices(int(id))
	g := crm.Gift{ID: id, Code: crm.NewCode(id), Contact: contact.ID, Giver: crm.GiverOf(contact), PlanCode: plan, Status: crm.Succeeded, Method: pick(r, crm.Methods),
		Currency: "USD", At: at, CreatedAt: at, Entries: []crm.Entry{{ID: crm.NewCode(id), Amount: int64(500 + r.IntN(50_000)), Fee: 25, CapturedAt: at}}}
	if r.IntN(5) > 0 {
		g.Campaign = pick(r, campaigns)
	}
	if r.IntN(100) < 3 {
		g = must(g.Refund(nil, at))
	}
	body := g.AppendBody(nil)
	d.exec(`INSERT INTO gift VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`, crm.IDAccount(id), id, g.Contact, g.Campaign, g.Plan(), g.StatusNumber(), g.MethodNumber(), g.Currency, g.Net(),
		crm.Month(at), at.Unix(), g.Code, body, checksum(body))
}

// sumGifts works out everything that is derived from gifts.
func (d *database) sumGifts() {
	const givers, first = `count(DISTINCT CASE WHEN net > 0 THEN contact END)`, `coalesce(min(CASE WHEN net > 0 THEN year END), 0)`
	d.exec(`CREATE TEMP TABLE given AS SELECT account_id AS account, contact_id AS contact, campaign_id AS campaign, plan_id AS plan, net, month, month / 100 AS year,
		CAST(strftime('%Y%m%d', given_at, 'unixepoch') AS INTEGER) AS day FROM gift`)
	for _, c := range [][5]string{ // campaign, period, contact, donors and first year of each kind of cell (crm.Cell)
		{"0", "0", "0", givers, "0"}, {"0", "year", "0", givers, "0"}, {"0", "month", "0", "0", "0"}, {"0", "day", "0", "0", "0"},
		{"0", "0", "contact", "0", first}, {"0", "year", "contact", "0", "0"},
		{"campaign", "0", "0", givers, "0"}, {"campaign", "year", "0", "0", "0"}, {"campaign", "0", "contact", "0", "0"},
	} {
		d.exec(fmt.Sprintf(`INSERT INTO giving SELECT account, printf('%%016d/%%08d/USD/%%09d', %[1]s, %[2]s, %[3]s %% 1000000000), count(*), sum(net > 0), sum(net),
			sum(CASE WHEN plan <> 0 THEN net ELSE 0 END), %[4]s, 0, 0, %[5]s FROM given WHERE campaign <> 0 OR '%[1]s' = '0' GROUP BY account, %[1]s + 0, %[2]s + 0, %[3]s + 0`, c[0], c[1], c[2], c[3], c[4]))
	}
	d.exec(`UPDATE giving SET new_donors = new, retained = again FROM (SELECT year, sum(before IS NULL) AS new, coalesce(sum(before = year - 1), 0) AS again
		FROM (SELECT year, lag(year) OVER (PARTITION BY contact ORDER BY year) AS before FROM given WHERE net > 0 GROUP BY contact, year) GROUP BY year) WHERE cell = printf('%016d/%08d/USD/%09d', 0, year, 0)`)
	d.exec(`UPDATE contact SET body = CAST(replace(body, '"recurring_contributions":0,"total_contributions":0', printf('"recurring_contributions":%d,"total_contributions":%d',
		recurring / 100, amount / 100)) AS BLOB) FROM giving WHERE giving.account_id = contact.account_id AND cell = printf('%016d/%08d/USD/%09d', 0, 0, contact.id % 1000000000)`)
	check(d.conn.CreateFunction("checksum", 1, 0, func(ctx sqlite3.Context, v ...sqlite3.Value) { ctx.ResultInt64(checksum(v[0].RawBlob())) }))
	d.exec(`UPDATE contact SET checksum = checksum(body), given = json_extract('{"id":0' || CAST(body AS TEXT), '$.stats.total_contributions'),
		last_gift = COALESCE((SELECT max(given_at) FROM gift WHERE gift.account_id = contact.account_id AND contact_id = contact.id AND net > 0), 0)`)
}
