package text

import (
	"crypto/rand"
	"math/big"
	"strings"
)

// Base62 are the digits and letters of ids and secrets.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Encode62 writes a number with so many letters and digits.
func Encode62(n *big.Int, length int) string {
	text := n.Text(62) // digits, lower case, upper case
	return strings.Repeat("0", length-len(text)) + text
}

// Decode62 reads what Encode62 writes.
func Decode62(text string) (int64, bool) {
	n, ok := new(big.Int).SetString(text, 62)
	if !ok || n.Sign() < 0 {
		return 0, false
	}
	return n.Int64(), true
}

// Random62 is n random letters and digits.
func Random62(n int) string {
	b := make([]byte, 0, n)
	var random [32]byte
	for len(b) < n {
		_, _ = rand.Read(random[:]) // never fails
		for _, r := range random {
			if r &= 63; int(r) < len(Base62) && len(b) < n { // each is as likely as the others
				b = append(b, Base62[r])
			}
		}
	}
	return string(b)
}

// RandomBelow is a random number from 0 on that is less than n.
func RandomBelow(n int64) int64 {
	v, err := rand.Int(rand.Reader, big.NewInt(n))
	if err != nil {
		panic(err) // the system's random source never fails; without it no secret may be made
	}
	return v.Int64()
}
