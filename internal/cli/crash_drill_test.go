//go:build drill

package cli

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// fromEnvironment is a number that the person who runs the drill may choose.
func fromEnvironment(t *testing.T, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	return must(strconv.Atoi(text))(t)
}

// chance is told with its seed, which SEED sets.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := fromEnvironment(t, "SEED", int(time.Now().UnixNano()))
	t.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(uint64(seed), 0))
}

// anyTime kills a process at any time within that many milliseconds.
func anyTime(r *rand.Rand, within int) func(*process) {
	return func(p *process) {
		select {
		case <-p.exited: // it was faster
		case <-time.After(time.Duration(r.IntN(within)) * time.Millisecond):
			p.kill()
		}
	}
}

// TestDrillKills tries what the tests of crash_test.go do, with the same checks, but servers and commands are killed at
// any moment. KILLS in the environment says how often for each kind of thing, and DONATIONS how many gifts arrive.
func TestDrillKills(t *testing.T) {
	kills := fromEnvironment(t, "KILLS", 8)
	for _, d := range deeds {
		t.Run(d.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, e engine) {
				r, s := chance(t), newService(t, e)
				d := d
				d.moment = ""
				for range kills {
					s.survives(d, func() { anyTime(r, 200)(s.node[0].Load()) })
				}
			})
		})
	}
	for i, in := range imports {
		t.Run("import of "+in.noun+"s", func(t *testing.T) {
			eachEngine(t, func(t *testing.T, e engine) {
				importKilled(t, e.data(t), i, 6000, kills, "",
					anyTime(chance(t), 400))
			})
		})
	}
	t.Run("import of an account", func(t *testing.T) {
		eachEngine(t, func(t *testing.T, e engine) {
			accountImportKilled(t, e, 6000, kills, "",
				anyTime(chance(t), 400))
		})
	})
	t.Run("donations", func(t *testing.T) {
		given := fromEnvironment(t, "DONATIONS", 100)
		eachEngine(t, func(t *testing.T, e engine) {
			r := chance(t)
			killWhileGiftsArrive(newShop(t, e, r), given, kills, "", anyTime(r, 100))
		})
	})
}
