package contacts

import (
	"slices"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/derived"
)

// contactUnit is what a batch knows of the contacts of an account.
type contactUnit struct {
	Contacts map[int64]*Stored // those that were looked up; nil where there is none
	crowds   map[string]*crowd // of keys that many contacts have
	fields   *custom.Fields    // nil where no change has needed them
	Merges   store.Lookup[int64, *store.Merge]

	Place func(id int64) error // puts a contact there that units before this one would have left, where all are only considered; nil for most

	leaving []int64 // contacts that are no longer active, and so no duplicates
}

const sqlMerges = store.MergeColumns + ` AND id = ANY($2)`

func scanMerge(r db.Row) (int64, *store.Merge) {
	m := store.ScanMerge(r)
	return m.ID, &m
}

const partName = "contacts"

// Part is what a unit of work does with contacts.
func Part() *store.Part {
	return &store.Part{
		Name: partName,
		Begin: func() any {
			return &contactUnit{Contacts: make(map[int64]*Stored), crowds: make(map[string]*crowd), Merges: store.NewLookup(sqlMerges, scanMerge)}
		},
		LookUp: func(t *store.Tx, a *store.Account, all []*store.Needs) error {
			var ids []int64
			for _, n := range all {
				if n.Contact != 0 {
					ids = append(ids, n.Contact)
				}
			}
			return lookUpContacts(a, t, ids)
		},
		LookUpFound: func(t *store.Tx, a *store.Account, all []*store.Needs) error {
			return db.First(func() error { return lookUpContacts(a, t, foundByKeys(a)) }, func() error { return lookUpFoundSets(a, t, all) })
		},
		Write:   forgetPairs,
		Readers: map[string]store.Reader{ContactResource: rereadContact, NoteResource: rereadNote},
	}
}

// forgetPairs forgets with whom contacts may be the same that are no longer active. It is asked for together with what else is written.
func forgetPairs(t *store.Tx, a *store.Account) error {
	leaving := Of(a).leaving
	if Of(a).leaving = nil; len(leaving) == 0 {
		return nil
	}
	none := func(db.Row) error { return nil }
	return db.First(func() error { return t.Tx.Prefetch(none, store.SQLForgetFoundA, a.Account, leaving) }, func() error { return t.Tx.Prefetch(none, store.SQLForgetFoundB, a.Account, leaving) })
}

func Of(a *store.Account) *contactUnit { return a.Known(partName).(*contactUnit) }

// PrefetchLimit is about how many contacts are read before the changes decide: many large ones could fill the memory.
const PrefetchLimit = 200

// ContactColumns are what ScanContact reads.
const ContactColumns = `id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom, given`

const SQLLoadContacts = `SELECT ` + ContactColumns + ` FROM contact WHERE account_id = $1 AND id = ANY($2)`

func lookUpContacts(a *store.Account, t *store.Tx, ids []int64) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if ids = ids[:min(len(ids), max(0, PrefetchLimit-t.Loaded))]; len(ids) == 0 {
		return nil // what is left is looked up when it is needed
	}
	t.Loaded += len(ids)
	for _, id := range ids {
		Of(a).Contacts[id] = nil
	}
	return t.Tx.Prefetch(func(r db.Row) error {
		if t.Full() {
			delete(Of(a).Contacts, r.Int(0)) // the change that needs it looks it up, maybe in the next batch
		} else {
			Of(a).Contacts[r.Int(0)] = ScanContact(r)
		}
		return nil
	}, SQLLoadContacts, a.Account, ids)
}

// foundByKeys are the contacts that were found by keys. Where many have one, the change that needs them looks them up.
func foundByKeys(a *store.Account) (ids []int64) {
	for _, found := range derived.Of(a).Keys {
		if len(found) <= derived.FewCandidates {
			ids = append(ids, found...)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return Of(a).Contacts[id] != nil })
}

// lookUpFoundSets asks for the sets that contacts may leave, now that it is known which they are in.
func lookUpFoundSets(a *store.Account, t *store.Tx, all []*store.Needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		row := Of(a).Contacts[n.Contact]
		if row == nil {
			continue
		}
		if block := derived.BlockOf(row.ID); n.Tags {
			blocks[block] = append(blocks[block], find.SetNames(find.TagSet, row.Contact.Tags)...)
		}
		if block := derived.BlockOf(row.ID); n.Words {
			blocks[block] = append(blocks[block], find.CommonWords(&row.Contact)...)
		}
	}
	return derived.LookUpBlocks(a, t, blocks)
}

// ContactStore has the contacts of a database, with their tags, lists and custom fields.
type ContactStore struct {
	*store.Base
	Fields fieldCache
	Sets   SetCache
	Costs  FilterCosts
}

func New(b *store.Base) *ContactStore { return &ContactStore{Base: b, Costs: UsualCosts} }
