package contacts

import (
	"errors"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/derived"
)

const (
	sqlSet      = `SELECT block, size, bits FROM contact_set WHERE account_id = $1 AND name = $2 AND block >= $3 ORDER BY block`
	sqlSetStart = `SELECT block, size, bits FROM contact_set WHERE account_id = $1 AND name = $2 ORDER BY block LIMIT $3`
)

// AddBlocks adds what is stored of a set, from a block on.
func AddBlocks(c db.Conn, account int64, name string, from int64, set *db.Set) error {
	return c.Each(func(r db.Row) error {
		return derived.DamagedSet(account, name, r.Int(0), set.AddBlock(r.Int(0), r.Int(1), r.Bytes(2)))
	}, sqlSet, account, name, from)
}

// addNamedBlock adds a block of any set, which its row names.
func addNamedBlock(account int64, set *db.Set) func(db.Row) error {
	return func(r db.Row) error {
		return derived.DamagedSet(account, r.Text(0), r.Int(1), set.AddBlock(r.Int(1), r.Int(2), r.Bytes(3)))
	}
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
		return derived.DamagedSet(account, name, r.Int(0), err)
	}, sqlSetStart, account, name, int64(limit))
	if errors.Is(err, store.ErrFull) {
		err = nil
	}
	return ids, err
}

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
var scopeSets = map[crm.ContactScope]string{crm.Active: "active", crm.Archived: find.ArchiveSet, crm.All: "all"}

// inScope are the contacts of a scope.
func (cache *SetCache) inScope(c db.Conn, row *store.Tally, scope crm.ContactScope) (*heldSet, error) {
	if held := cache.known(row.Account, scopeSets[scope]); held.standsFor(row) {
		return held, nil
	}
	set := db.Range(1, row.ContactSeq)
	if scope != crm.All {
		archive, err := cache.of(c, row, find.ArchiveSet)
		if err != nil || scope == crm.Archived {
			return archive, err
		}
		set.AndNot(&archive.Set)
	}
	return cache.keep(row, scopeSets[scope], set), nil
}
