package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The limits of RFC 5321 and of the domain name system, in bytes.
const (
	maxLocalPart = 64
	maxDomain    = 253
	maxLabel     = 63
)

// NormalEmail checks a trimmed text to be one bare email address, and returns the form that addresses are
// compared by, that of FoldEmail. People do not tell two mailboxes apart by letter case.
func NormalEmail(value string) (key string, ok bool) {
	at := strings.IndexByte(value, '@')
	if at < 0 || !utf8.ValidString(value) || !isLocalPart(value[:at]) || !isMailDomain(value[at+1:]) {
		return "", false
	}
	return FoldEmail(value), true
}

// FoldEmail is an email, or a part of one, in the form that they are compared by: case-folded, with a domain in the
// letters that punycode stands for.
func FoldEmail(value string) string {
	at := strings.LastIndexByte(value, '@') + 1
	if domain := value[at:]; !isPlainHost(domain) && len(domain) <= 4*maxDomain { // IDNA takes quadratic time
		if written, err := idna.Lookup.ToUnicode(domain); err == nil {
			value = value[:at] + written
		}
	}
	return FoldCase(value)
}

// isLocalPart accepts words of mail characters with single dots between. Letters beyond ASCII are mail characters
// too (RFC 6531), with the marks that some scripts write them with; other symbols beyond ASCII are not.
func isLocalPart(local string) bool {
	if local == "" || len(local) > maxLocalPart {
		return false
	}
	afterDot := true
	for _, r := range local {
		switch {
		case r == '.':
			if afterDot {
				return false
			}
		case r < utf8.RuneSelf:
			if !isAtext(byte(r)) {
				return false
			}
		case !unicode.In(r, unicode.L, unicode.M, unicode.N):
			return false
		}
		afterDot = r == '.'
	}
	return !afterDot
}

// isAtext is atext of RFC 5322: what may stand in a mailbox name without quotes.
func isAtext(c byte) bool {
	return isLetter(c) || IsDigit(c) || strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}

// isMailDomain accepts a domain name of at least two labels, in any script. An IP address in brackets fails on the
// bracket, a bare one on its last label.
func isMailDomain(domain string) bool {
	if len(domain) > 4*maxDomain {
		return false // IDNA takes quadratic time
	}
	if !isPlainHost(domain) {
		ascii, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return false
		}
		domain = ascii
	}
	last, labels := "", 0
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		last, labels = label, labels+1
	}
	return labels > 1 && len(domain) <= maxDomain && !allDigits(last)
}

// isPlainHost tells the everyday domain, of letters, digits, dots and single hyphens, that needs no IDNA tables:
// it is already what they would make of it.
func isPlainHost(domain string) bool {
	return strings.Trim(domain, Base62+".-") == "" && !strings.Contains(domain, "--") // which may be xn--
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Login is the form of an email under which a user signs in. A text that is no email has one too, which no user has.
func Login(email string) string {
	if normal, ok := NormalEmail(strings.TrimSpace(email)); ok {
		return normal
	}
	return FoldCase(strings.TrimSpace(email))
}
