package web

import "math/rand/v2"

const requestIDAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// newRequestID is 128 random bits in letters and digits. An id must be unique, not secret, so the runtime's generator is good
// enough, and it needs no system call.
func newRequestID() (text [26]byte) {
	high, low := rand.Uint64(), rand.Uint64()
	for i := range text {
		text[i] = requestIDAlphabet[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return text
}

// validRequestID accepts what is safe in a log and in a header: 1 to 64 letters, digits, dots, dashes, underscores.
func validRequestID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !isLetterOrDigit(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
