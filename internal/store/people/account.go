// Package people has the accounts of a database, and who may work with them: users, members, invitations, sessions and API keys. It knows nothing of
// contacts, campaigns or gifts.
package people

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/mails"
)

const (
	sqlAccounts = `SELECT a.account_id, a.public_id, a.name, a.parent, COALESCE(p.public_id, ''), a.created_at
		FROM account a LEFT JOIN account p ON p.account_id = a.parent`
	SQLAccountList      = sqlAccounts + ` ORDER BY a.created_at, a.account_id`
	SQLAccountByID      = sqlAccounts + ` WHERE a.public_id = $1`
	SQLAccountsByID     = sqlAccounts + ` WHERE a.public_id = ANY($1)`
	SQLAccountsByNumber = sqlAccounts + ` WHERE a.account_id = ANY($1)`
	sqlLastAccount      = `SELECT COALESCE(MAX(account_id), 0) FROM account WHERE account_id < $1`
	sqlLastTally        = `SELECT COALESCE(MAX(account_id), 0) FROM account_tally WHERE account_id < $1`
)

// CreateAccount makes an account; parent is the public id of the account above, "" for none.
func (s *PeopleStore) CreateAccount(ctx context.Context, name, parent string) (access.Account, error) {
	if parent == "" {
		return s.addAccount(ctx, name, access.Account{}, 0)
	}
	above, err := s.Account(ctx, parent)
	if err != nil {
		return access.Account{}, err
	}
	return s.addAccount(ctx, name, above, 0)
}

// addAccount makes an account below another one, if there is one, and makes a user its owner; 0 is no user.
func (s *PeopleStore) addAccount(ctx context.Context, name string, above access.Account, owner int64) (account access.Account, err error) {
	top := int64(0)
	if above.Number != 0 {
		if top, err = s.topAbove(ctx, above); err != nil {
			return access.Account{}, err
		}
	}
	err = store.Repeat(func() (err error) {
		if account, err = access.NewAccount(name, above, s.Now()); err != nil {
			return err
		}
		write := func(t *store.Tx) error {
			zone := ""
			if above.Number != 0 { // a chapter begins with the clock of the account above it
				row, err := store.ReadTally(t.Conn, above.Number)
				if err != nil {
					return err
				}
				zone = row.Timezone
			}
			if err := addAccount(t, &account, zone); err != nil {
				return err
			}
			if owner == 0 {
				return nil
			}
			user, err := loadUser(t, owner)
			if err != nil {
				return err
			}
			return AddMember(t, account.Number, user, access.Owner, s.Now())
		}
		if top == 0 {
			return s.UpdateShared(ctx, 0, write)
		}
		return s.UpdateOnce(ctx, top, func(t *store.Tx) error {
			if err := checkChapters(t, top); err != nil {
				return err
			}
			return write(t)
		})
	})
	return account, err
}

// topAbove is the organization at the top of a new chapter's tree.
func (s *PeopleStore) topAbove(ctx context.Context, above access.Account) (int64, error) {
	higher, err := store.Snapshot(ctx, s.Base, func(c db.Conn) ([]int64, error) { return AccountsAbove(c, above) })
	if err != nil {
		return 0, err
	}
	return TopOf(above, higher), access.LevelLimit.Check(int64(len(higher)), 1)
}

// addAccount gives an account the next number and writes it, with its time zone where that is one.
func addAccount(t *store.Tx, a *access.Account, zone string) (err error) {
	if a.Number, err = NextAccount(t); err != nil {
		return err
	}
	t.Insert(store.AccountTable, a.Number, a.ID, a.Name, a.Parent, a.CreatedAt.UnixMicro())
	AddTally(t, a.Number, zone)
	return nil
}

// AddTally gives an account its row of totals, with its time zone where that is one.
func AddTally(t *store.Tx, account int64, zone string) *store.Account {
	a := t.Account(account)
	a.Tally, a.Exists = *store.NewTally(account), true
	if text.IsTimezone(zone) {
		a.Timezone = zone
	}
	t.Insert(store.TallyTable, a.Values()...)
	return a
}

// NextAccount is the number of the next account. A number whose account was lost is not used again: some of its rows may still be there. One
// change at a time, of all nodes, gives out a number.
func NextAccount(t *store.Tx) (int64, error) {
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
func (s *PeopleStore) Account(ctx context.Context, id string) (access.Account, error) {
	return store.Find(ctx, s.Base, noAccount(id), ReadAccount, SQLAccountByID, id)
}

// AccountByNumber finds an account by the number that its data has.
func (s *PeopleStore) AccountByNumber(ctx context.Context, number int64) (access.Account, error) {
	return store.Find(ctx, s.Base, crm.ErrNotFound, ReadAccount, SQLAccountsByNumber, []int64{number})
}

func noAccount(id string) error { return fmt.Errorf("account %q: %w", id, crm.ErrNotFound) }

// Accounts lists all accounts, oldest first.
func (s *PeopleStore) Accounts(ctx context.Context) ([]access.Account, error) {
	return store.List(ctx, s.Base, ReadAccount, SQLAccountList)
}

func ReadAccount(r db.Row) access.Account {
	return access.Account{Number: r.Int(0), ID: r.Text(1), Name: r.Text(2), Parent: r.Int(3), ParentID: r.Text(4), CreatedAt: time.UnixMicro(r.Int(5)).UTC()}
}

func accountNumber(a access.Account) int64 { return a.Number }

// PeopleStore has the accounts of a database, and who may work with them: users, members, keys, sessions.
type PeopleStore struct {
	*store.Base
	*mails.MailStore
	keys      store.Cache[[sha256.Size]byte, knownKey]
	revoked   atomic.Int64 // keys, by this node
	Passwords hasher
}

func New(b *store.Base, outbox *mails.MailStore) *PeopleStore {
	s := &PeopleStore{Base: b, MailStore: outbox, Passwords: NewHasher()}
	outbox.WriteLate(mail.Reset, s.writeReset)
	return s
}
