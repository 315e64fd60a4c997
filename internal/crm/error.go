// Package crm holds the rules about contacts: what a contact and a tag are, what input is accepted, when two people are
// the same and how they merge; and what all nouns share: errors, pages and retry keys. The packages below it have the
// other nouns. All of them are pure: no SQL, no HTTP, no clock, no logging. Callers pass the time in.
package crm

import (
	"errors"
	"time"

	"donorbook/internal/crm/doc"
)

// The failures that every caller knows how to say. Anything else is internal: it is logged, and its text never
// leaves the server.
var (
	// ErrUnauthenticated: the key is missing, malformed, unknown, expired or revoked.
	ErrUnauthenticated = errors.New("Unauthenticated.") //lint:ignore ST1005 the words of the specification
	// ErrForbidden: the caller lacks the permission.
	ErrForbidden = errors.New("This action is unauthorized.") //lint:ignore ST1005 the words of the specification
	// ErrNotFound: it does not exist, or belongs to another account, which no caller can tell apart.
	ErrNotFound = errors.New("not found")
	// ErrArchived: the contact must be restored before it can be read or changed.
	ErrArchived = errors.New("archived")
	// ErrTaken: a value that must be unique belongs to another record. A form learns it as a fault of the field.
	ErrTaken = errors.New("taken")
	// ErrChanged: another user has changed it since the caller looked, so nothing was written.
	ErrChanged = errors.New("changed since it was seen")
	// ErrNotMatched: it is not in the state that the caller named as a condition, so nothing was written.
	ErrNotMatched = errors.New("not in the state that was named")
	// ErrImporting: all data of the account is being imported, so nothing else can change it until that is done.
	ErrImporting = errors.New("the account is being imported and cannot be changed until that is done")
	// ErrUnavailable: the database cannot answer, or the outcome of a commit is unknown.
	ErrUnavailable = errors.New("the service is unavailable")
	// ErrTooMany: so many large lists and files of the account are being read already that no more may wait.
	ErrTooMany = errors.New("too many large lists and files of this account are being read at once")
	// ErrCrowded: the same of all accounts together.
	ErrCrowded = errors.New("too many large lists and files are being read at once")
)

// A client that does not know whether its request arrived sends it again with the same retry key, the Idempotency-Key
// of the request's headers, and gets the first answer.

// RetryWindow is how long the answer to a request with a retry key is kept.
const RetryWindow = 24 * time.Hour

const maxRetryKey = 255

const retryKeyField = "Idempotency-Key"

// ErrRetryKeyReused: the key belongs to another request.
var ErrRetryKeyReused = doc.NewInvalid(retryKeyField,
	"The Idempotency-Key header was already used for a different request. Use a new key for each request, and the same key only to repeat one.")

// ParseRetryKey reads the values of the header.
func ParseRetryKey(values []string) (string, error) {
	if len(values) != 1 || len(values[0]) == 0 || len(values[0]) > maxRetryKey || !isVisibleASCII(values[0]) {
		return "",
			doc.NewInvalid(retryKeyField,
				"The Idempotency-Key header must be sent once, with 1 to %v visible ASCII characters and no spaces.",
				maxRetryKey)
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
