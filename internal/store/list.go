package store

import (
	"context"
	"strconv"
	"strings"

	"donorbook/internal/crm"
)

// A list must be read on one snapshot: the account's row, which tells how many there are, and the contacts of the page. Most
// lists ask for what the index of positions knows already, so one statement reads the page together with that row: where the
// row is still what the index stands for, the page is exact, and no transaction was needed.

const sqlRange = `SELECT contact.id, contact.body, contact.checksum FROM account_tally JOIN contact ON contact.account_id = account_tally.account_id
	WHERE account_tally.account_id = $1 AND account_tally.revision = $2 AND account_tally.contact_seq = $3 AND account_tally.contact_active = $4
	AND contact.id >= $5 AND contact.id <= $6 AND contact.archived <> $7 ORDER BY contact.id`

var sqlScattered = `SELECT id, body, checksum, match_keys FROM contact WHERE account_id = $1 AND id IN (` + parameters(2, scatteredWidth) + `) ORDER BY id`

// scatteredWidth is the largest page.
const scatteredWidth = 100

func parameters(from, n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(names, ", ")
}

// ListResult says how much of a list was found.
type ListResult struct {
	Total int64 // elements of the whole list
	Count int64 // elements on this page
}

// Contacts appends the wire forms of one page of contacts to dst, separated by commas, oldest first. A large page goes through
// flush piece by piece.
func (s *Store) Contacts(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest, dst []byte, flush Flush) ([]byte, ListResult, error) {
	p, index := newPieces(dst, flush), s.positions.of(account)
	row, seqs := index.known(account, scope, page)
	result, exact := ListResult{Total: row.total(scope), Count: int64(len(seqs))}, false
	first := index.fits.first(seqs, p)
	var err error
	if compact(first) {
		err = s.read(ctx, func(c conn) (err error) {
			exact, err = p.readRange(c, row, scope, first)
			return err
		})
	}
	if !exact && err == nil {
		result, err = s.listContacts(ctx, account, scope, page, oldestFirst, func(c conn, row *tally, found []int64) error {
			seqs, first = found, index.fits.first(found, p)
			return p.readContacts(c, row, scope, first)
		})
	}
	index.fits.learn(seqs, p)
	if err == nil && (p.full() || len(first) < len(seqs)) {
		err = p.rest(ctx, s, idsOf(account, seqs), func(c conn, ids []int64) error {
			return p.read(c, appendContact, sqlScattered, scatteredArgs(account, ids)...)
		})
	}
	return p.dst, result, err
}

func idsOf(account int64, seqs []int64) []int64 {
	ids := make([]int64, 0, len(seqs))
	for _, seq := range seqs {
		ids = append(ids, crm.MakeID(account, seq))
	}
	return ids
}

// listContacts finds out which contacts are on a page, and has them read on the same snapshot. Their sequence numbers
// ascend, whatever the order of the pages.
func (s *Store) listContacts(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest, order pageOrder, read func(conn, *tally, []int64) error) (result ListResult, err error) {
	index := s.positions.of(account)
	list := func(c conn, locked bool) (stale bool, err error) {
		row, err := readTally(c, account, "")
		if err != nil {
			return false, err
		}
		from, to := order(page, row.total(scope))
		seqs, stale, err := index.find(c, row, scope, from, to, locked)
		if err != nil || stale {
			return stale, err
		}
		result = ListResult{Total: row.total(scope), Count: int64(len(seqs))}
		return false, read(c, row, seqs)
	}
	var stale bool
	err = s.view(ctx, func(c conn) (err error) {
		stale, err = list(c, false)
		return err
	})
	if err == nil && stale {
		// Somebody with a newer snapshot has moved the index on. Holding it, our next snapshot cannot be older than it. The
		// transaction comes first, because all the others may hold theirs and wait for the index; its snapshot is taken by
		// its first statement.
		err = s.view(ctx, func(c conn) (err error) {
			if err := c.flush(); err != nil {
				return err
			}
			index.mu.Lock()
			defer index.mu.Unlock()
			_, err = list(c, true)
			return err
		})
	}
	return result, err
}

// readContacts reads contacts whose sequence numbers are known, on the snapshot that the account's row was read on.
func (p *pieces) readContacts(c conn, row *tally, scope crm.ContactScope, seqs []int64) error {
	if len(seqs) == 0 {
		p.again()
		return nil
	}
	if compact(seqs) {
		_, err := p.readRange(c, row, scope, seqs)
		return err
	}
	return p.read(c, appendContact, sqlScattered, scatteredArgs(row.account, idsOf(row.account, seqs))...)
}

// compact tells whether contacts are best read as one range: few others lie between them.
func compact(seqs []int64) bool {
	return len(seqs) > 0 && seqs[len(seqs)-1]-seqs[0] < sparse*int64(len(seqs))
}

// sparse: a page that lies scattered over more than so many times its length is fetched id by id.
const sparse = 4

// readRange reads contacts that lie together. There are none, and the page is not exact, where the account's row is no longer
// the given one.
func (p *pieces) readRange(c conn, row *tally, scope crm.ContactScope, seqs []int64) (exact bool, err error) {
	err = p.read(c, appendContact, sqlRange, row.account, row.revision, row.contactSeq, row.contactActive,
		crm.MakeID(row.account, seqs[0]), crm.MakeID(row.account, seqs[len(seqs)-1]), excluded(scope))
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

func appendContact(dst []byte, r rows) ([]byte, error) {
	body, err := contactBody(r, 1, r.int(0))
	if err != nil {
		return dst, err
	}
	return crm.AppendContact(dst, r.int(0), body), nil
}

// scatteredArgs fills the statement's fixed width with the last id.
func scatteredArgs(account int64, ids []int64) []any {
	args := make([]any, 1, 2+scatteredWidth)
	args[0] = account
	for i := range scatteredWidth {
		args = append(args, ids[min(i, len(ids)-1)])
	}
	return args
}

// total is how many contacts of the scope there are.
func (row *tally) total(scope crm.ContactScope) int64 {
	switch scope {
	case crm.Active:
		return row.contactActive
	case crm.Archived:
		return row.contactSeq - row.contactActive
	}
	return row.contactSeq
}
