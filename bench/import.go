package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"donorbook/internal/crm"
)

// imported is the mark of people who come from a file.
const imported = "file"

// importGroup is how many rows of a file the program writes in one transaction.
const importGroup = 400

// exportFormats are the files that the imported contacts leave as.
var exportFormats = []string{"csv", "xlsx", "jsonl"}

// measureImport lets the program's own commands try a file, import it and export what was imported. Raw writes the same people into the
// same tables. All of this happens once: a million rows take minutes.
func (b *bench) measureImport() {
	ours, file := &dataset{dir: filepath.Join(b.tmp, "import")}, filepath.Join(b.tmp, "people.csv")
	b.closing = append(b.closing, func() { check(os.RemoveAll(ours.dir)); check(os.Remove(file)) })
	ours.fill(b.program, []int{0}, nil)
	raw := b.copy(ours, "import-raw")
	writePeople(file, b.contacts)
	a := ours.Accounts[0]
	command := func(name string, args ...string) commandUse {
		used := b.command(append([]string{"--data", ours.dir, "contact", name, "--account", a.ID}, args...)...)
		progress("  %s: %s, %.0f MB", strings.Join(args, " "), used.text(b.contacts), used.peak)
		return used
	}
	b.add("dry run", command("import", "--dry-run", file).peak)
	used := command("import", file)
	b.add("import memory", used.peak)
	writing, making := raw.bulkLoad(b.contacts)
	progress("  raw: %s, and %s to make the people", writing.text(b.contacts), making.text(b.contacts))
	compareImports(ours, raw, b.contacts)
	for name, of := range map[string]func(spent) float64{"import": func(s spent) float64 { return s.cpu.Seconds() }, "import elapsed": func(s spent) float64 { return s.elapsed.Seconds() }} {
		b.notes[name] = &finding{ours: used.text(b.contacts), other: writing.text(b.contacts), values: []float64{of(used.spent) / of(writing)}, bare: []float64{(of(writing) + of(making)) / of(writing)}}
	}
	for _, format := range exportFormats {
		out := filepath.Join(b.tmp, "contacts."+format)
		used := command("export", "--format", format, "--output", out)
		b.notes["export "+format] = &finding{ours: used.text(b.contacts), values: []float64{used.peak}}
		check(os.Remove(out))
	}
}

// commandUse is what a command has used.
type commandUse struct {
	spent
	peak float64 // MB of memory
}

// text is what one row took, and how many rows a second there were.
func (s spent) text(rows int) string {
	return fmt.Sprintf("%s us, %s/s", number(perRequest(s.cpu, rows)), thousands(int(float64(rows)/s.elapsed.Seconds())))
}

// command runs a command of the program to its end.
func (b *bench) command(args ...string) (used commandUse) {
	var out bytes.Buffer
	cmd := exec.Command(b.program, args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &out, &out, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begun, ended := time.Now(), make(chan error, 1)
	check(cmd.Start())
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				fail("%s: %v: %s", strings.Join(args, " "), err, &out)
			}
			used.spent = spent{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(begun)}
			return used
		case <-time.After(10 * time.Millisecond): // the kernel keeps the peak as long as the process lives
			used.peak = max(used.peak, memory(cmd.Process.Pid, "VmHWM"))
		}
	}
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

// bulkLoad writes the people of the file into the tables, without a look for duplicates, and tells what it took to make them, too.
func (d *dataset) bulkLoad(people int) (writing, making spent) {
	db := openDatabase(d.file(), durable)
	for n := 0; n < people; n += importGroup {
		var group []joining
		making.add(func() {
			for i := n; i < min(n+importGroup, people); i++ {
				group = append(group, join(d.Accounts[0], makePerson(i, imported, time.Now())))
			}
		})
		writing.add(func() { db.write(group, false) })
	}
	writing.add(db.close)
	return writing, making
}

// compareImports fails where the import has not written what raw has.
func compareImports(ours, raw *dataset, people int) {
	sums := func(d *dataset) (list []int64) {
		d.open(func(db *database) {
			for _, sql := range []string{`SELECT count(*) FROM contact`, `SELECT sum(length(body)) FROM contact`, `SELECT count(*) FROM contact_index`, `SELECT sum(size) FROM contact_set`,
				`SELECT sum(length(bits)) FROM contact_set`, `SELECT sum(contacts) FROM tag`, `SELECT count(*) FROM change WHERE noun = 1`, `SELECT sum(version) FROM contact`} {
				list = append(list, db.number(sql))
			}
			for _, n := range []int{0, people / 2, people - 1} {
				db.holds(d.Accounts[0], d.Accounts[0].id(n), makePerson(n, imported, time.Now()))
			}
		})
		return list
	}
	if a, b := sums(ours), sums(raw); fmt.Sprint(a) != fmt.Sprint(b) || a[0] != int64(people) {
		fail("the import has written %d, and raw %d", a, b)
	}
}
