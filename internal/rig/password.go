package rig

import _ "unsafe" // for go:linkname

// passwordCost is the price at which crm makes the hash of a password.
//
//go:linkname passwordCost donorbook/internal/crm.thisCost
var passwordCost struct {
	memory, time uint32
	threads      uint8
}

// CheapPasswords is for tests that make hundreds of users: at the real price, hashes would be most of what they cost. The tests of
// crm prove the real price, which nothing but a test can reach.
func CheapPasswords() {
	if passwordCost.memory < 16*1024 || passwordCost.time < 2 || passwordCost.threads != 1 {
		panic("crm.thisCost is no longer what rig takes it for")
	}
	passwordCost.memory, passwordCost.time = 64, 1
}
