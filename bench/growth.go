package main

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

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

// growthWorks are the works whose price must not grow with the data, a line for each in the goals, the tables and the picture.
func growthWorks(d *dataset, g generator, visitors []visitor) []growing {
	works := []growing{
		{"get", getAnyone(d)},
		{"list, any page", listAnyPage(d)},
		{"create", create(d, g)},
		{"change", patch(d)},
		{"change of tags", retag(d)},
	}
	for _, kind := range kinds {
		works = append(works, growing{"search: " + kind.name, search(d, g, visitors, kind)})
	}
	return works
}

// growing is something that is done on growing amounts of data.
type growing struct {
	name string
	task task
}

// growthLimit is what a create costs the database by itself, in transactions about as large as those of 64 clients: a row of the
// table, not a goal.
const growthLimit = rawIn32

// growthName is the variant of a work on an amount of data.
func growthName(work, size string) string { return "growth: " + work + " at " + size }

// measureGrowth runs the same works on growing amounts of data, and walks through the largest account.
func (b *bench) measureGrowth() error {
	var variants []variant
	for i, size := range growthSizes(b.contacts) {
		walked := i == 2 // the largest account
		if !b.wants("growth") && !walked {
			continue
		}
		d, err := b.grown(size)
		if err != nil {
			return err
		}
		if d, err = b.copy(d, "growth-"+size.name); err != nil {
			return err
		}
		s, visitors, err := b.receive(d)
		if err != nil {
			return err
		}
		if err := d.check(s.address, 20); err != nil {
			return err
		}
		if walked && b.wants("walk") {
			if err := b.walkRounds(s.address, d.Accounts[0]); err != nil {
				return err
			}
		}
		for _, w := range growthWorks(d, b.library.generator, visitors) {
			v := over("", s, 64, w.task)
			v.name = growthName(w.name, size.name)
			variants = append(variants, v)
		}
		writer, err := openRaw(d, b.library.generator)
		if err != nil {
			return err
		}
		b.closing = append(b.closing, func() { _ = writer.db.close() })
		variants = append(variants, variant{growthName(growthLimit, size.name), writer.checkCreate, writer.create(32)})
	}
	if b.wants("growth") {
		b.repeat(variants)
	}
	return nil
}

func (b *bench) grown(s size) (*dataset, error) {
	sizes := make([]int, s.accounts)
	for i := range sizes {
		sizes[i] = s.contacts
	}
	return b.library.get(fmt.Sprintf("growth%dx", s.accounts), sizes)
}

// walkRounds walks by links.next through all contacts of an account, some times.
func (b *bench) walkRounds(address string, a account) error {
	for range b.rounds {
		times, err := walk(address, a)
		if err != nil {
			return fmt.Errorf("the walk: %w", err)
		}
		tenth := max(1, len(times)/10)
		first, last := sum(times[:tenth]), sum(times[len(times)-tenth:])
		b.facts.walk = append(b.facts.walk, last.Seconds()/first.Seconds())
		b.facts.walkSeconds = append(b.facts.walkSeconds, sum(times).Seconds())
		progress("  walked %d pages in %s", len(times), sum(times).Round(time.Millisecond))
	}
	b.facts.walked = a.Contacts
	return nil
}

func sum(times []time.Duration) (total time.Duration) {
	for _, t := range times {
		total += t
	}
	return total
}

// walk follows the links from the first page to the last, and tells how long each page took.
func walk(address string, a account) (times []time.Duration, err error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.close()
	body := make([]byte, 0, 1<<18)
	for path := "/v1/contacts?scope=all&per_page=100"; path != ""; {
		start := time.Now()
		if body, err = c.ask(request(nil, "GET", path, a.Key, nil), body[:0]); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
		if path, err = nextPath(body); err != nil {
			return nil, err
		}
	}
	if want := fmt.Sprintf(`"to":%d,"total":%d}}`, a.Contacts, a.Contacts); !bytes.HasSuffix(body, []byte(want)) {
		return nil, fmt.Errorf("the last page does not end with %s", want)
	}
	return times, nil
}

// nextPath finds links.next, "" on the last page. It stands behind the contacts, so the last one counts.
func nextPath(body []byte) (string, error) {
	_, rest, found := cutLast(body, []byte(`"next":`))
	if !found {
		return "", fmt.Errorf("a page without links: %.200s", body)
	}
	if bytes.HasPrefix(rest, []byte("null")) {
		return "", nil
	}
	link, err := strconv.QuotedPrefix(string(rest[:min(len(rest), 500)]))
	if err != nil {
		return "", err
	}
	if link, err = strconv.Unquote(link); err != nil {
		return "", err
	}
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	return u.RequestURI(), nil
}

func cutLast(text, separator []byte) (before, after []byte, found bool) {
	at := bytes.LastIndex(text, separator)
	if at < 0 {
		return text, nil, false
	}
	return text[:at], text[at+len(separator):], true
}

// thousands writes 1000000 as 1,000,000.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
