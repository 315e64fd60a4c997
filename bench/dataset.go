package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
)

// size is one amount of data that the same work is measured on.
type size struct {
	name     string
	accounts []int // the contacts of each
	gifts    int   // of the first
}

// sizes are one account of 10,000 contacts, three that have 80, 15 and 5 % of 100,000, one that has all, and all in accounts of 1,000. The
// first account has as many gifts as contacts, but where there are many accounts, none.
type sizes struct{ small, base, large, many size }

const baseContacts = 100_000

func sizesOf(contacts int) sizes {
	of := func(name string, accounts ...int) size { return size{name, accounts, accounts[0]} }
	return sizes{of("10,000", 10_000), of("3 accounts", baseContacts*80/100, baseContacts*15/100, baseContacts*5/100), of(thousands(contacts), contacts),
		size{thousands(contacts/1000) + " x 1,000", slices.Repeat([]int{1000}, contacts/1000), 0}}
}

// account is one account of a dataset.
type account struct {
	Number   int64
	ID       string
	Key      string
	First    int // the person that its first contact is
	Contacts int
}

// id is the id of the contact at a place.
func (a account) id(place int) int64 { return doc.MakeID(a.Number, int64(place)+1) }

// dataset is a filled database, kept from run to run.
type dataset struct {
	dir       string
	Accounts  []account
	Campaigns []int64 // of the first account
}

// dataset makes a dataset, or finds that of an earlier run. Another schema or other words of the search make another one.
func (b *bench) dataset(s size) *dataset {
	d := b.datasets[s.name]
	if d == nil {
		d = &dataset{dir: filepath.Join(b.cache, fmt.Sprintf("%dx%d-people%d-words%d-%08x", len(s.accounts), s.accounts[0], peopleVersion, find.WordsVersion, b.schema()))}
		if try(d.load) != nil {
			b.fill(d, s)
		}
		b.datasets[s.name] = d
	}
	return d
}

// schema tells datasets of different schemas apart.
func (b *bench) schema() (sum int64) {
	empty := b.empty("schema")
	empty.open(func(db *database) {
		db.each(func(row *sqlite3.Stmt) { sum = checksum(fmt.Append(nil, sum, row.ColumnText(0))) }, `SELECT sql FROM sqlite_schema ORDER BY name`)
	})
	check(os.RemoveAll(empty.dir))
	return sum
}

// empty is a database that the program has made.
func (b *bench) empty(name string) *dataset {
	d := &dataset{dir: filepath.Join(b.tmp, name)}
	output(b.program, "--data", d.dir, "account", "create", "--name", "The first")
	return d
}

// fill lets the program make an empty database, writes the contacts as raw does, and lets the program import the gifts. It notes at last
// what cannot be seen in the file. That a small dataset has no problems shows that raw writes what the program would write.
func (b *bench) fill(d *dataset, s size) {
	progress("filling %s", d.dir)
	start, made := time.Now(), b.empty("filling")
	made.Accounts = fill(made.file(), s)
	if s.gifts > 0 {
		b.give(made, s.gifts)
	}
	if len(s.accounts)*s.accounts[0] <= 10_000 {
		progress("  %s", output(b.program, "--data", made.dir, "check"))
	}
	check(os.WriteFile(made.noteFile(), must(json.Marshal(made)), 0o600))
	check(os.RemoveAll(d.dir)) // what an interrupted run has left
	check(os.Rename(made.dir, d.dir))
	d.load()
	progress("  took %s", time.Since(start).Round(time.Second))
}

// give lets the program import gifts of the two years before the contacts were made, five of each fifth contact and four of five for one
// of 50 campaigns. Then it creates a plan for each hundred gifts.
func (b *bench) give(d *dataset, gifts int) {
	a, file := d.Accounts[0], filepath.Join(b.tmp, "gifts.csv")
	var campaigns []string
	for i := range 50 {
		campaigns = append(campaigns, fmt.Sprintf(`{"title":"Campaign %d"}`, i+1))
	}
	check(os.WriteFile(file, []byte("["+strings.Join(campaigns, ",")+"]"), 0o600))
	output(b.program, "--data", d.dir, "campaign", "import", "--account", a.ID, file)
	d.open(func(db *database) {
		db.each(func(row *sqlite3.Stmt) { d.Campaigns = append(d.Campaigns, row.ColumnInt64(0)) }, `SELECT id FROM campaign ORDER BY id`)
	})
	giver := func(i int) int64 {
		place := i % (gifts / 5) * 5
		if archived(place) {
			place++
		}
		return a.id(place)
	}
	rows := []byte("contact_id,campaign_id,amount,method,transacted_at\n")
	step := 2 * 365 * 24 * time.Hour / time.Duration(gifts)
	for i := range gifts {
		r, campaign := choices(i), ""
		if r.IntN(5) > 0 {
			campaign = fmt.Sprint(pick(r, d.Campaigns))
		}
		at := filledAt.Add(-step * time.Duration(gifts-i)).Format(time.RFC3339)
		rows = fmt.Appendf(rows, "%d,%s,%d.%02d,card,%s\n", giver(i), campaign, 5+r.IntN(500), r.IntN(100), at)
	}
	check(os.WriteFile(file, rows, 0o600))
	output(b.program, "--data", d.dir, "gift", "import", "--account", a.ID, file)
	s := b.serve(d)
	check(inParallel(16, func(worker int) {
		c := must(dial(s.address))
		defer c.close()
		for i := worker; i < gifts/100; i += 16 {
			body := fmt.Appendf(nil, `{"contact_id":%d,"amount":25,"frequency":"monthly","method":"card","start_at":"2026-01-31"}`, giver(i))
			must(c.ask(request(nil, "POST", "/v1/plans", a.Key, body), nil))
		}
	}))
	b.stopAll()
}

// load reads what was noted about a dataset.
func (d *dataset) load() { check(json.Unmarshal(must(os.ReadFile(d.noteFile())), d)) }

func (d *dataset) noteFile() string { return filepath.Join(d.dir, "dataset.json") }
func (d *dataset) file() string     { return filepath.Join(d.dir, "donorbook.db") }

// open opens the file for a look into it.
func (d *dataset) open(fn func(*database)) {
	db := openDatabase(d.file(), nil)
	defer db.close()
	fn(db)
}

// size is the length of the file in MB.
func (d *dataset) size() float64 { return float64(must(os.Stat(d.file())).Size()) / 1e6 }

// contact is an active contact as the database holds it.
func (d *dataset) contact(a account, id int64) (body []byte) {
	d.open(func(db *database) { body = db.appendContacts(nil, sqlGet, a.Number, id) })
	if body == nil {
		fail("the database has no active contact %d", id)
	}
	return body
}

// listing is a list of the API, and what it must have by the tables alone.
type listing struct{ path, table, where, order string }

var (
	contactList = listing{"/v1/contacts?", "contact", "archived = 0", "id"}
	giftList    = listing{"/v1/transactions?", "gift", "true", "id"}
	planList    = listing{"/v1/plans?", "plan", "true", "id"}
)

func (l listing) page(number int) string { return fmt.Sprintf("%s&page=%d", l.path, number) }

// total is how many entries a list has.
func (d *dataset) total(a account, l listing) (n int) {
	d.open(func(db *database) {
		n = int(db.number(fmt.Sprintf(`SELECT count(*) FROM %s WHERE account_id = ? AND %s`, l.table, l.where), a.Number))
	})
	return n
}

// entries are those of a page as OFFSET gives it: contacts as they are answered, gifts and plans by their ids.
func (d *dataset) entries(a account, l listing, number int) (list []byte) {
	column := map[bool]string{true: "id, body", false: "code"}[l.table == "contact"]
	sql := fmt.Sprintf(`SELECT %s FROM %s WHERE account_id = ? AND %s ORDER BY %s LIMIT 20 OFFSET %d`, column, l.table, l.where, l.order, 20*(number-1))
	d.open(func(db *database) {
		if l.table == "contact" {
			list = db.appendContacts(list, sql, a.Number)
			return
		}
		db.each(func(row *sqlite3.Stmt) { list = fmt.Appendf(list, "%s ", row.ColumnText(0)) }, sql, a.Number)
	})
	return list
}

// isPage tells whether an answer is what the tables say, with the exact total.
func (d *dataset) isPage(answer []byte, a account, l listing, number int) bool {
	var p struct {
		Data json.RawMessage
		Meta struct{ Total int }
	}
	check(json.Unmarshal(answer, &p))
	got := bytes.Trim(p.Data, "[]")
	if l.table != "contact" {
		var ids []struct{ ID string }
		check(json.Unmarshal(p.Data, &ids))
		got = nil
		for _, entry := range ids {
			got = fmt.Appendf(got, "%s ", entry.ID)
		}
	}
	return p.Meta.Total == d.total(a, l) && len(got) > 0 && bytes.Equal(got, d.entries(a, l, number))
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
func (d *dataset) anyone(r *rand.Rand) (account, int64) {
	return d.anyoneWho(r, func(int) bool { return true })
}

// anyoneWho is one whose number fits.
func (d *dataset) anyoneWho(r *rand.Rand, fits func(n int) bool) (account, int64) {
	for {
		if n := r.IntN(d.contacts()); !archived(n) && fits(n) {
			a := d.owner(n)
			return a, a.id(n - a.First)
		}
	}
}
