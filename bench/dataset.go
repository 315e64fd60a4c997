package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
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
func (a account) id(place int) int64 { return doc.MakeID(a.Number, int64(place)+1) }

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
	dir       string
	Accounts  []account
	Gifts     int       // of the first account, as Campaigns
	Until     time.Time // when the last one was given
	Campaigns []int64
}

// dataset makes the dataset with accounts of these sizes and more, or finds that of an earlier run; gifts may be four weeks old, not older.
func (b *bench) dataset(name string, sizes []int, more ...func(*dataset)) *dataset {
	total := sum(sizes)
	d := &dataset{dir: filepath.Join(b.cache, fmt.Sprintf("%s-%d-people%d-%08x", name, total, peopleVersion, b.schema()))}
	if try(d.load) != nil || d.Gifts > 0 && time.Since(d.Until) > 28*24*time.Hour {
		d.fill(b.program, sizes, more)
	}
	b.used = append(b.used, fmt.Sprintf("%s contacts, %s in %s: %s MB", thousands(total), counted(d.Gifts, "gift"), counted(len(sizes), "account"), thousands(int(d.size()))))
	return d
}

// schema tells datasets of different schemas apart.
func (b *bench) schema() (sum int64) {
	empty := &dataset{dir: filepath.Join(b.tmp, "empty")}
	output(b.program, "--data", empty.dir, "account", "create", "--name", "The first")
	empty.open(func(db *database) {
		db.each(func(row *sqlite3.Stmt) { sum = checksum(fmt.Append(nil, sum, row.ColumnText(0))) }, `SELECT sql FROM sqlite_schema ORDER BY name`)
	})
	return sum
}

// fill lets the program make an empty database, fills it, and notes at last what cannot be seen in the file.
func (d *dataset) fill(program string, sizes []int, more []func(*dataset)) {
	progress("filling %s", d.dir)
	start := time.Now()
	*d = dataset{dir: d.dir}
	check(os.RemoveAll(d.dir)) // what an interrupted run has left
	output(program, "--data", d.dir, "account", "create", "--name", "The first")
	d.Accounts = fill(d.file(), sizes)
	output(program, "--data", d.dir, "account", "list")
	for _, add := range more {
		add(d)
	}
	progress("  took %s", time.Since(start).Round(time.Second))
	check(os.WriteFile(d.noteFile(), must(json.Marshal(d)), 0o600))
}

// giftDataset has so many gifts in one account, five of each contact, in the two years before it was made.
func (b *bench) giftDataset(gifts int) *dataset {
	return b.dataset("gifts2", []int{gifts / 5}, func(d *dataset) { // the 2 goes up whenever other gifts are made
		var rows []string
		for i := range 50 {
			rows = append(rows, fmt.Sprintf(`{"title":"Campaign %d"}`, i+1))
		}
		file := filepath.Join(d.dir, "campaigns.json")
		check(os.WriteFile(file, []byte("["+strings.Join(rows, ",")+"]"), 0o600))
		output(b.program, "--data", d.dir, "campaign", "import", "--account", d.Accounts[0].ID, file)
		d.Until = time.Now().UTC()
		db := openDatabase(d.file(), quick)
		db.each(func(row *sqlite3.Stmt) { d.Campaigns = append(d.Campaigns, row.ColumnInt64(0)) }, `SELECT id FROM campaign ORDER BY id`)
		db.exec(`BEGIN`)
		db.writeGifts(d, 2*365*24*time.Hour/time.Duration(gifts))
		db.sumGifts()
		db.exec(`DELETE FROM derived`) // so that the program makes the sets of contacts who gave
		db.exec(`COMMIT`)
		db.close()
		output(b.program, "--data", d.dir, "account", "list")
		output("sync", d.file())
		if gifts <= 10_000 { // with more, nothing differs but their number
			output(b.program, "--data", d.dir, "check")
		}
	})
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

// page are the contacts of a page as OFFSET gives them.
func (d *dataset) page(a account, scope string, number int) (list []byte) {
	most := int64(0)
	if scope == "all" {
		most = 1
	}
	d.open(func(db *database) {
		list = db.appendContacts([]byte{'['}, `SELECT id, body FROM contact WHERE account_id = ? AND archived <= ? ORDER BY id LIMIT 20 OFFSET ?`,
			a.Number, most, int64(number-1)*20)
	})
	return append(list, ']')
}

// page is an answer of the list, as far as it is looked at.
type page struct {
	Data json.RawMessage
	Meta struct{ Total int }
}

func askPage(address, key, path string) (p page) {
	check(json.Unmarshal(once(address, "GET", path, key, nil), &p))
	return p
}

// pagePath is the shortest address of a page.
func pagePath(scope string, number int) string {
	if scope == "active" && number == 1 {
		return "/v1/contacts"
	}
	return fmt.Sprintf("/v1/contacts?scope=%s&page=%d", scope, number)
}

// isPage tells whether an answer is what OFFSET gives.
func (d *dataset) isPage(answer []byte, a account, scope string, number int) bool {
	var p page
	return json.Unmarshal(answer, &p) == nil && bytes.Equal(d.page(a, scope, number), p.Data)
}

// check compares what a server lists with what the database says: the totals of every account, and random pages.
func (d *dataset) check(address string, pages int) {
	for _, a := range d.Accounts {
		if p := askPage(address, a.Key, "/v1/contacts?per_page=1"); p.Meta.Total != a.Active {
			fail("account %d has %d active contacts, and the list says %d", a.Number, a.Active, p.Meta.Total)
		}
	}
	dice := d.dice()
	for range pages {
		a := pick(dice, d.Accounts)
		if number := a.anyPage(dice); !d.isPage(once(address, "GET", pagePath("active", number), a.Key, nil), a, "active", number) {
			fail("page %d of account %d is not what OFFSET gives", number, a.Number)
		}
	}
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
	for {
		if n := r.IntN(d.contacts()); !archived(n) {
			a := d.owner(n)
			return a, a.id(n - a.First)
		}
	}
}

// region is the server's own default for phone numbers without +.
const region = "US"

// seed makes the same people on every machine.
const seed = 1

// The words are ASCII or not, as in a real list of donors: a line for each list. Tags are small ASCII letters, so that their searched
// form is their name.
//
//go:embed people.txt
var peopleText string

var (
	firstNames, lastNames, companies = people(0), people(1), people(2)
	titles, streets, causes          = people(3), people(4), people(5)

	cities = [][3]string{{"Boston", "MA", "02110"}, {"Austin", "TX", "78701"}, {"San José", "CA", "95112"}, {"Portland", "OR", "97205"},
		{"Minneapolis", "MN", "55401"}, {"Albuquerque", "NM", "87102"}}
)

func people(line int) []string { return strings.Split(strings.Split(peopleText, "\n")[line], "|") }

// peopleVersion is told apart where data is kept: it goes up whenever the same seed makes other people.
const peopleVersion = 4

// choices are the random choices for one person.
func choices(n int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// personBody is the body of a create for person n. mark goes into the emails and the phone: people with different marks are
// different people.
func personBody(n int, mark string) (dst []byte) {
	r := choices(n)
	first, last := names(r, n)
	city := pick(r, cities)
	handle := handle(n, mark)
	tag := r.IntN(len(causes))
	dst = fmt.Appendf(dst, `{"first_name":"%s","middle_name":"%c.","last_name":"%s"`, first, 'A'+rune(r.IntN(26)), last)
	dst = fmt.Appendf(dst, `,"dob":"%02d/%02d/%d","company":"%s","title":"%s"`, 1+r.IntN(12), 1+r.IntN(28), 1930+r.IntN(75), pick(r, companies), pick(r, titles))
	dst = fmt.Appendf(dst, `,"linkedin_url":"https://www.linkedin.example/in/%s"`, handle)
	dst = fmt.Appendf(dst, `,"emails":[{"type":"personal","value":"%s@mail.example.org"},{"type":"work","value":"%s@work.example.com"}]`, handle, handle)
	dst = append(dst, `,"phones":[{"type":"cell","value":"`...)
	dst = append(dst, phone(n, mark)...)
	dst = fmt.Appendf(dst, `"}],"addresses":[{"address_1":"%d %s","address_2":"Suite %d","city":"%s","state":"%s","zipcode":"%s","country":"USA"}]`,
		1+r.IntN(9999), pick(r, streets), 1+r.IntN(400), city[0], city[1], city[2])
	return fmt.Appendf(dst, `,"tags":["%s","%s","%s"]}`, causes[tag], causes[(tag+5)%len(causes)], causes[(tag+11)%len(causes)])
}

// names are the first choices. Most people share both names with many others; one in ten has a last name of their own.
func names(r *rand.Rand, n int) (first, last string) {
	first, last = pick(r, firstNames), pick(r, lastNames)
	if rare(n) {
		last = rareName(n)
	}
	return first, last
}

func rare(n int) bool { return n%10 == 3 }

// rareName is a name of five syllables that no other of 1,889,568 people has.
func rareName(n int) string {
	const syllables = "babedidogufekalemihonurapesitovuzaje"
	var name []byte
	for range 5 {
		at := n % 18 * 2
		name = append(name, syllables[at:at+2]...)
		n /= 18
	}
	return strings.ToUpper(string(name[:1])) + string(name[1:])
}

// handle is what a person's emails begin with.
func handle(n int, mark string) string { return fmt.Sprintf("p%d%s", scattered(n), mark) }

// scattered makes numbers out of order of those in order, one of each. The emails and phone numbers of people who come one after
// the other have nothing to do with each other; were they in order, an index would have all new ones in one place.
func scattered(n int) int {
	const room = 10_000_000 // 7,654,321 has no factor in common with it
	return n/room*room + n%room*7_654_321%room
}

// phone is a number that no one else has, as people of the server's region write it: each mark has ten million of its own.
func phone(n int, mark string) string {
	slot := uint32(0)
	for _, letter := range []byte(mark) {
		slot = slot*31 + uint32(letter)
	}
	digits := 2_000_000_000 + (scattered(n)+int(slot%700)*10_000_000)%7_000_000_000
	return fmt.Sprintf("(%03d) %03d-%04d", digits/10_000_000, digits/10_000%1000, digits%10_000)
}

// person is a contact as the program itself would write it.
type person struct {
	contact crm.Contact
	body    []byte
}

// makePerson makes contact n from the request that would create it.
func makePerson(n int, mark string, now time.Time) (p person) {
	in, faults, err := crm.DecodeContact(personBody(n, mark))
	check(err)
	check(in.Validate(faults, true, region, now))
	p.contact = must(crm.NewContact(in, now))
	if mark == "" && archived(n) {
		p.contact = p.contact.Archive(now)
	}
	p.body = p.contact.AppendBody(nil)
	return p
}

// archived is one person in 16; archivedBefore is how many have a smaller number.
func archived(n int) bool      { return n%16 == 7 }
func archivedBefore(n int) int { return (n + 8) / 16 }

// filledAt is when all the people of a dataset were created.
var filledAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
