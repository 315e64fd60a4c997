//go:build race

package web

// Under the race detector sync.Pool forgets some of what it is given, on purpose.
const poolForgets = true
