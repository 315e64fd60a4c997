package crmtest

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Length is that of the lists of CheckGrowth, which also has lists that are four times as long.
const Length = 1250

// CheckGrowth does each work for a list, and for one that is four times as long. That may cost four times as much; if the elements were compared with
// each other, it would cost sixteen times as much. Other work on the machine can only make a measurement larger, so one good measurement of several is
// enough.
func CheckGrowth(t *testing.T, works map[string]func(n int)) {
	const tooMuch, attempts = 10, 30
	for what, work := range works {
		cost := func(n int) time.Duration {
			runtime.GC()
			begun := processorTime()
			for range 4 {
				work(n)
			}
			return processorTime() - begun
		}
		ratio := 0.0
		for range attempts {
			if ratio = float64(cost(4*Length)) / float64(max(cost(Length), time.Microsecond)); ratio < tooMuch {
				break
			}
		}
		if ratio >= tooMuch {
			t.Errorf("%s: four times as many cost %.0f times as much", what, ratio)
		}
	}
}

// processorTime is the CPU time of this process.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
