package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	// The set-up link belongs to no account, so that it is no invitation.
	sqlInvitation = `SELECT a.account_id, a.public_id, a.name, a.parent, '', a.created_at,
		i.hash, i.email, i.role, i.created_at, i.expires_at, COALESCE(u.name, '')
		FROM invitation i JOIN account a ON a.account_id = i.account_id LEFT JOIN app_user u ON u.id = i.invited_by WHERE i.hash = $1`
	sqlInvitations = `SELECT hash, email, role, created_at, expires_at, invited_by FROM invitation WHERE account_id = $1`

	sqlOpenInvitations = `SELECT COUNT(*) FROM invitation WHERE account_id = $1 AND expires_at > $2`

	sqlDeleteInvitationsBy = `DELETE FROM invitation WHERE account_id = $1 AND invited_by = $2`
	sqlExpireInvitations   = `DELETE FROM invitation WHERE account_id = $1 AND expires_at <= $2`
)

var errNoInvitation = fmt.Errorf("the invitation: %w", crm.ErrNotFound)

// Invite makes a link by which one person joins an account. The token is returned this once and kept nowhere.
func (s *Store) Invite(ctx context.Context, account crm.Account, by crm.User, role crm.Role, email string) (invitation crm.Invitation, token string, err error) {
	now := s.now()
	invitation, token, err = crm.NewInvitation(account, by, role, email, now)
	if err != nil {
		return crm.Invitation{}, "", err
	}
	err = s.update(ctx, account.Number, needs{}, func(t *tx) error {
		if _, err := t.lock(account.Number); err != nil {
			return err
		}
		open, err := t.Int(sqlOpenInvitations, account.Number, seconds(now))
		if err != nil {
			return err
		}
		if err := crm.InvitationLimit.Check(open, 1); err != nil {
			return err
		}
		if _, err := t.Exec(sqlExpireInvitations, account.Number, seconds(now)); err != nil {
			return err
		}
		t.addInvitation(invitation, by.ID)
		return nil
	})
	if err != nil {
		return crm.Invitation{}, "", err
	}
	return invitation, token, nil
}

func (t *tx) addInvitation(i crm.Invitation, by int64) {
	t.Insert(invitationTable, i.ID, i.Account.Number, i.Email, int64(i.Role), by, seconds(i.CreatedAt), seconds(i.ExpiresAt))
}

// Invitations are those of an account that were not used yet, newest first.
func (s *Store) Invitations(ctx context.Context, account int64) (invitations []crm.Invitation, err error) {
	now := s.now()
	err = s.view(ctx, func(c db.Conn) error {
		invitations = nil
		accounts, err := accountsByNumber(c, []int64{account})
		if err != nil {
			return err
		}
		var by []int64
		err = c.Each(func(r db.Row) error {
			if i := readInvitation(r, 0); i.Valid(now) {
				i.Account = accounts[account]
				invitations, by = append(invitations, i), append(by, r.Int(5))
			}
			return nil
		}, sqlInvitations, account)
		if err != nil {
			return err
		}
		users, err := usersByID(c, by)
		for i, id := range by {
			invitations[i].By = users[id].Name
		}
		return err
	})
	slices.SortFunc(invitations, func(a, b crm.Invitation) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return invitations, err
}

// RevokeInvitation takes an invitation back.
func (s *Store) RevokeInvitation(ctx context.Context, account int64, id string) error {
	if !crm.IsHash(id) {
		return errNoInvitation
	}
	return s.update(ctx, account, needs{}, func(t *tx) error {
		if _, err := t.lock(account); err != nil {
			return err
		}
		i, err := s.findInvitation(t.Conn, id)
		if err != nil {
			return err
		}
		if i.Account.Number != account {
			return errNoInvitation
		}
		t.Delete(invitationTable, id)
		return nil
	})
}

// Invitation is what a link leads to.
func (s *Store) Invitation(ctx context.Context, token string) (invitation crm.Invitation, err error) {
	err = s.read(ctx, func(c db.Conn) error {
		invitation, err = s.findInvitation(c, crm.HashToken(token))
		return err
	})
	return invitation, err
}

func (s *Store) findInvitation(c db.Conn, id string) (invitation crm.Invitation, err error) {
	found, err := c.One(func(r db.Row) {
		invitation = readInvitation(r, 6)
		invitation.Account, invitation.By = readAccount(r), r.Text(11)
	}, sqlInvitation, id)
	if err == nil && (!found || !invitation.Valid(s.now())) {
		err = errNoInvitation
	}
	if err != nil {
		return crm.Invitation{}, err
	}
	return invitation, nil
}

// readInvitation reads the five columns from a column on.
func readInvitation(r db.Row, from int) crm.Invitation {
	return crm.Invitation{
		ID: r.Text(from), Email: r.Text(from + 1), Role: crm.Role(r.Int(from + 2)), CreatedAt: moment(r.Int(from + 3)), ExpiresAt: moment(r.Int(from + 4)),
	}
}

// AcceptInvitation lets a user into an account. One who is in it already keeps the higher role.
func (s *Store) AcceptInvitation(ctx context.Context, token string, user int64) (crm.Account, error) {
	invitation, err := s.Invitation(ctx, token)
	if err != nil {
		return crm.Account{}, err
	}
	account := invitation.Account.Number
	return invitation.Account, s.update(ctx, account, needs{}, func(t *tx) error {
		was, found, err := t.role(account, user)
		if err != nil {
			return err
		}
		if _, err := s.findInvitation(t.Conn, invitation.ID); err != nil {
			return err
		}
		switch {
		case !found:
			err = t.addMember(account, user, invitation.Role, s.now())
		case invitation.Role > was:
			err = t.setRole(account, user, was, invitation.Role)
		}
		if err == nil {
			t.Delete(invitationTable, invitation.ID)
		}
		return err
	})
}

// JoinByInvitation makes a user, and lets them into an account.
func (s *Store) JoinByInvitation(ctx context.Context, token string, in crm.UserInput) (crm.User, crm.Account, error) {
	invitation, err := s.Invitation(ctx, token)
	if err != nil {
		return crm.User{}, crm.Account{}, err
	}
	if err := in.Validate(); err != nil {
		return crm.User{}, crm.Account{}, err
	}
	account := invitation.Account.Number
	user, err := s.addUser(ctx, account, &needs{account: account}, in, func(t *tx) error {
		if _, err := t.lock(account); err != nil {
			return err
		}
		_, err := s.findInvitation(t.Conn, invitation.ID)
		return err
	}, func(t *tx, user crm.User) error {
		t.Delete(invitationTable, invitation.ID)
		return t.addMember(account, user.ID, invitation.Role, s.now())
	})
	if err != nil {
		return crm.User{}, crm.Account{}, err
	}
	return user, invitation.Account, nil
}
