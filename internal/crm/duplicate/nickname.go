package duplicate

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed nicknames.txt
var nicknames string

// fullNames are the names that a short form stands for.
var fullNames = sync.OnceValue(func() map[string][]string {
	names := make(map[string][]string)
	for line := range strings.Lines(nicknames) {
		if short, full, ok := strings.Cut(line, ":"); ok {
			names[short] = strings.Fields(full)
		}
	}
	return names
})

// isShortFor tells whether one of two names is a short form of the other.
func isShortFor(a, b string) bool {
	return slices.Contains(fullNames()[a], b) || slices.Contains(fullNames()[b], a)
}

// shareFull tells whether two names are short forms of the same name.
func shareFull(a, b string) bool {
	others := fullNames()[b]
	return slices.ContainsFunc(fullNames()[a], func(full string) bool { return slices.Contains(others, full) })
}

// formal is the name that a first name most often stands for.
func formal(name string) string {
	if full := fullNames()[name]; len(full) > 0 {
		return full[0]
	}
	return name
}
