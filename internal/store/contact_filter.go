package store

import (
	"context"
	"errors"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// A filtered list is found in one of three ways. An email or a phone leads to its few contacts with one statement. One tag is a set
// that is held in memory (contact_tag.go). Everything else is sifted: each condition is a set of sequence numbers, and what is in all of them is
// counted, sorted and cut into pages (contact_sieve.go).

// sqlKeyed reads the first contact that has a match key, and finds the last one, which is mostly the same.
const sqlKeyed = `SELECT id, list_revision, archived, match_keys, body, checksum, revision, last_gift, custom, (SELECT MAX(id) FROM contact_index WHERE account_id = $1 AND key = $2)
	FROM contact WHERE account_id = $1 AND id = (SELECT MIN(id) FROM contact_index WHERE account_id = $1 AND key = $2)`

// FilteredContacts is Contacts for those that pass a filter, in the order that it asks for.
func (s *Store) FilteredContacts(ctx context.Context, account int64, scope crm.ContactScope, f crm.ContactFilter, page crm.PageRequest, dst []byte, flush Flush) ([]byte, ListResult, error) {
	if f.None {
		return dst, ListResult{}, nil
	}
	if f.IsEmpty() {
		return s.Contacts(ctx, account, scope, page, dst, flush)
	}
	if keys := f.Keys(); len(keys) > 0 && f.Gave.IsEmpty() && f.Import == 0 {
		dst, result, all, err := s.keyedContacts(ctx, account, keys[0], scope, f, page, dst)
		if all || err != nil {
			return dst, result, err
		}
	}
	l := contactList{store: s, account: account, scope: scope, filter: f, page: page, pieces: s.contactPieces(account, dst, flush)}
	var err error
	if tag, ok := f.ByTagAlone(); ok {
		err = s.view(ctx, func(c db.Conn) error { return l.ofTag(c, tag) })
	} else {
		err = s.inTurn(ctx, account, func(w weigh) error { // what is sent later waits for the client, and keeps no other from its turn
			return s.scoped(ctx, account, scope, w, func(c db.Conn, row tally, all db.Set) error { return l.sifted(ctx, c, row, all) })
		})
	}
	if err == nil {
		err = l.readRest(ctx)
	}
	return l.dst, l.found, err
}

// keyedContacts lists the contacts that have a match key, where there are few. Where there are many, all is false.
func (s *Store) keyedContacts(ctx context.Context, account int64, key string, scope crm.ContactScope, f crm.ContactFilter, page crm.PageRequest, dst []byte) (_ []byte, result ListResult, all bool, err error) {
	var found []*stored
	var fields *crm.CustomFields // of contacts that have some
	add := func(r db.Row) error {
		contact := scanContact(r)
		if contact.damage == nil && contact.archived != excluded(scope) && f.Matches(&contact.contact, true) {
			found = append(found, contact)
		}
		return contact.damage
	}
	few, several, alone := true, false, f.ByKeyAlone()
	err = s.read(ctx, func(c db.Conn) error {
		found, several = nil, false
		return c.Each(func(r db.Row) (err error) {
			several = r.Int(9) != r.Int(0)
			if !alone {
				return add(r)
			}
			contact := &stored{id: r.Int(0), archived: r.Int(2), trace: trace{custom: r.Int(8)}} // need not be read to know that it passes
			if contact.body, err = contactBody(r, 4, contact.id); contact.archived != excluded(scope) {
				contact.body = slices.Clone(contact.body)
				found = append(found, contact)
			}
			return err
		}, sqlKeyed, account, key)
	})
	if err == nil && several {
		err = s.view(ctx, func(c db.Conn) error {
			found = nil
			ids, err := db.List(c, func(r db.Row) int64 { return r.Int(1) }, sqlMatch, account, []string{key})
			if few = len(ids) <= fewCandidates; !few || err != nil {
				return err
			}
			return c.Each(add, sqlLoadContacts, account, ids)
		})
	}
	if err != nil || !few {
		return dst, result, false, err
	}
	slices.SortFunc(found, func(a, b *stored) int { return f.Sort.Compare(&a.contact, &b.contact) })
	result.Total = int64(len(found))
	if from, to := oldestFirst(page)(result.Total); from < to {
		found = found[from:to]
	} else {
		found = nil
	}
	result.Count = int64(len(found))
	if slices.ContainsFunc(found, func(contact *stored) bool { return contact.custom != 0 }) {
		if fields, err = s.CustomFields(ctx, account); err != nil {
			return dst, result, false, err
		}
	}
	for i, contact := range found {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = contact.append(dst, fields); err != nil {
			return dst, result, false, err
		}
	}
	return dst, result, true, nil
}

// append appends the wire form.
func (s *stored) append(dst []byte, fields *crm.CustomFields) ([]byte, error) {
	if s.custom == 0 {
		return crm.AppendContact(dst, s.id, s.body), nil
	}
	return crm.AppendCustomized(dst, s.id, s.body, fields)
}

// scoped runs fn on a snapshot, with the account's row and the contacts of a scope that are there. All contacts are weighed.
func (s *Store) scoped(ctx context.Context, account int64, scope crm.ContactScope, w weigh, fn func(c db.Conn, row tally, all db.Set) error) error {
	index := s.positions.Of(account)
	rows := func(c db.Conn, find func(db.ListState, db.Scope, db.Switches) (db.Set, error)) (row tally, all db.Set, err error) {
		if row, err = readTally(c, account); err == nil {
			err = w(row.contactSeq)
		}
		if err == nil {
			all, err = find(row.list(), listScope(scope), archivals(c, account))
		}
		return row, all, err
	}
	err := s.view(ctx, func(c db.Conn) error {
		row, all, err := rows(c, index.Rows)
		if err != nil {
			return err
		}
		return fn(c, row, all)
	})
	if !errors.Is(err, db.ErrStale) {
		return err
	}
	return s.view(ctx, func(c db.Conn) error { // as in listContacts; the index is held no longer than it is needed
		if err := c.Settle(); err != nil {
			return err
		}
		index.Lock()
		row, all, err := rows(c, index.RowsLocked)
		index.Unlock()
		if err != nil {
			return err
		}
		return fn(c, row, all)
	})
}

// contactList is one page of a filtered list.
type contactList struct {
	store   *Store
	account int64
	scope   crm.ContactScope
	filter  crm.ContactFilter
	page    crm.PageRequest

	*pieces
	ids    []int64   // of the page, in its order
	groups [][]int64 // the same, by pieces; nil where the ids ascend
}

// sifted finds the page among all contacts of the scope, and reads its first piece.
func (l *contactList) sifted(ctx context.Context, c db.Conn, row tally, all db.Set) error {
	w, err := l.store.sift(ctx, c, row, all, l.scope, l.filter)
	if err != nil {
		return err
	}
	seqs, err := w.page(l.page)
	if err != nil {
		return err
	}
	return l.readFirst(c, w.left, seqs)
}

// sift leaves those of all contacts of a scope that pass a filter.
func (s *Store) sift(ctx context.Context, c db.Conn, row tally, all db.Set, scope crm.ContactScope, f crm.ContactFilter) (*sieve, error) {
	f.Gave.When = f.Gave.When.ByClock(row.location())
	w := &sieve{ctx: ctx, conn: c, account: row.account, row: row, scope: scope, filter: f, costs: s.costs, tags: &s.tags, set: all, left: all.Count()}
	w.all = w.left
	if f.None {
		w.keep(db.Set{})
		return w, nil
	}
	return w, w.sift()
}

// sifted runs fn on a snapshot, with the contacts that pass a filter.
func (s *Store) sifted(ctx context.Context, account int64, scope crm.ContactScope, f crm.ContactFilter, fn func(c db.Conn, w *sieve) error) error {
	return s.inTurn(ctx, account, func(w weigh) error {
		return s.scoped(ctx, account, scope, w, func(c db.Conn, row tally, all db.Set) error {
			w, err := s.sift(ctx, c, row, all, scope, f)
			if err != nil {
				return err
			}
			return fn(c, w)
		})
	})
}

// MatchingContacts is one page of the contacts that pass a filter, in the order that it asks for.
func (s *Store) MatchingContacts(ctx context.Context, account int64, scope crm.ContactScope, f crm.ContactFilter, page crm.PageRequest) (contacts []crm.Contact, result ListResult, err error) {
	err = s.sifted(ctx, account, scope, f, func(c db.Conn, w *sieve) error {
		seqs, err := w.page(page)
		if err != nil {
			return err
		}
		found, err := loadContacts(c, account, idsOf(account, seqs))
		byID := keyed(found, func(c crm.Contact) int64 { return c.ID })
		contacts, result = nil, ListResult{Total: w.left, Count: int64(len(seqs))}
		for _, id := range idsOf(account, seqs) {
			if contact, ok := byID[id]; ok {
				contacts = append(contacts, contact)
			}
		}
		return err
	})
	return contacts, result, err
}

// MatchingIDs are the ids of all contacts that pass a filter, in ascending order, as they are at one moment.
func (s *Store) MatchingIDs(ctx context.Context, account int64, scope crm.ContactScope, f crm.ContactFilter) (ids []int64, err error) {
	err = s.sifted(ctx, account, scope, f, func(_ db.Conn, w *sieve) error {
		ids = idsOf(account, w.set.Page(0, w.left))
		return nil
	})
	return ids, err
}

const (
	sqlSizes   = `SELECT id, length(body), custom FROM contact WHERE account_id = $1 AND id = ANY($2)`
	sqlBetween = `SELECT id, body, checksum, ` + customAt + ` FROM contact WHERE account_id = $1 AND id >= $2 AND id <= $3 ORDER BY id`
)

// readFirst reads the first piece of the page, on the snapshot that the page was found on.
func (l *contactList) readFirst(c db.Conn, total int64, seqs []int64) (err error) {
	l.ids, l.groups = idsOf(l.account, seqs), nil
	l.found = ListResult{Total: total, Count: int64(len(seqs))}
	if slices.IsSorted(l.ids) {
		return l.readAscending(c)
	}
	if l.groups, err = l.group(c); err != nil {
		return err
	}
	return l.readInOrder(c, l.groups[0])
}

// readAscending reads the first piece of a page whose ids ascend. Where most contacts between them are on the page, the others are read
// as well: a range costs less than as many contacts one by one.
func (l *contactList) readAscending(c db.Conn) error {
	n := len(l.ids)
	if n == 0 || l.ids[n-1]-l.ids[0] >= 2*int64(n) {
		return l.read(c, l.appendContact, sqlScattered, l.account, l.ids)
	}
	return l.fields.reading(c, func() error {
		l.again()
		err := c.UpTo(2*PieceSize).Each(func(r db.Row) error {
			if _, ok := slices.BinarySearch(l.ids, r.Int(0)); !ok {
				return nil
			}
			return l.add(l.appendContact, r)
		}, sqlBetween, l.account, l.ids[0], l.ids[n-1])
		if errors.Is(err, errFull) {
			err = nil
		}
		return err
	})
}

// readRest reads what the first piece has left.
func (l *contactList) readRest(ctx context.Context) error {
	if l.groups == nil {
		if !l.full() {
			return nil
		}
		return l.rest(ctx, l.store, l.ids, func(c db.Conn, ids []int64) error {
			return l.read(c, l.appendContact, sqlScattered, l.account, ids)
		})
	}
	for _, ids := range l.groups[1:] {
		if err := l.next(); err != nil {
			return err
		}
		if err := l.store.read(ctx, func(c db.Conn) error { return l.readInOrder(c, ids) }); err != nil {
			return err
		}
	}
	return nil
}

// group divides the page into pieces by the sizes of its documents: a database hands out rows in its own order, so that a piece must be
// read whole to be put in order.
func (l *contactList) group(c db.Conn) (groups [][]int64, err error) {
	if l.flush == nil {
		return [][]int64{l.ids}, nil
	}
	sizes := make(map[int64]int64, len(l.ids))
	var custom []int64
	err = c.Each(func(r db.Row) error {
		if sizes[r.Int(0)] = r.Int(1); r.Int(2) != 0 {
			custom = append(custom, r.Int(0))
		}
		return nil
	}, sqlSizes, l.account, l.ids)
	if err == nil && len(custom) > 0 {
		fields, err := l.fields.cache.read(c, l.account)
		if err != nil {
			return nil, err
		}
		for _, id := range custom {
			sizes[id] += int64(fields.Size())
		}
	}
	var size int64
	start := 0
	for i, id := range l.ids {
		if size += sizes[id]; size >= PieceSize || i == len(l.ids)-1 {
			groups = append(groups, l.ids[start:i+1])
			start, size = i+1, 0
		}
	}
	return groups, err
}

// readInOrder appends contacts in the order of the list.
func (l *contactList) readInOrder(c db.Conn, ids []int64) error {
	l.again()
	documents := make(map[int64][]byte, len(ids))
	err := l.fields.reading(c, func() error {
		return c.Each(func(r db.Row) (err error) {
			documents[r.Int(0)], err = l.appendContact(nil, r)
			return err
		}, sqlScattered, l.account, ids)
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if documents[id] == nil {
			return missingElements(len(ids)-len(documents), len(ids), id)
		}
		if l.before+l.n > 0 {
			l.dst = append(l.dst, ',')
		}
		l.dst = append(l.dst, documents[id]...)
		l.n++
	}
	return nil
}
