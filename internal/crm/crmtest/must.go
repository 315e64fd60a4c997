package crmtest

import "github.com/google/go-cmp/cmp"

// Failer is a test, also one that draws its input by chance.
type Failer interface {
	Helper()
	Fatal(args ...any)
}

// Must is what a call returns that must succeed. The package rig, which knows contacts, has the same for those who may know it.
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

// Same ends a test where two values differ.
func Same[T any](t Failer, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Fatal(diff)
	}
}
