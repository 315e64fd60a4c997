package donations

import (
	"context"
	"time"

	"donorbook/internal/crm/donate"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// What people typed is forgotten where nothing was paid, and events that no one sends again.

const (
	sqlOldDonations = `SELECT account_id, id FROM donation WHERE code = '' AND doubt = '' AND created_at < $1
		AND (created_at < $3 OR provider <> '' AND state <> 'processing') ORDER BY created_at, account_id, id LIMIT $2`
	sqlOldEvents = `SELECT account_id, id FROM provider_event WHERE due_at = 0 AND received_at < $1
		ORDER BY received_at, account_id, id LIMIT $2`
	sqlEventDone = `SELECT COUNT(*) FROM provider_event WHERE account_id = $1 AND id = $2 AND due_at = 0`
)

type rowOf struct {
	account int64
	id      string
}

func scanOf(r db.Row) rowOf { return rowOf{r.Int(0), r.Text(1)} }

// SweepDonations forgets donations that became no gift, and old events.
func (s *DonationStore) SweepDonations(ctx context.Context) error {
	now := s.store.Now()
	old, err := store.List(ctx, s.store, scanOf, sqlOldDonations, store.Seconds(now.Add(-keptAtLeast)),
		int64(10*store.SweepUnit), store.Seconds(now.Add(-3*keptAtLeast)))
	if err != nil {
		return err
	}
	for _, of := range old {
		if err := s.sweepOne(ctx, of, now); err != nil {
			return err
		}
	}
	return store.Stepwise(ctx, func() (more bool, err error) {
		old, err := store.List(ctx, s.store, scanOf, sqlOldEvents, store.Seconds(now.Add(-eventsKept)),
			int64(store.SweepUnit))
		for _, of := range old {
			if err == nil {
				err = s.store.UpdateShared(ctx, of.account, func(t *store.Tx) error {
					done, err := t.Int(sqlEventDone, of.account, of.id)
					if err == nil && done > 0 {
						t.Delete(store.EventTable, of.account, of.id)
					}
					return err
				})
			}
		}
		return len(old) == store.SweepUnit, err
	})
}

// keptAtLeast is for how long every donation is kept.
const keptAtLeast = 30 * 24 * time.Hour

// sweepOne forgets a donation whose time has come. Money that is still on its way at a provider, or waits for a person,
// has more of it.
func (s *DonationStore) sweepOne(ctx context.Context, of rowOf, now time.Time) error {
	return s.store.UpdateAccount(ctx, of.account, func(t *store.Tx) error {
		d, err := find(t.Conn, of.account, [2]string{sqlDonation, of.id})
		if err != nil || d == nil || d.Gift != "" || d.Doubt != "" || d.Provider != "" &&
			d.State == donate.Processing || now.Sub(d.begun()) < d.Kept() {
			return err
		}
		t.Delete(store.DonationTable, of.account, of.id)
		return nil
	})
}

// begun is since when a donation waits for its money: a promise that was taken for kept by mistake, since that was
// undone.
func (d *row) begun() time.Time {
	if d.Provider == "" {
		return d.UpdatedAt
	}
	return d.CreatedAt
}

// Status is how donations of all accounts stand, for metrics.
type Status struct {
	Open, Review int64
	Oldest       time.Time // of the events that wait; zero for none
}

const (
	sqlDonationCounts = `SELECT COALESCE(SUM(CASE WHEN due_at <> 0 THEN 1
		ELSE 0 END), 0), COALESCE(SUM(CASE WHEN doubt <> '' THEN 1 ELSE 0 END), 0) FROM donation WHERE due_at <> 0 OR doubt <> ''`
	sqlOldestEvent = `SELECT COALESCE(MIN(received_at), 0) FROM provider_event WHERE due_at <> 0`
)

// DonationStatus counts donations that are open or wait for a person, and tells the oldest event that was not looked
// at.
func (s *DonationStore) DonationStatus(ctx context.Context) (status Status, err error) {
	err = s.store.View(ctx, func(c db.Conn) error {
		if _, err := c.One(func(r db.Row) { status.Open, status.Review = r.Int(0), r.Int(1) },
			sqlDonationCounts); err != nil {
			return err
		}
		_, err := c.One(func(r db.Row) { status.Oldest = store.Moment(r.Int(0)) }, sqlOldestEvent)
		return err
	})
	return status, err
}

// RefusedEvents are the events since this node was started that were not signed by the provider within the last five
// minutes, by its clock.
func (s *DonationStore) RefusedEvents() int64 { return s.refused.Load() }

// ClockOff is by how much the clock of this node is ahead of the provider's, where its last event was refused because
// of that; else 0.
func (s *DonationStore) ClockOff() time.Duration { return time.Duration(s.clockOff.Load()) }

// Declined is how many cards were declined since this node was started.
func (s *DonationStore) Declined() int64 { return s.declines.Load() }
