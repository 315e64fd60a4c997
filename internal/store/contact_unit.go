package store

import (
	"cmp"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// contactUnit is what a batch knows of the contacts of an account.
type contactUnit struct {
	keys     map[string][]int64 // the contacts that have a key, for keys that were looked up
	contacts map[int64]*stored  // those that were looked up; nil where there is none
	fields   *crm.CustomFields  // nil where no change has needed them
	sets     contactSets

	setsMoved bool // a contact that was there before has joined a set, or left one
}

var contactsPart = &part{}

func init() {
	*contactsPart = part{
		begin: func() any {
			return &contactUnit{keys: make(map[string][]int64), contacts: make(map[int64]*stored), sets: make(contactSets)}
		},
		lookUp: func(t *tx, a *accountUnit, all []*needs) error {
			var keys []string
			var ids []int64
			for _, n := range all {
				if keys = append(keys, n.keys...); n.contact != 0 {
					ids = append(ids, n.contact)
				}
			}
			return cmp.Or(a.lookUpKeys(t, keys), a.lookUpContacts(t, ids), a.lookUpSets(t, all))
		},
		lookUpFound: func(t *tx, a *accountUnit, all []*needs) error {
			return cmp.Or(a.lookUpContacts(t, a.candidates()), a.lookUpFoundSets(t, all))
		},
		write: (*tx).writeSets,
	}
	register(contactsPart)
}

func contactsOf(a *accountUnit) *contactUnit { return a.known[contactsPart.number].(*contactUnit) }

// prefetchLimit is about how many contacts are read before the changes decide: many large ones could fill the memory.
const prefetchLimit = 200

const (
	sqlMatch        = `SELECT key, id FROM contact_index WHERE account_id = $1 AND key = ANY($2)`
	sqlLoadContacts = `SELECT id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom FROM contact WHERE account_id = $1 AND id = ANY($2)`
)

func (a *accountUnit) lookUpKeys(t *tx, keys []string) error {
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		contactsOf(a).keys[key] = nil
	}
	return t.Tx.Prefetch(func(r db.Row) error {
		contactsOf(a).keys[r.Text(0)] = append(contactsOf(a).keys[r.Text(0)], r.Int(1))
		return nil
	}, sqlMatch, a.account, keys)
}

func (a *accountUnit) lookUpContacts(t *tx, ids []int64) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if ids = ids[:min(len(ids), max(0, prefetchLimit-t.loaded))]; len(ids) == 0 {
		return nil // what is left is looked up when it is needed
	}
	t.loaded += len(ids)
	for _, id := range ids {
		contactsOf(a).contacts[id] = nil
	}
	return t.Tx.Prefetch(func(r db.Row) error {
		contactsOf(a).contacts[r.Int(0)] = scanContact(r)
		return nil
	}, sqlLoadContacts, a.account, ids)
}

// candidates are the contacts that were found by keys. Where many have one, the change that needs them looks them up.
func (a *accountUnit) candidates() (ids []int64) {
	for _, found := range contactsOf(a).keys {
		if len(found) <= fewCandidates {
			ids = append(ids, found...)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return contactsOf(a).contacts[id] != nil })
}

// having are the contacts that have one of the keys, which were looked up. Where many have one, the change that needs them looks them up.
func (a *accountUnit) having(keys []string) (ids []int64) {
	for _, key := range keys {
		if found := contactsOf(a).keys[key]; len(found) <= fewCandidates {
			ids = append(ids, found...)
		}
	}
	return ids
}

// ContactStore has the contacts of a database, with their tags, lists and custom fields.
type ContactStore struct {
	*Base
	fields fieldCache
	sets   setCache
	costs  filterCosts
}

func newContactStore(b *Base) *ContactStore { return &ContactStore{Base: b, costs: usualCosts} }
