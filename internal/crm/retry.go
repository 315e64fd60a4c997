package crm

import (
	"time"

	"donorbook/internal/crm/doc"
)

// A client that does not know whether its request arrived sends it again with the same retry key, the Idempotency-Key of the
// request's headers, and gets the first answer.

// RetryWindow is how long the answer to a request with a retry key is kept.
const RetryWindow = 24 * time.Hour

const maxRetryKey = 255

const retryKeyField = "Idempotency-Key"

// ErrRetryKeyReused: the key belongs to another request.
var ErrRetryKeyReused = doc.NewInvalid(retryKeyField, "The Idempotency-Key header was already used for a different request. Use a new key for each request, and the same key only to repeat one.")

// ParseRetryKey reads the values of the header.
func ParseRetryKey(values []string) (string, error) {
	if len(values) != 1 || len(values[0]) == 0 || len(values[0]) > maxRetryKey || !isVisibleASCII(values[0]) {
		return "", doc.NewInvalid(retryKeyField, "The Idempotency-Key header must be sent once, with 1 to %v visible ASCII characters and no spaces.", maxRetryKey)
	}
	return values[0], nil
}

func isVisibleASCII(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
