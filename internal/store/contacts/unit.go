package contacts

import (
	"cmp"
	"slices"

	"donorbook/internal/crm/custom"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// contactUnit is what a batch knows of the contacts of an account.
type contactUnit struct {
	Keys     map[string][]int64 // the contacts that have a key, for keys that were looked up
	Contacts map[int64]*Stored  // those that were looked up; nil where there is none
	crowds   map[string]*crowd  // of keys that many contacts have
	fields   *custom.Fields     // nil where no change has needed them
	sets     contactSets
	Merges   store.Lookup[int64, *store.Merge]

	leaving []int64 // contacts that are no longer active, and so no duplicates

	setsMoved bool // a contact that was there before has joined a set, or left one
}

const sqlMerges = store.MergeColumns + ` AND id = ANY($2)`

func scanMerge(r db.Row) (int64, *store.Merge) {
	m := store.ScanMerge(r)
	return m.ID, &m
}

var contactsPart = &store.Part{}

func init() {
	*contactsPart = store.Part{
		Begin: func() any {
			return &contactUnit{Keys: make(map[string][]int64), Contacts: make(map[int64]*Stored), crowds: make(map[string]*crowd), sets: make(contactSets), Merges: store.NewLookup(sqlMerges, scanMerge)}
		},
		LookUp: func(t *store.Tx, a *store.Account, all []*store.Needs) error {
			var keys []string
			var ids []int64
			for _, n := range all {
				if keys = append(keys, n.Keys...); n.Contact != 0 {
					ids = append(ids, n.Contact)
				}
			}
			return cmp.Or(lookUpKeys(a, t, keys), lookUpContacts(a, t, ids), lookUpSets(a, t, all))
		},
		LookUpFound: func(t *store.Tx, a *store.Account, all []*store.Needs) error {
			return cmp.Or(lookUpContacts(a, t, foundByKeys(a)), lookUpFoundSets(a, t, all))
		},
		Write: func(t *store.Tx, a *store.Account) error {
			WriteSets(t, a)
			return forgetPairs(t, a)
		},
	}
	store.Register(contactsPart)
}

// forgetPairs forgets with whom contacts may be the same that are no longer active. It is asked for together with what else is written.
func forgetPairs(t *store.Tx, a *store.Account) error {
	leaving := Of(a).leaving
	if Of(a).leaving = nil; len(leaving) == 0 {
		return nil
	}
	none := func(db.Row) error { return nil }
	return cmp.Or(t.Tx.Prefetch(none, store.SQLForgetFoundA, a.Account, leaving), t.Tx.Prefetch(none, store.SQLForgetFoundB, a.Account, leaving))
}

func Of(a *store.Account) *contactUnit { return a.Known[contactsPart.Number].(*contactUnit) }

// PrefetchLimit is about how many contacts are read before the changes decide: many large ones could fill the memory.
const PrefetchLimit = 200

const (
	SQLMatch        = `SELECT key, id FROM contact_index WHERE account_id = $1 AND key = ANY($2)`
	SQLLoadContacts = `SELECT id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom, given FROM contact WHERE account_id = $1 AND id = ANY($2)`
)

func lookUpKeys(a *store.Account, t *store.Tx, keys []string) error {
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
	for _, found := range Of(a).Keys {
		if len(found) <= FewCandidates {
			ids = append(ids, found...)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return Of(a).Contacts[id] != nil })
}

// Having are the contacts that have one of the keys, which were looked up. Where many have one, the change that needs them looks them up.
func Having(a *store.Account, keys []string) (ids []int64) {
	for _, key := range keys {
		if found := Of(a).Keys[key]; len(found) <= FewCandidates {
			ids = append(ids, found...)
		}
	}
	return ids
}

// ContactStore has the contacts of a database, with their tags, lists and custom fields.
type ContactStore struct {
	*store.Base
	Fields fieldCache
	Sets   SetCache
	Costs  FilterCosts
}

func New(b *store.Base) *ContactStore { return &ContactStore{Base: b, Costs: UsualCosts} }
