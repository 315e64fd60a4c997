package duplicate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
)

// Finder finds the pairs of contacts that are about one person. All contacts of an account are added, then Run is
// called once.
type Finder struct {
	ids    []int64
	starts []uint32 // of each record in its chunk
	chunks []string // of chunkSize records each
	chunk  []byte   // that is being filled

	counts   *counts
	crowded  map[uint64]bool // keys that more than a crowd have
	members  []member        // of the block that is being compared
	patterns []pattern
	seen     map[pair]int32 // the index of a pattern, or rather not worth a look
	model    *Model         // that decides what is worth a second look
	kept     []candidate
}

// member is a record of a block.
type member struct {
	Record
	keys []keys
}

// candidate is a pair that may be about one person.
type candidate struct{ a, b, pattern int32 }

const (
	chunkSize = 1 << 12
	indexBits = 24 // of the number of a record beside its key: up to 16 million contacts
)

// Add adds a contact.
func (f *Finder) Add(id int64, r *Record) {
	f.ids, f.starts = append(f.ids, id), append(f.starts, uint32(len(f.chunk)))
	if f.chunk = r.append(f.chunk); len(f.ids)%chunkSize == 0 {
		f.chunks, f.chunk = append(f.chunks, string(f.chunk)), f.chunk[:0]
	}
}

// read reads the record with a number.
func (f *Finder) read(r *Record, i int) { r.read(f.chunks[i/chunkSize][f.starts[i]:]) }

// Run finds the pairs and calls found with each of them, the likeliest first. It calls progress now and then with how
// much is done, from 0 to 1. The model that it learned compares later changes.
func (f *Finder) Run(ctx context.Context, progress func(done float64), found func(Found) error) (*Model, error) {
	if f.chunks, f.chunk = append(f.chunks, string(f.chunk)), nil; len(f.ids) > 1<<indexBits {
		return nil, errors.New("too many contacts to look for duplicates")
	}
	f.count()
	f.crowded, f.seen, f.model = make(map[uint64]bool), make(map[pair]int32), newModel(f.counts)
	f.sample()
	var entries []uint64
	for pass := range passes {
		var err error
		if entries, err = f.pass(ctx, pass, entries[:0]); err != nil {
			return nil, err
		}
		progress(float64(pass+1) / float64(len(passes)))
	}
	f.model.learn(f.patterns)
	for _, m := range f.group(ctx) {
		if err := found(f.found(m)); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return f.model, ctx.Err()
}

// count counts the values of all records.
func (f *Finder) count() {
	t := newTally(len(f.ids))
	var r Record
	for _, round := range []func(*Record){t.note, t.count} {
		for i := range f.ids {
			f.read(&r, i)
			round(&r)
		}
	}
	f.counts = &t.counts
}

// samples is how many random pairs show how strangers compare.
const samples = 40_000

// sample compares random pairs, always the same ones.
func (f *Finder) sample() {
	var seen [fields][]float64
	for field := range levels {
		seen[field] = make([]float64, len(levels[field]))
	}
	dice := rand.New(rand.NewPCG(1, uint64(len(f.ids))))
	var a, b Record
	for range min(samples, len(f.ids)*(len(f.ids)-1)/2) {
		i, j := dice.IntN(len(f.ids)), dice.IntN(len(f.ids))
		if i == j {
			continue
		}
		f.read(&a, i)
		f.read(&b, j)
		c := comparison{a: &a, b: &b, counts: f.counts}
		c.names()
		p := c.others()
		for field, level := range p.levels {
			seen[field][level]++
		}
	}
	f.model.observe(&seen)
}

// pass compares all records that share the key of a pass. An entry is a key with the number of a record behind it, so
// that sorting brings blocks together.
func (f *Finder) pass(ctx context.Context, pass int, entries []uint64) ([]uint64, error) {
	var m member
	for i := range f.ids {
		f.read(&m.Record, i)
		m.keys = keysOf(m.keys, &m.Record, pass, pass)
		for k := range m.keys {
			if key := m.keys[k][pass][0]; key != 0 {
				entries = append(entries, entry(key, i))
			}
		}
	}
	slices.Sort(entries)
	entries = slices.Compact(entries)
	for block := range blocks(entries) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(block) <= crowd {
			f.block(pass, block)
			continue
		}
		f.crowded[block[0]>>indexBits] = true
		f.refine(pass, block)
	}
	return entries, nil
}

func entry(key uint64, i int) uint64 { return key>>indexBits<<indexBits | uint64(i) }

func indexOf(entry uint64) int { return int(entry & (1<<indexBits - 1)) }

// blocks are the entries that have the same key, where there are several.
func blocks(entries []uint64) func(yield func([]uint64) bool) {
	return func(yield func([]uint64) bool) {
		for len(entries) > 0 {
			n := 1
			for n < len(entries) && entries[n]>>indexBits == entries[0]>>indexBits {
				n++
			}
			if n > 1 && !yield(entries[:n]) {
				return
			}
			entries = entries[n:]
		}
	}
}

// refine compares the records of a crowd that share the finer key, too.
func (f *Finder) refine(pass int, block []uint64) {
	var m member
	coarse := block[0] >> indexBits
	for j, e := range block {
		i := indexOf(e)
		f.read(&m.Record, i)
		m.keys = keysOf(m.keys, &m.Record, pass, pass)
		for k := range m.keys {
			if m.keys[k][pass][0]>>indexBits == coarse {
				block[j] = entry(m.keys[k][pass][1], i)
				break
			}
		}
	}
	slices.Sort(block)
	for finer := range blocks(block) {
		if len(finer) <= crowd {
			f.block(pass, finer)
		} else {
			f.crowded[finer[0]>>indexBits] = true
		}
	}
}

// block compares the records of a block with each other, but for pairs that an earlier pass has compared.
func (f *Finder) block(pass int, block []uint64) {
	for len(f.members) < len(block) {
		f.members = append(f.members, member{})
	}
	for j, e := range block {
		m := &f.members[j]
		f.read(&m.Record, indexOf(e))
		m.keys = keysOf(m.keys, &m.Record, 0, pass-1)
	}
	for x := range block {
		for y := x + 1; y < len(block); y++ {
			a, b := &f.members[x], &f.members[y]
			if i, j := indexOf(block[x]), indexOf(block[y]); i != j && !f.met(pass, a, b) {
				f.compare(int32(i), int32(j), &a.Record, &b.Record)
			}
		}
	}
}

// met tells whether an earlier pass has brought two records together.
func (f *Finder) met(pass int, a, b *member) bool {
	for i := range a.keys {
		for j := range b.keys {
			for p := range pass {
				x, y := &a.keys[i][p], &b.keys[j][p]
				if x[0] == y[0] && x[0] != 0 && (!f.crowded[x[0]>>indexBits] || x[1] == y[1] &&
					!f.crowded[x[1]>>indexBits]) {
					return true
				}
			}
		}
	}
	return false
}

// mostKept bounds the memory that contacts which are all alike can cause. A million usual contacts have about a third
// of it.
const mostKept = 4_000_000

// worthKeeping is how likely a pair must be before anything was learned to be looked at again.
const worthKeeping = 0.001

// compare compares two records, counts the pattern, and keeps the pair where it may be about one person.
func (f *Finder) compare(i, j int32, a, b *Record) {
	p, ok := compare(a, b, f.counts)
	if !ok {
		return
	}
	at, known := f.seen[p]
	if !known {
		at = int32(len(f.patterns))
		f.patterns = append(f.patterns, pattern{pair: p})
		if f.model.probability(&p) < worthKeeping {
			at |= math.MinInt32
		}
		f.seen[p] = at
	}
	if f.patterns[at&math.MaxInt32].count++; at >= 0 && len(f.kept) < mostKept {
		f.kept = append(f.kept, candidate{i, j, at})
	}
}
