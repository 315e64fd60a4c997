package derived

import (
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	GivingColumns = `SELECT cell, entries, gifts, amount, recurring, donors FROM giving WHERE account_id = $1`
	SQLGiving     = GivingColumns + ` AND cell = ANY($2)`

	sqlReferences     = `SELECT reference, id FROM external_reference WHERE account_id = $1 AND reference = ANY($2)`
	sqlGaveToCampaign = `SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND campaign_id = $3 AND net > 0`
)

func ScanGiving(r db.Row) (string, *giving.Sums) {
	return r.Text(0), &giving.Sums{Entries: r.Int(1), Gifts: r.Int(2), Amount: r.Int(3), Recurring: r.Int(4), Donors: r.Int(5)}
}

// GivingValues are the columns of the sums under a name.
func GivingValues(account int64, name string, g *giving.Sums) []any {
	return []any{account, name, g.Entries, g.Gifts, g.Amount, g.Recurring, g.Donors}
}

// sums are those under a name, for a change: they are written when the batch ends.
func sums(t *store.Tx, a *store.Account, name string) (*giving.Sums, error) {
	found, err := Of(a).Giving.Get(t, a.Account, name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = new(giving.Sums)
		Of(a).Giving.Rows[name] = found
	}
	Of(a).moved[name] = true
	return found, nil
}

// moveSums adds to sums what a record adds to them now, less what it added before, and moves what follows from a sum that has become something, or nothing.
func moveSums(t *store.Tx, a *store.Account, before, after []find.Sum) error {
	for _, d := range find.SumDifferences(before, after) {
		g, err := sums(t, a, d.Cell)
		if err != nil {
			return err
		}
		was := *g
		g.Add(d.Sums)
		g.Donors += d.Donors
		if (was.Gifts > 0) == (g.Gifts > 0) {
			continue
		}
		if err := moveDonor(t, a, find.Sum{Cell: d.Cell, Sums: was}, find.Sum{Cell: d.Cell, Sums: *g}); err != nil {
			return err
		}
	}
	return nil
}

// moveDonor makes a contact a donor of a campaign, or no longer. It stays in the set of those who gave for it where it did so in another currency, too.
func moveDonor(t *store.Tx, a *store.Account, was, is find.Sum) error {
	contact, before := find.DonorRows(was)
	if contact == 0 {
		return nil
	}
	_, after := find.DonorRows(is)
	id := doc.MakeID(a.Account, contact)
	if len(before.Sets) > 0 {
		campaign, _, _, _ := giving.CellParts(was.Cell)
		still, err := t.Exists(sqlGaveToCampaign, a.Account, id, campaign)
		if err != nil {
			return err
		}
		if still {
			before.Sets = nil
		}
	}
	if err := moveSets(t, a, id, before.Sets, after.Sets); err != nil {
		return err
	}
	return moveSums(t, a, before.Sums, after.Sums)
}

// writeSums writes the sums that have changed.
func writeSums(t *store.Tx, a *store.Account) {
	for name := range Of(a).moved {
		if g := Of(a).Giving.Rows[name]; *g == (giving.Sums{}) {
			t.Delete(store.GivingTable, a.Account, name)
			Of(a).Giving.Rows[name] = nil
		} else {
			t.Save(store.GivingTable, GivingValues(a.Account, name, g)...)
		}
	}
	clear(Of(a).moved)
}

func scanReference(r db.Row) (string, int64) { return r.Text(0), r.Int(1) }

func lookUpReferences(a *store.Account, t *store.Tx, all []*store.Needs) error {
	var references []string
	for _, n := range all {
		references = append(references, n.References...)
	}
	return Of(a).References.Prefetch(t, a.Account, references)
}

// moveReferences makes other external ids lead to a record.
func moveReferences(t *store.Tx, a *store.Account, id int64, before, after []string) {
	for _, reference := range before {
		t.Delete(store.ReferenceTable, a.Account, reference)
		Of(a).References.Rows[reference] = 0
	}
	for _, reference := range after {
		t.Insert(store.ReferenceTable, a.Account, reference, id)
		Of(a).References.Rows[reference] = id
	}
}
