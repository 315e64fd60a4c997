package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// NewToken makes the value of a cookie or the end of a link, and the hash that is all that is kept of it. It has 256
// random bits, so one round of SHA-256 is enough.
func NewToken() (token, hash string) {
	bits := make([]byte, 32)
	rand.Read(bits) //nolint:errcheck // never fails
	token = base64.RawURLEncoding.EncodeToString(bits)
	return token, HashToken(token)
}

// HashToken is what is kept of a token.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// IsHash tells whether a text can be the hash of a token at all.
func IsHash(text string) bool {
	return len(text) == hex.EncodedLen(sha256.Size) && strings.Trim(text, "0123456789abcdef") == ""
}
