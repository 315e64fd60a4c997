package store

import (
	"errors"
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// Which contacts have a tag is kept as sets of their sequence numbers, so that the contacts of a tag are counted, and found at any
// place, without reading them. A tag has a set of its active contacts and one of its archived ones. Those who lack an email, or a phone, are
// sets of all contacts: most contacts have both, and are in neither. So are the bands (contact_band.go), and the sets of common words, which
// are called as these.
const (
	activeSet   = "t:"
	archivedSet = "a:"
	lackingSet  = "l:"
)

const (
	sqlSet      = `SELECT block, size, bits FROM contact_set WHERE account_id = $1 AND name = $2 ORDER BY block`
	sqlSetStart = `SELECT block, size, bits FROM contact_set WHERE account_id = $1 AND name = $2 ORDER BY block LIMIT $3`
	sqlBlocks   = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name = ANY($2) AND block = $3`
	// The block that the next contact will be in, and those after it, which are asked for before its sequence number is known.
	sqlNewestBlocks = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name = ANY($2)
		AND block >= (SELECT contact_seq / 4096 FROM account_tally WHERE account_id = $1)`
)

// readSet reads a whole set: the sequence numbers of its contacts.
func readSet(c db.Conn, account int64, name string) (set db.Set, err error) {
	err = c.Each(func(r db.Row) error {
		return damagedSet(account, name, r.Int(0), set.AddBlock(r.Int(0), r.Int(1), r.Bytes(2)))
	}, sqlSet, account, name)
	return set, err
}

// firstOfSet are the ids of the first contacts of a set, in ascending order.
func firstOfSet(c db.Conn, account int64, name string, limit int) (ids []int64, err error) {
	const most = 64 // bytes of a row for each contact in it, of which there is at least one
	err = c.UpTo(most*limit).Each(func(r db.Row) error {
		block, err := db.DecodeBlock(r.Int(0), r.Int(1), r.Bytes(2))
		for at := range block.Places {
			if len(ids) == limit {
				return errFull
			}
			ids = append(ids, crm.MakeID(account, r.Int(0)*db.BlockSize+int64(at)+1))
		}
		return damagedSet(account, name, r.Int(0), err)
	}, sqlSetStart, account, name, int64(limit))
	if errors.Is(err, errFull) {
		err = nil
	}
	return ids, err
}

// damagedSet says which part of a set cannot be read.
func damagedSet(account int64, name string, block int64, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the set %q of account %d is damaged at block %d: %w: check the database and repair it", name, account, block, err)
}

// setNames are the names of sets of tags.
func setNames(kind string, tags []string) []string {
	return collect(tags, func(tag string) string { return kind + tag })
}

// setsOf are the sets that a contact is in.
func setsOf(c *crm.Contact) []string {
	kind := activeSet
	if c.Archived() {
		kind = archivedSet
	}
	names := setNames(kind, c.Tags)
	for _, d := range crm.Details {
		if !c.HasDetail(d) {
			names = append(names, lackingSet+string(d))
		}
	}
	return append(append(names, bandsOf(c)...), c.CommonWords()...)
}

// sameSets tells whether a change leaves a contact in the sets that it is in.
func sameSets(before, after *crm.Contact) bool {
	gained := func(d crm.Detail) bool { return before.HasDetail(d) != after.HasDetail(d) }
	return before.Archived() == after.Archived() && slices.Equal(before.Tags, after.Tags) && !slices.ContainsFunc(crm.Details, gained) && sameBands(before, after) &&
		slices.Equal(before.Addresses, after.Addresses) && slices.Equal(before.Custom, after.Custom)
}

// contactSets is what a batch knows of the sets of an account, by blocks: they are written when it ends. There is nil where there is
// nothing.
type contactSets map[setKey]*keptBlock

type setKey struct {
	name  string
	block int64
}

type keptBlock struct {
	db.SetBlock
	damage  error // where it cannot be read
	changed bool
}

func (s contactSets) read(account int64) func(r db.Row) error {
	return func(r db.Row) error {
		key, kept := setKey{r.Text(0), r.Int(1)}, new(keptBlock)
		var err error
		kept.SetBlock, err = db.DecodeBlock(key.block, r.Int(2), r.Bytes(3))
		kept.damage = damagedSet(account, key.name, key.block, err)
		s[key] = kept
		return nil
	}
}

// expect notes that a block was looked up, or will be.
func (s contactSets) expect(names []string, block int64) {
	for _, name := range names {
		if key := (setKey{name, block}); s[key] == nil {
			s[key] = nil
		}
	}
}

// lookUpSets asks for the blocks that changes will write to, as far as they are known before any contact is.
func (a *accountUnit) lookUpSets(t *tx, all []*needs) error {
	blocks := make(map[int64][]string)
	var newest []string
	for _, n := range all {
		if n.contact == 0 {
			newest = append(newest, n.sets...)
		} else {
			blocks[blockOf(n.contact)] = append(blocks[blockOf(n.contact)], n.sets...)
		}
	}
	slices.Sort(newest)
	if newest = slices.Compact(newest); a.exists { // its row was answered at once, so that the block of the next contact is known
		blocks[a.newestBlock()] = append(blocks[a.newestBlock()], newest...)
	} else if len(newest) > 0 {
		if err := t.Tx.Prefetch(a.sets.read(a.account), sqlNewestBlocks, a.account, newest); err != nil {
			return err
		}
	}
	return a.lookUpBlocks(t, blocks)
}

// lookUpFoundSets asks for the blocks of contacts that were found: those that a create may be merged into, and those that move
// with the tags that they have.
func (a *accountUnit) lookUpFoundSets(t *tx, all []*needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		for _, id := range a.givers(n) {
			blocks[blockOf(id)] = append(blocks[blockOf(id)], a.joinedSets(n.gift)...)
		}
		if n.contact == 0 {
			a.sets.expect(n.sets, a.newestBlock())   // as lookUpSets has asked
			a.sets.expect(n.sets, a.newestBlock()+1) // which is new; a batch is never longer than a block
			for _, id := range a.having(n.keys) {
				blocks[blockOf(id)] = append(append(blocks[blockOf(id)], n.sets...), a.leavesMonth(id)...)
			}
		} else if row := a.contacts[n.contact]; row != nil {
			blocks[blockOf(row.id)] = append(blocks[blockOf(row.id)], a.leavesMonth(row.id)...)
			for _, kind := range n.own {
				blocks[blockOf(row.id)] = append(blocks[blockOf(row.id)], setNames(kind, row.contact.Tags)...)
			}
			if n.words {
				blocks[blockOf(row.id)] = append(blocks[blockOf(row.id)], row.contact.CommonWords()...)
			}
		}
	}
	return a.lookUpBlocks(t, blocks)
}

// newestBlock is the block of the next contact.
func (a *accountUnit) newestBlock() int64 { return a.contactSeq / db.BlockSize }

func blockOf(id int64) int64 {
	block, _ := db.BlockOf(crm.IDSeq(id))
	return block
}

// lookUpBlocks asks for blocks of sets that are not known yet.
func (a *accountUnit) lookUpBlocks(t *tx, blocks map[int64][]string) error {
	for block, names := range blocks {
		names = slices.DeleteFunc(names, func(name string) bool {
			_, known := a.sets[setKey{name, block}]
			return known
		})
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 0 {
			continue
		}
		a.sets.expect(names, block)
		if err := t.Tx.Prefetch(a.sets.read(a.account), sqlBlocks, a.account, names, block); err != nil {
			return err
		}
	}
	return nil
}

// moveSets takes a contact out of the sets that it leaves, and puts it into those that it joins. It fails before it changes anything.
func (t *tx) moveSets(a *accountUnit, id int64, before, after []string) error {
	left, joined := without(before, after), without(after, before)
	block, at := db.BlockOf(crm.IDSeq(id))
	moved := slices.Concat(left, joined)
	if err := t.loadBlocks(a, block, moved); err != nil || len(moved) == 0 {
		return err
	}
	t.Touch()
	for i, name := range moved {
		key, joins := setKey{name, block}, i >= len(left)
		if a.sets[key] == nil {
			a.sets[key] = new(keptBlock)
		}
		if kept := a.sets[key]; kept.Has(at) != joins {
			kept.Put(at, joins)
			kept.changed = true
		}
	}
	return nil
}

// loadBlocks reads the blocks of sets that are not known yet.
func (t *tx) loadBlocks(a *accountUnit, block int64, names []string) error {
	unknown := func(name string) bool {
		_, known := a.sets[setKey{name, block}]
		return !known
	}
	if slices.ContainsFunc(names, unknown) {
		if err := a.lookUpBlocks(t, map[int64][]string{block: slices.Clone(names)}); err != nil {
			return err
		}
		if err := t.Fetch(); err != nil {
			return err
		}
	}
	for _, name := range names {
		if kept := a.sets[setKey{name, block}]; kept != nil && kept.damage != nil {
			return kept.damage
		}
	}
	return nil
}

// writeSets writes the blocks that have changed.
func (t *tx) writeSets(a *accountUnit) {
	for key, kept := range a.sets {
		if kept == nil || !kept.changed {
			continue
		}
		if size := kept.Count(); size > 0 {
			t.Save(setTable, a.account, key.name, key.block, size, kept.Encode())
		} else {
			t.Delete(setTable, a.account, key.name, key.block)
		}
		kept.changed = false
		a.tagRevision++ // nodes that hold the set read it again
		a.touch(t)
	}
}

// without are the names that are not among others.
func without(names, others []string) []string {
	if len(others) == 0 {
		return names
	}
	other := make(map[string]bool, len(others))
	for _, name := range others {
		other[name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return other[name] })
}
