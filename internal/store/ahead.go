package store

import "slices"

// ahead is what the changes of a batch will look up, asked for in one round trip before the first of them runs. Their
// accounts are locked, so that only the batch itself makes it out of date: what a change writes is noted here too.
type ahead struct {
	keys     map[accountKey][]int64 // the contacts that have a key
	contacts map[int64]*contactRow
}

type accountKey struct {
	account int64
	key     string
}

// aheadLimit is about how many contacts are read ahead: many large ones could fill the memory.
const aheadLimit = 2 * batchLimit

// needs is what a change will look up.
type needs struct {
	keys    []string // match keys
	contact int64    // the id of a contact; 0 is none
}

func (n *needs) none() bool { return len(n.keys) == 0 && n.contact == 0 }

// lookAhead locks accounts and looks up what the changes need, and then the contacts that were found by their keys.
func (t *tx) lookAhead(batch []*change) error {
	if asked, err := t.ask(batch); !asked || err != nil {
		return err
	}
	if err := t.conn.flush(); err != nil {
		return err
	}
	for k, ids := range t.ahead.keys {
		if len(ids) > fewCandidates || len(t.ahead.contacts) > aheadLimit {
			continue // whoever needs them looks them up
		}
		for _, id := range ids {
			if err := t.ahead.lookContact(t.conn, k.account, id); err != nil {
				return err
			}
		}
	}
	return t.conn.flush()
}

// ask ends before an account that somebody uses without having said what for, and behind one where somebody may yet lock
// another row: rows are locked in the order of the accounts.
func (t *tx) ask(batch []*change) (asked bool, err error) {
	locked, more := int64(-1), true
	for _, change := range batch {
		if change.ctx.Err() != nil {
			continue
		}
		if change.account != locked {
			if change.needs.none() || !more {
				break
			}
			locked, asked = change.account, true
			if err := t.lockLater(locked); err != nil {
				return asked, err
			}
		}
		more = more && !change.needs.none() && !acting(change.ctx)
		if err := t.look(change.account, &change.needs); err != nil {
			return asked, err
		}
	}
	return asked, nil
}

func (t *tx) lockLater(account int64) error {
	row := &tally{account: account}
	return t.conn.later(func(r rows) error {
		row.read(r)
		t.tallies = append(t.tallies, row)
		return nil
	}, sqlTally+t.forUpdate, account)
}

func (t *tx) look(account int64, n *needs) error {
	for _, key := range n.keys {
		if err := t.ahead.lookKey(t.conn, accountKey{account, key}); err != nil {
			return err
		}
	}
	if n.contact == 0 {
		return nil
	}
	return t.ahead.lookContact(t.conn, account, n.contact)
}

func (a *ahead) lookKey(c conn, k accountKey) error {
	if _, asked := a.keys[k]; asked {
		return nil
	}
	if a.keys == nil {
		a.keys = make(map[accountKey][]int64)
	}
	a.keys[k] = nil
	return c.later(func(r rows) error {
		a.keys[k] = append(a.keys[k], r.int(0))
		return nil
	}, sqlMatch, k.account, k.key)
}

func (a *ahead) lookContact(c conn, account, id int64) error {
	if _, asked := a.contacts[id]; asked {
		return nil
	}
	if a.contacts == nil {
		a.contacts = make(map[int64]*contactRow)
	}
	a.contacts[id] = nil // where there is none, whoever needs it looks again
	return c.later(func(r rows) error {
		a.contacts[id] = new(contactRow)
		a.contacts[id].read(r)
		return nil
	}, sqlLoadContact, account, id)
}

// find tells which contacts have a key, where that was looked up.
func (a *ahead) find(account int64, key string) (ids []int64, ok bool) {
	ids, ok = a.keys[accountKey{account, key}]
	return ids, ok
}

// add notes that a contact has got a key.
func (a *ahead) add(account int64, key string, id int64) {
	if len(a.keys) == 0 {
		return
	}
	if ids, ok := a.find(account, key); ok {
		a.keys[accountKey{account, key}] = append(ids, id)
	}
}

// remove notes that a contact has lost a key.
func (a *ahead) remove(account int64, key string, id int64) {
	if ids, ok := a.find(account, key); ok {
		a.keys[accountKey{account, key}] = slices.DeleteFunc(ids, func(other int64) bool { return other == id })
	}
}

// change notes what a contact has become.
func (a *ahead) change(id int64, row contactRow) {
	if a.contacts[id] != nil {
		a.contacts[id] = &row
	}
}
