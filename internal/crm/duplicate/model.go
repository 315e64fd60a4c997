package duplicate

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
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
	chance [fields][]float64    // and among strangers, where it is not that of the value which they share
	counts *counts
}

// newModel is the model of an account before it has seen any pair.
func newModel(counts *counts) *Model {
	m := &Model{counts: counts}
	for f := range levels {
		for c := range m.given {
			m.given[c][f] = make([]float64, len(levels[f]))
		}
		m.chance[f] = make([]float64, len(levels[f]))
		for i, l := range levels[f] {
			m.given[person][f][i], m.given[household][f][i], m.chance[f][i] = l.person/1000, l.home/1000,
				l.strangers/1000
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
		if chance := m.chance[f][level]; chance > 0 {
			l[strangers] *= chance
		}
	}
	return l
}

// unsure is the most that a pair can be which agrees in nothing but the name, or in which something speaks for a parent
// and a child, or for two people with one phone.
const unsure = 0.98

// probability that a pair is about one person.
func (m *Model) probability(p *pair) float64 {
	l := m.likelihoods(p)
	chance := l[person] / (l[person] + l[household] + l[strangers])
	reached := within(p.levels[birth], twoBirth) || within(p.levels[email], localEmail) ||
		within(p.levels[phone], tailPhone) || within(p.levels[place], numberPlace)
	related := p.levels[birth] == otherBirth || p.levels[middle] == otherMiddle || p.levels[suffix] > same &&
		p.levels[birth] != same
	named := p.levels[first] != otherFirst && (p.levels[last] != otherLast || p.levels[birth] == same)
	if !reached || related || !named {
		return min(unsure, chance)
	}
	return chance
}

func within(level, limit uint8) bool { return level != unknown && level <= limit }

// logOdds are the bits that speak for one person rather than for two.
func (m *Model) logOdds(p *pair) float64 {
	l := m.likelihoods(p)
	return math.Log2(l[person]) - math.Log2(l[household]+l[strangers])
}

// observe takes over from random pairs how often strangers agree, where that is more than is usual: the phones of one
// office differ by a digit, and the people of a town have one ZIP code. What a few pairs show may be about one person,
// so it is the least that is likely by what was seen.
func (m *Model) observe(seen *[fields][]float64) {
	for f := range levels {
		known := 0.0
		for _, n := range seen[f][same:] {
			known += n
		}
		for i, l := range levels[f] {
			if n := seen[f][i]; l.strangers > 0 && known > 0 {
				m.chance[f][i] = max(m.chance[f][i], (n-3-2*math.Sqrt(n))/known)
			}
		}
	}
}

const (
	pull   = 60 // pairs that the fixed values count for beside those of the account
	rounds = 20 // of learning
)

// fixedAtHome are the fields that tell the people of a household apart, and where they live. What is fixed about them
// keeps the two classes from changing places where an account has no households, and a family that lives apart from
// being one person.
var fixedAtHome = [fields]bool{first: true, initial: true, birth: true, place: true, middle: true, suffix: true}

// pattern is a way to compare that so many pairs have.
type pattern struct {
	pair
	count uint32
}

// learn fits the model to counted pairs: each round shares them out among the classes, and counts the levels of each
// class.
func (m *Model) learn(patterns []pattern) {
	if m.counts.contacts < 2 {
		return
	}
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

// modelVersion goes up when a level or a hash changes its meaning.
const modelVersion = 3

// kept is a model as it is kept.
type kept struct {
	Version  int
	Prior    [classes]float64
	Given    [2][fields][]float64
	Chance   [fields][]float64
	Contacts int
	Common   []byte // a hash and a count for each common value
}

// Encode is the model as bytes: some kilobytes, and less than a megabyte for a million contacts.
func (m *Model) Encode() ([]byte, error) {
	k := kept{modelVersion, m.prior, m.given, m.chance, m.counts.contacts, nil}
	for _, hash := range slices.Sorted(maps.Keys(m.counts.common)) {
		k.Common = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(k.Common, hash),
			m.counts.common[hash])
	}
	return json.Marshal(k)
}

// Decode reads what Encode wrote. It fails for a model of another version: then the finder has to run again.
func Decode(b []byte) (*Model, error) {
	const entry = 8 + 4 // bytes
	var k kept
	if err := json.Unmarshal(b, &k); err != nil {
		return nil, err
	}
	m := newModel(&counts{k.Contacts, make(map[uint64]uint32, len(k.Common)/entry)})
	same := k.Version == modelVersion
	for f := range m.chance {
		same = same && len(k.Chance[f]) == len(m.chance[f])
		for c := range m.given {
			same = same && len(k.Given[c][f]) == len(m.given[c][f])
		}
	}
	if !same {
		return nil, errors.New("not a model of this version")
	}
	for at := range slices.Chunk(k.Common, entry) {
		if len(at) == entry {
			m.counts.common[binary.LittleEndian.Uint64(at)] = binary.LittleEndian.Uint32(at[8:])
		}
	}
	m.prior, m.given, m.chance = k.Prior, k.Given, k.Chance
	return m, nil
}
