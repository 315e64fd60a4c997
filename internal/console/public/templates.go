// Package public has what visitors without an account see: the pages of campaigns, and pictures.
package public

import "embed"

// Templates are those of the pages here.
//
//go:embed *.html
var Templates embed.FS
