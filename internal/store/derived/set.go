package derived

import (
	"fmt"
	"slices"

	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// What contacts have in common is kept as sets of their sequence numbers, so that they are counted, and found at any place, without reading
// them.

const (
	SQLBlocks = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name = ANY($2) AND block = $3`
	// The block that the next contact will be in, and those after it, which are asked for before its sequence number is known.
	sqlNewestBlocks = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name = ANY($2)
		AND block >= (SELECT contact_seq / 4096 FROM account_tally WHERE account_id = $1)`
)

// DamagedSet says which part of a set cannot be read.
func DamagedSet(account int64, name string, block int64, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the set %q of account %d is damaged at block %d: %w: check the database and repair it", name, account, block, err)
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
		kept.damage = DamagedSet(account, key.name, key.block, err)
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
func lookUpSets(a *store.Account, t *store.Tx, all []*store.Needs) error {
	blocks := make(map[int64][]string)
	var newest []string
	for _, n := range all {
		if n.Contact == 0 {
			newest = append(newest, n.Sets...)
		} else {
			blocks[BlockOf(n.Contact)] = append(blocks[BlockOf(n.Contact)], n.Sets...)
		}
	}
	slices.Sort(newest)
	if newest = slices.Compact(newest); a.Exists { // its row was answered at once, so that the block of the next contact is known
		blocks[newestBlock(a)] = append(blocks[newestBlock(a)], newest...)
	} else if len(newest) > 0 {
		if err := t.Tx.Prefetch(Of(a).sets.read(a.Account), sqlNewestBlocks, a.Account, newest); err != nil {
			return err
		}
	}
	return LookUpBlocks(a, t, blocks)
}

// lookUpFoundSets asks for the blocks of contacts that were found by their keys, which a create may be merged into.
func lookUpFoundSets(a *store.Account, t *store.Tx, all []*store.Needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		if n.Contact != 0 {
			continue
		}
		Of(a).sets.expect(n.Sets, newestBlock(a))   // as lookUpSets has asked
		Of(a).sets.expect(n.Sets, newestBlock(a)+1) // which is new; a batch is never longer than a block
		for _, id := range Having(a, n.Keys) {
			blocks[BlockOf(id)] = append(blocks[BlockOf(id)], n.Sets...)
		}
	}
	return LookUpBlocks(a, t, blocks)
}

// newestBlock is the block of the next contact.
func newestBlock(a *store.Account) int64 { return a.ContactSeq / db.BlockSize }

func BlockOf(id int64) int64 {
	block, _ := db.BlockOf(doc.IDSeq(id))
	return block
}

// LookUpBlocks asks for blocks of sets that are not known yet.
func LookUpBlocks(a *store.Account, t *store.Tx, blocks map[int64][]string) error {
	for block, names := range blocks {
		names = slices.DeleteFunc(names, func(name string) bool {
			_, known := Of(a).sets[setKey{name, block}]
			return known
		})
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 0 {
			continue
		}
		Of(a).sets.expect(names, block)
		if err := t.Tx.Prefetch(Of(a).sets.read(a.Account), SQLBlocks, a.Account, names, block); err != nil {
			return err
		}
	}
	return nil
}

// moveSets takes a contact out of sets and puts it into others. It fails before it changes anything.
func moveSets(t *store.Tx, a *store.Account, id int64, left, joined []string) error {
	block, at := db.BlockOf(doc.IDSeq(id))
	moved := slices.Concat(left, joined)
	if err := loadBlocks(t, a, block, moved); err != nil || len(moved) == 0 {
		return err
	}
	t.Touch()
	for i, name := range moved {
		key, joins := setKey{name, block}, i >= len(left)
		if Of(a).sets[key] == nil {
			Of(a).sets[key] = new(keptBlock)
		}
		if kept := Of(a).sets[key]; kept.Has(at) != joins {
			kept.Put(at, joins)
			kept.changed = true
			Of(a).setsMoved = Of(a).setsMoved || doc.IDSeq(id) <= a.ContactSeq // a new contact only changes the end of sets
		}
	}
	return nil
}

// loadBlocks reads the blocks of sets that are not known yet.
func loadBlocks(t *store.Tx, a *store.Account, block int64, names []string) error {
	unknown := func(name string) bool {
		_, known := Of(a).sets[setKey{name, block}]
		return !known
	}
	if slices.ContainsFunc(names, unknown) {
		if err := LookUpBlocks(a, t, map[int64][]string{block: slices.Clone(names)}); err != nil {
			return err
		}
		if err := t.Fetch(); err != nil {
			return err
		}
	}
	for _, name := range names {
		if kept := Of(a).sets[setKey{name, block}]; kept != nil && kept.damage != nil {
			return kept.damage
		}
	}
	return nil
}

// WriteSets writes the blocks that have changed.
func WriteSets(t *store.Tx, a *store.Account) {
	for key, kept := range Of(a).sets {
		if kept == nil || !kept.changed {
			continue
		}
		if size := kept.Count(); size > 0 {
			t.Save(store.SetTable, a.Account, key.name, key.block, size, kept.Encode())
		} else {
			t.Delete(store.SetTable, a.Account, key.name, key.block)
		}
		kept.changed = false
	}
	if Of(a).setsMoved {
		Of(a).setsMoved = false
		a.SetRevision++ // nodes that hold sets read them again
		a.Touch(t)
	}
}
