package crm

import (
	"strings"
	"unicode/utf8"
)

// digitsOf are the digits in a text, and nothing else of it.
func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// cut is a text of at most so many bytes, in whole characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
