package store

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// contacts goes through the contacts in the order of their ids, some at a time together with their gifts.
func (d *derivation) contacts() (err error) {
	if d.fields, err = db.List(d.conn, number, sqlFieldIDs, d.account); err != nil {
		return err
	}
	var page []*stored
	after := int64(math.MinInt64) // the last contact of the page before
	settle := func(to int64) error {
		given, err := d.given(after, to)
		if err != nil {
			return err
		}
		for _, s := range page {
			if err := d.contact(s, given[s.id]); err != nil {
				return err
			}
			after = s.id
		}
		err = d.read("contacts", int64(len(page)))
		page = page[:0]
		return err
	}
	err = eachStored(d.conn, d.account, func(s *stored) error {
		page = append(page, s)
		return nil
	}, func() error {
		if len(page) == 0 {
			return nil
		}
		return settle(page[len(page)-1].id)
	})
	if err == nil {
		err = settle(math.MaxInt64) // gifts of contacts that are not there
	}
	if err != nil {
		return err
	}
	d.missing(d.contactSeq)
	d.contactSeq = max(d.contactSeq, d.last)
	d.contactActive = d.active
	d.sets.end(d)
	for name, n := range d.tags {
		d.on.derived(tagTable, d.account, crm.FoldTag(name), name, n, int64(len(strconv.FormatInt(n, 10))))
	}
	for name, sums := range d.cells {
		d.on.derived(givingTable, givingValues(d.account, name, &sums)...)
	}
	return nil
}

// missing tells of contacts that are not there, after the last one that is: ids are given out without a gap, and never again.
func (d *derivation) missing(to int64) {
	switch first, last := crm.MakeID(d.account, d.last+1), crm.MakeID(d.account, to); {
	case first == last:
		d.on.lost(Problem{Contact: first, What: "it is missing: " + restoreIt})
	case first < last:
		d.on.lost(Problem{What: fmt.Sprintf("the contacts %d to %d are missing: restore them from a backup", first, last)})
	}
}

// contact works out what follows from the document of a contact, and from what it gave; nil is nothing.
func (d *derivation) contact(s *stored, g *givenSums) error {
	d.missing(crm.IDSeq(s.id) - 1)
	d.last = crm.IDSeq(s.id)
	d.created = max(d.created, s.created())
	if g == nil {
		g = new(givenSums)
	}
	if s.damage != nil { // it keeps the match keys that are noted beside its document: an upgrade is no reason to lose it
		d.damaged[s.id] = true
		d.active += 1 - s.archived
		d.on.lost(Problem{Contact: s.id, What: "its document is damaged: " + restoreIt})
		if s.archived != 0 {
			g.sets = append(g.sets, archiveSet)
		}
		d.keep(s.id, splitKeys(s.matchKeys), nil, g.sets)
		return nil
	}
	should := d.shouldBe(s, g)
	c := &should.contact
	for _, value := range c.Custom {
		if _, found := slices.BinarySearch(d.fields, value.Field); !found {
			d.on.lost(Problem{Contact: s.id, What: fmt.Sprintf("it has a value in the custom field %d, which does not exist: restore a backup", value.Field)})
		}
	}
	tags := c.Tags
	if d.active += 1 - should.archived; c.Archived() {
		tags = nil // they count active contacts
	}
	d.keep(s.id, c.MatchKeys, tags, append(setsOf(c), g.sets...))
	d.on.derived(wordsTable, d.account, s.id, c.SearchDocument(d.account))
	return d.settle(contactTable, s.row(d.account, s.columns), should.values(d.account))
}

// created is when a contact was made. Lists have it from the row, where it is never earlier than that of the contact before.
func (s *stored) created() int64 {
	if s.damage != nil {
		return s.createdAt
	}
	return seconds(s.contact.CreatedAt)
}

// shouldBe is a contact with what its row says of its document, its gifts and its history.
func (d *derivation) shouldBe(s *stored, g *givenSums) stored {
	should := *s
	should.contact = s.contact.WithEmailKeys()
	c := &should.contact
	should.matchKeys, should.custom, should.archived = joinKeys(c.MatchKeys), flag(len(c.Custom) > 0), flag(c.Archived())
	should.revision, should.createdAt = d.head(crm.ContactNoun, s.id, s.revision), d.created
	if !d.giving {
		return should
	}
	sums := g.sums[crm.Cell(0, 0, d.currency, s.id)]
	should.lastGift, c.LastGift, c.Stats = g.last, moment(g.last), statsOf(&sums, d.currency)
	if c.Stats != s.contact.Stats {
		should.body = c.AppendBody(nil)
		should.checksum = checksum(should.body)
	}
	return should
}

// keep notes what contacts are found by together: match keys, tags and sets.
func (d *derivation) keep(id int64, keys, tags, sets []string) {
	for _, key := range keys {
		d.on.derived(indexTable, d.account, key, id)
	}
	for _, name := range tags {
		d.tags[name]++
	}
	if block := blockOf(id); block != d.sets.block {
		d.sets.end(d)
		d.sets.block = block
	}
	d.sets.add(id, sets)
}

// blockSets are the sets of the contacts of one block: nothing more is in memory while all contacts are gone through in the order of
// their ids.
type blockSets struct {
	block   int64
	members map[string]*db.SetBlock
}

func (b *blockSets) add(id int64, names []string) {
	if b.members == nil {
		b.members = make(map[string]*db.SetBlock)
	}
	_, at := db.BlockOf(crm.IDSeq(id))
	for _, name := range names {
		if b.members[name] == nil {
			b.members[name] = new(db.SetBlock)
		}
		b.members[name].Put(at, true)
	}
}

// end hands the sets of the block over, and forgets them.
func (b *blockSets) end(d *derivation) {
	for name, bits := range b.members {
		d.on.derived(setTable, d.account, name, b.block, bits.Count(), bits.Encode())
	}
	clear(b.members)
}
