package store

import (
	"context"
	"time"

	"donorbook/internal/crm"
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
func (s *PeopleStore) AccountSettings(ctx context.Context, account int64) (crm.AccountSettings, error) {
	return snapshot(ctx, s.Base, func(c db.Conn) (crm.AccountSettings, error) { return accountSettings(c, account) })
}

func (t *tx) saveSettings(account int64, s crm.AccountSettings) {
	noReturn := int64(0)
	if s.NoReturn {
		noReturn = 1
	}
	t.Save(settingTable, account, s.Address, s.TaxID, s.HistoryDays, noReturn)
}

// Timezone is the time zone of the organization.
func (s *PeopleStore) Timezone(ctx context.Context, account int64) (*time.Location, error) {
	row, err := find(ctx, s.Base, crm.ErrNotFound, scanTally, sqlTally, account)
	return row.location(), err
}

// Currency is the account's currency.
func (s *PeopleStore) Currency(ctx context.Context, account int64) (string, error) {
	row, err := find(ctx, s.Base, crm.ErrNotFound, scanTally, sqlTally, account)
	return row.currency, err
}
