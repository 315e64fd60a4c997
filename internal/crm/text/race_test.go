//go:build race

package text

// The race detector makes the patterns of the phone number library ten times slower, and goroutines share little there.
const raceDetector = true
