// Package donations has gifts that people make on a page: what a page offers, what was begun, what the payment provider
// says became of it, and how that gets into the ledger.
package donations

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// DonationStore has the donations of a database, and asks payment providers about them.
type DonationStore struct {
	store  *store.Store
	desk   Desk
	keys   *Keys
	region string
	woken  chan struct{}

	declines, refused, clockOff atomic.Int64
}

// Desk opens connections to payment providers.
type Desk interface {
	Open(c donate.Connection) (donate.Provider, error)
}

func New(base *store.Store) *DonationStore {
	s := &DonationStore{store: base, region: "US", woken: make(chan struct{}, 1)}
	base.Upkeep = s.upkeep
	base.PlanEnded = s.tellEnded
	base.WriteLate(mail.Manage, s.writeManage)
	base.WriteLate(mail.Promised, s.writePromise)
	base.WriteLate(mail.Ended, s.writeEnded)
	return s
}

// UseDesk says who opens connections to providers, where the key to their secrets is, and the country of phone numbers
// without one. Without a desk no one can pay online.
func (s *DonationStore) UseDesk(d Desk, keys *Keys, region string) {
	s.desk, s.keys, s.region = d, keys, region
}

// row is a donation as it is stored.
type row struct {
	donate.Donation
	Settled     donate.Doubt // about which a person has decided already
	Version     int64        // how often it was looked at
	LookedAt    time.Time
	DueAt       time.Time // when it is looked at next; zero for never
	Manage      string    // hashes of the links to its plan, each with its end
	ManageUntil time.Time // when the link that was asked for last ends
	CardSession string    // at the provider, where the giver enters another card
}

const (
	donationColumns = `id, number, account_id, campaign_id, state, doubt, settled, fault, wish, charged, covered, currency, provider, live, attempt, session, payment, plan, code, plan_code,
		version, looked_at, due_at, manage, manage_until, created_at, updated_at, card`

	sqlDonation  = `SELECT ` + donationColumns + ` FROM donation WHERE account_id = $1 AND id = $2`
	sqlByPayment = `SELECT ` + donationColumns +
		` FROM donation WHERE account_id = $1 AND payment = $2 AND payment <> '' ORDER BY id LIMIT 1`
	sqlByPlan = `SELECT ` + donationColumns +
		` FROM donation WHERE account_id = $1 AND plan = $2 AND plan <> '' ORDER BY id LIMIT 1`
	sqlByGift = `SELECT ` + donationColumns +
		` FROM donation WHERE account_id = $1 AND code = $2 AND code <> '' ORDER BY id LIMIT 1`
	sqlByGiftPlan = `SELECT ` + donationColumns +
		` FROM donation WHERE account_id = $1 AND plan_code = $2 AND plan_code <> '' ORDER BY id LIMIT 1`
	sqlByNumber = `SELECT ` + donationColumns + ` FROM donation WHERE account_id = $1 AND number = $2`
)

func scanDonation(r db.Row) *row {
	d := &row{Donation: donate.Donation{ID: r.Text(0), Number: r.Int(1), Account: r.Int(2), Campaign: r.Int(3),
		State: donate.State(r.Text(4)), Doubt: donate.Doubt(r.Text(5)), Fault: r.Text(7),
		Charged: r.Int(9), Covered: r.Int(10), Currency: r.Text(11), Provider: r.Text(12), Live: r.Int(13) != 0,
		Attempt: r.Text(14), Session: r.Text(15), Payment: r.Text(16), Plan: r.Text(17), Gift: r.Text(18),
		GiftPlan: r.Text(19), CreatedAt: store.Moment(r.Int(25)), UpdatedAt: store.Moment(r.Int(26))},
		Settled: donate.Doubt(r.Text(6)), Version: r.Int(20), LookedAt: store.Moment(r.Int(21)),
		DueAt: store.Moment(r.Int(22)), Manage: r.Text(23), ManageUntil: store.Moment(r.Int(24)),
		CardSession: r.Text(27)}
	_ = json.Unmarshal([]byte(r.Text(8)), &d.Wish) // one that was forgotten says nothing
	return d
}

// save writes a donation.
func (d *row) save(t *store.Tx) error {
	wish, err := json.Marshal(d.Wish)
	if err != nil {
		return err
	}
	live := int64(0)
	if d.Live {
		live = 1
	}
	t.Save(store.DonationTable, d.Account, d.ID, d.Number, d.Campaign, string(d.State), string(d.Doubt),
		string(d.Settled), d.Fault, string(wish), text.FoldEmail(d.Wish.Email),
		d.Charged, d.Covered, d.Currency, d.Provider, live, d.Attempt, d.Session, d.Payment, d.Plan, d.Gift, d.GiftPlan,
		d.Version, store.Seconds(d.LookedAt), store.Seconds(d.DueAt), d.Manage, store.Seconds(d.ManageUntil),
		d.CardSession, store.Seconds(d.CreatedAt), store.Seconds(d.UpdatedAt))
	return nil
}

var errNoDonation = fmt.Errorf("the donation: %w", crm.ErrNotFound)

// find is the first donation that one of several questions finds, nil for none.
func find(c db.Conn, account int64, questions ...[2]string) (*row, error) {
	for _, q := range questions {
		if q[1] == "" {
			continue
		}
		found, err := db.List(c, scanDonation, q[0], account, q[1])
		if err != nil || len(found) > 0 {
			return append(found, nil)[0], err
		}
	}
	return nil, nil
}

func (s *DonationStore) row(ctx context.Context, account int64, id string) (*row, error) {
	if !donate.IsID(id) {
		return nil, errNoDonation
	}
	return store.Find(ctx, s.store, errNoDonation, scanDonation, sqlDonation, account, id)
}

// DonationByID is a donation of an account.
func (s *DonationStore) DonationByID(ctx context.Context, account int64, id string) (donate.Donation, error) {
	d, err := s.row(ctx, account, id)
	if err != nil {
		return donate.Donation{}, err
	}
	return d.Donation, nil
}

// DonationOfGift is the donation that became a gift; crm.ErrNotFound where the gift came from elsewhere, as those of a
// plan after the first one.
func (s *DonationStore) DonationOfGift(ctx context.Context, account int64, code string) (donate.Donation, error) {
	d, err := store.Find(ctx, s.store, errNoDonation, scanDonation, sqlByGift, account, code)
	if err != nil {
		return donate.Donation{}, err
	}
	return d.Donation, nil
}
