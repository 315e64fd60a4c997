package store

import "sync"

// Cache holds in memory what was read, up to a limit for each cache. Where a value would be too much, the others are dropped: they are quickly
// read again. The caller knows whether a value is still true.
type Cache[K comparable, V any] struct {
	mu   sync.RWMutex
	held map[K]cached[V]
	size int64
}

type cached[V any] struct {
	value V
	size  int64
}

// MaxCached bounds what a cache holds, in bytes. A value counts for leastCached at least.
const (
	MaxCached   = 16 << 20
	leastCached = 1 << 10
)

// Get is the value that was kept under a key.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	held, ok := c.held[key]
	return held.value, ok
}

// Keep holds a value of about so many bytes.
func (c *Cache[K, V]) Keep(key K, value V, size int64) {
	held := cached[V]{value, max(leastCached, size)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += held.size - c.held[key].size
	if c.held == nil || c.size > MaxCached {
		c.held, c.size = make(map[K]cached[V]), held.size
	}
	c.held[key] = held
}
