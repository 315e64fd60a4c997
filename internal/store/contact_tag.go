package store

import (
	"slices"
	"sync"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// tagCache holds the sets of tags that lists were filtered by, so that any page of a tag is found in memory. A set counts as long as the
// account's row is as it was: every change that moves a contact into a set or out of one changes that row.
type tagCache struct {
	mu   sync.Mutex
	sets map[tagSetKey]*tagSet
	held int64 // bytes
}

type tagSetKey struct {
	account int64
	name    string
}

type tagSet struct {
	state    db.ListState
	revision int64 // of tags
	db.Set         // which no caller changes
	count    int64
}

// maxTagSets bounds what is held, in bytes: 128 tags of an account of a million contacts. A set counts for leastTagSet at least.
const (
	maxTagSets  = 16 << 20
	leastTagSet = 1 << 10
)

// of is the set of a tag on the snapshot that the account's row was read on.
func (cache *tagCache) of(c db.Conn, row tally, name string) (*tagSet, error) {
	key := tagSetKey{row.account, name}
	cache.mu.Lock()
	found := cache.sets[key]
	cache.mu.Unlock()
	if found != nil && found.state == row.list() && found.revision == row.tagRevision {
		return found, nil
	}
	set, err := readSet(c, row.account, name)
	if err != nil {
		return nil, err
	}
	found = &tagSet{state: row.list(), revision: row.tagRevision, Set: set, count: set.Count()}
	cache.keep(key, found)
	return found, nil
}

// keep notes a set. Where memory would grow past the limit, the others are dropped: they are quickly read.
func (cache *tagCache) keep(key tagSetKey, set *tagSet) {
	size := max(leastTagSet, set.Size())
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if old := cache.sets[key]; old != nil {
		cache.held -= max(leastTagSet, old.Size())
	}
	if cache.sets == nil || cache.held+size > maxTagSets {
		cache.sets, cache.held = make(map[tagSetKey]*tagSet), 0
	}
	cache.sets[key] = set
	cache.held += size
}

// tagged are the contacts of a scope that have a tag.
func (cache *tagCache) tagged(c db.Conn, row tally, scope crm.ContactScope, tag string) (*tagSet, error) {
	switch scope {
	case crm.Active:
		return cache.of(c, row, activeSet+tag)
	case crm.Archived:
		return cache.of(c, row, archivedSet+tag)
	}
	active, err := cache.of(c, row, activeSet+tag)
	if err != nil {
		return nil, err
	}
	archived, err := cache.of(c, row, archivedSet+tag)
	if err != nil || archived.count == 0 {
		return active, err
	}
	var all db.Set
	all.Or(&active.Set)
	all.Or(&archived.Set)
	return &tagSet{Set: all, count: active.count + archived.count}, nil
}

// ofTag finds the page in the set of a tag, and reads its first piece.
func (l *contactList) ofTag(c db.Conn, tag string) error {
	row, err := readTally(c, l.account)
	if err != nil {
		return err
	}
	set, err := l.store.tags.tagged(c, row, l.scope, tag)
	if err != nil {
		return err
	}
	var seqs []int64
	if from, to := pageSpan(l.filter.Sort, l.page)(set.count); from < to {
		seqs = set.Page(from, to)
	}
	if l.filter.Sort.Descending {
		slices.Reverse(seqs)
	}
	return l.readFirst(c, set.count, seqs)
}
