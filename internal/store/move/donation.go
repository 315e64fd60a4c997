package move

import (
	"context"
	"encoding/json"

	"donorbook/internal/crm"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sqlDonationsAbout = `SELECT d.number, d.number AS head FROM gift g JOIN donation d ON d.account_id = $1
		AND d.code = g.code WHERE g.account_id = $1 AND g.contact_id = $2 AND d.code <> '' AND d.number > $3 ORDER BY d.number LIMIT $4`
	sqlDonationsByID = `SELECT number, id, state, wish, created_at FROM donation WHERE account_id = $1
		AND number = ANY($2) ORDER BY number`
	sqlNextDonations = `SELECT number, wish FROM donation WHERE account_id = $1 AND number > $2 AND wish <> '{}'
		ORDER BY number LIMIT $3`

	// What a person typed is forgotten; that they gave is in the ledger. One that never became a gift is gone.
	sqlForgetDonations = `UPDATE donation SET wish = '{}', email = '', fault = '', manage = '' WHERE account_id = $1
		AND code = (SELECT code FROM gift WHERE account_id = $1 AND id = $2) AND code <> ''`
	sqlForgetDonation = `UPDATE donation SET wish = '{}', email = '', fault = '', manage = '' WHERE account_id = $1
		AND number = $2`
)

// donationData are the donations of a person: what they typed on a page. They follow the gifts, and are erased with
// them. No file of an account has donations: they tell what this server has asked its payment provider, and every gift
// and plan says itself what it is called there.
var donationData = &personal{list: "donations", of: sqlDonationsAbout, byID: sqlDonationsByID,
	show: func(_ *ContactData, r db.Row) ([]byte, error) {
		return plainJSON(struct {
			ID        string          `json:"id"`
			State     string          `json:"state"`
			Typed     json.RawMessage `json:"typed"`
			CreatedAt int64           `json:"created_at"`
		}{r.Text(1), r.Text(2), json.RawMessage(r.Text(3)), r.Int(4)})
	}}

// donations forgets what was typed about a person on pages, where that became no gift or one that is someone else's
// now.
func (e *eraser) donations(ctx context.Context, p *erasedPiece) (ended bool, err error) {
	type donation struct {
		number int64
		wish   string
	}
	some, err := store.List(ctx, e.JobStore.Store, func(r db.Row) donation { return donation{r.Int(0), r.Text(1)} },
		sqlNextDonations, e.job.Account, e.at.ID, int64(eraseUnit))
	for _, d := range some {
		if e.at.ID = d.number; e.naming(crm.SaidIn(d.wish)) {
			p.write(sqlForgetDonation, d.number)
		}
	}
	return len(some) < eraseUnit, err
}
