package book

import (
	"testing"

	"donorbook/internal/store"
)

func TestConcurrentTheMemoryOfACacheIsBounded(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	most := store.MaxCached / size
	var cache store.Cache[int, string]
	for i := range 3 * most {
		cache.Keep(i, "a", size)
		cache.Keep(i, "b", size) // takes the place of the one before
		if value, ok := cache.Get(i); !ok || value != "b" {
			t.Fatalf("value %d was forgotten at once", i)
		}
		held := 0
		for key := range i + 1 {
			if _, ok := cache.Get(key); ok {
				held++
			}
		}
		if want := i%most + 1; held != want {
			t.Fatalf("%d values are held after %d, want %d", held, i+1, want)
		}
	}
	for i := range store.MaxCached >> 9 {
		cache.Keep(i, "", 0) // small ones count, too
	}
	if _, ok := cache.Get(0); ok {
		t.Error("small values are held without a limit")
	}
}
