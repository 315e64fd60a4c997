// Package derived writes what follows from records beside their own rows: the sets that contacts are in, match keys, words, counts of tags, external ids and
// sums of gifts. find.Rows says what that is, and Put is the one way in which it changes. Nothing else writes these tables, but a repair, which derives all of them anew.
package derived

import (
	"cmp"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// unit is what a batch knows of the derived rows of an account.
type unit struct {
	Keys       map[string][]int64 // the contacts that have a key, for keys that were looked up
	References store.Lookup[string, int64]
	Giving     store.Lookup[string, *giving.Sums]
	sets       contactSets
	moved      map[string]bool // sums that have changed

	setsMoved bool // a contact that was there before has joined a set, or left one
}

const partName = "derived"

// Part is what a unit of work does with what is derived.
func Part() *store.Part {
	return &store.Part{
		Name: partName,
		Begin: func() any {
			return &unit{Keys: make(map[string][]int64), References: store.NewLookup(sqlReferences, scanReference), Giving: store.NewLookup(SQLGiving, ScanGiving), sets: make(contactSets), moved: make(map[string]bool)}
		},
		LookUp: func(t *store.Tx, a *store.Account, all []*store.Needs) error {
			return db.First(func() error { return lookUpKeys(a, t, all) }, func() error { return lookUpSets(a, t, all) }, func() error { return lookUpReferences(a, t, all) })
		},
		LookUpFound: func(t *store.Tx, a *store.Account, all []*store.Needs) error { return lookUpFoundSets(a, t, all) },
		Write: func(t *store.Tx, a *store.Account) error {
			WriteSets(t, a)
			writeSums(t, a)
			return nil
		},
	}
}

func Of(a *store.Account) *unit { return a.Known(partName).(*unit) }

var none = new(find.Rows)

// Put writes the difference of what followed from a record and what follows from it now; nil is nothing, for a record that is new. That of a contact fails before it changes
// anything. A gift is written before: whether its contact still gave for a campaign is looked for among the gifts. What Put needs and was not looked up before is looked up
// at once, which writes all that the batch has kept in memory.
func Put(t *store.Tx, a *store.Account, id int64, before, after *find.Rows) error {
	saveWords := t.Save
	if before == nil {
		before, saveWords = none, t.Insert
	}
	if !slices.Equal(before.Sets, after.Sets) && !t.Drops() {
		if err := moveSets(t, a, id, without(before.Sets, after.Sets), without(after.Sets, before.Sets)); err != nil {
			return err
		}
	}
	if !slices.Equal(before.Keys, after.Keys) {
		dropKeys(t, a, id, without(before.Keys, after.Keys))
		insertKeys(t, a, id, without(after.Keys, before.Keys))
	}
	if !slices.Equal(before.References, after.References) {
		moveReferences(t, a, id, before.References, after.References)
	}
	if t.Drops() {
		return nil // nothing is found by the rest
	}
	if before.Active != after.Active {
		a.Touch(t)
		a.ContactActive += after.Active - before.Active
	}
	if !slices.Equal(before.Tags, after.Tags) {
		countTags(t, a, without(before.Tags, after.Tags), -1)
		countTags(t, a, without(after.Tags, before.Tags), 1)
	}
	if before.Words != after.Words {
		saveWords(store.WordsTable, a.Account, id, after.Words)
	}
	return moveSums(t, a, before.Sums, after.Sums)
}

// Change is a record that is about to be put.
type Change struct {
	ID            int64
	Before, After *find.Rows
}

// LookUp looks up what several changes will write to, together.
func LookUp(t *store.Tx, a *store.Account, changes []Change) error {
	blocks := make(map[int64][]string)
	var cells []string
	for _, c := range changes {
		before := cmp.Or(c.Before, none)
		if block := BlockOf(c.ID); !slices.Equal(before.Sets, c.After.Sets) {
			blocks[block] = append(append(blocks[block], without(before.Sets, c.After.Sets)...), without(c.After.Sets, before.Sets)...)
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
	return first(func() error { return LookUpBlocks(a, t, blocks) }, func() error { return Of(a).Giving.Prefetch(t, a.Account, cells) }, t.Fetch)
}

func first(steps ...func() error) error {
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
func countTags(t *store.Tx, a *store.Account, names []string, n int64) {
	for _, name := range names {
		t.Add(store.TagTable, n, a.Account, crm.FoldTag(name), name)
	}
}

func insertKeys(t *store.Tx, a *store.Account, id int64, keys []string) {
	for _, key := range keys {
		if found, known := Of(a).Keys[key]; known {
			Of(a).Keys[key] = append(found, id)
		}
		t.Insert(store.IndexTable, a.Account, key, id)
	}
}

func dropKeys(t *store.Tx, a *store.Account, id int64, keys []string) {
	for _, key := range keys {
		t.Delete(store.IndexTable, a.Account, key, id)
		if found, known := Of(a).Keys[key]; known {
			Of(a).Keys[key] = slices.DeleteFunc(found, func(other int64) bool { return other == id })
		}
	}
}

const SQLMatch = `SELECT key, id FROM contact_index WHERE account_id = $1 AND key = ANY($2)`

// lookUpKeys asks for the contacts that have a key.
func lookUpKeys(a *store.Account, t *store.Tx, all []*store.Needs) error {
	var keys []string
	for _, n := range all {
		keys = append(keys, n.Keys...)
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		Of(a).Keys[key] = nil
	}
	return t.Tx.Prefetch(func(r db.Row) error {
		Of(a).Keys[r.Text(0)] = append(Of(a).Keys[r.Text(0)], r.Int(1))
		return nil
	}, SQLMatch, a.Account, keys)
}

// Holders are the contacts that have a key, in any order.
func Holders(t *store.Tx, a *store.Account, key string) ([]int64, error) {
	if found, known := Of(a).Keys[key]; known {
		return found, nil
	}
	return db.List(t.Conn, func(r db.Row) int64 { return r.Int(1) }, SQLMatch, a.Account, []string{key})
}

// FewCandidates are so few that all of them are loaded. More come about where many share a phone, or were forced.
const FewCandidates = 8

// Having are the contacts that have one of the keys, which were looked up. Where many have one, the change that needs them looks them up.
func Having(a *store.Account, keys []string) (ids []int64) {
	for _, key := range keys {
		if found := Of(a).Keys[key]; len(found) <= FewCandidates {
			ids = append(ids, found...)
		}
	}
	return ids
}
