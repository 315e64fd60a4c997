package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"donorbook/internal/crm"
)

// What the program writes for a contact, and what raw writes to be compared with it.
const (
	sqlContact = `INSERT INTO contact (account_id, id, revision, archived, match_keys, body) VALUES (?, ?, ?, ?, ?, ?)`
	sqlChange  = `INSERT INTO contact_change (account_id, revision, id, archived) VALUES (?, ?, ?, ?)`
	sqlKey     = `INSERT INTO contact_index (account_id, key, id) VALUES (?, ?, ?)`
	sqlCount   = `UPDATE account_tally SET revision = ?, contact_seq = ?, contact_active = ? WHERE account_id = ?`
	sqlTag     = `INSERT INTO tag (account_id, fold, name, contacts) VALUES (?, ?, ?, ?)
		ON CONFLICT (account_id, fold, name) DO UPDATE SET contacts = tag.contacts + excluded.contacts`

	sqlAccount = `INSERT INTO account (account_id, public_id, name, parent, created_at) VALUES (?, ?, ?, 0, ?)`
	sqlTally   = `INSERT INTO account_tally (account_id, revision, contact_seq, contact_active, key_seq, campaign_revision) VALUES (?, 0, 0, 0, 1, 0)`
	sqlAPIKey  = `INSERT INTO api_key (account_id, id, name, hint, hash, permissions, created_at, last_used_at, expires_at, revoked_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0)`
	sqlHasTags = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'tag'`
)

// filler writes a dataset straight into the file.
type filler struct {
	db        *database
	generator generator
	tags      bool // the schema counts tags
}

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

// fill writes accounts with as many contacts as sizes tells, and returns them with their keys.
func fill(dir string, g generator, sizes []int) (accounts []account, err error) {
	db, err := openDatabase(filepath.Join(dir, "donorbook.db"), quick)
	if err != nil {
		return nil, err
	}
	f := &filler{db: db, generator: g}
	has, err := db.number(sqlHasTags)
	f.tags = has > 0
	first := 0
	for i := 0; i < len(sizes) && err == nil; i++ {
		var a account
		if a, err = f.account(i); err == nil {
			a.First, a.Contacts = first, sizes[i]
			err = f.contacts(&a)
			accounts = append(accounts, a)
			first += sizes[i]
		}
	}
	if closing := db.close(); err == nil {
		err = closing
	}
	return accounts, err
}

// account makes an account and a key for it.
func (f *filler) account(i int) (a account, err error) {
	a.Number = 1_000_001 + int64(i)
	key, secret, err := crm.NewKey(a.Number, 1, crm.KeyInput{Name: "bench", Permissions: crm.AllPermissions}, filledAt)
	if err != nil {
		return a, err
	}
	a.Key = secret
	if err := f.db.exec(sqlAccount, a.Number, fmt.Sprintf("bench%011d", i), fmt.Sprintf("Account %d", i+1), filledAt.UnixMicro()); err != nil {
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

func (f *filler) contacts(a *account) error {
	if err := f.db.exec(`BEGIN`); err != nil {
		return err
	}
	counts := make(map[string]int64)
	for from := 0; from < a.Contacts; from += chunk {
		people, err := f.people(a.First+from, min(chunk, a.Contacts-from))
		if err != nil {
			return err
		}
		if err := f.write(a, from, people, counts); err != nil {
			return err
		}
		if a.Contacts > chunk {
			progress("  filled %d of %d contacts", from+len(people), a.Contacts)
		}
	}
	total := int64(a.Contacts)
	if err := f.db.exec(sqlCount, total, total, int64(a.Active), a.Number); err != nil {
		return err
	}
	for name, n := range counts {
		if err := f.countTag(a.Number, name, n); err != nil {
			return err
		}
	}
	return f.db.exec(`COMMIT`)
}

func (f *filler) countTag(account int64, name string, n int64) error {
	if !f.tags {
		return nil
	}
	return f.db.exec(sqlTag, account, name, name, n)
}

// people makes contacts on two processors.
func (f *filler) people(from, n int) ([]person, error) {
	people := make([]person, n)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for half := range errs {
		wg.Go(func() {
			for i := half * n / 2; i < (half+1)*n/2 && errs[half] == nil; i++ {
				people[i], errs[half] = f.generator.person(from+i, "", filledAt)
			}
		})
	}
	wg.Wait()
	return people, cmp.Or(errs[0], errs[1])
}

// indexed is a row of the index.
type indexed struct {
	key string
	id  int64
}

func (f *filler) write(a *account, from int, people []person, counts map[string]int64) error {
	var keys []indexed
	for i := range people {
		p := &people[i]
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
		if err := f.db.exec(sqlContact, a.Number, id, seq, hidden, strings.Join(p.contact.MatchKeys, "\n"), p.body); err != nil {
			return err
		}
		if err := f.db.exec(sqlChange, a.Number, seq, id, hidden); err != nil {
			return err
		}
		for _, key := range p.keys {
			keys = append(keys, indexed{key, id})
		}
	}
	slices.SortFunc(keys, func(a, b indexed) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) })
	for _, k := range keys {
		if err := f.db.exec(sqlKey, a.Number, k.key, k.id); err != nil {
			return err
		}
	}
	return nil
}

// progress tells on standard error what goes on.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
