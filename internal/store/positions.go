package store

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"donorbook/internal/crm"
)

// A list must jump to any page at the price of the first one, with exact totals. So the store keeps, for accounts that
// are listed, which of their contacts are active: a bit for each sequence number, with counts to find the nth one. It
// is brought up to date whenever the account's revision has moved, whoever moved it: by a new contact, or one that was archived
// or restored. Nothing else moves it.

const (
	blockBits = 512             // the bits counted together
	groupBits = 64 * blockBits  // the blocks counted together
	maxCached = 1_000_000 * 256 // bits of all accounts held in memory: 32 MB, and a quarter more for counts
)

// positions is one account's index.
type positions struct {
	held     atomic.Int64 // bits there is room for; like fits it is read without mu
	fits     fits
	mu       sync.Mutex
	revision int64    // the account's revision that it stands for
	size     int64    // sequence numbers given out
	active   int64    // contacts that are active
	words    []uint64 // bit seq-1 is set while the contact is active
	blocks   []uint16 // set bits of each block
	groups   []uint32 // set bits of each group
}

// grow adds contacts up to this one. They are active.
func (p *positions) grow(seq int64) {
	for int64(len(p.groups))*groupBits < seq {
		p.groups = append(p.groups, 0)
		p.blocks = append(p.blocks, make([]uint16, groupBits/blockBits)...)
		p.words = append(p.words, make([]uint64, groupBits/64)...)
		p.held.Store(int64(cap(p.words)) * 64)
	}
	for p.size < seq {
		p.size++
		p.set(p.size, true)
	}
}

// set notes the state of a contact.
func (p *positions) set(seq int64, active bool) {
	p.grow(seq)
	i := seq - 1
	word, bit := &p.words[i/64], uint64(1)<<(i%64)
	switch had := *word&bit != 0; {
	case active && !had:
		*word |= bit
		p.active++
		p.blocks[i/blockBits]++
		p.groups[i/groupBits]++
	case !active && had:
		*word &^= bit
		p.active--
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

const sqlArchivals = `SELECT id, archived FROM contact_archival WHERE account_id = $1 AND revision > $2 ORDER BY revision`

// catchUp adds the contacts that have come since, and applies who was archived or restored. The account's row must be of the
// snapshot that c reads.
func (p *positions) catchUp(c conn, row *tally) error {
	if p.revision == row.revision {
		return nil
	}
	p.grow(row.contactSeq)
	err := each(c, func(r rows) error {
		p.set(crm.IDSeq(r.int(0)), r.int(1) == 0)
		return nil
	}, sqlArchivals, row.account, p.revision)
	if err != nil {
		p.forget() // a part was applied
		return err
	}
	p.revision = row.revision
	return nil
}

// agrees tells whether the index counts what the account counts.
func (p *positions) agrees(row *tally) bool {
	return p.active == row.contactActive && p.size == row.contactSeq
}

// forget makes the index empty, to be built from the beginning.
func (p *positions) forget() {
	p.revision, p.size, p.active, p.words, p.blocks, p.groups = 0, 0, 0, nil, nil, nil
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

// known is the account's row that the index stands for, and what is on a page of the list then. There is nothing on it where
// the index was not built yet.
func (p *positions) known(account int64, scope crm.ContactScope, page crm.PageRequest) (*tally, []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	row := &tally{account: account, revision: p.revision, contactSeq: p.size, contactActive: p.active}
	from, to := oldestFirst(page, row.total(scope))
	if from >= to {
		return row, nil
	}
	return row, p.page(scope, from, to-from)
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
	if err := p.catchUp(c, row); err != nil {
		return nil, false, err
	}
	if !p.agrees(row) { // it went back and on again
		p.forget()
		if err := p.catchUp(c, row); err != nil {
			return nil, false, err
		}
	}
	if from >= to {
		return nil, false, nil
	}
	return p.page(scope, from, to-from), false, nil
}
