package main

import (
	"encoding/json"
	"fmt"
	"io"
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

// dataset is a filled database, kept from run to run.
type dataset struct {
	dir      string
	Accounts []account
	Schema   int64
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
	d, err := l.find(name, sizes)
	if err == nil {
		l.used = append(l.used, fmt.Sprintf("%s contacts in %s: %s MB", thousands(d.contacts()), counted(len(sizes), "account"), thousands(int(d.size()))))
	}
	return d, err
}

// counted is a number with the word for what it counts.
func counted(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return thousands(n) + " " + word
}

func (l *library) find(name string, sizes []int) (*dataset, error) {
	total := 0
	for _, size := range sizes {
		total += size
	}
	dir := filepath.Join(l.dir, fmt.Sprintf("%s-%d-people%d-seed%d-schema%d", name, total, peopleVersion, l.generator.seed, l.schema))
	if d, err := openDataset(dir); err == nil {
		return d, nil
	}
	d := &dataset{dir: dir}
	progress("filling %s", dir)
	start := time.Now()
	if err := os.RemoveAll(dir); err != nil { // what an interrupted run has left
		return nil, err
	}
	if _, err := makeSchema(l.program, dir); err != nil {
		return nil, err
	}
	var err error
	if d.Accounts, err = fill(dir, l.generator, sizes); err != nil {
		return nil, err
	}
	d.Schema = l.schema
	progress("  took %s", time.Since(start).Round(time.Second))
	return d, d.save()
}

// save writes down what cannot be seen in the file.
func (d *dataset) save() error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return os.WriteFile(d.note(), text, 0o600)
}

// openDataset finds a dataset by its directory.
func openDataset(dir string) (*dataset, error) {
	d := &dataset{dir: dir}
	text, err := os.ReadFile(d.note())
	if err != nil {
		return nil, err
	}
	return d, json.Unmarshal(text, d)
}

func (d *dataset) note() string { return filepath.Join(d.dir, "dataset.json") }
func (d *dataset) file() string { return filepath.Join(d.dir, "donorbook.db") }

// size is the length of the file in MB.
func (d *dataset) size() float64 {
	info, err := os.Stat(d.file())
	if err != nil {
		return 0
	}
	return float64(info.Size()) / 1e6
}

// copy is the same dataset in a directory of its own, for somebody who writes. It is on disk before it returns, so that
// nobody's flush pays for it.
func (d *dataset) copy(dir string) (*dataset, error) {
	copied := &dataset{dir: dir, Accounts: d.Accounts, Schema: d.Schema}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := copyFile(d.file(), copied.file()); err != nil {
		return nil, err
	}
	if err := copyFile(d.file()+"-wal", copied.file()+"-wal"); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return copied, copied.save()
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	if closing := out.Close(); err == nil {
		err = closing
	}
	return err
}

// flush waits until a file is on disk.
func flush(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = file.Sync()
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err
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

// check compares what a server lists with what the database says: the totals of every account, and random pages with
// what OFFSET gives.
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
		if err := d.checkPage(address, a, "active", d.anyPage(dice, a)); err != nil {
			return err
		}
	}
	return nil
}

// anyPage is the number of a random page of an account's active contacts.
func (d *dataset) anyPage(r *rand.Rand, a account) int { return 1 + r.IntN((a.Active+19)/20) }

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
