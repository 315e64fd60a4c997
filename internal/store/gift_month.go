package store

import (
	"errors"
	"math"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// The contacts who gave something in a month that is left are a set, so that those who gave in some years are found without a look at their gifts.

const (
	sqlGaveInMonth = `SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND given_at >= $3 AND given_at < $4 AND net > 0`
	sqlDonors      = `SELECT cell FROM giving WHERE account_id = $1 AND cell > $2 AND cell < $3 AND gifts > 0`
	sqlGiftMonths  = `SELECT DISTINCT month FROM gift WHERE account_id = $1`
	sqlGivers      = `SELECT contact_id, given_at FROM gift WHERE account_id = $1 AND contact_id >= $2 AND contact_id <= $3 AND net > 0 ORDER BY contact_id, given_at`
)

// giftSets is the set that the giver of a new gift joins.
func giftSets(in *crm.GiftInput) []string {
	if in == nil || in.GivenAt == nil {
		return nil
	}
	return []string{giftMonths.name(in.Time().Unix())}
}

// moveGiftSets moves a giver to the month of a gift and out of the one that it had, where no other gift is left. It sees the gift as it
// is now.
func (t *tx) moveGiftSets(a *accountUnit, before, after *crm.Gift) error {
	if before != nil && before.Net() > 0 && (before.Contact != after.Contact || !before.At.Equal(after.At) || after.Net() <= 0) {
		start, end := giftMonths.around(before.At.Unix())
		still, err := t.Exists(sqlGaveInMonth, a.account, before.Contact, start, end)
		if err == nil && !still {
			err = t.moveSets(a, before.Contact, []string{giftMonths.name(before.At.Unix())}, nil)
		}
		if err != nil {
			return err
		}
	}
	if after.Net() <= 0 {
		return nil
	}
	return t.moveSets(a, after.Contact, nil, []string{giftMonths.name(after.At.Unix())})
}

// addDonors adds those who gave for a campaign, by their sums, which are fewer than their gifts.
func (w *sieve) addDonors(set *db.Set, campaign int64) (whole bool, err error) {
	n, most := int64(0), w.most()
	from, to := crm.DonorCells(campaign)
	err = w.conn.Each(func(r db.Row) error {
		if n++; n > most {
			return errFull
		}
		if seq := crm.CellContact(r.Text(0)); seq != 0 { // 0 is all of them
			set.Add(seq)
		}
		return w.alive(n)
	}, sqlDonors, w.account, from, to)
	if errors.Is(err, errFull) {
		err = nil
	}
	return n <= most, err
}

// deriveGiftSets makes the sets of months anew, month by month, so that few of them are in memory.
func deriveGiftSets(t *db.Tx, account int64) error {
	months, err := db.List(t.Conn, number, sqlGiftMonths, account)
	for _, month := range months {
		if err != nil {
			return err
		}
		var set db.Set
		first := time.Date(int(month/100), time.Month(month%100), 1, 0, 0, 0, 0, time.UTC)
		err = t.Each(func(r db.Row) error {
			set.Add(crm.IDSeq(r.Int(0)))
			return nil
		}, sqlGave, account, first.Unix(), first.AddDate(0, 1, 0).Unix(), int64(math.MaxInt64))
		for block, members := range set.Blocks {
			t.Insert(setTable, account, giftMonths.name(first.Unix()), block, members.Count(), members.Encode())
		}
	}
	return err
}

// eachGiftMonth is in which months the contacts from one id to another gave, each once.
func eachGiftMonth(c db.Conn, account, from, to int64, read func(id int64, set string)) error {
	var last int64
	var name string
	return c.Each(func(r db.Row) error {
		id, month := r.Int(0), giftMonths.name(r.Int(1))
		if id != last || month != name {
			read(id, month)
		}
		last, name = id, month
		return nil
	}, sqlGivers, account, from, to)
}

// eachGiftMonth are the facts about months that gifts of the checked accounts say.
func (k *checker) eachGiftMonth(from, to int64, enter func(f fact)) error {
	for _, account := range k.numbers {
		err := eachGiftMonth(k.conn, account, from, to, func(id int64, name string) { enter(fact{table: setTable, owner: id, text: name}) })
		if err != nil {
			return err
		}
	}
	return nil
}
