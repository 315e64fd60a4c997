package main

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

// What the program writes for a contact, and what raw writes to be compared with it.
const (
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

// filler writes a dataset straight into the file.
type filler struct{ db *database }

// makeSchema lets the program make an empty database, and tells its version.
func makeSchema(program, dir string) (version int64, err error) {
	if out, err := exec.Command(program, "--data", dir, "account", "create", "--name", "The first").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s account create: %w\n%s", program, err, out)
	}
	db, err := openDatabase(filepath.Join(dir, "donorbook.db"), nil)
	if err != nil {
		return 0, err
	}
	version, err = db.number(`SELECT max(version) FROM schema_version`)
	if closing := db.close(); err == nil {
		err = closing
	}
	return version, err
}

// fill writes accounts with as many contacts as sizes tells, and returns them with their keys. One processor makes people,
// another one writes them.
func fill(dir string, g generator, sizes []int) (accounts []account, err error) {
	path := filepath.Join(dir, "donorbook.db")
	db, err := openDatabase(path, quick)
	if err != nil {
		return nil, err
	}
	f := &filler{db: db}
	made, done := make(chan batch), make(chan struct{})
	go makePeople(g, sizes, made, done)
	first := 0
	for i := 0; i < len(sizes) && err == nil; i++ {
		var a account
		if a, err = f.account(i); err == nil {
			a.First, a.Contacts = first, sizes[i]
			err = f.contacts(&a, made)
			accounts = append(accounts, a)
			first += sizes[i]
		}
	}
	close(done)
	if err == nil { // as the program does after many contacts came at once
		err = db.exec(`INSERT INTO contact_search (contact_search) VALUES ('optimize')`)
	}
	if closing := db.close(); err == nil {
		err = closing
	}
	if err == nil {
		err = flush(path) // nothing was before
	}
	return accounts, err
}

func accountNumber(i int) int64 { return 1_000_001 + int64(i) }

// account makes an account and a key for it.
func (f *filler) account(i int) (a account, err error) {
	a.Number, a.ID = accountNumber(i), fmt.Sprintf("bench%011d", i)
	key, secret, err := crm.NewKey(a.Number, 1, crm.KeyInput{Name: "bench", Permissions: crm.AllPermissions}, filledAt)
	if err != nil {
		return a, err
	}
	a.Key = secret
	if err := f.db.exec(sqlAccount, a.Number, a.ID, fmt.Sprintf("Account %d", i+1), filledAt.UnixMicro()); err != nil {
		return a, err
	}
	if err := f.db.exec(sqlTally, a.Number); err != nil {
		return a, err
	}
	hash := crm.HashSecret(secret)
	return a, f.db.exec(sqlAPIKey, a.Number, key.ID, key.Name, key.Hint, hash[:], int64(key.Permissions), filledAt.Unix())
}

// chunk is how many contacts are made and indexed together: their keys are sorted, which fills the index in order.
const chunk = 50_000

// batch is a part of an account: people, and the rows of the index for them.
type batch struct {
	people []person
	keys   []indexed
	err    error
}

// indexed is a row of the index.
type indexed struct {
	key string
	id  int64
}

// makePeople makes the people of all accounts, in order, until it is done or nobody wants more.
func makePeople(g generator, sizes []int, made chan<- batch, done <-chan struct{}) {
	first := 0
	for i, size := range sizes {
		for from := 0; from < size; from += chunk {
			select {
			case made <- makeBatch(g, accountNumber(i), first, from, min(chunk, size-from)):
			case <-done:
				return
			}
		}
		first += size
	}
}

func makeBatch(g generator, account int64, first, from, n int) (b batch) {
	for place := from; place < from+n; place++ {
		p, err := g.person(first+place, "", filledAt)
		if err != nil {
			return batch{err: err}
		}
		b.people = append(b.people, p)
		for _, key := range p.contact.MatchKeys {
			b.keys = append(b.keys, indexed{key, crm.MakeID(account, int64(place)+1)})
		}
	}
	slices.SortFunc(b.keys, func(a, b indexed) int { return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) })
	return b
}

func (f *filler) contacts(a *account, made <-chan batch) error {
	if err := f.db.exec(`BEGIN`); err != nil {
		return err
	}
	counts := make(map[string]int64)
	for from := 0; from < a.Contacts; {
		b := <-made
		if b.err != nil {
			return b.err
		}
		if err := f.write(a, from, b, counts); err != nil {
			return err
		}
		from += len(b.people)
		if a.Contacts > chunk {
			progress("  filled %d of %d contacts", from, a.Contacts)
		}
	}
	total := int64(a.Contacts)
	if err := f.db.exec(sqlCount, total, total, int64(a.Active), a.Number); err != nil {
		return err
	}
	for name, n := range counts {
		if err := f.db.count(a.Number, name, n); err != nil {
			return err
		}
	}
	return f.db.exec(`COMMIT`)
}

// count adds to how many contacts have a tag.
func (d *database) count(account int64, name string, n int64) error {
	if err := d.exec(sqlAddTag, n, account, name, name); err != nil || d.conn.Changes() > 0 {
		return err
	}
	return d.exec(sqlTag, account, name, name, n)
}

func (f *filler) write(a *account, from int, b batch, counts map[string]int64) error {
	for i := range b.people {
		p := &b.people[i]
		seq := int64(from + i + 1)
		id := crm.MakeID(a.Number, seq)
		hidden := int64(0)
		if p.contact.Archived() {
			hidden = 1
		} else {
			a.Active++
			for _, name := range p.contact.Tags {
				counts[name]++
			}
		}
		if err := f.db.exec(sqlContact, a.Number, id, seq, hidden, strings.Join(p.contact.MatchKeys, "\n"), p.body, checksum(p.body)); err != nil {
			return err
		}
		if err := f.db.exec(sqlWords, id, p.contact.SearchDocument(a.Number)); err != nil {
			return err
		}
		if hidden == 0 {
			continue
		}
		if err := f.db.exec(sqlArchive, a.Number, seq, id); err != nil {
			return err
		}
	}
	for _, k := range b.keys {
		if err := f.db.exec(sqlKey, a.Number, k.key, k.id); err != nil {
			return err
		}
	}
	return nil
}

// progress tells on standard error what goes on.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
