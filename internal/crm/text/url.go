package text

import (
	"net/url"
	"strings"
	"unicode"
)

// IsWebURL accepts an absolute http or https URL with a host. User info is refused, because it serves to make a
// link look like another one, and so is the backslash, which browsers and programs read differently.
func IsWebURL(value string) bool {
	if strings.ContainsFunc(value, notInURL) {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.User != nil {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && strings.ContainsFunc(u.Hostname(), isHostSign)
}

func notInURL(r rune) bool {
	return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r)
}

// isHostSign tells a host from mere punctuation, as in "http://.".
func isHostSign(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

const MaxURL = 2048
