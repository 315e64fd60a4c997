package db

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// A set is stored in blocks, so that a change rewrites a few hundred bytes however large the set is: block 0 has the
// sequence numbers 1 to 4,096, and so on. What is stored of a block is a list of two bytes for each number while there
// are fewer than 256, else a bit for each, which is never longer.
const (
	BlockSize  = 4096
	blockBytes = BlockSize / 8
	MaxBlock   = 1 << 18 // more than any sequence has
)

// SetBlock is which of the sequence numbers of one block are in a set.
type SetBlock [BlockSize / 64]uint64

// BlockOf is the block that a sequence number belongs to, and its place there.
func BlockOf(seq int64) (block int64, at int) {
	return (seq - 1) / BlockSize, int((seq - 1) % BlockSize)
}

// Put puts a place into the block, or takes it out.
func (b *SetBlock) Put(at int, in bool) {
	if in {
		b[at/64] |= 1 << (at % 64)
	} else {
		b[at/64] &^= 1 << (at % 64)
	}
}

// Has tells whether a place is in the block.
func (b *SetBlock) Has(at int) bool { return b[at/64]&(1<<(at%64)) != 0 }

// Count is how many places are in the block.
func (b *SetBlock) Count() (n int64) {
	for _, word := range b {
		n += int64(bits.OnesCount64(word))
	}
	return n
}

// Places are the places that are in the block, in ascending order.
func (b *SetBlock) Places(yield func(at int) bool) {
	for i, word := range b {
		for ; word != 0; word &= word - 1 {
			if !yield(i*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// Encode is how the block is stored.
func (b *SetBlock) Encode() []byte {
	n := int(b.Count())
	if 2*n >= blockBytes {
		stored := make([]byte, 0, blockBytes)
		for _, word := range b {
			stored = binary.LittleEndian.AppendUint64(stored, word)
		}
		return stored
	}
	stored := make([]byte, 0, 2*n)
	for at := range b.Places {
		stored = binary.LittleEndian.AppendUint16(stored, uint16(at))
	}
	return stored
}

// DecodeBlock reads a row of a set: the number of a block, how many numbers are in it, and what Encode made of them.
// All else is an error.
func DecodeBlock(block, size int64, stored []byte) (b SetBlock, err error) {
	if block < 0 || block > MaxBlock {
		return b, fmt.Errorf("there is no block %d", block)
	}
	if err := b.Decode(stored); err != nil {
		return SetBlock{}, err
	}
	switch n := b.Count(); {
	case n == 0:
		return SetBlock{}, errors.New("the block is empty")
	case n != size:
		return SetBlock{}, fmt.Errorf("the block has %d numbers, and its size is %d", n, size)
	case len(stored) == blockBytes && 2*n < blockBytes:
		return SetBlock{}, fmt.Errorf("the block has bits for %d numbers, which is too few", n)
	}
	return b, nil
}

// Decode reads what Encode made of an empty block.
func (b *SetBlock) Decode(stored []byte) error {
	if len(stored) != blockBytes {
		return b.decodeList(stored)
	}
	for i := range b {
		b[i] = binary.LittleEndian.Uint64(stored[8*i:])
	}
	return nil
}

func (b *SetBlock) decodeList(stored []byte) error {
	if len(stored)%2 != 0 || len(stored) > blockBytes {
		return fmt.Errorf("the block has %d bytes", len(stored))
	}
	for last := -1; len(stored) > 0; stored = stored[2:] {
		at := int(binary.LittleEndian.Uint16(stored))
		if at <= last || at >= BlockSize {
			return fmt.Errorf("the block has the place %d after %d", at, last)
		}
		b.Put(at, true)
		last = at
	}
	return nil
}

// AddBlock puts what is stored of a block into the set.
func (s *Set) AddBlock(block, size int64, stored []byte) error {
	b, err := DecodeBlock(block, size, stored)
	if err != nil {
		return err
	}
	end := int(block+1) * len(b)
	if len(s.words) < end {
		s.words = append(s.words, make([]uint64, end-len(s.words))...)
	}
	for i, word := range b {
		s.words[end-len(b)+i] |= word
	}
	return nil
}

// Blocks are the blocks of the set that have anything in them, with their numbers.
func (s *Set) Blocks(yield func(block int64, b *SetBlock) bool) {
	for start := 0; start < len(s.words); start += len(SetBlock{}) {
		b := new(SetBlock)
		copy(b[:], s.words[start:])
		if *b != (SetBlock{}) && !yield(int64(start/len(b)), b) {
			return
		}
	}
}
