package store

import (
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// The time of a contact's last gift that counts, by the organization's clock, stands in its row, so that contacts are sorted by it, and found by whether they gave since a day.

const sqlLastGiven = `SELECT given_at FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0 ORDER BY given_at DESC LIMIT 1`

// sqlGivenTimes are the times of the gifts of a contact that count, in UTC.
const sqlGivenTimes = `SELECT given_at - ahead FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0`

// sqlWrongLastGifts are contacts whose last gift is not what is kept of them.
const sqlWrongLastGifts = `SELECT account_id, id, last_gift, should FROM (SELECT account_id, id, last_gift,
	COALESCE((SELECT MAX(CASE given_at WHEN 0 THEN 1 ELSE given_at END) FROM gift AS g WHERE g.account_id = c.account_id AND g.contact_id = c.id AND g.net > 0), 0) AS should
	FROM contact AS c) AS found WHERE last_gift <> should ORDER BY id`

// noted is a time of a gift as a check tells it.
func noted(seconds int64) string {
	if seconds == 0 {
		return "no day"
	}
	return moment(seconds).Format(time.RFC3339)
}

// renewLastGift works out anew when a contact gave last.
func renewLastGift(account, id int64) func(*tx) error {
	return func(t *tx) error {
		row, err := t.load(account, id)
		if err != nil {
			return err
		}
		at := row.trace
		if at.lastGift, err = t.findLastGift(id); err == nil {
			t.writeContact(t.Save, t.account(account), row.createdAt, at, row.contact, row.body)
		}
		return err
	}
}

// givenAt is when a gift was given, as it is kept of a contact; 0 where it is not the contact's, or does not count.
func givenAt(g *crm.Gift, contact int64) int64 {
	if g == nil || g.Contact != contact || g.Net() <= 0 {
		return 0
	}
	return lastGiftAt(g.Local.Unix())
}

// lastGiftAt is a time as it is kept of a contact, where 0 is none.
func lastGiftAt(given int64) int64 {
	if given == 0 {
		return 1
	}
	return given
}

// later is the later of two times, of which 0 is none.
func later(a, b int64) int64 {
	if a == 0 || b != 0 && b > a {
		return b
	}
	return a
}

// lastGift is when a contact gave last, after one of its gifts has become another; nil is no gift.
func (t *tx) lastGift(row *stored, before, after *crm.Gift) (int64, error) {
	was, is := givenAt(before, row.id), givenAt(after, row.id)
	if was == 0 || was != row.lastGift || is != 0 && is >= was {
		return later(row.lastGift, is), nil
	}
	return t.findLastGift(row.id) // the last one is gone, or is earlier now
}

// findLastGift looks at the gifts of a contact. What the batch has written is seen by what it reads.
func (t *tx) findLastGift(contact int64) (last int64, err error) {
	_, err = t.One(func(r db.Row) { last = lastGiftAt(r.Int(0)) }, sqlLastGiven, crm.IDAccount(contact), contact)
	return last, err
}
