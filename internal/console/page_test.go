package console_test

import (
	"testing"

	"donorbook/internal/console"
)

// A page is parsed when somebody opens it: this is where a mistake in one is found earlier.
func TestEveryPageCanBeParsed(t *testing.T) {
	if err := console.ParsePages(); err != nil {
		t.Error(err)
	}
}
