package contacts

import (
	"cmp"
	"context"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const sqlCreated = `SELECT id, created_at FROM contact WHERE account_id = $1 AND id = ANY($2)`

// Counts is how many contacts an account has, as people see it: one that was merged into another is that other one.
type Counts struct {
	Active, Archived int64
}

// ContactRecord is one contact of the account, whatever its state.
func (s *ContactStore) ContactRecord(ctx context.Context, account, id int64) (contact crm.Contact, err error) {
	if store.Foreign(account, id) {
		return contact, crm.ErrNotFound
	}
	err = s.Read(ctx, func(c db.Conn) error {
		found, err := LoadContacts(c, account, []int64{id})
		if err == nil && len(found) == 0 {
			return crm.ErrNotFound
		}
		if err == nil {
			contact = found[0]
		}
		return err
	})
	return contact, err
}

// ContactPage is one page of contacts, newest first.
func (s *ContactStore) ContactPage(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest) (contacts []crm.Contact, result store.ListResult, err error) {
	return s.MatchingContacts(ctx, account, scope, find.Filter{Sort: find.Sort{Descending: true}}, page)
}

// LoadContacts reads the contacts with these ids, in ascending order.
func LoadContacts(c db.Conn, account int64, ids []int64) (contacts []crm.Contact, err error) {
	err = c.Each(func(r db.Row) error {
		found := ScanContact(r)
		contacts = append(contacts, found.Contact)
		return found.Damage
	}, SQLLoadContacts, account, ids)
	store.SortRows(contacts, func(a, b *crm.Contact) int { return cmp.Compare(a.ID, b.ID) })
	return contacts, err
}

// Counts is how many contacts the account has.
func (s *ContactStore) Counts(ctx context.Context, account int64) (Counts, error) {
	return store.Snapshot(ctx, s.Base, func(c db.Conn) (n Counts, err error) {
		row, err := store.FindIn(c, crm.ErrNotFound, store.ScanTally, store.SQLTally, account)
		if n = (Counts{Active: total(&row, crm.Active), Archived: total(&row, crm.Archived)}); err != nil || n.Archived == 0 {
			return n, err
		}
		merged, err := s.Sets.of(c, &row, find.MergedSet)
		if err == nil {
			n.Archived -= merged.count
		}
		return n, err
	})
}

// Growth is how many of the active contacts had been made before each of the moments, which ascend.
func (s *ContactStore) Growth(ctx context.Context, account int64, moments []time.Time) ([]int64, error) {
	return store.Snapshot(ctx, s.Base, func(c db.Conn) (before []int64, err error) {
		row, err := store.ReadTally(c, account)
		if err != nil {
			return nil, err
		}
		made, err := CountBefore(c, &row, store.Collect(moments, time.Time.Unix))
		if err != nil {
			return nil, err
		}
		active, err := s.Sets.inScope(c, &row, crm.Active)
		for _, last := range made {
			if err == nil {
				set := db.Range(1, last)
				set.And(&active.Set)
				before = append(before, set.Count())
			}
		}
		return before, err
	})
}

// CountBefore is how many contacts were made before each of the moments, in seconds. It finds all of them together: contacts are numbered as they
// are made and never removed, so that each round of looking at the contacts in the middle halves what is left.
func CountBefore(c db.Conn, row *store.Tally, moments []int64) (low []int64, err error) {
	low, high := make([]int64, len(moments)), make([]int64, len(moments))
	for i := range high {
		high[i] = row.ContactSeq
	}
	for !slices.Equal(low, high) {
		var ids []int64
		for i := range moments {
			if low[i] < high[i] {
				ids = append(ids, middleID(row.Account, low[i], high[i]))
			}
		}
		made := make(map[int64]int64, len(ids))
		err := c.Scan(func(r db.Row) {
			made[r.Int(0)] = r.Int(1)
		}, sqlCreated, row.Account, slices.Compact(ids)) // of moments that ascend, ids do
		if err != nil {
			return nil, err
		}
		for i, moment := range moments {
			switch middle := middleID(row.Account, low[i], high[i]); {
			case low[i] == high[i]:
			case made[middle] < moment:
				low[i] = doc.IDSeq(middle)
			default:
				high[i] = doc.IDSeq(middle) - 1
			}
		}
	}
	return low, nil
}

// middleID is the contact in the middle of those numbered from low+1 to high.
func middleID(account, low, high int64) int64 { return doc.MakeID(account, low+(high-low+1)/2) }
