package crm

import (
	"crypto/rand"
	"math/big"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Account is an organization or one of its chapters: the owner of contacts, campaigns and keys.
type Account struct {
	Number    int64  // in every id that the account gives out (MakeID); never shown
	ID        string // 16 random letters and digits; what people and the API call the account
	Name      string
	Parent    int64  // number of the account above, 0 for a root
	ParentID  string // its public id, "" for a root
	CreatedAt time.Time
}

// An id that an account gives out is the account's number and a sequence number in one integer, so that it is unique in the service
// without a shared sequence, and a foreign id is known before any look-up. Accounts are numbered from 1, and ids begin with one less: those
// of the first account are 1, 2, 3. Numbers of seven digits were random; accounts that have one keep it, and their ids begin with the
// number itself. All ids stay below the largest integer that JavaScript holds exactly (2^53-1).
const (
	idSpan             = 1_000_000_000
	MaxSeq             = idSpan - 1
	FirstRandomAccount = 1_000_000 // account number
	lastCounted        = FirstRandomAccount - 1
	maxAccountNumber   = 9_007_198
)

// MakeID joins an account's number and a sequence number to a public id.
func MakeID(account, seq int64) int64 {
	if account < FirstRandomAccount {
		account--
	}
	return account*idSpan + seq
}

// IDAccount is the account number in a public id, 0 where no account gives out such an id.
func IDAccount(id int64) int64 {
	switch lead := id / idSpan; {
	case id <= 0 || lead == lastCounted: // between those that count and those that are random
		return 0
	case lead < lastCounted:
		return lead + 1
	default:
		return lead
	}
}

// IDSeq is the sequence number in a public id.
func IDSeq(id int64) int64 { return id % idSpan }

// NextAccount is the number of a new account after the last one that was given out by counting, 0 for none. When all of those are in use,
// it is a random one, which may be taken.
func NextAccount(last int64) int64 {
	if last < lastCounted {
		return last + 1
	}
	return FirstRandomAccount + randomBelow(maxAccountNumber-FirstRandomAccount+1)
}

// NewAccount makes a new account. The store gives it its number, and tries again where the id is taken.
func NewAccount(name string, parent Account, now time.Time) (Account, error) {
	name, err := AccountName(name)
	if err != nil {
		return Account{}, err
	}
	return Account{
		ID:        randomText(accountIDLength),
		Name:      name,
		Parent:    parent.Number,
		ParentID:  parent.ID,
		CreatedAt: now.UTC().Truncate(time.Microsecond), // fine enough to list accounts in the order they were made
	}, nil
}

// AccountName checks the name of an organization, a chapter or a key.
func AccountName(name string) (string, error) {
	v := new(doc.Invalid)
	return v.RequiredText("name", name), v.Err()
}

// IsAccountID tells whether a text can be the public id of an account at all.
func IsAccountID(value string) bool {
	return len(value) == accountIDLength && strings.Trim(value, text.Base62) == ""
}

const accountIDLength = 16

// randomText is n random letters and digits.
func randomText(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = text.Base62[randomBelow(int64(len(text.Base62)))]
	}
	return string(b)
}

func randomBelow(n int64) int64 {
	v, err := rand.Int(rand.Reader, big.NewInt(n))
	if err != nil {
		panic(err) // the system's random source never fails; without it no secret may be made
	}
	return v.Int64()
}
