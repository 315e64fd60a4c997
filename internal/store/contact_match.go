package store

import (
	"cmp"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
)

// crowd is what a unit of work knows of a key that many contacts have: who of them is active, and how they are called.
// It is read once, so that each row of a file in which all people have one phone costs what any other row does.
type crowd struct {
	holders int                // of the key that it knows; those behind them have come since
	ids     []int64            // of active contacts, in ascending order
	named   map[string][]int64 // the same by their sort names
}

const sqlCrowd = `SELECT id, sort_name FROM contact WHERE account_id = $1 AND id = ANY($2) AND archived = 0`

// crowdAbout are the contacts that have a key and may be whom an input is about: the first one, and those with the same
// name. Without a name, these are the first ones.
func crowdAbout(u Unit, key string, in *crm.ContactInput) ([]int64, error) {
	c, err := crowdOf(u, key)
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
	return find.SortName(&crm.Contact{FirstName: name.First, LastName: name.Last, Company: name.Company,
		IsCompany: name.IsCompany})
}

// crowdOf is the crowd of a key. Contacts that the unit of work knows are not read again: some of them are not stored
// yet.
func crowdOf(u Unit, key string) (c *crowd, err error) {
	holders, err := Holders(u, key)
	if c = u.crowds[key]; c == nil {
		c = &crowd{named: make(map[string][]int64)}
	}
	var unread []int64
	for _, id := range holders[c.holders:] {
		if known := u.Contacts[id]; known == nil {
			unread = append(unread, id)
		} else if !known.Contact.Archived() {
			c.add(id, find.SortName(&known.Contact))
		}
	}
	if err == nil && len(unread) > 0 {
		err = u.Scan(func(r db.Row) { c.add(r.Int(0), r.Text(1)) }, sqlCrowd, u.Number, unread)
	}
	if c.holders = len(holders); err == nil && u.Keys[key] != nil {
		u.crowds[key] = c
	}
	return c, err
}

func (c *crowd) add(id int64, sortName string) {
	at, _ := slices.BinarySearch(c.ids, id)
	c.ids = slices.Insert(c.ids, at, id)
	c.named[sortName] = append(c.named[sortName], id)
}

// Match finds the active contact that the input is about, nil where there is none.
func Match(t *Tx, account int64, in *crm.ContactInput, keys []string) (best *StoredContact, err error) {
	best, _, err = MatchFitting(t, account, in, keys, func(*crm.Contact) bool { return true })
	return best, err
}

// MatchesArchived tells whether an archived contact has the email or the phone of an input, and no active one does.
func MatchesArchived(u Unit, in *crm.ContactInput) (bool, error) {
	keys := in.ReachKeys()
	if active, err := Match(u.Tx, u.Number, in, keys); active != nil || err != nil {
		return false, err
	}
	for _, key := range keys {
		ids, err := Holders(u, key)
		for _, id := range ids[:min(len(ids), FewCandidates)] {
			row, rowErr := Row(u, id)
			if err = cmp.Or(err, rowErr); err == nil && row != nil && row.Contact.Archived() &&
				row.Contact.MergedInto == 0 {
				return true, nil
			}
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// MatchID finds the active contact with an external id that was added, whatever it is called. Where the file does not
// name the system, now or when the contact came, the value alone tells, if one contact has it.
func MatchID(u Unit, in *crm.ContactInput) (*StoredContact, error) {
	for _, id := range in.AddedIDs {
		ids, err := Holders(u, id.Key())
		if err == nil && len(ids) == 0 {
			ids, err = sharing(u, id)
		}
		if err != nil {
			return nil, err
		}
		if ids = slices.Compact(slices.Sorted(slices.Values(ids))); len(ids) != 1 {
			continue
		}
		if found, err := Load(u.Tx, u.Number, ids[0]); err != nil || !found.Contact.Archived() {
			return found, err
		}
	}
	return nil, nil
}

// sharing are the contacts that may have an id by a source that a file did not tell.
func sharing(u Unit, id crm.ExternalID) ([]int64, error) {
	if id.Source != crm.ImportSource {
		id.Source = crm.ImportSource
		return Holders(u, id.Key())
	}
	start := crm.ExternalIDKeys(id.Value)
	return db.List(u.Conn, Number, sqlIDs, u.Number, start, start+"\U0010FFFF")
}

// maxNeighbors bounds how many contacts are looked at by name and address. Where more have the words of a name, no one
// can be told apart.
const (
	maxNeighbors = 50
	maxSame      = 1_000 // where all of the name and the address must agree
)

// MatchName finds the one active contact with the name of the input and its ZIP code or street, among those that were
// made up to a number; nil where there is none, or more than one. A contact that the same system calls by another id is
// another person. One that was merged into another is that one.
func MatchName(u Unit, in *crm.ContactInput, upTo int64) (found *StoredContact, err error) {
	err = eachNeighbor(u, in, upTo, maxNeighbors, func(_, person *StoredContact) (more bool, err error) {
		if found != nil && found.ID != person.ID {
			found = nil
			return false, nil
		}
		found = person
		return true, nil
	}, isNeighbor)
	return found, err
}

// MatchSame finds the first active contact with exactly the name of the input and one of its addresses, among those
// that were made up to a number and are known; nil where there is none.
func MatchSame(u Unit, in *crm.ContactInput, upTo int64,
	isKnown func(id int64) (bool, error),
) (found *StoredContact, err error) {
	err = eachNeighbor(u, in, upTo, maxSame, func(row, person *StoredContact) (more bool, err error) {
		isOne, err := isKnown(row.ID)
		if isOne {
			found = person
		}
		return !isOne, err
	}, (*crm.Contact).SameAt)
	return found, err
}

// eachNeighbor does something with the contacts that fit an input, of those with the words of its name and address;
// each stands for those that were merged into it. Where more than a limit have these words, it does nothing.
func eachNeighbor(u Unit, in *crm.ContactInput, upTo, limit int64,
	do func(row, person *StoredContact) (more bool, err error), fits func(*crm.Contact, *crm.ContactInput) bool,
) error {
	search, ok := find.NeighborSearch(in)
	if !ok || upTo == 0 {
		return nil
	}
	var ids []int64
	err := u.Search(WordsTable, Query(u.Number, search), limit+1, func(id int64) error {
		ids = append(ids, id)
		return nil
	})
	if err != nil || int64(len(ids)) > limit {
		return err
	}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if doc.IDSeq(id) > upTo {
			continue
		}
		row, err := Row(u, id)
		if err != nil {
			return err
		}
		if row == nil || row.Damage != nil || !fits(&row.Contact, in) {
			continue
		}
		person, err := Survivor(u, id)
		if err != nil {
			return err
		}
		if person == nil || person.Damage != nil || person.Contact.Archived() || hasOtherID(&person.Contact, in) {
			continue
		}
		if more, err := do(row, person); err != nil || !more {
			return err
		}
	}
	return nil
}

// isNeighbor tells whether a contact has the name and the address of an input.
func isNeighbor(c *crm.Contact, in *crm.ContactInput) bool {
	name := in.PersonName()
	return c.FirstName != "" && c.LastName != "" && name.First != "" && !c.IsCompany &&
		!name.Contradicts(c.PersonName()) && c.LivesAt(in.Places())
}

// hasOtherID tells whether the system that an input comes from calls a contact by an id.
func hasOtherID(c *crm.Contact, in *crm.ContactInput) bool {
	return slices.ContainsFunc(in.AddedIDs, func(id crm.ExternalID) bool {
		return slices.ContainsFunc(c.ExternalIDs, func(other crm.ExternalID) bool { return other.Source == id.Source })
	})
}

// MatchFitting is Match among those who fit. other is the closest one of those who do not, where no one fits.
func MatchFitting(t *Tx, account int64, in *crm.ContactInput, keys []string,
	fits func(*crm.Contact) bool,
) (best, other *StoredContact, err error) {
	u, err := t.LockAccount(account)
	if err != nil || len(keys) == 0 {
		return nil, nil, err
	}
	for _, kind := range crm.KindsOfKeys(keys) { // an email match beats any phone match
		ids, err := candidates(u, in, kind)
		if err != nil {
			return nil, nil, err
		}
		best, misfit, err := closest(t, account, in, ids, fits)
		if best != nil || err != nil {
			return best, nil, err
		}
		other = cmp.Or(other, misfit)
	}
	return nil, other, nil
}

// candidates are the contacts that have one of the keys, in ascending order; of many, the first active one and those
// with the same name.
func candidates(u Unit, in *crm.ContactInput, keys []string) (ids []int64, err error) {
	for _, key := range keys {
		found, err := Holders(u, key)
		if err == nil && len(found) > FewCandidates {
			found, err = crowdAbout(u, key, in)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

const SQLActive = `SELECT id FROM contact WHERE account_id = $1 AND id = ANY($2) AND archived = 0`

// closest loads candidates until it is known which active one the input is about: none after the first with the same
// name is closer.
func closest(t *Tx, account int64, in *crm.ContactInput, ids []int64,
	fits func(*crm.Contact) bool,
) (best, other *StoredContact, err error) {
	for _, id := range ids {
		s, err := Load(t, account, id)
		if err != nil {
			return nil, nil, err
		}
		if s.Contact.Archived() {
			continue
		}
		to := &best
		if in.OtherKind(&s.Contact) || !fits(&s.Contact) {
			to = &other
		}
		if *to == nil || in.Closer(s.Contact, (*to).Contact) {
			*to = s
		}
		if in.SameName(s.Contact) && to == &best {
			break
		}
	}
	return best, other, nil
}
