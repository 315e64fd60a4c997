// Package crm holds the rules of Donorbook: what a contact, a tag, a campaign, an account and a key are,
// what input is accepted, when two people are the same and how they merge. It is pure: no SQL, no HTTP,
// no clock, no logging. Whoever needs the time passes it in.
package crm

import (
	"errors"
	"fmt"
)

// The failures that every door knows how to say. Anything else is internal: it is logged, and its text never
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
	// ErrUnavailable: the database cannot answer, or the outcome of a commit is unknown.
	ErrUnavailable = errors.New("the service is unavailable")
)

// Fault is one thing that is wrong with one field of an input.
type Fault struct {
	Field   string // dotted path, as in emails.0.value
	Message string // a plain, complete sentence that names the field
}

// Invalid is an input that was refused: every fault at once, in the order of the fields.
type Invalid struct {
	Faults []Fault

	fields  *textSet // of the faults that were counted, so that one of many is found at once
	counted int
}

// Add notes one more fault.
func (v *Invalid) Add(field, format string, args ...any) {
	v.Faults = append(v.Faults, Fault{Field: field, Message: fmt.Sprintf(format, args...)})
}

// has tells whether the field is wrong already: one fault for each place is enough.
func (v *Invalid) has(field string) bool {
	if len(v.Faults) == 0 {
		return false
	}
	if v.fields == nil {
		v.fields = new(textSet)
	}
	for ; v.counted < len(v.Faults); v.counted++ {
		v.fields.add(v.Faults[v.counted].Field)
	}
	return v.fields.has(field)
}

// Err is the error to return: nil where nothing is wrong.
func (v *Invalid) Err() error {
	if len(v.Faults) == 0 {
		return nil
	}
	return v
}

// Error is the first fault, and how many more there are.
func (v *Invalid) Error() string {
	switch n := len(v.Faults); n {
	case 0:
		return "The input is invalid."
	case 1:
		return v.Faults[0].Message
	case 2:
		return v.Faults[0].Message + " (and 1 more error)"
	default:
		return fmt.Sprintf("%s (and %d more errors)", v.Faults[0].Message, n-1)
	}
}

// invalid is the error for a single fault.
func invalid(field, format string, args ...any) error {
	v := new(Invalid)
	v.Add(field, format, args...)
	return v
}

// Malformed is an input that could not be read at all, such as a body that is not a JSON object.
type Malformed struct {
	Message string
}

func (m *Malformed) Error() string { return m.Message }
