package table

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// SECURITY.md says what a file may have at most.
func TestTheLimitsOfARowAreTold(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	if says := fmt.Sprintf("| a row of an imported file | %d MiB, and %d MiB in a cell;", maxRow>>20, maxCell>>20); !strings.Contains(string(text), says) {
		t.Errorf("SECURITY.md does not say %q", says)
	}
}
