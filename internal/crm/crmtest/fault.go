// Package crmtest is what the tests of several packages of rules need: faults to compare, random bodies, and a measure
// of how work grows. It is for tests alone, and knows no noun, so that the tests of every noun can use it.
package crmtest

import (
	"errors"
	"strings"
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

// WantFaults fails where an error says something else than what is wanted, "" for no error, or does not name the fields
// that are wrong.
func WantFaults(t testing.TB, what string, err error, want string) {
	t.Helper()
	got := ""
	if faults := FaultsOf(t, err); faults != nil {
		var v *doc.Invalid
		errors.As(err, &v)
		got = v.AllFaults()
		for _, fault := range faults {
			if !strings.HasPrefix(fault.Message(), "The "+fault.Field()+" field ") {
				t.Errorf("%.200s: %s is said of %s", what, fault.Message(), fault.Field())
			}
		}
	}
	if got != want {
		t.Errorf("%.200s:\n%s\nwant\n%s", what, got, want)
	}
}

// Fields are the fields of the faults in an error.
func Fields(err error) (all []string) {
	var v *doc.Invalid
	if errors.As(err, &v) {
		for _, fault := range v.Faults {
			all = append(all, fault.Field)
		}
	}
	return all
}

// Field is where the fault is.
func (s Said) Field() string { return s[0] }

// Message is what the fault says.
func (s Said) Message() string { return s[1] }
