package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
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

// growthName is the variant of a work on an amount of data.
func growthName(work, size string) string { return "growth: " + work + " at " + size }

// measureGrowth does the same works on growing amounts of data, and walks through the largest account.
func (b *bench) measureGrowth() error {
	var variants []variant
	for i, size := range growthSizes(b.contacts) {
		walked := i == 2 // the largest account
		if !b.wants("growth") && !walked {
			continue
		}
		p, err := b.grown(size)
		if err != nil {
			return err
		}
		if walked && b.wants("walk") {
			if err := b.walkRounds(p.address, p.data.Accounts[0]); err != nil {
				return err
			}
		}
		for _, c := range slices.Concat(growthCells, []cell{rawGrowth}) {
			v := c.variant(p)
			v.name = growthName(c.name, size.name)
			variants = append(variants, v)
		}
	}
	if b.wants("growth") {
		b.repeat(variants)
	}
	return nil
}

// grown is a place with that amount of data, where some users have signed in.
func (b *bench) grown(s size) (p *place, err error) {
	d, err := b.library.get(fmt.Sprintf("growth%dx", s.accounts), slices.Repeat([]int{s.contacts}, s.accounts))
	if err != nil {
		return nil, err
	}
	p = &place{people: b.library.generator}
	if p.data, err = b.copy(d, "growth-"+s.name); err != nil {
		return nil, err
	}
	if p.visitors, err = p.data.invite(b.program); err != nil {
		return nil, err
	}
	if p.server, err = b.serve(p.data, nil); err != nil {
		return nil, err
	}
	for i := range p.visitors {
		if err := p.visitors[i].signIn(p.address); err != nil {
			return nil, err
		}
	}
	if err := b.openRaw(p); err != nil {
		return nil, err
	}
	return p, p.data.check(p.address, 20)
}

// walkRounds walks by links.next through all contacts of an account, once for each round.
func (b *bench) walkRounds(address string, a account) error {
	var seconds []float64
	for range b.rounds {
		times, err := walk(address, a)
		if err != nil {
			return fmt.Errorf("the walk: %w", err)
		}
		tenth := max(1, len(times)/10)
		b.add("walk", sum(times[len(times)-tenth:])/sum(times[:tenth]))
		seconds = append(seconds, sum(times))
		progress("  walked %d pages in %.3f s", len(times), sum(times))
	}
	b.note("walk").ours = fmt.Sprintf("%s contacts in %s s", thousands(a.Contacts), number(spreadOf(seconds).median))
	return nil
}

func sum(seconds []float64) (total float64) {
	for _, s := range seconds {
		total += s
	}
	return total
}

// walk follows the links from the first page to the last, and tells how many seconds each page took.
func walk(address string, a account) (seconds []float64, err error) {
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
		seconds = append(seconds, time.Since(start).Seconds())
		if path, err = nextPath(body); err != nil {
			return nil, err
		}
	}
	if want := fmt.Sprintf(`"to":%d,"total":%d}}`, a.Contacts, a.Contacts); !bytes.HasSuffix(body, []byte(want)) {
		return nil, fmt.Errorf("the last page does not end with %s", want)
	}
	return seconds, nil
}

// nextPath finds links.next, "" on the last page. It stands behind the contacts, so the last one counts.
func nextPath(body []byte) (string, error) {
	at := bytes.LastIndex(body, []byte(`"next":`))
	if at < 0 {
		return "", fmt.Errorf("a page without links: %.200s", body)
	}
	var link string // null leaves it empty
	if err := json.NewDecoder(bytes.NewReader(body[at+len(`"next":`):])).Decode(&link); err != nil || link == "" {
		return "", err
	}
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	return u.RequestURI(), nil
}
