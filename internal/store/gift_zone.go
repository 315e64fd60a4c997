package store

import (
	"context"
	"encoding/json"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
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

func init() { jobSteps[ZoneJob] = zoneStep }

// zoneStep moves a few gifts more to the clock that the organization has now.
func zoneStep(ctx context.Context, w *jobWorker, j *Job) error {
	var at ZoneProgress
	if err := json.Unmarshal(j.Progress, &at); err != nil {
		return err
	}
	return w.advance(ctx, j, needs{}, func(t *tx, a *accountUnit, next *Job) error {
		p := at
		p.Total = a.giftSeq
		ids := seqIDs(a.account, p.At+1, min(p.At+zoneUnit, a.giftSeq))
		moved, err := t.moveClocks(a, ids)
		if err != nil {
			return err
		}
		p.At, p.Moved = p.At+int64(len(ids)), p.Moved+moved
		next.Progress = jsonOf(p)
		if p.At >= a.giftSeq {
			return t.endJob(next, JobDone)
		}
		return nil
	})
}

// moveClocks moves some gifts, and tells how many of them had another time.
func (t *tx) moveClocks(a *accountUnit, ids []int64) (moved int64, err error) {
	if err := giftsOf(a).gifts.load(t, a.account, ids); err != nil {
		return 0, err
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool {
		g := giftsOf(a).gifts.rows[id]
		return g == nil || g.damage != nil || g.Local.Equal(crm.GiftClock(g.At, a.location())) // a check tells of damage
	})
	var cells []string
	var contacts []int64
	for _, id := range ids {
		g := giftsOf(a).gifts.rows[id].Gift
		contacts = append(contacts, g.Contact)
		cells = append(cells, shareOf(&g).cells()...)
		g.Local = crm.GiftClock(g.At, a.location())
		cells = append(cells, shareOf(&g).cells()...)
	}
	if _, err := t.loadRows(a, contacts); err != nil {
		return 0, err
	}
	if err := campaignsOf(a).giving.load(t, a.account, cells); err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := t.moveClock(a, giftsOf(a).gifts.rows[id]); err != nil {
			return 0, err
		}
	}
	return int64(len(ids)), nil
}

// moveClock gives a gift the time that it has by the organization's clock. Nothing about the gift has changed, so that its history tells nothing.
func (t *tx) moveClock(a *accountUnit, g *storedGift) error {
	before, after := g.Gift, g.Gift
	after.Local = crm.GiftClock(g.At, a.location())
	t.Touch()
	t.writeGift(t.Save, a, g.revision, &after)
	if err := t.moveGift(a, &before, &after); err != nil {
		return err
	}
	return t.saveStats(a, g.Contact, &before, &after, 0, "")
}

// zoneMoving tells whether gifts of an account still move to another clock.
func zoneMoving(c db.Conn, account int64) (bool, error) { return c.Exists(sqlOpenZoneJobs, account) }

// ZoneMoving tells whether gifts still move to the days of another time zone.
func (s *JobStore) ZoneMoving(ctx context.Context, account int64) (bool, error) {
	return lend(ctx, s.read, func(c db.Conn) (bool, error) { return zoneMoving(c, account) })
}

// SetAccountSettings changes what the input names. The currency stays once the account has gifts: all its sums are in it.
func (s *JobStore) SetAccountSettings(ctx context.Context, account int64, in crm.AccountSettingsInput) error {
	if err := in.Validate(); err != nil {
		return err
	}
	moves := false
	err := s.updateAccount(ctx, account, func(t *tx) error {
		settings, err := accountSettings(t.Conn, account)
		if err != nil {
			return err
		}
		a := t.account(account)
		changed, differences := settings.Change(&in)
		if changed.Currency != settings.Currency && a.giftSeq > 0 {
			return fault("currency", doc.CurrencyStays, a.currency, "organization")
		}
		if len(differences) == 0 {
			return nil
		}
		t.record(a, crm.SettingNoun, 0, crm.DidUpdate, differences.Text())
		moves = changed.Timezone != settings.Timezone && a.giftSeq > 0
		a.currency, a.timezone = changed.Currency, changed.Timezone
		t.saveSettings(account, changed)
		if moves {
			t.saveJob(t.newJob(a, ZoneJob, JobWaiting, zoneSpec{settings.Timezone, changed.Timezone}))
		}
		return nil
	})
	if err == nil && moves {
		s.wakeJobs()
	}
	return err
}

// SetCurrency changes the account's currency, as long as it has no gifts.
func (s *JobStore) SetCurrency(ctx context.Context, account int64, currency string) error {
	return s.SetAccountSettings(ctx, account, crm.AccountSettingsInput{Currency: &currency})
}
