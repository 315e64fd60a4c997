package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	sqlAccounts = `SELECT a.account_id, a.public_id, a.name, a.parent, COALESCE(p.public_id, ''), a.created_at
		FROM account a LEFT JOIN account p ON p.account_id = a.parent`
	sqlAccountList = sqlAccounts + ` ORDER BY a.created_at, a.account_id`
	sqlAccountByID = sqlAccounts + ` WHERE a.public_id = $1`
)

const (
	sqlAccountsByNumber = `SELECT account_id, public_id, name, parent, '', created_at FROM account WHERE account_id = ANY($1)`
	sqlAccountsBelow    = `SELECT account_id, public_id, name, parent, '', created_at FROM account WHERE parent = ANY($1)`
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
	return s.addAccount(ctx, name, above, func(*tx, crm.Account) error { return nil })
}

// addAccount makes an account below another; join writes what comes with it.
func (s *Store) addAccount(ctx context.Context, name string, above crm.Account, join func(*tx, crm.Account) error) (crm.Account, error) {
	top, err := s.topAbove(ctx, above)
	if err != nil {
		return crm.Account{}, err
	}
	for range 20 { // a random number is rarely taken, and never so often
		account, err := crm.NewAccount(name, above, s.now())
		if err != nil {
			return crm.Account{}, err
		}
		err = s.update(ctx, cmp.Or(top, account.Number), needs{}, func(t *tx) error {
			if top != 0 {
				if err := t.checkChapters(top); err != nil {
					return err
				}
			}
			t.addAccount(account)
			return join(t, account)
		})
		if err == nil {
			return account, nil
		}
		if !errors.Is(err, db.ErrTaken) {
			return crm.Account{}, err
		}
	}
	return crm.Account{}, errors.New("no free account number was found")
}

// topAbove is the organization at the top of a new chapter's tree, 0 where the account has none above it.
func (s *Store) topAbove(ctx context.Context, above crm.Account) (top int64, err error) {
	if above.Number == 0 {
		return 0, nil
	}
	var higher []int64
	err = s.view(ctx, func(c db.Conn) error {
		higher, err = accountsAbove(c, above)
		return err
	})
	if err != nil {
		return 0, err
	}
	return topOf(above, higher), crm.LevelLimit.Check(int64(len(higher)), 1)
}

func (t *tx) addAccount(a crm.Account) {
	t.Insert(accountTable, a.Number, a.ID, a.Name, a.Parent, a.CreatedAt.UnixMicro())
	t.Insert(tallyTable, a.Number, int64(0), int64(0), int64(0), int64(0), int64(0))
}

// Account finds an account by its public id.
func (s *Store) Account(ctx context.Context, id string) (account crm.Account, err error) {
	return find(ctx, s, noAccount(id), readAccount, sqlAccountByID, id)
}

func noAccount(id string) error { return fmt.Errorf("account %q: %w", id, crm.ErrNotFound) }

func findAccount(c db.Conn, id string) (account crm.Account, err error) {
	found, err := c.One(func(r db.Row) { account = readAccount(r) }, sqlAccountByID, id)
	if err == nil && !found {
		err = noAccount(id)
	}
	return account, err
}

// Accounts lists all accounts, oldest first.
func (s *Store) Accounts(ctx context.Context) (accounts []crm.Account, err error) {
	return list(ctx, s, readAccount, sqlAccountList)
}

func readAccount(r db.Row) crm.Account {
	return crm.Account{Number: r.Int(0), ID: r.Text(1), Name: r.Text(2), Parent: r.Int(3), ParentID: r.Text(4), CreatedAt: time.UnixMicro(r.Int(5)).UTC()}
}

// accountsByNumber are accounts with the public ids of those above them.
func accountsByNumber(c db.Conn, numbers []int64) (map[int64]crm.Account, error) {
	found := map[int64]crm.Account{}
	read := func(r db.Row) error {
		a := readAccount(r)
		found[a.Number] = a
		return nil
	}
	if err := c.Each(read, sqlAccountsByNumber, numbers); err != nil {
		return nil, err
	}
	var above []int64
	for _, a := range found {
		if _, known := found[a.Parent]; a.Parent != 0 && !known {
			above = append(above, a.Parent)
		}
	}
	if err := c.Each(read, sqlAccountsByNumber, above); err != nil {
		return nil, err
	}
	for number, a := range found {
		a.ParentID = found[a.Parent].ID
		found[number] = a
	}
	return found, nil
}
