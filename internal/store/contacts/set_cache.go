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

// scopeSets are what the contacts of each scope are called. Only the archive is stored, the others follow from it.
var scopeSets = map[crm.ContactScope]string{crm.Active: "active", crm.Archived: ArchiveSet, crm.All: "all"}

// inScope are the contacts of a scope.
func (cache *SetCache) inScope(c db.Conn, row *store.Tally, scope crm.ContactScope) (*heldSet, error) {
	if held := cache.known(row.Account, scopeSets[scope]); held.standsFor(row) {
		return held, nil
	}
	set := db.Range(1, row.ContactSeq)
	if scope != crm.All {
		archive, err := cache.of(c, row, ArchiveSet)
		if err != nil || scope == crm.Archived {
			return archive, err
		}
		set.AndNot(&archive.Set)
	}
	return cache.keep(row, scopeSets[scope], set), nil
}
