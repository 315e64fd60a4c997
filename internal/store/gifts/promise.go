package gifts

import (
	"encoding/json"
	"time"

	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// A transfer or a check that was promised on a donation page is known by its reference, wherever a file of the bank has it.

// Promise is a promised gift whose reference a row of a file has.
type Promise struct {
	ID       string
	Campaign int64
	Wish     donate.Wish

	reference string
	arrived   string // the gift that a person has recorded already; "" for none
}

const (
	sqlPromise = `SELECT id, campaign_id, wish, code FROM donation WHERE account_id = $1 AND number = $2 AND provider = '' AND wish <> '{}'`
	sqlKept    = `UPDATE donation SET state = 'paid', code = $3 WHERE account_id = $1 AND id = $2 AND state IN ('started', 'processing') AND provider = ''`
	sqlUnkept  = `UPDATE donation SET state = 'processing', code = '', updated_at = $3 WHERE account_id = $1 AND code = $2 AND code <> '' AND provider = ''`
)

// PromiseIn finds the promise whose reference is in a text, nil for none.
func PromiseIn(c db.Conn, account int64, text string) (p *Promise, err error) {
	number, ok := donate.FindReference(text)
	if !ok {
		return nil, nil
	}
	_, err = c.One(func(r db.Row) {
		p = &Promise{ID: r.Text(0), Campaign: r.Int(1), reference: donate.Reference(number), arrived: r.Text(3)}
		_ = json.Unmarshal([]byte(r.Text(2)), &p.Wish) // it was written by us
	}, sqlPromise, account, number)
	return p, err
}

// sameTransfer is how far the day that a person has entered may be from that of the bank.
const sameTransfer = 14 * 24 * time.Hour

// Fill makes a row of a file the gift of who promised it. It must be checked anew. One that a person has recorded already is that gift.
func (s *GiftStore) Fill(c db.Conn, account int64, p *Promise, in *giving.GiftInput) error {
	who := p.Wish.Gift("", in.Time())
	in.Anonymous, in.Known, in.Giver, in.Email, in.Phone, in.Address, in.OptIn = false, false, who.Giver, who.Email, who.Phone, who.Address, who.OptIn
	if who.Dedication != nil && in.Dedication == nil {
		in.Dedication = who.Dedication
	}
	if in.Campaign == nil && p.Campaign != 0 {
		in.Campaign = &p.Campaign
	}
	if p.arrived == "" {
		return nil
	}
	found, err := db.List(c, func(r db.Row) *StoredGift { _, g := ScanGift(r); return g }, sqlLoadGifts, account, []int64{CodeID(account, p.arrived)})
	if err != nil || len(found) == 0 || found[0].Damage != nil {
		return err
	}
	g := &found[0].Gift
	if same := g.ExternalID == p.reference && in.Amount != nil && *in.Amount == donate.Sent(g.Payment().Amount, g.Currency); same && in.Time().Sub(g.At).Abs() < sameTransfer {
		in.ExternalID, in.FromRow = &p.reference, true
	}
	return nil
}

// KeepPromise notes which gift a promise became.
func KeepPromise(t *store.Tx, a *store.Account, p *Promise, code string) error {
	return t.Run(sqlKept, a.Account, p.ID, code)
}

// BreakPromise lets a promise wait again whose gift is withdrawn.
func BreakPromise(t *store.Tx, a *store.Account, g *giving.Gift, now time.Time) error {
	return t.Run(sqlUnkept, a.Account, g.Code, store.Seconds(now))
}
