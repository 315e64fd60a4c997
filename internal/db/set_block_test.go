package db

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestABlockIsReadAsItWasStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.SliceOfNDistinct(rapid.IntRange(0, BlockSize-1), 1,
			rapid.SampledFrom([]int{5, 255, 256, 257, BlockSize}).Draw(t, "most"), rapid.ID[int]).Draw(t, "places")
		block := rapid.Int64Range(0, 300).Draw(t, "block")
		var b SetBlock
		var want Set
		for _, at := range places {
			b.Put(at, true)
			want.Add(block*BlockSize + int64(at) + 1)
		}
		stored := b.Encode()
		if most := min(2*len(places), BlockSize/8); len(stored) != most {
			t.Fatalf("%d numbers are stored as %d bytes, want %d", len(places), len(stored), most)
		}
		var got Set
		succeed(t, got.AddBlock(block, int64(len(places)), stored))
		if got.Count() != int64(len(places)) || b.Count() != got.Count() {
			t.Fatalf("%d numbers became %d", len(places), got.Count())
		}
		for at := range BlockSize {
			seq := block*BlockSize + int64(at) + 1
			equal(t, got.Has(seq), want.Has(seq), "%d is in the set", seq)
			if of, place := BlockOf(seq); of != block || place != at {
				t.Fatalf("%d is at %d of block %d", seq, place, of)
			}
		}
		for _, at := range places {
			b.Put(at, false)
		}
		equal(t, b, (SetBlock{}), "after all were taken out")
	})
}

func TestADamagedBlockIsRefused(t *testing.T) {
	t.Parallel()
	full := bytes.Repeat([]byte{0xff}, BlockSize/8)
	for _, test := range []struct {
		name        string
		block, size int64
		stored      []byte
	}{
		{"nothing", 0, 0, nil},
		{"no bits", 0, 0, make([]byte, BlockSize/8)},
		{"an odd number of bytes", 0, 1, []byte{1}},
		{"a place past the end", 0, 1, []byte{0, 0x10}},
		{"a place twice", 0, 2, []byte{1, 0, 1, 0}},
		{"places that descend", 0, 2, []byte{2, 0, 1, 0}},
		{"a size that is too large", 0, 3, []byte{1, 0, 2, 0}},
		{"a size that is too small", 0, 4095, full},
		{"few bits", 0, 8, append([]byte{0xff}, make([]byte, BlockSize/8-1)...)},
		{"too many bytes", 0, 4096, append(full, 0, 0)},
		{"a block before the first", -1, 1, []byte{1, 0}},
		{"a block that no sequence reaches", MaxBlock + 1, 1, []byte{1, 0}},
	} {
		var s Set
		if err := s.AddBlock(test.block, test.size, test.stored); err == nil || s.Count() != 0 {
			t.Errorf("%s: %v, %d numbers", test.name, err, s.Count())
		}
	}
}

func FuzzDecodeBlock(f *testing.F) {
	f.Add(int64(2), []byte{1, 0, 2, 0})
	f.Add(int64(4096), bytes.Repeat([]byte{0xff}, BlockSize/8))
	f.Fuzz(func(t *testing.T, size int64, stored []byte) {
		if b, err := DecodeBlock(0, size, stored); err == nil && !bytes.Equal(b.Encode(), stored) {
			t.Errorf("%x is read as %v, which is stored as %x", stored, b, b.Encode())
		}
	})
}

// A range has the sequence numbers from its beginning to its end, wherever they lie in words, and its clone is another
// set.
func TestRangesOfSequenceNumbers(t *testing.T) {
	for _, ends := range [][2]int64{{1, 0}, {1, 1}, {1, 64}, {2, 63}, {64, 65}, {65, 128}, {130, 300}, {5, 4},
		{200, 100}} {
		set, want := Range(ends[0], ends[1]), Set{}
		for seq := ends[0]; seq <= ends[1]; seq++ {
			want.Add(seq)
		}
		if n := want.Count(); set.Count() != n || !slices.Equal(set.Page(0, n), want.Page(0, n)) {
			t.Errorf("from %d to %d: %v", ends[0], ends[1], set.Page(0, 400))
		}
		for seq := int64(-1); seq <= 310; seq++ {
			equal(t, set.Rank(seq), max(0, min(seq, ends[1])-ends[0]+1), "%v (%v) (%v)", ends[0], ends[1], seq)
		}
		other := set.Clone()
		if other.Add(400); set.Has(400) || !other.Has(400) {
			t.Errorf("a clone of %v is not a set of its own", ends)
		}
	}
}
