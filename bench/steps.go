package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// measureSizes looks at the program as it is shipped, and compares the size of the database with the documents in it.
func (b *bench) measureSizes() {
	file := must(elf.Open(b.program))
	defer file.Close() //nolint:errcheck // it is only read
	binary := b.note("binary")
	binary.ours, binary.values = "static", []float64{float64(must(os.Stat(b.program)).Size()) / 1e6}
	if file.Section(".interp") != nil || file.Section(".dynamic") != nil || file.Section(".debug_info") != nil {
		binary.reason = "the binary is not static, or not stripped"
	}
	b.main.open(func(db *database) {
		b.add("stored", b.main.size()*1e6/float64(db.number(`SELECT sum(length(body)) FROM contact`)))
	})
}

// measureStarts starts the program on the data as often as there are rounds: how long until it answers, how long the first list takes,
// and what it holds when it has nothing to do.
func (b *bench) measureStarts() {
	a := b.main.Accounts[0]
	last := fmt.Sprintf("/v1/contacts?page=%d", (a.Active+19)/20)
	for range b.rounds {
		s := b.serve(b.main, nil)
		start := time.Now()
		once(s.address, "GET", last, a.Key, nil)
		list := time.Since(start)
		time.Sleep(time.Second)
		b.add("start", milliseconds(s.first))
		b.add("first list", milliseconds(list))
		b.add("idle", s.rss())
		progress("  first answer after %.1f ms, first list %.1f ms, %.1f MB", milliseconds(s.first), milliseconds(list), s.rss())
		b.stopAll()
	}
}

// measureSlowDisk runs the benchmark of the store in which every commit waits 2 ms longer. The flushes of a static program cannot be
// slowed down from outside, so this happens in a test of the store, where a spy stands before the engine.
func (b *bench) measureSlowDisk() {
	out := output("go", "test", "-run", "^$", "-bench", "^BenchmarkCreateOnASlowDisk$",
		"-benchtime", b.timing.measured.String(), "-count", strconv.Itoa(b.rounds), "./internal/db")
	grouped, alone := benchmarked(out, "Grouped"), benchmarked(out, "Alone")
	if len(grouped) != b.rounds || len(alone) != b.rounds {
		fail("the benchmark did not tell what was expected: %s", out)
	}
	f := b.note("slow")
	f.ours, f.other = number(spreadOf(grouped).median)+" us each", number(spreadOf(alone).median)+" us each"
	f.values = combined(alone, grouped, func(a, b float64) float64 { return a / b })
}

// benchmarked are the microseconds per operation in the output of go test.
func benchmarked(out, name string) (list []float64) {
	line := regexp.MustCompile(`(?m)^Benchmark\w+/` + name + `(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)
	for _, found := range line.FindAllStringSubmatch(out, -1) {
		ns, _ := strconv.ParseFloat(found[1], 64)
		list = append(list, ns/1000)
	}
	return list
}

// size is one amount of data that the same work is measured on.
type size struct {
	name     string
	accounts int
	contacts int // of each
}

// growthSizes are one account of a hundredth, a tenth and all of the contacts, and all of them in accounts of 1,000.
func growthSizes(contacts int) []size {
	return []size{
		{thousands(contacts / 100), 1, contacts / 100},
		{thousands(contacts / 10), 1, contacts / 10},
		{thousands(contacts), 1, contacts},
		{thousands(contacts/1000) + " x 1,000", contacts / 1000, 1000},
	}
}

// growthName is the variant of a work on an amount of data.
func growthName(work, size string) string { return "growth: " + work + " at " + size }

// measureGrowth does the same works on growing amounts of data, and walks through the largest account.
func (b *bench) measureGrowth() {
	var variants []variant
	for i, size := range growthSizes(b.contacts) {
		walked := i == 2 // the largest account
		if !b.wants("growth") && !walked {
			continue
		}
		d := b.dataset(fmt.Sprintf("growth%dx", size.accounts), slices.Repeat([]int{size.contacts}, size.accounts))
		p := b.visited(d, "growth-"+size.name, "viewer")
		b.openRaw(p)
		if walked && b.wants("walk") {
			b.walkRounds(p.address, p.data.Accounts[0])
		}
		variants = append(variants, p.variants(append(growthCells, rawGrowth), func(c cell) string { return growthName(c.name, size.name) })...)
	}
	if b.wants("growth") {
		b.repeat(variants)
	}
}

// visited is a place with a copy of a dataset, where some users have signed in.
func (b *bench) visited(d *dataset, name, role string) *place {
	p := &place{data: b.copy(d, name)}
	p.visitors = p.data.invite(b.program, role)
	p.server = b.serve(p.data, nil)
	for i := range p.visitors {
		p.visitors[i].signIn(p.address)
	}
	p.data.check(p.address, 20)
	return p
}

// giftSizes are how few and how many gifts there are.
func giftSizes(gifts int) []int { return []int{max(gifts/100, min(10_000, gifts/10)), gifts} }

// giftName is the variant of a work with so many gifts.
func giftName(c cell, gifts int) string { return c.name + ", " + thousands(gifts) + " gifts" }

// measureGifts reads with few and with many gifts, and then writes: pages have only gifts of the dataset.
func (b *bench) measureGifts() {
	var reads, writes []variant
	for _, gifts := range giftSizes(b.gifts) {
		p := b.visited(b.giftDataset(gifts), fmt.Sprintf("gifts-%d", gifts), "editor")
		name := func(c cell) string { return giftName(c, gifts) }
		reads, writes = append(reads, p.variants(giftReads, name)...), append(writes, p.variants(giftWrites, name)...)
	}
	b.repeat(reads)
	b.repeat(writes)
}

// walkRounds walks by links.next through all contacts of an account, once for each round.
func (b *bench) walkRounds(address string, a account) {
	var seconds []float64
	for range b.rounds {
		times := walk(address, a)
		tenth := max(1, len(times)/10)
		b.add("walk", sum(times[len(times)-tenth:])/sum(times[:tenth]))
		seconds = append(seconds, sum(times))
		progress("  walked %d pages in %.3f s", len(times), sum(times))
	}
	b.note("walk").ours = fmt.Sprintf("%s contacts in %s s", thousands(a.Contacts), number(spreadOf(seconds).median))
}

func sum[T int | float64](list []T) (total T) {
	for _, v := range list {
		total += v
	}
	return total
}

// walk follows the links from the first page to the last, and tells how many seconds each page took.
func walk(address string, a account) (seconds []float64) {
	c := must(dial(address))
	defer c.close()
	body := make([]byte, 0, 1<<18)
	for path := "/v1/contacts?scope=all&per_page=100"; path != ""; path = nextPath(body) {
		start := time.Now()
		body = must(c.ask(request(nil, "GET", path, a.Key, nil), body[:0]))
		seconds = append(seconds, time.Since(start).Seconds())
	}
	if want := fmt.Sprintf(`"to":%d,"total":%d}}`, a.Contacts, a.Contacts); !bytes.HasSuffix(body, []byte(want)) {
		fail("the last page of the walk does not end with %s", want)
	}
	return seconds
}

// nextPath finds links.next, "" on the last page. It stands behind the contacts, so the last one counts.
func nextPath(body []byte) string {
	at := bytes.LastIndex(body, []byte(`"next":`))
	if at < 0 {
		fail("a page without links: %.200s", body)
	}
	var link string // null leaves it empty
	check(json.NewDecoder(bytes.NewReader(body[at+len(`"next":`):])).Decode(&link))
	if link == "" {
		return ""
	}
	return must(url.Parse(link)).RequestURI()
}

// flushing is what was counted while contacts were created.
type flushing struct{ creates, commits, flushes float64 }

func (f flushing) text() string {
	return fmt.Sprintf("%s flushes and %s creates per commit", number(f.flushes/f.commits), number(f.creates/f.commits))
}

// measureFlushes counts how often the disk is flushed while 64 connections create, and while raw does: strace sees the calls, and the
// database itself counts the commits. The times of this step are not reported: strace makes it slower.
func (b *bench) measureFlushes() {
	f := b.note("flushes")
	if _, err := exec.LookPath("strace"); err != nil {
		f.reason = "strace is not installed"
		return
	}
	watch := watch{filepath.Join(b.tmp, "flushes.txt")}
	p := &place{data: b.copy(b.main, "flushes")}
	p.server = b.serve(p.data, watch.command())
	t := create(p)
	t.check()
	l := load{addresses: []string{p.address}, work: t.work, connections: 64}
	var total flushing
	for range b.rounds {
		counted := watch.count(p.data, func() int {
			r := l.run(timing{measured: b.timing.measured}, &server{})
			check(r.err)
			return r.requests
		})
		progress("  ours: %s", counted.text())
		total = flushing{total.creates + counted.creates, total.commits + counted.commits, total.flushes + counted.flushes}
		b.add("flushes", counted.flushes/counted.commits)
	}
	b.stopAll()
	f.ours, f.other = total.text(), b.rawFlushes().text()
}

// rawFlushes lets raw run in a process of its own, which can be watched.
func (b *bench) rawFlushes() flushing {
	d := b.copy(b.main, "flushes")
	watch := watch{filepath.Join(b.tmp, "raw-flushes.txt")}
	args := append(watch.command(), must(os.Executable()), "raw", d.dir, b.timing.measured.String())
	return watch.count(d, func() int { return must(strconv.Atoi(output(args[0], args[1:]...))) })
}

// rawCreates is this program again, called as bench raw DIRECTORY DURATION: it creates in groups of 100 and prints how many.
func rawCreates(args []string) {
	if len(args) != 3 {
		fail("raw takes a directory and a duration, not %q", args[1:])
	}
	d := &dataset{dir: args[1]}
	d.load()
	db := openDatabase(d.file(), durable)
	r := insert(100)(&place{loops: rawLoops(db, d)}).loop(timing{measured: must(time.ParseDuration(args[2]))})
	check(r.err)
	fmt.Println(r.requests) // the connection stays open: to close it would move everything into the database at once
}

// watch is a list of the flushes of a process, which grows as they happen.
type watch struct{ file string }

// command runs what follows it as a child of ours, with strace beside it.
func (w watch) command() []string {
	return []string{"strace", "-D", "-f", "-qq", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-o", w.file}
}

// count counts what happens to a dataset while do creates contacts.
func (w watch) count(d *dataset, do func() int) flushing {
	flushes, commits := w.flushes(), d.commits()
	creates := do()
	time.Sleep(100 * time.Millisecond) // strace is another process
	f := flushing{float64(creates), float64(d.commits() - commits), float64(w.flushes() - flushes)}
	if f.commits == 0 {
		fail("there was no commit in %s", d.dir)
	}
	return f
}

func (w watch) flushes() (n int) {
	text, _ := os.ReadFile(w.file) // before the first flush there is none
	return bytes.Count(text, []byte("fsync(")) + bytes.Count(text, []byte("fdatasync("))
}

// commits is how many transactions were written to the database since it was opened. SQLite counts them in the third word of the
// index of its log, which all processes share.
func (d *dataset) commits() uint32 {
	index, _ := os.ReadFile(d.file() + "-shm")
	if len(index) < 12 {
		return 0
	}
	return binary.NativeEndian.Uint32(index[8:])
}

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
	command := func(name string, args ...string) spent {
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
		b.notes[name] = &finding{ours: used.text(b.contacts), other: writing.text(b.contacts), values: []float64{of(used) / of(writing)}, bare: []float64{(of(writing) + of(making)) / of(writing)}}
	}
	for _, format := range exportFormats {
		out := filepath.Join(b.tmp, "contacts."+format)
		used := command("export", "--format", format, "--output", out)
		b.notes["export "+format] = &finding{ours: used.text(b.contacts), values: []float64{used.peak}}
		check(os.Remove(out))
	}
}

// text is what one row took, and how many rows a second there were.
func (s spent) text(rows int) string {
	return fmt.Sprintf("%s us, %s/s", number(perRequest(s.cpu, rows)), thousands(int(float64(rows)/s.elapsed.Seconds())))
}

// command runs a command of the program to its end.
func (b *bench) command(args ...string) (used spent) {
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
			used.cpu, used.elapsed = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), time.Since(begun)
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
	a := account{Number: d.Accounts[0].Number, Contacts: people}
	next, stop := iter.Pull(groups([]account{a}, importGroup, imported, time.Now()))
	defer stop()
	for more := true; more; {
		var group []joining
		making.add(func() { group, more = next() })
		writing.add(func() { db.write(group, false) })
	}
	writing.add(db.close)
	return writing, making
}

// compareImports fails where the import has not written what raw has.
func compareImports(ours, raw *dataset, people int) {
	sums := func(d *dataset) (text string) {
		d.open(func(db *database) {
			db.each(func(row *sqlite3.Stmt) { text = row.ColumnText(0) }, `SELECT concat_ws(' ', count(*), sum(length(body)), sum(version), (SELECT count(*) FROM contact_index), (SELECT sum(size) FROM contact_set),
				(SELECT sum(length(bits)) FROM contact_set), (SELECT sum(contacts) FROM tag), (SELECT count(*) FROM change WHERE noun = 1)) FROM contact`)
			for _, n := range []int{0, people / 2, people - 1} {
				db.holds(d.Accounts[0], d.Accounts[0].id(n), makePerson(n, imported, time.Now()))
			}
		})
		return text
	}
	if a, b := sums(ours), sums(raw); a != b || !strings.HasPrefix(a, fmt.Sprintf("%d ", people)) {
		fail("the import has written %s, and raw %s", a, b)
	}
}
