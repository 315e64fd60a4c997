package db

import (
	"math/bits"
	"slices"
)

// Set is a set of the sequence numbers of an account's rows, from 1 on: a bit for each.
type Set struct{ words []uint64 }

// Range is the set of the sequence numbers from one to another.
func Range(from, to int64) (s Set) {
	if from > to {
		return s
	}
	s.words = make([]uint64, (to+63)/64)
	for i := (from - 1) / 64; i < int64(len(s.words)); i++ {
		s.words[i] = ^uint64(0)
	}
	s.words[(from-1)/64] &= ^uint64(0) << ((from - 1) % 64)
	if over := to % 64; over > 0 {
		s.words[len(s.words)-1] &= 1<<over - 1
	}
	return s
}

// Clone is a set of its own with the same sequence numbers.
func (s *Set) Clone() Set { return Set{slices.Clone(s.words)} }

// Add puts a sequence number into the set.
func (s *Set) Add(seq int64) {
	i := seq - 1
	for int64(len(s.words)) <= i/64 {
		s.words = append(s.words, make([]uint64, i/64-int64(len(s.words))+1)...)
	}
	s.words[i/64] |= 1 << (i % 64)
}

// Has tells whether a sequence number is in the set.
func (s *Set) Has(seq int64) bool {
	i := seq - 1
	return i >= 0 && i/64 < int64(len(s.words)) && s.words[i/64]&(1<<(i%64)) != 0
}

// And keeps what is in the other set, too.
func (s *Set) And(other *Set) {
	s.words = s.words[:min(len(s.words), len(other.words))]
	for i := range s.words {
		s.words[i] &= other.words[i]
	}
}

// Or adds what is in the other set.
func (s *Set) Or(other *Set) {
	for len(s.words) < len(other.words) {
		s.words = append(s.words, 0)
	}
	for i, word := range other.words {
		s.words[i] |= word
	}
}

// AndNot drops what is in the other set.
func (s *Set) AndNot(other *Set) {
	for i := range min(len(s.words), len(other.words)) {
		s.words[i] &^= other.words[i]
	}
}

// Count is how many sequence numbers are in the set.
func (s *Set) Count() (n int64) {
	for _, word := range s.words {
		n += int64(bits.OnesCount64(word))
	}
	return n
}

// Rank is how many sequence numbers up to one are in the set.
func (s *Set) Rank(seq int64) (n int64) {
	if seq <= 0 {
		return 0
	}
	whole := min(seq/64, int64(len(s.words)))
	for _, word := range s.words[:whole] {
		n += int64(bits.OnesCount64(word))
	}
	if whole < int64(len(s.words)) {
		n += int64(bits.OnesCount64(s.words[whole] & (1<<(seq%64) - 1)))
	}
	return n
}

// Size is how much memory the set takes, in bytes.
func (s *Set) Size() int64 { return int64(cap(s.words)) * 8 }

// Page lists the sequence numbers from one place in the set up to another, in ascending order.
func (s *Set) Page(from, to int64) []int64 {
	seqs := make([]int64, 0, max(0, min(to-from, int64(len(s.words))*64)))
	for i, word := range s.words {
		if n := int64(bits.OnesCount64(word)); from >= n {
			from, to = from-n, to-n
			continue
		}
		for ; word != 0 && to > 0; word &= word - 1 {
			if from > 0 {
				from--
			} else {
				seqs = append(seqs, int64(i)*64+int64(bits.TrailingZeros64(word))+1)
			}
			to--
		}
		if to <= 0 {
			break
		}
	}
	return seqs
}
