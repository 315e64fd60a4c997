package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// measureStarts starts the program on the data as often as there are rounds: how long until it answers, and what it holds when it has
// nothing to do.
func (b *bench) measureStarts() {
	d := b.dataset(b.large)
	b.note("program", float64(must(os.Stat(b.program)).Size())/1e6)
	b.note("database", d.size())
	for range b.rounds {
		s := b.serve(d)
		time.Sleep(time.Second)
		b.note("start", milliseconds(s.first))
		b.note("idle", memory(s.pid, "VmRSS"))
		progress("  first answer after %.1f ms, %.1f MB", milliseconds(s.first), memory(s.pid, "VmRSS"))
		b.stopAll()
	}
}

// imported is the mark of people who come from a file.
const imported = "file"

// importGroup is how many rows of a file the program writes in one transaction.
const importGroup = 400

// measureImport lets the program's own commands import a file and export what was imported. Raw writes the same people into the same tables.
// All of this happens once: a million rows take minutes.
func (b *bench) measureImport() {
	ours, file, people := b.empty("import"), filepath.Join(b.tmp, "people.csv"), b.contacts
	b.closing = append(b.closing, func() { check(os.RemoveAll(ours.dir)); check(os.Remove(file)) })
	ours.Accounts = fill(ours.file(), size{accounts: []int{0}})
	raw := b.copy(ours, "import-raw")
	writePeople(file, people)
	command := func(name string, args ...string) {
		used := b.command(append([]string{"--data", ours.dir, "contact", name, "--account", ours.Accounts[0].ID}, args...)...)
		b.note(name+" memory", used.peak)
		b.note(name+" seconds", used.elapsed.Seconds())
		b.note(name+" us", perRequest(used.cpu, people))
		progress("  %s: %.1f s, %.0f MB", name, used.elapsed.Seconds(), used.peak)
	}
	command("import", file)
	writing := raw.bulkLoad(people)
	b.note("raw import seconds", writing.elapsed.Seconds())
	progress("  raw: %.1f s", writing.elapsed.Seconds())
	compareImports(ours, raw, people)
	command("export", "--format", "csv", "--output", file)
	if rows := bytes.Count(must(os.ReadFile(file)), []byte("@work.example.com")); rows != people {
		fail("the export has %d of %d contacts", rows, people)
	}
	b.note("stored", ours.weight())
}

// weight is how large the database is against the documents in it, without the history.
func (d *dataset) weight() float64 {
	db := openDatabase(d.file(), quick)
	defer db.close()
	documents := db.number(`SELECT sum(length(body)) FROM contact`)
	db.exec(`DELETE FROM change`)
	pages := db.number(`PRAGMA page_count`) - db.number(`PRAGMA freelist_count`)
	return float64(pages*db.number(`PRAGMA page_size`)) / float64(documents)
}

// writePeople writes a file with so many people, with the names that the API gives the fields.
func writePeople(path string, people int) {
	file := must(os.Create(path))
	w := csv.NewWriter(file)
	check(w.Write(strings.Fields(`first_name middle_name last_name dob company title linkedin_url emails.0.type emails.0.value emails.1.type emails.1.value phones.0.type phones.0.value
		addresses.0.address_1 addresses.0.address_2 addresses.0.city addresses.0.state addresses.0.zipcode addresses.0.country tags`)))
	for n := range people {
		in, _, err := crm.DecodeContact(personBody(n, imported))
		check(err)
		emails, phone, place := *in.Emails, (*in.Phones)[0], (*in.Addresses)[0]
		check(w.Write([]string{*in.FirstName, *in.MiddleName, *in.LastName, *in.DOB, *in.Company, *in.Title, *in.LinkedinURL, emails[0].Type, emails[0].Value, emails[1].Type, emails[1].Value,
			phone.Type, phone.Value, place.Line1, place.Line2, place.City, place.State, place.Zipcode, place.Country, strings.Join(*in.Tags, ", ")}))
	}
	w.Flush()
	check(w.Error())
	check(file.Close())
}

// bulkLoad writes the people of the file into the tables, without a look for duplicates. To make them does not count.
func (d *dataset) bulkLoad(people int) (writing spent) {
	db := openDatabase(d.file(), durable)
	a := account{Number: d.Accounts[0].Number, Contacts: people}
	next, stop := iter.Pull(groups([]account{a}, importGroup, imported, time.Now()))
	defer stop()
	for group, more := next(); more; group, more = next() {
		writing.add(func() { db.write(group, false) })
	}
	writing.add(db.close)
	return writing
}

// compareImports fails where the import has not written what raw has.
func compareImports(ours, raw *dataset, people int) {
	sums := func(d *dataset) (text string) {
		d.open(func(db *database) {
			db.each(func(row *sqlite3.Stmt) { text = row.ColumnText(0) }, `SELECT concat_ws(' ', count(*), sum(length(body)), sum(length(match_keys)), (SELECT count(*) FROM contact_index), (SELECT sum(size) FROM contact_set),
				(SELECT sum(length(bits)) FROM contact_set), (SELECT sum(contacts) FROM tag), (SELECT count(*) FROM change WHERE noun = 1)) FROM contact`)
		})
		return text
	}
	if a, b := sums(ours), sums(raw); a != b || !strings.HasPrefix(a, fmt.Sprintf("%d ", people)) {
		fail("the import has written %s, and raw %s", a, b)
	}
}
