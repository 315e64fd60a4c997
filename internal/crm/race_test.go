//go:build race

package crm

// The race detector makes the patterns of the library of phone numbers ten times slower, and little is shared there.
const raceDetector = true
