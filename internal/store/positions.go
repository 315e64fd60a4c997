package store

import (
	"context"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"donorbook/internal/crm"
)

// A list must jump to any page at the price of the first one, with exact totals. So the store keeps, for accounts that
// are listed, which of their contacts are active: a bit for each sequence number, with counts to find the nth one. It
// is brought up to date from the account's changes whenever the account's revision has moved, whoever moved it.

const (
	blockBits = 512             // the bits counted together
	groupBits = 64 * blockBits  // the blocks counted together
	sparse    = 4               // a page that lies scattered over more than so many times its length is fetched id by id
	maxCached = 1_000_000 * 256 // bits of all accounts held in memory: 32 MB, and a quarter more for counts
)

// positions is one account's index.
type positions struct {
	held     atomic.Int64 // bits there is room for; the one thing that is read without mu
	mu       sync.Mutex
	revision int64    // the account's revision that it stands for
	size     int64    // sequence numbers given out
	words    []uint64 // bit seq-1 is set while the contact is active
	blocks   []uint16 // set bits of each block
	groups   []uint32 // set bits of each group
}

// set notes the state of a contact, also of one that is new.
func (p *positions) set(seq int64, active bool) {
	for int64(len(p.groups))*groupBits < seq {
		p.groups = append(p.groups, 0)
		p.blocks = append(p.blocks, make([]uint16, groupBits/blockBits)...)
		p.words = append(p.words, make([]uint64, groupBits/64)...)
		p.held.Store(int64(cap(p.words)) * 64)
	}
	p.size = max(p.size, seq)
	i := seq - 1
	word, bit := &p.words[i/64], uint64(1)<<(i%64)
	switch had := *word&bit != 0; {
	case active && !had:
		*word |= bit
		p.blocks[i/blockBits]++
		p.groups[i/groupBits]++
	case !active && had:
		*word &^= bit
		p.blocks[i/blockBits]--
		p.groups[i/groupBits]--
	}
}

// page lists the sequence numbers of a scope after the first skip ones, at most n.
func (p *positions) page(scope crm.ContactScope, skip, n int64) []int64 {
	seqs := make([]int64, 0, n)
	for i := p.seek(scope, skip); i < p.size && int64(len(seqs)) < n; {
		word := p.word(scope, i/64) >> (i % 64)
		switch {
		case word != 0:
			i += int64(bits.TrailingZeros64(word))
			if i < p.size {
				seqs = append(seqs, i+1)
			}
			i++
		case i%blockBits == 0 && scoped(scope, int64(p.blocks[i/blockBits]), blockBits) == 0:
			i += blockBits
		default:
			i = (i/64 + 1) * 64
		}
	}
	return seqs
}

// seek is the index of the bit with so many bits of the scope before it.
func (p *positions) seek(scope crm.ContactScope, skip int64) int64 {
	group := 0
	for ; group < len(p.groups); group++ {
		n := scoped(scope, int64(p.groups[group]), groupBits)
		if skip < n {
			break
		}
		skip -= n
	}
	if group == len(p.groups) {
		return p.size
	}
	block := group * (groupBits / blockBits)
	for ; ; block++ {
		n := scoped(scope, int64(p.blocks[block]), blockBits)
		if skip < n {
			break
		}
		skip -= n
	}
	i := int64(block) * (blockBits / 64)
	for ; ; i++ {
		n := int64(bits.OnesCount64(p.word(scope, i)))
		if skip < n {
			break
		}
		skip -= n
	}
	word := p.word(scope, i)
	for ; skip > 0; skip-- {
		word &= word - 1
	}
	return i*64 + int64(bits.TrailingZeros64(word))
}

// word has the bits of the scope set. Bits past the end count as archived; nobody asks for as many.
func (p *positions) word(scope crm.ContactScope, i int64) uint64 {
	switch scope {
	case crm.Active:
		return p.words[i]
	case crm.Archived:
		return ^p.words[i]
	}
	return ^uint64(0)
}

func scoped(scope crm.ContactScope, active, span int64) int64 {
	switch scope {
	case crm.Active:
		return active
	case crm.Archived:
		return span - active
	}
	return span
}

const sqlChanges = `SELECT id, archived FROM contact_change WHERE account_id = $1 AND revision > $2 ORDER BY revision`

// catchUp applies what has changed since. The snapshot that c reads must be at the given revision.
func (p *positions) catchUp(c conn, account, revision int64) error {
	if p.revision == revision {
		return nil
	}
	err := each(c, func(r rows) error {
		p.set(crm.IDSeq(r.int(0)), r.int(1) == 0)
		return nil
	}, sqlChanges, account, p.revision)
	if err == nil {
		p.revision = revision
	}
	return err
}

// agrees tells whether the index counts what the account counts.
func (p *positions) agrees(row *tally) bool {
	active := int64(0)
	for _, n := range p.groups {
		active += int64(n)
	}
	return active == row.contactActive && p.size == row.contactSeq
}

// forget makes the index empty, to be built from the beginning.
func (p *positions) forget() {
	p.revision, p.size, p.words, p.blocks, p.groups = 0, 0, nil, nil, nil
}

// positionCache holds the indexes of the accounts that are listed.
type positionCache struct {
	mu       sync.Mutex
	accounts map[int64]*positions
}

// of is the account's index. Where memory would grow past the limit, the others are dropped: they are quickly built.
func (cache *positionCache) of(account int64) *positions {
	cache.mu.Lock()
	defer cache.mu.Unlock()
	p := cache.accounts[account]
	if p != nil {
		return p
	}
	if cache.accounts == nil || cache.full() {
		cache.accounts = make(map[int64]*positions)
	}
	p = new(positions)
	cache.accounts[account] = p
	return p
}

func (cache *positionCache) full() bool {
	var held int64
	for _, p := range cache.accounts {
		held += max(groupBits, p.held.Load())
	}
	return held >= maxCached
}

var (
	sqlRange = `SELECT id, body FROM contact WHERE account_id = $1 AND id >= $2 AND id <= $3 AND archived >= $4 AND archived <= $5 ORDER BY id`

	sqlScattered = `SELECT id, body, match_keys FROM contact WHERE account_id = $1 AND id IN (` + parameters(2, scatteredWidth) + `) ORDER BY id`
)

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

// Contacts appends the wire forms of one page of contacts to dst, separated by commas, oldest first.
func (s *Store) Contacts(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest, dst []byte) ([]byte, ListResult, error) {
	start := len(dst)
	result, err := s.listContacts(ctx, account, scope, page, oldestFirst, func(c conn, seqs []int64) (err error) {
		dst, err = appendContacts(c, account, scope, seqs, dst[:start])
		return err
	})
	return dst, result, err
}

// listContacts finds out which contacts are on a page, and has them read on the same snapshot. Their sequence numbers
// ascend, whatever the order of the pages.
func (s *Store) listContacts(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest, order pageOrder, read func(conn, []int64) error) (result ListResult, err error) {
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
		return false, read(c, seqs)
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
			index.mu.Lock()
			defer index.mu.Unlock()
			_, err = list(c, true)
			return err
		})
	}
	return result, err
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

// find works out which contacts are on a page, from one place in the list to another. It is stale where the index is newer than the snapshot.
func (p *positions) find(c conn, row *tally, scope crm.ContactScope, from, to int64, locked bool) (seqs []int64, stale bool, err error) {
	if !locked {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	if p.revision > row.revision {
		if !locked {
			return nil, true, nil
		}
		p.forget() // the database itself went back, as after a restored backup
	}
	if err := p.catchUp(c, row.account, row.revision); err != nil {
		return nil, false, err
	}
	if !p.agrees(row) { // it went back and on again
		p.forget()
		if err := p.catchUp(c, row.account, row.revision); err != nil {
			return nil, false, err
		}
	}
	if from >= to {
		return nil, false, nil
	}
	return p.page(scope, from, to-from), false, nil
}

// appendContacts reads contacts whose sequence numbers are known: as one range where they lie together.
func appendContacts(c conn, account int64, scope crm.ContactScope, seqs []int64, dst []byte) ([]byte, error) {
	if len(seqs) == 0 {
		return dst, nil
	}
	first, last := seqs[0], seqs[len(seqs)-1]
	var r rows
	var err error
	if last-first < sparse*int64(len(seqs)) {
		r, err = c.query(sqlRange, account, crm.MakeID(account, first), crm.MakeID(account, last),
			flag(scope == crm.Archived), flag(scope != crm.Active))
	} else {
		ids := make([]int64, 0, len(seqs))
		for _, seq := range seqs {
			ids = append(ids, crm.MakeID(account, seq))
		}
		r, err = c.query(sqlScattered, scatteredArgs(account, ids)...)
	}
	if err != nil {
		return dst, err
	}
	for n := 0; r.next(); n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = crm.AppendContact(dst, r.int(0), r.bytes(1))
	}
	return dst, r.close()
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
