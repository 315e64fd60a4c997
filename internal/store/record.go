package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const sqlCreated = `SELECT id, created_at FROM contact WHERE account_id = $1 AND id = ANY($2)`

// Counts is how many contacts an account has.
type Counts struct {
	Active, Archived int64
}

// ContactRecord is one contact of the account, whatever its state.
func (s *ContactStore) ContactRecord(ctx context.Context, account, id int64) (contact crm.Contact, err error) {
	if foreign(account, id) {
		return contact, crm.ErrNotFound
	}
	err = s.read(ctx, func(c db.Conn) error {
		found, err := loadContacts(c, account, []int64{id})
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
func (s *ContactStore) ContactPage(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest) (contacts []crm.Contact, result ListResult, err error) {
	return s.MatchingContacts(ctx, account, scope, crm.ContactFilter{Sort: crm.ContactSort{Descending: true}}, page)
}

// loadContacts reads the contacts with these ids, in ascending order.
func loadContacts(c db.Conn, account int64, ids []int64) (contacts []crm.Contact, err error) {
	err = c.Each(func(r db.Row) error {
		found := scanContact(r)
		contacts = append(contacts, found.contact)
		return found.damage
	}, sqlLoadContacts, account, ids)
	sortRows(contacts, func(a, b *crm.Contact) int { return cmp.Compare(a.ID, b.ID) })
	return contacts, err
}

// Counts is how many contacts the account has.
func (s *ContactStore) Counts(ctx context.Context, account int64) (Counts, error) {
	row, err := find(ctx, s.Base, crm.ErrNotFound, scanTally, sqlTally, account)
	return Counts{Active: row.total(crm.Active), Archived: row.total(crm.Archived)}, err
}

// Growth is how many contacts had been made before each of the moments, which ascend.
func (s *ContactStore) Growth(ctx context.Context, account int64, moments []time.Time) (before []int64, err error) {
	err = s.view(ctx, func(c db.Conn) error {
		row, err := readTally(c, account)
		if err == nil {
			before, err = countBefore(c, &row, collect(moments, time.Time.Unix))
		}
		return err
	})
	return before, err
}

// countBefore is how many contacts were made before each of the moments, in seconds. It finds all of them together: contacts are numbered as they
// are made and never removed, so that each round of looking at the contacts in the middle halves what is left.
func countBefore(c db.Conn, row *tally, moments []int64) (low []int64, err error) {
	low, high := make([]int64, len(moments)), make([]int64, len(moments))
	for i := range high {
		high[i] = row.contactSeq
	}
	for !slices.Equal(low, high) {
		var ids []int64
		for i := range moments {
			if low[i] < high[i] {
				ids = append(ids, middleID(row.account, low[i], high[i]))
			}
		}
		made := make(map[int64]int64, len(ids))
		err := c.Each(func(r db.Row) error {
			made[r.Int(0)] = r.Int(1)
			return nil
		}, sqlCreated, row.account, slices.Compact(ids)) // of moments that ascend, ids do
		if err != nil {
			return nil, err
		}
		for i, moment := range moments {
			switch middle := middleID(row.account, low[i], high[i]); {
			case low[i] == high[i]:
			case made[middle] < moment:
				low[i] = crm.IDSeq(middle)
			default:
				high[i] = crm.IDSeq(middle) - 1
			}
		}
	}
	return low, nil
}

// middleID is the contact in the middle of those numbered from low+1 to high.
func middleID(account, low, high int64) int64 { return crm.MakeID(account, low+(high-low+1)/2) }
