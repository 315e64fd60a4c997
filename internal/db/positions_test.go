package db

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

var scopes = []Scope{On, Off, All}

// model is the list of an account in the simplest form: for each contact in turn, whether it is active.
type model []bool

func (m model) scope(scope Scope) (seqs []int64) {
	for i, active := range m {
		if scope == All || active == (scope == On) {
			seqs = append(seqs, int64(i)+1)
		}
	}
	return seqs
}

// cut is a page of a whole list.
func cut(seqs []int64, skip, n int64) []int64 {
	skip = min(skip, int64(len(seqs)))
	return seqs[skip:min(skip+n, int64(len(seqs)))]
}

// follow makes positions that agree with the model, after many changes.
func follow(random *rand.Rand, m model) *Positions {
	p := new(Positions)
	order := random.Perm(len(m)) // revisions come in any order of the contacts
	for _, i := range order {
		if random.IntN(4) == 0 {
			p.set(int64(i)+1, !m[i])
		}
	}
	for _, i := range order {
		p.set(int64(i)+1, m[i])
		if random.IntN(8) == 0 {
			p.set(int64(i)+1, m[i])
		}
	}
	return p
}

func TestPositionsAgreeWithANaiveList(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 2, 63, 64, 65, 511, 512, 513, 5000, blockBits, blockBits + 1, 2*blockBits + 700, 8 * blockBits, 16*blockBits + 700} {
		for _, chance := range []float64{0, 0.002, 0.5, 0.998, 1} { // to be active
			m := make(model, size)
			for i := range m {
				m[i] = random.Float64() < chance
			}
			if size > 2000 { // a long range of one kind, to be skipped
				at := random.IntN(size - 1500)
				for i := range 1500 {
					m[at+i] = chance > 0.5
				}
			}
			p := follow(random, m)
			for _, scope := range scopes {
				all := m.scope(scope)
				total := int64(len(all))
				skips := []int64{0, 1, total / 3, total - 101, total - 20, total - 1}
				for range 20 {
					skips = append(skips, random.Int64N(total+1))
				}
				for _, skip := range skips {
					if skip < 0 || skip >= total {
						continue // the totals are known before positions are asked
					}
					for _, n := range []int64{1, 20, 100} {
						if got, want := p.page(scope, skip, n), cut(all, skip, n); !slices.Equal(got, want) {
							t.Fatalf("%d contacts, %v active, scope %d after %d: got %v, want %v", size, chance, scope, skip, got, want)
						}
					}
				}
			}
		}
	}
}

func TestPositionsAgreeWithANaiveListWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, p := model{}, new(Positions)
		for _, change := range rapid.SliceOfN(rapid.IntRange(-300, 300), 1, 200).Draw(t, "changes") {
			switch {
			case len(m) == 0, change > 200: // a new contact
				m = append(m, true)
				p.set(int64(len(m)), true)
			default: // one of them is archived or restored
				i := max(change, -change) % len(m)
				m[i] = change > 0
				p.set(int64(i)+1, m[i])
			}
		}
		n := rapid.Int64Range(1, 100).Draw(t, "per page")
		for _, scope := range scopes {
			all := m.scope(scope)
			for skip := range int64(len(all)) {
				if got, want := p.page(scope, skip, n), cut(all, skip, n); !slices.Equal(got, want) {
					t.Fatalf("scope %d after %d: got %v, want %v", scope, skip, got, want)
				}
			}
		}
	})
}

func TestTheCacheOfPositionsIsBounded(t *testing.T) {
	t.Parallel()
	var cache PositionCache
	for account := int64(1); account <= 35; account++ {
		p := cache.Of(account)
		p.held.Store(maxCached / 10) // a large account
		if cache.Of(account) != p {
			t.Fatal("an account that was just listed is forgotten")
		}
		if n := len(cache.accounts); n > 10 {
			t.Fatalf("%d accounts are held", n)
		}
	}
	p := new(Positions)
	p.set(3*blockBits, true)
	if held := p.held.Load(); held < 3*blockBits {
		t.Errorf("%d contacts take room for %d", 3*blockBits, held)
	}
}

// For the race detector: one index grows during look-ups in others.
func TestPositionsGrowWhileOthersAreLookedUp(t *testing.T) {
	t.Parallel()
	var cache PositionCache
	var group sync.WaitGroup
	for i := range int64(8) {
		group.Go(func() {
			p := cache.Of(i)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.set(blockBits+1, true)
		})
	}
	group.Wait()
	if len(cache.accounts) != 8 {
		t.Errorf("%d accounts are held", len(cache.accounts))
	}
}
