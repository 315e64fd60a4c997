package web

import (
	"math"
	"syscall"
)

// fileLimit is how many file descriptors the process may have; 0 is no limit. A Go program raises its soft limit to the hard one
// when it starts.
func fileLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return 0
	}
	return int(limit.Cur)
}
