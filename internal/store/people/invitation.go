package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	// The setup link belongs to no account, so it is not found here.
	invitationColumns = `SELECT a.account_id, a.public_id, a.name, a.parent, COALESCE(p.public_id, ''), a.created_at,
		i.hash, i.email, i.role, i.created_at, i.expires_at, COALESCE(u.name, '')
		FROM invitation i JOIN account a ON a.account_id = i.account_id LEFT JOIN account p ON p.account_id = a.parent
		LEFT JOIN app_user u ON u.id = i.invited_by`
	sqlInvitation  = invitationColumns + ` WHERE i.hash = $1`
	sqlInvitations = invitationColumns + ` WHERE i.account_id = $1`

	sqlOpenInvitations     = `SELECT COUNT(*) FROM invitation WHERE account_id = $1 AND expires_at > $2`
	sqlDeleteInvitationsBy = `DELETE FROM invitation WHERE account_id = $1 AND invited_by = $2`
	sqlExpireInvitations   = `DELETE FROM invitation WHERE account_id = $1 AND expires_at <= $2`
)

var errNoInvitation = fmt.Errorf("the invitation: %w", crm.ErrNotFound)

// Invite makes a link by which one person joins an account. The token is returned this once and kept nowhere.
func (s *PeopleStore) Invite(ctx context.Context, account access.Account, by access.User, role access.Role,
	email string,
) (invitation access.Invitation, token string, err error) {
	now := s.Now()
	invitation, token, err = access.NewInvitation(account, by, role, email, now)
	if err != nil {
		return access.Invitation{}, "", err
	}
	err = s.UpdateOnce(ctx, account.Number, func(t *store.Tx) error {
		if err := t.CheckLimit(access.InvitationLimit, 1, sqlOpenInvitations, account.Number,
			store.Seconds(now)); err != nil {
			return err
		}
		if err := t.Run(sqlExpireInvitations, account.Number, store.Seconds(now)); err != nil {
			return err
		}
		noteInvitation(t, invitation, history.DidCreate)
		addInvitation(t, invitation, by.ID)
		return s.Queue(t, account.Number, mail.Invitation, invitation.ID, invitation.Email,
			invitationMessage(invitation, token, t.Account(account.Number).Location()))
	})
	if err != nil {
		return access.Invitation{}, "", err
	}
	return invitation, token, nil
}

// noteInvitation notes that an invitation was made or canceled. The link is no part of it.
func noteInvitation(t *store.Tx, i access.Invitation, kind history.Kind) {
	before, after, was, is := "", cmp.Or(i.Email, "anyone with the link"), access.Role(0), i.Role
	if kind == history.DidDelete {
		before, after, was, is = after, before, is, was
	}
	t.Account(i.Account.Number).Record(history.UserNoun, 0, kind,
		doc.Differences{doc.TextDifference("invitation", before, after), roleDifference(was, is)}.Text())
}

func addInvitation(t *store.Tx, i access.Invitation, by int64) {
	t.Insert(store.InvitationTable, i.ID, i.Account.Number, i.Email, int64(i.Role), by, store.Seconds(i.CreatedAt),
		store.Seconds(i.ExpiresAt))
}

// Invitations are those of an account that were not used yet, newest first.
func (s *PeopleStore) Invitations(ctx context.Context, account int64) ([]access.Invitation, error) {
	now := s.Now()
	invitations, err := store.List(ctx, s.Store, readInvitation, sqlInvitations, account)
	invitations = slices.DeleteFunc(invitations, func(i access.Invitation) bool { return !i.Valid(now) })
	store.SortRows(invitations, func(a, b *access.Invitation) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return invitations, err
}

// RevokeInvitation cancels an invitation.
func (s *PeopleStore) RevokeInvitation(ctx context.Context, account int64, id string) error {
	if !access.IsHash(id) {
		return errNoInvitation
	}
	return s.UpdateAccount(ctx, account, func(t *store.Tx) error {
		i, err := s.findInvitation(t.Conn, id)
		if err == nil && i.Account.Number != account {
			err = errNoInvitation
		}
		if err == nil {
			noteInvitation(t, i, history.DidDelete)
			t.Delete(store.InvitationTable, id)
			err = s.Withdraw(t, account, id)
		}
		return err
	})
}

// Invitation is what a link leads to.
func (s *PeopleStore) Invitation(ctx context.Context, token string) (access.Invitation, error) {
	return store.Lend(ctx, s.Read, func(c db.Conn) (access.Invitation, error) {
		return s.findInvitation(c,
			access.HashToken(token))
	})
}

// findInvitation finds an invitation that may still be used.
func (s *PeopleStore) findInvitation(c db.Conn, id string) (access.Invitation, error) {
	i, err := store.FindIn(c, errNoInvitation, readInvitation, sqlInvitation, id)
	if err == nil && !i.Valid(s.Now()) {
		err = errNoInvitation
	}
	return i, err
}

func readInvitation(r db.Row) access.Invitation {
	return access.Invitation{
		Account: store.ReadAccount(r), ID: r.Text(6), Email: r.Text(7), Role: access.Role(r.Int(8)),
		CreatedAt: store.Moment(r.Int(9)), ExpiresAt: store.Moment(r.Int(10)), By: r.Text(11),
	}
}

// AcceptInvitation makes a user a member of an account. A member keeps the higher role.
func (s *PeopleStore) AcceptInvitation(ctx context.Context, token string, user int64) (access.Account, error) {
	invitation, err := s.Invitation(ctx, token)
	if err != nil {
		return access.Account{}, err
	}
	account := invitation.Account.Number
	return invitation.Account, s.changeMember(ctx, account, user,
		func(t *store.Tx, user access.User, was access.Role) error {
			_, err := s.findInvitation(t.Conn, invitation.ID)
			if err == nil && invitation.Role > was {
				err = join(t, account, user, was, invitation.Role, s.Now())
			}
			if err == nil {
				t.Delete(store.InvitationTable, invitation.ID)
			}
			return err
		})
}

// JoinByInvitation makes a user, and a member of an account.
func (s *PeopleStore) JoinByInvitation(ctx context.Context, token string,
	in access.UserInput,
) (access.User, access.Account, error) {
	invitation, err := s.Invitation(ctx, token)
	if err == nil {
		err = in.Validate()
	}
	if err != nil {
		return access.User{}, access.Account{}, err
	}
	account := invitation.Account.Number
	user, err := s.addUser(store.ByOneself(ctx, in.Email), in, s.UpdateAccount, account,
		func(t *store.Tx, user access.User) error {
			_, err := s.findInvitation(t.Conn, invitation.ID)
			if err == nil {
				err = join(t, account, user, 0, invitation.Role, s.Now())
			}
			if err == nil {
				t.Delete(store.InvitationTable, invitation.ID)
			}
			return err
		})
	return user, invitation.Account, err
}
