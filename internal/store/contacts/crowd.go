package contacts

import (
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// crowd is what a unit of work knows of a key that many contacts have: who of them is active, and how they are called. It is read once, so that each row
// of a file in which all people have one phone costs what any other row does.
type crowd struct {
	holders int                // of the key that it knows; those behind them have come since
	ids     []int64            // of active contacts, in ascending order
	named   map[string][]int64 // the same by their sort names
}

const sqlCrowd = `SELECT id, sort_name FROM contact WHERE account_id = $1 AND id = ANY($2) AND archived = 0`

// crowdAbout are the contacts that have a key and may be whom an input is about: the first one, and those with the same name. Without a name, these are
// the first ones.
func crowdAbout(t *store.Tx, a *store.Account, key string, in *crm.ContactInput) ([]int64, error) {
	c, err := crowdOf(t, a, key)
	switch name := in.PersonName(); {
	case err != nil || len(c.ids) <= FewCandidates:
		return c.ids, err
	case !name.IsCompany && (in.FirstName == nil || in.LastName == nil), name.IsCompany && in.Company == nil:
		return c.ids[:FewCandidates], nil
	default:
		return append(c.ids[:1:1], c.named[SortName(name)]...), nil
	}
}

// SortName is what a contact of a name is sorted by.
func SortName(name crm.PersonName) string {
	return find.SortName(&crm.Contact{FirstName: name.First, LastName: name.Last, Company: name.Company, IsCompany: name.IsCompany})
}

// crowdOf is the crowd of a key. Contacts that the unit of work knows are not read again: some of them are not stored yet.
func crowdOf(t *store.Tx, a *store.Account, key string) (c *crowd, err error) {
	holders, err := holders(t, a, key)
	if c = Of(a).crowds[key]; c == nil {
		c = &crowd{named: make(map[string][]int64)}
	}
	var unread []int64
	for _, id := range holders[c.holders:] {
		if known := Of(a).Contacts[id]; known == nil {
			unread = append(unread, id)
		} else if !known.Contact.Archived() {
			c.add(id, find.SortName(&known.Contact))
		}
	}
	if err == nil && len(unread) > 0 {
		err = t.Each(func(r db.Row) error {
			c.add(r.Int(0), r.Text(1))
			return nil
		}, sqlCrowd, a.Account, unread)
	}
	if c.holders = len(holders); err == nil && Of(a).Keys[key] != nil {
		Of(a).crowds[key] = c
	}
	return c, err
}

func (c *crowd) add(id int64, sortName string) {
	at, _ := slices.BinarySearch(c.ids, id)
	c.ids = slices.Insert(c.ids, at, id)
	c.named[sortName] = append(c.named[sortName], id)
}
