package contacts

import (
	"donorbook/internal/crm"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// SetCache holds sets of contacts that lists were made of, so that most pages are found in memory. Each set carries the revision that it was
// read at, and is read again when the account's row shows another one. New contacts leave that revision alone, because all that they can change
// is the end of a set.
type SetCache struct {
	store.Cache[heldKey, *heldSet]
}

type heldKey struct {
	account int64
	name    string
}

// heldSet is a set as it was at a revision, when so many contacts had been made.
type heldSet struct {
	db.Set               // which no caller changes
	count, revision, seq int64
}

// known is a set as it was read last, nil where it was not.
func (cache *SetCache) known(account int64, name string) *heldSet {
	held, _ := cache.Get(heldKey{account, name})
	return held
}

// of is a set on the snapshot that the account's row was read on.
func (cache *SetCache) of(c db.Conn, row *store.Tally, name string) (*heldSet, error) {
	held := cache.known(row.Account, name)
	if held.standsFor(row) {
		return held, nil
	}
	var set db.Set
	from := int64(0)
	if held != nil && held.revision == row.SetRevision && held.seq < row.ContactSeq {
		set = held.Clone()
		from, _ = db.BlockOf(held.seq + 1) // the blocks before have no new contacts
	}
	if err := AddBlocks(c, row.Account, name, from, &set); err != nil {
		return nil, err
	}
	return cache.keep(row, name, set), nil
}

// standsFor tells whether the set is what it was when the account's row was read.
func (held *heldSet) standsFor(row *store.Tally) bool {
	return held != nil && held.revision == row.SetRevision && held.seq == row.ContactSeq
}

func (cache *SetCache) keep(row *store.Tally, name string, set db.Set) *heldSet {
	held := &heldSet{set, set.Count(), row.SetRevision, row.ContactSeq}
	cache.Keep(heldKey{row.Account, name}, held, set.Size())
	return held
}

// scopeSets are what the contacts of each scope are called. They follow from the archive, and from those that were merged into others.
var scopeSets = map[crm.ContactScope]string{crm.Active: "in active", crm.Archived: "in archived", crm.All: "in all"}

// inScope are the contacts of a scope. One that was merged into another is in none: it is that other contact now.
func (cache *SetCache) inScope(c db.Conn, row *store.Tally, scope crm.ContactScope) (*heldSet, error) {
	if held := cache.known(row.Account, scopeSets[scope]); held.standsFor(row) {
		return held, nil
	}
	gone := MergedSet // what the scope leaves out
	if scope == crm.Active {
		gone = ArchiveSet // where they are as well
	}
	set := db.Range(1, row.ContactSeq)
	if scope == crm.Archived {
		archive, err := cache.of(c, row, ArchiveSet)
		if err != nil {
			return nil, err
		}
		set = archive.Clone()
	}
	left, err := cache.of(c, row, gone)
	if err != nil {
		return nil, err
	}
	set.AndNot(&left.Set)
	return cache.keep(row, scopeSets[scope], set), nil
}
