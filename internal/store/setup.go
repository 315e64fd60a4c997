package store

import (
	"context"
	"fmt"

	"donorbook/internal/crm"
)

const (
	sqlSetup        = `SELECT expires_at FROM invitation WHERE hash = $1 AND account_id = 0`
	sqlEndSetups    = `DELETE FROM invitation WHERE account_id = 0 AND expires_at <= $1`
	sqlLockSetup    = `SELECT version FROM schema_version WHERE version = $1`
	sqlRootAccounts = `SELECT a.account_id, a.public_id, a.name, a.parent, '', a.created_at FROM account a WHERE a.parent = 0`
)

var errNoSetup = fmt.Errorf("the set-up link: %w", crm.ErrNotFound)

// SetupToken makes a link's token by which the first user joins, "" where there is a user. Every node may make one; the
// first that is used ends all of them.
func (s *Store) SetupToken(ctx context.Context) (token string, err error) {
	used := false
	err = s.read(ctx, func(c conn) error {
		used, err = hasUsers(c)
		return err
	})
	if err != nil || used {
		return "", err
	}
	now := s.now()
	link, token := crm.NewSetup(now)
	err = s.update(ctx, 0, func(t *tx) error {
		if err := t.lockSetup(); err != nil {
			return err
		}
		if used, err = hasUsers(t.conn); err != nil || used {
			return err
		}
		if _, err := t.exec(sqlEndSetups, seconds(now)); err != nil {
			return err
		}
		return t.addInvitation(link, 0)
	})
	if err != nil || used {
		return "", err
	}
	return token, nil
}

// SetupAccounts are the organisations that the first user may take, where the token is valid.
func (s *Store) SetupAccounts(ctx context.Context, token string) (accounts []crm.Account, err error) {
	err = s.view(ctx, func(c conn) error {
		accounts = nil
		if err := s.checkSetup(c, token); err != nil {
			return err
		}
		return each(c, func(r rows) error {
			accounts = append(accounts, readAccount(r))
			return nil
		}, sqlRootAccounts)
	})
	sortAccounts(accounts)
	return accounts, err
}

// Setup makes the first user, and the organisation that they own. Of all who try at the same moment, one succeeds.
func (s *Store) Setup(ctx context.Context, token string, in crm.SetupInput) (user crm.User, account crm.Account, err error) {
	accounts, err := s.SetupAccounts(ctx, token)
	if err != nil {
		return crm.User{}, crm.Account{}, err
	}
	if err := in.Validate(accounts); err != nil {
		return crm.User{}, crm.Account{}, err
	}
	taken, exists := in.Taken(accounts)
	user, err = s.addUser(ctx, 0, in.UserInput, func(t *tx) error {
		if err := t.lockSetup(); err != nil {
			return err
		}
		if err := s.checkSetup(t.conn, token); err != nil {
			return err
		}
		if account = taken; exists {
			return nil
		}
		var err error
		account, err = crm.NewAccount(in.Organisation, crm.Account{}, s.now())
		return err
	}, func(t *tx, user crm.User) error {
		if !exists {
			if err := t.addAccount(account); err != nil {
				return err
			}
		}
		if err := t.addMember(account.Number, user.ID, crm.Owner, s.now()); err != nil {
			return err
		}
		_, err := t.exec(sqlEndSetups, int64(maxTime))
		return err
	})
	if err != nil {
		return crm.User{}, crm.Account{}, err
	}
	return user, account, nil
}

const maxTime = 1<<63 - 1

// lockSetup lets one change at a time, of all nodes, decide whether somebody is the first.
func (t *tx) lockSetup() error {
	_, err := one(t.conn, func(rows) {}, sqlLockSetup+t.forUpdate, int64(len(migrations)))
	return err
}

func (s *Store) checkSetup(c conn, token string) error {
	link := crm.Invitation{}
	found, err := one(c, func(r rows) { link.ExpiresAt = moment(r.int(0)) }, sqlSetup, crm.HashToken(token))
	if err != nil {
		return err
	}
	used, err := hasUsers(c)
	if err == nil && (used || !found || !link.Valid(s.now())) {
		err = errNoSetup
	}
	return err
}

func hasUsers(c conn) (bool, error) { return one(c, func(rows) {}, sqlAnyUser, int64(0)) }
