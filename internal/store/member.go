package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	sqlMemberships = `SELECT account_id, role FROM member WHERE user_id = $1`
	sqlMembership  = `SELECT a.account_id, a.public_id, a.name, a.parent, COALESCE(p.public_id, ''), a.created_at, m.role
		FROM account a JOIN member m ON m.account_id = a.account_id LEFT JOIN account p ON p.account_id = a.parent
		WHERE a.public_id = $2 AND m.user_id = $1`
	sqlMembers = `SELECT user_id, role, created_at, seen_at FROM member WHERE account_id = $1`

	sqlRole        = `SELECT role FROM member WHERE account_id = $1 AND user_id = $2`
	sqlMemberCount = `SELECT COUNT(*) FROM member WHERE account_id = $1`
	sqlOwners      = `SELECT COUNT(*) FROM member WHERE account_id = $1 AND role = $2`
	sqlSetRole     = `UPDATE member SET role = $3 WHERE account_id = $1 AND user_id = $2`
)

var errNoMember = fmt.Errorf("the member: %w", crm.ErrNotFound)

// Memberships are the organizations that a user belongs to, by name.
func (s *Store) Memberships(ctx context.Context, user int64) (memberships []crm.Membership, err error) {
	err = s.view(ctx, func(c db.Conn) error {
		memberships = nil
		var numbers []int64
		err := c.Each(func(r db.Row) error {
			numbers = append(numbers, r.Int(0))
			memberships = append(memberships, crm.Membership{Role: crm.Role(r.Int(1))})
			return nil
		}, sqlMemberships, user)
		if err != nil {
			return err
		}
		accounts, err := accountsByNumber(c, numbers)
		for i, number := range numbers {
			memberships[i].Account = accounts[number]
		}
		return err
	})
	sortMemberships(memberships)
	return memberships, err
}

// Membership finds the organization with a public id, for a user who belongs to it.
func (s *Store) Membership(ctx context.Context, user int64, account string) (membership crm.Membership, err error) {
	if !crm.IsAccountID(account) {
		return crm.Membership{}, errNoMember
	}
	return find(ctx, s, errNoMember, func(r db.Row) crm.Membership {
		return crm.Membership{Account: readAccount(r), Role: crm.Role(r.Int(6))}
	}, sqlMembership, user, account)
}

func sortMemberships(list []crm.Membership) {
	slices.SortFunc(list, func(a, b crm.Membership) int { return compareAccounts(a.Account, b.Account) })
}

// Members are the users of an account, by name.
func (s *Store) Members(ctx context.Context, account int64) (members []crm.Member, err error) {
	err = s.view(ctx, func(c db.Conn) error {
		members = nil
		var ids []int64
		err := c.Each(func(r db.Row) error {
			ids = append(ids, r.Int(0))
			members = append(members, crm.Member{Role: crm.Role(r.Int(1)), Since: moment(r.Int(2)), SeenAt: moment(r.Int(3))})
			return nil
		}, sqlMembers, account)
		if err != nil {
			return err
		}
		users, err := usersByID(c, ids)
		for i, id := range ids {
			members[i].User = users[id]
		}
		return err
	})
	slices.SortFunc(members, func(a, b crm.Member) int {
		return cmp.Or(crm.CompareNames(a.User.Name, b.User.Name), cmp.Compare(a.User.ID, b.User.ID))
	})
	return members, err
}

// SetRole changes what a member may do. The last owner stays one.
func (s *Store) SetRole(ctx context.Context, account, user int64, role crm.Role) error {
	if err := role.Check(); err != nil {
		return err
	}
	return s.changeMember(ctx, account, user, func(t *tx, was crm.Role) error { return t.setRole(account, user, was, role) })
}

// RemoveMember takes a user out of an organization, and back the invitations that they made. The last owner stays.
func (s *Store) RemoveMember(ctx context.Context, account, user int64) error {
	return s.changeMember(ctx, account, user, func(t *tx, was crm.Role) error {
		if err := t.checkOwners(account, was, 0); err != nil {
			return err
		}
		t.Delete(memberTable, account, user)
		_, err := t.Exec(sqlDeleteInvitationsBy, account, user)
		return err
	})
}

func (s *Store) changeMember(ctx context.Context, account, user int64, change func(t *tx, was crm.Role) error) error {
	return s.update(ctx, account, needs{}, func(t *tx) error {
		was, found, err := t.role(account, user)
		if err != nil {
			return err
		}
		if !found {
			return errNoMember
		}
		return change(t, was)
	})
}

// role is what a user may do in an account. It stays so until the transaction ends.
func (t *tx) role(account, user int64) (role crm.Role, found bool, err error) {
	found, err = t.Lock(func(r db.Row) { role = crm.Role(r.Int(2)) }, memberTable, account, user)
	return role, found, err
}

// setRole also takes back the invitations of a user who may no longer invite.
func (t *tx) setRole(account, user int64, was, role crm.Role) error {
	if err := t.checkOwners(account, was, role); err != nil {
		return err
	}
	if _, err := t.Exec(sqlSetRole, account, user, int64(role)); err != nil || role == crm.Owner {
		return err
	}
	_, err := t.Exec(sqlDeleteInvitationsBy, account, user)
	return err
}

func (t *tx) checkOwners(account int64, was, role crm.Role) error {
	owners, err := t.Int(sqlOwners, account, int64(crm.Owner))
	if err != nil {
		return err
	}
	return was.CheckChange(role, owners)
}

// addMember lets a user into an account, which is locked or new.
func (t *tx) addMember(account, user int64, role crm.Role, now time.Time) error {
	members, err := t.Int(sqlMemberCount, account)
	if err != nil {
		return err
	}
	if err := crm.MemberLimit.Check(members, 1); err != nil {
		return err
	}
	t.Insert(memberTable, account, user, int64(role), seconds(now), int64(0))
	return nil
}
