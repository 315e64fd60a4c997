package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"time"

	"donorbook/internal/crm"
)

// account is one account of a dataset.
type account struct {
	Number   int64
	ID       string // in the addresses of the console
	Key      string
	First    int // the person that its first contact is
	Contacts int
	Active   int
}

// id is the id of the contact at a place.
func (a account) id(place int) int64 { return crm.MakeID(a.Number, int64(place)+1) }

// anyPage is the number of a random page of the active contacts.
func (a account) anyPage(r *rand.Rand) int { return 1 + r.IntN((a.Active+19)/20) }

// firstActive are the ids of the first active contacts of an account.
func firstActive(a account, n int) (ids []int64) {
	for place := 0; len(ids) < n && place < a.Contacts; place++ {
		if !archived(a.First + place) {
			ids = append(ids, a.id(place))
		}
	}
	return ids
}

// dataset is a filled database, kept from run to run.
type dataset struct {
	dir      string
	Accounts []account
}

// library makes datasets, or finds those of an earlier run.
type library struct {
	program   string
	dir       string
	generator generator
	schema    int64    // of the program
	used      []string // what the datasets of this run are, and how large
}

func openLibrary(program, dir string, seed uint64) (*library, error) {
	l := &library{program: program, dir: dir, generator: generator{seed}}
	empty, err := os.MkdirTemp("", "donorbook-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(empty) //nolint:errcheck // a directory of the system's own
	l.schema, err = makeSchema(program, empty)
	return l, err
}

// get is the dataset with accounts of these sizes.
func (l *library) get(name string, sizes []int) (*dataset, error) {
	total := 0
	for _, size := range sizes {
		total += size
	}
	d := &dataset{dir: filepath.Join(l.dir, fmt.Sprintf("%s-%d-people%d-seed%d-schema%d", name, total, peopleVersion, l.generator.seed, l.schema))}
	if err := d.load(); err != nil {
		if err := l.fill(d, sizes); err != nil {
			return nil, err
		}
	}
	l.used = append(l.used, fmt.Sprintf("%s contacts in %s: %s MB", thousands(total), counted(len(sizes), "account"), thousands(int(d.size()))))
	return d, nil
}

// fill makes a dataset, and notes at last what cannot be seen in its file.
func (l *library) fill(d *dataset, sizes []int) (err error) {
	progress("filling %s", d.dir)
	start := time.Now()
	if err := os.RemoveAll(d.dir); err != nil { // what an interrupted run has left
		return err
	}
	if _, err := makeSchema(l.program, d.dir); err != nil {
		return err
	}
	if d.Accounts, err = fill(d.file(), l.generator, sizes); err != nil {
		return err
	}
	progress("  took %s", time.Since(start).Round(time.Second))
	text, err := json.Marshal(d)
	return errors.Join(err, os.WriteFile(d.noteFile(), text, 0o600))
}

// load reads what was noted about a dataset.
func (d *dataset) load() error {
	text, err := os.ReadFile(d.noteFile())
	if err != nil {
		return err
	}
	return json.Unmarshal(text, d)
}

func (d *dataset) noteFile() string { return filepath.Join(d.dir, "dataset.json") }
func (d *dataset) file() string     { return filepath.Join(d.dir, "donorbook.db") }

// open opens the file for a look into it.
func (d *dataset) open(fn func(*database) error) error {
	db, err := openDatabase(d.file(), nil)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.close())
}

// size is the length of the file in MB.
func (d *dataset) size() float64 {
	info, err := os.Stat(d.file())
	if err != nil {
		return 0
	}
	return float64(info.Size()) / 1e6
}

// contact is an active contact as the database holds it.
func (d *dataset) contact(a account, id int64) (body []byte, err error) {
	err = d.open(func(db *database) (err error) {
		body, err = db.appendContacts(nil, sqlGet, a.Number, id)
		return err
	})
	if err == nil && body == nil {
		err = fmt.Errorf("the database has no active contact %d", id)
	}
	return body, err
}

// page are the contacts of a page as OFFSET gives them.
func (d *dataset) page(a account, scope string, number int) (list []byte, err error) {
	most := int64(0)
	if scope == "all" {
		most = 1
	}
	err = d.open(func(db *database) (err error) {
		list, err = db.appendContacts([]byte{'['}, `SELECT id, body FROM contact WHERE account_id = ? AND archived <= ? ORDER BY id LIMIT 20 OFFSET ?`,
			a.Number, most, int64(number-1)*20)
		return err
	})
	return append(list, ']'), err
}

// page is an answer of the list, as far as it is looked at.
type page struct {
	Data json.RawMessage
	Meta struct{ Total int }
}

func askPage(address, key, path string) (p page, err error) {
	body, err := once(address, "GET", path, key, nil)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(body, &p)
}

// pagePath is the shortest address of a page.
func pagePath(scope string, number int) string {
	if scope == "active" && number == 1 {
		return "/v1/contacts"
	}
	return fmt.Sprintf("/v1/contacts?scope=%s&page=%d", scope, number)
}

// checkPage compares a page with what OFFSET gives.
func (d *dataset) checkPage(address string, a account, scope string, number int) error {
	p, err := askPage(address, a.Key, pagePath(scope, number))
	if err != nil {
		return err
	}
	want, err := d.page(a, scope, number)
	if err == nil && !bytes.Equal(want, p.Data) {
		err = fmt.Errorf("page %d of account %d is not what OFFSET gives", number, a.Number)
	}
	return err
}

// check compares what a server lists with what the database says: the totals of every account, and random pages.
func (d *dataset) check(address string, pages int) error {
	for _, a := range d.Accounts {
		p, err := askPage(address, a.Key, "/v1/contacts?per_page=1")
		if err != nil {
			return err
		}
		if p.Meta.Total != a.Active {
			return fmt.Errorf("account %d has %d active contacts, and the list says %d", a.Number, a.Active, p.Meta.Total)
		}
	}
	dice := d.dice()
	for range pages {
		a := pick(dice, d.Accounts)
		if err := d.checkPage(address, a, "active", a.anyPage(dice)); err != nil {
			return err
		}
	}
	return nil
}

func (d *dataset) dice() *rand.Rand { return rand.New(rand.NewPCG(uint64(len(d.Accounts)), 7)) }

// contacts is how many there are in all.
func (d *dataset) contacts() int {
	last := d.Accounts[len(d.Accounts)-1]
	return last.First + last.Contacts
}

// owner is the account of a person.
func (d *dataset) owner(n int) account {
	i := sort.Search(len(d.Accounts), func(i int) bool { return d.Accounts[i].First > n })
	return d.Accounts[i-1]
}

// byWeight is a random account: the more contacts it has, the likelier.
func (d *dataset) byWeight(r *rand.Rand) account { return d.owner(r.IntN(d.contacts())) }

// anyone is a random active contact, uniform over all accounts.
func (d *dataset) anyone(r *rand.Rand) (account, int64) { return d.activeBelow(r, d.contacts()) }

// regular is a random active contact where nine of ten requests are about one contact in a hundred.
func (d *dataset) regular(r *rand.Rand) (account, int64) {
	if r.IntN(10) > 0 {
		return d.activeBelow(r, max(16, d.contacts()/100))
	}
	return d.anyone(r)
}

func (d *dataset) activeBelow(r *rand.Rand, n int) (account, int64) {
	for {
		if n := r.IntN(n); !archived(n) {
			a := d.owner(n)
			return a, a.id(n - a.First)
		}
	}
}
