package people

import (
	"context"
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sqlSetup        = `SELECT expires_at FROM invitation WHERE hash = $1 AND account_id = 0`
	sqlEndSetups    = `DELETE FROM invitation WHERE account_id = 0`
	sqlRootAccounts = `SELECT a.account_id, a.public_id, a.name, a.parent, '', a.created_at FROM account a
		WHERE a.parent = 0`
	SQLContactSeqs = `SELECT contact_seq FROM account_tally WHERE account_id = ANY($1)`
)

var errNoSetup = fmt.Errorf("the setup link: %w", crm.ErrNotFound)

// SetupToken makes the token of the link by which the first user joins; it is "" if there is a user. The link replaces
// the one before, of any node: a link that was printed and forgotten must not stay valid.
func (s *PeopleStore) SetupToken(ctx context.Context) (string, error) {
	used, err := store.Lend(ctx, s.Read, hasUsers)
	if err != nil || used {
		return "", err
	}
	link, token := access.NewSetup(s.Now())
	err = s.UpdateShared(ctx, 0, func(t *store.Tx) error {
		if err := t.LockAll(); err != nil {
			return err
		}
		if used, err = hasUsers(t.Conn); err != nil || used {
			return err
		}
		if err := t.Run(sqlEndSetups); err != nil {
			return err
		}
		addInvitation(t, link, 0)
		return nil
	})
	if err != nil || used {
		return "", err
	}
	return token, nil
}

// SetupOffer is what the first user may take over.
type SetupOffer struct {
	Accounts []access.Account // organizations without contacts, by name
	Withheld bool             // there are organizations with contacts
}

// setupOffers is how many organizations are offered at most.
const setupOffers = 50

// SetupOffer finds the organizations that the first user may take over, where the token is valid. One that has contacts
// is never given away by a link: its first owner is made by the operator.
func (s *PeopleStore) SetupOffer(ctx context.Context, token string) (SetupOffer, error) {
	return store.Snapshot(ctx, s.Store, func(c db.Conn) (offer SetupOffer, err error) {
		if err := s.checkSetup(c, token); err != nil {
			return offer, err
		}
		roots, err := db.List(c, store.ReadAccount, sqlRootAccounts)
		for _, root := range roots {
			if err != nil || len(offer.Accounts) == setupOffers {
				break
			}
			var used bool
			if used, err = hasContacts(c, root.Number); used {
				offer.Withheld = true
			} else {
				offer.Accounts = append(offer.Accounts, root)
			}
		}
		store.SortRows(offer.Accounts, func(a, b *access.Account) int { return store.CompareAccounts(*a, *b) })
		return offer, err
	})
}

// hasContacts tells whether an account, or one of its chapters, has ever had a contact.
func hasContacts(c db.Conn, root int64) (bool, error) {
	chapters, err := store.AccountsBelow(c, root)
	if err != nil {
		return false, err
	}
	seqs, err := db.List(c, store.Number, SQLContactSeqs, append(store.Collect(chapters, store.AccountNumber), root))
	return slices.ContainsFunc(seqs, func(seq int64) bool { return seq > 0 }), err
}

// Setup makes the first user, and the organization that they own. Of several attempts at the same moment, one succeeds.
func (s *PeopleStore) Setup(ctx context.Context, token string,
	in access.SetupInput,
) (access.User, access.Account, error) {
	offer, err := s.SetupOffer(ctx, token)
	if err == nil {
		err = in.Validate(offer.Accounts)
	}
	if err != nil {
		return access.User{}, access.Account{}, err
	}
	account, exists := in.Taken(offer.Accounts)
	user, err := s.addUser(store.ByOneself(ctx, in.Email), in.UserInput, s.UpdateShared, 0,
		func(t *store.Tx, user access.User) error {
			err := t.LockAll()
			if err == nil {
				err = s.checkSetup(t.Conn, token)
			}
			switch {
			case err != nil:
			case exists:
				err = checkEmpty(t, account.Number)
			default:
				if account, err = access.NewAccount(in.Organization, access.Account{}, s.Now()); err == nil {
					err = addAccount(t, &account, in.Timezone)
				}
			}
			if err != nil {
				return err
			}
			if err := AddMember(t, account.Number, user, access.Owner, s.Now()); err != nil {
				return err
			}
			if in.NoReturn {
				settings := access.AccountSettings{}
				if exists {
					if settings, err = store.AccountSettings(t.Conn, account.Number); err != nil {
						return err
					}
				}
				settings.NoReturn = true
				store.SaveSettings(t, account.Number, settings)
			}
			return t.Run(sqlEndSetups)
		})
	return user, account, err
}

// checkEmpty refuses an account that got its first contact since it was offered.
func checkEmpty(t *store.Tx, account int64) error {
	if _, err := t.LockAccount(account); err != nil {
		return err
	}
	used, err := hasContacts(t.Conn, account)
	if err == nil && used {
		err = access.NotOffered()
	}
	return err
}

func (s *PeopleStore) checkSetup(c db.Conn, token string) error {
	expires, err := store.FindIn(c, errNoSetup, store.Number, sqlSetup, access.HashToken(token))
	if err != nil {
		return err
	}
	used, err := hasUsers(c)
	if link := (access.Invitation{ExpiresAt: store.Moment(expires)}); err == nil && (used || !link.Valid(s.Now())) {
		err = errNoSetup
	}
	return err
}

// HasUsers tells whether anyone can sign in.
func (s *PeopleStore) HasUsers(ctx context.Context) (bool, error) {
	return store.Snapshot(ctx, s.Store, hasUsers)
}

func hasUsers(c db.Conn) (bool, error) { return c.Exists(sqlAnyUser, int64(0)) }
