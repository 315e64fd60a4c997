package duplicate

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// The classes of a pair.
const (
	person = iota
	household
	strangers
	classes
)

// Model says how likely a pair is about one person, as learned from the contacts of an account.
type Model struct {
	prior  [classes]float64
	given  [2][fields][]float64 // probability of a level within one person and within one household
	counts *counts
}

// newModel is the model of an account before it has seen any pair.
func newModel(counts *counts) *Model {
	m := &Model{counts: counts}
	for f := range levels {
		for c := range m.given {
			m.given[c][f] = make([]float64, len(levels[f]))
		}
		for i, l := range levels[f] {
			m.given[person][f][i], m.given[household][f][i] = l.person/1000, l.home/1000
		}
	}
	n := float64(max(10, counts.contacts))
	m.prior[person], m.prior[household] = 0.2/n, 1/n
	m.prior[strangers] = 1 - m.prior[person] - m.prior[household]
	return m
}

// likelihoods of a pair in each class.
func (m *Model) likelihoods(p *pair) (l [classes]float64) {
	l = m.prior
	l[strangers] *= math.Exp2(-float64(p.rarity) / 2)
	for f, level := range p.levels {
		if level == unknown {
			continue
		}
		l[person] *= m.given[person][f][level]
		l[household] *= m.given[household][f][level]
		if chance := levels[f][level].strangers; chance > 0 {
			l[strangers] *= chance / 1000
		}
	}
	return l
}

// onName is the most that a pair can be which agrees in nothing but the name.
const onName = 0.98

// probability that a pair is about one person.
func (m *Model) probability(p *pair) float64 {
	l := m.likelihoods(p)
	likely := l[person] / (l[person] + l[household] + l[strangers])
	if within(p.levels[birth], twoBirth) || within(p.levels[email], localEmail) || within(p.levels[phone], tailPhone) || within(p.levels[place], numberPlace) {
		return likely
	}
	return min(onName, likely)
}

func within(level, limit uint8) bool { return level != unknown && level <= limit }

// logOdds are the bits that speak for one person rather than for two.
func (m *Model) logOdds(p *pair) float64 {
	l := m.likelihoods(p)
	return math.Log2(l[person]) - math.Log2(l[household]+l[strangers])
}

const (
	pull   = 60 // pairs that the fixed values count for beside those of the account
	rounds = 20 // of learning
)

// fixedAtHome are the fields that tell the people of a household apart. What is fixed about them keeps the two classes from changing places where an account
// has no households.
var fixedAtHome = [fields]bool{first: true, initial: true, birth: true, middle: true, suffix: true}

// pattern is a way to compare that so many pairs have.
type pattern struct {
	pair
	count uint32
}

// learn fits the model to counted pairs: each round shares them out among the classes, and counts the levels of each class.
func (m *Model) learn(patterns []pattern) {
	start := newModel(m.counts)
	for range rounds {
		var sum [2]float64
		var seen [2][fields][]float64
		for c := range seen {
			for f := range levels {
				seen[c][f] = make([]float64, len(levels[f]))
			}
		}
		for i := range patterns {
			p := &patterns[i]
			l := m.likelihoods(&p.pair)
			for c := range seen {
				weight := float64(p.count) * l[c] / (l[person] + l[household] + l[strangers])
				sum[c] += weight
				for f, level := range p.levels {
					seen[c][f][level] += weight
				}
			}
		}
		m.update(start, &sum, &seen)
	}
}

// update takes the counts of a round into the model.
func (m *Model) update(start *Model, sum *[2]float64, seen *[2][fields][]float64) {
	n := float64(m.counts.contacts)
	all := n * (n - 1) / 2
	m.prior[strangers] = 1
	for c := range seen {
		expected := start.prior[c] * all
		own := expected / (expected + pull) // a small account has too few pairs to tell
		m.prior[c] = (own*sum[c] + (1-own)*expected) / all
		m.prior[strangers] -= m.prior[c]
		for f := range levels {
			if f == suffix || c == household && fixedAtHome[f] {
				continue
			}
			known := sum[c] - seen[c][f][unknown]
			for i := range levels[f] {
				m.given[c][f][i] = (seen[c][f][i] + pull*start.given[c][f][i]) / (known + pull)
			}
		}
	}
}

// errModel is what Decode says of bytes that no Encode of this version wrote. The finder has to run again.
var errModel = errors.New("not a model of this version")

// modelVersion goes up when a level or a hash changes its meaning.
const modelVersion = 1

// Encode is the model as bytes: some kilobytes, and less than a megabyte for a million contacts.
func (m *Model) Encode() []byte {
	b := []byte{modelVersion}
	m.eachNumber(func(value *float64) { b = binary.LittleEndian.AppendUint64(b, math.Float64bits(*value)) })
	b = binary.AppendUvarint(b, uint64(m.counts.contacts))
	hashes := make([]uint64, 0, len(m.counts.common))
	for hash := range m.counts.common {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes)
	before := uint64(0)
	for _, hash := range hashes {
		b = binary.AppendUvarint(binary.AppendUvarint(b, hash-before), uint64(m.counts.common[hash]))
		before = hash
	}
	return b
}

// eachNumber calls f with all that was learned, always in the same order.
func (m *Model) eachNumber(f func(value *float64)) {
	for c := range m.prior {
		f(&m.prior[c])
	}
	for c := range m.given {
		for field := range m.given[c] {
			for i := range m.given[c][field] {
				f(&m.given[c][field][i])
			}
		}
	}
}

// Decode reads what Encode wrote.
func Decode(b []byte) (*Model, error) {
	if len(b) == 0 || b[0] != modelVersion {
		return nil, errModel
	}
	b = b[1:]
	m, short := newModel(&counts{common: make(map[uint64]uint32)}), false
	m.eachNumber(func(value *float64) {
		if short = short || len(b) < 8; !short {
			*value, b = math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
		}
	})
	next := func() uint64 {
		value, n := binary.Uvarint(b)
		if short = short || n <= 0; short {
			return 0
		}
		b = b[n:]
		return value
	}
	m.counts.contacts = int(next())
	for hash := uint64(0); len(b) > 0 && !short; {
		hash += next()
		m.counts.common[hash] = uint32(next())
	}
	if short {
		return nil, errModel
	}
	return m, nil
}
