package rig

import _ "unsafe" // for go:linkname

// passwordCost is the price at which access makes the hash of a password.
//
//go:linkname passwordCost donorbook/internal/crm/access.thisCost
var passwordCost struct {
	memory, time uint32
	threads      uint8
}

// CheapPasswords is for tests that make hundreds of users: at the real price, hashes would be most of what they cost. The tests of
// access prove the real price, which nothing but a test can reach.
func CheapPasswords() {
	if passwordCost.memory < 16*1024 || passwordCost.time < 2 || passwordCost.threads != 1 {
		panic("access.thisCost is no longer what rig takes it for")
	}
	passwordCost.memory, passwordCost.time = 64, 1
}
