//go:build !race

package crm

const raceDetector = false
