package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

var (
	sqlAccountsByNumber = `SELECT account_id, public_id, name, parent, '', created_at FROM account WHERE account_id IN (` + parameters(1, fewWidth) + `)`
	sqlAccountsBelow    = `SELECT account_id, public_id, name, parent, '', created_at FROM account WHERE parent IN (` + parameters(1, fewWidth) + `)`
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
		err = s.update(ctx, cmp.Or(top, account.Number), func(t *tx) error {
			if top != 0 {
				if err := t.checkChapters(top); err != nil {
					return err
				}
			}
			if err := t.addAccount(account); err != nil {
				return err
			}
			return join(t, account)
		})
		if err == nil {
			return account, nil
		}
		if !errors.Is(err, errTaken) {
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
	var levels int64
	err = s.view(ctx, func(c conn) error {
		top, levels, err = topOf(c, above)
		return err
	})
	if err != nil {
		return 0, err
	}
	return top, crm.LevelLimit.Check(levels, 1)
}

func (t *tx) addAccount(account crm.Account) error {
	if _, err := t.exec(sqlInsertAccount, account.Number, account.ID, account.Name, account.Parent, account.CreatedAt.UnixMicro()); err != nil {
		return err
	}
	_, err := t.exec(sqlInsertTally, account.Number)
	return err
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

// accountsByNumber are accounts with the public ids of those above them.
func accountsByNumber(c conn, numbers []int64) (map[int64]crm.Account, error) {
	found := map[int64]crm.Account{}
	read := func(r rows) error {
		a := readAccount(r)
		found[a.Number] = a
		return nil
	}
	if err := eachOf(c, read, sqlAccountsByNumber, numbers); err != nil {
		return nil, err
	}
	var above []int64
	for _, a := range found {
		if _, known := found[a.Parent]; a.Parent != 0 && !known {
			above = append(above, a.Parent)
		}
	}
	if err := eachOf(c, read, sqlAccountsByNumber, above); err != nil {
		return nil, err
	}
	for number, a := range found {
		a.ParentID = found[a.Parent].ID
		found[number] = a
	}
	return found, nil
}

const fewWidth = 20

// eachOf calls read for every row that a statement finds for some numbers, a few at a time. A join would leave it to the
// database whether it goes by the index; here it must.
func eachOf(c conn, read func(rows) error, sql string, numbers []int64) error {
	for part := range slices.Chunk(numbers, fewWidth) {
		args := make([]any, fewWidth)
		for i := range args {
			args[i] = part[min(i, len(part)-1)]
		}
		if err := each(c, read, sql, args...); err != nil {
			return err
		}
	}
	return nil
}
