//go:build !race

package text

const raceDetector = false
