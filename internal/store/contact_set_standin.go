package store

import (
	"math"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// replaced when merged: this whole file, by contact_set.go.

const (
	activeSet   = "t:"
	archivedSet = "a:"
)

// readSet reads a whole set: the sequence numbers of its contacts.
func readSet(c db.Conn, account int64, name string) (set db.Set, err error) {
	scope := map[string]crm.ContactScope{activeSet: crm.Active, archivedSet: crm.Archived}[name[:2]]
	found, err := c.Search(wordsTable, query(account, scope, crm.TagSearch(name[2:])), db.Place{}, math.MaxInt32, 0)
	for _, id := range found.IDs {
		set.Add(crm.IDSeq(id))
	}
	return set, err
}
