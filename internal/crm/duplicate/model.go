package duplicate

import "math"

// The classes of a pair.
const (
	samePerson = iota
	sameHome
	strangers
	classes
)

// Model says how likely a pair is about one person.
type Model struct {
	prior [classes]float64
	given [2][fields][]float64 // probability of a level within one person and within one household
}

// NewModel is the model of an account with so many contacts before it has seen any pair.
func NewModel(n int) *Model {
	m := new(Model)
	for f := range levels {
		for c := range m.given {
			m.given[c][f] = make([]float64, len(levels[f]))
		}
		for i, l := range levels[f] {
			m.given[samePerson][f][i], m.given[sameHome][f][i] = l.same/1000, l.home/1000
		}
	}
	m.prior[samePerson], m.prior[sameHome] = 0.2/float64(n), 1/float64(n)
	m.prior[strangers] = 1 - m.prior[samePerson] - m.prior[sameHome]
	return m
}

// likelihoods of a pair in each class.
func (m *Model) likelihoods(p *Pair) (l [classes]float64) {
	l = m.prior
	for f, level := range p.levels {
		if level == 0 {
			continue
		}
		l[samePerson] *= m.given[samePerson][f][level-1]
		l[sameHome] *= m.given[sameHome][f][level-1]
		chance := levels[f][level-1].chance / 1000
		if chance == 0 {
			chance = math.Ldexp(1, -int(p.rarity[f]))
		}
		l[strangers] *= chance
	}
	return l
}

// Probability that a pair is about one person.
func (m *Model) Probability(p *Pair) float64 {
	l := m.likelihoods(p)
	return l[samePerson] / (l[samePerson] + l[sameHome] + l[strangers])
}

// pull is how many pairs the fixed values count for beside those of the account.
const pull = 60

// fixedAtHome are the fields that tell the people of a household apart. What is fixed about them keeps the two classes from changing places where an account
// has no households.
var fixedAtHome = [fields]bool{first: true, birth: true, middle: true, suffix: true}

// Learn fits the model to counted pairs.
func (m *Model) Learn(counted map[Pair]int, n int) {
	start := NewModel(n)
	all := float64(n) * float64(n-1) / 2
	for range 20 {
		var sum [2]float64
		var seen, known [2][fields][]float64
		for c := range seen {
			for f := range levels {
				seen[c][f] = make([]float64, len(levels[f]))
				known[c][f] = make([]float64, 1)
			}
		}
		for p, count := range counted {
			l := m.likelihoods(&p)
			total := l[0] + l[1] + l[2]
			for c := range seen {
				w := float64(count) * l[c] / total
				sum[c] += w
				for f, level := range p.levels {
					if level > 0 {
						seen[c][f][level-1] += w
						known[c][f][0] += w
					}
				}
			}
		}
		for c := range seen {
			m.prior[c] = (sum[c] + pull*start.prior[c]/(start.prior[0]+start.prior[1])) / (all + pull)
			for f := range levels {
				if c == sameHome && fixedAtHome[f] {
					continue
				}
				for i := range seen[c][f] {
					m.given[c][f][i] = (seen[c][f][i] + pull*start.given[c][f][i]) / (known[c][f][0] + pull)
				}
			}
		}
		m.prior[strangers] = 1 - m.prior[0] - m.prior[1]
	}
}
