// Package people has the accounts of a database, and who may work with them: users, members, invitations, sessions and
// API keys. It knows nothing of contacts, campaigns or gifts.
package people

import (
	"context"
	"crypto/sha256"
	"sync/atomic"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/store"
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
func (s *PeopleStore) addAccount(ctx context.Context, name string, above access.Account,
	owner int64,
) (account access.Account, err error) {
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
	higher, err := store.Snapshot(ctx, s.Store, func(c db.Conn) ([]int64, error) {
		return store.AccountsAbove(c,
			above)
	})
	if err != nil {
		return 0, err
	}
	return store.TopOf(above, higher), access.LevelLimit.Check(int64(len(higher)), 1)
}

// addAccount gives an account the next number and writes it, with its time zone where that is one.
func addAccount(t *store.Tx, a *access.Account, zone string) (err error) {
	if a.Number, err = store.NextAccount(t); err != nil {
		return err
	}
	t.Insert(store.AccountTable, a.Number, a.ID, a.Name, a.Parent, a.CreatedAt.UnixMicro())
	store.AddTally(t, a.Number, zone)
	return nil
}

// PeopleStore has the accounts of a database, and who may work with them: users, members, keys, sessions.
type PeopleStore struct {
	*store.Store
	keys      store.Cache[[sha256.Size]byte, knownKey]
	revoked   atomic.Int64 // keys, by this node
	Passwords hasher
}

func New(b *store.Store) *PeopleStore {
	s := &PeopleStore{Store: b, Passwords: NewHasher()}
	b.WriteLate(mail.Reset, s.writeReset)
	return s
}

// CreateChapter makes an account below root, or below one of its chapters. The user who makes it owns it.
func (s *PeopleStore) CreateChapter(ctx context.Context, root access.Account, by int64, parent,
	name string,
) (access.Account, error) {
	above, err := s.AccountWithin(ctx, root, parent)
	if err != nil {
		return access.Account{}, err
	}
	return s.addAccount(ctx, name, above, by)
}

// checkChapters refuses one more chapter of an organization that has enough of them. The organization is locked, so
// that two at once cannot both be the last one.
func checkChapters(t *store.Tx, top int64) error {
	chapters, err := store.AccountsBelow(t.Conn, top)
	if err != nil {
		return err
	}
	return access.ChapterLimit.Check(int64(len(chapters)), 1)
}
