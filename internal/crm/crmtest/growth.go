package crmtest

import (
	"runtime"
	"syscall"
	"testing"

	"donorbook/internal/rig/drill"
)

// Length is that of the lists of CheckGrowth, which also has lists that are four times as long.
const Length = 1250

// CheckGrowth does each work for a list, and for one that is four times as long. That may cost four times as much; if
// the elements were compared with each other, it would cost sixteen times as much. What is counted is what the work
// allocates, which is the same on each machine; the drill measures the time of the processor. Other work can only make
// that larger, so one good measurement is enough.
func CheckGrowth(t *testing.T, works map[string]func(n int)) {
	cost, attempts := func(work func()) float64 { return testing.AllocsPerRun(1, work) }, 1
	if drill.On {
		cost, attempts = processorTime, 30
	}
	for what, work := range works {
		ratio := 0.0
		for range attempts {
			ratio = cost(func() { work(4 * Length) }) / max(cost(func() { work(Length) }), 1)
			if ratio < 10 {
				break
			}
		}
		if ratio >= 10 {
			t.Errorf("%s: four times as many cost %.0f times as much", what, ratio)
		}
	}
}

// processorTime is for how many nanoseconds a work has a processor.
func processorTime(work func()) float64 {
	var before, after syscall.Rusage
	runtime.GC()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for range 4 {
		work()
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	return float64(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
}
