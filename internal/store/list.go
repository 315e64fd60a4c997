package store

import (
	"context"
	"errors"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// A list must be read on one snapshot: the account's row, which tells how many there are, and the contacts of the page. Most
// lists ask for what the index of positions knows already, so one statement reads the page together with that row: where the
// row is still what the index stands for, the page is exact, and no transaction was needed.

const sqlRange = `SELECT contact.id, contact.body, contact.checksum, CASE WHEN contact.custom = 0 THEN 0 ELSE account_tally.field_seq END FROM account_tally JOIN contact ON contact.account_id = account_tally.account_id
	WHERE contact.account_id = $1 AND account_tally.list_revision = $2 AND account_tally.contact_seq = $3 AND account_tally.contact_active = $4
	AND contact.id >= $5 AND contact.id <= $6 AND contact.archived <> $7 ORDER BY contact.id`

const sqlScattered = `SELECT id, body, checksum, ` + customAt + ` FROM contact WHERE account_id = $1 AND id = ANY($2) ORDER BY id`

// ListResult says how much of a list was found.
type ListResult struct {
	Total int64 // elements of the whole list
	Count int64 // elements on this page
}

// Contacts appends the wire forms of one page of contacts to dst, separated by commas, oldest first. A large page goes through
// flush piece by piece.
func (s *Store) Contacts(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest, dst []byte, flush Flush) ([]byte, ListResult, error) {
	p, index := s.contactPieces(account, dst, flush), s.positions.Of(account)
	state, seqs := index.Known(listScope(scope), oldestFirst(page))
	result, exact := ListResult{Total: state.Total(listScope(scope)), Count: int64(len(seqs))}, false
	first := p.first(index, seqs)
	var err error
	if compact(first) {
		err = s.read(ctx, func(c db.Conn) (err error) {
			exact, err = p.readRange(c, account, state, scope, first)
			return err
		})
	}
	if !exact && err == nil {
		result, err = s.listContacts(ctx, account, scope, page, oldestFirst, func(c db.Conn, state db.ListState, found []int64) error {
			seqs, first = found, p.first(index, found)
			return p.readContacts(c, account, state, scope, first)
		})
	}
	p.learn(index, seqs)
	if err == nil && (p.full() || len(first) < len(seqs)) {
		p.found = result
		err = p.rest(ctx, s, idsOf(account, seqs), func(c db.Conn, ids []int64) error {
			return p.read(c, p.appendContact, sqlScattered, account, ids)
		})
	}
	return p.dst, result, err
}

func listScope(scope crm.ContactScope) db.Scope {
	switch scope {
	case crm.Active:
		return db.On
	case crm.Archived:
		return db.Off
	}
	return db.All
}

// list is what the account's row says about its list of contacts.
func (row *tally) list() db.ListState {
	return db.ListState{Revision: row.listRevision, Size: row.contactSeq, On: row.contactActive}
}

func idsOf(account int64, seqs []int64) []int64 {
	ids := make([]int64, 0, len(seqs))
	for _, seq := range seqs {
		ids = append(ids, crm.MakeID(account, seq))
	}
	return ids
}

// pageOrder says where a page lies in a list that is kept oldest first.
type pageOrder func(page crm.PageRequest) db.Span

func oldestFirst(page crm.PageRequest) db.Span {
	return func(total int64) (from, to int64) { return page.Skip(), min(page.Skip()+page.PerPage, total) }
}

func newestFirst(page crm.PageRequest) db.Span {
	return func(total int64) (int64, int64) {
		from, to := oldestFirst(page)(total)
		return total - to, total - from
	}
}

const sqlArchivals = `SELECT id, archived FROM contact_archival WHERE account_id = $1 AND revision > $2 ORDER BY revision`

// archivals reads which contacts were archived or restored.
func archivals(c db.Conn, account int64) db.Switches {
	return func(after int64, set func(seq int64, on bool)) error {
		return c.Each(func(r db.Row) error {
			set(crm.IDSeq(r.Int(0)), r.Int(1) == 0)
			return nil
		}, sqlArchivals, account, after)
	}
}

// listContacts finds out which contacts are on a page, and has them read on the same snapshot. Their sequence numbers
// ascend, whatever the order of the pages.
func (s *Store) listContacts(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest, order pageOrder, read func(db.Conn, db.ListState, []int64) error) (result ListResult, err error) {
	index, in := s.positions.Of(account), listScope(scope)
	list := func(c db.Conn, find func(db.ListState, db.Scope, db.Span, db.Switches) ([]int64, error)) error {
		row, err := readTally(c, account)
		if err != nil {
			return err
		}
		seqs, err := find(row.list(), in, order(page), archivals(c, account))
		if err != nil {
			return err
		}
		result = ListResult{Total: row.list().Total(in), Count: int64(len(seqs))}
		return read(c, row.list(), seqs)
	}
	err = s.view(ctx, func(c db.Conn) error { return list(c, index.Find) })
	if !errors.Is(err, db.ErrStale) {
		return result, err
	}
	// The index has moved on with a newer snapshot. Holding it, our next snapshot cannot be older than it. The transaction comes
	// first, because all the others may hold theirs and wait for the index; its snapshot is taken by its first statement.
	err = s.view(ctx, func(c db.Conn) error {
		if err := c.Settle(); err != nil {
			return err
		}
		index.Lock()
		defer index.Unlock()
		return list(c, index.FindLocked)
	})
	return result, err
}

// readContacts reads contacts whose sequence numbers are known, on the snapshot that the account's row was read on.
func (p *pieces) readContacts(c db.Conn, account int64, state db.ListState, scope crm.ContactScope, seqs []int64) error {
	if len(seqs) == 0 {
		p.again()
		return nil
	}
	if compact(seqs) {
		_, err := p.readRange(c, account, state, scope, seqs)
		return err
	}
	return p.read(c, p.appendContact, sqlScattered, account, idsOf(account, seqs))
}

// compact tells whether contacts are best read as one range: few others lie between them.
func compact(seqs []int64) bool {
	return len(seqs) > 0 && seqs[len(seqs)-1]-seqs[0] < sparse*int64(len(seqs))
}

// sparse: a page that lies scattered over more than so many times its length is fetched id by id.
const sparse = 4

// readRange reads contacts that lie together. There are none, and the page is not exact, where the account's row is no longer
// what the index stands for.
func (p *pieces) readRange(c db.Conn, account int64, state db.ListState, scope crm.ContactScope, seqs []int64) (exact bool, err error) {
	err = p.read(c, p.appendContact, sqlRange, account, state.Revision, state.Size, state.On,
		crm.MakeID(account, seqs[0]), crm.MakeID(account, seqs[len(seqs)-1]), excluded(scope))
	return p.n == len(seqs) || p.full(), err
}

// excluded is the state of contacts that a scope leaves out, as the database writes it.
func excluded(scope crm.ContactScope) int64 {
	switch scope {
	case crm.Active:
		return 1
	case crm.Archived:
		return 0
	}
	return -1
}

// contactPieces are pieces of contacts of one account.
func (s *Store) contactPieces(account int64, dst []byte, flush Flush) *pieces {
	p := newPieces(dst, flush)
	p.fields = fieldReader{cache: &s.fields, account: account}
	return p
}

// appendContact appends a contact whose row has its id, its body, its checksum and customAt.
func (p *pieces) appendContact(dst []byte, r db.Row) ([]byte, error) {
	id := r.Int(0)
	body, err := contactBody(r, 1, id)
	if err != nil {
		return dst, err
	}
	return p.fields.cache.append(dst, id, body, r.Int(3), p.fields.known)
}
