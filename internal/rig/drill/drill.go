// Package drill tells how much tests try: what make test has time for, or everything (make drill, which sets the tag drill).
package drill

import (
	"cmp"
	"flag"
	"os"

	_ "pgregory.net/rapid" // it has the flags
)

// What is drawn by chance is the same each time, but for the drill: a fault that is found once in fifty runs would look like a bad test.
// The drill says where its chance begins.
func init() {
	seed := "1"
	if On {
		seed = cmp.Or(os.Getenv("DONORBOOK_SEED"), "0")
	}
	for name, value := range map[string]string{"rapid.seed": seed, "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}
