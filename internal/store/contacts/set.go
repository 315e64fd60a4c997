package contacts

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// What contacts have in common is kept as sets of their sequence numbers, so that they are counted, and found at any place, without reading
// them. The archive is a set, those in it that were merged into others, and every tag, whatever the state of its contacts. So are those who lack an
// email, or a phone: most contacts have both, and are in neither. The sets of common words are called as these, and those who gave for a campaign are in
// gifts/set.go.
const (
	ArchiveSet = "archived"
	MergedSet  = "merged"
	TagSet     = "t:"
	LackingSet = "l:"
)

const (
	sqlSet      = `SELECT block, size, bits FROM contact_set WHERE account_id = $1 AND name = $2 AND block >= $3 ORDER BY block`
	sqlSetStart = `SELECT block, size, bits FROM contact_set WHERE account_id = $1 AND name = $2 ORDER BY block LIMIT $3`
	SQLBlocks   = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name = ANY($2) AND block = $3`
	// The block that the next contact will be in, and those after it, which are asked for before its sequence number is known.
	sqlNewestBlocks = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name = ANY($2)
		AND block >= (SELECT contact_seq / 4096 FROM account_tally WHERE account_id = $1)`
)

// AddBlocks adds what is stored of a set, from a block on.
func AddBlocks(c db.Conn, account int64, name string, from int64, set *db.Set) error {
	return c.Each(func(r db.Row) error {
		return damagedSet(account, name, r.Int(0), set.AddBlock(r.Int(0), r.Int(1), r.Bytes(2)))
	}, sqlSet, account, name, from)
}

// FirstOfSet are the ids of the first contacts of a set, in ascending order.
func FirstOfSet(c db.Conn, account int64, name string, limit int) (ids []int64, err error) {
	const most = 64 // bytes of a row for each contact in it, of which there is at least one
	err = c.UpTo(most*limit).Each(func(r db.Row) error {
		block, err := db.DecodeBlock(r.Int(0), r.Int(1), r.Bytes(2))
		for at := range block.Places {
			if len(ids) == limit {
				return store.ErrFull
			}
			ids = append(ids, doc.MakeID(account, r.Int(0)*db.BlockSize+int64(at)+1))
		}
		return damagedSet(account, name, r.Int(0), err)
	}, sqlSetStart, account, name, int64(limit))
	if errors.Is(err, store.ErrFull) {
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

// SetNames are the names of the sets of tags, or of details.
func SetNames[T ~string](kind string, of []T) []string {
	return store.Collect(of, func(name T) string { return kind + string(name) })
}

// SetsOf are the sets that a contact is in.
func SetsOf(c *crm.Contact) []string {
	names := SetNames(TagSet, c.Tags)
	if c.Archived() {
		names = append(names, ArchiveSet)
	}
	if c.MergedInto != 0 {
		names = append(names, MergedSet)
	}
	for _, d := range crm.Details {
		if !c.HasDetail(d) {
			names = append(names, LackingSet+string(d))
		}
	}
	return append(names, find.CommonWords(c)...)
}

// sameSets tells whether a change leaves a contact in the sets that it is in.
func sameSets(before, after *crm.Contact) bool {
	gained := func(d crm.Detail) bool { return before.HasDetail(d) != after.HasDetail(d) }
	return before.Archived() == after.Archived() && before.MergedInto == after.MergedInto && slices.Equal(before.Tags, after.Tags) && !slices.ContainsFunc(crm.Details, gained) &&
		slices.Equal(before.Addresses, after.Addresses) && slices.Equal(before.Custom, after.Custom) && slices.Equal(before.Marked(), after.Marked())
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

// lookUpFoundSets asks for the blocks of contacts that were found: those that a create may be merged into, and those that
// may leave the sets that they are in.
func lookUpFoundSets(a *store.Account, t *store.Tx, all []*store.Needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		if n.Contact == 0 {
			Of(a).sets.expect(n.Sets, newestBlock(a))   // as lookUpSets has asked
			Of(a).sets.expect(n.Sets, newestBlock(a)+1) // which is new; a batch is never longer than a block
			for _, id := range Having(a, n.Keys) {
				blocks[BlockOf(id)] = append(blocks[BlockOf(id)], n.Sets...)
			}
		} else if row := Of(a).Contacts[n.Contact]; row != nil {
			if n.Tags {
				blocks[BlockOf(row.ID)] = append(blocks[BlockOf(row.ID)], SetNames(TagSet, row.Contact.Tags)...)
			}
			if n.Words {
				blocks[BlockOf(row.ID)] = append(blocks[BlockOf(row.ID)], find.CommonWords(&row.Contact)...)
			}
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

// MoveSets takes a contact out of the sets that it leaves, and puts it into those that it joins. It fails before it changes anything.
func MoveSets(t *store.Tx, a *store.Account, id int64, before, after []string) error {
	left, joined := without(before, after), without(after, before)
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

const DonorSet = "d:"

// CampaignDonors is the set of those who gave for a campaign.
func CampaignDonors(campaign int64) string { return DonorSet + strconv.FormatInt(campaign, 10) }

// GiftSets are the sets that the giver of a gift is in.
func GiftSets(campaign int64) []string {
	if campaign == 0 {
		return nil
	}
	return []string{CampaignDonors(campaign)}
}
