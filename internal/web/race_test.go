//go:build race

package web

// Under the race detector, sync.Pool drops some of its contents on purpose.
const poolForgets = true
