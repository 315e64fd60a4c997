package giving

import (
	"math/big"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Gifts and plans are known by 16 letters and digits: ten random ones, and the sequence number in six. So one is found
// without an index, and none can be guessed from another.
const (
	codeLength   = 16
	codeRandom   = 10
	maxReference = 255
)

// NewCode is the public id of a new gift or plan. chosen are the characters that are random where it is empty.
func NewCode(chosen string, id int64) string {
	if chosen == "" {
		chosen = text.Random62(codeRandom)
	}
	return chosen + text.Encode62(big.NewInt(doc.IDSeq(id)), codeLength-codeRandom)
}

// IsCode tells whether a text has the form of a public id.
func IsCode(value string) bool {
	return len(value) == codeLength && strings.Trim(value, text.Base62) == ""
}

// CodeSeq is the sequence number in a public id; ok is false where the text can be none.
func CodeSeq(code string) (seq int64, ok bool) {
	if !IsCode(code) {
		return 0, false
	}
	seq, ok = text.Decode62(code[codeRandom:])
	return seq, ok && seq > 0 && seq <= doc.MaxSeq
}

// GiftNumber is the number of a gift in its account, as receipts show it: ten digits.
func GiftNumber(id int64) string { return string(appendDigits(nil, doc.IDSeq(id), 10)) }
