// Package drill tells how much tests try: what make test has time for, or everything (make drill, which sets the tag drill).
package drill

import (
	"flag"

	_ "pgregory.net/rapid" // it has the flags
)

// What is drawn by chance is the same each time, but for the drill: a fault that is found once in fifty runs would look like a bad test.
func init() {
	if On {
		return
	}
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}
