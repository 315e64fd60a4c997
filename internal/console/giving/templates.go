// Package giving has the pages of what was given: gifts, recurring gifts, donors, statements and reports.
package giving

import "embed"

// Templates are those of the pages here.
//
//go:embed *.html
var Templates embed.FS
