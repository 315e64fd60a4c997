package store

import (
	"context"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

const sqlSetting = `SELECT address, tax_id, history_days, no_return FROM account_setting WHERE account_id = $1`

func scanSetting(r db.Row) crm.AccountSettings {
	return crm.AccountSettings{Address: r.Text(0), TaxID: r.Text(1), HistoryDays: r.Int(2), NoReturn: r.Int(3) != 0}
}

// accountSettings reads the settings of an account; one that has set nothing has no row.
func accountSettings(c db.Conn, account int64) (settings crm.AccountSettings, err error) {
	row, err := readTally(c, account)
	if err == nil {
		_, err = c.One(func(r db.Row) { settings = scanSetting(r) }, sqlSetting, account)
	}
	settings.Currency, settings.Timezone, settings.HasGifts = row.currency, row.timezone, row.giftSeq > 0
	return settings, err
}

// AccountSettings are the settings of an account.
func (s *Store) AccountSettings(ctx context.Context, account int64) (crm.AccountSettings, error) {
	return snapshot(ctx, s, func(c db.Conn) (crm.AccountSettings, error) { return accountSettings(c, account) })
}

// SetAccountSettings changes what the input names. The currency stays once the account has gifts: all its sums are in it.
func (s *Store) SetAccountSettings(ctx context.Context, account int64, in crm.AccountSettingsInput) error {
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

func (t *tx) saveSettings(account int64, s crm.AccountSettings) {
	noReturn := int64(0)
	if s.NoReturn {
		noReturn = 1
	}
	t.Save(settingTable, account, s.Address, s.TaxID, s.HistoryDays, noReturn)
}

// Timezone is the time zone of the organization.
func (s *Store) Timezone(ctx context.Context, account int64) (*time.Location, error) {
	row, err := find(ctx, s, crm.ErrNotFound, scanTally, sqlTally, account)
	return row.location(), err
}

// Currency is the account's currency.
func (s *Store) Currency(ctx context.Context, account int64) (string, error) {
	row, err := find(ctx, s, crm.ErrNotFound, scanTally, sqlTally, account)
	return row.currency, err
}

// SetCurrency changes the account's currency, as long as it has no gifts.
func (s *Store) SetCurrency(ctx context.Context, account int64, currency string) error {
	return s.SetAccountSettings(ctx, account, crm.AccountSettingsInput{Currency: &currency})
}
