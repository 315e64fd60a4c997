// Package contacts has the pages of contacts: their list, forms and history, tags, segments, duplicates, merges, and the search in everything.
package contacts

import "embed"

// Templates are those of the pages here.
//
//go:embed *.html
var Templates embed.FS
