package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/jobs"
	"donorbook/internal/table"
)

// size is one amount of data that the same work is measured on. A single account has as many gifts as contacts.
type size struct{ accounts, contacts int }

func (s size) String() string {
	if s.accounts == 1 {
		return thousands(s.contacts)
	}
	return thousands(s.accounts) + " x " + thousands(s.contacts)
}

// account is one account of a dataset.
type account struct {
	Number  int64
	ID, Key string
}

// id is the id of the contact at a place.
func (a account) id(place int) int64 { return doc.MakeID(a.Number, int64(place)+1) }

// dataset is a filled database, kept from run to run.
type dataset struct {
	dir       string
	Accounts  []account
	Contacts  int     // of each account
	Campaigns []int64 // of the first account
}

func (d *dataset) file() string     { return filepath.Join(d.dir, "donorbook.db") }
func (d *dataset) noteFile() string { return filepath.Join(d.dir, "bench.json") }

// dataset makes a dataset, or finds that of an earlier run. Another schema or other words of the search make another one.
func (b *bench) dataset(s size) *dataset {
	d := b.datasets[s.String()]
	if d == nil {
		d = &dataset{dir: filepath.Join(b.cache, fmt.Sprintf("%dx%d-people%d-words%d-steps%d", s.accounts, s.contacts, peopleVersion, find.WordsVersion, len(store.Schema.Steps)))}
		if note, err := os.ReadFile(d.noteFile()); err != nil || json.Unmarshal(note, d) != nil {
			b.fill(d, s)
		}
		b.datasets[s.String()] = d
	}
	return d
}

// fill makes the accounts and imports their contacts and gifts, as the program does. What cannot be seen in the file is noted at last.
func (b *bench) fill(d *dataset, s size) {
	progress("filling %s", d.dir)
	start, made := time.Now(), &dataset{dir: filepath.Join(b.tmp, "filling"), Contacts: s.contacts}
	made.addAccounts(s)
	b.complete(made, s)
	made.findDuplicates()
	progress("  %s", output(b.program, "--data", made.dir, "check"))
	check(os.WriteFile(made.noteFile(), must(json.Marshal(made)), 0o600))
	check(os.RemoveAll(d.dir)) // what an interrupted run has left
	check(os.Rename(made.dir, d.dir))
	dir := d.dir
	*d = *made
	d.dir = dir
	progress("  took %s", time.Since(start).Round(time.Second))
}

func (d *dataset) addAccounts(s size) {
	opened := d.open("")
	defer opened.Close() //nolint:errcheck // what it has written is on disk
	for i := range s.accounts {
		a := must(opened.CreateAccount(context.Background(), fmt.Sprintf("Account %d", i+1), ""))
		_, secret, err := opened.CreateKey(context.Background(), a.Number, access.KeyInput{Name: "bench", Permissions: access.AllPermissions})
		check(err)
		d.Accounts = append(d.Accounts, account{a.Number, a.ID, secret})
		for from := 0; from < s.contacts; from += chunk {
			importPeople(opened, a.Number, personLines(i*s.contacts+from, min(chunk, s.contacts-from), ""))
		}
	}
}

// findDuplicates looks through all accounts, so that no server does it while it is measured.
func (d *dataset) findDuplicates() {
	opened := d.open("")
	defer opened.Close() //nolint:errcheck // what it has written is on disk
	for _, a := range d.Accounts {
		check(opened.FindDuplicates(context.Background(), a.Number, nil))
	}
}

// open opens the database as the program does, on PostgreSQL where there is a URL.
func (d *dataset) open(url string) *book.Book {
	return must(book.Open(context.Background(), store.Options{Data: d.dir, Database: url}))
}

// chunk is how many people are imported at a time.
const chunk = 20_000

// personLines are so many people, as JSON Lines.
func personLines(from, n int, mark string) (lines []byte) {
	for i := range n {
		lines = append(append(lines, personBody(from+i, mark)...), '\n')
	}
	return lines
}

// importPeople imports people as the command line does.
func importPeople(s *book.Book, account int64, lines []byte) {
	const name = "people.jsonl"
	rows := must(table.Open(bytes.NewReader(lines), int64(len(lines)), name))
	mapping := must(s.ColumnMapping(context.Background(), account, jobs.ImportContacts, rows.Header(), nil))
	spec := jobs.FileImport{Name: name, SHA256: fmt.Sprint(serial.Add(1)), Mode: jobs.MergeExisting, Region: region, Mapping: mapping}
	im, _, err := s.ImportFile(context.Background(), account, rows, spec, 0, false, func(jobs.ImportProgress) {})
	check(err)
	if want := int64(bytes.Count(lines, []byte("\n"))); im.Progress.Created != want {
		fail("the import has made %d of %d contacts", im.Progress.Created, want)
	}
}

// complete archives one contact in 16, and gives a single account gifts of two years, five of each fifth contact and four of five for one of
// 50 campaigns, and a plan for each hundred gifts.
func (b *bench) complete(d *dataset, s size) {
	a, file, gifts := d.Accounts[0], filepath.Join(b.tmp, "gifts.csv"), s.contacts
	var wires [][]byte
	for n := range s.accounts * s.contacts {
		if archived(n) {
			a, id := d.contact(n)
			wires = append(wires, request(nil, "DELETE", contactPath(id), a.Key, nil))
		}
	}
	if s.accounts == 1 {
		giver := func(i int) int64 {
			place := i % (gifts / 5) * 5
			if archived(place) {
				place++
			}
			return a.id(place)
		}
		rows := []byte("contact_id,campaign,amount,method,transacted_at\n")
		step := 2 * 365 * 24 * time.Hour / time.Duration(gifts)
		for i := range gifts {
			r, campaign := choices(i), ""
			if r.IntN(5) > 0 {
				campaign = fmt.Sprintf("Campaign %d", 1+r.IntN(50))
			}
			rows = fmt.Appendf(rows, "%d,%s,%d.%02d,card,%s\n", giver(i), campaign, 5+r.IntN(500), r.IntN(100), lastGift.Add(-step*time.Duration(gifts-i)).Format(time.RFC3339))
		}
		check(os.WriteFile(file, rows, 0o600))
		output(b.program, "--data", d.dir, "gift", "import", "--account", a.ID, file)
		for i := range gifts / 100 {
			body := fmt.Appendf(nil, `{"contact_id":%d,"amount":25,"frequency":"monthly","method":"card","start_at":"2026-01-31"}`, giver(i))
			wires = append(wires, request(nil, "POST", "/v1/plans", a.Key, body))
		}
		d.query(func(row db.Row) { d.Campaigns = append(d.Campaigns, row.Int(0)) }, `SELECT id FROM campaign ORDER BY id`)
	}
	server := b.serve(d)
	check(inParallel(64, func(worker int) {
		c := must(dial(server.address))
		defer c.close()
		for i := worker; i < len(wires); i += 64 {
			must(c.ask(wires[i], nil))
		}
	}))
	b.stopAll()
}

// lastGift is when the gifts of a dataset end.
var lastGift = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// contact is where person n is.
func (d *dataset) contact(n int) (account, int64) {
	a := d.Accounts[n/d.Contacts]
	return a, a.id(n % d.Contacts)
}

// anyone is a random active contact.
func (d *dataset) anyone(r *rand.Rand) (account, int64) { return d.contact(d.active(r)) }

// active is the number of such a person.
func (d *dataset) active(r *rand.Rand) int {
	for {
		if n := r.IntN(len(d.Accounts) * d.Contacts); !archived(n) {
			return n
		}
	}
}

// query reads the tables beside the program, whose own structures it must not trust.
func (d *dataset) query(read func(db.Row), sql string, args ...any) {
	opened := d.open("")
	defer opened.Close() //nolint:errcheck // it has only read
	check(opened.DB().LongView(context.Background(), func(c db.Conn) error {
		return c.Each(func(row db.Row) error { read(row); return nil }, sql, args...)
	}))
}

func (d *dataset) number(sql string, args ...any) (n int64) {
	d.query(func(row db.Row) { n = row.Int(0) }, sql, args...)
	return n
}

// holds tells whether an answer is an active contact as the file has it.
func (d *dataset) holds(a account, id int64, answer []byte) (right bool) {
	d.query(func(row db.Row) { right = bytes.Equal(answer, crm.AppendContact(nil, id, row.Bytes(0))) },
		`SELECT body FROM contact WHERE account_id = $1 AND id = $2 AND archived = 0`, a.Number, id)
	return right
}

// listing is a list of the API, and what it must have by the tables alone.
type listing struct {
	path, table, where, order string
	connections               int
}

var (
	contactList = listing{"/v1/contacts?", "contact", "archived = 0", "id", clients}
	giftList    = listing{"/v1/transactions?", "gift", "true", "id", clients}
	planList    = listing{"/v1/plans?", "plan", "true", "id", clients}
)

func (l listing) page(number int64) string { return fmt.Sprintf("%s&page=%d", l.path, number) }

// total is how many entries a list has.
func (d *dataset) total(a account, l listing) int64 {
	return d.number(fmt.Sprintf(`SELECT count(*) FROM %s WHERE account_id = $1 AND %s`, l.table, l.where), a.Number)
}

// isPage tells whether an answer is what the tables say, with the exact total: contacts as they are answered, gifts and plans by their ids.
func (d *dataset) isPage(answer []byte, a account, l listing, number int64) bool {
	var got struct {
		Data []json.RawMessage
		Meta struct{ Total int64 }
	}
	check(json.Unmarshal(answer, &got))
	var want [][]byte
	column := map[bool]string{true: "body", false: "code"}[l.table == "contact"]
	d.query(func(row db.Row) {
		if l.table == "contact" {
			want = append(want, crm.AppendContact(nil, row.Int(0), row.Bytes(1)))
		} else {
			want = append(want, []byte(row.Text(1)))
		}
	}, fmt.Sprintf(`SELECT id, %s FROM %s WHERE account_id = $1 AND %s ORDER BY %s LIMIT 20 OFFSET %d`, column, l.table, l.where, l.order, 20*(number-1)), a.Number)
	if len(got.Data) != len(want) || len(want) == 0 || got.Meta.Total != d.total(a, l) {
		return false
	}
	for i, entry := range got.Data {
		if l.table != "contact" {
			var has struct{ ID string }
			check(json.Unmarshal(entry, &has))
			entry = []byte(has.ID)
		}
		if !bytes.Equal(entry, want[i]) {
			return false
		}
	}
	return true
}
