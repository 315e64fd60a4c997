package gifts

import (
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// The time of a contact's last gift that counts, by the organization's clock, stands in its row, so that contacts are sorted by it, and found by whether they gave since a day.

const sqlLastGiven = `SELECT given_at FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0 ORDER BY given_at DESC LIMIT 1`

// SQLGivenTimes are the times of the gifts of a contact that count, in UTC.
const SQLGivenTimes = `SELECT given_at - ahead FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0`

// givenAt is when a gift was given, as it is kept of a contact; 0 where it is not the contact's, or does not count.
func givenAt(g *giving.Gift, contact int64) int64 {
	if g == nil || g.Contact != contact || g.Net() <= 0 {
		return 0
	}
	return LastGiftAt(g.Local.Unix())
}

// OnClock is the time of a gift, which always has one: 0 is the first second of 1970, as files have it that know no better.
func OnClock(given int64) time.Time { return time.Unix(given, 0).UTC() }

// LastGiftAt is a time as it is kept of a contact, where 0 is none.
func LastGiftAt(given int64) int64 {
	if given == 0 {
		return 1
	}
	return given
}

// Later is the later of two times, of which 0 is none.
func Later(a, b int64) int64 {
	if a == 0 || b != 0 && b > a {
		return b
	}
	return a
}

// lastGift is when a contact gave last, after one of its gifts has become another; nil is no gift.
func lastGift(t *store.Tx, row *contacts.Stored, before, after *giving.Gift) (int64, error) {
	was, is := givenAt(before, row.ID), givenAt(after, row.ID)
	if was == 0 || was != row.LastGift || is != 0 && is >= was {
		return Later(row.LastGift, is), nil
	}
	return findLastGift(t, row.ID) // the last one is gone, or is earlier now
}

// findLastGift looks at the gifts of a contact. What the batch has written is seen by what it reads.
func findLastGift(t *store.Tx, contact int64) (last int64, err error) {
	_, err = t.One(func(r db.Row) { last = LastGiftAt(r.Int(0)) }, sqlLastGiven, doc.IDAccount(contact), contact)
	return last, err
}
