package crm

import (
	"errors"
	"strings"
	"testing"

	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

func TestParseRetryKey(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"!", "~", "0b9c1f5e-6a0c-4c39-9b0e-2f6c8f1d7a44", strings.Repeat("k", 255)} {
		assert.Equal(t, assert.Must(ParseRetryKey([]string{good}))(t), good)
	}
	for _, bad := range [][]string{{}, {""}, {"a", "a"}, {strings.Repeat("k", 256)}, {"a b"}, {"a\tb"}, {"a\x00"},
		{"a\x7f"}, {"ä"}, {"\xff"}} {
		_, err := ParseRetryKey(bad)
		var invalid *doc.Invalid
		if !errors.As(err, &invalid) || len(invalid.Faults) != 1 || invalid.Faults[0].Field != "Idempotency-Key" ||
			!strings.Contains(err.Error(), "1 to 255 visible ASCII") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
