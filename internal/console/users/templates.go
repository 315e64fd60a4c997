// Package users has the pages of users themselves: signing in, the first setup, invitations and profiles.
package users

import "embed"

// Templates are those of the pages here.
//
//go:embed *.html
var Templates embed.FS
