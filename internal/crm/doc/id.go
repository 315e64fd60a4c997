package doc

// An id that an account gives out is the account's number and a sequence number in one integer, so that it is unique in
// the service without a shared sequence, and a foreign id is known before any look-up. Accounts are numbered from 1,
// and ids begin with one less: those of the first account are 1, 2, 3. Numbers of seven digits were random; accounts
// that have one keep it, and their ids begin with the number itself. All ids stay below the largest integer that
// JavaScript holds exactly (2^53-1).
const (
	idSpan             = 1_000_000_000
	MaxSeq             = idSpan - 1
	FirstRandomAccount = 1_000_000 // account number
	LastCounted        = FirstRandomAccount - 1
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
	case id <= 0 || lead == LastCounted: // between those that count and those that are random
		return 0
	case lead < LastCounted:
		return lead + 1
	default:
		return lead
	}
}

// IDSeq is the sequence number in a public id.
func IDSeq(id int64) int64 { return id % idSpan }
