package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"donorbook/internal/crm"
)

const (
	sqlInsertAccount = `INSERT INTO account (account_id, public_id, name, parent, created_at) VALUES ($1, $2, $3, $4, $5)`
	sqlInsertTally   = `INSERT INTO account_tally (account_id, revision, contact_seq, contact_active, key_seq, campaign_revision)
		VALUES ($1, 0, 0, 0, 0, 0)`

	sqlAccounts = `SELECT a.account_id, a.public_id, a.name, a.parent, COALESCE(p.public_id, ''), a.created_at
		FROM account a LEFT JOIN account p ON p.account_id = a.parent`
	sqlAccountList = sqlAccounts + ` ORDER BY a.created_at, a.account_id`
	sqlAccountByID = sqlAccounts + ` WHERE a.public_id = $1`
)

// CreateAccount makes an account; parent is the public id of the account above, "" for none.
func (s *Store) CreateAccount(ctx context.Context, name, parent string) (crm.Account, error) {
	var above crm.Account
	if parent != "" {
		var err error
		if above, err = s.Account(ctx, parent); err != nil {
			return crm.Account{}, err
		}
	}
	for range 20 { // a random number is rarely taken, and never so often
		account, err := crm.NewAccount(name, above, s.now())
		if err != nil {
			return crm.Account{}, err
		}
		err = s.update(ctx, account.Number, func(t *tx) error {
			if _, err := t.exec(sqlInsertAccount, account.Number, account.ID, account.Name, account.Parent, account.CreatedAt.UnixMicro()); err != nil {
				return err
			}
			_, err := t.exec(sqlInsertTally, account.Number)
			return err
		})
		if !errors.Is(err, errTaken) {
			return account, err
		}
	}
	return crm.Account{}, errors.New("no free account number was found")
}

// Account finds an account by its public id.
func (s *Store) Account(ctx context.Context, id string) (account crm.Account, err error) {
	err = s.read(ctx, func(c conn) error {
		account, err = findAccount(c, id)
		return err
	})
	return account, err
}

func findAccount(c conn, id string) (account crm.Account, err error) {
	found, err := one(c, func(r rows) { account = readAccount(r) }, sqlAccountByID, id)
	if err == nil && !found {
		err = fmt.Errorf("account %q: %w", id, crm.ErrNotFound)
	}
	return account, err
}

// Accounts lists all accounts, oldest first.
func (s *Store) Accounts(ctx context.Context) (accounts []crm.Account, err error) {
	err = s.read(ctx, func(c conn) error {
		accounts = nil
		return each(c, func(r rows) error {
			accounts = append(accounts, readAccount(r))
			return nil
		}, sqlAccountList)
	})
	return accounts, err
}

func readAccount(r rows) crm.Account {
	return crm.Account{Number: r.int(0), ID: r.text(1), Name: r.text(2), Parent: r.int(3), ParentID: r.text(4), CreatedAt: time.UnixMicro(r.int(5)).UTC()}
}
