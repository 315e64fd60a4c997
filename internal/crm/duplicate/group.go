package duplicate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Level is how sure it is that two contacts are about one person.
type Level string

const (
	Sure     Level = "sure" // the only one that is merged without a look at each pair
	Likely   Level = "likely"
	Possible Level = "possible"
)

// What a pair must have for its level.
const (
	sure     = 0.99
	likely   = 0.7
	possible = 0.5
)

func levelOf(probability float64) Level {
	switch {
	case probability >= sure:
		return Sure
	case probability >= likely:
		return Likely
	}
	return Possible
}

// match is a pair of records that is taken for one person.
type match struct {
	a, b        int32
	probability float64
	group       int32 // -1 for none
	through     bool  // others of the group
}

const (
	maxGroup = 50   // contacts that are taken for one person
	byItself = 0.97 // what a pair must have to be shown where the groups of both are rather two people
)

// grouping is which records are taken for one person.
type grouping struct {
	finder  *Finder
	leader  map[int32]int32
	members map[int32][]int32
	links   map[[2]int32]float64 // how likely the pairs are that were taken
}

// group puts the records together that are about one person, the surest pairs first, but no groups that are rather two
// people. What comes back are the pairs within the groups and those that are likely by themselves, the likeliest first.
func (f *Finder) group(ctx context.Context) (all []match) {
	matches := f.matches()
	var single []match
	g := grouping{f, make(map[int32]int32), make(map[int32][]int32), make(map[[2]int32]float64, len(matches))}
	for _, m := range matches {
		if ctx.Err() != nil {
			return nil
		}
		if g.join(m) {
			g.links[[2]int32{m.a, m.b}] = m.probability
		} else if m.group = -1; m.probability >= byItself {
			single = append(single, m)
		}
	}
	all = matches[:0]
	for _, m := range slices.Compact(single) {
		a, _ := g.of(m.a)
		if b, _ := g.of(m.b); a != b { // no other pair has joined them since
			all = append(all, m)
		}
	}
	for leader := range g.members {
		all = g.appendPairs(all, leader)
	}
	slices.SortFunc(all, likelier)
	return all
}

// matches are the pairs that are likely enough by what was learned, the likeliest first.
func (f *Finder) matches() (all []match) {
	for _, c := range f.kept {
		if p := f.model.probability(&f.patterns[c.pattern].pair); p >= possible {
			all = append(all, match{a: min(c.a, c.b), b: max(c.a, c.b), probability: p})
		}
	}
	f.kept = nil
	slices.SortFunc(all, likelier)
	return all
}

func likelier(a, b match) int {
	return cmp.Or(cmp.Compare(b.probability, a.probability), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
}

func (g *grouping) of(i int32) (leader int32, members []int32) {
	leader, known := g.leader[i]
	if !known {
		return i, []int32{i}
	}
	return leader, g.members[leader]
}

// join makes one group of those of a pair, and tells whether they are in one.
func (g *grouping) join(m match) bool {
	la, as := g.of(m.a)
	lb, bs := g.of(m.b)
	if la == lb && len(as) > 1 {
		return true
	}
	if len(as)+len(bs) > maxGroup || g.areApart(as, bs) {
		return false
	}
	leader := min(la, lb)
	delete(g.members, la)
	delete(g.members, lb)
	g.members[leader] = slices.Concat(as, bs)
	for _, i := range g.members[leader] {
		g.leader[i] = leader
	}
	return true
}

// areApart tells whether two groups are rather two people: what the pairs across them say, all in all.
func (g *grouping) areApart(as, bs []int32) bool {
	if len(as)+len(bs) == 2 {
		return false
	}
	var a, b Record
	sum := 0.0
	for _, i := range as {
		g.finder.read(&a, int(i))
		for _, j := range bs {
			g.finder.read(&b, int(j))
			c := comparison{a: &a, b: &b, counts: g.finder.counts}
			c.names()
			p := c.others()
			sum += min(mostFor, max(-mostAgainst, g.finder.model.logOdds(&p)))
		}
	}
	return sum < 0
}

// How many bits a pair can say for two groups being one person, and against it: one strange pair does not outweigh all
// others.
const (
	mostFor     = 6
	mostAgainst = 5
)

// appendPairs adds the pairs of a group. A pair that was not likely enough by itself is as likely as the best two
// others that lead from one to the other.
func (g *grouping) appendPairs(all []match, leader int32) []match {
	members := slices.Sorted(slices.Values(g.members[leader]))
	link := func(i, j int32) float64 { return g.links[[2]int32{min(i, j), max(i, j)}] }
	for x, i := range members {
		for _, j := range members[x+1:] {
			m := match{i, j, link(i, j), leader, false}
			if m.probability == 0 {
				m.probability, m.through = possible, true
				for _, k := range members {
					m.probability = max(m.probability, min(unsure, link(i, k)*link(k, j)))
				}
			}
			all = append(all, m)
		}
	}
	return all
}

// Found is a pair of contacts that are taken for one person.
type Found struct {
	A, B int64
	// the id of one contact of all those that are taken for this person; 0 for a pair that is in no group
	Group       int64
	Probability float64
	Level       Level
	Reasons     []string // what speaks for it
	Against     []string // what speaks against it
}

// found is a match with its reasons.
func (f *Finder) found(m match) Found {
	var a, b Record
	f.read(&a, int(m.a))
	f.read(&b, int(m.b))
	found := f.model.Compare(&a, &b)
	if m.through {
		found.Reasons = append(found.Reasons, "both are like another contact")
	}
	if m.group >= 0 {
		found.Group = f.ids[m.group]
	}
	found.A, found.B, found.Probability, found.Level = f.ids[m.a], f.ids[m.b], m.probability, levelOf(m.probability)
	return found
}

// Compare compares two contacts. The level is "" where they are rather two people.
func (m *Model) Compare(a, b *Record) (found Found) {
	p, worth := compare(a, b, m.counts)
	if worth {
		found.Probability = m.probability(&p)
	}
	if found.Probability >= possible {
		found.Level = levelOf(found.Probability)
	}
	for f, level := range p.levels {
		if words := say(f, level, a, b); words == "" {
			continue
		} else if int(level) == len(levels[f])-1 || f == suffix && level == oneSuffix {
			found.Against = append(found.Against, words)
		} else {
			found.Reasons = append(found.Reasons, words)
		}
	}
	return found
}

// say says how far two contacts agree in a field.
func say(field int, level uint8, a, b *Record) string {
	words := levels[field][level].words
	switch {
	case field == first && a.Company && level != shortFirst:
		return strings.Replace(words, "first name", "company name", 1)
	case field == first && level == shortFirst && isShortFor(a.First, b.First):
		return fmt.Sprintf(words, shown(a.First), shown(b.First))
	case field == first && level == shortFirst:
		return fmt.Sprintf(words, shown(b.First), shown(a.First))
	case field == middle && level == otherMiddle && min(len(a.Middle), len(b.Middle)) == 1:
		return "different middle initials"
	}
	return words
}

// shown is a folded name with its capital letter.
func shown(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[size:]
}
