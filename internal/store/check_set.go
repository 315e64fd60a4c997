package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// wrongBlock is where sets are not what the documents say. All sets of a block are repaired together, since that reads its contacts.
type wrongBlock struct{ account, block int64 }

// eachMember are the contacts in sets, from one id to another. A row that cannot be read is noted.
func (k *checker) eachMember(from, to int64, enter func(f fact, n uint64) error) error {
	return k.conn.EachRow(setTable, func(row []any) error {
		account, name, block := row[0].(int64), row[1].(string), row[2].(int64)
		if !k.looksAt(account) {
			return nil
		}
		members, err := db.DecodeBlock(block, row[3].(int64), row[4].([]byte))
		if err != nil {
			k.noteBlock(wrongBlock{account, block}, name)
			return nil
		}
		for at := range members.Places {
			id := crm.MakeID(account, block*db.BlockSize+int64(at)+1)
			if id < from || id > to {
				continue
			}
			if err := enter(fact{table: setTable, owner: id, text: name}, 1); err != nil {
				return err
			}
		}
		return nil
	})
}

// noteSet notes that a contact should be in a set and is not, or is and should not. What is left of a contact that was lost stays.
func (k *checker) noteSet(f fact) error {
	account := crm.IDAccount(f.owner)
	exists, err := k.conn.Exists(sqlContactExists, account, f.owner)
	if err == nil && (exists || !k.accounts[account].gaveOut(f.owner)) {
		k.noteBlock(wrongBlock{account, blockOf(f.owner)}, f.text)
	}
	return err
}

func (k *checker) noteBlock(b wrongBlock, name string) {
	if k.sets[b] == nil {
		k.sets[b] = make(map[string]bool)
	}
	k.sets[b][name] = true
}

// toldTags is how many tags of a block are told.
const toldTags = 10

// tellSets tells which sets are wrong.
func (k *checker) tellSets() error {
	for _, b := range slices.SortedFunc(maps.Keys(k.sets), func(a, b wrongBlock) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.block, b.block))
	}) {
		names := slices.Sorted(maps.Keys(k.sets[b]))
		tags := collect(names, toldSet)
		slices.Sort(tags)
		tags = slices.Compact(tags)
		err := k.mend(k.problem(b.account, 0, "of the contacts %d to %d, those found by %q are not the ones that belong there",
			crm.MakeID(b.account, b.block*db.BlockSize+1), crm.MakeID(b.account, (b.block+1)*db.BlockSize), tags[:min(len(tags), toldTags)]), b.account, renewSets(b, names))
		if err == nil {
			err = k.flush() // one block at a time, since others wait for the account meanwhile
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// toldSet is what a check calls a set: its tag, what its contacts lack, gave for or have in common, or the archive.
func toldSet(name string) string {
	if detail, ok := strings.CutPrefix(name, lackingSet); ok {
		return "no " + detail
	}
	if campaign, ok := strings.CutPrefix(name, donorSet); ok {
		return "gave for campaign " + campaign
	}
	if words := crm.TellCommonWord(name); words != "" {
		return words
	}
	if name == archiveSet {
		return "archived"
	}
	return "tag " + name[min(len(tagSet), len(name)):]
}

// renewSets makes sets of a block anew from the documents and the gifts. A contact that was lost, or cannot be read, stays where it is.
func renewSets(b wrongBlock, names []string) func(*tx) error {
	return func(t *tx) error {
		a, err := t.lock(b.account)
		if err != nil {
			return err
		}
		if err := a.lookUpBlocks(t, map[int64][]string{b.block: slices.Clone(names)}); err != nil {
			return err
		}
		if err := t.Fetch(); err != nil {
			return err
		}
		read, members, err := t.membersOf(a, b.block)
		if err != nil {
			return err
		}
		t.Touch()
		a.setsMoved = true
		for _, name := range names {
			key, renewed := setKey{name, b.block}, &keptBlock{changed: true}
			if kept := a.sets[key]; kept != nil && kept.damage == nil {
				renewed.SetBlock = kept.SetBlock
			}
			for at := range read.Places {
				renewed.Put(at, false)
			}
			for _, at := range members[name] {
				renewed.Put(at, true)
			}
			a.sets[key] = renewed
		}
		return nil
	}
}

// membersOf reads which contacts of a block are in which sets by their documents. read are the places of which that is known: also of
// those that no contact ever had.
func (t *tx) membersOf(a *accountUnit, block int64) (read db.SetBlock, members map[string][]int, err error) {
	start, members := block*db.BlockSize, make(map[string][]int)
	for at := range db.BlockSize {
		read.Put(at, block < 0 || block > db.MaxBlock || start+int64(at) >= a.contactSeq)
	}
	if block < 0 || block > db.MaxBlock {
		return read, nil, nil
	}
	err = eachStoredIn(t.Conn, a.account, start, start+db.BlockSize, func(s *stored) error {
		_, at := db.BlockOf(crm.IDSeq(s.id))
		if read.Put(at, s.damage == nil); s.damage == nil {
			for _, name := range setsOf(&s.contact) {
				members[name] = append(members[name], at)
			}
		}
		return nil
	}, func() error { return nil })
	if err != nil {
		return read, nil, err
	}
	return read, members, eachGiftSet(t.Conn, a.account, crm.MakeID(a.account, start+1), crm.MakeID(a.account, start+db.BlockSize), func(id int64, name string) {
		_, at := db.BlockOf(crm.IDSeq(id))
		members[name] = append(members[name], at)
	})
}
