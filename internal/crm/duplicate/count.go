package duplicate

import "math/bits"

// counts tell how common values are among the contacts of an account. Only the common ones are kept: what is not there
// is rare.
type counts struct {
	contacts int
	common   map[uint64]uint32
}

// fewest is how often a value must occur to be kept. What a family shares is not common yet.
func (c *counts) fewest(field int) uint32 {
	if field > last {
		return uint32(max(8, c.contacts>>16))
	}
	return uint32(max(3, c.contacts>>17))
}

// share is how many of the contacts have a value. The pair that is looked at does not count.
func (c *counts) share(field int, value string) float64 {
	count := max(2, c.common[valueHash(field, value)])
	return float64(count-1) / float64(max(2, c.contacts))
}

// each calls f with the hash of each value of a record that is counted.
func (r *Record) each(f func(field int, hash uint64)) {
	one := func(field int, value string) {
		if value != "" {
			f(field, valueHash(field, value))
		}
	}
	one(first, r.First)
	one(last, r.Last)
	one(birth, r.born())
	for _, value := range r.Emails {
		one(email, value)
	}
	for _, value := range r.Phones {
		one(phone, value)
	}
	for i := range r.Places {
		one(place, r.Places[i].key())
	}
}

func valueHash(field int, value string) uint64 { return mix(hash(value), uint64(field)+1) }

// hash of a text. It is kept in models, so it must be the same on all machines.
func hash(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xbf58476d1ce4e5b9)
	return hi ^ lo
}

// tally counts the values of records in two rounds, because the memory is for the common ones alone: the first round
// finds those that may be common.
type tally struct {
	seen []uint8 // by a part of the hash
	counts
}

const tallyBits = 24

func newTally(contacts int) *tally {
	return &tally{make([]uint8, 1<<min(tallyBits, bits.Len(uint(contacts))+5)),
		counts{contacts, make(map[uint64]uint32)}}
}

func (t *tally) slot(hash uint64) *uint8 { return &t.seen[hash&uint64(len(t.seen)-1)] }

// note is the first round.
func (t *tally) note(r *Record) {
	r.each(func(_ int, hash uint64) {
		if at := t.slot(hash); *at < 255 {
			*at++
		}
	})
}

// count is the second round.
func (t *tally) count(r *Record) {
	r.each(func(field int, hash uint64) {
		if uint32(*t.slot(hash)) >= min(255, t.fewest(field)) {
			t.common[hash]++
		}
	})
}
