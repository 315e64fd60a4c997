package store

import (
	"context"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"time"
)

const sqlSetting = `SELECT address, tax_id, history_days, no_return, logo, email, website, public_donors, receipt_form, receipt_place, receipt_signer, receipt_text, donations FROM account_setting WHERE account_id = $1`

func scanSetting(r db.Row) access.AccountSettings {
	return access.AccountSettings{Address: r.Text(0), TaxID: r.Text(1), HistoryDays: r.Int(2), NoReturn: r.Int(3) != 0, Logo: r.Text(4),
		Email: r.Text(5), Website: r.Text(6), PublicDonors: access.PublicDonors(r.Text(7)),
		Receipts: thanks.Wording{Form: r.Text(8), Place: r.Text(9), Signer: r.Text(10), Text: r.Text(11)}, Donations: r.Text(12)}
}

// AccountSettings reads the settings of an account; one that has set nothing has no row.
func AccountSettings(c db.Conn, account int64) (settings access.AccountSettings, err error) {
	row, err := ReadTally(c, account)
	if err == nil {
		_, err = c.One(func(r db.Row) { settings = scanSetting(r) }, sqlSetting, account)
	}
	settings.Currency, settings.Timezone, settings.HasGifts = row.Currency, row.Timezone, row.GiftSeq > 0
	return settings, err
}

// AccountSettings are the settings of an account.
func (s *Base) AccountSettings(ctx context.Context, account int64) (access.AccountSettings, error) {
	return Snapshot(ctx, s, func(c db.Conn) (access.AccountSettings, error) { return AccountSettings(c, account) })
}

func SaveSettings(t *Tx, account int64, s access.AccountSettings) {
	noReturn := int64(0)
	if s.NoReturn {
		noReturn = 1
	}
	t.Save(SettingTable, account, s.Address, s.TaxID, s.HistoryDays, noReturn, s.Logo, s.Email, s.Website, string(s.PublicDonors),
		s.Receipts.Form, s.Receipts.Place, s.Receipts.Signer, s.Receipts.Text, s.Donations)
}

// Timezone is the time zone of the organization.
func (s *Base) Timezone(ctx context.Context, account int64) (*time.Location, error) {
	row, err := Find(ctx, s, crm.ErrNotFound, ScanTally, SQLTally, account)
	return row.Location(), err
}

// Currency is the account's currency.
func (s *Base) Currency(ctx context.Context, account int64) (string, error) {
	row, err := Find(ctx, s, crm.ErrNotFound, ScanTally, SQLTally, account)
	return row.Currency, err
}
