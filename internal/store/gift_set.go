package store

import (
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// Those who gave for a campaign, and of whose gift something is left, are a set: they are found without a look at the gifts.

const donorSet = "d:"

const (
	sqlGaveToCampaign = `SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND campaign_id = $3 AND net > 0`
	sqlGivers         = `SELECT contact_id, campaign_id FROM gift WHERE account_id = $1 AND contact_id >= $2 AND contact_id <= $3 AND net > 0 AND campaign_id <> 0 ORDER BY contact_id`
)

// campaignDonors is the set of those who gave for a campaign.
func campaignDonors(campaign int64) string { return donorSet + strconv.FormatInt(campaign, 10) }

// giftSets are the sets that the giver of a gift is in.
func giftSets(campaign int64) []string {
	if campaign == 0 {
		return nil
	}
	return []string{campaignDonors(campaign)}
}

// joinedSets are the sets that the giver of a new gift joins. Its plan must have been looked up.
func (a *accountUnit) joinedSets(in *crm.GiftInput) []string {
	if in == nil {
		return nil
	}
	if in.Campaign != nil {
		return giftSets(*in.Campaign)
	}
	if plan := a.planOf(in); plan != nil {
		return giftSets(plan.Campaign)
	}
	return nil
}

// moveGiftSets moves a giver to the set of a gift and out of the one that it had, where no other gift is left. It sees the gift as it
// is now.
func (t *tx) moveGiftSets(a *accountUnit, before, after *crm.Gift) error {
	if before != nil && before.Campaign != 0 && before.Net() > 0 && (before.Contact != after.Contact || before.Campaign != after.Campaign || after.Net() <= 0) {
		still, err := t.Exists(sqlGaveToCampaign, a.account, before.Contact, before.Campaign)
		if err == nil && !still {
			err = t.moveSets(a, before.Contact, giftSets(before.Campaign), nil)
		}
		if err != nil {
			return err
		}
	}
	if after.Net() <= 0 {
		return nil
	}
	return t.moveSets(a, after.Contact, nil, giftSets(after.Campaign))
}

// deriveGiftSets makes the sets of gifts of an account anew, block by block: what one has is written before the next one is read, so that there is never
// more in memory.
func deriveGiftSets(t *db.Tx, account, contactSeq int64) error {
	for block := range (contactSeq + db.BlockSize - 1) / db.BlockSize {
		sets := blockSets{block: block}
		from, to := crm.MakeID(account, block*db.BlockSize+1), crm.MakeID(account, (block+1)*db.BlockSize)
		if err := eachGiftSet(t.Conn, account, from, to, func(id int64, name string) { sets.add(id, []string{name}) }); err != nil {
			return err
		}
		sets.insert(t, account)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// eachGiftSet are the sets that the gifts of the contacts from one id to another put them in, each once.
func eachGiftSet(c db.Conn, account, from, to int64, read func(id int64, set string)) error {
	var last int64
	known := make(map[int64]bool) // campaigns that the contact gave for
	return c.Each(func(r db.Row) error {
		id, campaign := r.Int(0), r.Int(1)
		if id != last {
			clear(known)
			last = id
		}
		if !known[campaign] {
			known[campaign] = true
			read(id, campaignDonors(campaign))
		}
		return nil
	}, sqlGivers, account, from, to)
}

// eachGiftSet are the facts about sets that gifts of the checked accounts say.
func (k *checker) eachGiftSet(from, to int64, enter func(f fact)) error {
	for _, account := range k.numbers {
		err := eachGiftSet(k.conn, account, from, to, func(id int64, name string) { enter(fact{table: setTable, owner: id, text: name}) })
		if err != nil {
			return err
		}
	}
	return nil
}
