package console_test

import (
	"testing"

	"donorbook/internal/console"
)

// The program parses a page when it is first opened; this test finds mistakes earlier.
func TestEveryPageCanBeParsed(t *testing.T) {
	if err := console.ParsePages(); err != nil {
		t.Error(err)
	}
}
