// Package work has the pages of work that was done, or is being done in the background: imports, bulk changes, undo, and the history of the organization.
package work

import "embed"

// Templates are those of the pages here.
//
//go:embed *.html
var Templates embed.FS
