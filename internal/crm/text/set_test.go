package text

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	_ "donorbook/internal/rig/drill" // who draws by chance draws the same each time
)

func TestASetKnowsWhatWasAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set Set
		known := map[string]bool{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 30), 0, 60).Draw(t, "numbers") {
			text := fmt.Sprint(n)
			if isNew := set.Add(text); isNew == known[text] || !set.Contains(text) {
				t.Fatalf("%s after %v: new is %v", text, known, isNew)
			}
			known[text] = true
			if set.Contains("x") {
				t.Fatal("it has what was never added")
			}
		}
	})
}
