// Package campaigns has the pages where people run campaigns. What visitors see of a campaign is in package public.
package campaigns

import "embed"

// Templates are those of the pages here.
//
//go:embed *.html
var Templates embed.FS
