package db

import (
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"
)

// A list must jump to any page at the price of the first one, with exact totals. So a node keeps, for accounts that are listed,
// which of their rows are on: a bit for each sequence number, with counts to find the nth one. It is brought up to date whenever
// the account's revision has moved, on whatever node: by a new row, which is on, or one that was switched off or on again.

// Scope is which rows of a list count.
type Scope byte

// The scopes of a list.
const (
	On Scope = iota
	Off
	All
)

// ListState is what an account's row says about a list.
type ListState struct {
	Revision int64
	Size     int64 // sequence numbers given out
	On       int64 // rows that are on
}

// Total is how many rows of a scope there are.
func (s ListState) Total(scope Scope) int64 { return scope.of(s.On, s.Size) }

func (scope Scope) of(on, span int64) int64 {
	switch scope {
	case On:
		return on
	case Off:
		return span - on
	}
	return span
}

const (
	blockBits = 4096            // the bits counted together
	maxCached = 1_000_000 * 256 // bits of all accounts held in memory: 32 MB, and a little more for counts
	leastHeld = 8 * blockBits   // bits that an account counts for at least, so that there are not too many to add up
)

// Positions is the index of one account's list.
type Positions struct {
	Fits atomic.Int64 // how many rows of a page were found to fit together, for those who read them

	held   atomic.Int64 // bits there is room for
	mu     sync.Mutex
	state  ListState // that it stands for
	words  []uint64  // bit seq-1 is set while the row is on
	blocks []uint16  // set bits of each block
}

// grow adds rows up to this one. They are on.
func (p *Positions) grow(seq int64) {
	for int64(len(p.blocks))*blockBits < seq {
		p.blocks = append(p.blocks, 0)
		p.words = append(p.words, make([]uint64, blockBits/64)...)
		p.held.Store(int64(cap(p.words)) * 64)
	}
	for p.state.Size < seq {
		p.state.Size++
		p.set(p.state.Size, true)
	}
}

// set notes the state of a row.
func (p *Positions) set(seq int64, on bool) {
	p.grow(seq)
	i := seq - 1
	word, bit := &p.words[i/64], uint64(1)<<(i%64)
	if had := *word&bit != 0; had == on {
		return
	}
	*word ^= bit
	if on {
		p.state.On++
		p.blocks[i/blockBits]++
	} else {
		p.state.On--
		p.blocks[i/blockBits]--
	}
}

// page lists the sequence numbers of a scope after the first skip ones, at most n.
func (p *Positions) page(scope Scope, skip, n int64) []int64 {
	seqs := make([]int64, 0, n)
	for block, on := range p.blocks {
		if in := scope.of(int64(on), blockBits); skip >= in {
			skip -= in
			continue
		}
		for i := block * (blockBits / 64); i < (block+1)*(blockBits/64); i++ {
			word := p.word(scope, i)
			if in := int64(bits.OnesCount64(word)); skip >= in {
				skip -= in
				continue
			}
			for ; word != 0; word &= word - 1 {
				if skip > 0 {
					skip--
					continue
				}
				seq := int64(i)*64 + int64(bits.TrailingZeros64(word)) + 1
				if seq > p.state.Size || int64(len(seqs)) == n {
					return seqs
				}
				seqs = append(seqs, seq)
			}
		}
	}
	return seqs
}

// word has the bits of the scope set. Bits past the end count as off; no list asks for as many.
func (p *Positions) word(scope Scope, i int) uint64 {
	switch scope {
	case On:
		return p.words[i]
	case Off:
		return ^p.words[i]
	}
	return ^uint64(0)
}

// Switches calls set for every row that was switched off or on after a revision, in that order.
type Switches func(after int64, set func(seq int64, on bool)) error

// catchUp adds the rows that have come since, and applies which were switched. The state must be of the snapshot that the switches are
// read on.
func (p *Positions) catchUp(state ListState, switches Switches) error {
	if p.state.Revision == state.Revision {
		return nil
	}
	if state.Size < p.state.Size { // an import was taken back
		p.forget()
	}
	p.grow(state.Size)
	if err := switches(p.state.Revision, p.set); err != nil {
		p.forget() // a part was applied
		return err
	}
	p.state.Revision = state.Revision
	return nil
}

// forget makes the index empty, to be built from the beginning.
func (p *Positions) forget() {
	p.state, p.words, p.blocks = ListState{}, nil, nil
}

// PositionCache holds the indexes of the accounts that are listed.
type PositionCache struct {
	mu       sync.Mutex
	accounts map[int64]*Positions
}

// Of is the account's index. Where memory would grow past the limit, the others are dropped: they are quickly built.
func (cache *PositionCache) Of(account int64) *Positions {
	cache.mu.Lock()
	defer cache.mu.Unlock()
	p := cache.accounts[account]
	if p != nil {
		return p
	}
	if cache.accounts == nil || cache.full() {
		cache.accounts = make(map[int64]*Positions)
	}
	p = new(Positions)
	cache.accounts[account] = p
	return p
}

func (cache *PositionCache) full() bool {
	var held int64
	for _, p := range cache.accounts {
		held += max(leastHeld, p.held.Load())
	}
	return held >= maxCached
}

// Span says where a page lies in a list of so many rows.
type Span func(total int64) (from, to int64)

// Known is the state that the index stands for, and what is on a page of the list then. There is nothing on it where the index was
// not built yet.
func (p *Positions) Known(scope Scope, span Span) (ListState, []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, p.span(scope, span)
}

func (p *Positions) span(scope Scope, span Span) []int64 {
	from, to := span(p.state.Total(scope))
	if from >= to {
		return nil
	}
	return p.page(scope, from, to-from)
}

// ErrStale: the index is newer than the snapshot.
var ErrStale = errors.New("the index of a list is newer than the snapshot")

// Find works out which rows are on a page.
func (p *Positions) Find(state ListState, scope Scope, span Span, switches Switches) ([]int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.Revision > state.Revision {
		return nil, ErrStale
	}
	return p.find(state, scope, span, switches)
}

// FindLocked is Find for a caller whose snapshot began after it got the index for itself: if the index is newer all the same, the
// database itself went back, as after a restored backup.
func (p *Positions) FindLocked(state ListState, scope Scope, span Span, switches Switches) ([]int64, error) {
	if p.state.Revision > state.Revision {
		p.forget()
	}
	return p.find(state, scope, span, switches)
}

// Lock gives the index to one caller alone.
func (p *Positions) Lock() { p.mu.Lock() }

// Unlock gives it back.
func (p *Positions) Unlock() { p.mu.Unlock() }

func (p *Positions) find(state ListState, scope Scope, span Span, switches Switches) ([]int64, error) {
	if err := p.reach(state, switches); err != nil {
		return nil, err
	}
	return p.span(scope, span), nil
}

// reach makes the index stand for a state.
func (p *Positions) reach(state ListState, switches Switches) error {
	err := p.catchUp(state, switches)
	if err == nil && p.state != state { // it went back and on again
		p.forget()
		err = p.catchUp(state, switches)
	}
	return err
}

// Rows are all rows of a scope.
func (p *Positions) Rows(state ListState, scope Scope, switches Switches) (Set, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.Revision > state.Revision {
		return Set{}, ErrStale
	}
	return p.rows(state, scope, switches)
}

// RowsLocked is to Rows what FindLocked is to Find.
func (p *Positions) RowsLocked(state ListState, scope Scope, switches Switches) (Set, error) {
	if p.state.Revision > state.Revision {
		p.forget()
	}
	return p.rows(state, scope, switches)
}

func (p *Positions) rows(state ListState, scope Scope, switches Switches) (Set, error) {
	if err := p.reach(state, switches); err != nil {
		return Set{}, err
	}
	words := make([]uint64, (state.Size+63)/64)
	for i := range words {
		words[i] = p.word(scope, i)
	}
	if over := state.Size % 64; over > 0 {
		words[len(words)-1] &= 1<<over - 1
	}
	return Set{words}, nil
}
