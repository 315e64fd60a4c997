//go:build !drill

package drill

// On tells whether everything is tried: all tests on each engine, and inputs that nobody has chosen.
const On = false
