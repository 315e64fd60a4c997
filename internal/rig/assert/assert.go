// Package assert says in a few words what tests expect. It knows nothing of the product, so that the tests of every package can
// use it.
package assert

import (
	"reflect"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Failer is a test, also one that draws its input by chance.
type Failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Must is what a call returns that must succeed.
func Must[T any](v T, err error) func(Failer) T {
	return func(t Failer) T {
		t.Helper()
		Succeed(t, err)
		return v
	}
}

// Must2 is what a call returns that must succeed and returns two values.
func Must2[T, U any](v T, u U, err error) func(Failer) (T, U) {
	return func(t Failer) (T, U) {
		t.Helper()
		Succeed(t, err)
		return v, u
	}
}

// Succeed is for calls that must succeed and return nothing else.
func Succeed(t Failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal tells how what a test has got differs from what it wants; what says what that is, and may have a format.
func Equal[T any](t Failer, got, want T, what ...any) {
	t.Helper()
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(want, got, all, cmpopts.EquateEmpty()); diff != "" {
		if len(what) == 0 {
			what = append(what, "it differs")
		}
		t.Errorf(what[0].(string)+" (-want +got):\n%s", append(what[1:], diff)...)
	}
}

// Contains fails where a text lacks a part; what says what the text is, and may have a format.
func Contains(t Failer, text, part string, what ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		if len(what) == 0 {
			what = append(what, "it")
		}
		t.Errorf(what[0].(string)+" lacks %q:\n%s", append(what[1:], part, text)...)
	}
}

// Same ends a test where two values differ.
func Same[T any](t Failer, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Fatal(diff)
	}
}

// Says fails where an error says something else than is wanted, "" where there must be none.
func Says(t Failer, err error, want string, what ...any) {
	t.Helper()
	said := ""
	if err != nil {
		said = err.Error()
	}
	Equal(t, said, want, what...)
}

// Tells fails where a function says no of a text that it should say yes to, or yes of another one.
func Tells(t Failer, tells func(string) bool, yes, no []string) {
	t.Helper()
	for _, text := range yes {
		Equal(t, tells(text), true, "%.80q", text)
	}
	for _, text := range no {
		Equal(t, tells(text), false, "%.80q", text)
	}
}
