//go:build !linux

package web

// fileLimit is known on Linux only.
func fileLimit() int { return 0 }
