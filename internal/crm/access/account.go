// Package access has the organizations, and what lets people and programs in: users, roles, passwords, sessions,
// invitations and API keys. It knows nothing of what they work with: no contact, campaign or gift.
package access

import (
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

// maxAccountNumber is the largest number of an account whose ids JavaScript holds exactly.
const maxAccountNumber = 9_007_198

// NextAccount is the number of a new account after the last one that was given out by counting, 0 for none. When all of
// those are in use, it is a random one, which may be taken.
func NextAccount(last int64) int64 {
	if last < doc.LastCounted {
		return last + 1
	}
	return doc.FirstRandomAccount + text.RandomBelow(maxAccountNumber-doc.FirstRandomAccount+1)
}

// NewAccount makes a new account. The store gives it its number, and tries again where the id is taken.
func NewAccount(name string, parent Account, now time.Time) (Account, error) {
	name, err := AccountName(name)
	if err != nil {
		return Account{}, err
	}
	return Account{
		ID:        text.Random62(accountIDLength),
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
