package jobs

import (
	"context"
	"encoding/json"
	"slices"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// When the time zone of an organization changes, gifts whose time is known move to the day that they have by the new clock, and the sums, the sets
// and the last gifts of contacts with them. A job does it, some gifts at a time. What a gift was counted under stands in its row, so that the sums
// are right at any time; gifts that are recorded meanwhile go by the new clock already.

// zoneUnit is how many gifts are looked at in one unit of work.
const zoneUnit = 200

const sqlOpenZoneJobs = `SELECT 1 FROM job WHERE account_id = $1 AND state IN ('uploading', 'mapping', 'waiting', 'running') AND kind = 'timezone'`

// zoneSpec is what a job of a time zone is about.
type zoneSpec struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// ZoneProgress is how far the gifts have moved.
type ZoneProgress struct {
	At    int64 `json:"at"`    // sequence number of the last gift that was looked at
	Moved int64 `json:"moved"` // gifts that are on another day or at another time now
	Total int64 `json:"total"` // gifts
}

// zoneStep moves a few gifts more to the clock that the organization has now.
func zoneStep(ctx context.Context, w *JobWorker, j *Job) error {
	var at ZoneProgress
	if err := json.Unmarshal(j.Progress, &at); err != nil {
		return err
	}
	return w.Advance(ctx, j, store.Needs{}, func(u store.Unit, next *Job) error {
		p := at
		p.Total = u.GiftSeq
		ids := store.SeqIDs(u.Number, p.At+1, min(p.At+zoneUnit, u.GiftSeq))
		moved, err := moveClocks(u, ids)
		if err != nil {
			return err
		}
		p.At, p.Moved = p.At+int64(len(ids)), p.Moved+moved
		next.Progress = JSONOf(p)
		if p.At >= u.GiftSeq {
			return EndJob(u.Tx, next, JobDone)
		}
		return nil
	})
}

// moveClocks moves some gifts, and tells how many of them had another time.
func moveClocks(u store.Unit, ids []int64) (moved int64, err error) {
	if err := u.Gifts.Load(u.Tx, u.Number, ids); err != nil {
		return 0, err
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool {
		g := u.Gifts.Rows[id]
		return g == nil || g.Damage != nil || g.Local.Equal(giving.GiftClock(g.At, u.Location())) // a check tells of damage
	})
	var changes []store.Derivation
	var contacts []int64
	for _, id := range ids {
		g := u.Gifts.Rows[id].Gift
		contacts = append(contacts, g.Contact)
		before := find.GiftRows(&g)
		g.Local = giving.GiftClock(g.At, u.Location())
		changes = append(changes, store.Derivation{ID: id, Before: before, After: find.GiftRows(&g)})
	}
	if _, err := loadRows(u, contacts); err != nil {
		return 0, err
	}
	if err := store.LookUpDerived(u, changes); err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := moveClock(u, u.Gifts.Rows[id]); err != nil {
			return 0, err
		}
	}
	return int64(len(ids)), nil
}

// moveClock gives a gift the time that it has by the organization's clock. Nothing about the gift has changed, so that its history tells nothing.
func moveClock(u store.Unit, g *store.StoredGift) error {
	before, after := g.Gift, g.Gift
	after.Local = giving.GiftClock(g.At, u.Location())
	u.Tx.Touch()
	if err := store.PutGift(u, &after, g.Revision); err != nil {
		return err
	}
	return store.SaveStats(u, g.Contact, &before, &after, 0, "")
}

// ZoneMoving tells whether gifts of an account still move to another clock.
func ZoneMoving(c db.Conn, account int64) (bool, error) { return c.Exists(sqlOpenZoneJobs, account) }

// ZoneMoving tells whether gifts still move to the days of another time zone.
func (s *JobStore) ZoneMoving(ctx context.Context, account int64) (bool, error) {
	return store.Lend(ctx, s.Read, func(c db.Conn) (bool, error) { return ZoneMoving(c, account) })
}

// SetAccountSettings changes what the input names. The currency stays once the account has gifts: all its sums are in it.
func (s *JobStore) SetAccountSettings(ctx context.Context, account int64, in access.AccountSettingsInput) error {
	if err := in.Validate(); err != nil {
		return err
	}
	moves := false
	err := s.UpdateAccount(ctx, account, func(t *store.Tx) error {
		settings, err := store.AccountSettings(t.Conn, account)
		if err != nil {
			return err
		}
		u := t.Account(account)
		changed, differences := settings.Change(&in)
		if changed.Currency != settings.Currency && u.GiftSeq > 0 {
			return store.Fault("currency", doc.CurrencyStays, u.Currency, "organization")
		}
		if in.Name != nil {
			renamed, err := store.Rename(t, account, *in.Name)
			if err != nil {
				return err
			}
			differences = append(renamed, differences...)
		}
		if len(differences) == 0 {
			return nil
		}
		u.Record(history.SettingNoun, 0, history.DidUpdate, differences.Text())
		moves = changed.Timezone != settings.Timezone && u.GiftSeq > 0
		u.Currency, u.Timezone = changed.Currency, changed.Timezone
		store.SaveSettings(t, account, changed)
		if in.Logo != nil {
			store.SavePictures(t, account, store.OrganizationPictures, in.Logo.Files, []string{settings.Logo}, []string{changed.Logo})
		}
		if moves {
			SaveJob(t, NewJob(u, ZoneJob, JobWaiting, zoneSpec{settings.Timezone, changed.Timezone}))
		}
		return nil
	})
	if err == nil && moves {
		s.WakeJobs()
	}
	return err
}

// SetCurrency changes the account's currency, as long as it has no gifts.
func (s *JobStore) SetCurrency(ctx context.Context, account int64, currency string) error {
	return s.SetAccountSettings(ctx, account, access.AccountSettingsInput{Currency: &currency})
}
