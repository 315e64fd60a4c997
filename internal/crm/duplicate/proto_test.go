package duplicate

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm"
)

type shares struct {
	counts [fields]map[string]int
	n      int
}

func (s *shares) Share(f int, v string) float64 {
	return float64(max(2, s.counts[f][v])) / float64(s.n)
}

func TestProto(t *testing.T) {
	for _, file := range []string{"donors", "febrl3"} {
		proto(t, "/work/shared/data/linkage/"+file+".csv")
	}
}

func proto(t *testing.T, path string) {
	fh, err := os.Open(path)
	if err != nil {
		t.Skip()
	}
	rows, _ := csv.NewReader(fh).ReadAll()
	rows = rows[1:]
	began := time.Now()
	recs := make([]Record, len(rows))
	s := &shares{n: len(rows)}
	for f := range s.counts {
		s.counts[f] = map[string]int{}
	}
	people := map[string]int{}
	true_ := 0
	for i, w := range rows {
		c := crm.Contact{FirstName: w[2], MiddleName: w[3], LastName: w[4]}
		if w[5] != "" {
			if k, ok := crm.MatchKey(w[5], "US"); ok {
				c.MatchKeys = append(c.MatchKeys, k)
			}
		}
		if w[6] != "" {
			if k, ok := crm.MatchKey(w[6], "US"); ok {
				c.MatchKeys = append(c.MatchKeys, k)
			}
		}
		c.Addresses = []crm.Address{{Line1: w[7], City: w[8], State: w[9], Zipcode: w[10]}}
		c.DOB, _ = time.Parse("2006-01-02", w[12])
		recs[i] = Of(&c)
		r := &recs[i]
		s.counts[first][r.First]++
		s.counts[last][r.Last]++
		for _, e := range r.Emails {
			s.counts[email][e]++
		}
		for _, e := range r.Phones {
			s.counts[phone][e]++
		}
		for _, p := range r.Places {
			s.counts[place][p.Number+" "+p.Street+" "+p.Zip]++
		}
		true_ += people[w[1]]
		people[w[1]]++
	}
	cands := map[[2]int32]bool{}
	blocks := make([]map[string][]int32, passes)
	for i := range blocks {
		blocks[i] = map[string][]int32{}
	}
	fines := map[string]string{}
	_ = fines
	type kf struct{ fine string }
	fine := make([]map[string][]string, passes)
	for i := range fine {
		fine[i] = map[string][]string{}
	}
	for i := range recs {
		blockKeys(&recs[i], func(p int, c, f string) {
			blocks[p][c] = append(blocks[p][c], int32(i))
			fine[p][c] = append(fine[p][c], f)
		})
	}
	emit := func(ids []int32) {
		for x := range ids {
			for y := x + 1; y < len(ids); y++ {
				if ids[x] != ids[y] {
					cands[[2]int32{min(ids[x], ids[y]), max(ids[x], ids[y])}] = true
				}
			}
		}
	}
	for p := range blocks {
		for k, ids := range blocks[p] {
			if len(ids) <= 60 {
				emit(ids)
				continue
			}
			sub := map[string][]int32{}
			for i, f := range fine[p][k] {
				sub[f] = append(sub[f], ids[i])
			}
			for _, ids := range sub {
				if len(ids) <= 60 {
					emit(ids)
				}
			}
		}
	}
	foundTrue := 0
	for c := range cands {
		if rows[c[0]][1] == rows[c[1]][1] {
			foundTrue++
		}
	}
	fmt.Printf("%s: %d rows, %d true pairs, %d candidates (%.1f a record), keep %.4f, %v\n", path, len(rows), true_, len(cands), float64(len(cands))/float64(len(rows)), float64(foundTrue)/float64(true_), time.Since(began))
	counted := map[Pair]int{}
	pairs := map[[2]int32]Pair{}
	for c := range cands {
		p := Compare(&recs[c[0]], &recs[c[1]], s)
		if p.levels[first] == 7 && p.levels[last] == 6 {
			continue
		}
		pairs[c] = p
		counted[p]++
	}
	m := NewModel(len(rows))
	m2 := NewModel(len(rows))
	m2.Learn(counted, len(rows))
	fmt.Println(len(counted), "patterns", time.Since(began), "prior", m2.prior, m.prior)
	for which, m := range []*Model{m, m2} {
		type sp struct {
			c [2]int32
			p float64
			t bool
		}
		var all []sp
		for c, p := range pairs {
			q := p
			all = append(all, sp{c, m.Probability(&q), rows[c[0]][1] == rows[c[1]][1]})
		}
		slices.SortFunc(all, func(a, b sp) int { return cmp.Compare(b.p, a.p) })
		for _, bar := range []float64{.99, .7, .5} {
			n, tp := 0, 0
			for _, x := range all {
				if x.p >= bar {
					n++
					if x.t {
						tp++
					}
				}
			}
			fmt.Printf("  model %d bar %.2f: P %.4f R %.4f (%d pairs)\n", which, bar, float64(tp)/float64(n), float64(tp)/float64(true_), n)
		}
		if os.Getenv("SHOW") != "" && which == 1 {
			show := 0
			for _, x := range all {
				if x.p >= .5 && !x.t && show < 25 {
					show++
					fmt.Println("FP", x.p, rows[x.c[0]][1:], rows[x.c[1]][1:], pairs[x.c].levels)
				}
			}
			show = 0
			for _, x := range all {
				if x.p < .5 && x.t && show < 4000 {
					show++
					if show%20 == 0 {
						fmt.Println("FN", x.p, rows[x.c[0]][1:], rows[x.c[1]][1:], pairs[x.c].levels)
					}
				}
			}
			type agg struct {
				n, t int
				p    float64
			}
			by := map[[fields]uint8]*agg{}
			for _, x := range all {
				k := pairs[x.c].levels
				if by[k] == nil {
					by[k] = &agg{}
				}
				by[k].n++
				by[k].p += x.p
				if x.t {
					by[k].t++
				}
			}
			for k, a := range by {
				fmt.Printf("AGG %7.1f %v n %d true %d expected %.1f\n", a.p-float64(a.t), k, a.n, a.t, a.p)
			}
			for f := range levels {
				fmt.Println(f, m.given[0][f], m.given[1][f])
			}
		}
	}
}
