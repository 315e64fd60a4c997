package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// contacts goes through the contacts in the order of their ids, some at a time together with their gifts.
func (d *derivation) contacts() (err error) {
	if d.fields, err = db.List(d.conn, store.Number, store.SQLFieldIDs, d.Number); err != nil {
		return err
	}
	if err = d.merges(); err != nil {
		return err
	}
	var page []*store.StoredContact
	after := int64(math.MinInt64) // the last contact of the page before
	settle := func(to int64) error {
		given, err := d.given(after, to)
		if err != nil {
			return err
		}
		for _, s := range page {
			if err := d.contact(s, given[s.ID]); err != nil {
				return err
			}
			after = s.ID
		}
		err = d.read("contacts", int64(len(page)))
		page = page[:0]
		return err
	}
	err = store.EachStored(d.conn, d.Number, func(s *store.StoredContact) error {
		page = append(page, s)
		return nil
	}, func() error {
		if len(page) == 0 {
			return nil
		}
		return settle(page[len(page)-1].ID)
	})
	if err == nil {
		err = settle(math.MaxInt64) // gifts of contacts that are not there
	}
	if err != nil {
		return err
	}
	d.missing(d.ContactSeq)
	d.ContactSeq = max(d.ContactSeq, d.last)
	d.ContactActive = d.active
	d.sets.end(d)
	for name, n := range d.tags {
		d.on.derived(store.TagTable, d.Number, crm.FoldTag(name), name, n, int64(len(strconv.FormatInt(n, 10))))
	}
	for name, sums := range d.cells {
		if d.giving {
			d.on.derived(store.GivingTable, store.GivingValues(d.Number, name, &sums)...)
		}
	}
	return nil
}

const sqlMerged = `SELECT other, survivor FROM contact_merge WHERE account_id = $1 AND other <> 0 AND undone = 0`

// merges reads which contacts were merged into others.
func (d *derivation) merges() error {
	d.merged = make(map[int64]int64)
	return d.conn.Scan(func(r db.Row) { d.merged[r.Int(0)] = r.Int(1) }, sqlMerged, d.Number)
}

// missing tells of contacts that are not there, after the last one that is: ids are given out without a gap, and never
// again.
func (d *derivation) missing(to int64) {
	switch first, last := doc.MakeID(d.Number, d.last+1), doc.MakeID(d.Number, to); {
	case first == last:
		d.on.lost(Problem{Contact: first, What: "it is missing: " + restoreIt})
	case first < last:
		d.on.lost(Problem{What: fmt.Sprintf("the contacts %d to %d are missing: restore them from a backup", first,
			last)})
	}
}

// contact works out what follows from the document of a contact, and from what it gave; nil is nothing.
func (d *derivation) contact(s *store.StoredContact, g *givenSums) error {
	d.missing(doc.IDSeq(s.ID) - 1)
	d.last = doc.IDSeq(s.ID)
	d.created = max(d.created, created(s))
	if g == nil {
		g = new(givenSums)
	}
	// it keeps the match keys that are noted beside its document: an upgrade is no reason to lose it
	if s.Damage != nil {
		d.damaged[s.ID] = true
		d.on.lost(Problem{Contact: s.ID, What: "its document is damaged: " + restoreIt})
		if d.merged[s.ID] != 0 {
			g.sets = append(g.sets, find.MergedSet)
		}
		d.keep(s.ID, find.UnreadableRows(store.SplitKeys(s.MatchKeys), s.Archived != 0), g.sets)
		return nil
	}
	should := d.shouldBe(s, g)
	c := &should.Contact
	for _, value := range c.Custom {
		if _, found := slices.BinarySearch(d.fields, value.Field); !found {
			d.on.lost(Problem{Contact: s.ID,
				What: fmt.Sprintf("it has a value in the custom field %d, which does not exist: restore a backup",
					value.Field)})
		}
	}
	if is := d.merged[s.ID]; is != c.MergedInto {
		d.on.lost(Problem{Contact: s.ID,
			What: fmt.Sprintf("its document says that it was merged into contact %d, and the record of merges says contact %d (0 is none): %s", c.MergedInto, is, restoreIt)})
	}
	rows := should.Rows()
	d.keep(s.ID, rows, g.sets)
	d.on.derived(store.WordsTable, d.Number, s.ID, rows.Words)
	return d.settle(store.ContactTable, s.Row(d.Number, s.Columns), should.Values(d.Number))
}

// created is when a contact was made. Lists have it from the row, where it is never earlier than that of the contact
// before.
func created(s *store.StoredContact) int64 {
	if s.Damage != nil {
		return s.CreatedAt
	}
	return store.Seconds(s.Contact.CreatedAt)
}

// shouldBe is a contact with what its row says of its document, its gifts and its history.
func (d *derivation) shouldBe(s *store.StoredContact, g *givenSums) store.StoredContact {
	should := *s
	should.Contact = s.Contact.WithDerivedKeys()
	c := &should.Contact
	should.MatchKeys, should.Custom, should.Archived = store.JoinKeys(c.MatchKeys), store.Flag(len(c.Custom) > 0),
		store.Flag(c.Archived())
	should.Revision, should.CreatedAt = d.head(history.ContactNoun, s.ID, s.Revision), d.created
	if !d.giving {
		return should
	}
	sums := g.sums[giving.Cell(0, 0, d.Currency, s.ID)]
	should.LastGift, c.LastGift, c.Stats = g.last, store.Moment(g.last), store.StatsOf(&sums, d.Currency)
	should.Given = sums.Amount
	if c.Stats != s.Contact.Stats {
		should.Body = c.AppendBody(nil)
		should.Checksum = store.Checksum(should.Body)
	}
	return should
}

// keep adds what follows from a contact, and the sets of those who gave.
func (d *derivation) keep(id int64, rows *find.Rows, gave []string) {
	for _, key := range rows.Keys {
		d.on.derived(store.IndexTable, d.Number, key, id)
	}
	for _, name := range rows.Tags {
		d.tags[name]++
	}
	d.active += rows.Active
	if block := store.BlockOf(id); block != d.sets.block {
		d.sets.end(d)
		d.sets.block = block
	}
	d.sets.add(id, rows.Sets)
	d.sets.add(id, gave)
}

// blockSets are the sets of the contacts of one block: nothing more is in memory while all contacts are gone through in
// the order of their ids.
type blockSets struct {
	block   int64
	members map[string]*db.SetBlock
}

func (b *blockSets) add(id int64, names []string) {
	if b.members == nil {
		b.members = make(map[string]*db.SetBlock)
	}
	_, at := db.BlockOf(doc.IDSeq(id))
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
		d.on.derived(store.SetTable, d.Number, name, b.block, bits.Count(), bits.Encode())
	}
	clear(b.members)
}
