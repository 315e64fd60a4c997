package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
)

const (
	SQLAccounts = `SELECT a.account_id, a.public_id, a.name, a.parent, COALESCE(p.public_id, ''), a.created_at
		FROM account a LEFT JOIN account p ON p.account_id = a.parent`
	SQLAccountList      = SQLAccounts + ` ORDER BY a.created_at, a.account_id`
	SQLAccountByID      = SQLAccounts + ` WHERE a.public_id = $1`
	SQLAccountsByID     = SQLAccounts + ` WHERE a.public_id = ANY($1)`
	SQLAccountsByNumber = SQLAccounts + ` WHERE a.account_id = ANY($1)`
	sqlLastAccount      = `SELECT COALESCE(MAX(account_id), 0) FROM account WHERE account_id < $1`
	sqlLastTally        = `SELECT COALESCE(MAX(account_id), 0) FROM account_tally WHERE account_id < $1`
)

// AddTally gives an account its row of totals, with its time zone where that is one.
func AddTally(t *Tx, account int64, zone string) *Account {
	u := t.Account(account)
	u.Tally, u.found = *NewTally(account), true
	if text.IsTimezone(zone) {
		u.Timezone = zone
	}
	t.Insert(TallyTable, u.Values()...)
	return u.Account
}

// NextAccount is the number of the next account. A number whose account was lost is not used again: some of its rows
// may still be there. One change at a time, of all nodes, gives out a number.
func NextAccount(t *Tx) (int64, error) {
	if err := t.LockAll(); err != nil {
		return 0, err
	}
	var last int64
	for _, sql := range []string{sqlLastAccount, sqlLastTally} {
		number, err := t.Int(sql, int64(doc.FirstRandomAccount))
		if err != nil {
			return 0, err
		}
		last = max(last, number)
	}
	return access.NextAccount(last), nil
}

// Account finds an account by its public id.
func (s *Store) Account(ctx context.Context, id string) (access.Account, error) {
	return Find(ctx, s, noAccount(id), ReadAccount, SQLAccountByID, id)
}

// AccountByNumber finds an account by the number that its data has.
func (s *Store) AccountByNumber(ctx context.Context, number int64) (access.Account, error) {
	return Find(ctx, s, crm.ErrNotFound, ReadAccount, SQLAccountsByNumber, []int64{number})
}

func noAccount(id string) error { return fmt.Errorf("account %q: %w", id, crm.ErrNotFound) }

// Accounts lists all accounts, oldest first.
func (s *Store) Accounts(ctx context.Context) ([]access.Account, error) {
	return List(ctx, s, ReadAccount, SQLAccountList)
}

func ReadAccount(r db.Row) access.Account {
	return access.Account{Number: r.Int(0), ID: r.Text(1), Name: r.Text(2), Parent: r.Int(3), ParentID: r.Text(4),
		CreatedAt: time.UnixMicro(r.Int(5)).UTC()}
}

func AccountNumber(a access.Account) int64 { return a.Number }

const (
	sqlAccountsBelow = `SELECT account_id, public_id, name, parent, '', created_at FROM account WHERE parent = ANY($1)`
	sqlParent        = `SELECT parent FROM account WHERE account_id = $1`
	sqlRenameAccount = `UPDATE account SET name = $2 WHERE account_id = $1`
)

// Chapters are all accounts below an account, each followed by those below it, and side by side by name.
func (s *Store) Chapters(ctx context.Context, root access.Account) (chapters []access.Account, err error) {
	all, err := Snapshot(ctx, s, func(c db.Conn) ([]access.Account, error) { return AccountsBelow(c, root.Number) })
	if err != nil {
		return nil, err
	}
	SortRows(all, func(a, b *access.Account) int { return CompareAccounts(*a, *b) })
	below := map[int64][]access.Account{}
	for _, a := range all {
		below[a.Parent] = append(below[a.Parent], a)
	}
	var walk func(access.Account)
	walk = func(above access.Account) {
		for _, chapter := range below[above.Number] {
			chapter.ParentID = above.ID
			chapters = append(chapters, chapter)
			walk(chapter)
		}
	}
	walk(root)
	return chapters, nil
}

// AccountsBelow are all accounts below another, level by level.
func AccountsBelow(c db.Conn, root int64) (all []access.Account, err error) {
	for level := []int64{root}; len(level) > 0; {
		next, err := db.List(c, ReadAccount, sqlAccountsBelow, level)
		if err != nil {
			return nil, err
		}
		level, all = Collect(next, AccountNumber), append(all, next...)
	}
	return all, nil
}

// AccountsAbove are the accounts above another, up to the top of its tree. They never change.
func AccountsAbove(c db.Conn, account access.Account) (numbers []int64, err error) {
	for above := account.Parent; above != 0 && err == nil; {
		numbers = append(numbers, above)
		above, err = c.Int(sqlParent, above)
	}
	return numbers, err
}

// Ancestry is an account, and those above it.
func (s *Store) Ancestry(ctx context.Context, number int64) (account access.Account, above []int64, err error) {
	if account, err = s.AccountByNumber(ctx, number); err == nil {
		above, err = Snapshot(ctx, s, func(c db.Conn) ([]int64, error) { return AccountsAbove(c, account) })
	}
	return account, above, err
}

// TopOf is the organization that an account belongs to: itself, or the one at the top of the tree.
func TopOf(account access.Account, above []int64) int64 {
	if len(above) == 0 {
		return account.Number
	}
	return above[len(above)-1]
}

// RenameAccount changes the name of root or of one of its chapters.
func (s *Store) RenameAccount(ctx context.Context, root access.Account, id, name string) error {
	account, err := s.AccountWithin(ctx, root, id)
	if err != nil {
		return err
	}
	if name, err = access.AccountName(name); err != nil {
		return err
	}
	return s.UpdateAccount(ctx, account.Number, func(t *Tx) error {
		renamed, err := Rename(t, account.Number, name)
		if err == nil && len(renamed) > 0 {
			t.Account(account.Number).Record(history.SettingNoun, 0, history.DidUpdate, renamed.Text())
		}
		return err
	})
}

// Rename gives an account another name, and returns what differs.
func Rename(t *Tx, account int64, name string) (doc.Differences, error) {
	now, err := FindIn(t.Conn, crm.ErrNotFound, ReadAccount, SQLAccountsByNumber, []int64{account})
	if err != nil || now.Name == name {
		return nil, err
	}
	return doc.Differences{doc.TextDifference("name", now.Name, name)}, t.Run(sqlRenameAccount, account, name)
}

// AccountWithin finds an account by its public id, where it is root or an account below it. The caller learns nothing
// about any other.
func (s *Store) AccountWithin(ctx context.Context, root access.Account, id string) (access.Account, error) {
	if !access.IsAccountID(id) {
		return access.Account{}, noAccount(id)
	}
	return Snapshot(ctx, s, func(c db.Conn) (access.Account, error) {
		account, err := FindIn(c, noAccount(id), ReadAccount, SQLAccountByID, id)
		if err != nil || account.Number == root.Number {
			return account, err
		}
		above, err := AccountsAbove(c, account)
		if err == nil && !slices.Contains(above, root.Number) {
			err = noAccount(id)
		}
		return account, err
	})
}

func CompareAccounts(a, b access.Account) int {
	return cmp.Or(access.CompareNames(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

const sqlSetting = `SELECT address, tax_id, no_return, logo, email, website, public_donors, receipt_form, receipt_place,
	receipt_signer, receipt_text, donations FROM account_setting WHERE account_id = $1`

func scanSetting(r db.Row) access.AccountSettings {
	return access.AccountSettings{Address: r.Text(0), TaxID: r.Text(1), NoReturn: r.Int(2) != 0, Logo: r.Text(3),
		Email: r.Text(4), Website: r.Text(5), PublicDonors: access.PublicDonors(r.Text(6)),
		Receipts:  thanks.Wording{Form: r.Text(7), Place: r.Text(8), Signer: r.Text(9), Text: r.Text(10)},
		Donations: r.Text(11)}
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
func (s *Store) AccountSettings(ctx context.Context, account int64) (access.AccountSettings, error) {
	return Snapshot(ctx, s, func(c db.Conn) (access.AccountSettings, error) { return AccountSettings(c, account) })
}

func SaveSettings(t *Tx, account int64, s access.AccountSettings) {
	noReturn := int64(0)
	if s.NoReturn {
		noReturn = 1
	}
	t.Save(SettingTable, account, s.Address, s.TaxID, noReturn, s.Logo, s.Email, s.Website, string(s.PublicDonors),
		s.Receipts.Form, s.Receipts.Place, s.Receipts.Signer, s.Receipts.Text, s.Donations)
}

// SetAccountSettings changes what the input names. The currency stays once the account has gifts: all its sums are in
// it. A new time zone counts from then on: gifts keep the days that they were recorded with.
func (s *Store) SetAccountSettings(ctx context.Context, account int64, in access.AccountSettingsInput) error {
	if err := in.Validate(); err != nil {
		return err
	}
	return s.UpdateAccount(ctx, account, func(t *Tx) error {
		settings, err := AccountSettings(t.Conn, account)
		if err != nil {
			return err
		}
		u := t.Account(account)
		changed, differences := settings.Change(&in)
		if changed.Currency != settings.Currency && u.GiftSeq > 0 {
			return Fault("currency", doc.CurrencyStays, u.Currency, "organization")
		}
		if in.Name != nil {
			renamed, err := Rename(t, account, *in.Name)
			if err != nil {
				return err
			}
			differences = append(renamed, differences...)
		}
		if len(differences) == 0 {
			return nil
		}
		u.Record(history.SettingNoun, 0, history.DidUpdate, differences.Text())
		u.Currency, u.Timezone = changed.Currency, changed.Timezone
		SaveSettings(t, account, changed)
		if in.Logo != nil {
			SavePictures(t, account, OrganizationPictures, in.Logo.Files, []string{settings.Logo},
				[]string{changed.Logo})
		}
		return nil
	})
}

// SetCurrency changes the account's currency, as long as it has no gifts.
func (s *Store) SetCurrency(ctx context.Context, account int64, currency string) error {
	return s.SetAccountSettings(ctx, account, access.AccountSettingsInput{Currency: &currency})
}

// Timezone is the time zone of the organization.
func (s *Store) Timezone(ctx context.Context, account int64) (*time.Location, error) {
	row, err := Find(ctx, s, crm.ErrNotFound, ScanTally, SQLTally, account)
	return row.Location(), err
}

// Currency is the account's currency.
func (s *Store) Currency(ctx context.Context, account int64) (string, error) {
	row, err := Find(ctx, s, crm.ErrNotFound, ScanTally, SQLTally, account)
	return row.Currency, err
}
