package duplicates

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// dismissal is a pair that a person has dismissed, with what was compared then.
type dismissal struct {
	key
	digests [2]int64
}

func scanDismissal(r db.Row) dismissal {
	return dismissal{key{r.Int(0), r.Int(1)}, [2]int64{r.Int(2), r.Int(3)}}
}

func digest(c *crm.Contact) int64 {
	record := duplicate.Of(c)
	return int64(record.Digest())
}

const (
	sqlPair       = pairColumns + ` AND a = $2 AND b = $3`
	sqlForgetPair = `DELETE FROM duplicate WHERE account_id = $1 AND a = $2 AND b = $3 AND state = 1 AND digest_a = $4
		AND digest_b = $5`
)

// Dismiss remembers that two contacts are not the same person, until something changes that is compared. It is
// crm.ErrNotFound where one of them is none of the account, crm.ErrArchived for an archived one.
func (s *DuplicateStore) Dismiss(ctx context.Context, account, a, b int64) error {
	return s.decide(ctx, account, a, b, func(t *store.Tx, p row, rows [2]*store.StoredContact) error {
		t.Save(store.DuplicateTable, p.values(account, 1, digest(&rows[0].Contact), digest(&rows[1].Contact))...)
		mention(t, rows, p.b, p.a)
		return nil
	})
}

// Undismiss takes that back. The pair is shown again at once.
func (s *DuplicateStore) Undismiss(ctx context.Context, account, a, b int64) error {
	return s.decide(ctx, account, a, b, func(t *store.Tx, p row, rows [2]*store.StoredContact) error {
		if known, err := t.Exists(sqlDismissed+` AND a = $2 AND b = $3`, account, p.a, p.b); err != nil || !known {
			return err
		}
		if p.level == 0 {
			t.Delete(store.DuplicateTable, account, p.a, p.b)
		} else {
			t.Save(store.DuplicateTable, p.values(account, 0, 0, 0)...)
		}
		mention(t, rows, 0, 0)
		return nil
	})
}

// mention tells of it in the history of both.
func mention(t *store.Tx, rows [2]*store.StoredContact, others ...int64) {
	for i, row := range rows {
		before, after := rows[1-i].ID, others[i]
		if after != 0 {
			before = 0
		}
		store.Mention(t.Account(doc.IDAccount(row.ID)), row, history.DidDismiss,
			doc.Differences{doc.NumberDifference("contact_id", before, after)}.Text())
	}
}

// decide lets a person decide about two active contacts. A pair that was not found has no level.
func (s *DuplicateStore) decide(ctx context.Context, account, a, b int64,
	fn func(t *store.Tx, p row, rows [2]*store.StoredContact) error,
) error {
	p := row{key: key{min(a, b), max(a, b)}, person: -min(a, b)} // unless it was found
	switch {
	case store.Foreign(account, p.a) || store.Foreign(account, p.b):
		return crm.ErrNotFound
	case a == b:
		return store.Fault("contact_id_b", doc.Unknown, "contacts")
	}
	return s.base.UpdateAccount(ctx, account, func(t *store.Tx) (err error) {
		var rows [2]*store.StoredContact
		for i, id := range [...]int64{p.a, p.b} {
			if rows[i], err = store.Load(t, account, id); err == nil && rows[i].Contact.Archived() {
				err = crm.ErrArchived
			}
			if err != nil {
				return err
			}
		}
		is := p
		if _, err := t.One(func(r db.Row) { is = scanRow(r) }, sqlPair, account, p.a, p.b); err != nil {
			return err
		}
		return fn(t, is, rows)
	})
}

// forgetDismissals forgets that pairs were dismissed of which something has changed that is compared.
func (s *DuplicateStore) forgetDismissals(ctx context.Context, account int64) error {
	return s.checkDismissals(ctx, account, sqlDismissed, account)
}

// checkDismissals does so for the dismissed pairs that a statement finds.
func (s *DuplicateStore) checkDismissals(ctx context.Context, account int64, sql string, args ...any) error {
	all, err := store.List(ctx, s.base, scanDismissal, sql, args...)
	for _, d := range all {
		if err != nil {
			return err
		}
		var found []crm.Contact
		err = s.base.Read(ctx, func(c db.Conn) (err error) {
			found, err = loadActive(c, account, []int64{d.a, d.b})
			return err
		})
		if err == nil && len(found) == 2 && d.digests != [2]int64{digest(&found[0]), digest(&found[1])} {
			err = s.base.UpdateAccount(ctx, account, func(t *store.Tx) error {
				return t.Run(sqlForgetPair, account, d.a, d.b, d.digests[0], d.digests[1])
			})
		}
	}
	return err
}
