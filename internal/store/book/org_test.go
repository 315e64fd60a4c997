package book

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm/doc"
)

// expect fails unless values, written one after the other, are what is wanted.
func expect(t testing.TB, what, want string, values ...any) {
	t.Helper()
	if got := strings.TrimSuffix(fmt.Sprintln(values...), "\n"); got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// refuses, rejects and says are for calls that must fail: with an error, because of what was sent, and with some words.

func refuses(t testing.TB, what string, want error) func(result ...any) {
	return func(result ...any) {
		t.Helper()
		if err, _ := result[len(result)-1].(error); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
}

func rejects(t testing.TB, what string) func(result ...any) {
	return func(result ...any) {
		t.Helper()
		if err, _ := result[len(result)-1].(error); !errors.As(err, new(*doc.Invalid)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func says(t testing.TB, what, words string) func(result ...any) {
	return func(result ...any) {
		t.Helper()
		if err, _ := result[len(result)-1].(error); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", what, err, words)
		}
	}
}
