package crm

import (
	"crypto/rand"
	"math/big"
	"strings"

	"donorbook/internal/crm/text"
)

// encode62 writes a number with so many letters and digits.
func encode62(n *big.Int, length int) string {
	text := n.Text(62) // digits, lower case, upper case
	return strings.Repeat("0", length-len(text)) + text
}

// decode62 reads what encode62 writes.
func decode62(text string) (int64, bool) {
	n, ok := new(big.Int).SetString(text, 62)
	if !ok || n.Sign() < 0 {
		return 0, false
	}
	return n.Int64(), true
}

// randomText is n random letters and digits.
func randomText(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = text.Base62[randomBelow(int64(len(text.Base62)))]
	}
	return string(b)
}

// randomBelow is a random number from 0 on that is less than n.
func randomBelow(n int64) int64 {
	v, err := rand.Int(rand.Reader, big.NewInt(n))
	if err != nil {
		panic(err) // the system's random source never fails; without it no secret may be made
	}
	return v.Int64()
}
