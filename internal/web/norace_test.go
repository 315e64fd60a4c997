//go:build !race

package web

const poolForgets = false
