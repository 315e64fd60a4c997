// Package organization has the home page of an organization, and its settings: members, API keys, custom fields and chapters.
package organization

import "embed"

// Templates are those of the pages here.
//
//go:embed *.html
var Templates embed.FS
