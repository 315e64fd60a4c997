package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"hash/crc32"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Permission is a set of rights that a key carries.
type Permission int64

const (
	ContactsRead Permission = 1 << iota
	ContactsWrite
	CampaignsRead
	TransactionsRead // gifts and plans
	TransactionsWrite
	CampaignsWrite // last, because keys are stored with their bits

	AllPermissions = ContactsRead | ContactsWrite | CampaignsRead | CampaignsWrite |
		TransactionsRead | TransactionsWrite
)

// permissionNames are in the order of the bits.
var permissionNames = []string{"contacts:read", "contacts:write", "campaigns:read", "transactions:read",
	"transactions:write", "campaigns:write"}

// Names are the permissions as people write them.
func (p Permission) Names() []string {
	var names []string
	for i, name := range permissionNames {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ParsePermissions reads names, of which one can be "all". No name at all is no permission.
func ParsePermissions(names []string) (Permission, error) {
	var p Permission
	for _, name := range names {
		i := slices.Index(permissionNames, name)
		switch {
		case name == "all":
			p = AllPermissions
		case i < 0:
			return 0, doc.NewInvalid("permission", "The permission %q does not exist: use %s, or all.", name,
				strings.Join(permissionNames, ", "))
		default:
			p |= 1 << i
		}
	}
	return p, nil
}

// Key is an API key, as far as it may be shown. Its text, the secret, is displayed once and kept nowhere.
type Key struct {
	ID          int64
	Account     int64
	Name        string
	Hint        string // the beginning and the end of the secret, enough to recognize it
	Permissions Permission
	CreatedAt   time.Time
	LastUsedAt  time.Time // zero: never
	ExpiresAt   time.Time // zero: never
	RevokedAt   time.Time // zero: in force
}

// KeyInput is what a person says about a new key.
type KeyInput struct {
	Name        string
	Permissions Permission
	ExpiresAt   time.Time
}

// Valid tells whether the key may be used at that time.
func (k *Key) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// State is how a person would call it: active, expired or revoked.
func (k *Key) State(now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.Valid(now):
		return "expired"
	}
	return "active"
}

// Principal is who is calling.
type Principal struct {
	Account     int64
	Key         int64
	KeyName     string
	Permissions Permission
}

// A secret is the prefix, the account's number and the key's sequence number in four characters each, 256 random
// bits in 43 and a checksum in 6. So a mistyped secret is refused before any look-up, a look-up goes straight to
// the account, and a leaked secret is recognized by its prefix.
const (
	secretPrefix   = "dbk_"
	numberLength   = 4
	randomLength   = 43
	checksumLength = 6
	secretLength   = len(secretPrefix) + 2*numberLength + randomLength + checksumLength
	maxKeySeq      = 62*62*62*62 - 1
)

// NewKey makes a key and its secret.
func NewKey(account, seq int64, in KeyInput, now time.Time) (key Key, secret string, err error) {
	name, err := AccountName(in.Name)
	if err != nil {
		return Key{}, "", err
	}
	if seq > maxKeySeq {
		return Key{}, "", doc.NewInvalid("account", "The account has no room for another key.")
	}
	if !in.ExpiresAt.IsZero() && !in.ExpiresAt.After(now) {
		return Key{}, "", doc.NewInvalid("expires", "The expiry must be in the future.")
	}
	bits := make([]byte, 32)
	rand.Read(bits) //nolint:errcheck // never fails
	payload := text.Encode62(big.NewInt(account), numberLength) + text.Encode62(big.NewInt(seq), numberLength) +
		text.Encode62(new(big.Int).SetBytes(bits), randomLength)
	secret = secretPrefix + payload + checksum(payload)
	return Key{
		ID: doc.MakeID(account, seq), Account: account, Name: name,
		Hint:        secret[:len(secretPrefix)+2*numberLength] + "..." + secret[secretLength-4:],
		Permissions: in.Permissions, CreatedAt: now.UTC().Truncate(time.Second), ExpiresAt: in.ExpiresAt,
	}, secret, nil
}

// ParseSecret finds the id of the key that a secret claims to be; ok is false where it cannot be a secret.
func ParseSecret(secret string) (id int64, ok bool) {
	if len(secret) != secretLength || !strings.HasPrefix(secret, secretPrefix) {
		return 0, false
	}
	payload, sum := secret[len(secretPrefix):secretLength-checksumLength], secret[secretLength-checksumLength:]
	account, ok1 := text.Decode62(payload[:numberLength])
	seq, ok2 := text.Decode62(payload[numberLength : 2*numberLength])
	if !ok1 || !ok2 || account == 0 || seq == 0 || sum != checksum(payload) {
		return 0, false
	}
	return doc.MakeID(account, seq), true
}

// HoldsSecret tells whether a text may contain a secret, so that it must never be repeated in an answer.
func HoldsSecret(text string) bool { return strings.Contains(text, secretPrefix) }

// HashSecret is what is kept of a secret. It has 256 random bits, so one round of SHA-256 is enough.
func HashSecret(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// SameHash compares without telling by its time how much agrees.
func SameHash(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }

func checksum(payload string) string {
	n := crc32.ChecksumIEEE([]byte(payload))
	var b [checksumLength]byte
	for i := range b {
		b[checksumLength-1-i] = text.Base62[n%62]
		n /= 62
	}
	return string(b[:])
}

// ParseExpiry reads when a key ends: a date (the end of that day, UTC), an RFC 3339 time, or a time from now such as
// 90d or 12h. "" is never.
func ParseExpiry(text string, now time.Time) (time.Time, error) {
	var expiry time.Time
	if text == "" {
		return expiry, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		expiry = day.AddDate(0, 0, 1)
	} else if t, err := time.Parse(time.RFC3339, text); err == nil {
		expiry = t
	} else if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			expiry = now.AddDate(0, 0, n)
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		expiry = now.Add(d)
	}
	expiry = expiry.UTC().Truncate(time.Second)
	switch {
	case expiry.IsZero():
		return expiry,
			doc.NewInvalid("expires",
				"The expiry %q is not understood: give a date (2027-12-31), a time (2027-12-31T18:00:00Z) or a time from now (90d, 12h).", text)
	case !expiry.After(now):
		return expiry, doc.NewInvalid("expires", "The expiry %q must be in the future.", text)
	}
	return expiry, nil
}
