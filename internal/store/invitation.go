package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"donorbook/internal/crm"
)

const (
	sqlInsertInvitation = `INSERT INTO invitation (hash, account_id, email, role, invited_by, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`

	// The set-up link belongs to no account, so that it is no invitation.
	sqlInvitation = `SELECT a.account_id, a.public_id, a.name, a.parent, '', a.created_at,
		i.hash, i.email, i.role, i.created_at, i.expires_at, COALESCE(u.name, '')
		FROM invitation i JOIN account a ON a.account_id = i.account_id LEFT JOIN app_user u ON u.id = i.invited_by WHERE i.hash = $1`
	sqlInvitations = `SELECT hash, email, role, created_at, expires_at, invited_by FROM invitation WHERE account_id = $1`

	sqlOpenInvitations = `SELECT COUNT(*) FROM invitation WHERE account_id = $1 AND expires_at > $2`

	sqlDeleteInvitation    = `DELETE FROM invitation WHERE hash = $1`
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
	err = s.update(ctx, account.Number, func(t *tx) error {
		if _, err := t.tally(account.Number); err != nil {
			return err
		}
		open, err := countRows(t.conn, sqlOpenInvitations, account.Number, seconds(now))
		if err != nil {
			return err
		}
		if err := crm.InvitationLimit.Check(open, 1); err != nil {
			return err
		}
		if _, err := t.exec(sqlExpireInvitations, account.Number, seconds(now)); err != nil {
			return err
		}
		return t.addInvitation(invitation, by.ID)
	})
	if err != nil {
		return crm.Invitation{}, "", err
	}
	return invitation, token, nil
}

func (t *tx) addInvitation(i crm.Invitation, by int64) error {
	_, err := t.exec(sqlInsertInvitation, i.ID, i.Account.Number, i.Email, int64(i.Role), by, seconds(i.CreatedAt), seconds(i.ExpiresAt))
	return err
}

// Invitations are those of an account that nobody has used yet, newest first.
func (s *Store) Invitations(ctx context.Context, account int64) (invitations []crm.Invitation, err error) {
	now := s.now()
	err = s.view(ctx, func(c conn) error {
		invitations = nil
		accounts, err := accountsByNumber(c, []int64{account})
		if err != nil {
			return err
		}
		var by []int64
		err = each(c, func(r rows) error {
			if i := readInvitation(r, 0); i.Valid(now) {
				i.Account = accounts[account]
				invitations, by = append(invitations, i), append(by, r.int(5))
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
	return s.update(ctx, account, func(t *tx) error {
		if _, err := t.tally(account); err != nil {
			return err
		}
		i, err := s.findInvitation(t.conn, id)
		if err != nil {
			return err
		}
		if i.Account.Number != account {
			return errNoInvitation
		}
		_, err = t.exec(sqlDeleteInvitation, id)
		return err
	})
}

// Invitation is what a link leads to.
func (s *Store) Invitation(ctx context.Context, token string) (invitation crm.Invitation, err error) {
	err = s.read(ctx, func(c conn) error {
		invitation, err = s.findInvitation(c, crm.HashToken(token))
		return err
	})
	return invitation, err
}

func (s *Store) findInvitation(c conn, id string) (invitation crm.Invitation, err error) {
	found, err := one(c, func(r rows) {
		invitation = readInvitation(r, 6)
		invitation.Account, invitation.By = readAccount(r), r.text(11)
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
func readInvitation(r rows, from int) crm.Invitation {
	return crm.Invitation{
		ID: r.text(from), Email: r.text(from + 1), Role: crm.Role(r.int(from + 2)), CreatedAt: moment(r.int(from + 3)), ExpiresAt: moment(r.int(from + 4)),
	}
}

// AcceptInvitation lets a user into an account. One who is in it already keeps the higher role.
func (s *Store) AcceptInvitation(ctx context.Context, token string, user int64) (crm.Account, error) {
	invitation, err := s.Invitation(ctx, token)
	if err != nil {
		return crm.Account{}, err
	}
	account := invitation.Account.Number
	return invitation.Account, s.update(ctx, account, func(t *tx) error {
		was, found, err := t.role(account, user)
		if err != nil {
			return err
		}
		if _, err := s.findInvitation(t.conn, invitation.ID); err != nil {
			return err
		}
		if _, err := t.exec(sqlDeleteInvitation, invitation.ID); err != nil {
			return err
		}
		switch {
		case !found:
			return t.addMember(account, user, invitation.Role, s.now())
		case invitation.Role > was:
			return t.setRole(account, user, was, invitation.Role)
		}
		return nil
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
	user, err := s.addUser(ctx, account, in, func(t *tx) error {
		if _, err := t.tally(account); err != nil {
			return err
		}
		_, err := s.findInvitation(t.conn, invitation.ID)
		return err
	}, func(t *tx, user crm.User) error {
		if _, err := t.exec(sqlDeleteInvitation, invitation.ID); err != nil {
			return err
		}
		return t.addMember(account, user.ID, invitation.Role, s.now())
	})
	if err != nil {
		return crm.User{}, crm.Account{}, err
	}
	return user, invitation.Account, nil
}
