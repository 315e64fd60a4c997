// Package crmtest is what the tests of several packages of rules need: faults to compare, random bodies, and a measure of how work grows. It is for tests
// alone, and knows no noun, so that the tests of every noun can use it.
package crmtest

import (
	"errors"
	"testing"

	"donorbook/internal/crm/doc"
)

// Said is a fault as programs see it: the field and the message.
type Said [2]string

// SaidOf are faults as programs see them.
func SaidOf(faults []doc.Fault) (all []Said) {
	for _, fault := range faults {
		all = append(all, Said{fault.Field, fault.String()})
	}
	return all
}

// FaultsOf are the faults in an error, nil if there is no error.
func FaultsOf(t testing.TB, err error) []Said {
	t.Helper()
	var v *doc.Invalid
	if err != nil && !errors.As(err, &v) {
		t.Fatalf("got the error %v, want faults", err)
	}
	if v == nil {
		return nil
	}
	return SaidOf(v.Faults)
}

// ErrorText is what an error says, "" where there is none.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Field is where the fault is.
func (s Said) Field() string { return s[0] }

// Message is what the fault says.
func (s Said) Message() string { return s[1] }
