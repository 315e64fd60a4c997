package store

import (
	"cmp"
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
)

// unit is what a batch knows of the derived rows of an account.
type derivedUnit struct {
	Keys       map[string][]int64 // the contacts that have a key, for keys that were looked up
	References Lookup[string, int64]
	Giving     Lookup[string, *giving.Sums]
	sets       contactSets
	moved      map[string]bool // sums that have changed

	setsMoved bool // a contact that was there before has joined a set, or left one
}

func newDerivedUnit() derivedUnit {
	return derivedUnit{
		Keys:       make(map[string][]int64),
		References: NewLookup(sqlReferences, scanReference),
		Giving:     NewLookup(SQLGiving, ScanGiving),
		sets:       make(contactSets),
		moved:      make(map[string]bool),
	}
}

var noRows = new(find.Rows)

// Put writes the difference of what followed from a record and what follows from it now; nil is nothing, for a record
// that is new. That of a contact fails before it changes anything. A gift is written before: whether its contact still
// gave for a campaign is looked for among the gifts. What Put needs and was not looked up before is looked up at once,
// which writes all that the batch has kept in memory.
func Derive(u Unit, id int64, before, after *find.Rows) error {
	saveWords := u.Save
	if before == nil {
		before, saveWords = noRows, u.Insert
	}
	if !slices.Equal(before.Sets, after.Sets) && !u.Drops() {
		if err := moveSets(u, id, without(before.Sets, after.Sets), without(after.Sets, before.Sets)); err != nil {
			return err
		}
	}
	if !slices.Equal(before.Keys, after.Keys) {
		dropKeys(u, id, without(before.Keys, after.Keys))
		insertKeys(u, id, without(after.Keys, before.Keys))
	}
	if !slices.Equal(before.References, after.References) {
		moveReferences(u, id, before.References, after.References)
	}
	if u.Drops() {
		return nil // nothing is found by the rest
	}
	if before.Active != after.Active {
		u.Touch()
		u.ContactActive += after.Active - before.Active
	}
	if !slices.Equal(before.Tags, after.Tags) {
		countTags(u, without(before.Tags, after.Tags), -1)
		countTags(u, without(after.Tags, before.Tags), 1)
	}
	if before.Words != after.Words {
		saveWords(WordsTable, u.Number, id, after.Words)
	}
	return moveSums(u, before.Sums, after.Sums)
}

// Change is a record that is about to be put.
type Derivation struct {
	ID            int64
	Before, After *find.Rows
}

// LookUp looks up what several changes will write to, together.
func LookUpDerived(u Unit, changes []Derivation) error {
	blocks := make(map[int64][]string)
	var cells []string
	for _, c := range changes {
		before := cmp.Or(c.Before, noRows)
		if block := BlockOf(c.ID); !slices.Equal(before.Sets, c.After.Sets) {
			blocks[block] = append(append(blocks[block], without(before.Sets, c.After.Sets)...),
				without(c.After.Sets, before.Sets)...)
		}
		for _, s := range slices.Concat(before.Sums, c.After.Sums) {
			cells = append(cells, s.Cell)
		}
		for _, s := range find.SumDifferences(before.Sums, c.After.Sums) {
			if s.Gifts == 0 {
				continue
			}
			s.Gifts = 1 // the set that its contact joins, or leaves
			if contact, donor := find.DonorRows(s); contact != 0 {
				block, _ := db.BlockOf(contact)
				blocks[block] = append(blocks[block], donor.Sets...)
			}
		}
	}
	return firstOf(func() error { return LookUpBlocks(u, blocks) },
		func() error { return u.Giving.Prefetch(u.Tx, u.Number, cells) }, u.Fetch)
}

func firstOf(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
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

// countTags notes that an account has more contacts with these tags, or fewer.
func countTags(u Unit, names []string, n int64) {
	for _, name := range names {
		u.Add(TagTable, n, u.Number, crm.FoldTag(name), name)
	}
}

func insertKeys(u Unit, id int64, keys []string) {
	for _, key := range keys {
		if found, known := u.Keys[key]; known {
			u.Keys[key] = append(found, id)
		}
		u.Insert(IndexTable, u.Number, key, id)
	}
}

func dropKeys(u Unit, id int64, keys []string) {
	for _, key := range keys {
		u.Delete(IndexTable, u.Number, key, id)
		if found, known := u.Keys[key]; known {
			u.Keys[key] = slices.DeleteFunc(found, func(other int64) bool { return other == id })
		}
	}
}

const SQLMatch = `SELECT key, id FROM contact_index WHERE account_id = $1 AND key = ANY($2)`

// lookUpKeys asks for the contacts that have a key.
func lookUpKeys(u Unit, all []*Needs) error {
	var keys []string
	for _, n := range all {
		keys = append(keys, n.Keys...)
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		u.Keys[key] = nil
	}
	return u.Prefetch(func(r db.Row) error {
		u.Keys[r.Text(0)] = append(u.Keys[r.Text(0)], r.Int(1))
		return nil
	}, SQLMatch, u.Number, keys)
}

// Holders are the contacts that have a key, in any order.
func Holders(u Unit, key string) ([]int64, error) {
	if found, known := u.Keys[key]; known {
		return found, nil
	}
	return db.List(u.Conn, func(r db.Row) int64 { return r.Int(1) }, SQLMatch, u.Number, []string{key})
}

// FewCandidates are so few that all of them are loaded. More come about where many share a phone, or were forced.
const FewCandidates = 8

// Having are the contacts that have one of the keys, which were looked up. Where many have one, the change that needs
// them looks them up.
func Having(a *Account, keys []string) (ids []int64) {
	for _, key := range keys {
		if found := a.Keys[key]; len(found) <= FewCandidates {
			ids = append(ids, found...)
		}
	}
	return ids
}

const (
	GivingColumns = `SELECT cell, entries, gifts, amount, recurring, donors FROM giving WHERE account_id = $1`
	SQLGiving     = GivingColumns + ` AND cell = ANY($2)`

	sqlReferences     = `SELECT reference, id FROM external_reference WHERE account_id = $1 AND reference = ANY($2)`
	sqlGaveToCampaign = `SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND campaign_id = $3 AND net > 0`
)

func ScanGiving(r db.Row) (string, *giving.Sums) {
	return r.Text(0), &giving.Sums{Entries: r.Int(1), Gifts: r.Int(2), Amount: r.Int(3), Recurring: r.Int(4),
		Donors: r.Int(5)}
}

// GivingValues are the columns of the sums under a name.
func GivingValues(account int64, name string, g *giving.Sums) []any {
	return []any{account, name, g.Entries, g.Gifts, g.Amount, g.Recurring, g.Donors}
}

// sums are those under a name, for a change: they are written when the batch ends.
func sums(u Unit, name string) (*giving.Sums, error) {
	found, err := u.Giving.Get(u.Tx, u.Number, name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = new(giving.Sums)
		u.Giving.Rows[name] = found
	}
	u.moved[name] = true
	return found, nil
}

// moveSums adds to sums what a record adds to them now, less what it added before, and moves what follows from a sum
// that has become something, or nothing.
func moveSums(u Unit, before, after []find.Sum) error {
	for _, d := range find.SumDifferences(before, after) {
		g, err := sums(u, d.Cell)
		if err != nil {
			return err
		}
		was := *g
		g.Add(d.Sums)
		g.Donors += d.Donors
		if (was.Gifts > 0) == (g.Gifts > 0) {
			continue
		}
		if err := moveDonor(u, find.Sum{Cell: d.Cell, Sums: was}, find.Sum{Cell: d.Cell, Sums: *g}); err != nil {
			return err
		}
	}
	return nil
}

// moveDonor makes a contact a donor of a campaign, or no longer. It stays in the set of those who gave for it where it
// did so in another currency, too.
func moveDonor(u Unit, was, is find.Sum) error {
	contact, before := find.DonorRows(was)
	if contact == 0 {
		return nil
	}
	_, after := find.DonorRows(is)
	id := doc.MakeID(u.Number, contact)
	if len(before.Sets) > 0 {
		campaign, _, _, _ := giving.CellParts(was.Cell)
		still, err := u.Tx.Exists(sqlGaveToCampaign, u.Number, id, campaign)
		if err != nil {
			return err
		}
		if still {
			before.Sets = nil
		}
	}
	if err := moveSets(u, id, before.Sets, after.Sets); err != nil {
		return err
	}
	return moveSums(u, before.Sums, after.Sums)
}

// writeSums writes the sums that have changed.
func writeSums(u Unit) {
	for name := range u.moved {
		if g := u.Giving.Rows[name]; *g == (giving.Sums{}) {
			u.Delete(GivingTable, u.Number, name)
			u.Giving.Rows[name] = nil
		} else {
			u.Save(GivingTable, GivingValues(u.Number, name, g)...)
		}
	}
	clear(u.moved)
}

func scanReference(r db.Row) (string, int64) { return r.Text(0), r.Int(1) }

func lookUpReferences(u Unit, all []*Needs) error {
	var references []string
	for _, n := range all {
		references = append(references, n.References...)
	}
	return u.References.Prefetch(u.Tx, u.Number, references)
}

// moveReferences makes other external ids lead to a record.
func moveReferences(u Unit, id int64, before, after []string) {
	for _, reference := range before {
		u.Delete(ReferenceTable, u.Number, reference)
		u.References.Rows[reference] = 0
	}
	for _, reference := range after {
		u.Insert(ReferenceTable, u.Number, reference, id)
		u.References.Rows[reference] = id
	}
}

// What contacts have in common is kept as sets of their sequence numbers, so that they are counted, and found at any
// place, without reading them.

const (
	SQLBlocks = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name = ANY($2)
		AND block = $3`
	// The block that the next contact will be in, and those after it, which are asked for before its sequence number is
	// known.
	sqlNewestBlocks = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name = ANY($2)
		AND block >= (SELECT contact_seq / 4096 FROM account_tally WHERE account_id = $1)`
)

// DamagedSet says which part of a set cannot be read.
func DamagedSet(account int64, name string, block int64, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the set %q of account %d is damaged at block %d: %w: check the database and repair it", name,
		account, block, err)
}

// contactSets is what a batch knows of the sets of an account, by blocks: they are written when it ends. There is nil
// where there is nothing.
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
func lookUpSets(u Unit, all []*Needs) error {
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
	// its row was answered at once, so that the block of the next contact is known
	if newest = slices.Compact(newest); u.found {
		blocks[newestBlock(u.Account)] = append(blocks[newestBlock(u.Account)], newest...)
	} else if len(newest) > 0 {
		if err := u.Prefetch(u.sets.read(u.Number), sqlNewestBlocks, u.Number, newest); err != nil {
			return err
		}
	}
	return LookUpBlocks(u, blocks)
}

// lookUpFoundSets asks for the blocks of contacts that were found by their keys, which a create may be merged into.
func lookUpSetsLeft(u Unit, all []*Needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		if n.Contact != 0 {
			continue
		}
		u.sets.expect(n.Sets, newestBlock(u.Account))   // as lookUpSets has asked
		u.sets.expect(n.Sets, newestBlock(u.Account)+1) // which is new; a batch is never longer than a block
		for _, id := range Having(u.Account, n.Keys) {
			blocks[BlockOf(id)] = append(blocks[BlockOf(id)], n.Sets...)
		}
	}
	return LookUpBlocks(u, blocks)
}

// newestBlock is the block of the next contact.
func newestBlock(a *Account) int64 { return a.ContactSeq / db.BlockSize }

func BlockOf(id int64) int64 {
	block, _ := db.BlockOf(doc.IDSeq(id))
	return block
}

// LookUpBlocks asks for blocks of sets that are not known yet.
func LookUpBlocks(u Unit, blocks map[int64][]string) error {
	for block, names := range blocks {
		names = slices.DeleteFunc(names, func(name string) bool {
			_, known := u.sets[setKey{name, block}]
			return known
		})
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 0 {
			continue
		}
		u.sets.expect(names, block)
		if err := u.Prefetch(u.sets.read(u.Number), SQLBlocks, u.Number, names, block); err != nil {
			return err
		}
	}
	return nil
}

// moveSets takes a contact out of sets and puts it into others. It fails before it changes anything.
func moveSets(u Unit, id int64, left, joined []string) error {
	block, at := db.BlockOf(doc.IDSeq(id))
	moved := slices.Concat(left, joined)
	if err := loadBlocks(u, block, moved); err != nil || len(moved) == 0 {
		return err
	}
	u.Tx.Touch()
	for i, name := range moved {
		key, joins := setKey{name, block}, i >= len(left)
		if u.sets[key] == nil {
			u.sets[key] = new(keptBlock)
		}
		if kept := u.sets[key]; kept.Has(at) != joins {
			kept.Put(at, joins)
			kept.changed = true
			u.setsMoved = u.setsMoved || doc.IDSeq(id) <= u.ContactSeq // a new contact only changes the end of sets
		}
	}
	return nil
}

// loadBlocks reads the blocks of sets that are not known yet.
func loadBlocks(u Unit, block int64, names []string) error {
	unknown := func(name string) bool {
		_, known := u.sets[setKey{name, block}]
		return !known
	}
	if slices.ContainsFunc(names, unknown) {
		if err := LookUpBlocks(u, map[int64][]string{block: slices.Clone(names)}); err != nil {
			return err
		}
		if err := u.Fetch(); err != nil {
			return err
		}
	}
	for _, name := range names {
		if kept := u.sets[setKey{name, block}]; kept != nil && kept.damage != nil {
			return kept.damage
		}
	}
	return nil
}

// WriteSets writes the blocks that have changed.
func WriteSets(u Unit) {
	for key, kept := range u.sets {
		if kept == nil || !kept.changed {
			continue
		}
		if size := kept.Count(); size > 0 {
			u.Save(SetTable, u.Number, key.name, key.block, size, kept.Encode())
		} else {
			u.Delete(SetTable, u.Number, key.name, key.block)
		}
		kept.changed = false
	}
	if u.setsMoved {
		u.setsMoved = false
		u.SetRevision++ // nodes that hold sets read them again
		u.Touch()
	}
}
