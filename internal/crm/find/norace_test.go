//go:build !race

package find

const raceDetector = false
